package page

import (
	"errors"
	"fmt"
	"strings"

	"tarn/internal/hostlimits"
	"tarn/store"
	"tarn/store/vfs"
)

// Mode says what memory the pages live in. It can be chosen anew at every open.
type Mode uint8

const (
	// Mapped: the file in a shared mapping; the kernel writes changed pages back
	// when it likes.
	Mapped Mode = 1 + iota
	// MappedPrivate: the file in a private mapping; only checkpoints write.
	MappedPrivate
	// Heap: anonymous memory, filled from the file at open; only checkpoints write.
	Heap
	// Locked: Heap, locked into RAM.
	Locked
)

var modeNames = [...]string{Mapped: "mapped", MappedPrivate: "mapped_private", Heap: "heap", Locked: "locked"}

func (m Mode) String() string {
	if m < Mapped || m > Locked {
		return fmt.Sprintf("mode %d", uint8(m))
	}
	return modeNames[m]
}

// ParseMode is the inverse of String.
func ParseMode(s string) (Mode, error) {
	for m := Mapped; m <= Locked; m++ {
		if modeNames[m] == s {
			return m, nil
		}
	}
	return 0, fmt.Errorf("unknown map mode %q: %s or %s", s, strings.Join(modeNames[Mapped:Locked], ", "), Locked)
}

// Anonymous tells whether all of the store is kept in memory that is no file's.
func (m Mode) Anonymous() bool { return m == Heap || m == Locked }

// Options say how to open a store. The zero value of a size means its default.
type Options struct {
	Dir  string
	Mode Mode // default MappedPrivate, but Mapped on a file system in memory

	// LimitBytes is how large the file may become for rows; default 1 TiB. Parts of
	// images, a few hundredths of it, and what an undo brings back may lie above.
	LimitBytes int64
	// GuardBytes is what must be free for a new revision to begin; default 0.
	GuardBytes int64
	// PrivateBytes bounds the private memory of MappedPrivate: half of it asks
	// for a checkpoint at the next finished revision; at all of it changed
	// pages are written early. Default half of the memory that the machine or the
	// control group has, at least 64 MiB.
	PrivateBytes int64
	// GrowBytes is the step in which the file grows; a multiple of 2 MiB, the
	// default 64 MiB.
	GrowBytes int64

	ReadOnly bool
	FS       vfs.FS // default vfs.OS
	// BeforeCheckpoint is called, from a goroutine of its own, between the sync of an
	// image's pages and the writing of its meta page: the block log must be
	// durable up to revision when it returns nil.
	BeforeCheckpoint func(revision uint64) error
}

const (
	defaultLimit = 1 << 40
	defaultGrow  = 64 << 20
	maxLimit     = 7 << 40 // an undo needs as much again, which can still be numbered in pages
)

func (o *Options) setDefaults() {
	if o.Mode == 0 {
		o.Mode = MappedPrivate
	}
	if o.LimitBytes == 0 {
		o.LimitBytes = defaultLimit
	}
	if o.GrowBytes == 0 {
		o.GrowBytes = defaultGrow
	}
	if o.FS == nil {
		o.FS = vfs.OS
	}
}

// bound sets the default of PrivateBytes where it means something: what the machine has
// is asked of the kernel, which takes as long as opening a small store.
func (o *Options) bound() {
	if o.PrivateBytes == 0 && o.Mode == MappedPrivate {
		o.PrivateBytes = max(hostlimits.ReadMemory().Bytes/2, 64<<20)
	}
}

// Validate names everything that is wrong with o.
func (o Options) Validate() error {
	o.setDefaults()
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Dir == "", "no folder given")
	bad(o.Mode > Locked, "unknown map mode %d", o.Mode)
	bad(o.LimitBytes < 1<<20 || o.LimitBytes > maxLimit, "limit of %d bytes is not between 1 MiB and 7 TiB",
		o.LimitBytes)
	bad(o.LimitBytes%pageSize != 0, "limit of %d bytes is not a multiple of %d", o.LimitBytes, pageSize)
	bad(o.GuardBytes < 0 || o.GuardBytes >= o.LimitBytes, "guard of %d bytes is not below the limit of %d",
		o.GuardBytes, o.LimitBytes)
	bad(o.PrivateBytes != 0 && o.PrivateBytes < 1<<20, "bound of %d bytes for private memory is below 1 MiB",
		o.PrivateBytes)
	bad(o.GrowBytes < hugePage || o.GrowBytes%hugePage != 0, "growth step of %d bytes is not a multiple of 2 MiB",
		o.GrowBytes)
	if len(errs) > 0 {
		return fmt.Errorf("page store options: %w", errors.Join(errs...))
	}
	return nil
}

// errVolatile is the answer to a checkpoint of a store without a file.
var errVolatile = fmt.Errorf("a volatile store has no file: %w", store.ErrReadOnly)
