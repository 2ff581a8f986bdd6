package keyfiles

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/inter"
)

// answers answers questions, in their order.
type answers []string

// Password implements Asker.
func (a *answers) Password(string) (string, error) {
	if len(*a) == 0 {
		return "", io.EOF
	}
	first := (*a)[0]
	*a = (*a)[1:]
	return first, nil
}

// open returns a wallet in a folder, and what it says.
func open(t *testing.T, dir string, answer ...string) (*Wallet, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	a := answers(answer)
	w, err := New(Options{Dir: dir, Light: true, Ask: &a, Out: &out, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return w, &out
}

// account makes an account, and returns its key and its file's content.
func account(t *testing.T, dir, password string) (*ecdsa.PrivateKey, string) {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	w, _ := open(t, dir)
	a, err := w.Keystore().ImportECDSA(key, password)
	if err != nil {
		t.Fatal(err)
	}
	return key, a.URL.Path
}

func public(key *ecdsa.PrivateKey) inter.PublicKey {
	return inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)}
}

func fails(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, want %q", err, text)
	}
}

// The password that opens one of two files of an address decides which is meant.
func TestOneOfTwoFilesOfAnAddressIsChosenByItsPassword(t *testing.T) {
	dir := t.TempDir()
	key, first := account(t, dir, "one")
	other := t.TempDir()
	w, _ := open(t, other)
	a, err := w.Keystore().ImportECDSA(key, "two")
	if err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(dir, "second")
	if err := os.Rename(a.URL.Path, second); err != nil {
		t.Fatal(err)
	}
	name := a.Address.Hex()
	w, out := open(t, dir, "two")
	keys := w.Keystore()
	if err := w.Unlock(keys, []string{name}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Unlocking account " + name + " | Attempt 1/3\n",
		"Multiple key files exist for address " + strings.ToLower(name[2:]) + ":\n",
		"Testing your passphrase against all of them...\n",
		"Your passphrase unlocked keystore://" + second + "\n",
		"duplicate key files:\n   keystore://" + first + "\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q, but %q", want, out)
		}
	}
	if _, err := keys.SignHash(a, make([]byte, 32)); err != nil {
		t.Error(err)
	}
	w, _ = open(t, dir, "three")
	fails(t, w.Unlock(w.Keystore(), []string{name}), "None of the listed files could be unlocked.")
}

// A wrong password is asked for three times, a given one is taken once.
func TestPasswordsAreAskedForThreeTimes(t *testing.T) {
	dir := t.TempDir()
	account(t, dir, "right")
	w, out := open(t, dir, "wrong", "wrong", "right")
	if err := w.Unlock(w.Keystore(), []string{"0"}); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "Unlocking account 0 | Attempt "); n != 3 {
		t.Errorf("it asks %d times: %s", n, out)
	}
	w, _ = open(t, dir, "wrong", "wrong", "wrong", "right")
	fails(t, w.Unlock(w.Keystore(), []string{"0"}), "Failed to unlock account 0 (could not decrypt key")
	w, out = open(t, dir)
	w.o.Passwords = []string{"wrong", "right"}
	if err := w.Unlock(w.Keystore(), []string{"0"}); err == nil {
		t.Error("the second password opens the first account")
	}
	if out.Len() != 0 {
		t.Errorf("it asks for what was given: %s", out)
	}
	w.o.Passwords = []string{"right"}
	if err := w.Unlock(w.Keystore(), []string{"0", "0"}); err != nil {
		t.Error(err)
	}
	fails(t, w.Unlock(w.Keystore(), []string{"1"}), "index 1 higher than number of accounts 1")
}

// A converted key is the validator's; no other key gets its name, and none is replaced.
func TestAnAccountsKeyBecomesAValidators(t *testing.T) {
	dir := t.TempDir()
	key, path := account(t, dir, "right")
	stranger, _ := account(t, dir, "right")
	w, out := open(t, dir, "wrong", "right")
	address := crypto.PubkeyToAddress(key.PublicKey).Hex()
	fails(t, w.ConvertToValidator(address, public(stranger).String()), "is the file of the account "+address)
	fails(t, w.ConvertToValidator(address, "0xc1"+public(key).String()[4:]), ErrKeyType.Error())
	for _, name := range []string{address, path} { // the second finds the same
		if err := w.ConvertToValidator(name, public(key).String()); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "validator", public(key).String()[2:])
	if !strings.HasSuffix(out.String(), "\nYour key was converted and saved to "+file+"\n") {
		t.Errorf("it says %q", out)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	got, err := w.UnlockValidator(public(key))
	if err != nil || !got.Equal(key) {
		t.Errorf("its key: %v", err)
	}
	if n := strings.Count(out.String(), "Unlocking validator key 0xc004"); n != 2 {
		t.Errorf("it asks %d times: %s", n, out)
	}
	// The account under another password is not written over it.
	if err := w.Keystore().Update(w.Keystore().Accounts()[0], "right", "new"); err != nil {
		t.Fatal(err)
	}
	if err := w.Keystore().Update(w.Keystore().Accounts()[1], "right", "new"); err != nil {
		t.Fatal(err)
	}
	if err := w.ConvertToValidator(address, public(key).String()); !errors.Is(err, ErrKeyExists) {
		t.Errorf("over a file with another password: %v", err)
	}
	if _, err := w.UnlockValidator(public(stranger)); !errors.Is(err, ErrKeyNotFound) {
		t.Errorf("without a file: %v", err)
	}
}

// A wallet of the presale holds a seed, encrypted with its password.
func TestAWalletOfThePresaleIsImported(t *testing.T) {
	seed := []byte("a seed of some bytes")
	key, err := pbkdf2.Key(sha256.New, "right", []byte("right"), 2000, 16)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	n := aes.BlockSize - len(seed)%aes.BlockSize
	plain := append(bytes.Clone(seed), bytes.Repeat([]byte{byte(n)}, n)...)
	sealed := make([]byte, aes.BlockSize+len(plain))
	cipher.NewCBCEncrypter(block, sealed[:aes.BlockSize]).CryptBlocks(sealed[aes.BlockSize:], plain)
	private, err := crypto.ToECDSA(crypto.Keccak256(seed))
	if err != nil {
		t.Fatal(err)
	}
	address := crypto.PubkeyToAddress(private.PublicKey)
	text, err := json.Marshal(map[string]string{"encseed": hex.EncodeToString(sealed),
		"ethaddr": hex.EncodeToString(address[:])})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "presale.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w, out := open(t, t.TempDir(), "wrong", "right")
	if err := w.ImportPresale(file); !errors.Is(err, keystore.ErrDecrypt) {
		t.Errorf("with a wrong password: %v", err)
	}
	if err := w.ImportPresale(file); err != nil {
		t.Fatal(err)
	}
	if want := "Address: {" + hex.EncodeToString(address[:]) + "}\n"; out.String() != want {
		t.Errorf("it says %q, want %q", out, want)
	}
	if !w.Keystore().HasAddress(address) {
		t.Error("there is no such account")
	}
}
