package node

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"tarn/opera/terminal"
	"tarn/opera/wallet"
)

// keyDir is the folder of keys.
func (l *life) keyDir() string {
	return cmp.Or(l.Node.KeyStoreDir, filepath.Join(l.Node.DataDir, "keystore"))
}

// wallet returns the folder of keys. With passwords nobody is asked for one.
func (l *life) wallet(passwords []string) (*wallet.Wallet, error) {
	return wallet.New(wallet.Options{
		Dir: l.keyDir(), Light: l.Node.UseLightweightKDF, Passwords: passwords,
		Ask: asker{l}, Out: l.out, Log: l.log,
	})
}

// asker asks at the terminal, which is not touched before.
type asker struct{ l *life }

// Password implements wallet.Asker. A signal ends the question.
func (a asker) Password(question string) (string, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return a.l.terminal().Password(ctx, question)
}

// terminal returns where whoever started the command is asked.
func (l *life) terminal() *terminal.Terminal {
	if l.asked == nil {
		l.asked, l.leave = terminal.Open(l.in, l.out)
	}
	return l.asked
}

// withWallet is a command that works on keys, with so many words.
func withWallet(least, most int, lack string, work func(w *wallet.Wallet, words []string) error) func(*life, context.Context) error {
	return func(l *life, _ context.Context) error {
		if len(l.words) < least {
			return fatal{errors.New(lack)}
		}
		if err := l.arguments(least, most); err != nil {
			return err
		}
		passwords, err := wallet.ReadPasswords(l.Run.Password)
		if err != nil {
			return fatal{err}
		}
		w, err := l.wallet(passwords)
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
		{"account list", "Print the accounts of the keystore", withWallet(0, 0, "", func(w *wallet.Wallet, _ []string) error { return w.List() })},
		{"account new", "Make a new account", withWallet(0, 0, "", func(w *wallet.Wallet, _ []string) error { return w.Create() })},
		{"account update", "Change accounts' passwords: ADDRESS...", withWallet(1, -1, "No accounts specified to update", (*wallet.Wallet).Update)},
		{"account import", "Make an account of a private key: FILE", withWallet(1, 1, lacksFile, func(w *wallet.Wallet, words []string) error { return w.Import(words[0]) })},
		{"wallet import", "Make an account of a wallet of Ethereum's presale: FILE", withWallet(1, 1, lacksFile, func(w *wallet.Wallet, words []string) error { return w.ImportPresale(words[0]) })},
		{"validator new", "Make a new validator's key", withWallet(0, 0, "", func(w *wallet.Wallet, _ []string) error { return w.CreateValidator() })},
		{"validator convert", "Make an account's key that of a validator: ADDRESS|FILE PUBLIC-KEY", withWallet(2, 2, "This command requires 2 arguments.", func(w *wallet.Wallet, words []string) error {
			return w.ConvertToValidator(words[0], words[1])
		})},
	}
}
