package logcatalog

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// testFS lists what a file system in memory holds.
type testFS struct {
	vfs.FS
	mem *memfs.FS
}

func (f testFS) List(dir string) ([]string, error) {
	var names []string
	for _, p := range f.mem.Paths() {
		if path.Dir(p) == path.Clean(dir) {
			names = append(names, path.Base(p))
		}
	}
	return names, nil
}

// twoDisks has the archive and the retained parts on other disks than the rest.
type twoDisks struct{ vfs.FS }

func (d twoDisks) Rename(from, to string) error {
	if path.Dir(from) != path.Dir(to) {
		return syscall.EXDEV
	}
	return d.FS.Rename(from, to)
}

const (
	live     = Pair("/log/x")
	retained = "/old"
	archive  = "/far"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func options(fs FS, most uint32) Options {
	return Options{FS: fs, Name: "x", Retained: retained, Archive: archive, Most: most,
		Logger: slog.New(slog.DiscardHandler)}
}

func open(fs FS, most uint32) (*Catalog[vfs.File], error) {
	return OpenCatalog(options(fs, most), nil, func(p Part) (vfs.File, error) { return fs.Open(p.Log(), false) })
}

// put makes a pair that says which blocks it has.
func put(t testing.TB, fs vfs.FS, p Pair, first, last uint32) {
	t.Helper()
	for _, file := range []string{p.Log(), p.Index()} {
		must(t, vfs.MkdirAll(fs, path.Dir(file)))
		must(t, vfs.WriteDurably(fs, file, content(file, first, last)))
	}
}

func content(file string, first, last uint32) []byte {
	return fmt.Appendf(nil, "%s of %d to %d", path.Ext(file), first, last)
}

func TestNoPartEndsWithTheLastNumber(t *testing.T) {
	mem := memfs.New()
	for _, name := range []string{"x-1-4294967294.log", "x-2-4294967295.log", "x-9-3.log", "x-1-2-3.log",
		"x-1-99999999999.log", "y-1-2.log", "x-+1-2.log"} {
		mem.Put("/parts/"+name, memfs.NewBlob(nil))
	}
	list, err := Parts(testFS{mem, mem}, "/parts", "x", nil, nil)
	if want := []Part{NewPart("/parts", "x", 1, 4294967294)}; err != nil || !slices.Equal(list, want) {
		t.Error(list, err)
	}
}

// Of parts that have the same blocks one counts, so that the last in order ends last.
func TestPartsWhoseBlocksOthersHaveAreLeftOut(t *testing.T) {
	mem := memfs.New()
	for _, name := range []string{"x-1-100.log", "x-1-40.log", "x-50-80.log", "x-101-120.log", "x-90-110.log",
		"x-300-310.log"} {
		mem.Put(retained+"/"+name, memfs.NewBlob([]byte(name)))
	}
	c, err := open(testFS{mem, mem}, 100)
	must(t, err)
	if n := c.Newest(); c.Len() != 4 || c.Oldest().Last != 100 || n.First != 300 || c.Behind(311) != 300 ||
		c.Behind(121) != 1 || c.Behind(400) != 400 {
		t.Errorf("%d parts, from %v to %v", c.Len(), c.Oldest(), c.Newest())
	}
	for num, want := range map[uint32]string{1: "x-1-100.log", 60: "x-1-100.log", 95: "x-90-110.log",
		120: "x-101-120.log", 200: "", 305: "x-300-310.log"} {
		was := ""
		found, err := c.Use(num, func(p Part, _ vfs.File) error { was = path.Base(p.Log()); return nil })
		if err != nil || found != (want != "") || was != want {
			t.Errorf("block %d is in %q, %v", num, was, err)
		}
	}
	must(t, c.Close())
}

// What is in the archive stays, unless it is less than what is let go of.
func TestTheArchiveKeepsTheLongerFile(t *testing.T) {
	for name, there := range map[string]string{"shorter": "half", "longer": strings.Repeat("the operator's ", 10)} {
		mem := memfs.New()
		fs := testFS{mem, mem}
		p := NewPart(retained, "x", 1, 10)
		put(t, fs, p.Pair, 1, 10)
		must(t, vfs.MkdirAll(fs, archive))
		put(t, fs, NewPart(retained, "x", 11, 20).Pair, 11, 20)
		to := NewPart(archive, "x", 1, 10)
		mem.Put(to.Log(), memfs.NewBlob([]byte(there)))
		c, err := open(fs, 1)
		must(t, err)
		must(t, c.LetGo(1000))
		want := string(content(to.Log(), 1, 10))
		if name == "longer" {
			want = there
		}
		if got := string(mem.Blob(to.Log()).Bytes()); got != want || mem.Blob(p.Log()) != nil ||
			mem.Blob(p.Index()) != nil {
			t.Errorf("%s: the archive has %q, and there is %q", name, got, mem.Paths())
		}
		must(t, c.Close())
	}
}

// A process that was killed may have moved a file whose new name is not durable. The next one is about to use the
// old name again.
func TestAKillBeforeANameWasDurableLosesNothing(t *testing.T) {
	mem := memfs.New()
	record := recordfs.New(mem)
	fs := testFS{record, mem}
	put(t, fs, live, 1, 10)
	p := NewPart(retained, "x", 1, 10)
	must(t, vfs.MkdirAll(fs, retained))
	must(t, record.Rename(live.Log(), p.Log())) // killed here
	c, err := open(fs, 5)
	must(t, err)
	must(t, c.Close())
	f, err := fs.Create(live.Log())
	must(t, err)
	must(t, errors.Join(f.Sync(), f.Close()))
	for st := range record.Recording().States(recordfs.Options{From: record.Position(), Count: 50, Seed: 1}) {
		if b := st.FS.Blob(p.Log()); b == nil || string(b.Bytes()) != string(content(p.Log(), 1, 10)) {
			t.Fatalf("the part is lost\n%v", st)
		}
	}
}

// life finishes parts, lets go of some, takes the last one back and removes the one before. made is how
// many there were.
func life(t testing.TB, fs testFS, made *uint32) error {
	c, err := open(fs, 2)
	if err != nil {
		return err
	}
	for n := uint32(1); n <= 5; n++ {
		put(t, fs.mem, live, 10*n, 10*n+9) // it is durable, as its owner has made it
		*made = n
		if err := c.Finish(live, 10*n, 10*n+9); err != nil {
			return err
		}
		if err := c.LetGo(10 * n); err != nil {
			return err
		}
	}
	if err := c.Revive(live); err != nil {
		return err
	}
	return errors.Join(c.Remove(c.Newest()), c.Close())
}

// somewhere tells whether a log with these blocks is whole under any name.
func somewhere(mem *memfs.FS, first, last uint32) bool {
	return slices.ContainsFunc(mem.Paths(), func(p string) bool {
		return strings.HasSuffix(p, ".log") && string(mem.Blob(p).Bytes()) == string(content(".log", first, last))
	})
}

// Whatever call fails, on one disk or several, no part is lost, and the next start comes to its end.
func TestAPartIsNeverLost(t *testing.T) {
	for name, disks := range map[string]func(vfs.FS) vfs.FS{
		"one disk": func(fs vfs.FS) vfs.FS { return fs }, "several": func(fs vfs.FS) vfs.FS { return twoDisks{fs} },
	} {
		t.Run(name, func(t *testing.T) {
			for nth := 1; ; nth++ {
				mem := memfs.New()
				must(t, vfs.MkdirAll(mem, "/log"))
				bad := errorfs.New(mem)
				fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.ENOSPC, Part: true})
				made := uint32(0)
				err := life(t, testFS{disks(bad), mem}, &made)
				if fired() == 0 {
					must(t, err)
					break
				}
				for n := uint32(1); n <= made; n++ {
					removed := n == 4 && made == 5
					if !removed && !somewhere(mem, 10*n, 10*n+9) {
						t.Fatalf("call %d failed, %v: part %d is lost, and there is %q", nth, err, n, mem.Paths())
					}
				}
				bad.Clear()
				c, err := open(testFS{disks(bad), mem}, 2)
				must(t, err)
				must(t, c.LetGo(1000))
				if c.Len() > 2 {
					t.Errorf("call %d failed: %d parts stay", nth, c.Len())
				}
				must(t, c.Close())
			}
		})
	}
}

// A power cut at any moment of a move leaves a part whole under one of its names.
func TestAPowerCutLosesNoPart(t *testing.T) {
	for name, disks := range map[string]func(vfs.FS) vfs.FS{
		"one disk": func(fs vfs.FS) vfs.FS { return fs }, "several": func(fs vfs.FS) vfs.FS { return twoDisks{fs} },
	} {
		t.Run(name, func(t *testing.T) {
			mem := memfs.New()
			record := recordfs.New(mem)
			fs := testFS{disks(record), mem}
			put(t, fs, live, 1, 10)
			c, err := open(fs, 0)
			must(t, err)
			from := record.Position()
			must(t, c.Finish(live, 1, 10))
			must(t, c.Revive(live))
			must(t, c.Finish(live, 1, 10))
			must(t, c.LetGo(1000))
			must(t, c.Close())
			for st := range record.Recording().States(recordfs.Options{From: from, Count: 200, Seed: 1}) {
				if !somewhere(st.FS, 1, 10) {
					t.Fatalf("it is lost\n%v", st)
				}
			}
		})
	}
}

// Readers read on while parts are let go of, and find either the part or that there is none.
func TestReadersReadOnWhilePartsGo(t *testing.T) {
	mem := memfs.New()
	fs := testFS{mem, mem}
	for n := uint32(1); n <= 40; n++ {
		put(t, fs, NewPart(retained, "x", 10*n, 10*n+9).Pair, 10*n, 10*n+9)
	}
	must(t, vfs.MkdirAll(fs, "/log"))
	c, err := open(fs, 100)
	must(t, err)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for r := range uint32(3) {
		readers.Go(func() {
			for num := 10 + r; ; num = 10 + (num+7)%400 {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.Use(num, func(p Part, f vfs.File) error {
					b := make([]byte, len(content(".log", p.First, p.Last)))
					if _, err := f.ReadAt(b, 0); err != nil || string(b) != string(content(".log", p.First, p.Last)) ||
						num < p.First || num > p.Last {
						return fmt.Errorf("block %d is read as %q, %w", num, b, err)
					}
					return nil
				}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for c.Len() > 5 {
		must(t, c.Remove(c.Oldest()))
		newest := c.Newest()
		must(t, c.Revive(live))
		must(t, c.Finish(live, newest.First, newest.Last))
	}
	close(stop)
	readers.Wait()
	must(t, c.Close())
	if open, users := c.Handles(); open != 0 || users != 0 {
		t.Errorf("%d files are open, with %d users", open, users)
	}
}

// A catalog without parts, as a log has that lies in one file, has no block.
func TestALogInOneFileHasNoParts(t *testing.T) {
	var c Catalog[vfs.File]
	found, err := c.Use(5, func(Part, vfs.File) error { return nil })
	if found || err != nil || c.Len() != 0 || c.Behind(7) != 7 || c.LetGo(100) != nil || c.Close() != nil {
		t.Error("there is a part")
	}
}

// A mark says what was written, or that it is not whole.
func TestADamagedMarkSaysNothing(t *testing.T) {
	mem := memfs.New()
	if _, err := ReadMark(mem, "/log/mark", 100); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("there is none: %v", err)
	}
	must(t, vfs.MkdirAll(mem, "/log"))
	n, err := WriteMark(mem, "/log/mark", []byte("up to here"))
	must(t, err)
	if said, err := ReadMark(mem, "/log/mark", int64(n)); err != nil || string(said) != "up to here" {
		t.Errorf("it says %q, %v", said, err)
	}
	whole := mem.Blob("/log/mark").Bytes()
	for i := range 8 * len(whole) {
		bad := slices.Clone(whole)
		bad[i/8] ^= 1 << (i % 8)
		mem.Put("/log/mark", memfs.NewBlob(bad))
		if said, err := ReadMark(mem, "/log/mark", 100); !errors.Is(err, ErrMark) {
			t.Fatalf("bit %d is wrong, and it says %q, %v", i, said, err)
		}
	}
	for i := range whole {
		mem.Put("/log/mark", memfs.NewBlob(whole[:i]))
		if said, err := ReadMark(mem, "/log/mark", 100); !errors.Is(err, ErrMark) {
			t.Fatalf("%d bytes say %q, %v", i, said, err)
		}
	}
}
