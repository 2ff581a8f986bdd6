package keyfiles

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
)

// Unlock unlocks accounts of a keystore, which are named by address or number, each with
// the password of its place.
func (w *Wallet) Unlock(keys *keystore.KeyStore, names []string) error {
	for i, name := range names {
		if _, _, err := w.unlock(keys, name, i); err != nil {
			return err
		}
	}
	return nil
}

// unlock unlocks an account with the i-th password, and returns both. A password that was
// given is wrong as often as one that is asked for: the answer is the same.
func (w *Wallet) unlock(
	keys *keystore.KeyStore, name string, i int,
) (account accounts.Account, password string, err error) {
	if account, err = find(keys, name); err != nil {
		return account, "", fmt.Errorf("Could not list accounts: %w", err)
	}
	tries := attempts
	if len(w.o.Passwords) > 0 {
		tries = 1
	}
	for try := range tries {
		question := fmt.Sprintf("Unlocking account %s | Attempt %d/%d", name, try+1, attempts)
		if password, err = w.password(question, false, i); err != nil {
			return account, "", err
		}
		err = keys.Unlock(account, password)
		var several *keystore.AmbiguousAddrError
		if errors.As(err, &several) {
			account, err = w.choose(keys, several, password)
			if err != nil {
				return account, "", err
			}
		}
		if err == nil {
			w.o.Log.Info("Unlocked account", "address", account.Address.Hex())
			return account, password, nil
		}
		if !errors.Is(err, keystore.ErrDecrypt) {
			break // another password would not help
		}
	}
	return account, "", fmt.Errorf("Failed to unlock account %s (%w)", name, err)
}

// choose finds that of several files of an address which a password opens.
func (w *Wallet) choose(
	keys *keystore.KeyStore, several *keystore.AmbiguousAddrError, password string,
) (accounts.Account, error) {
	lines := []string{fmt.Sprintf("Multiple key files exist for address %x:", several.Addr)}
	for _, account := range several.Matches {
		lines = append(lines, "   "+account.URL.String())
	}
	if err := w.tell(append(lines, "Testing your passphrase against all of them...")...); err != nil {
		return accounts.Account{}, err
	}
	for _, account := range several.Matches {
		if keys.Unlock(account, password) != nil {
			continue
		}
		lines := []string{
			"Your passphrase unlocked " + account.URL.String(),
			"In order to avoid this warning, you need to remove the following duplicate key files:",
		}
		for _, other := range several.Matches {
			if other != account {
				lines = append(lines, "   "+other.URL.String())
			}
		}
		return account, w.tell(lines...)
	}
	return accounts.Account{}, errors.New("None of the listed files could be unlocked.")
}

// find finds an account by its address, or by its number in the keystore.
func find(keys *keystore.KeyStore, name string) (accounts.Account, error) {
	if common.IsHexAddress(name) {
		return accounts.Account{Address: common.HexToAddress(name)}, nil
	}
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 {
		return accounts.Account{}, fmt.Errorf("invalid account address or index %q", name)
	}
	list := keys.Accounts()
	if i >= len(list) {
		return accounts.Account{}, fmt.Errorf("index %d higher than number of accounts %d", i, len(list))
	}
	return list[i], nil
}
