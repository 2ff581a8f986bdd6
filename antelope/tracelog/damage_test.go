package tracelog_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/consensus"
	"tarn/antelope/tracelog"
	"tarn/antelope/tracelog/slicefile"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

var seedFlag = flag.Uint64("tracelog.seed", 1, "of random damage; 0 for a new one")

// known is what of a block's traces something else than themselves tells.
func known(b *wire.Block) *wire.Block {
	c := *b
	c.Transactions = nil
	for _, t := range b.Transactions {
		t.Actions = make([]wire.Action, len(t.Actions))
		c.Transactions = append(c.Transactions, t)
	}
	if len(c.Transactions) > 0 { // the chain's own
		c.Transactions[0].Receipt = nil
	}
	return &c
}

// sampled opens the traces of the sample in a folder, of which a block log knows the blocks.
func sampled(t *testing.T, folder string, log *blocklog.Log) *tracelog.History {
	t.Helper()
	h := open(t, tracelog.Options{Files: slicefile.Options{Dir: folder}, Logged: func(num uint32) *types.SignedBlock {
		b, err := log.Read(num)
		if err != nil {
			return nil
		}
		return b
	}})
	num, id, _ := log.Head()
	// What is damaged at the end stops the start.
	if err := h.Hooks().Begin(&consensus.BlockState{
		HeaderState: &consensus.HeaderState{Progress: consensus.Progress{BlockNum: num}, ID: id}}); err != nil &&
		!errors.Is(err, slicefile.ErrCorrupt) {
		t.Fatal(err)
	}
	return h
}

// Whatever bit of the traces of irreversible blocks is damaged, what a block log, or the traces' other
// files, tell of them is answered as it was, or not at all.
func TestDamagedTracesAreNotThoseOfAnotherBlock(t *testing.T) {
	s := *seedFlag
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-tracelog.seed=%d", s)
	r := rand.New(rand.NewPCG(s, 1))
	dir, blocks := refdata.Path(t, "history-sample"), t.TempDir()
	for _, name := range []string{"blocks.log", "blocks.index"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(blocks, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	log, err := blocklog.Open(blocklog.Options{Dir: blocks})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	whole := sampled(t, copyTraces(t, dir), log)
	want := map[uint32]*wire.Block{}
	last, _, _ := log.Head()
	for num := uint32(2); num <= last; num++ {
		b, irreversible, err := whole.Block(num, nil)
		if errors.Is(err, tracelog.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatalf("block %d of the sample: %v", num, err)
		}
		if irreversible {
			want[num] = known(b)
		}
	}
	if err := whole.Close(); err != nil || len(want) < 300 {
		t.Fatalf("%d blocks, %v", len(want), err)
	}
	refused, harmless := 0, 0
	for range 25 {
		folder := copyTraces(t, dir)
		path, at := flip(t, r, folder)
		h := sampled(t, folder, log)
		hurt := false
		var first uint32
		if _, err := fmt.Sscanf(filepath.Base(path)[strings.IndexAny(filepath.Base(path), "0123456789"):], "%d-",
			&first); err != nil {
			t.Fatal(err)
		}
		for num := first; num < first+20; num++ {
			want := want[num]
			if want == nil {
				continue
			}
			b, irreversible, err := h.Block(num, nil)
			switch {
			case errors.Is(err, slicefile.ErrCorrupt):
				hurt = true
				if !strings.Contains(err.Error(), folder) {
					t.Errorf("offset %d of %s: block %d: %v", at, path, num, err)
				}
			case errors.Is(err, tracelog.ErrNotFound):
				t.Errorf("offset %d of %s: block %d is missing", at, path, num)
			case err != nil:
				t.Errorf("offset %d of %s: block %d: %v", at, path, num, err)
			case irreversible && !reflect.DeepEqual(known(b), want):
				t.Errorf("offset %d of %s: block %d is another:\n%+v\n%+v", at, path, num, known(b), want)
			}
		}
		if hurt {
			refused++
		} else {
			harmless++
		}
		h.Close() //nolint:errcheck // it was read
	}
	t.Logf("%d of 25 bits were found, %d changed nothing that is known", refused, harmless)
	if refused == 0 {
		t.Error("nothing was damaged")
	}
}

// flip damages a bit of a file of traces.
func flip(t *testing.T, r *rand.Rand, folder string) (path string, at int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "trace_*log"))
	if err != nil {
		t.Fatal(err)
	}
	path = files[r.IntN(len(files))]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at = r.IntN(len(b))
	b[at] ^= 1 << r.IntN(8)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path, at
}
