package appendonly

import (
	"errors"
	"fmt"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// skipTo opens a log whose owner goes on at a later entry, and tells how many entries it had.
func skipTo(fs vfs.FS, first uint64) (had uint64, err error) {
	o := smallLog(fs)
	o.First, o.Need = first, first
	l, err := OpenLog(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if l.First() != first || l.Next() < first {
		return 0, fmt.Errorf("the log has entries from %d to %d, and is to begin with %d", l.First(), l.Next(), first)
	}
	if _, err := l.Read(first-1, nil); !errors.Is(err, ErrNoEntry) {
		return 0, fmt.Errorf("an entry of before is read: %w", err)
	}
	had = l.Next() - first
	if _, err := l.Append(entryOf(l.Next(), 1)); err != nil {
		return 0, err
	}
	return had, l.Sync()
}

// A log that ends before the entry with which its owner goes on is begun anew there, whatever a
// power cut leaves of that; what is written after that stays. A log of which later entries are
// needed is damaged.
func TestALogThatEndsBeforeItsOwnersFirstBeginsAnew(t *testing.T) {
	for _, entries := range []uint64{0, 3, 60} {
		disk := recordfs.New(memfs.New())
		l, err := OpenLog(smallLog(disk))
		check(t, err)
		for n := range entries {
			_, err := l.Append(entryOf(7+n, 0))
			check(t, err)
		}
		check(t, errors.Join(l.Sync(), l.Close()))
		begun := disk.Position()
		o := smallLog(disk)
		o.First, o.Need = 1000, 1001
		if _, err := OpenLog(o); !errors.As(err, new(*CorruptError)) {
			t.Fatalf("entry 1000 is needed, and there are %d from 7 on: %v", entries, err)
		}
		l, err = OpenLog(smallLog(disk))
		check(t, err)
		if l.Next() != 7+entries {
			t.Fatalf("of %d entries %d are left after a start that needed others", entries, l.Next()-7)
		}
		check(t, l.Close())
		_, err = skipTo(disk, 1000)
		check(t, err)
		certain := disk.Position()
		for state := range disk.Recording().Some(recordfs.Options{From: begun, Count: 60, Seed: seed(t)}) {
			had, err := skipTo(state.FS, 1000)
			if err == nil && state.At >= certain && had != 1 {
				err = errors.New("an entry that was synced is lost")
			}
			if err != nil {
				t.Fatalf("%v\n%v", err, state)
			}
		}
	}
}
