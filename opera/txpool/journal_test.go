package txpool

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
)

// journalOf is a journal of some transactions, and how many bytes each begins after.
func journalOf(t *testing.T, n int) (raw []byte, begins []int) {
	t.Helper()
	for i := range n {
		begins = append(begins, len(raw))
		o := offer{from: 1, nonce: uint64(i), fee: 20, tip: int64(i % 2), data: 100 * i}
		b, err := encode(types.Transactions{o.tx()})
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, b...)
	}
	return raw, append(begins, len(raw))
}

// Wherever a journal is torn, all before the tear comes back, a tear is told of, and the
// file is whole after the start.
func TestATornJournalKeepsWhatIsWhole(t *testing.T) {
	raw, begins := journalOf(t, 4)
	for cut := range len(raw) + 1 {
		whole, torn := 0, true
		for i, b := range begins {
			if b <= cut {
				whole, torn = i, b != cut
			}
		}
		files := memfs.New()
		files.Put("/journal", memfs.NewBlob(raw[:cut]))
		warned := 0
		p := newWorld().pool(t, Options{Journal: "/journal", FS: files, Warn: func(error) { warned++ }})
		if pending, _ := p.Stats(); pending != whole || (warned > 0) != torn {
			t.Fatalf("cut at %d: %d of %d transactions are back, warned %d times", cut, pending, whole, warned)
		}
		if got := files.Blob("/journal").Bytes(); !bytes.Equal(got, raw[:begins[whole]]) {
			t.Fatalf("cut at %d: the journal has %d bytes", cut, len(got))
		}
	}
}

// A transaction that is damaged costs no other one, and what a journal had stays on the disk.
func TestADamagedTransactionCostsNoOther(t *testing.T) {
	// Each transaction has its own sender, so that none waits for one before it, and here a sender is a
	// signature: no bit makes another one's of it.
	who := []int{0x1f35a7, 0x62c81b, 0x94e60d, 0xab1972, 0xc7745e, 0xe80fb3}
	senders := len(who)
	var raw []byte
	var begins []int
	for i := range senders {
		begins = append(begins, len(raw))
		b, err := encode(types.Transactions{offer{from: who[i], fee: 20, tip: int64(i % 2), data: 60 + 100*i}.tx()})
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, b...)
	}
	begins = append(begins, len(raw))
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	for round := range 2000 {
		b := bytes.Clone(raw)
		at := r.IntN(len(b))
		n := 1 + r.IntN(min(300, len(b)-at))
		switch r.IntN(4) {
		case 0:
			n = 1
			b[at] ^= 1 << r.IntN(8)
		case 1:
			clear(b[at : at+n])
		case 2:
			for i := range n {
				b[at+i] = byte(r.Uint32())
			}
		case 3:
			b, n = b[:at], len(b)-at
		}
		files := memfs.New()
		files.Put("/journal", memfs.NewBlob(b))
		var warned []error
		p := newWorld().pool(t, Options{Journal: "/journal", FS: files, Warn: func(err error) {
			warned = append(warned, err)
		}})
		hurt := 0
		for i := range senders {
			whole := begins[i+1] <= at || begins[i] >= at+n
			tx := offer{from: who[i], fee: 20, tip: int64(i % 2), data: 60 + 100*i}.tx()
			if whole && p.Get(tx.Hash()) == nil {
				t.Fatalf("seed %d, round %d: %d bytes at %d of %d are damaged, and the transaction at %d is gone: %v",
					seed, round, n, at, begins, begins[i], warned)
			}
			if !whole && p.Get(tx.Hash()) == nil {
				hurt++
			}
		}
		// Here each signature is somebody's who has money, so one that is a transaction still is taken.
		pending, queued := p.Stats()
		if taken := pending + queued - (senders - hurt); len(warned) == 0 && hurt > taken &&
			at != begins[senders-hurt] {
			t.Fatalf("seed %d, round %d: %d bytes at %d are damaged, %d transactions are gone, and nobody is told",
				seed, round, n, at, hurt)
		}
		if kept := files.Blob("/journal.bad"); kept != nil && !bytes.HasSuffix(b, kept.Bytes()) {
			t.Fatalf("seed %d, round %d: what is kept is not what the journal had", seed, round)
		}
	}
}

// Garbage in a journal costs neither the start nor memory, whatever sizes it speaks of.
func TestAJournalOfGarbage(t *testing.T) {
	garbage := [][]byte{
		{0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0xbf, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},
		bytes.Repeat([]byte{0xf9, 0xff, 0xff}, 100_000),
		bytes.Repeat([]byte{0xc1}, 1_000_000),
		append([]byte{0xbb, 0x03, 0, 0, 0}, make([]byte, 64<<20)...),
		{0x03, 0x03, 0x80},
	}
	good, _ := journalOf(t, 2)
	for i, g := range garbage {
		path := journalIn(t)
		if err := os.WriteFile(path, append(bytes.Clone(good), g...), 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		warned := 0
		p := newWorld().pool(t, Options{Journal: path, Warn: func(error) { warned++ }})
		runtime.ReadMemStats(&after)
		if pending, _ := p.Stats(); pending != 2 || warned != 1 {
			t.Errorf("garbage %d: %d transactions are back, warned %d times", i, pending, warned)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("garbage %d took %d bytes", i, took)
		}
	}
}

// A journal keeps local transactions only, those of the moment when it is written anew, and
// goes on after that.
func TestAJournalIsWrittenAnew(t *testing.T) {
	w := newWorld()
	path := journalIn(t)
	p := w.pool(t, Options{Journal: path})
	for n := range uint64(4) {
		if err := p.Add(offer{from: 1, nonce: n, fee: 20}.tx()); err != nil {
			t.Fatal(err)
		}
		if err := p.AddRemotes([]*types.Transaction{offer{from: 2, nonce: n, fee: 20}.tx()})[0]; err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			w.accounts[who(1)] = state{nonce: 1, balance: 1 << 40}
			p.advance()
			p.rejournal()
		}
	}
	var want []byte
	for n := range uint64(3) {
		b, err := encode(types.Transactions{offer{from: 1, nonce: 1 + n, fee: 20}.tx()})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b...)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the journal has %d bytes, %d are expected; %v", len(got), len(want), err)
	}
}

// A client's transaction that waits while validators come to ask for more waits over a restart, too.
func TestAJournalComesBackWhateverTipIsAskedFor(t *testing.T) {
	w := newWorld()
	o := Options{Journal: journalIn(t)}
	p := w.pool(t, o)
	tx := offer{from: 1, fee: 20, tip: 1}.tx()
	if err := p.Add(tx); err != nil {
		t.Fatal(err)
	}
	w.minTip = 5
	p.advance()
	if err := p.Add(offer{from: 1, nonce: 1, fee: 20, tip: 1}.tx()); !errors.Is(err, ErrUnderpriced) ||
		p.Get(tx.Hash()) == nil {
		t.Fatalf("before the restart: %v", err)
	}
	for range 2 { // the journal is written anew at each start
		kept, err := os.ReadFile(o.Journal)
		if err != nil {
			t.Fatal(err)
		}
		o.Journal = journalIn(t)
		if err := os.WriteFile(o.Journal, kept, 0o600); err != nil {
			t.Fatal(err)
		}
		later := newWorld()
		later.minTip = w.minTip
		if p = later.pool(t, o); p.Get(tx.Hash()) == nil {
			t.Error("the transaction is gone")
		}
		if err := p.Add(offer{from: 2, fee: 20, tip: 1}.tx()); !errors.Is(err, ErrUnderpriced) {
			t.Errorf("after the restart: %v", err)
		}
	}
}

// A journal stays as it is where it cannot be told whether its transactions still wait.
func TestAJournalOutlivesAStateThatCannotBeRead(t *testing.T) {
	raw, _ := journalOf(t, 3)
	files := memfs.New()
	files.Put("/journal", memfs.NewBlob(raw))
	w := newWorld()
	w.fails = errors.New("damaged")
	warned := 0
	p := w.pool(t, Options{Journal: "/journal", FS: files, Warn: func(err error) {
		if warned++; !errors.Is(err, w.fails) {
			t.Errorf("warned of %v", err)
		}
	}})
	if pending, queued := p.Stats(); pending+queued > 0 || warned == 0 {
		t.Errorf("%d wait, warned %d times", pending+queued, warned)
	}
	p.rejournal()
	if got := files.Blob("/journal").Bytes(); !bytes.Equal(got, raw) {
		t.Errorf("of %d bytes of the journal %d are left", len(raw), len(got))
	}
}

// A disk that takes nothing costs the journal, and no transaction.
func TestAFullDiskCostsTheJournalOnly(t *testing.T) {
	disk := memfs.New()
	files := errorfs.New(disk)
	full := errors.New("no space")
	var warned []error
	w := newWorld()
	p := w.pool(t, Options{Journal: "/journal", FS: files, Warn: func(err error) { warned = append(warned, err) }})
	files.Inject(errorfs.Fault{Ops: errorfs.Change, Ever: true, Err: full})
	if err := p.Add(offer{from: 1, fee: 20}.tx()); err != nil {
		t.Fatal(err)
	}
	if len(warned) != 1 || !errors.Is(warned[0], full) {
		t.Errorf("warned of %v", warned)
	}
	files.Clear()
	p.rejournal()
	if b := disk.Blob("/journal"); b == nil || b.Size() == 0 {
		t.Error("the journal lacks what came while the disk was full")
	}
}

// A local transaction that goes on waiting is made durable; one that is in a block by then
// costs no sync.
func TestAJournalIsSyncedForWhatWaits(t *testing.T) {
	files := errorfs.New(memfs.New())
	j := &journal{fs: files, path: "/journal"}
	if err := j.rewrite(func() types.Transactions { return nil }); err != nil {
		t.Fatal(err)
	}
	syncs := 0
	files.Trace(func(op errorfs.Op, _ string) {
		if op == errorfs.Sync {
			syncs++
		}
	})
	first, second := offer{from: 1, fee: 20}.tx(), offer{from: 1, nonce: 1, fee: 20}.tx()
	waiting := map[common.Hash]bool{first.Hash(): true}
	look := func(want int, what string) {
		t.Helper()
		if err := j.syncIf(func(hash common.Hash) bool { return waiting[hash] }); err != nil || syncs != want {
			t.Errorf("%s: %d syncs, %v", what, syncs, err)
		}
	}
	for _, tx := range []*types.Transaction{first, second} {
		if _, err := j.append(types.Transactions{tx}); err != nil {
			t.Fatal(err)
		}
		look(0, "it has just come")
		waiting = map[common.Hash]bool{second.Hash(): true}
	}
	look(1, "one waits")
	look(1, "it is durable")
	look(1, "nothing came since")
}
