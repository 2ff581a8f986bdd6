// Package logfinding is what is found when the files of a history are read from end to end:
// where they are not what they should be, and what mends that. It owns the form of a
// finding. It reads and writes no files itself.
package logfinding

import "fmt"

// Finding is a place that is not what it should be.
type Finding struct {
	Path   string
	Offset int64  // in the file; -1 for the file as a whole
	Block  uint32 // 0 if no block is named
	Detail string
	// Start says that the next start of a node mends it, as after any crash: no damage.
	Start bool
	// Mend is what mends it; nil if nothing does but recording the history again.
	Mend *Mend
}

// String names file, offset and block.
func (f Finding) String() string {
	s := f.Path + ": "
	if f.Offset >= 0 {
		s += fmt.Sprintf("offset %d: ", f.Offset)
	}
	if f.Block > 0 {
		s += fmt.Sprintf("block %d: ", f.Block)
	}
	return s + f.Detail
}

// Mend is a change of files that mends a finding. It is made after all files are read, in
// the order in which the findings came.
type Mend struct {
	What string // is done, and to which file
	Do   func() error
}

// Reporter takes what is found, and how far the reading is.
type Reporter struct {
	Found func(Finding)
	// Read is told how many bytes were read more; its error ends the reading.
	Read func(bytes int64) error
}

// Counts are what was read.
type Counts struct {
	Files   int
	Entries int64
	Bytes   int64
}

// Add adds another's.
func (c *Counts) Add(o Counts) {
	c.Files, c.Entries, c.Bytes = c.Files+o.Files, c.Entries+o.Entries, c.Bytes+o.Bytes
}
