package appendonly

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"

	"tarn/store/vfs"
)

// A run's file: blocks of postings in order, each with a checksum; the first posting of
// each block and where it lies; a footer. Integers of fixed size are little-endian.
const (
	runMagic = "tarnrun1"
	runBlock = 4 << 10 // a block ends when it is this long
	// from, to, postings, offset of the index, its length and checksum, checksum, magic
	runFooter    = 8 + 8 + 8 + 8 + 4 + 4 + 4 + 8
	maxRunIndex  = 1 << 31
	maxPostingIn = 1 << 20 // bytes of a block that a reader takes
)

// posting says that an entry has a key.
type posting struct {
	key    []byte
	number uint64
	value  []byte
}

func (p *posting) before(o *posting) bool {
	if c := bytes.Compare(p.key, o.key); c != 0 {
		return c < 0
	}
	return p.number < o.number
}

// run is a sorted file of the postings of the entries from one number up to another.
type run struct {
	sequence uint64
	level    uint32
	from, to uint64
	path     string
	postings uint64
	size     int64
	blocks   []runBlockAt
}

// runBlockAt is where a block lies, and its first posting without its value.
type runBlockAt struct {
	key    []byte
	number uint64
	offset int64
	length int
}

func runPath(dir string, sequence uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%010d.run", sequence))
}

// runWriter writes postings, which come in order, into a file.
type runWriter struct {
	file    vfs.File
	run     *run
	buffer  []byte // not written yet
	written int64
	block   []byte
	first   runBlockAt
	last    []byte
	index   []byte
}

func (w *runWriter) add(p *posting) error {
	if len(w.block) == 0 {
		w.first = runBlockAt{key: append([]byte(nil), p.key...), number: p.number}
		w.last = w.last[:0]
	}
	shared := 0
	for shared < len(w.last) && shared < len(p.key) && w.last[shared] == p.key[shared] {
		shared++
	}
	b := binary.AppendUvarint(w.block, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(p.key)-shared))
	b = append(b, p.key[shared:]...)
	b = binary.AppendUvarint(b, p.number-w.run.from)
	b = binary.AppendUvarint(b, uint64(len(p.value)))
	w.block = append(b, p.value...)
	w.last = append(w.last[:0], p.key...)
	w.run.postings++
	if len(w.block) >= runBlock {
		return w.end()
	}
	return nil
}

// end finishes a block.
func (w *runWriter) end() error {
	if len(w.block) == 0 {
		return nil
	}
	block := binary.LittleEndian.AppendUint32(w.block, checksum(w.block))
	w.index = binary.AppendUvarint(w.index, uint64(len(w.first.key)))
	w.index = append(w.index, w.first.key...)
	w.index = binary.AppendUvarint(w.index, w.first.number-w.run.from)
	w.index = binary.AppendUvarint(w.index, uint64(len(block)))
	w.buffer = append(w.buffer, block...)
	w.block = w.block[:0]
	if len(w.buffer) < bufferBytes {
		return nil
	}
	return w.flush()
}

func (w *runWriter) flush() error {
	if _, err := w.file.WriteAt(w.buffer, w.written); err != nil {
		return fmt.Errorf("write %s at %d: %w", w.run.path, w.written, err)
	}
	w.written += int64(len(w.buffer))
	w.buffer = w.buffer[:0]
	return nil
}

// finish writes the index and makes the file durable, but not its name.
func (w *runWriter) finish() error {
	if err := w.end(); err != nil {
		return err
	}
	at := w.written + int64(len(w.buffer))
	w.buffer = append(w.buffer, w.index...)
	from := len(w.buffer)
	for _, n := range []uint64{w.run.from, w.run.to, w.run.postings, uint64(at)} {
		w.buffer = binary.LittleEndian.AppendUint64(w.buffer, n)
	}
	w.buffer = binary.LittleEndian.AppendUint32(w.buffer, uint32(len(w.index)))
	w.buffer = binary.LittleEndian.AppendUint32(w.buffer, checksum(w.index))
	w.buffer = binary.LittleEndian.AppendUint32(w.buffer, checksum(w.buffer[from:]))
	w.buffer = append(w.buffer, runMagic...)
	if len(w.index) >= maxRunIndex {
		return fmt.Errorf("write %s: its index has %d bytes", w.run.path, len(w.index))
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.run.size = w.written
	return w.file.Sync()
}

// writeRun makes a run of what each yields, in order.
func writeRun(fs vfs.FS, r *run, each func(add func(*posting) error) error) error {
	f, err := fs.Create(r.path)
	if err != nil {
		return err
	}
	w := &runWriter{file: f, run: r}
	err = each(w.add)
	if err == nil {
		err = w.finish()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		// Else each try leaves a file that is in no list.
		return fmt.Errorf("make run %s: %w", r.path, errors.Join(err, fs.Remove(r.path)))
	}
	if err := fs.SyncDir(filepath.Dir(r.path)); err != nil {
		return err
	}
	return nil
}

// open reads the index of a run's file.
func (r *run) open(f vfs.File) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	if size < runFooter {
		return corrupt(r.path, 0, "%d bytes are no run", size)
	}
	foot := make([]byte, runFooter)
	if err := vfs.ReadFull(f, foot, size-runFooter); err != nil {
		return err
	}
	at, length := int64(binary.LittleEndian.Uint64(foot[24:])), int64(binary.LittleEndian.Uint32(foot[32:]))
	if string(foot[44:]) != runMagic || checksum(foot[:40]) != binary.LittleEndian.Uint32(foot[40:]) || at < 0 ||
		at+length+runFooter != size {
		return corrupt(r.path, size-runFooter, "not the end of a run")
	}
	if from, to := binary.LittleEndian.Uint64(foot), binary.LittleEndian.Uint64(foot[8:]); from != r.from ||
		to != r.to {
		return corrupt(r.path, size-runFooter, "entries %d to %d, want %d to %d", from, to, r.from, r.to)
	}
	r.postings, r.size = binary.LittleEndian.Uint64(foot[16:]), size
	index := make([]byte, length)
	if err := vfs.ReadFull(f, index, at); err != nil {
		return err
	}
	if checksum(index) != binary.LittleEndian.Uint32(foot[36:]) {
		return corrupt(r.path, at, "checksum of the index")
	}
	return r.readIndex(index, at)
}

func (r *run) readIndex(index []byte, end int64) error {
	var at int64
	for rest := index; len(rest) != 0; {
		key, b, ok := takeBytes(rest)
		number, b, ok2 := takeNumber(b)
		length, b, ok3 := takeNumber(b)
		if !ok || !ok2 || !ok3 || length > maxPostingIn || at+int64(length) > end {
			return corrupt(r.path, end, "the index is not in its format")
		}
		r.blocks = append(r.blocks, runBlockAt{key, r.from + number, at, int(length)})
		at, rest = at+int64(length), b
	}
	if at != end {
		return corrupt(r.path, end, "the index has blocks up to %d", at)
	}
	return nil
}

func takeNumber(b []byte) (uint64, []byte, bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

func takeBytes(b []byte) (taken, rest []byte, ok bool) {
	n, b, ok := takeNumber(b)
	if !ok || n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// seek returns the block in which the first posting at or after (key, number) may be.
func (r *run) seek(key []byte, number uint64) int {
	want := &posting{key: key, number: number}
	i := sort.Search(len(r.blocks), func(i int) bool {
		b := &r.blocks[i]
		return want.before(&posting{key: b.key, number: b.number})
	})
	return max(0, i-1)
}

// scan calls each for the postings from a block on, until it returns false. What it is
// given ends with the call.
func (r *run) scan(f vfs.File, block int, each func(*posting) (bool, error)) error {
	var raw []byte
	for ; block < len(r.blocks); block++ {
		at := &r.blocks[block]
		if cap(raw) < at.length {
			raw = make([]byte, max(at.length, 2*runBlock))
		}
		raw = raw[:at.length]
		if err := vfs.ReadFull(f, raw, at.offset); errors.Is(err, io.ErrUnexpectedEOF) {
			return corrupt(r.path, at.offset, "the file ends within a block")
		} else if err != nil {
			return fmt.Errorf("read %s at %d: %w", r.path, at.offset, err)
		}
		if len(raw) < 4 || checksum(raw[:len(raw)-4]) != binary.LittleEndian.Uint32(raw[len(raw)-4:]) {
			return corrupt(r.path, at.offset, "checksum of a block")
		}
		more, err := r.scanBlock(raw[:len(raw)-4], at.offset, each)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (r *run) scanBlock(b []byte, at int64, each func(*posting) (bool, error)) (bool, error) {
	var p posting
	for len(b) != 0 {
		shared, rest, ok := takeNumber(b)
		if !ok || shared > uint64(len(p.key)) {
			return false, corrupt(r.path, at, "a posting is not in its format")
		}
		key, rest, ok := takeBytes(rest)
		number, rest, ok2 := takeNumber(rest)
		value, rest, ok3 := takeBytes(rest)
		if !ok || !ok2 || !ok3 {
			return false, corrupt(r.path, at, "a posting is not in its format")
		}
		p.key = append(p.key[:shared], key...)
		p.number, p.value, b = r.from+number, value, rest
		if more, err := each(&p); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}
