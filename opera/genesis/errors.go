package genesis

import (
	"errors"
	"fmt"
)

// What can be wrong with a file. [Error] says where.
var (
	ErrNotGenesis  = errors.New("not a genesis file")
	ErrVersion     = errors.New("a genesis file of another version")
	ErrHeader      = errors.New("its header is not that of the first unit")
	ErrDuplicate   = errors.New("a unit of that name came before")
	ErrTruncated   = errors.New("it ends too early")
	ErrRoot        = errors.New("the hashes of its pieces are not those that its header promises")
	ErrPiece       = errors.New("a piece has another hash than promised")
	ErrTooLarge    = errors.New("more than may be held in memory")
	ErrMalformed   = errors.New("malformed")
	ErrNoEpochs    = errors.New("no records of epochs in the genesis")
	ErrOtherRecord = errors.New("network ID/name mismatch")
)

// Error is what is wrong with a genesis file, and where.
type Error struct {
	File string // path or name
	Unit string // name, empty before it is known
	// Offset is in the file, or with Content set in the unit's content.
	Offset  int64
	Content bool
	Err     error
}

func (e *Error) Error() string {
	where := fmt.Sprintf("at byte %d", e.Offset)
	if e.Content {
		where += " of its content"
	}
	if e.Unit != "" {
		return fmt.Sprintf("genesis file %s: unit %q, %s: %v", e.File, e.Unit, where, e.Err)
	}
	return fmt.Sprintf("genesis file %s: %s: %v", e.File, where, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
