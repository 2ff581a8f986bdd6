package node

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/internal/exit"
	"tarn/opera/difftest"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
)

// answered is how a command ended.
type answered struct {
	code int
	out  string // with what differs from run to run taken away
	fail string // the fatal error
}

var (
	fresh = regexp.MustCompile(`UTC--[0-9TZ:.-]+--[0-9a-f]{40}|0x[0-9a-fA-F]{40}\b|c004[0-9a-f]{128}`)
	fails = regexp.MustCompile(`(?m)^Fatal: .*$`)
)

func answer(code int, out, said, dir string) answered {
	return answered{code, fresh.ReplaceAllString(strings.ReplaceAll(out, dir, "DIR"), "KEY"),
		strings.ReplaceAll(fails.FindString(said), dir, "DIR")}
}

// ourAnswer runs a command of ours.
func ourAnswer(t *testing.T, dir, input string, args ...string) answered {
	t.Helper()
	var out, said bytes.Buffer
	c := Command("test")
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetIn(strings.NewReader(input))
	c.SetOut(&out)
	c.SetErr(&said)
	c.SetArgs(args)
	code := 0
	if err := c.ExecuteContext(t.Context()); err != nil {
		var end *exit.Error
		if !errors.As(err, &end) {
			t.Fatal(err)
		}
		code = end.Code
	}
	return answer(code, out.String(), said.String(), dir)
}

// theirAnswer runs a command of go-opera's.
func theirAnswer(t *testing.T, peer *difftest.Peer, dir, input string, args ...string) answered {
	t.Helper()
	var out, said bytes.Buffer
	c := peer.Command(t.Context(), args...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), &out, &said
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return answer(c.ProcessState.ExitCode(), out.String(), said.String(), dir)
}

// files lists what is in a folder of keys.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "keystore"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		list = append(list, strings.TrimPrefix(fresh.ReplaceAllString(path, "KEY"), dir)+" "+info.Mode().String())
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// Each command about keys says and leaves what go-opera's does, whichever of the two made
// the keys that it finds.
func TestCommandsAboutKeysAreGoOperas(t *testing.T) {
	peer, err := difftest.Judge(t.Context())
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const address = "239fa7623354ec26520de878b52f13fe84b06971"
	private, err := fakenet.Key(1)
	if err != nil {
		t.Fatal(err)
	}
	public := inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&private.PublicKey)}.String()
	all := t.TempDir()
	at := func(name, text string) string {
		t.Helper()
		path := filepath.Join(all, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := at("key", "163f5f0f9a621d72fedd85ffca3d08d131ab4e812181e0d30ffd1c885d20aac7\n")
	secret, other, presale := at("secret", "secret\r\nmore\n"), at("other", "other\n"), at("presale",
		`{"encseed": "00", "ethaddr": "00"}`)
	none := filepath.Join(all, "none")
	a, b := filepath.Join(all, "a"), filepath.Join(all, "b")
	for _, c := range []struct {
		input string
		args  string
	}{
		{"", "account list"},
		{"", "account nonsense"}, {"", "wallet nonsense"}, {"", "validator nonsense"},
		{"", "account new --lightkdf --password " + secret},
		{"one\none\n", "account new --lightkdf"},
		{"one\ntwo\n", "account new --lightkdf"},
		{"one\n", "account new --lightkdf"},
		{"", "account new --lightkdf"},
		{"", "account new --password " + none},
		{"", "account import"}, {"", "account import " + none}, {"", "account import " + secret},
		{"", "account import --lightkdf --password " + secret + " " + key},
		{"", "account import --lightkdf --password " + other + " " + key},
		{"", "account update"}, {"", "account update nobody"}, {"", "account update 17"},
		{"", "account update " + address},
		{"x\ny\nz\n", "account update --lightkdf " + address},
		{"x\nsecret\nother\nother\n", "account update --lightkdf " + address},
		{"other\nlast\nlast\n", "--password " + secret + " account update --lightkdf 0x" + address},
		{"", "wallet import"}, {"", "wallet import " + none},
		{"", "wallet import --password " + secret + " " + key},
		{"", "wallet import --password " + secret + " " + presale},
		{"", "validator new --password " + secret},
		{"one\ntwo\n", "validator new"},
		{"", "validator convert"}, {"", "validator convert " + address},
		{"", "validator convert 0x00 -"}, {"", "validator convert 0x00 " + public},
		{"", "validator convert " + none + " " + public},
		{"", "validator convert 0x" + address + " " + public}, {"", "validator convert 0x" + address + " " + public},
		{"", "account list --keystore " + none},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(c.args)
			want := theirAnswer(t, peer, a, c.input, append([]string{"--datadir", a}, args...)...)
			got := ourAnswer(t, b, c.input, append([]string{"--datadir", b}, args...)...)
			if got != want {
				t.Errorf("with the input %q:\nours     %+v\ngo-opera %+v", c.input, got, want)
			}
			if got, want := files(t, b), files(t, a); !slices.Equal(got, want) {
				t.Errorf("files: %q, of go-opera %q", got, want)
			}
			// The next command finds what the other program made.
			a, b = b, a
		})
	}
}

// A node that unlocks accounts asks, says and ends as go-opera's.
func TestUnlockingAccountsIsGoOperas(t *testing.T) {
	peer, err := difftest.Judge(t.Context())
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := t.TempDir()
	at := func(name, text string) string {
		t.Helper()
		path := filepath.Join(all, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keys, twice := filepath.Join(all, "keys"), filepath.Join(all, "twice")
	store := keystore.NewKeyStore(keys, keystore.LightScryptN, keystore.LightScryptP)
	account, err := store.NewAccount("one")
	if err == nil {
		_, err = store.NewAccount("two")
	}
	text, failed := os.ReadFile(account.URL.Path)
	if err = errors.Join(err, failed, os.Mkdir(twice, 0o700)); err != nil {
		t.Fatal(err)
	}
	at("twice/1", string(text))
	at("twice/2", string(text))
	name := strings.ToLower(account.Address.Hex()[2:])
	good, bad, script := at("good", "one\r\ntwo\n"), at("bad", "two\none\n"), at("s.js", "")
	node := []string{"--config", at("node.toml", "[Node.P2P]\nListenAddr = \"127.0.0.1:0\"\n"), "--fakenet", "0/1",
		"--nodiscover", "--nat", "none", "--maxpeers", "0", "--datadir.minfreedisk", "0", "--ipcdisable"}
	for _, c := range []struct{ input, args string }{
		{"one\n", "--keystore " + keys + " --unlock " + name},
		{"x\ny\nz\n", "--keystore " + keys + " --unlock " + name},
		{"one\ntwo\n", "--keystore " + keys + " --unlock 0,1"}, {"", "--keystore " + keys + " --unlock 0"},
		{"", "--keystore " + keys + " --unlock 7"},
		{"", "--keystore " + keys + " --unlock 0,1 --password " + good},
		{"", "--keystore " + keys + " --unlock 0,1 --password " + bad},
		{"one\n", "--keystore " + twice + " --unlock " + name}, {"x\n", "--keystore " + twice + " --unlock " + name},
	} {
		args := append(slices.Clone(node), append(strings.Fields(c.args), "js", script)...)
		want := theirAnswer(t, peer, all, c.input,
			append([]string{"--datadir", filepath.Join(all, "theirs")}, args...)...)
		got := ourAnswer(t, all, c.input, append([]string{"--datadir", filepath.Join(all, "ours")}, args...)...)
		if got != want {
			t.Errorf("%s, input %q:\nours     %+v\ngo-opera %+v", c.args, c.input, got, want)
		}
	}
}
