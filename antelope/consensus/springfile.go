package consensus

import (
	"errors"
	"fmt"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// springVersion is that of the file of Spring 1.0.1 and later. Version 2 is Spring 1.0.0's, which those
// refuse.
const springVersion = 3

// ErrSpring is why Load does not read a file: it is Spring's, which [SpringBlocks] reads.
var ErrSpring = errors.New("a fork database of Spring")

// SpringBlocks returns the blocks of Spring's file: those that lead to the best one first, and each after
// the one that it follows. The votes in the file are passed over; the blocks have certificates of their own
// (Spring: fork_database::open; block_state).
func SpringBlocks(path string) ([]*types.SignedBlock, error) {
	b, _, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return DecodeSpring(b, path)
}

// DecodeSpring is SpringBlocks of a file's content; path is for the messages.
func DecodeSpring(b []byte, path string) ([]*types.SignedBlock, error) {
	s := springFile{r: serial.NewReader(b), blocks: map[types.Checksum256]*types.SignedBlock{}}
	if magic, version := s.r.Uint32(), s.r.Uint32(); magic != fileMagic || version != springVersion {
		return nil, exception.New(exception.ForkDatabase, "Fork database file '${filename}' is none of Spring",
			"filename", path)
	}
	const both = 2 // rules of Leap, of Savanna, or both while the chain changes them
	if use := s.r.Uint32(); s.r.Err() == nil && use > both {
		s.r.Fail(serial.ErrValue)
	}
	for _, read := range []func() (types.Checksum256, *types.SignedBlock){s.legacy, s.proper} {
		if s.r.Err() != nil || !s.r.Bool() {
			continue
		}
		if err := s.tree(read); err != nil {
			return nil, fmt.Errorf("fork database file '%s': %w", path, err)
		}
	}
	if err := s.r.End(); err != nil {
		return nil, fmt.Errorf("fork database file '%s': %w", path, err)
	}
	return s.order(), nil
}

// springFile is what has been read of a file.
type springFile struct {
	r      *serial.Reader
	roots  []types.Checksum256
	list   []*types.SignedBlock // from the worst to the best
	ids    []types.Checksum256  // of list
	blocks map[types.Checksum256]*types.SignedBlock
}

// tree reads a tree of blocks, each of which read does. Those of the chain's change of rules may be in two
// trees.
func (s *springFile) tree(read func() (types.Checksum256, *types.SignedBlock)) error {
	var final types.Checksum256
	final.Read(s.r) // the last irreversible block to be, which the blocks' claims tell
	root, _ := read()
	s.roots = append(s.roots, root)
	for n := s.r.Varuint32(); n > 0 && s.r.Err() == nil; n-- {
		offset := s.r.Offset()
		id, b := read()
		switch {
		case s.r.Err() != nil:
		case b == nil:
			return fmt.Errorf("offset %d: %w", offset, exception.New(exception.ForkDatabase, "block missing"))
		case b.ID() != id:
			return fmt.Errorf("offset %d: %w", offset,
				exception.New(exception.ForkDatabase, "header state of another block"))
		case s.blocks[b.Previous] == nil && !slices.Contains(s.roots, b.Previous):
			return fmt.Errorf("offset %d: %w", offset, exception.New(exception.UnlinkableBlock, "unlinkable block",
				"id", id, "previous", b.Previous))
		case s.blocks[id] == nil:
			s.blocks[id] = b
			s.list, s.ids = append(s.list, b), append(s.ids, id)
		}
	}
	return nil
}

// order puts the branch of the best block first.
func (s *springFile) order() []*types.SignedBlock {
	if len(s.list) == 0 {
		return nil
	}
	best := map[types.Checksum256]bool{}
	for id := s.ids[len(s.ids)-1]; s.blocks[id] != nil; id = s.blocks[id].Previous {
		best[id] = true
	}
	out := make([]*types.SignedBlock, 0, len(s.list))
	for _, lead := range []bool{true, false} {
		for i, b := range s.list {
			if best[s.ids[i]] == lead {
				out = append(out, b)
			}
		}
	}
	return out
}

// legacy reads a block by the rules before Savanna (Spring: block_state_legacy).
func (s *springFile) legacy() (types.Checksum256, *types.SignedBlock) {
	var h HeaderState
	h.Read(s.r)
	b := s.block()
	s.r.Bool() // it was executed
	if s.r.Bool() {
		new(types.Checksum256).Read(s.r) // its actions as Savanna hashes them
	}
	return h.ID, b
}

// proper reads a block by Savanna's rules, and passes over what was counted of its votes (Spring:
// block_state, aggregating_qc_t).
func (s *springFile) proper() (types.Checksum256, *types.SignedBlock) {
	var f finality.State
	f.Read(s.r)
	b := s.block()
	s.r.Raw(32 + 36) // the digests that strong and weak votes sign
	for range 2 {    // the policies that vote
		if s.r.Bool() {
			new(types.FinalizerPolicy).Read(s.r)
		}
	}
	s.votes()
	if s.r.Bool() {
		s.votes()
	}
	if s.r.Bool() {
		new(finality.Validation).Read(s.r)
	}
	s.r.Bool() // it was executed
	return f.ID, b
}

// votes passes over those of one policy.
func (s *springFile) votes() {
	if s.r.Bool() {
		new(types.QCSignature).Read(s.r)
	}
	s.r.Raw(5 * 8) // quorum, what may be weak, the state, what is strong and what is weak
	for range 2 {
		new(types.Bitset).Read(s.r)
		new(types.BLSSignature).Read(s.r)
	}
}

// block reads a block that may be missing.
func (s *springFile) block() *types.SignedBlock {
	if !s.r.Bool() {
		return nil
	}
	b := new(types.SignedBlock)
	b.Read(s.r)
	return b
}
