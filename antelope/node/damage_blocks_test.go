package node

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/logging"
)

// A block of the log that was damaged is served to nobody: not over the API, to peers, nor to clients
// of state history. The log has its file and offset, and the node is not ready.
func TestADamagedBlockIsServedToNobodyAndTold(t *testing.T) {
	c := theChain(t)
	s := rand.Uint64()
	t.Logf("seed %d", s)
	r := rand.New(rand.NewPCG(s, 1))
	o := wholeNode(t, c)
	var said bytes.Buffer
	o.Log = logging.New(logging.Options{Err: &said}).Logger("")
	n := mustStart(t, o)
	defer n.Close()
	last, _, _ := n.log.Head()
	num := n.log.First() + 1 + r.Uint32N(last-n.log.First()-2)
	at, ok, err := n.log.Position(num)
	if err != nil || !ok {
		t.Fatal(at, ok, err)
	}
	path := filepath.Join(o.BlocksDir, blocklog.LogName)
	flipByte(t, path, int64(at)+int64(r.IntN(180))) // of its header or its signature
	for name, read := range map[string]func() (bool, error){
		"block": func() (bool, error) {
			b, err := servedLog{n}.Read(num)
			return b != nil, err
		},
		"header": func() (bool, error) {
			b, err := servedLog{n}.ReadHeader(num)
			return b != nil, err
		},
		"peers": func() (bool, error) {
			b, err := n.blocks().Logged(num)
			return b != nil, err
		},
		"state history": func() (bool, error) {
			_, ok, err := n.loggedID(num)
			return ok, err
		},
	} {
		there, err := read()
		if there || !n.noteDamage(err) {
			t.Errorf("%s: block %d, hurt at offset %d: %v, %v", name, num, at, there, err)
		}
	}
	if err := n.damage.err(); err == nil || !strings.HasPrefix(err.Error(), "a log of blocks is damaged") ||
		strings.Contains(err.Error(), o.BlocksDir) {
		t.Errorf("readyz says %v", err)
	}
	if text := said.String(); !strings.Contains(text, path) || !strings.Contains(text, "offset") ||
		!strings.Contains(text, "--hard-replay-blockchain") {
		t.Errorf("the log says %s", text)
	}
	for _, next := range []uint32{num - 2, num + 1} {
		if b, err := (servedLog{n}).Read(next); next > n.log.First() && (b == nil || err != nil) {
			t.Errorf("block %d, which is whole: %v", next, err)
		}
	}
}

// A replay names the file and the offset of a block that was damaged, wherever in the block, and does not apply it.
func TestAReplayNamesTheBlockThatIsDamaged(t *testing.T) {
	c := theChain(t)
	s := rand.Uint64()
	t.Logf("seed %d", s)
	r := rand.New(rand.NewPCG(s, 1))
	for range 8 {
		o := wholeNode(t, c)
		n := mustStart(t, o)
		last, _, _ := n.log.Head()
		num := 2 + r.Uint32N(last-3)
		at, _, err := n.log.Position(num)
		next, _, err2 := n.log.Position(num + 1)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(o.BlocksDir, blocklog.LogName)
		o.Replay = true
		if n, err = Open(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		hurt := int64(at) + int64(r.Uint64N(next-at-8)) // without the offset that follows it
		flipByte(t, path, hurt)
		err = n.Start(context.Background())
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "offset") ||
			strings.Contains(err.Error(), "unlinkable") {
			t.Errorf("block %d at offset %d, hurt at %d: %v", num, at, hurt, err)
		}
		if h := n.Chain().Head(); h != nil && h.BlockNum >= num {
			t.Errorf("block %d was damaged, and the head is %d", num, h.BlockNum)
		}
		n.Close() //nolint:errcheck // it has failed
	}
}
