package chain_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// springTree makes a tree of proper blocks as Spring's fork database has it in its file.
func springTree(f *consensus.ForkDatabase, root *consensus.HeaderState, blocks []*consensus.BlockState) []byte {
	b := serial.AppendUint32(nil, 0x30510FDB)
	b = serial.AppendUint32(serial.AppendUint32(b, 3), 1)
	b = append(serial.AppendBool(serial.AppendBool(b, false), true), make([]byte, 32)...)
	b = springState(b, &consensus.BlockState{HeaderState: root}, f.Validation(root.ID))
	b = serial.AppendCount(b, len(blocks))
	for _, s := range blocks {
		b = springState(b, s, f.Validation(s.ID))
	}
	return b
}

// springState appends a block with its votes (Spring: FC_REFLECT of block_state, aggregating_qc_t,
// aggregating_qc_sig_t).
func springState(b []byte, s *consensus.BlockState, v *finality.Validation) []byte {
	b = s.Finality.Append(b)
	if b = serial.AppendBool(b, s.Block != nil); s.Block != nil {
		b = s.Block.Append(b)
	}
	digest := s.Finality.Digest()
	b = append(append(append(b, digest[:]...), digest[:]...), "WEAK"...)
	b = s.Finality.Finalizers.Append(serial.AppendBool(b, true))
	b = serial.AppendBool(b, false)
	votes := func(certificate bool) {
		if b = serial.AppendBool(b, certificate); certificate {
			q := types.QCSignature{Strong: types.NewBitset(4, 0, 2, 3)}
			b = q.Append(b)
		}
		b = append(b, make([]byte, 5*8)...)
		var none types.BLSSignature
		b = none.Append(types.NewBitset(4).Append(b))
		b = none.Append(types.NewBitset(4, 1).Append(b))
	}
	votes(s.BlockNum%2 == 0)
	pending := s.BlockNum%3 == 0
	if b = serial.AppendBool(b, pending); pending {
		votes(true)
	}
	if b = serial.AppendBool(b, v != nil); v != nil {
		b = v.Append(b)
	}
	return serial.AppendBool(b, true)
}

// reversible are the blocks above the last irreversible one of a chain that Spring made.
func reversible(t *testing.T) (*chain.Chain, []*consensus.BlockState) {
	t.Helper()
	c, err := loadInto(t, everyEngine()[0], refdata.Read(t, "savanna/consensus_blockchain/snapshot.gz"),
		chain.Options{Options: execute.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocksOf(t, refdata.Path(t, "savanna/consensus_blockchain"), 11) {
		p, err := c.Prepare(b, b.ID())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.PushBlock(p); err != nil {
			t.Fatal(err)
		}
	}
	list := c.Fork().Blocks()
	if len(list) < 2 {
		t.Fatalf("only %d reversible blocks", len(list))
	}
	return c, list
}

// The blocks of Spring's file are found among what is counted of their votes, and damage is named.
func TestBlocksOfSpringsForkDatabaseAreRead(t *testing.T) {
	c, list := reversible(t)
	whole := springTree(c.Fork(), c.Fork().Root().HeaderState, list)
	blocks, err := consensus.DecodeSpring(whole, "there")
	if err != nil || len(blocks) != len(list) {
		t.Fatalf("%d blocks of %d, %v", len(blocks), len(list), err)
	}
	for i, b := range blocks {
		if b.ID() != list[i].ID {
			t.Errorf("block %d is %s, want %s", i, b.ID(), list[i].ID)
		}
	}
	if _, err := c.Fork().Load("nowhere"); err != nil {
		t.Error(err)
	}
	if err := c.Fork().Decode(whole, "there"); err == nil ||
		!strings.Contains(err.Error(), consensus.ErrSpring.Error()) {
		t.Errorf("as a file of Leap: %v", err)
	}
	for name, b := range map[string][]byte{
		"cut": whole[:len(whole)-1], "longer": append(slices.Clone(whole), 0),
		"use":      slices.Concat(whole[:8], []byte{3, 0, 0, 0}, whole[12:]),
		"version":  slices.Concat(whole[:4], []byte{2, 0, 0, 0}, whole[8:]),
		"unlinked": springTree(c.Fork(), list[1].HeaderState, list[:1]),
	} {
		if _, err := consensus.DecodeSpring(b, "there"); err == nil || !strings.Contains(err.Error(), "there") {
			t.Errorf("%s: %v", name, err)
		}
	}
	binary.LittleEndian.PutUint32(whole[4:], 1)
	if _, err := consensus.DecodeSpring(whole, "there"); err == nil {
		t.Error("a file of Leap is read as Spring's")
	}
}
