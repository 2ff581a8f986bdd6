package appendonly

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var (
	seedFlag   = flag.Uint64("appendonly.seed", 1, "seed of the random tests; 0 takes the clock")
	statesFlag = flag.Int("appendonly.states", 800, "crash states of the log and of the index")
)

func seed(t testing.TB) uint64 {
	s := *seedFlag
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-appendonly.seed=%d", s)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// entryOf is what a test's log has at a number; fork tells apart what was cut and written
// anew.
func entryOf(number uint64, fork int) []byte {
	r := rand.New(rand.NewPCG(number, uint64(fork)))
	b := fmt.Appendf(nil, "%d of fork %d:", number, fork)
	for range r.IntN(60) {
		b = append(b, byte(r.Uint32()))
	}
	return b
}

func smallLog(fs vfs.FS) LogOptions {
	return LogOptions{FS: fs, Dir: "/log", OldDir: "/old", First: 7, SegmentBytes: 400}
}

// act is a random step of a log's life, and what is promised after it.
type act struct {
	at      int    // the position in the recording when it was done
	durable uint64 // entries before it are on the disk
	first   uint64 // of the log
	forks   []int  // by number less 7: which fork's entry it is
}

// life lets a log live, and notes what was promised when.
func life(t *testing.T, r *rand.Rand, disk *recordfs.FS) []act {
	o := smallLog(disk)
	l, err := OpenLog(o)
	check(t, err)
	now := act{durable: 7, first: 7}
	acts := []act{{}}
	fork := 0
	for range 150 {
		switch k := r.IntN(30); {
		case k < 20:
			number, err := l.Append(entryOf(uint64(7+len(now.forks)), fork))
			check(t, err)
			if number != uint64(7+len(now.forks)) {
				t.Fatalf("number %d", number)
			}
			now.forks = append(now.forks, fork)
		case k < 24:
			check(t, l.Sync())
			now.durable = l.Next()
		case k == 24:
			_, err := l.Move(now.first + uint64(r.IntN(len(now.forks)+1)))
			check(t, err)
		case k == 25:
			check(t, l.Drop(now.first+uint64(r.IntN(8))))
			now.first = l.First()
		case k == 26 && now.first < l.Next():
			next := now.first + uint64(r.IntN(int(l.Next()-now.first)+1))
			check(t, l.Cut(next))
			fork++
			now.forks = append([]int(nil), now.forks[:next-7]...)
			now.durable = min(now.durable, next)
		case k == 27:
			check(t, l.Close())
			o.Need = now.durable
			l, err = OpenLog(o)
			check(t, err)
			now.durable = l.Next() // an open syncs
		}
		now.at = disk.Position()
		acts = append(acts, now)
	}
	check(t, l.Close())
	return acts
}

// holds tells whether a log has what an act left: all that was durable, and nothing that
// was never written.
func (a act) holds(l *Log) error {
	if next := l.Next(); next < a.durable || next > uint64(7+len(a.forks)) {
		return fmt.Errorf("next entry is %d, with %d durable and %d written", next, a.durable, 7+len(a.forks))
	}
	if l.First() != a.first {
		return fmt.Errorf("begins with %d, want %d", l.First(), a.first)
	}
	for number := a.first; number < l.Next(); number++ {
		got, err := l.Read(number, nil)
		if err != nil {
			return err
		}
		if want := entryOf(number, a.forks[number-7]); !bytes.Equal(got, want) {
			return fmt.Errorf("entry %d is %q, want %q", number, got, want)
		}
	}
	return nil
}

// After a power cut at any write the log has what was synced, whole entries after it, and
// nothing else; and goes on.
func TestALogSurvivesAPowerCutAnywhere(t *testing.T) {
	seed := seed(t)
	for round := range uint64(4) {
		disk := recordfs.New(memfs.New())
		acts := life(t, rand.New(rand.NewPCG(seed, round)), disk)
		step := 0
		for s := range disk.Recording().States(recordfs.Options{Count: *statesFlag / 4, Seed: seed}) {
			for step+1 < len(acts) && acts[step+1].at <= s.At {
				step++
			}
			if acts[step].at == 0 {
				continue // the log was being made
			}
			before, after := acts[step], acts[min(step+1, len(acts)-1)]
			// While something is being cut or dropped, either is promised.
			need := min(before.durable, after.durable)
			o := smallLog(s.FS)
			o.Need = need
			l, err := OpenLog(o)
			if err != nil {
				t.Fatalf("open: %v\n%v", err, s)
			}
			e1 := act{durable: need, first: before.first, forks: before.forks}.holds(l)
			e2 := act{durable: need, first: after.first, forks: after.forks}.holds(l)
			if e1 != nil && e2 != nil {
				t.Fatalf("%v; %v\n%v", e1, e2, s)
			}
			next := l.Next()
			if _, err := l.Append([]byte("more")); err != nil {
				t.Fatalf("append: %v\n%v", err, s)
			}
			if got, err := l.Read(next, nil); err != nil || string(got) != "more" {
				t.Fatalf("%q, %v\n%v", got, err, s)
			}
			check(t, l.Verify(func(err error) { t.Errorf("%v\n%v", err, s) }, nil))
			check(t, l.Close())
		}
	}
}

// Each call to the disk fails once: the error comes out, nothing that was promised is
// lost, and nothing is trusted that was written before.
func TestAFailedCallFailsTheLogUntilItIsOpenedAnew(t *testing.T) {
	for nth := 1; ; nth++ {
		mem := memfs.New()
		bad := errorfs.New(mem)
		l, err := OpenLog(smallLog(bad))
		check(t, err)
		fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.EIO, Part: true})
		durable := uint64(7)
		var failed error
		for i := 0; i < 40 && failed == nil; i++ {
			if _, failed = l.Append(entryOf(uint64(7+i), 0)); failed == nil && i%3 == 0 {
				if failed = l.Sync(); failed == nil {
					durable = l.Next()
				}
			}
		}
		if fired() == 0 {
			break
		}
		if !errors.Is(failed, syscall.EIO) {
			t.Fatalf("call %d failed, and the error is %v", nth, failed)
		}
		if _, err := l.Append(nil); err == nil {
			t.Fatalf("call %d failed, and the log goes on", nth)
		}
		bad.Clear()
		l.Close()
		o := smallLog(mem)
		o.Need = durable
		l, err = OpenLog(o)
		if err != nil {
			t.Fatalf("call %d failed, and then: %v", nth, err)
		}
		want := act{durable: durable, first: 7, forks: make([]int, 41)}
		if err := want.holds(l); err != nil {
			t.Fatalf("call %d failed: %v", nth, err)
		}
		check(t, l.Close())
	}
}

// A byte of a file that is not what it was is found; it is never served.
func TestEachDamagedByteIsFound(t *testing.T) {
	mem := memfs.New()
	o := smallLog(mem)
	l, err := OpenLog(o)
	check(t, err)
	for number := uint64(7); number < 37; number++ {
		_, err := l.Append(entryOf(number, 0))
		check(t, err)
	}
	check(t, l.Sync())
	o.Need = l.Next()
	check(t, l.Close())
	for _, path := range mem.Paths() {
		whole := mem.Blob(path)
		if whole == nil {
			continue
		}
		for at := range whole.Bytes() {
			fs := mem.Clone()
			b := bytes.Clone(whole.Bytes())
			b[at] ^= 0x10
			fs.Put(path, memfs.NewBlob(b))
			var said []error
			o.FS, o.Notice = fs, func(err error) { said = append(said, err) }
			l, err := OpenLog(o)
			if err != nil {
				var damage *CorruptError
				if !errors.As(err, &damage) {
					t.Fatalf("%s at %d: %v", path, at, err)
				}
				continue
			}
			if l.Next() != 37 {
				t.Fatalf("%s at %d is damaged, and entries from %d on are gone", path, at, l.Next())
			}
			found := len(said)
			check(t, l.Verify(func(error) { found++ }, nil))
			if found == 0 && path != markPath("/log") { // of which one half is enough
				t.Fatalf("%s at %d is damaged, and nothing finds it", path, at)
			}
			for number := l.First(); number < l.Next(); number++ {
				if got, err := l.Read(number, nil); err == nil && !bytes.Equal(got, entryOf(number, 0)) {
					t.Fatalf("%s at %d: entry %d is served as %q", path, at, number, got)
				}
			}
			check(t, l.Close())
		}
	}
}

func TestATornTailIsCutAndSaid(t *testing.T) {
	mem := memfs.New()
	o := smallLog(mem)
	l, err := OpenLog(o)
	check(t, err)
	for number := uint64(7); number < 10; number++ {
		_, err := l.Append(entryOf(number, 0))
		check(t, err)
	}
	check(t, l.Close())
	path := segmentPath("/log", 1)
	b := mem.Blob(path).Bytes()
	mem.Put(path, memfs.NewBlob(b[:len(b)-1]))
	var said []string
	o.Notice = func(err error) { said = append(said, err.Error()) }
	o.Need = 10
	var damage *CorruptError
	if _, err := OpenLog(o); !errors.As(err, &damage) {
		t.Fatalf("an entry that is needed is not whole: %v", err)
	}
	if len(mem.Blob(path).Bytes()) != len(b)-1 || len(said) != 0 {
		t.Fatal("a log that is damaged was changed")
	}
	o.Need = 9
	l, err = OpenLog(o)
	check(t, err)
	kept := mem.Blob(path + ".bad")
	if at := len(mem.Blob(path).Bytes()); l.Next() != 9 || len(said) != 1 ||
		!strings.Contains(said[0], fmt.Sprintf("%d bytes out of %s at offset %d; they are kept in %[2]s.bad",
			len(b)-1-at, path, at)) ||
		kept == nil || !bytes.Equal(kept.Bytes(), b[at:len(b)-1]) {
		t.Errorf("next %d, said %q", l.Next(), said)
	}
	if _, err := l.Read(9, nil); !errors.Is(err, ErrNoEntry) {
		t.Errorf("read what was cut: %v", err)
	}
	check(t, l.Close())
}

// Entries may come from strangers: one that ends like a finished segment is an entry.
func TestAnEntryThatLooksLikeAnEndIsAnEntry(t *testing.T) {
	mem := memfs.New()
	o := LogOptions{FS: mem, Dir: "/log"}
	l, err := OpenLog(o)
	check(t, err)
	at := int64(headerSize + entryHead)
	entry := appendFinish(nil, at, []uint32{headerSize})
	_, err = l.Append(entry)
	check(t, err)
	check(t, l.Close())
	l, err = OpenLog(o)
	check(t, err)
	if got, err := l.Read(0, nil); err != nil || !bytes.Equal(got, entry) || l.Next() != 1 {
		t.Errorf("%x, %v, next %d", got, err, l.Next())
	}
	check(t, l.Close())
}

// FuzzSegment opens a log whose last segment is anything: no panic, no entry that is not
// whole.
func FuzzSegment(f *testing.F) {
	good := segmentHeader(0)
	for number := range uint64(3) {
		good = appendEntry(good, number, entryOf(number, 0))
	}
	f.Add(good)
	f.Add(appendFinish(append([]byte(nil), good...), int64(len(good)), []uint32{24, 50, 60}))
	f.Add(good[:len(good)-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := memfs.New()
		check(t, fs.Mkdir("/log"))
		l := &Log{o: LogOptions{FS: fs, Dir: "/log"}, files: newFiles(fs)}
		check(t, l.writeBegin(beginning{1, 0}))
		fs.Put(segmentPath("/log", 1), memfs.NewBlob(data))
		l, err := OpenLog(l.o)
		if err != nil {
			return
		}
		for number := l.First(); number < l.Next(); number++ {
			if _, err := l.Read(number, nil); err != nil && !l.segments[0].finished {
				t.Fatal(err)
			}
		}
		check(t, l.Cut(l.First()))
		_, err = l.Append([]byte("more"))
		check(t, err)
		check(t, l.Close())
	})
}
