package node

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"tarn/opera/config"
	"tarn/opera/keyfiles"
	"tarn/opera/prompt"
)

// keyring is the folder of keys, and who is asked for their passwords.
type keyring struct {
	*config.Config
	in  io.Reader
	out io.Writer
	log *slog.Logger

	asked *prompt.Terminal // once somebody was asked
	leave func() error
}

func (k *keyring) folder() string {
	return cmp.Or(k.Node.KeyStoreDir, filepath.Join(k.Node.DataDir, "keystore"))
}

// open returns the keys. With passwords nobody is asked for one.
func (k *keyring) open(passwords []string) (*keyfiles.Wallet, error) {
	return keyfiles.New(keyfiles.Options{
		Dir: k.folder(), Light: k.Node.UseLightweightKDF, Passwords: passwords,
		Ask: asker{k}, Out: k.out, Log: k.log,
	})
}

// terminal returns where whoever started the command is asked.
func (k *keyring) terminal() *prompt.Terminal {
	if k.asked == nil {
		k.asked, k.leave = prompt.Open(k.in, k.out)
	}
	return k.asked
}

// close leaves the terminal as it was.
func (k *keyring) close() error {
	if k.leave == nil {
		return nil
	}
	return k.leave()
}

// asker asks at the terminal, which is not touched before.
type asker struct{ of *keyring }

// Password implements keyfiles.Asker. A signal ends the question.
func (a asker) Password(question string) (string, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return a.of.terminal().Password(ctx, question)
}

// withWallet is a command that works on keys, with so many words.
func withWallet(
	least, most int, lack string, work func(w *keyfiles.Wallet, words []string) error,
) func(*invocation, context.Context) error {
	return func(l *invocation, _ context.Context) error {
		if len(l.words) < least {
			return fatal{errors.New(lack)}
		}
		if err := l.arguments(least, most); err != nil {
			return err
		}
		passwords, err := keyfiles.ReadPasswords(l.Run.Password)
		if err != nil {
			return fatal{err}
		}
		w, err := l.keys.open(passwords)
		if err != nil {
			return err
		}
		if err := work(w, l.words); err != nil {
			return fatal{err}
		}
		return nil
	}
}

// accountActions are the commands that work on keys.
func accountActions() []action {
	const lacksFile = "keyfile must be given as argument"
	return []action{
		{"account list", "Print the accounts of the keystore",
			withWallet(0, 0, "", func(w *keyfiles.Wallet, _ []string) error { return w.List() })},
		{"account new", "Make a new account",
			withWallet(0, 0, "", func(w *keyfiles.Wallet, _ []string) error { return w.Create() })},
		{"account update", "Change accounts' passwords: ADDRESS...",
			withWallet(1, -1, "No accounts specified to update", (*keyfiles.Wallet).Update)},
		{"account import", "Make an account from a private key: FILE",
			withWallet(1, 1, lacksFile, func(w *keyfiles.Wallet, words []string) error { return w.Import(words[0]) })},
		{"wallet import", "Make an account from a wallet of Ethereum's presale: FILE",
			withWallet(1, 1, lacksFile, func(w *keyfiles.Wallet, words []string) error {
				return w.ImportPresale(words[0])
			})},
		{"validator new", "Make a new validator's key",
			withWallet(0, 0, "", func(w *keyfiles.Wallet, _ []string) error { return w.CreateValidator() })},
		{"validator convert", "Use the key of an account as a validator's key: ADDRESS|FILE PUBLIC-KEY",
			withWallet(2, 2, "This command requires 2 arguments.", func(w *keyfiles.Wallet, words []string) error {
				return w.ConvertToValidator(words[0], words[1])
			})},
	}
}
