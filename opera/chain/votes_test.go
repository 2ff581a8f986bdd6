package chain

import (
	"strings"
	"testing"

	"tarn/opera/inter"
	"tarn/opera/llr"
	"tarn/store/engine"
)

// What validators decide about blocks and epochs is compared with the chain's own records:
// right votes say nothing, wrong ones say that the node differs.
func TestDecidedRecordsAreComparedWithOurOwn(t *testing.T) {
	r := record(t)
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	var warned []string
	c.options.Warn = func(err error) { warned = append(warned, err.Error()) }
	feed(t, c, r.events)
	if block, _ := c.votes.Undecided(); block <= c.First() {
		t.Errorf("block %d is not decided: there is nothing to compare", block)
	}
	if len(warned) != 0 || len(c.decisions) > 2 {
		t.Errorf("of a chain whose blocks are those of its validators it is said: %q; %d decisions wait",
			warned, len(c.decisions))
	}
	c.decisions = nil
	number := c.counted.Roots - 1
	record, err := c.BlockRecord(number)
	if err != nil {
		t.Fatal(err)
	}
	began, err := c.EpochRecord(c.epoch.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	vote := func(blocks [][32]byte, epoch [32]byte) {
		t.Helper()
		by := c.epoch.Validators.At(0).ID
		e := &llr.Event{ID: inter.EventID{1}, Locator: inter.EventID{2}, Creator: by}
		block, _ := c.votes.Undecided()
		if err := c.votes.AddBlocks(e,
			&inter.BlockVotes{Start: max(block, number), Epoch: c.epoch.Epoch, Votes: blocks},
			c.epoch.Validators); err != nil {
			t.Fatal(err)
		}
		if err := c.votes.AddEpoch(e, &inter.EpochVote{Epoch: c.epoch.Epoch + 5, Vote: epoch},
			c.epoch.Validators); err != nil {
			t.Fatal(err)
		}
		c.note()
	}
	vote([][32]byte{record.Block.Hash()}, [32]byte{1})
	if len(c.decisions) != 2 {
		t.Fatalf("%d decisions wait, of a block and an epoch", len(c.decisions))
	}
	for i, d := range c.decisions {
		if d.Epoch == 0 {
			c.decisions[i].Block = number // the undecided one may have no root yet
		}
	}
	if err := c.compare(); err != nil || len(warned) != 0 || len(c.decisions) != 1 {
		t.Fatalf("a right vote: %q, %v; %d decisions wait, of an epoch to come", warned, err, len(c.decisions))
	}
	c.decisions[0].Epoch, c.decisions[0].Hash = c.epoch.Epoch, began.State.Hash()
	if err := c.compare(); err != nil || len(warned) != 0 || len(c.decisions) != 0 {
		t.Fatalf("a right vote for an epoch: %q, %v", warned, err)
	}
	for _, d := range []llr.Decision{{Block: number, Hash: [32]byte{7}}, {Epoch: c.epoch.Epoch, Hash: [32]byte{7}}} {
		warned, c.decisions = nil, []llr.Decision{d}
		if err := c.compare(); err != nil || len(warned) != 1 || !strings.Contains(warned[0], "DIFFERS") ||
			!strings.Contains(warned[0], describeDecision(d)) {
			t.Errorf("a wrong vote for %s: %q, %v", describeDecision(d), warned, err)
		}
	}
	vote(nil, [32]byte{2})
	if last := warned[len(warned)-1]; !strings.Contains(last, "two records of epoch") {
		t.Errorf("another record of an epoch that is decided: %q", last)
	}
}
