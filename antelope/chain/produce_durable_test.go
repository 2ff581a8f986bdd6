package chain_test

import (
	"errors"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
)

// countedReversible notes what was appended and what is durable.
type countedReversible struct {
	appended, durable int
	failing           error
}

func (r *countedReversible) Append([]byte) error { r.appended++; return nil }

func (r *countedReversible) Obsolete(uint32) error { return nil }

func (r *countedReversible) AppendDurably([]byte) error {
	r.appended++
	if r.failing == nil {
		r.durable = r.appended
	}
	return r.failing
}

// A node that lost a block of its own that others have would sign another of its number.
func TestAnOwnBlockIsDurableBeforeAnybodyHearsOfIt(t *testing.T) {
	r := &countedReversible{}
	m, err := chaintest.New(newStore(t), chain.Options{Reversible: r})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Chain.Close()
	heard := 0
	listen := func(*consensus.BlockState) {
		heard++
		if r.durable != r.appended || r.durable == 0 {
			t.Errorf("of %d blocks %d are durable when the last one is told of", r.appended, r.durable)
		}
	}
	m.Chain.Subscribe(chain.Hooks{AcceptedHeader: listen, AcceptedBlock: listen})
	for range 3 {
		if _, err := m.Block(); err != nil {
			t.Fatal(err)
		}
	}
	if r.appended != 3 || heard != 6 {
		t.Errorf("%d blocks were kept, and were told of %d times", r.appended, heard)
	}
	r.failing = errors.New("the disk is gone")
	if _, err := m.Block(); !errors.Is(err, r.failing) || heard != 6 {
		t.Errorf("after a sync that failed: %v, told of %d times", err, heard)
	}
}
