package node

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/types"
	"tarn/store/engine"
)

// ownChain is a chain that a node makes by itself, with keys of chaintest, and beside it
// one that gets its blocks and that nothing disturbs.
type ownChain struct {
	maker  *chaintest.Maker
	hashes map[types.Checksum256]types.Checksum256
	doubt  map[types.Checksum256]*types.SignedBlock // made as the power went: there or not
}

func newOwnChain(t *testing.T) *ownChain {
	t.Helper()
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page})
	if err != nil {
		t.Fatal(err)
	}
	m, err := chaintest.New(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close(); st.Close() })
	o := &ownChain{maker: m, hashes: map[types.Checksum256]types.Checksum256{},
		doubt: map[types.Checksum256]*types.SignedBlock{}}
	o.note(t)
	return o
}

func (o *ownChain) note(t *testing.T) {
	t.Helper()
	c := o.maker.Chain
	if err := c.Publish(); err != nil {
		t.Fatal(err)
	}
	h, err := chaintest.Hash(c)
	if err != nil {
		t.Fatal(err)
	}
	o.hashes[c.Head().ID] = h
}

// parse reads a block in hexadecimal digits.
func parse(text string) (*types.SignedBlock, error) {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return nil, err
	}
	b := new(types.SignedBlock)
	return b, types.Decode(raw, b)
}

// suspect takes a block that the node reported when the power was going.
func (o *ownChain) suspect(text string) error {
	b, err := parse(text)
	if err == nil {
		o.doubt[b.ID()] = b
	}
	return err
}

// learn takes a block that the node has made, and returns its number.
func (o *ownChain) learn(t *testing.T, id types.Checksum256, text string) (int, error) {
	t.Helper()
	b := o.doubt[id]
	if text != "unknown" {
		var err error
		if b, err = parse(text); err != nil {
			return 0, err
		}
	}
	var list []*types.SignedBlock
	for x := b; x != nil && o.hashes[x.ID()] == (types.Checksum256{}); x = o.doubt[x.Previous] {
		list = append(list, x)
	}
	for _, x := range slices.Backward(list) {
		if head := o.maker.Chain.Head(); x.Previous != head.ID {
			return 0, fmt.Errorf("block %d is made again: the one that was reported is lost", x.BlockNum())
		}
		if err := give(o.maker.Chain, x); err != nil {
			return 0, fmt.Errorf("block %d: %w", x.BlockNum(), err)
		}
		o.note(t)
	}
	return int(types.BlockNum(id)), nil
}

func (o *ownChain) hashAt(t *testing.T, id types.Checksum256) types.Checksum256 {
	t.Helper()
	h, ok := o.hashes[id]
	if !ok {
		t.Fatalf("%s is no block that the node has made", id)
	}
	return h
}

// produce makes blocks on the node's head, one with an account each, and reports them.
func (j *job) produce(n *Node) error {
	key, err := chaintest.Key()
	if err != nil {
		return err
	}
	m := &chaintest.Maker{Chain: n.Chain(), Key: key}
	if m.Genesis, err = types.ParseGenesis(j.Genesis); err != nil {
		return err
	}
	if err := j.sayBlock("started", n, true); err != nil {
		return err
	}
	for range j.Make {
		name := types.N(fmt.Sprintf("a%s", letters(n.Chain().Head().BlockNum)))
		if _, err := m.Block(m.CreateAccount(name)); err != nil {
			return err
		}
		if err := j.sayBlock("made", n, false); err != nil {
			return err
		}
	}
	return j.sayBlock("done", n, true)
}

// sayBlock is say, with the head's block.
func (j *job) sayBlock(what string, n *Node, hash bool) error {
	block := "unknown" // as after a snapshot: nothing but the state is of it
	if b := n.Chain().Head().Block; b != nil {
		block = hex.EncodeToString(b.Append(nil))
	}
	return j.say(what, n, hash, block)
}

// letters writes a number in letters that names have.
func letters(n uint32) string {
	var b []byte
	for ; n > 0; n /= 26 {
		b = append(b, 'a'+byte(n%26))
	}
	return string(b)
}
