package appendonly

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// checkIndexes makes a log with an index of several runs, some of its segments moved, all synced.
func checkIndexes(t *testing.T, fs vfs.FS) {
	t.Helper()
	l, err := OpenLog(smallLog(fs))
	check(t, err)
	x, err := OpenIndex(IndexOptions{FS: fs, Dir: "/log", Log: l, MemoryBytes: 1, FanIn: 3,
		Keys: func(number uint64, entry []byte, emit func(key, value []byte)) error {
			emit(fmt.Appendf(nil, "%d", number%5), entry[:2])
			return nil
		}})
	check(t, err)
	for number := uint64(7); number < 43; number++ {
		entry := entryOf(number, 0)
		_, err := l.Append(entry)
		check(t, err)
		check(t, x.Add(number, entry))
		if number%4 == 0 {
			check(t, x.Settle(number))
		}
	}
	_, err = l.Move(43)
	check(t, err)
	check(t, l.Sync())
	check(t, errors.Join(x.Close(), l.Close()))
}

// verifyAll verifies, and returns the damage and the notices. Nothing may change.
func verifyAll(t *testing.T, fs *memfs.FS) (done Verified, damage, notices []error) {
	t.Helper()
	before := fs.Clone()
	done, err := Verify(VerifyOptions{
		FS: fs, Dir: "/log", OldDir: "/old",
		Damage: func(err error) { damage = append(damage, err) },
		Notice: func(err error) { notices = append(notices, err) },
	})
	check(t, err)
	for _, path := range before.Paths() {
		if b := before.Blob(path); b != nil && !bytes.Equal(b.Bytes(), fs.Blob(path).Bytes()) {
			t.Fatalf("%s was changed", path)
		}
	}
	return done, damage, notices
}

// Each byte that is not what was written is found, wherever it is, and what is sound is sound.
func TestVerifyFindsEachDamagedByteAndChangesNothing(t *testing.T) {
	whole := memfs.New()
	checkIndexes(t, whole)
	done, damage, notices := verifyAll(t, whole)
	if len(damage)+len(notices) != 0 || done.Entries != 36 || done.Postings < 20 {
		t.Fatalf("%+v, damage %v, notices %v", done, damage, notices)
	}
	for _, path := range whole.Paths() {
		blob := whole.Blob(path)
		if blob == nil {
			continue
		}
		size := len(blob.Bytes())
		tail := 0 // what a power cut may leave
		if path == markPath("/log") {
			tail = size
		}
		for at := range size {
			fs := whole.Clone()
			b := bytes.Clone(blob.Bytes())
			b[at] ^= 0x10
			fs.Put(path, memfs.NewBlob(b))
			_, damage, notices := verifyAll(t, fs)
			if len(damage) == 0 && (at < size-tail || len(notices) == 0) {
				t.Fatalf("%s at %d of %d is damaged: %v, %v", path, at, size, damage, notices)
			}
			for _, err := range damage {
				var c *CorruptError
				if !errors.As(err, &c) {
					t.Fatalf("%s at %d: %v", path, at, err)
				}
			}
		}
	}
}

// A crash may leave a tail, or a segment that was being made; a segment that is gone is damage.
func TestVerifyTellsATornTailFromDamage(t *testing.T) {
	whole := memfs.New()
	checkIndexes(t, whole)
	last := segmentPath("/log", 5)
	if b := whole.Blob(last); b == nil || len(b.Bytes()) < 2*headerSize || whole.Blob(segmentPath("/log", 6)) != nil {
		t.Fatalf("the last segment is another one: %v", whole.Paths())
	}
	fs := whole.Clone()
	b := whole.Blob(last).Bytes()
	fs.Put(last, memfs.NewBlob(b[:len(b)-1]))
	if _, damage, _ := verifyAll(t, fs); len(damage) != 1 {
		t.Errorf("the last entry is torn and was durable: %v", damage)
	}
	fs = whole.Clone()
	l, err := OpenLog(smallLog(fs))
	check(t, err)
	_, err = l.Append(entryOf(43, 0))
	check(t, errors.Join(err, l.Close()))
	b = fs.Blob(last).Bytes()
	fs.Put(last, memfs.NewBlob(b[:len(b)-1]))
	if _, damage, notices := verifyAll(t, fs); len(damage) != 0 || len(notices) != 1 {
		t.Errorf("a torn tail: damage %v, notices %v", damage, notices)
	}
	fs = whole.Clone()
	fs.Put(segmentPath("/log", 6), memfs.NewBlob(make([]byte, 10)))
	if _, damage, _ := verifyAll(t, fs); len(damage) == 0 {
		t.Error("a segment follows one that is not finished")
	}
	check(t, whole.Remove("/log/0000000003.log"))
	if _, damage, _ := verifyAll(t, whole); len(damage) == 0 {
		t.Error("a segment is gone")
	}
	if done, damage, notices := verifyAll(t, memfs.New()); len(damage)+len(notices) != 0 || done.Entries != 0 {
		t.Errorf("nothing at all: %v, %v", damage, notices)
	}
}
