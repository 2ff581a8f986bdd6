package node

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/config"
	"tarn/opera/emitter"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/keyfiles"
)

// speakerConfig are the options of a validator, or of none if its id is 0.
func speakerConfig(t *testing.T, dir string, id uint32) *config.Config {
	t.Helper()
	c, err := ownConfig(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ownConfig(dir string, id uint32) (*config.Config, error) {
	c := &config.Config{}
	c.Node.DataDir = dir
	if id == 0 {
		return c, nil
	}
	key, err := fakenet.Key(inter.ValidatorID(id))
	if err != nil {
		return nil, err
	}
	c.Run.Fakenet.ID = id
	c.Emitter.Validator.ID = id
	c.Emitter.Validator.PubKey = config.PubKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)}
	c.Emitter.PrevEmittedEventFile.Path = filepath.Join(dir, "last")
	c.Emitter.EmitIntervals = config.EmitIntervals{
		Min: 20 * time.Millisecond, Max: 100 * time.Millisecond, Confirming: 20 * time.Millisecond,
		ParallelInstanceProtection: time.Minute, DoublesignProtection: 300 * time.Millisecond,
	}
	return c, nil
}

// speaking gives a node of a fakenet a validator that says something every 100 ms.
func speaking(t *testing.T, n *Node, dir string, id uint32, static ...string) string {
	t.Helper()
	c := speakerConfig(t, dir, id)
	peers := connectPeer(t, n, dir, static...)
	l := newServices(c, slog.NewTextHandler(t.Output(), nil))
	v, err := l.validate(n, peers, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.close)
	return peers.Self().URLv4()
}

func head(t *testing.T, n *Node) inter.BlockNumber {
	t.Helper()
	v, err := n.Chain().View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	return v.Head().Number
}

// Two validators make blocks by themselves, and the same ones.
func TestTwoValidatorsMakeBlocks(t *testing.T) {
	var nodes []*Node
	var dirs []string
	for range 2 {
		dir := t.TempDir()
		o := options(dir, io.Discard)
		o.Genesis = &Beginning{Validators: 2}
		nodes, dirs = append(nodes, open(t, o)), append(dirs, dir)
	}
	first := speaking(t, nodes[0], dirs[0], 1)
	speaking(t, nodes[1], dirs[1], 2, first)
	const enough = 3
	deadline := time.Now().Add(2 * time.Minute)
	for _, n := range nodes {
		for head(t, n) < enough && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
		}
	}
	var want []byte
	for i, n := range nodes {
		v, err := n.Chain().View()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		record, err := v.BlockRecord(enough)
		if err != nil || record == nil {
			t.Fatalf("node %d has no block %d: %v", i+1, enough, err)
		}
		hash := record.Block.Hash()
		if want == nil {
			want = hash[:]
		}
		if !bytes.Equal(hash[:], want) {
			t.Errorf("node %d has block %d as %x, node 1 as %x", i+1, enough, hash, want)
		}
	}
}

// After a sign that a validator may sign twice the node ends, and does not start until an
// operator has removed the file that says why.
func TestAValidatorThatMaySignTwiceLocksItsNode(t *testing.T) {
	dir := t.TempDir()
	n := open(t, options(dir, io.Discard))
	l := newServices(&config.Config{}, slog.DiscardHandler)
	l.Node.DataDir = dir
	l.endSilenced(n, emitter.ErrLocked)
	if cause := n.Cause(); !errors.Is(cause, emitter.ErrLocked) {
		t.Error(cause)
	}
	shut(t, n)
	if _, err := Open(t.Context(), options(dir, io.Discard)); err == nil ||
		!strings.Contains(err.Error(), "isn't allowed to start") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, errlock)); err != nil {
		t.Fatal(err)
	}
	shut(t, open(t, options(dir, io.Discard)))
}

// A validator whose journal cannot be written ends its node, which may start again.
func TestAValidatorThatCannotGoOnEndsItsNode(t *testing.T) {
	dir := t.TempDir()
	n := open(t, options(dir, io.Discard))
	l := newServices(&config.Config{}, slog.DiscardHandler)
	l.Node.DataDir = dir
	n.version.demanded.Store(ours + 1)
	l.endSilenced(n, n.version.unsupportedError())
	if n.Cause() != nil {
		t.Error("a node ends of which the network demands another version: ", n.Cause())
	}
	n.version.demanded.Store(0)
	l.endSilenced(n, fmt.Errorf("write the last own event: %w",
		&os.PathError{Op: "write", Path: "/somewhere/last", Err: syscall.ENOSPC}))
	if cause := n.Cause(); !errors.Is(cause, syscall.ENOSPC) ||
		!strings.Contains(cause.Error(), "free space on the disk of /somewhere") {
		t.Error(cause)
	}
	shut(t, n)
	shut(t, open(t, options(dir, io.Discard)))
}

func TestAValidatorsOptionsAreChecked(t *testing.T) {
	dir := t.TempDir()
	n := open(t, options(dir, io.Discard))
	c := &config.Config{}
	c.Node.DataDir = dir
	l := newServices(c, slog.DiscardHandler)
	if v, err := l.validate(n, nil, nil); v != nil || err != nil {
		t.Errorf("without a validator: %v, %v", v, err)
	}
	c.Emitter.Validator.ID, c.Run.Fakenet.ID = 1, 1
	c.Emitter.Validator.PubKey = config.PubKey{Type: inter.Secp256k1Key, Raw: []byte{4, 1}}
	c.Emitter.PrevEmittedEventFile.Path = filepath.Join(dir, "last")
	if _, err := l.validate(n, nil, nil); err == nil || !strings.Contains(err.Error(), "key is not found") {
		t.Errorf("with the key of nobody: %v", err)
	}
	c.Emitter.PrevEmittedEventFile.Path = os.DevNull
	if _, err := l.validate(n, nil, nil); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("with a device for a journal: %v", err)
	}
}

// A key in a file of go-opera's form signs for the validator; with another password, in
// another's file or of another type it does not.
func TestAValidatorsKeyIsUnlocked(t *testing.T) {
	dir := t.TempDir()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	raw := crypto.FromECDSAPub(&key.PublicKey)
	name := hex.EncodeToString(append([]byte{inter.Secp256k1Key}, raw...))
	sealed, err := keystore.EncryptDataV3(crypto.FromECDSA(key), []byte("auth1"), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"type": 192, "pubkey": hex.EncodeToString(raw), "crypto": sealed})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "keystore", "validator")
	put := func(name string, text []byte) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(folder, 0o700),
			os.WriteFile(filepath.Join(folder, name), text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put(name, text)
	password := filepath.Join(dir, "password")
	c := &config.Config{}
	c.Node.DataDir = dir
	c.Emitter.Password = password
	l := newServices(c, slog.DiscardHandler)
	of := func(name, word string) (emitter.Signer, error) {
		t.Helper()
		public, err := inter.ParsePublicKey(name)
		if err == nil {
			err = os.WriteFile(password, []byte(word), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Emitter.Validator.PubKey = config.PubKey{Type: public.Type, Raw: public.Raw}
		return l.signer()
	}
	if s, err := of(name, "auth1\r\nsomething else\n"); err != nil || s == nil {
		t.Errorf("with its password: %v", err)
	}
	if _, err := of(name, "auth2\n"); err == nil || !strings.Contains(err.Error(), "could not decrypt key") {
		t.Errorf("with another password: %v", err)
	}
	if _, err := of(name+"00", "auth1"); !errors.Is(err, keyfiles.ErrKeyNotFound) {
		t.Errorf("without a file: %v", err)
	}
	other := name[:len(name)-2] + "00"
	if other == name {
		other = name[:len(name)-2] + "01"
	}
	put(other, text)
	if _, err := of(other, "auth1"); err == nil || !strings.Contains(err.Error(), "key content mismatch") {
		t.Errorf("with the file of another: %v", err)
	}
	put(other, bytes.Replace(text, []byte(`"type":192`), []byte(`"type":1`), 1))
	if _, err := of(other, "auth1"); !errors.Is(err, keyfiles.ErrKeyType) {
		t.Errorf("of another type: %v", err)
	}
}
