package recordfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// history is a recorded toy store and what it promised when.
type history struct {
	recording *recordfs.Recording
	begun     []int // begun[n]: position at which save(n) was called
	done      []int // done[n]: position at which it had returned nil
}

// live makes a toy store and saves a few numbers. A failed save is tried again
// once.
func live(t *testing.T, inner vfs.FS, bad mistakes) history {
	t.Helper()
	fs := recordfs.New(inner)
	s, err := openToy(fs, bad)
	if err != nil {
		t.Fatal(err)
	}
	h := history{begun: []int{0}, done: []int{fs.Position()}}
	for n := uint64(1); n <= 5; n++ {
		h.begun = append(h.begun, fs.Position())
		err := s.save(n)
		if err != nil {
			err = s.save(n)
		}
		if err != nil {
			t.Fatal(err)
		}
		h.done = append(h.done, fs.Position())
	}
	h.recording = fs.Recording()
	return h
}

// check returns the first state that breaks a promise, and how many there were.
func (h history) check(seed uint64, count int) (states int, err error) {
	for s := range h.recording.States(recordfs.Options{Seed: seed, Count: count}) {
		states++
		durable, begun := -1, 0
		for n := range h.done {
			if h.done[n] <= s.At {
				durable = n
			}
			if h.begun[n] < s.At {
				begun = n
			}
		}
		got, err := readToy(s.FS)
		if durable < 0 && (err == nil || errors.Is(err, os.ErrNotExist)) {
			continue
		}
		if err == nil && int(got) < durable || int(got) > begun {
			err = fmt.Errorf("opens at %d, promised were %d to %d", got, durable, begun)
		}
		if err != nil {
			return states, fmt.Errorf("%w\n%v", err, s)
		}
	}
	return states, nil
}

func TestCarefulStoreSurvivesEveryState(t *testing.T) {
	h := live(t, memfs.New(), mistakes{})
	states, err := h.check(1, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	if states < 4000 {
		t.Errorf("only %d distinct states", states)
	}
}

func TestEveryMistakeIsCaught(t *testing.T) {
	for name, bad := range map[string]mistakes{
		"data sync skipped":           {skipDataSync: true},
		"meta sync skipped":           {skipMetaSync: true},
		"directory sync skipped":      {skipDirSync: true},
		"sync before rename skipped":  {skipNewSync: true},
		"durable page written":        {inPlace: true},
		"log written after the state": {logLate: true},
	} {
		t.Run(name, func(t *testing.T) {
			states, err := live(t, memfs.New(), bad).check(1, 2000)
			if err == nil {
				t.Fatalf("not caught in %d states", states)
			}
			t.Logf("caught by state %d: %v", states, err)
		})
	}
}

// TestSyncAfterFailedSyncProvesNothing: the first data sync of a save fails. A
// store that syncs again and believes it loses data; one that writes anew does
// not.
func TestSyncAfterFailedSyncProvesNothing(t *testing.T) {
	for _, retry := range []bool{false, true} {
		faulty := errorfs.New(memfs.New())
		faulty.Inject(errorfs.Fault{Ops: errorfs.Sync, Path: "state", Nth: 3, Err: syscall.EIO})
		_, err := live(t, faulty, mistakes{retrySync: retry}).check(1, 5000)
		if retry != (err != nil) {
			t.Errorf("retried sync %v: %v", retry, err)
		}
	}
}

func TestStatesAreTheSameForTheSameSeed(t *testing.T) {
	h := live(t, memfs.New(), mistakes{})
	draw := func(seed uint64) string {
		var b bytes.Buffer
		for s := range h.recording.States(recordfs.Options{Seed: seed, Count: 300}) {
			b.WriteString(s.String())
			for _, path := range s.FS.Paths() {
				b.Write(s.FS.Blob(path).Bytes())
			}
		}
		return b.String()
	}
	first, again, other := draw(7), draw(7), draw(8)
	if first != again {
		t.Error("one seed, two sequences")
	}
	if first == other {
		t.Error("two seeds, one sequence")
	}
}

// Of a record that is long for its count some states come, each of those that all are, in their
// order; of a short one all.
func TestSomeStatesAreOfAll(t *testing.T) {
	h := live(t, memfs.New(), mistakes{})
	for _, count := range []int{1, h.recording.Len()} {
		o := recordfs.Options{Seed: 7, Count: count}
		var all []string
		for s := range h.recording.States(o) {
			all = append(all, s.String())
		}
		n, at := 0, 0
		for s := range h.recording.Some(o) {
			for n++; at < len(all) && all[at] != s.String(); at++ {
			}
		}
		if n == 0 || at == len(all) || (count > 1) != (n == len(all)) {
			t.Errorf("%d of %d states of %d positions for a count of %d", n, len(all), h.recording.Len(), count)
		}
	}
}

func TestPositionsHaveTheirEnds(t *testing.T) {
	inner := memfs.New()
	fs := recordfs.New(inner)
	f, err := fs.Create("/a")
	if err != nil {
		t.Fatal(err)
	}
	page := bytes.Repeat([]byte{7}, 4096)
	for i := range int64(4) {
		f.WriteAt(page, i*4096) //nolint:errcheck // in memory
	}
	f.Truncate(3 * 4096) //nolint:errcheck // in memory
	f.Punch(0, 4096)     //nolint:errcheck // in memory
	f.Sync()             //nolint:errcheck // in memory
	fs.SyncDir("/")      //nolint:errcheck // in memory
	end := fs.Position()
	var last []recordfs.State
	for s := range fs.Recording().States(recordfs.Options{From: end, Count: 50}) {
		last = append(last, s)
	}
	if len(last) != 1 || !bytes.Equal(last[0].FS.Blob("/a").Bytes(), inner.Blob("/a").Bytes()) {
		t.Fatalf("%d states after everything was synced, expected the one that is there", len(last))
	}
}

// A file that was there before is in the states once the record knows it.
func TestAFileThatIsAdoptedIsDurableUntouched(t *testing.T) {
	inner := memfs.New()
	inner.Put("/a", memfs.NewBlob([]byte("a")))
	fs := recordfs.New(inner)
	for _, want := range []string{"[]", "[/a]"} {
		for s := range fs.Recording().States(recordfs.Options{From: fs.Position()}) {
			if got := fmt.Sprint(s.FS.Paths()); got != want || want != "[]" && string(s.FS.Blob("/a").Bytes()) != "a" {
				t.Errorf("the files %s, want %s", got, want)
			}
		}
		if err := fs.Adopt(inner.Paths()...); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.Adopt("/b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestUnsyncedNamesComeAndGoByThemselves(t *testing.T) {
	fs := recordfs.New(memfs.New())
	a, _ := fs.Create("/a")
	a.WriteAt([]byte("a"), 0) //nolint:errcheck // in memory
	a.Sync()                  //nolint:errcheck // in memory
	b, _ := fs.Create("/b")
	b.WriteAt([]byte("b"), 0) //nolint:errcheck // in memory
	b.Sync()                  //nolint:errcheck // in memory
	fs.Rename("/b", "/c")     //nolint:errcheck // in memory
	seen := map[string]bool{}
	for s := range fs.Recording().States(recordfs.Options{From: fs.Position(), Count: 100}) {
		seen[fmt.Sprint(s.FS.Paths())] = true
	}
	for _, want := range []string{"[]", "[/a]", "[/b]", "[/c]", "[/a /b]", "[/a /c]"} {
		if !seen[want] {
			t.Errorf("no state with the files %s", want)
		}
	}
	if len(seen) != 6 {
		t.Errorf("states with files %v", seen)
	}
}
