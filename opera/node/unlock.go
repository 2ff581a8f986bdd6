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
func (l *life) unlock(manager *accounts.Manager) error {
	keys, ok := manager.Backends(keystore.KeyStoreType)[0].(*keystore.KeyStore)
	if !ok {
		return errors.New("unlock accounts: there is no keystore")
	}
	if id := l.Run.Fakenet.ID; id != 0 && l.Emitter.Validator.ID != 0 {
		if err := l.unlockFake(keys, inter.ValidatorID(id)); err != nil {
			return err
		}
	}
	if len(l.Run.Unlock) == 0 {
		return nil
	}
	if !l.Node.InsecureUnlockAllowed && (l.Node.HTTPHost != "" || l.Node.WSHost != "") {
		return fatal{errors.New("Account unlock with HTTP access is forbidden!")}
	}
	passwords, err := wallet.ReadPasswords(l.Run.Password)
	if err != nil {
		return fatal{err}
	}
	w, err := l.wallet(passwords)
	if err != nil {
		return err
	}
	if err := w.Unlock(keys, l.Run.Unlock); err != nil {
		return fatal{err}
	}
	return nil
}

func (l *life) unlockFake(keys *keystore.KeyStore, id inter.ValidatorID) error {
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
	l.log.Info("Unlocked fake validator account", "address", account.Address)
	return nil
}
