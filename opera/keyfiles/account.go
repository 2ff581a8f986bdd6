package keyfiles

import (
	"crypto/ecdsa"
	"fmt"
	"os"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"
)

const newAccount = "Your new account is locked with a password. Please give a password. Do not forget this password."

// List prints the accounts, in the order of their numbers.
func (w *Wallet) List() error {
	for i, account := range w.Keystore().Accounts() {
		if err := w.tell(fmt.Sprintf("Account #%d: {%x} %s", i, account.Address, &account.URL)); err != nil {
			return err
		}
	}
	return nil
}

// Create makes a new account.
func (w *Wallet) Create() error {
	password, err := w.password(newAccount, true, 0)
	if err != nil {
		return err
	}
	n, p := w.scrypt()
	account, err := keystore.StoreKey(w.o.Dir, password, n, p)
	if err != nil {
		return fmt.Errorf("Failed to create account: %w", err)
	}
	return w.tell("",
		"Your new key was generated", "",
		"Public address of the key:   "+account.Address.Hex(),
		"Path of the secret key file: "+account.URL.Path, "",
		"- You can share your public address with anyone. Others need it to interact with you.",
		"- You must NEVER share the secret key with anyone! The key controls access to your funds!",
		"- You must BACKUP your key file! Without the key, it's impossible to access account funds!",
		"- You must REMEMBER your password! Without the password, it's impossible to decrypt the key!", "")
}

// Update gives accounts new passwords, and their files the present form. It asks for both
// passwords, whatever was given.
func (w *Wallet) Update(names []string) error {
	asks := &Wallet{w.o}
	asks.o.Passwords = nil
	keys := w.Keystore()
	for _, name := range names {
		account, old, err := asks.unlock(keys, name, 0)
		if err != nil {
			return err
		}
		password, err := asks.password("Please give a new password. Do not forget this password.", true, 0)
		if err != nil {
			return err
		}
		if err := keys.Update(account, old, password); err != nil {
			return fmt.Errorf("Could not update the account: %w", err)
		}
	}
	return nil
}

// Import makes an account of a private key in hexadecimal, in a file.
func (w *Wallet) Import(file string) error {
	key, err := crypto.LoadECDSA(file)
	if err != nil {
		return fmt.Errorf("Failed to load the private key: %w", err)
	}
	password, err := w.password(newAccount, true, 0)
	if err != nil {
		return err
	}
	account, err := w.Keystore().ImportECDSA(key, password)
	if err != nil {
		return fmt.Errorf("Could not create the account: %w", err)
	}
	return w.tellImported(account)
}

// Keep keeps a key that everybody knows, with a password that everybody knows, unless it is there. Its
// file takes no second and no 256 MB to open, which protect a secret.
func (w *Wallet) Keep(key *ecdsa.PrivateKey, password string) error {
	keys := keystore.NewKeyStore(w.o.Dir, keystore.LightScryptN, keystore.LightScryptP)
	if keys.HasAddress(crypto.PubkeyToAddress(key.PublicKey)) {
		return nil
	}
	if _, err := keys.ImportECDSA(key, password); err != nil {
		return fmt.Errorf("keep a key that is known: %w", err)
	}
	return nil
}

// ImportPresale makes an account of a wallet of Ethereum's presale, which has a password of
// its own.
func (w *Wallet) ImportPresale(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("Could not read wallet file: %w", err)
	}
	password, err := w.password("", false, 0)
	if err != nil {
		return err
	}
	account, err := w.Keystore().ImportPreSaleKey(text, password)
	if err != nil {
		return err
	}
	return w.tellImported(account)
}

func (w *Wallet) tellImported(account accounts.Account) error {
	return w.tell(fmt.Sprintf("Address: {%x}", account.Address))
}
