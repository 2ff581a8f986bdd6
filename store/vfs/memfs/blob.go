package memfs

import (
	"io"
	"slices"
)

const blockSize = 4096

// Blob is the bytes of one file: sparse, and copied on write, so that a clone
// costs one pointer a block. It is not safe for concurrent use; files of an [FS]
// guard theirs. The zero value is an empty blob.
type Blob struct {
	size   int64
	blocks []*block // nil: a hole
	owner  *owner
}

// block belongs to the blob whose owner it names; any other copies it first.
type block struct {
	owner *owner
	data  [blockSize]byte
}

type owner struct{ _ byte }

// NewBlob returns a blob that holds a copy of data.
func NewBlob(data []byte) *Blob {
	b := &Blob{}
	b.WriteAt(data, 0) //nolint:errcheck // never fails at offset 0
	return b
}

// Clone returns a blob of the same content; neither sees the other's changes.
func (b *Blob) Clone() *Blob {
	b.owner = nil
	return &Blob{size: b.size, blocks: slices.Clone(b.blocks)}
}

// Size is the length in bytes.
func (b *Blob) Size() int64 { return b.size }

// Bytes returns a copy of the content.
func (b *Blob) Bytes() []byte {
	p := make([]byte, b.size)
	b.ReadAt(p, 0) //nolint:errcheck // the range is inside
	return p
}

// ReadAt implements io.ReaderAt.
func (b *Blob) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= b.size {
		if off == b.size && len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), b.size-off))
	for done := 0; done < n; {
		at := off + int64(done)
		part := p[done:min(n, done+blockSize-int(at%blockSize))]
		if blk := b.blocks[at/blockSize]; blk != nil {
			copy(part, blk.data[at%blockSize:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements io.WriterAt; it extends the blob where need be. The only
// error is a negative offset.
func (b *Blob) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errOffset
	}
	if len(p) == 0 {
		return 0, nil
	}
	b.grow(off + int64(len(p)))
	for done := 0; done < len(p); {
		at := off + int64(done)
		done += copy(b.own(at / blockSize)[at%blockSize:], p[done:])
	}
	return len(p), nil
}

// Truncate cuts the blob or extends it with zeros.
func (b *Blob) Truncate(size int64) {
	if size >= b.size {
		b.grow(size)
		return
	}
	if rest := size % blockSize; rest != 0 && b.blocks[size/blockSize] != nil {
		clear(b.own(size / blockSize)[rest:])
	}
	n := (size + blockSize - 1) / blockSize
	clear(b.blocks[n:])
	b.blocks, b.size = b.blocks[:n], size
}

// Zero makes the part of a range that lies inside the blob read as zeros.
func (b *Blob) Zero(off, size int64) {
	for end := min(off+size, b.size); off < end; {
		i, from := off/blockSize, off%blockSize
		n := min(blockSize-from, end-off)
		switch {
		case b.blocks[i] == nil:
		case n == blockSize:
			b.blocks[i] = nil
		default:
			clear(b.own(i)[from : from+n])
		}
		off += n
	}
}

func (b *Blob) grow(size int64) {
	if size <= b.size {
		return
	}
	n := int((size + blockSize - 1) / blockSize)
	b.blocks = append(b.blocks, make([]*block, n-len(b.blocks))...)
	b.size = size
}

// own returns block i for writing.
func (b *Blob) own(i int64) []byte {
	if b.owner == nil {
		b.owner = new(owner)
	}
	old := b.blocks[i]
	if old != nil && old.owner == b.owner {
		return old.data[:]
	}
	blk := &block{owner: b.owner}
	if old != nil {
		blk.data = old.data
	}
	b.blocks[i] = blk
	return blk.data[:]
}
