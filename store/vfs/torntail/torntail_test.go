package torntail

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var seed = flag.Uint64("torntail.seed", 1, "seed of the random tests; 0 takes one by the clock")

func random(t *testing.T) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-torntail.seed=%d", s)
	return rand.New(rand.NewPCG(s, 1))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The toy's record: length, checksum of its number and its content, content. The number is not in
// the file.
const toyHead = 8

func toySum(number uint32, content []byte) uint32 {
	return checksum(append(binary.LittleEndian.AppendUint32(nil, number), content...))
}

func appendToy(b []byte, number uint32, content []byte, align int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	b = binary.LittleEndian.AppendUint32(b, toySum(number, content))
	b = append(b, content...)
	return append(b, make([]byte, (align-len(b)%align)%align)...)
}

func toys(align int64, least, most uint32) *Records {
	return &Records{
		Align: align,
		Head:  toyHead,
		Parse: func(head []byte) (int64, uint32, bool) {
			return int64(binary.LittleEndian.Uint32(head)), binary.LittleEndian.Uint32(head[4:]), true
		},
		Prefixes: func(int64, []byte) iter.Seq[[]byte] {
			return func(yield func([]byte) bool) {
				for n := least; n <= most && yield(binary.LittleEndian.AppendUint32(nil, n)); n++ {
				}
			}
		},
	}
}

func TestSumsOfRangesAreThoseOfTheirBytes(t *testing.T) {
	r := random(t)
	data := make([]byte, 5*sumBytes+77)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	s := &sums{file: bytes.NewReader(data), from: 13, shifts: newShifts()}
	for range 1000 {
		from := 13 + r.IntN(len(data)-12)
		to := from + r.IntN(len(data)-from+1)
		got, err := s.of(int64(from), int64(to))
		if want := crc32.Checksum(data[from:to], castagnoli); err != nil || got != want {
			t.Fatalf("%d to %d: %x, %v; want %x", from, to, got, err, want)
		}
	}
}

// What is found is what hashing each place that may be a record finds.
func TestTheFirstWholeRecordIsFound(t *testing.T) {
	r := random(t)
	for round := range 100 {
		align := 1 + 15*r.IntN(2)
		var file []byte
		var begins []int
		for n := range uint32(20) {
			begins = append(begins, len(file))
			content := make([]byte, r.IntN(3*sumBytes))
			if r.IntN(3) > 0 {
				for i := range content {
					content[i] = byte(r.Uint32())
				}
			}
			file = appendToy(file, n, content, align)
		}
		broken := r.IntN(20)
		until := broken + r.IntN(20-broken)
		for i := broken; i <= until; i++ {
			file[begins[i]+4] ^= 1 << r.IntN(8)
		}
		at, found, err := toys(int64(align), 0, 30).Next(bytes.NewReader(file), int64(begins[broken]), int64(len(file)))
		must(t, err)
		if found != (until < 19) || found && at != int64(begins[until+1]) {
			t.Fatalf("round %d: records %d to %d are broken; found %v at %d, and they begin at %d",
				round, broken, until, found, at, begins)
		}
	}
}

// counting counts what is read of a file.
type counting struct {
	io.ReaderAt
	bytes int64
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	c.bytes += int64(len(b))
	return c.ReaderAt.ReadAt(b, at)
}

// Whoever wrote the content of a record may have made each place of it look like the beginning of one
// that goes up to the end.
func TestASearchIsBoundedWhateverTheFileHas(t *testing.T) {
	const size = 1 << 20
	file := make([]byte, size)
	for at := 0; at+toyHead <= size; at += toyHead {
		binary.LittleEndian.PutUint32(file[at:], uint32(size-at-toyHead))
		binary.LittleEndian.PutUint32(file[at+4:], 1)
	}
	c := &counting{ReaderAt: bytes.NewReader(file)}
	records := toys(toyHead, 7, 7)
	_, found, err := records.Next(c, 0, size)
	if again, _, _ := records.Next(c, size-1000, size); again != 0 {
		t.Error("found behind what was searched")
	}
	if places := int64(size / toyHead); err != nil || found || c.bytes > 2*size+places*2*sumBytes {
		t.Errorf("%d bytes were read of %d with %d places, found %v, %v", c.bytes, size, places, found, err)
	}
}

func TestWhatATornTailIs(t *testing.T) {
	behind := func(at int64, found bool) func(int64) (int64, bool, error) {
		return func(int64) (int64, bool, error) { return at, found, nil }
	}
	for _, c := range []struct {
		name   string
		end    End
		damage bool
	}{
		{"all is whole", End{Whole: 10, Size: 10, Durable: 10}, false},
		{"a log that notes nothing, whole", End{Whole: 10, Size: 10, Durable: Unnoted}, false},
		{"torn behind what is durable", End{Whole: 10, Size: 15, Durable: 10}, false},
		{"the same, with whole records behind", End{Whole: 10, Size: 50, Durable: 10, Behind: behind(30, true)}, false},
		{"the note is lost", End{Whole: 10, Size: 50, Behind: behind(30, true)}, false},
		{"broken where it was durable", End{Whole: 10, Size: 50, Durable: 11}, true},
		{"shorter than it was durable", End{Whole: 10, Size: 10, Durable: 11}, true},
		{"nothing noted, nothing whole behind", End{Whole: 10, Size: 50, Durable: Unnoted, Behind: behind(0, false)}, false},
		{"nothing noted, a whole one behind", End{Whole: 10, Size: 50, Durable: Unnoted, Behind: behind(30, true)}, true},
	} {
		c.end.Path, c.end.Remedy = "/a/log", "restore it"
		err := c.end.Judge()
		var damage *Damage
		if got := errors.As(err, &damage); got != c.damage || !got && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.damage && !(strings.HasPrefix(err.Error(), "/a/log: offset 10: ") &&
			strings.HasSuffix(err.Error(), "; restore it")) {
			t.Errorf("%s: %v does not say file, offset and remedy", c.name, err)
		}
	}
}

func TestWhatIsCutIsKeptAndNothingIsWrittenOver(t *testing.T) {
	mem := memfs.New()
	must(t, mem.Mkdir("/d"))
	mem.Put("/d/log.bad", memfs.NewBlob([]byte("older")))
	for i, tail := range []string{"torn", "again", "\x00\x00\x00", "again"} { // as if the last cut had not been

		mem.Put("/d/log", memfs.NewBlob([]byte("whole"+tail)))
		f, err := mem.Open("/d/log", true)
		must(t, err)
		r, err := Cut(mem, f, "/d/log", 5, int64(5+len(tail)))
		must(t, err)
		must(t, f.Close())
		want := []string{"/d/log.bad.2", "/d/log.bad.3", "", "/d/log.bad.3"}[i]
		if r != (Removed{"/d/log", 5, int64(len(tail)), want}) || string(mem.Blob("/d/log").Bytes()) != "whole" {
			t.Errorf("%v, %q", r, mem.Blob("/d/log").Bytes())
		}
		if want != "" && (string(mem.Blob(want).Bytes()) != tail || !strings.Contains(r.String(), want)) {
			t.Errorf("%s has %q", want, mem.Blob(want).Bytes())
		}
	}
	if kept, err := SetAside(mem, "/d/log"); err != nil || kept != "/d/log.bad.4" || mem.Blob(kept) == nil ||
		mem.Blob("/d/log") != nil {
		t.Errorf("%s, %v", kept, err)
	}
	if string(mem.Blob("/d/log.bad").Bytes()) != "older" {
		t.Error("what was kept before is gone")
	}
}

// At each crash the bytes are in the file or kept.
func TestACrashLeavesWhatIsCutInOnePlace(t *testing.T) {
	fs := recordfs.New(memfs.New())
	must(t, vfs.MkdirAll(fs, "/d"))
	must(t, vfs.WriteDurably(fs, "/d/log", []byte("wholetorn")))
	from := fs.Position()
	f, err := fs.Open("/d/log", true)
	must(t, err)
	_, err = Cut(fs, f, "/d/log", 5, 9)
	must(t, err)
	must(t, f.Sync())
	for state := range fs.Recording().States(recordfs.Options{From: from, Count: 200, Seed: *seed}) {
		log, kept := state.FS.Blob("/d/log"), state.FS.Blob("/d/log.bad")
		if string(log.Bytes()) != "wholetorn" && (string(log.Bytes()) != "whole" || kept == nil ||
			string(kept.Bytes()) != "torn") {
			t.Fatalf("%q: %v", log.Bytes(), state)
		}
	}
}

func TestWhatCannotBeKeptIsNotCut(t *testing.T) {
	mem := memfs.New()
	must(t, mem.Mkdir("/d"))
	mem.Put("/d/log", memfs.NewBlob([]byte("wholetorn")))
	fs := errorfs.New(mem)
	f, err := fs.Open("/d/log", true)
	must(t, err)
	full := errors.New("no space left")
	fs.Inject(errorfs.Fault{Ops: errorfs.Write, Path: "log.bad.new", Err: full})
	if _, err := Cut(fs, f, "/d/log", 5, 9); !errors.Is(err, full) ||
		string(mem.Blob("/d/log").Bytes()) != "wholetorn" || mem.Blob("/d/log.bad") != nil {
		t.Errorf("%v", err)
	}
}

// A mark never says more than was durable, whatever a power cut leaves of it.
func TestAMarkSaysAtMostWhatWasNoted(t *testing.T) {
	fs := recordfs.New(memfs.New())
	must(t, vfs.MkdirAll(fs, "/d"))
	type moment struct {
		position int
		most     uint64
		readable bool // for certain
	}
	m, err := OpenMark(fs, "/d/mark")
	must(t, err)
	var moments []moment
	said := uint64(0)
	for i, end := range []uint64{5, 6, 7, 0, 3, 9, 9, 12} {
		before := moment{position: fs.Position(), most: max(said, end)}
		switch {
		case i == 0 || end < said:
			must(t, m.Reset(1, end))
		default:
			must(t, m.Set(1, end))
			if i == 5 {
				must(t, m.Sync())
			}
		}
		moments = append(moments, before, moment{fs.Position(), end, i == 0 || end < said || i == 5})
		said = end
	}
	must(t, m.Close())
	for state := range fs.Recording().States(recordfs.Options{Count: 3000, Seed: *seed}) {
		i, _ := slices.BinarySearchFunc(moments, state.At, func(m moment, at int) int {
			if m.position <= at {
				return -1
			}
			return 1
		})
		if i == 0 {
			continue
		}
		got, err := OpenMark(state.FS, "/d/mark")
		must(t, err)
		now := moments[i-1]
		most := now.most
		if i < len(moments) {
			most = max(most, moments[i].most)
		}
		if got.Said().Known && got.Said().End > most || now.readable && state.At == now.position && !got.Said().Known {
			t.Fatalf("%+v at %+v: %v", got.Said(), now, state)
		}
	}
}

func TestADamagedMarkSaysLess(t *testing.T) {
	mem := memfs.New()
	m, err := OpenMark(mem, "/mark")
	must(t, err)
	if m.Said().There {
		t.Error("there is none yet")
	}
	must(t, m.Set(4, 10))
	must(t, m.Set(4, 20))
	must(t, m.Close())
	whole := bytes.Clone(mem.Blob("/mark").Bytes())
	for bit := range 8 * len(whole) {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		mem.Put("/mark", memfs.NewBlob(b))
		m, err := OpenMark(mem, "/mark")
		must(t, err)
		if s := m.Said(); !s.Known || s.Log != 4 || s.End != 20 && s.End != 10 {
			t.Fatalf("bit %d: %+v", bit, s)
		}
	}
	for size := range whole {
		mem.Put("/mark", memfs.NewBlob(whole[:size]))
		m, err := OpenMark(mem, "/mark")
		must(t, err)
		if s := m.Said(); !s.There || s.Known && s.End > 20 {
			t.Fatalf("%d bytes: %+v", size, s)
		}
		must(t, m.Set(4, 30))
		must(t, m.Close())
		if m, err = OpenMark(mem, "/mark"); err != nil || m.Said().End != 30 {
			t.Fatalf("%d bytes: %+v, %v", size, m.Said(), err)
		}
	}
}

// Who takes something back on a full disk may be the one who makes room.
func TestAMarkIsSetBackOnAFullDisk(t *testing.T) {
	mem := memfs.New()
	m, err := OpenMark(mem, "/mark")
	must(t, err)
	must(t, m.Set(4, 10))
	must(t, m.Set(4, 20))
	must(t, m.Close())
	full := errorfs.New(mem)
	full.Inject(errorfs.Fault{Ops: errorfs.Create | errorfs.Allocate | errorfs.Rename, Ever: true,
		Err: errors.New("no space left")})
	m, err = OpenMark(full, "/mark")
	must(t, err)
	must(t, m.Reset(5, 3))
	must(t, m.Close())
	for half := range int64(2) { // neither says anything else
		b := bytes.Clone(mem.Blob("/mark").Bytes())
		b[half*vfs.Sector+8] ^= 1
		mem.Put("/one", memfs.NewBlob(b))
		one, err := OpenMark(mem, "/one")
		must(t, err)
		if s := one.Said(); !s.Known || s.Log != 5 || s.End != 3 {
			t.Errorf("without half %d: %+v", half, s)
		}
	}
}
