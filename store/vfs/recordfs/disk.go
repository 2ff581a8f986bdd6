package recordfs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// kind says what an event is.
type kind uint8

const (
	adopt kind = iota // a file that was there before
	mkdir
	create
	rename
	remove
	write
	truncate
	allocate
	punch
	syncBegin
	synced
	dirSyncBegin
	dirSynced
)

var kindNames = [...]string{"found", "mkdir", "create", "rename", "remove", "write", "truncate",
	"allocate", "punch", "sync begins", "sync ends", "directory sync begins", "directory sync ends"}

func (k kind) String() string { return kindNames[k] }

// ofName reports whether an event changes a directory, ofBytes a file.
func (k kind) ofName() bool  { return k == create || k == rename || k == remove || k == mkdir }
func (k kind) ofBytes() bool { return k == write || k == truncate || k == allocate || k == punch }

// event is one line of the record. The doubt of a change says that it returned
// an error; that of a sync's end, that the sync failed.
type event struct {
	kind         kind
	node         int
	path, to     string
	offset, size int64
	data         []byte
	blob         *memfs.Blob
	began        int // of a sync's end: the position of its beginning
	doubt        bool
}

func (e *event) String() string {
	s := e.kind.String()
	switch {
	case e.kind == rename:
		s += fmt.Sprintf(" file %d, %s to %s", e.node, e.path, e.to)
	case e.kind.ofName(), e.kind == adopt:
		s += fmt.Sprintf(" file %d, %s", e.node, e.path)
	case e.kind.ofBytes():
		s += fmt.Sprintf(" file %d, %d bytes at %d", e.node, e.size, e.offset)
	case e.kind == syncBegin, e.kind == synced:
		s += fmt.Sprintf(" file %d", e.node)
	default:
		s += " " + e.path
	}
	if e.doubt {
		s += " (failed)"
	}
	return s
}

// disk follows a record: what is durable at a position, and what is pending.
type disk struct {
	position int
	files    map[int]*memfs.Blob
	names    map[string]int
	dirs     map[string]bool // those that were made, and whether their names are durable
	pending  []change        // in the order of the record
	epoch    int             // grows whenever something becomes durable
}

// change is one that may be lost.
type change struct {
	at int // its position
	*event
	doubt   bool   // no sync will cover its bytes
	settled []bool // sectors that a later sync covered through a newer write
}

func newDisk() *disk {
	return &disk{files: map[int]*memfs.Blob{}, names: map[string]int{}, dirs: map[string]bool{}}
}

// step takes the next event in.
func (d *disk) step(e *event) {
	at := d.position
	d.position++
	switch {
	case e.kind == adopt:
		d.files[e.node], d.names[e.path] = e.blob.Clone(), e.node
		d.epoch++
	case e.kind.ofName() || e.kind.ofBytes():
		switch e.kind {
		case create:
			d.files[e.node] = &memfs.Blob{}
		case mkdir:
			d.dirs[e.path] = false
		}
		d.pending = append(d.pending, change{at: at, event: e, doubt: e.doubt})
	case e.kind == synced && e.doubt:
		d.distrust(e)
	case e.kind == synced:
		d.settle(func(c *change) bool { return c.kind.ofBytes() && c.node == e.node && c.at < e.began })
	case e.kind == dirSynced && !e.doubt:
		d.settle(func(c *change) bool { return c.kind.ofName() && c.at < e.began && c.in(e.path) })
	}
}

// in reports whether a change of names is one of dir's.
func (c *change) in(dir string) bool {
	return filepath.Dir(c.path) == dir || c.kind == rename && filepath.Dir(c.to) == dir
}

// distrust marks what a failed sync should have covered.
func (d *disk) distrust(e *event) {
	for i := range d.pending {
		c := &d.pending[i]
		if c.kind == write && c.node == e.node && c.at < e.began {
			c.doubt = true
		}
	}
}

// settle makes the covered changes durable, but for bytes in doubt: of those only
// the sectors that a newer write brought to the disk with it.
func (d *disk) settle(covered func(*change) bool) {
	d.epoch++
	left := make([]change, 0, len(d.pending))
	for _, c := range d.pending {
		if !covered(&c) {
			left = append(left, c)
			continue
		}
		if c.doubt && c.kind == write {
			if grown := c.offset + c.size; d.files[c.node].Size() < grown {
				d.files[c.node].Truncate(grown)
			}
			left = append(left, c)
			continue
		}
		if c.kind.ofName() {
			link(d.names, d.dirs, &c)
			continue
		}
		if c.doubt {
			continue // a failed change of size or hole: it did not happen
		}
		d.overtake(left, &c)
		survives := fate{all: true}
		survives.apply(d.files[c.node], &c)
	}
	d.pending = slices.DeleteFunc(left, func(c change) bool {
		return c.settled != nil && !slices.Contains(c.settled, false)
	})
}

// overtake settles the sectors in doubt that a newer, durable change touches:
// they reached the disk with it.
func (d *disk) overtake(older []change, newer *change) {
	for i := range older {
		c := &older[i]
		if !c.doubt || c.kind != write || c.node != newer.node {
			continue
		}
		for s := range c.sectors() {
			from, to := c.sector(s)
			if !newer.touches(from, to) {
				continue
			}
			if c.settled == nil {
				c.settled = make([]bool, c.sectors())
			}
			if !c.settled[s] {
				c.settled[s] = true
				d.files[c.node].WriteAt(c.data[from-c.offset:to-c.offset], from) //nolint:errcheck // in memory
			}
		}
	}
}

// touches reports whether a change rewrites or removes bytes of a range.
func (c *change) touches(from, to int64) bool {
	switch c.kind {
	case truncate:
		return to > c.size
	case write, punch:
		return from < c.offset+c.size && to > c.offset
	}
	return false
}

// link does a change of names to the maps of them.
func link(names map[string]int, dirs map[string]bool, c *change) {
	switch c.kind {
	case mkdir:
		dirs[c.path] = true
	case create:
		names[c.path] = c.node
	case rename:
		if names[c.path] == c.node {
			delete(names, c.path)
		}
		names[c.to] = c.node
	case remove:
		if names[c.path] == c.node {
			delete(names, c.path)
		}
	}
}

// build makes the file system in which the i-th pending change has the i-th
// fate. The changes of files are done in the given order, those of names in the
// order of the record.
func (d *disk) build(fates []fate, order []int) *memfs.FS {
	files := make(map[int]*memfs.Blob, len(d.files))
	names, dirs := maps.Clone(d.names), maps.Clone(d.dirs)
	for i := range d.pending {
		if c := &d.pending[i]; c.kind.ofName() && fates[i].all {
			link(names, dirs, c)
		}
	}
	for _, i := range order {
		c := &d.pending[i]
		if c.kind.ofName() {
			continue
		}
		if files[c.node] == nil {
			files[c.node] = d.files[c.node].Clone()
		}
		fates[i].apply(files[c.node], c)
	}
	fs := memfs.New()
	for dir := range dirs {
		if isReached(dirs, dir) {
			vfs.MkdirAll(fs, dir) //nolint:errcheck // in memory
		}
	}
	for path, n := range names {
		if !isReached(dirs, filepath.Dir(path)) {
			continue
		}
		b := files[n]
		if b == nil {
			b = d.files[n].Clone()
		}
		fs.Put(path, b)
	}
	return fs
}

// isReached reports whether a directory and all above it have their names.
func isReached(dirs map[string]bool, dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if there, made := dirs[dir]; made && !there {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
