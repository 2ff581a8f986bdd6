package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/opera/prompt"
)

// The node of these tests answers the same always.
type (
	eth      struct{}
	abft     struct{}
	personal struct{}
	admin    struct{}
	web3     struct{}
)

func (eth) BlockNumber() hexutil.Uint64 { return 7 }
func (eth) Coinbase() string            { return "0x0000000000000000000000000000000000000000" }
func (eth) GetBalance(address, at string) *hexutil.Big {
	return (*hexutil.Big)(hexutil.MustDecodeBig("0x33b2e3c9fd0803ce8000000"))
}

func (eth) GetBlockByNumber(number hexutil.Uint64, full bool) json.RawMessage {
	return json.RawMessage(`{"number":"0x7","timestamp":"0x5fe14980","timestampNano":"0x1652e52d61b18001","difficulty":"0x0",
		"totalDifficulty":"0x0","gasLimit":"0xffffffffffff","gasUsed":"0x5208","size":"0x10","baseFeePerGas":"0x3b9aca00","transactions":[]}`)
}
func (eth) Refused() error { return errors.New("the node says no") }
func (eth) Waits(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (abft) GetDowntime(id hexutil.Uint64) map[string]hexutil.Uint64 {
	return map[string]hexutil.Uint64{"offlineBlocks": 1, "offlineTime": 16}
}

func (personal) ListAccounts() []string {
	return []string{"0x239fa7623354ec26520de878b52f13fe84b06971"}
}

func (personal) UnlockAccount(address, password string, seconds *int) (bool, error) {
	if password != "right" {
		return false, errors.New("could not decrypt key with given password")
	}
	return seconds == nil || *seconds == 5, nil
}

func (web3) ClientVersion() string { return "node" }

func (admin) Datadir() string { return "D" }

// talk returns a console of that node, with an input to read, and what it says.
func talk(t *testing.T, input string) (*Console, *bytes.Buffer) {
	t.Helper()
	server := rpc.NewServer()
	for name, service := range map[string]any{"eth": eth{}, "ftm": eth{}, "abft": abft{}, "personal": personal{},
		"admin": admin{}, "web3": web3{}} {
		if err := server.RegisterName(name, service); err != nil {
			t.Fatal(err)
		}
	}
	client := rpc.DialInProc(server)
	var out bytes.Buffer
	dir := t.TempDir()
	asked, end := prompt.Open(strings.NewReader(input), &out)
	c, err := New(t.Context(), Options{
		Client: client, Out: &out, Terminal: func() *prompt.Terminal { return asked }, Scripts: dir,
		History: filepath.Join(dir, "keys", "history"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		client.Close()
		server.Stop()
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return c, &out
}

// What is printed is what go-opera's console prints (opera/node compares the two).
func TestValuesArePrintedAsInGoOpera(t *testing.T) {
	c, out := talk(t, "")
	for _, e := range [][2]string{
		{"ftm.blockNumber", "7"},
		{`ftm.getBalance("0x239fA7623354eC26520dE878B52f13Fe84b06971")`, "1e+27"},
		{`ftm.getBlock(7).timestampNano`, "1608600000000000000"},
		{`web3.fromWei(ftm.getBlock(7).baseFeePerGas, "nanoftm")`, "1"},
		{`web3.toWei(3, "kftm")`, `"3000000000000000000000"`},
		{`web3.toMoniker("a", "b", "c")`, `"0x7b224e616d65223a2261222c224465736372697074696f6e223a2262222c2257656253697465223a2263227d"`},
		{"abft.getDowntime(1)", "{\n  offlineBlocks: 1,\n  offlineTime: 16\n}"},
		{"personal.listAccounts", `["0x239fa7623354ec26520de878b52f13fe84b06971"]`},
		{`"q\"\n"`, `"q\"\n"`}, {"null", "null"}, {"undefined", "undefined"}, {"function f(){}", "undefined"},
		{`[1, "a", {x: 1}]`, "[1, \"a\", {\n    x: 1\n}]"}, {"[]", "[]"}, {"({})", "{}"},
		{"({a:{b:{c:{d:{e:1}}}}})", "{\n  a: {\n    b: {\n      c: {\n        d: {...}\n      }\n    }\n  }\n}"},
		{"[[[[[[1]]]]]]", "[[[[[...]]]]]"},
		{"({b:1, a:function(x, y) {}, _c:2, B:3})", "{\n  B: 3,\n  b: 1,\n  a: function(x, y)\n}"},
		{"console.log", "function()"}, {"/a+/g", "/a+/g"}, {`web3.toBigNumber("123456789012345678901234567890")`,
			"1.2345678901234567890123456789e+29"},
		{"[null, undefined, true, 1.5]", "[null, undefined, true, 1.5]"},
		{`console.log("a", 1)`, "a 1\nnull"}, {"inspect([1])", "[1]\nundefined"},
		{`loadScript("none.js")`, "GoError: Could not read file "},
		{"nosuch.x", "ReferenceError: nosuch is not defined\n"}, {`throw "x"`, "x\n"},
		{"x=", "SyntaxError: (anonymous): Line 1:3 Unexpected end of input"},
		{`ftm.getBalance("x")`, "Error: invalid address\n"}, {"ftm.getCode(ftm.coinbase)",
			"Error: the method eth_getCode does not exist/is not available\n"},
		{`web3.ftm.protocolVersion`, "Error: the method eth_protocolVersion does not exist/is not available\n"},
		{`personal.unlockAccount(1)`, "Error: first argument must be the account to unlock\n"},
		{`personal.unlockAccount(personal.listAccounts[0], "wrong")`, "Error: could not decrypt key with given password\n"},
		{`personal.unlockAccount("0x239fa7623354ec26520de878b52f13fe84b06971", "right", 5)`, "true"},
		{"admin.sleep(0.01)", "true"},
		{"admin.sleepBlocks(1, 0)", "false"},
		{"(function f() { f() })()", "RangeError: Maximum call stack size exceeded\n"},
		{"//# sourceMappingURL=none.map", "undefined"},
	} {
		out.Reset()
		c.Evaluate(t.Context(), e[0])
		got := out.String()
		if strings.HasSuffix(e[1], "\n") || strings.HasSuffix(e[1], " ") {
			got = got[:min(len(got), len(e[1]))] + "\n"
		}
		if got != e[1]+"\n" {
			t.Errorf("%s prints %q, want %q", e[0], got, e[1]+"\n")
		}
	}
}

// What is typed is evaluated when its brackets are closed; passwords are asked for, and kept
// nowhere.
func TestAConversation(t *testing.T) {
	c, out := talk(t, strings.Join([]string{
		"var a = {", "x: 1}", "", "a.x", "a.x",
		`personal.unlockAccount(personal.listAccounts[0])`, "right", ` "not kept"`, "exit", "9",
	}, "\n"))
	c.Welcome(t.Context())
	if err := c.Interactive(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"instance: node\ncoinbase: 0x0000000000000000000000000000000000000000\nat block: 7 (",
		"\n datadir: D\n modules: abft:1.0 admin:1.0 ftm:1.0 personal:1.0 rpc:1.0 web3:1.0\n",
		"... \nundefined\n> \n> \n1\n",
		"Unlock account 0x239fa7623354ec26520de878b52f13fe84b06971\n!! Unsupported terminal, password will be echoed.\nPassphrase: \ntrue\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in %s", want, out)
		}
	}
	if strings.Contains(out.String(), "\n9\n") {
		t.Errorf("it goes on after the end: %s", out)
	}
	kept, err := os.ReadFile(c.o.History)
	if want := "var a = {\nx: 1}\na.x"; err != nil || string(kept) != want {
		t.Errorf("it keeps %q, %v; want %q", kept, err, want)
	}
	if info, err := os.Stat(c.o.History); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("who may read what was typed: %v, %v", info, err)
	}
	c.Evaluate(t.Context(), "admin.clearHistory()")
	if _, err := os.Stat(c.o.History); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("cleared: %v", err)
	}
}

// Scripts' timers run on; what never ends is ended by the context, as is a call that the
// node does not answer.
func TestWhatRunsIsWaitedForOrInterrupted(t *testing.T) {
	c, out := talk(t, "")
	script := filepath.Join(c.o.Scripts, "s.js")
	if err := os.WriteFile(script, []byte(`
		setTimeout(function(a) { console.log("later", a) }, 20, 1);
		clearTimeout(setTimeout(function() { console.log("never") }, 1));
		var n = 0, h = setInterval(function() { if (++n == 3) { clearInterval(h); console.log("three") } }, 1);
		setTimeout(function() { throw "thrown" }, 1);
	`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"for(;;){}", "admin.sleep(60)",
		`web3._requestManager.send({method: "eth_waits", params: []})`} {
		ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
		c.Evaluate(ctx, statement)
		if ctx.Err() == nil {
			t.Errorf("%s ends by itself: %s", statement, out)
		}
		end()
	}
	out.Reset()
	if err := c.Execute(t.Context(), "s.js"); err != nil {
		t.Fatal(err)
	}
	c.Wait(t.Context())
	if want := "js error: thrown"; !strings.HasPrefix(out.String(), want) &&
		!strings.Contains(out.String(), "\n"+want) {
		t.Errorf("it says %q", out)
	}
	for _, want := range []string{"three\n", "later 1\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in %q", want, out)
		}
	}
	if strings.Contains(out.String(), "never") {
		t.Errorf("a cleared timer runs: %q", out)
	}
	endless, _ := talk(t, "")
	endless.Evaluate(t.Context(), "setInterval(function() { for(;;){} }, 1)")
	ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	endless.Wait(ctx)
	if err := endless.Execute(t.Context(), "none.js"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestNamesAreCompleted(t *testing.T) {
	c, _ := talk(t, "")
	for _, e := range []struct {
		line, head string
		want       []string
	}{
		{"x = ftm.blockN", "x = ", []string{"ftm.blockNumber"}},
		{"ftm.getBlock", "", []string{"ftm.getBlock", "ftm.getBlockByHash", "ftm.getBlockByNumber",
			"ftm.getBlockNumber", "ftm.getBlockTransactionCount", "ftm.getBlockUncleCount"}},
		{"abft.getDow", "", []string{"abft.getDowntime"}}, {"abft.getDowntime", "", []string{"abft.getDowntime("}},
		{"nosuch.x", "", nil}, {"(", "", nil}, {"ab", "", []string{"abft"}}, {"abft", "", []string{"abft."}},
	} {
		head, words, tail := c.complete(e.line, len(e.line))
		if head != e.head || tail != "" || strings.Join(words, " ") != strings.Join(e.want, " ") {
			t.Errorf("%s goes on %q %q %q, want %q %q", e.line, head, words, tail, e.head, e.want)
		}
	}
}
