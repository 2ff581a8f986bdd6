package recordfs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tarn/store/vfs/memfs"
)

const sectorSize = 512

// fate is what becomes of one pending change.
type fate struct {
	all     bool   // it survives whole
	sectors []byte // of a write or punch that is neither whole nor lost: one of the states below each
	grown   bool   // the size shows the write even where its bytes are missing
}

const (
	lost byte = iota
	kept
	garbled // the power failed while the drive wrote this sector
)

// sectors is how many pieces a write or punch can be torn into.
func (c *change) sectors() int {
	if c.size == 0 || c.kind != write && c.kind != punch {
		return 0
	}
	return int((c.offset+c.size-1)/sectorSize - c.offset/sectorSize + 1)
}

// sector is the range of the i-th piece.
func (c *change) sector(i int) (from, to int64) {
	from = (c.offset/sectorSize + int64(i)) * sectorSize
	return max(from, c.offset), min(from+sectorSize, c.offset+c.size)
}

// apply does to a file what survived of a change.
func (f *fate) apply(b *memfs.Blob, c *change) {
	end := c.offset + c.size
	switch c.kind {
	case truncate:
		if f.all {
			b.Truncate(c.size)
		}
		return
	case allocate:
		if f.all && end > b.Size() {
			b.Truncate(end)
		}
		return
	}
	if (f.grown || f.all) && c.kind == write && end > b.Size() {
		b.Truncate(end)
	}
	if f.all && c.settled == nil {
		c.put(b, c.offset, end, kept)
		return
	}
	for s := range c.sectors() {
		if c.settled != nil && c.settled[s] {
			continue
		}
		state := kept
		if !f.all {
			state = lost
			if f.sectors != nil {
				state = f.sectors[s]
			}
		}
		if state != lost {
			from, to := c.sector(s)
			c.put(b, from, to, state)
		}
	}
}

// put writes or punches one range of a change.
func (c *change) put(b *memfs.Blob, from, to int64, state byte) {
	if c.kind == punch {
		b.Zero(from, to-from)
		return
	}
	data := c.data[from-c.offset : to-c.offset]
	if state == garbled {
		data = slices.Clone(data)
		for i := len(data) / 3; i < len(data); i++ {
			data[i] ^= byte(i*151 + 77)
		}
	}
	b.WriteAt(data, from) //nolint:errcheck // in memory
}

// tear draws a fate in which a change survives in part, if it has parts.
func (c *change) tear(r *rand.Rand) fate {
	n := c.sectors()
	if n < 2 {
		return fate{all: r.IntN(2) == 0, grown: r.IntN(2) == 0}
	}
	f := fate{sectors: make([]byte, n), grown: r.IntN(2) == 0}
	cut := 1 + r.IntN(n-1)
	switch r.IntN(5) {
	case 0:
		fill(f.sectors[:cut], kept)
	case 1:
		fill(f.sectors[cut:], kept)
	case 2: // all but one
		fill(f.sectors, kept)
		f.sectors[r.IntN(n)] = lost
	case 3:
		for i := range f.sectors {
			f.sectors[i] = byte(r.IntN(2))
		}
	case 4:
		fill(f.sectors[:cut], kept)
		f.sectors[cut] = garbled
	}
	return f
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// String shows whole changes as +, lost ones as -, and the sectors of torn ones.
func (f *fate) String() string {
	switch {
	case f.all:
		return "+"
	case f.sectors == nil && f.grown:
		return "- (size shows it)"
	case f.sectors == nil:
		return "-"
	}
	var s strings.Builder
	for _, v := range f.sectors {
		s.WriteByte("-+?"[v])
	}
	if f.grown {
		s.WriteString(" (size shows it)")
	}
	return fmt.Sprintf("torn %s", s.String())
}
