package emitter

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"

	"tarn/opera/inter"
	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// journal is the file of the last own events: of each its id, then the event itself, as it
// travels, and those of others that it follows from and that the log of events had not made
// durable. An own event needs no other place on the disk before it is sent, because the file
// has all of the present epoch that the log may lack after a crash. Its bytes are in
// docs/formats/opera-emitter.md.
//
// go-opera's file has the id of the last event alone, and so may what an older program wrote
// have that and its event: such files are read, and begun anew by the first event.
type journal struct {
	fs   vfs.FS
	path string
	file vfs.File // nil until something is written
	// settle makes durable in the ledger what the journal has, before the journal forgets it.
	settle func() error

	kept   [][]byte // what the file had at the start, the oldest first
	salt   uint64   // of the records' checksums
	marked bool     // the file begins with the id that no event has
	failed bool     // what the file has is not known
	last   entry    // of the last record
	before entry    // of the one before it

	tornFrom, tornTo int64 // of a record that was being written when a crash came
	removed          torntail.Removed
}

// openJournal reads the file, if there is one, and makes durable what it read: whoever wrote
// it may have been killed before.
func openJournal(files vfs.FS, path string, settle func() error) (*journal, error) {
	j := &journal{fs: files, path: path, settle: settle}
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
		return nil, fmt.Errorf("open the last own events: %w", err)
	}
	err = j.read(f)
	if err == nil && j.tornTo > 0 { // the next record is written over it
		j.removed, err = torntail.Keep(files, f, path, j.tornFrom, j.tornTo)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, fmt.Errorf("read the last own events from %s: %w", path, err)
	}
	if err := files.SyncDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make the name of %s durable: %w", path, err)
	}
	return j, nil
}

// id returns the id of the last own event, zero if there was none.
func (j *journal) id() inter.EventID { return idOf(j.last.content) }

// idOf returns the id of what a record has.
func idOf(content []byte) (id inter.EventID) {
	copy(id[:], content)
	return id
}

// write makes an event the last one, with events of others, durable when it returns.
func (j *journal) write(id inter.EventID, raw []byte, others [][]byte) error {
	if err := j.append(newContent(id, raw, others)); err != nil {
		return fmt.Errorf("write the last own event to %s: %w", j.path, err)
	}
	return nil
}

func (j *journal) append(content []byte) error {
	size := recordSize(content)
	if err := j.begin(size); err != nil {
		return err
	}
	next := entry{content: content, sequence: j.last.sequence + 1, half: j.last.half, size: j.last.size,
		from: j.last.end}
	if next.from+size > next.half+next.size {
		// What the other half has is written over: the ledger must have it.
		if err := j.settle(); err != nil {
			return err
		}
		next.half = 2*headerSize + next.size - next.half
		next.from = next.half
	}
	next.end = next.from + size
	if err := j.put(appendRecord(nil, j.salt, next.sequence, content), next.from); err != nil {
		return err
	}
	j.before, j.last = j.last, next
	return nil
}

// withdraw makes the event before the last one the last again: nobody got to know of it.
func (j *journal) withdraw() error {
	if err := j.put(make([]byte, vfs.Sector), j.last.from); err != nil {
		return fmt.Errorf("withdraw the last own event from %s: %w", j.path, err)
	}
	j.last = j.before
	return nil
}

// begin sees to it that there is a file whose halves are large enough for a record, and that
// go-opera takes for one that it must not go on from.
func (j *journal) begin(record int64) error {
	if j.last.size < record {
		if err := j.create(max(halfBytes, 2*record)); err != nil {
			return err
		}
	}
	if j.file == nil {
		file, err := vfs.OpenPastCache(j.fs, j.path)
		if err != nil {
			return err
		}
		j.file = file
	}
	if j.marked {
		return nil
	}
	j.marked = true
	return j.put(j.header(noEvent(), j.last.size), 0)
}

// create makes the file anew, with what is the last record. The ledger has the others.
func (j *journal) create(size int64) error {
	if err := j.settle(); err != nil {
		return err
	}
	p := entry{content: j.last.content, sequence: j.last.sequence, half: headerSize, from: headerSize, end: headerSize}
	j.salt = rand.Uint64()
	var record []byte
	if p.content != nil {
		p.sequence = max(p.sequence, 1)
		record = appendRecord(nil, j.salt, p.sequence, p.content)
		p.end += int64(len(record))
	}
	p.size = max(size, int64(len(record)))
	file := make([]byte, headerSize+2*p.size)
	copy(file, j.header(noEvent(), p.size))
	copy(file[headerSize:], record)
	err := j.shut()
	if err == nil {
		err = vfs.WriteDurably(j.fs, j.path, file)
	}
	j.last, j.marked, j.failed = p, true, err != nil
	return err
}

func (j *journal) put(sectors []byte, at int64) error {
	_, err := j.file.WriteAt(sectors, at)
	if err == nil {
		err = j.file.Sync()
	}
	j.failed = j.failed || err != nil
	return err
}

func (j *journal) shut() error {
	if j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}

// close ends the journal. Once the ledger has all of it, go-opera may go on from the file.
func (j *journal) close() error {
	if j.file == nil || j.failed {
		return j.shut()
	}
	err := j.settle()
	if err == nil {
		err = j.put(j.header(j.id(), j.last.size), 0)
	}
	return errors.Join(err, j.shut())
}
