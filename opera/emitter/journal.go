package emitter

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tarn/opera/inter"
	"tarn/store/vfs"
)

// journal is the file of the last own event: its id, then the event itself, as it travels.
// go-opera's has the id alone, and reads no further in ours.
type journal struct {
	fs   vfs.FS
	path string
	last []byte // what the file holds
}

func openJournal(files vfs.FS, path string) (*journal, error) {
	j := &journal{fs: files, path: path}
	if path == "" {
		return nil, errors.New("an emitter without a journal could sign twice: name its file")
	}
	if err := vfs.MkdirAll(files, filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make the folder of %s: %w", path, err)
	}
	f, err := files.Open(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the last own event: %w", err)
	}
	size, err := f.Size()
	if err == nil && (size > inter.MaxEventSize+32 || size > 0 && size < 32) {
		err = fmt.Errorf("%d bytes are no event and no id", size)
	}
	if err == nil && size > 0 {
		j.last = make([]byte, size)
		_, err = f.ReadAt(j.last, 0)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read the last own event from %s: %w", path, err)
	}
	return j, nil
}

// id returns the id of the last own event, zero if there was none.
func (j *journal) id() (id inter.EventID) {
	copy(id[:], j.last)
	return id
}

// event returns the last own event, nil if the file has only its id: go-opera writes over
// the id alone.
func (j *journal) event() []byte {
	if len(j.last) <= 32 {
		return nil
	}
	p, err := inter.DecodePayload(j.last[32:])
	if err != nil || p.ID() != j.id() {
		return nil
	}
	return j.last[32:]
}

// write makes an event the last one, durable when it returns.
func (j *journal) write(id inter.EventID, raw []byte) error { return j.replace(append(id[:], raw...)) }

// replace writes what was there before, too.
func (j *journal) replace(content []byte) error {
	if err := vfs.WriteDurably(j.fs, j.path, content); err != nil {
		return fmt.Errorf("write the last own event to %s: %w", j.path, err)
	}
	j.last = content
	return nil
}
