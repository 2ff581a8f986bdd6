package shiplog

import (
	"errors"
	"fmt"
	"math/bits"

	"tarn/antelope/types"
	"tarn/store/vfs"
)

// nearBits is in how many bits an id may differ from another to be taken for it, damaged. The
// ids of two blocks of a number differ in 112 of their bits, give or take 8.
const nearBits = 40

// Near tells whether an id is most likely another one that was damaged, and not that of another
// block. Equal ids are not near.
func Near(a, b types.Checksum256) bool {
	n := 0
	for i := range a {
		n += bits.OnesCount8(a[i] ^ b[i])
	}
	return n > 0 && n <= nearBits
}

// CorrectID writes the id of a block into its entry, which has another one that is near: the
// caller knows it from elsewhere. Any goroutine may call it.
func (l *Log) CorrectID(num uint32, id types.Checksum256) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.use(num, func(f *file) error {
		h, at, err := f.header(num)
		if err != nil || !Near(h.id, id) {
			return err
		}
		return f.writeID(l.fs, at, h.id, id)
	})
	if err != nil {
		return fmt.Errorf("correct the id of block %d: %w", num, err)
	}
	if !l.last.IsZero() && number(l.last) == num {
		l.last = id
	}
	return nil
}

// writeID writes the id of the entry at a position durably.
func (f *file) writeID(fs vfs.FS, at int64, was, id types.Checksum256) error {
	f.say.Warn("The id of a block was damaged in the entry of a history log, and is written anew", "file", f.Log(),
		"offset", at, "was", was, "id", id)
	w, err := fs.Open(f.Log(), true)
	if err != nil {
		return err
	}
	for _, p := range writeID(at, &id).pieces {
		if err == nil {
			err = p.write(w)
		}
	}
	return errors.Join(err, w.Close())
}
