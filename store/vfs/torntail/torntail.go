// Package torntail says what of the end of an append-only file a crash may have torn, and what is
// damage. It owns that judgement ([End]), the search for whole records behind one that is not whole
// ([Records]), the small file in which a log notes how far it is durable ([Mark]), and how bytes
// are kept that a log gives up ([Cut], [SetAside]). It knows no format, and never decides what an
// owner needs.
//
// # The rule
//
// A record that is not whole is a torn tail, which a start may cut off, unless something tells that a
// crash cannot have left it so:
//
//  1. It lies where the log was durable already. A log that notes that ([Mark], or what a store
//     counts on) knows it for certain. Behind that a power cut may take any of what was
//     written, and leave a later record without an earlier one.
//  2. In a log that notes nothing a crash tears the last record only. If a whole one lies behind
//     it, it is damaged.
//
// What is damaged is an error with file, offset and remedy, and nothing is changed: a [Damage]. What is cut is
// kept beside the file, durably and before the cut, and whoever cuts says so in the log. A record
// that nobody needs is nobody's error: its owner skips it.
package torntail

import (
	"fmt"
	"math"
)

// Damage says that a log's file is not what was written, and that no crash has done that. Nothing
// was changed.
type Damage struct {
	Path   string
	Offset int64  // where the first record begins that is not whole
	Detail string // what is wrong there, and how that is known
	Remedy string // what an operator may do, without a full stop
}

func (d *Damage) Error() string {
	if d.Remedy == "" {
		return fmt.Sprintf("%s: offset %d: %s", d.Path, d.Offset, d.Detail)
	}
	return fmt.Sprintf("%s: offset %d: %s; %s", d.Path, d.Offset, d.Detail, d.Remedy)
}

// Unnoted is the place up to which a log is durable that notes no such place.
const Unnoted = math.MinInt64

// End is how a log's file ends.
type End struct {
	Path string
	// Whole is the offset up to which all records are whole.
	Whole int64
	// Size is how many bytes the file has.
	Size int64
	// Durable is the offset up to which the file is known to have been durable. It is 0 where a log
	// notes that and its note is lost, and [Unnoted] in a log that notes nothing.
	Durable int64
	// Behind finds a whole record that begins behind an offset. It is asked only where Durable is Unnoted.
	Behind func(offset int64) (at int64, found bool, err error)
	// Noted says, for the error, up to what the file was durable, where that is not an offset: "entries
	// up to 17 were durable". Durable is then any offset behind Whole.
	Noted string
	// Remedy is what an operator may do if this is damage.
	Remedy string
}

// Judge returns nil if what follows the whole records may be cut off: a crash may have left it,
// or there is nothing. It returns a [Damage] if no crash can have, and another error if the file cannot be read.
func (e *End) Judge() error {
	damage := &Damage{Path: e.Path, Offset: e.Whole, Remedy: e.Remedy}
	noted := e.Noted
	if noted == "" {
		noted = fmt.Sprintf("it was durable up to offset %d", e.Durable)
	}
	switch {
	case e.Whole >= e.Size && e.Whole >= e.Durable:
		return nil
	case e.Whole >= e.Size:
		damage.Detail = "the file ends here, and " + noted
		return damage
	case e.Whole < e.Durable:
		damage.Detail = "a record is damaged, and no crash has torn it: " + noted
		return damage
	case e.Durable != Unnoted:
		return nil
	}
	at, found, err := e.Behind(e.Whole)
	if err != nil || !found {
		return err
	}
	damage.Detail = fmt.Sprintf("a record is damaged, and no crash has torn it: a whole one follows at offset %d", at)
	return damage
}
