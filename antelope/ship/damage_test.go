package ship_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
)

var seedFlag = flag.Uint64("ship.seed", 1, "of random damage; 0 for a new one")

// told is the errors of clients' requests that were of a damaged log.
type told struct {
	mu   sync.Mutex
	list []string
}

func (x *told) damaged(err error) bool {
	if !errors.Is(err, shiplog.ErrCorrupt) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, err.Error())
	return true
}

// take returns what was told, and forgets it. A client is ended before its error is told.
func (x *told) take(wait bool) []string {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		x.mu.Lock()
		list := x.list
		if len(list) > 0 || !wait || time.Now().After(end) {
			x.list = nil
			x.mu.Unlock()
			return list
		}
		x.mu.Unlock()
	}
}

// messages are those of blocks from one to before another, nil where the client was ended; traces and
// rows are asked for.
func (n *node) messages(from, end uint32) (list [][]byte) {
	for from < end {
		c := n.dial(0)
		b := []byte{1}
		for _, x := range []uint32{from, end, 1 << 30} {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		c.send(append(b, 0, 0, 0, 1, 1)...)
		for ; from < end; from++ {
			c.c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
			_, b, err := c.c.ReadMessage()
			if err != nil {
				list, from = append(list, nil), from+1
				break
			}
			list = append(list, b)
		}
		c.c.Close()
	}
	return list
}

// Whatever bit of a history's files is damaged, clients are sent each irreversible block as it was, or
// are ended, and the operator is told of the file. Nothing is left out.
func TestNoDamageMakesABlockAnother(t *testing.T) {
	s := *seedFlag
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-ship.seed=%d", s)
	retained := t.TempDir()
	for name, o := range map[string]ship.Options{
		"one file": {},
		"parts":    {Partition: &shiplog.Partition{Retained: retained, Stride: 7, MaxFiles: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(s, 1))
			x := &told{}
			o.Damaged = x.damaged
			n := start(t, o, ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
			n.produce(40)
			if err := n.history.Sync(); err != nil {
				t.Fatal(err)
			}
			n.history.Forget()
			irreversible, _ := n.Irreversible()
			want := n.messages(1, irreversible+1)
			if x := x.take(false); len(x) > 0 {
				t.Fatal(x)
			}
			var files []string
			for _, dir := range []string{n.dir, retained} {
				err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
					if info, err := os.Stat(path); err == nil && info.Size() > 0 &&
						(strings.HasSuffix(path, ".log") || strings.HasSuffix(path, ".index")) {
						files = append(files, path)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			ended, mended := 0, 0
			for range 150 {
				path := files[r.IntN(len(files))]
				at, ok := flip(t, r, path)
				n.history.Forget()
				for i, b := range n.messages(1, irreversible+1) {
					if b != nil && !bytes.Equal(b, want[i]) {
						t.Errorf("offset %d of %s: block %d is another", at, path, i+1)
					}
					if b == nil {
						ended++
						if list := x.take(true); len(list) == 0 || !strings.Contains(list[0],
							strings.TrimSuffix(path, filepath.Ext(path))) || !strings.Contains(list[0], "offset") {
							t.Errorf("offset %d of %s: block %d: told %q", at, path, i+1, list)
						}
					}
				}
				if was := ok(); was {
					mended++
				}
				x.take(false)
			}
			t.Logf("%d clients were ended, %d places were mended", ended, mended)
			if ended == 0 || mended == 0 {
				t.Error("nothing was damaged")
			}
		})
	}
}

// Whatever bit of an entry's packed stream is damaged, the client is ended and the operator told, also
// where all bytes come and only the end of the stream does not.
func TestEachBitOfAStreamCounts(t *testing.T) {
	x := &told{}
	n := start(t, ship.Options{Damaged: x.damaged},
		ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
	n.produce(40)
	if err := n.history.Sync(); err != nil {
		t.Fatal(err)
	}
	const num, headBytes, backBytes = 9, 8 + 32 + 8, 8 // of an entry, before and after what is packed
	path := filepath.Join(n.dir, "chain_state_history.")
	index, err := os.ReadFile(path + "index")
	if err != nil {
		t.Fatal(err)
	}
	begin := binary.LittleEndian.Uint64(index[8*(num-1):]) + headBytes
	end := binary.LittleEndian.Uint64(index[8*num:]) - backBytes
	f, err := os.OpenFile(path+"log", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	was := make([]byte, end-begin)
	if _, err := f.ReadAt(was, int64(begin)); err != nil {
		t.Fatal(err)
	}
	n.history.Forget()
	want := n.messages(num, num+1)[0]
	for bit := range 8 * len(was) {
		at := int64(begin) + int64(bit/8)
		if _, err := f.WriteAt([]byte{was[bit/8] ^ 1<<(bit%8)}, at); err != nil {
			t.Fatal(err)
		}
		n.history.Forget()
		m := n.messages(num, num+1)[0]
		if list := x.take(m == nil); !bytes.Equal(m, want) && (m != nil || len(list) == 0) {
			t.Errorf("bit %d of the byte at offset %d: a message of %d bytes, told %q", bit%8, at, len(m), list)
		}
		if _, err := f.WriteAt(was[bit/8:bit/8+1], at); err != nil {
			t.Fatal(err)
		}
	}
}

// flip damages a bit of a file. The function that it returns makes it as it was, and tells whether it
// was already.
func flip(t *testing.T, r *rand.Rand, path string) (at int, restore func() bool) {
	t.Helper()
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at = r.IntN(len(was))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{was[at] ^ 1<<r.IntN(8)}, int64(at)); err != nil {
		t.Fatal(err)
	}
	return at, func() bool {
		defer f.Close()
		var now [1]byte
		if _, err := f.ReadAt(now[:], int64(at)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(was[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
		return now[0] == was[at]
	}
}
