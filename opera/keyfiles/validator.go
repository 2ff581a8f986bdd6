package keyfiles

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/inter"
	"tarn/store/vfs"
)

// Errors of validators' keys, in go-opera's words (valkeystore).
var (
	ErrKeyNotFound = errors.New("key is not found")
	ErrKeyExists   = errors.New("key already exists")
	ErrKeyType     = errors.New("not supported key type")
)

// validatorFile is a validator's key in its file.
type validatorFile struct {
	Type   uint8               `json:"type"`
	Public string              `json:"pubkey"` // hexadecimal, without the type
	Crypto keystore.CryptoJSON `json:"crypto"`
}

// path is where a validator's key lies.
func (w *Wallet) path(public inter.PublicKey) string {
	return filepath.Join(w.o.Dir, "validator", hex.EncodeToString(public.Bytes()))
}

// CreateValidator makes a new validator's key.
func (w *Wallet) CreateValidator() error {
	password, err := w.password(
		"Your new validator key is locked with a password. Please give a password. Do not forget this password.", true,
		0)
	if err != nil {
		return err
	}
	key, err := crypto.GenerateKey()
	if err != nil {
		return fmt.Errorf("Failed to create account: %w", err)
	}
	public := inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)}
	file := validatorFile{Type: public.Type, Public: hex.EncodeToString(public.Raw)}
	// go-opera does not take --lightkdf for these.
	file.Crypto, err = keystore.EncryptDataV3(crypto.FromECDSA(key), []byte(password), keystore.StandardScryptN,
		keystore.StandardScryptP)
	if err == nil {
		err = w.write(public, file)
	}
	if err != nil {
		return fmt.Errorf("Failed to create account: %w", err)
	}
	if _, err := w.readValidator(public, password); err != nil {
		return fmt.Errorf("Failed to decrypt the account: %w", err)
	}
	return w.tell("",
		"Your new key was generated", "",
		"Public key:                  "+public.String(),
		"Path of the secret key file: "+w.path(public), "",
		"- You can share your public key with anyone. Others need it to validate messages from you.",
		"- You must NEVER share the secret key with anyone! The key controls access to your validator!",
		"- You must BACKUP your key file! Without the key, it's impossible to operate the validator!",
		"- You must REMEMBER your password! Without the password, it's impossible to decrypt the key!", "")
}

// ConvertToValidator makes the key of an account, named by its address or its file, that of
// a validator with this public key. The password stays the account's. The key must be that
// of the account, and no other key may have the name.
func (w *Wallet) ConvertToValidator(account, public string) error {
	key, err := inter.NewPublicKey(common.FromHex(public))
	if err != nil {
		return fmt.Errorf("Failed to decode the validator pubkey: %w", err)
	}
	path := account
	if strings.HasPrefix(account, "0x") {
		if path, err = w.accountFile(common.HexToAddress(account)); err != nil {
			return fmt.Errorf("Failed to find the account: %w", err)
		}
	}
	if err := w.convert(path, key); err != nil {
		return fmt.Errorf("Failed to migrate the account key: %w", err)
	}
	return w.tell("", "Your key was converted and saved to "+w.path(key))
}

func (w *Wallet) convert(path string, public inter.PublicKey) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var account struct {
		Address string              `json:"address"`
		Crypto  keystore.CryptoJSON `json:"crypto"`
	}
	if err := json.Unmarshal(text, &account); err != nil {
		return fmt.Errorf("%s is no file of an account: %w", path, err)
	}
	if public.Type != inter.Secp256k1Key {
		return ErrKeyType
	}
	point, err := crypto.UnmarshalPubkey(public.Raw)
	if err != nil {
		return fmt.Errorf("%s: %w", public, err)
	}
	if want, have := crypto.PubkeyToAddress(*point), common.HexToAddress(account.Address); have != want {
		return fmt.Errorf("%s is the file of the account %v, the public key is that of %v", path, have, want)
	}
	return w.write(public, validatorFile{Type: public.Type, Public: hex.EncodeToString(public.Raw),
		Crypto: account.Crypto})
}

// accountFile finds the file of an account by the address in its name.
func (w *Wallet) accountFile(address common.Address) (found string, err error) {
	err = filepath.WalkDir(w.o.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && strings.Contains(strings.ToLower(d.Name()), hex.EncodeToString(address[:])) {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && found == "" {
		err = errors.New("account not found")
	}
	return found, err
}

// write makes a validator's file. One that is there may only be the same.
func (w *Wallet) write(public inter.PublicKey, file validatorFile) (err error) {
	text, err := json.Marshal(file)
	if err != nil {
		return err
	}
	path := w.path(public)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s: %w", path, ErrKeyExists), err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".validator-*"+vfs.NewSuffix)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = vfs.RenameDurably(vfs.OS, f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(f.Name())))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// UnlockValidator returns a validator's private key. It asks for the password if none was
// given.
func (w *Wallet) UnlockValidator(public inter.PublicKey) (key *ecdsa.PrivateKey, err error) {
	tries := attempts
	if len(w.o.Passwords) > 0 {
		tries = 1
	}
	// Nobody is asked for the password of what is not there.
	if _, err := os.Stat(w.path(public)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("unlock %s: %w", w.path(public), ErrKeyNotFound)
	}
	for try := range tries {
		password, failed := w.password(fmt.Sprintf("Unlocking validator key %s | Attempt %d/%d",
			public, try+1, attempts), false, 0)
		if failed != nil {
			return nil, failed
		}
		if key, err = w.readValidator(public, password); err == nil || !errors.Is(err, keystore.ErrDecrypt) {
			break
		}
	}
	return key, err
}

// readValidator reads a validator's key from its file.
func (w *Wallet) readValidator(public inter.PublicKey, password string) (*ecdsa.PrivateKey, error) {
	path := w.path(public)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("unlock a validator's key: %w", err)
	}
	var file validatorFile
	err = json.Unmarshal(text, &file)
	if err == nil && file.Type != inter.Secp256k1Key {
		err = ErrKeyType
	}
	var plain []byte
	if err == nil {
		plain, err = keystore.DecryptDataV3(file.Crypto, password)
	}
	var key *ecdsa.PrivateKey
	if err == nil {
		key, err = crypto.ToECDSA(plain)
	}
	if err != nil {
		return nil, fmt.Errorf("unlock %s: %w", path, err)
	}
	// Who can exchange files must not make a validator sign with another key.
	if got := crypto.FromECDSAPub(&key.PublicKey); !bytes.Equal(got, public.Raw) {
		return nil, fmt.Errorf("unlock %s: key content mismatch: have public key %X, want %X", path, got, public.Raw)
	}
	return key, nil
}
