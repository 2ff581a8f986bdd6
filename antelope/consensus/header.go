// Package consensus is the rules by which headers follow each other and branches
// compete: merkle trees, who may produce which block, what becomes irreversible,
// how schedules change ([HeaderState]), and the tree of blocks above the last
// irreversible one ([ForkDatabase]).
//
// Rules by which producers confirm blocks are here. Those of Savanna, by which finalizers
// vote, are package finality's: here is how a chain goes over from the first to the second.
//
// It sees headers, never what blocks do to the state. It reads no clock and starts
// no goroutine; only [ForkDatabase.Load] and [ForkDatabase.Save] touch a file.
package consensus

import (
	"cmp"
	"slices"

	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Constants of the protocol (Leap: config.hpp).
const (
	ProducerRepetitions = types.ProducerRepetitions
	MaxProducers        = 125  // in a schedule
	maxConfirmations    = 1024 // blocks whose confirmations are counted
)

// ProducerBlock is a number of a block for a producer.
type ProducerBlock struct {
	Producer types.Name
	Block    uint32
}

// ProducerBlocks is a map, ascending by producer. It is shared between header
// states: with leaves it as it is.
type ProducerBlocks []ProducerBlock

func (m ProducerBlocks) search(p types.Name) (int, bool) {
	return slices.BinarySearchFunc(m, p, func(b ProducerBlock, p types.Name) int { return cmp.Compare(b.Producer, p) })
}

// Get returns the block of a producer.
func (m ProducerBlocks) Get(p types.Name) (block uint32, ok bool) {
	i, ok := m.search(p)
	if !ok {
		return 0, false
	}
	return m[i].Block, true
}

// with returns m with a producer's block set.
func (m ProducerBlocks) with(p types.Name, block uint32) ProducerBlocks {
	i, found := m.search(p)
	next := make(ProducerBlocks, 0, len(m)+1)
	next = append(append(next, m[:i]...), ProducerBlock{p, block})
	if found {
		i++
	}
	return append(next, m[i:]...)
}

func (m ProducerBlocks) append(b []byte) []byte {
	b = serial.AppendCount(b, len(m))
	for _, e := range m {
		b = serial.AppendUint32(e.Producer.Append(b), e.Block)
	}
	return b
}

func readProducerBlocks(r *serial.Reader) ProducerBlocks {
	m := make(ProducerBlocks, r.Count(12))
	for i := range m {
		m[i].Producer.Read(r)
		m[i].Block = r.Uint32()
	}
	slices.SortStableFunc(m, func(a, b ProducerBlock) int { return cmp.Compare(a.Producer, b.Producer) })
	return slices.CompactFunc(m, func(a, b ProducerBlock) bool { return a.Producer == b.Producer })
}

// ScheduleInfo is a schedule that waits for its proposal to become irreversible.
type ScheduleInfo struct {
	LIBNum   uint32 // the block that has to be irreversible
	Hash     types.Checksum256
	Schedule *types.ProducerSchedule // shared, never changed; without producers if none waits
}

// Progress is what the state after a block and the state that its header is made
// from have in common (Leap: block_header_state_common). Slices and pointers in it
// are shared with other header states and never changed.
type Progress struct {
	BlockNum             uint32
	ProposedIrreversible uint32 // DPOS: confirmed by two thirds of the producers
	Irreversible         uint32 // DPOS: two thirds of the producers have seen that
	ActiveSchedule       *types.ProducerSchedule
	BlockrootMerkle      IncrementalMerkle // of the ids of all blocks before this one
	LastProduced         ProducerBlocks
	LastImpliedIRB       ProducerBlocks
	Authority            *types.BlockSigningAuthority // what this block has to be signed with
	ConfirmCount         []uint8                      // confirmations that the latest blocks still need
}

// HeaderState is what it takes to validate the headers that follow a block (Leap:
// block_header_state). It is immutable, and may be read by all goroutines.
type HeaderState struct {
	Progress
	ID                   types.Checksum256
	Header               types.SignedBlockHeader
	Pending              ScheduleInfo
	Activated            *feature.Active
	AdditionalSignatures []types.Signature

	// Finality is the block by the rules of Savanna; nil for blocks before the first one with a
	// finality extension. A block whose header has a schedule version other than
	// [types.ProperSchedule] follows the older rules too, and Progress is by these. Of a proper
	// block's Progress only BlockNum, ActiveSchedule and Authority are used.
	Finality *finality.State

	activations []types.Checksum256 // what the header's extension says
}

// Activations returns the protocol features that the block activates, in their
// order. The slice must not be changed.
func (s *HeaderState) Activations() []types.Checksum256 { return s.activations }

// HasPendingProducers tells whether a schedule waits to become active.
func (s *HeaderState) HasPendingProducers() bool { return len(s.Pending.Schedule.Producers) > 0 }

// IsActive tells whether a builtin feature is active for the blocks after this one.
func (s *HeaderState) IsActive(set *feature.Set, c feature.Codename) bool {
	return s.Activated.HasBuiltin(set, c)
}

// system is the account that produces the first blocks.
const system = types.Name(0x5530ea0000000000) // eosio

// Genesis returns the header state of a chain's first block (Leap:
// controller.cpp initialize_blockchain_state).
func Genesis(g *types.Genesis) *HeaderState {
	legacy := types.LegacySchedule{Producers: []types.LegacyProducerKey{{Producer: system, Key: g.InitialKey}}}
	schedule := legacy.Upgrade()
	s := &HeaderState{
		Progress:  Progress{BlockNum: 1, ActiveSchedule: &schedule, Authority: &types.BlockSigningAuthority{}},
		Pending:   ScheduleInfo{Hash: legacy.Hash(), Schedule: &schedule},
		Activated: feature.NewActive(),
	}
	s.Header.Timestamp = types.NewBlockTimestamp(g.InitialTimestamp)
	s.Header.Confirmed = 1
	s.Header.ActionMRoot = g.ChainID()
	s.ID = s.Header.ID()
	return s
}

// Append appends the encoding of snapshots from version 3 on, and of the fork
// database's file.
func (s *HeaderState) Append(b []byte) []byte {
	b = serial.AppendUint32(b, s.BlockNum)
	b = serial.AppendUint32(b, s.ProposedIrreversible)
	b = serial.AppendUint32(b, s.Irreversible)
	b = s.ActiveSchedule.Append(b)
	b = s.BlockrootMerkle.Append(b)
	b = s.LastProduced.append(b)
	b = s.LastImpliedIRB.append(b)
	b = s.Authority.Append(b)
	b = serial.AppendBytes(b, s.ConfirmCount)
	b = append(b, s.ID[:]...)
	b = s.Header.Append(b)
	b = serial.AppendUint32(b, s.Pending.LIBNum)
	b = append(b, s.Pending.Hash[:]...)
	b = s.Pending.Schedule.Append(b)
	if b = serial.AppendBool(b, s.Activated != nil); s.Activated != nil {
		b = s.Activated.Append(b)
	}
	return types.AppendSignatures(b, s.AdditionalSignatures)
}

// Read decodes what Append encodes.
func (s *HeaderState) Read(r *serial.Reader) {
	*s = HeaderState{}
	s.readNumbers(r)
	s.ActiveSchedule = new(types.ProducerSchedule)
	s.ActiveSchedule.Read(r)
	s.readMaps(r)
	s.Authority = new(types.BlockSigningAuthority)
	s.Authority.Read(r)
	s.readHeader(r)
	s.Pending.Schedule = new(types.ProducerSchedule)
	s.Pending.Schedule.Read(r)
	s.readActivated(r)
	s.AdditionalSignatures = types.ReadSignatures(r)
}

// ReadV2 decodes a header state of a snapshot of version 2, whose producers have
// one key each (Leap: snapshot_block_header_state_v2).
func (s *HeaderState) ReadV2(r *serial.Reader) {
	*s = HeaderState{}
	s.readNumbers(r)
	s.ActiveSchedule = readLegacySchedule(r)
	s.readMaps(r)
	var key types.PublicKey
	key.Read(r)
	s.Authority = &types.BlockSigningAuthority{Threshold: 1, Keys: []types.KeyWeight{{Key: key, Weight: 1}}}
	s.readHeader(r)
	s.Pending.Schedule = readLegacySchedule(r)
	s.readActivated(r)
}

func readLegacySchedule(r *serial.Reader) *types.ProducerSchedule {
	var legacy types.LegacySchedule
	legacy.Read(r)
	s := legacy.Upgrade()
	return &s
}

func (s *HeaderState) readNumbers(r *serial.Reader) {
	s.BlockNum = r.Uint32()
	s.ProposedIrreversible = r.Uint32()
	s.Irreversible = r.Uint32()
}

func (s *HeaderState) readMaps(r *serial.Reader) {
	s.BlockrootMerkle.Read(r)
	s.LastProduced = readProducerBlocks(r)
	s.LastImpliedIRB = readProducerBlocks(r)
}

func (s *HeaderState) readHeader(r *serial.Reader) {
	s.ConfirmCount = slices.Clone(r.Bytes())
	s.ID.Read(r)
	s.Header.Read(r)
	s.Pending.LIBNum = r.Uint32()
	s.Pending.Hash.Read(r)
}

func (s *HeaderState) readActivated(r *serial.Reader) {
	if r.Bool() {
		s.Activated = feature.ReadActive(r)
	}
	if r.Err() == nil {
		extensions, err := s.Header.ExtractExtensions()
		if err != nil {
			r.Fail(err)
		}
		s.activations = extensions.ProtocolFeatures
	}
}
