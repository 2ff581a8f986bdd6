package node

import (
	"crypto/ecdsa"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/keyfiles"
)

// fakePassword protects the keys of a fakenet's validators, which everybody knows
// (go-opera: launcher.go).
const fakePassword = "fakepassword"

// unlock unlocks the accounts that clients may send from: those of --unlock, and that of a
// fakenet's validator.
func (s *services) unlock(manager *accounts.Manager) error {
	keys, ok := manager.Backends(keystore.KeyStoreType)[0].(*keystore.KeyStore)
	if !ok {
		return errors.New("unlock accounts: there is no keystore")
	}
	if err := s.unlockFake(keys); err != nil {
		return err
	}
	if len(s.Run.Unlock) == 0 {
		return nil
	}
	if !s.Node.InsecureUnlockAllowed && (s.Node.HTTPHost != "" || s.Node.WSHost != "") {
		return fatal{errors.New("Account unlock with HTTP access is forbidden!")}
	}
	passwords, err := keyfiles.ReadPasswords(s.Run.Password)
	if err != nil {
		return fatal{err}
	}
	w, err := s.keys.open(passwords)
	if err != nil {
		return err
	}
	if err := w.Unlock(keys, s.Run.Unlock); err != nil {
		return fatal{err}
	}
	return nil
}

// fakeKey is the key of the fakenet's validator that this node is, nil if it is none.
func (s *services) fakeKey() (*ecdsa.PrivateKey, error) {
	if s.Run.Fakenet.ID == 0 || s.Emitter.Validator.ID == 0 {
		return nil, nil
	}
	return fakenet.Key(inter.ValidatorID(s.Run.Fakenet.ID))
}

// keepFake keeps that key among those of accounts.
func (s *services) keepFake(w *keyfiles.Wallet) error {
	key, err := s.fakeKey()
	if key == nil || err != nil {
		return err
	}
	return w.Keep(key, fakePassword)
}

func (s *services) unlockFake(keys *keystore.KeyStore) error {
	key, err := s.fakeKey()
	if key == nil || err != nil {
		return err
	}
	account := accounts.Account{Address: crypto.PubkeyToAddress(key.PublicKey)}
	if err := keys.Unlock(account, fakePassword); err != nil {
		return fmt.Errorf("unlock the account of the fakenet's validator %d: %w", s.Run.Fakenet.ID, err)
	}
	s.log.Info("Unlocked fake validator account", "address", account.Address)
	return nil
}
