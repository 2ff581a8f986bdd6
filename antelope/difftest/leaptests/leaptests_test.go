package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

func TestTheListIsThatOfTheBuild(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tests"), 0o755); err != nil {
		t.Fatal(err)
	}
	const text = `add_test(NAME unit COMMAND unit --all WORKING_DIRECTORY ${X})
add_test(NAME first COMMAND tests/first.py -v ${UNSHARE} -n 2 WORKING_DIRECTORY ${X})
  add_test(NAME history COMMAND tests/keosd_auto_launch_test.py -v WORKING_DIRECTORY ${X})
#add_lr_test(NAME large COMMAND tests/large.py)
add_lr_test(NAME long COMMAND tests/long.py -v --activate-if ${UNSHARE})
add_np_test(NAME quick COMMAND tests/quick.py TIMEOUT 50)
set_tests_properties(first PROPERTIES TIMEOUT 50 ENVIRONMENT "A=ON")
`
	if err := os.WriteFile(filepath.Join(dir, "tests", "CMakeLists.txt"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tests, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(tests) != 4 || tests[0].command != "tests/first.py -v -n 2" ||
		!slices.Equal(tests[0].env, []string{"A=ON"}) ||
		tests[2].command != "tests/long.py -v --activate-if" || tests[3].command != "tests/quick.py" {
		t.Errorf("%+v", tests)
	}
	if chosen, err := choose(tests, []string{"history"}); err != nil || len(chosen) != 1 {
		t.Errorf("by name: %v %v", chosen, err)
	}
	if _, err := choose(tests, []string{"third"}); err == nil {
		t.Error("a test that is not there was found")
	}
	if chosen, err := choose(tests, nil); err != nil || len(chosen) != 3 || chosen[0].name != "first" {
		t.Errorf("all: %v %v", chosen, err)
	}
}

func TestTheClientGetsPaddedBase64(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/chain/get_raw_abi" && string(question) == "{}" {
			_, _ = io.WriteString(w, `{"account_name":"a","abi":"Zm9v"}`)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"abi":"Zm9v"}`)
	}))
	defer node.Close()
	to, err := url.Parse(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	if !answers(to.Host) {
		t.Fatal("the node does not answer")
	}
	way, stop, err := padding(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for path, want := range map[string]string{
		"/v1/chain/get_raw_abi": `{"account_name":"a","abi":"Zm9v="}`, "/v1/chain/get_abi": `{"abi":"Zm9v"}`,
	} {
		r, err := http.Post(way+path, "", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v", path, got, err)
		}
	}
}

func TestCodeIsSetByAnAction(t *testing.T) {
	code := filepath.Join(t.TempDir(), "c.wasm")
	if err := os.WriteFile(code, []byte{0, 'a', 's', 'm'}, 0o600); err != nil {
		t.Fatal(err)
	}
	args, done, err := byAction([]string{"-v", "set", "code", "-j", "alice", code})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-v", "push", "action", "eosio", "setcode", "-j", "", "-p", "alice@active"}
	if len(args) == len(want) {
		want[6] = args[6]
	}
	if !slices.Equal(args, want) {
		t.Fatalf("arguments are %q", args)
	}
	data, err := os.ReadFile(args[6])
	if err != nil || string(data) != `{"account":"alice","vmtype":0,"vmversion":0,"code":"0061736d"}` {
		t.Errorf("the action's data is %s, %v", data, err)
	}
	done()
	if _, err := os.Stat(args[6]); !os.IsNotExist(err) {
		t.Errorf("the file of the data is left: %v", err)
	}
	if _, _, err := byAction([]string{"set", "code", "alice"}); err == nil {
		t.Error("code is set without a file")
	}
	if args, _, err := byAction([]string{"set", "contract", "alice", "x"}); err != nil || len(args) != 4 {
		t.Errorf("other commands are changed: %q, %v", args, err)
	}
	file := filepath.Join(t.TempDir(), "c.abi")
	if err := os.WriteFile(file, []byte(`{"version":"eosio::abi/1.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := setData("abi", "alice", file); err != nil ||
		data != `{"account":"alice","abi":"0e656f73696f3a3a6162692f312e30000000000000000000"}` {
		t.Errorf("the data of setabi is %s, %v", data, err)
	}
}

func TestTransfersAreSignedAndDiffer(t *testing.T) {
	g := generator{accounts: []types.Name{types.N("alice"), types.N("bob")}, contract: types.N("eosio")}
	for i := range byte(2) {
		k, err := crypto.NewPrivateKey(types.K1, [32]byte{31: i + 1})
		if err != nil {
			t.Fatal(err)
		}
		g.keys = append(g.keys, k)
	}
	seen := map[types.Checksum256]bool{}
	for g.sent = range 20 {
		p, id, err := g.next()
		if err != nil {
			t.Fatal(err)
		}
		trx, _, err := p.Unpack()
		if err != nil || trx.ID() != id || seen[id] {
			t.Fatalf("transfer %d: %v", g.sent, err)
		}
		seen[id] = true
		if from := trx.Actions[0].Authorization[0].Actor; from != g.accounts[g.sent%2] {
			t.Errorf("transfer %d is of %s", g.sent, from)
		}
	}
}
