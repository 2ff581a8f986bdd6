package blocklog

import (
	"errors"

	"tarn/store/vfs"
)

const (
	// roomBytes of zeros are written behind a record that is made durable. The next ones
	// go there. So they change nothing but their own sectors, and a sync has neither a size
	// nor a place on the disk to tell to the file system's journal, which takes several times
	// what a block does.
	roomBytes = 256 << 10
	// A record of largeRecord bytes gets no room: the journal is little beside it.
	largeRecord = 32 << 10
)

// pastCache is how a file of reversible blocks is written past the page cache, which would
// write whole pages at each sync.
type pastCache struct {
	file vfs.File // nil until it is needed
	none bool     // there is no such way
	room int64    // up to where the file has records and zeros
}

func (p *pastCache) close() (err error) {
	if p.file != nil {
		err = p.file.Close()
	}
	*p = pastCache{none: p.none}
	return err
}

// AppendDurably adds a packed block. When it returns nil, the block and those before it
// survive a power cut.
func (r *Reversible) AppendDurably(block []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.append(block, r.writeDirect); err != nil {
		return err
	}
	return r.sync()
}

// writeDirect writes a record at the end, past the page cache if there is a way.
func (r *Reversible) writeDirect(record []byte) error {
	p := &r.past
	if p.file == nil && !p.none {
		file, err := r.fs.OpenDirect(r.path)
		if p.none = errors.Is(err, errors.ErrUnsupported); err != nil && !p.none {
			return err
		}
		p.file = file
	}
	if p.none {
		return r.writeCached(record)
	}
	written := record
	if r.end+int64(len(record)) > p.room && len(record) < largeRecord {
		written = append(record, make([]byte, roomBytes)...)
	}
	_, err := p.file.WriteAt(written, r.end)
	if errors.Is(err, errors.ErrUnsupported) {
		p.none = true
		return errors.Join(p.close(), r.writeCached(record))
	}
	p.room = max(p.room, r.end+int64(len(written)))
	return err
}
