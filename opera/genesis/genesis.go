// Package genesis reads and writes genesis files of Opera (".g"): the records of
// epochs and blocks and the items of the state with which a chain begins.
//
// A file is a row of units, each with the same header, a name, the root of the
// hashes of its content, and the content compressed. docs/formats/opera-genesis.md
// has the bytes. Files have hundreds of gigabytes: both ways are streams, nothing is
// handed out whose hash was not compared, and a unit's memory is one piece.
//
// The package never writes a chain and knows no state: what the records mean is
// their reader's business.
package genesis

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"tarn/opera/inter"
)

// Header says of which network a genesis is. Equal headers mean the same chain, of
// which one file may hold more than another.
type Header struct {
	ID          [32]byte // hash of the record of the first epoch
	NetworkID   uint64
	NetworkName string
}

// String returns the header in go-opera's form.
func (h Header) String() string {
	return fmt.Sprintf("{%d, net:%s, id:0x%x}", h.NetworkID, h.NetworkName, h.ID)
}

// Hashes are the roots of a file's units by their names.
type Hashes map[string][32]byte

// String returns the roots in the order of the names, in go-opera's form.
func (h Hashes) String() string {
	list := make([]string, 0, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		list = append(list, fmt.Sprintf("%s: 0x%x", name, h[name]))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// Item is a key and a value of go-opera's table of the state: a trie's node by its
// hash, a contract's code by "c" and its hash, a hash's origin by "secure-key-" and
// the hash.
type Item struct {
	Key, Value []byte
}

// Source is a genesis: a [File], or one that was made. A loop over one of the three
// ends with the first error. Records and items come newest part first, and in a part
// in their written order, which is newest first for records. What a loop hands out is
// valid until its next turn unless it says otherwise.
type Source interface {
	// Header says of which network the genesis is. It reads nothing.
	Header() Header
	// Epochs yields the records of epochs. The first is the present state. The
	// records stay valid.
	Epochs() iter.Seq2[*inter.EpochRecord, error]
	// Blocks yields the records of blocks. They stay valid.
	Blocks() iter.Seq2[*inter.BlockRecord, error]
	// Items yields what the state is made of.
	Items() iter.Seq2[Item, error]
}

// Sections of a genesis. A file has each once or in several parts.
const (
	Epochs = "ers"
	Blocks = "brs"
	State  = "evm"
)

// lastPart is the greatest number of a part that is looked for (go-opera,
// opera/genesisstore).
const lastPart = 1000

// UnitName returns the name of a part of a section: parts are numbered from 0, later
// ones hold what is newer.
func UnitName(section string, part int) string {
	if part == 0 {
		return section
	}
	return fmt.Sprintf("%s-%d", section, part)
}
