package node

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"

	"tarn/opera/config"
	"tarn/opera/genesis/fakenet"
)

func TestAccountsAreUnlockedAsGoOperaDoes(t *testing.T) {
	dir := t.TempDir()
	keys := keystore.NewKeyStore(filepath.Join(dir, "keystore"), keystore.LightScryptN, keystore.LightScryptP)
	var all []accounts.Account
	for _, password := range []string{"one", "two"} {
		a, err := keys.NewAccount(password)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	file := filepath.Join(dir, "passwords")
	if err := os.WriteFile(file, []byte("one\r\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"nothing is asked", func(*config.Config) {}, ""},
		{"both, by address", func(c *config.Config) {
			c.Run.Unlock, c.Run.Password = []string{all[0].Address.Hex(), all[1].Address.Hex()}, file
		}, ""},
		{"by number", func(c *config.Config) { c.Run.Unlock, c.Run.Password = []string{"7"}, file }, "index 7 higher than number of accounts 2"},
		{"no account", func(c *config.Config) { c.Run.Unlock, c.Run.Password = []string{"alice"}, file }, "invalid account address or index"},
		{"a wrong password", func(c *config.Config) {
			c.Run.Unlock, c.Run.Password = []string{all[1].Address.Hex()}, file
		}, "Failed to unlock account"},
		{"nobody answers", func(c *config.Config) { c.Run.Unlock = []string{"0"} }, "Failed to read passphrase: EOF"},
		{"over HTTP", func(c *config.Config) {
			c.Run.Unlock, c.Run.Password, c.Node.HTTPHost = []string{"0"}, file, "127.0.0.1"
		}, "Account unlock with HTTP access is forbidden!"},
		{"of a fakenet", func(c *config.Config) {
			c.Run.Fakenet.ID, c.Emitter.Validator.ID, c.Node.HTTPHost = 1, 1, "127.0.0.1"
			if key, err := fakenet.Key(1); err != nil {
				t.Error(err)
			} else if _, err := keys.ImportECDSA(key, fakePassword); err != nil {
				t.Error(err)
			}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			manager := accounts.NewManager(nil, keys)
			defer manager.Close()
			l := newServices(&config.Config{}, slog.NewTextHandler(io.Discard, nil))
			c.change(l.Config)
			err := l.unlock(manager)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("%v", err)
			}
			if err != nil {
				return
			}
			for i := range l.Run.Unlock {
				if _, err := keys.SignHash(all[i], make([]byte, 32)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
