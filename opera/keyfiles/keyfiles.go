// Package keyfiles keeps the keys of accounts and of validators in files, as go-opera does:
// either program reads what the other has written. It makes, imports, lists and unlocks
// them, with go-opera's questions, texts and errors.
//
// It owns the folder of keys: files of accounts, in the form of go-ethereum's keystore, and
// below `validator` those of validators, each named by its public key. A file is made whole
// or not at all, and none is replaced by one of another key. It never writes a key that is
// not encrypted, and never says a password.
package keyfiles

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/keystore"
)

// attempts is how often a password may be wrong.
const attempts = 3

// Asker asks for a password.
type Asker interface {
	// Password shows a question and returns the line that is typed, without its end. It waits
	// for as long as that takes; an error ends the command that asked.
	Password(question string) (string, error)
}

// Options are where keys lie, and whom to ask.
type Options struct {
	Dir   string // of the keys
	Light bool   // new keys of accounts are protected with less memory and time
	// Passwords are taken, one after the other, in place of answers; the last one for all
	// further questions. None is to ask.
	Passwords []string
	Ask       Asker
	Out       io.Writer // what is for whoever asks
	Log       *slog.Logger
}

// Wallet is a folder of keys. Its methods are for one goroutine at a time.
type Wallet struct{ o Options }

// New returns a wallet. Its folder is made when a key is written.
func New(o Options) (*Wallet, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder of keys: %w", err)
	}
	o.Dir = dir
	return &Wallet{o: o}, nil
}

// ReadPasswords reads a file of passwords, one a line. No name is no passwords.
func ReadPasswords(file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("Failed to read password file: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], "\r")
	}
	return lines, nil
}

// Keystore opens the keys of accounts.
func (w *Wallet) Keystore() *keystore.KeyStore {
	n, p := w.scrypt()
	return keystore.NewKeyStore(w.o.Dir, n, p)
}

func (w *Wallet) scrypt() (n, p int) {
	if w.o.Light {
		return keystore.LightScryptN, keystore.LightScryptP
	}
	return keystore.StandardScryptN, keystore.StandardScryptP
}

// password is the i-th of those that were given, or the answer to a question. A new one is
// asked for twice.
func (w *Wallet) password(question string, isNew bool, i int) (string, error) {
	if n := len(w.o.Passwords); n > 0 {
		return w.o.Passwords[min(i, n-1)], nil
	}
	if question != "" {
		fmt.Fprintln(w.o.Out, question)
	}
	first, err := w.o.Ask.Password("Passphrase: ")
	if err != nil {
		return "", fmt.Errorf("Failed to read passphrase: %w", err)
	}
	if !isNew {
		return first, nil
	}
	again, err := w.o.Ask.Password("Repeat passphrase: ")
	if err != nil {
		return "", fmt.Errorf("Failed to read passphrase confirmation: %w", err)
	}
	if first != again {
		return "", errors.New("Passphrases do not match")
	}
	return first, nil
}

// tell prints lines.
func (w *Wallet) tell(lines ...string) error {
	if _, err := fmt.Fprintln(w.o.Out, strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("print what was done: %w", err)
	}
	return nil
}
