package blocklog

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	mathrand "math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

const (
	reversibleMagic       = "tarnrevb"
	reversibleVersion     = 2
	reversibleUnaligned   = 1  // the version whose records follow each other without a gap
	reversibleHeaderBytes = 16 // what older files have of it
	reversibleHeadBytes   = reversibleHeaderBytes + 8 + 8 + 4
	recordHeaderBytes     = 8
	defaultCompactBytes   = 4 << 20
	maxRecordKept         = 1 << 20 // bytes of scratch
)

// ReversibleOptions say where reversible blocks are kept.
type ReversibleOptions struct {
	Dir          string        // the blocks directory; the file is below it
	CompactBytes int64         // obsolete bytes below which nothing is rewritten; 0 is 4 MiB
	FS           logcatalog.FS // nil is the machine's own
	Logger       *slog.Logger  // nil says nothing
	// Durable tells up to which block the log survives a power cut (Log.Durable).
	// Blocks after it are kept, whatever Obsolete says. Nil is for no log.
	Durable func() uint32
	// Mend has opening go on without blocks that are damaged and may be needed: for who signs no
	// blocks, and gets from peers what is missing. Who signs some must not: he would
	// sign other blocks at the heights of those that he has published.
	Mend bool
}

// Reversible is an append-only file of signed blocks in the order in which they were
// accepted. A block that Append returned for survives the process; one that a Sync or
// AppendDurably returned for survives a power cut, which may lose those after it.
//
// Blocks become obsolete when they are irreversible and in the log. When most of the
// file is, it is rewritten without them. What opening finds may include blocks that
// were obsolete already.
//
// It may be used by several goroutines.
type Reversible struct {
	fs      logcatalog.FS
	path    string
	compact int64
	log     *slog.Logger
	durable func() uint32
	mend    bool

	mu       sync.Mutex
	file     vfs.File
	head     reversibleHead
	mark     *torntail.Mark // of head.file: up to which offset the file is durable
	align    int64          // what the offsets of records are multiples of
	end      int64          // where the next record begins
	past     pastCache
	blocks   []reversibleBlock
	obsolete int64 // bytes of records that are not in blocks any more
	sequence uint64
	dirty    bool
	cut      int64
	failed   error
	record   []byte // scratch of Append
}

// reversibleBlock is where a block is. Its sequence number stays when the file is
// rewritten.
type reversibleBlock struct {
	seq    uint64
	num    uint32
	offset int64 // of the packed block
	size   int
}

// OpenReversible opens the file or makes it, and cuts a torn end off. What is damaged and may be
// needed is a [torntail.Damage], unless o says Mend; nothing was changed then.
func OpenReversible(o ReversibleOptions) (*Reversible, error) {
	fs, _, log := settleSurroundings(o.FS, nil, o.Logger)
	dir := filepath.Join(o.Dir, ReversibleDir)
	r := &Reversible{fs: fs, path: filepath.Join(dir, ReversibleName), compact: o.CompactBytes, log: log,
		durable: o.Durable, mend: o.Mend}
	if r.compact == 0 {
		r.compact = defaultCompactBytes
	}
	if err := vfs.MkdirAll(fs, dir); err != nil {
		return nil, fmt.Errorf("open reversible blocks: %w", err)
	}
	err := r.open()
	if err == nil {
		err = r.mark.Set(r.head.file, uint64(r.end))
	}
	if err != nil {
		if r.mark != nil {
			err = errors.Join(err, r.mark.Close())
		}
		if r.file != nil {
			err = errors.Join(err, r.file.Close())
		}
		return nil, fmt.Errorf("open reversible blocks: %w", err)
	}
	return r, nil
}

// add lists the record that ends the file.
func (r *Reversible) add(num uint32, size int) {
	r.sequence++
	r.blocks = append(r.blocks, reversibleBlock{r.sequence, num, r.end + recordHeaderBytes, size})
	r.end += r.space(size)
}

// space is what the record of a packed block takes in the file.
func (r *Reversible) space(block int) int64 { return r.alignUp(recordHeaderBytes + int64(block)) }

// alignUp is the first offset from one on at which a record may begin.
func (r *Reversible) alignUp(offset int64) int64 { return (offset + r.align - 1) / r.align * r.align }

func appendReversible(b, block []byte) []byte {
	from := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(block)))
	b = binary.LittleEndian.AppendUint32(b, tailSum(b[from:], block))
	return append(b, block...)
}

// CutBytes tells how much of the file's end opening cut off.
func (r *Reversible) CutBytes() int64 { return r.cut }

// Append adds a packed block, and hands it to the kernel.
func (r *Reversible) Append(block []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(block, r.writeCached)
}

func (r *Reversible) append(block []byte, write func(record []byte) error) error {
	num, ok := blockNumber(block)
	if !ok || len(block) > maxBlockBytes {
		return fmt.Errorf("append %d bytes that are no block to %s", len(block), r.path)
	}
	if r.failed != nil {
		return r.failed
	}
	if r.record = appendReversible(r.record[:0], block); cap(r.record) > maxRecordKept {
		defer func() { r.record = nil }()
	}
	r.record = append(r.record, make([]byte, r.space(len(block))-int64(len(r.record)))...)
	if err := write(r.record); err != nil {
		return r.fail("append to", err)
	}
	r.add(num, len(block))
	r.dirty = true
	return nil
}

// writeCached writes a record at the end.
func (r *Reversible) writeCached(record []byte) error {
	_, err := r.file.WriteAt(record, r.end)
	return err
}

func (r *Reversible) fail(what string, err error) error {
	r.failed = fmt.Errorf("%s %s: %w: %w", what, r.path, err, ErrFailed)
	r.log.Error("the file of reversible blocks takes no more blocks", "error", r.failed)
	return r.failed
}

// Sync makes all that was appended durable. After an error nothing is appended any
// more.
func (r *Reversible) Sync() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sync()
}

func (r *Reversible) sync() error {
	if r.failed != nil || !r.dirty {
		return r.failed
	}
	err := r.file.Sync()
	if err == nil {
		err = r.mark.Set(r.head.file, uint64(r.end))
	}
	if err != nil {
		return r.fail("sync", err)
	}
	r.dirty = false
	return nil
}

// Len returns how many blocks there are that are not obsolete.
func (r *Reversible) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.blocks)
}

// All yields the packed blocks that are not obsolete, in the order in which they
// were appended, up to an error. The caller keeps what it gets. Other methods may be
// called meanwhile: what becomes obsolete is not yielded, nor what is appended.
func (r *Reversible) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r.mu.Lock()
		last := r.sequence
		r.mu.Unlock()
		for next := uint64(1); ; {
			data, seq, err := r.from(next)
			if seq == 0 || seq > last || !yield(data, err) || err != nil {
				return
			}
			next = seq + 1
		}
	}
}

// from reads the first block of at least a sequence number; seq is 0 if there is none.
func (r *Reversible) from(least uint64) (data []byte, seq uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.blocks, least, func(b reversibleBlock, n uint64) int {
		return cmp.Compare(b.seq, n)
	})
	if i == len(r.blocks) {
		return nil, 0, nil
	}
	b := r.blocks[i]
	data = make([]byte, b.size)
	return data, b.seq, readFull(r.file, r.path, data, b.offset)
}

// Blocks yields what All does, decoded.
func (r *Reversible) Blocks() iter.Seq2[*types.SignedBlock, error] {
	return func(yield func(*types.SignedBlock, error) bool) {
		for data, err := range r.All() {
			var b *types.SignedBlock
			if err == nil {
				b, err = decodeBlock(data)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// Obsolete says that blocks up to a number are not needed any more: they, or others
// of their numbers, are in the log. It rewrites the file, durably, when most of it is
// of no use.
func (r *Reversible) Obsolete(upTo uint32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	if r.durable != nil {
		upTo = min(upTo, r.durable())
	}
	kept := r.blocks[:0]
	for _, b := range r.blocks {
		if b.num > upTo {
			kept = append(kept, b)
		} else {
			r.obsolete += r.space(b.size)
		}
	}
	r.blocks = kept
	if r.obsolete < r.compact || r.obsolete*2 < r.end {
		return nil
	}
	if err := r.replace(kept); err != nil {
		return r.fail("rewrite", err)
	}
	return nil
}

// Reset removes all blocks, durably.
func (r *Reversible) Reset() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	if err := r.replace(nil); err != nil {
		return r.fail("rewrite", err)
	}
	return nil
}

// replace makes a new file of some of the blocks and renames it over the old one.
func (r *Reversible) replace(keep []reversibleBlock) (err error) {
	temporary := r.path + ".tmp"
	f, err := r.fs.Create(temporary)
	if err != nil {
		return err
	}
	r.align = vfs.Sector
	end := r.alignUp(reversibleHeadBytes)
	moved := make([]reversibleBlock, 0, len(keep))
	for _, b := range keep {
		if err != nil {
			break
		}
		from := b.offset - recordHeaderBytes
		if err = vfs.CopyTo(f, end, r.file, from, b.offset+int64(b.size)); err != nil {
			err = fmt.Errorf("blocks of %s: %w", r.path, err)
		} else {
			moved = append(moved, reversibleBlock{b.seq, b.num, end + recordHeaderBytes, b.size})
			end += r.space(b.size)
		}
	}
	head := reversibleHead{version: reversibleVersion, file: max(1, mathrand.Uint64()), durable: end}
	if err == nil {
		_, err = f.WriteAt(head.append(nil), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = vfs.RenameDurably(r.fs, temporary, r.path)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	err = r.past.close()
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	r.file, r.head, r.end, r.blocks, r.obsolete, r.dirty = f, head, end, moved, 0, false
	return err
}

// Close syncs and closes the file.
func (r *Reversible) Close() error {
	err := r.Sync()
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(r.failed, ErrClosed) {
		return nil
	}
	r.failed = ErrClosed
	return errors.Join(err, r.past.close(), r.mark.Close(), r.file.Close())
}
