package node

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/wallet"
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
	if id := s.Run.Fakenet.ID; id != 0 && s.Emitter.Validator.ID != 0 {
		if err := s.unlockFake(keys, inter.ValidatorID(id)); err != nil {
			return err
		}
	}
	if len(s.Run.Unlock) == 0 {
		return nil
	}
	if !s.Node.InsecureUnlockAllowed && (s.Node.HTTPHost != "" || s.Node.WSHost != "") {
		return fatal{errors.New("Account unlock with HTTP access is forbidden!")}
	}
	passwords, err := wallet.ReadPasswords(s.Run.Password)
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

func (s *services) unlockFake(keys *keystore.KeyStore, id inter.ValidatorID) error {
	key, err := fakenet.Key(id)
	if err != nil {
		return err
	}
	account := accounts.Account{Address: crypto.PubkeyToAddress(key.PublicKey)}
	if !keys.HasAddress(account.Address) {
		if account, err = keys.ImportECDSA(key, fakePassword); err != nil {
			return fmt.Errorf("keep the key of the fakenet's validator %d: %w", id, err)
		}
	}
	if err := keys.Unlock(account, fakePassword); err != nil {
		return fmt.Errorf("unlock the account of the fakenet's validator %d: %w", id, err)
	}
	s.log.Info("Unlocked fake validator account", "address", account.Address)
	return nil
}
