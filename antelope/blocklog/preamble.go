package blocklog

import (
	"errors"
	"fmt"
	"io"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// Versions of the log's format.
const (
	minVersion = 1 // from genesis, without a separator
	anyFirst   = 2 // may begin anywhere, with the genesis state all the same
	maxVersion = 3 // has the chain's id instead unless it begins at block 1

	prunedFlag = 1 << 31
	// A preamble is never longer; a genesis state with a WebAuthn key may be long.
	maxPreambleBytes = 4096
)

// Preamble is how a log begins.
type Preamble struct {
	Version uint32 // 1 to 3, without the flag for pruned logs
	Pruned  bool
	First   uint32         // number of the first block that the index counts from
	Genesis *types.Genesis // nil if the log has only the chain's id
	ChainID types.Checksum256
}

// newPreamble is of the newest version: with the genesis state where the log
// begins at block 1.
func newPreamble(first uint32, genesis *types.Genesis, chainID types.Checksum256) Preamble {
	p := Preamble{Version: maxVersion, First: first, ChainID: chainID}
	if first == 1 {
		p.Genesis = genesis
	}
	return p
}

func (p *Preamble) hasGenesis() bool { return p.Version < maxVersion || p.First == 1 }

// Append appends the encoding.
func (p Preamble) Append(b []byte) []byte {
	version := p.Version
	if p.Pruned {
		version |= prunedFlag
	}
	b = serial.AppendUint32(b, version)
	if p.Version >= anyFirst {
		b = serial.AppendUint32(b, p.First)
	}
	if p.Genesis != nil {
		b = p.Genesis.Append(b)
	} else {
		b = append(b, p.ChainID[:]...)
	}
	if p.Version >= anyFirst {
		b = serial.AppendUint64(b, noPosition)
	}
	return b
}

// Read decodes it. Errors of content are of nodeos' kinds.
func (p *Preamble) Read(r *serial.Reader) {
	version := r.Uint32()
	*p = Preamble{Version: version &^ prunedFlag, Pruned: version&prunedFlag != 0, First: 1}
	switch {
	case r.Err() != nil:
		return
	case p.Version == 0:
		r.Fail(fault(Unsound, "Block log was not setup properly"))
		return
	case p.Version > maxVersion:
		r.Fail(fault(Unsupported,
			"Unsupported version of block log. Block log version is %d while code supports version(s) [%d,%d]",
			p.Version, minVersion, maxVersion))
		return
	}
	if p.Version >= anyFirst {
		p.First = r.Uint32()
	}
	if r.Err() == nil && p.First == 0 {
		r.Fail(fault(Unsound, "Block log is not supported. version: %d and first_block_num: 0 "+
			"does not contain a genesis_state nor a chain_id.", p.Version))
		return
	}
	if p.hasGenesis() {
		p.Genesis = new(types.Genesis)
		p.Genesis.Read(r)
		p.ChainID = p.Genesis.ChainID()
	} else {
		r.Copy(p.ChainID[:])
	}
	if p.Version >= anyFirst {
		if totem := r.Uint64(); r.Err() == nil && totem != noPosition {
			r.Fail(fault(Unsound,
				"Expected separator between block log header and blocks was not found( expected: %016x, actual: %016x )",
				uint64(noPosition), totem))
		}
	}
}

// readPreamble reads a log's beginning and tells where its blocks begin.
func readPreamble(f vfs.File, path string) (Preamble, int64, error) {
	b := make([]byte, maxPreambleBytes)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Preamble{}, 0, fmt.Errorf("read preamble of %s: %w", path, err)
	}
	var p Preamble
	r := serial.NewReader(b[:n])
	p.Read(r)
	if err := r.Err(); err != nil {
		return Preamble{}, 0, fmt.Errorf("preamble of %s: %w", path, err)
	}
	return p, int64(r.Offset()), nil
}
