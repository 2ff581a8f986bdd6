package evm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/state"
)

var (
	sceneSeed  = flag.Uint64("evm.seed", 1, "seed of the first scene that go-opera judges; 0 is of the clock")
	sceneCount = flag.Int("evm.scenes", 150, "how many scenes go-opera judges")
)

// go-opera's own processor makes the same of random blocks.
func TestBlocksAreGoOperas(t *testing.T) {
	j := startReferenceEVM(t)
	seed := *sceneSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("scenes from -evm.seed=%d on", seed)
	var reached reached
	for i := range *sceneCount {
		s := newScene(seed + uint64(i))
		theirs := j.ask(s.words(false))
		ours := s.state.copy()
		if err := s.compare(ours, theirs.Blocks, &reached); err != nil {
			dump := j.ask(s.words(true)).State
			t.Fatalf("seed %d: %v\n%s", seed+uint64(i), err, difference(ours.words(), dump))
		}
		if err := s.compareCalls(ours, theirs.Calls); err != nil {
			t.Fatalf("seed %d: %v", seed+uint64(i), err)
		}
	}
	t.Log(reached.String())
	if *sceneCount >= 150 {
		reached.check(t)
	}
}

// compare executes a scene's blocks on a state, and on opera/state's beside it, and
// compares both with the judge's.
func (s *scene) compare(m *memory, theirs []judgeOutcome, r *reached) error {
	analyses := NewAnalyses(1 << 20)
	for i := range s.blocks {
		before := m.hashKeys()
		m.begin()
		b, err := s.blocks[i].compare(m, analyses, &theirs[i], false, m.root)
		if err != nil {
			return fmt.Errorf("block %d of %d: %w", i, len(s.blocks), err)
		}
		r.count(b, m)
		above := state.NewBlock(before)
		if _, err = s.blocks[i].compare(above, analyses, &theirs[i], i%2 == 0, func() common.Hash {
			changes, err := above.Finish(uint64(b.header.Number))
			if err != nil {
				panic(err)
			}
			before.change(changes)
			return before.root()
		}); err != nil {
			return fmt.Errorf("block %d of %d, over opera/state: %w", i, len(s.blocks), err)
		}
	}
	return nil
}

// compareCalls executes a scene's calls on the state after its blocks, every other one with
// somebody who looks on.
func (s *scene) compareCalls(after *memory, theirs []judgeSaid) error {
	if len(theirs) != len(s.calls) {
		return fmt.Errorf("%d calls, the judge says %d", len(s.calls), len(theirs))
	}
	for i := range s.calls {
		on := after.copy()
		on.begin()
		b := NewBlock(s.blocks[len(s.blocks)-1].header, on, NewAnalyses(1<<20))
		if i%2 == 1 {
			b.Trace(new(tracing.Hooks))
		}
		ours, err := judgement(b.Call(&s.calls[i]))
		b.Close()
		if err != nil {
			return err
		}
		if ours.Refused == "" {
			ours.Root = on.root()
		} else {
			theirs[i].Root = common.Hash{} // go-opera's message has paid already
		}
		if a, b := fmt.Sprintf("%+v", *ours), fmt.Sprintf("%+v", theirs[i]); a != b {
			return fmt.Errorf("call %d, %+v, comes to\n%s, the judge says\n%s", i, s.calls[i], a, b)
		}
	}
	return nil
}

// judgement puts what became of a call into the judge's words.
func judgement(r Result, err error) (*judgeSaid, error) {
	s := &judgeSaid{Return: r.Return, GasUsed: r.GasUsed}
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		s.Refused = refusal.Error()
	case err != nil:
		return nil, err
	case r.Err != nil:
		s.Error = r.Err.Error()
	}
	return s, nil
}

// compare executes a block on a state, whose root is asked for after it, with somebody who looks
// on or without: the machine has a loop of its own for either.
func (s *sceneBlock) compare(
	on State, a *Analyses, theirs *judgeOutcome, traced bool, root func() common.Hash,
) (*Block, error) {
	b := NewBlock(s.header, on, a)
	defer b.Close()
	if traced {
		b.Trace(new(tracing.Hooks))
	}
	var heard []*types.Log
	for _, step := range s.steps {
		if _, err := b.Execute(step, func(l *types.Log) { heard = append(heard, l) }); err != nil {
			return nil, err
		}
	}
	if err := s.derive(b); err != nil {
		return nil, err
	}
	return b, compareBlock(b, heard, root(), theirs)
}

// derive compares a block's receipts with what is derived from how they are stored.
func (s *sceneBlock) derive(b *Block) error {
	senders := make(map[*types.Transaction]common.Address)
	for _, step := range s.steps {
		for _, tx := range step {
			senders[tx.Transaction] = tx.From
		}
	}
	var txs []Tx
	var derived types.Receipts
	for i, tx := range b.Txs() {
		txs = append(txs, Tx{Transaction: tx, From: senders[tx]})
		stored := new(types.ReceiptForStorage)
		if err := rlp.DecodeBytes(encode((*types.ReceiptForStorage)(b.Receipts()[i])), stored); err != nil {
			return err
		}
		derived = append(derived, (*types.Receipt)(stored))
	}
	if err := Derive(&s.header, txs, derived); err != nil {
		return err
	}
	for i, r := range b.Receipts() {
		Bloom(r)
		live, stored := *r, *derived[i]
		for k, l := range live.Logs {
			if a, b := fmt.Sprintf("%+v", *l), fmt.Sprintf("%+v", *stored.Logs[k]); a != b {
				return fmt.Errorf("log %d derived of receipt %d is %s, not %s", k, i, b, a)
			}
		}
		live.Logs, stored.Logs = nil, nil
		if a, b := fmt.Sprintf("%+v", live), fmt.Sprintf("%+v", stored); a != b {
			return fmt.Errorf("receipt %d derived is %s, not %s", i, b, a)
		}
	}
	return nil
}

func compareBlock(b *Block, heard []*types.Log, root common.Hash, theirs *judgeOutcome) error {
	if len(b.Receipts()) != len(theirs.Receipts) || len(b.Skipped()) != len(theirs.Skipped) {
		return fmt.Errorf("%d executed and %d left out, the judge says %d and %d",
			len(b.Receipts()), len(b.Skipped()), len(theirs.Receipts), len(theirs.Skipped))
	}
	for i, s := range b.Skipped() {
		if s.Index != theirs.Skipped[i] {
			return fmt.Errorf("transaction %d is left out, the judge says %d", s.Index, theirs.Skipped[i])
		}
	}
	for i, r := range b.Receipts() {
		Bloom(r)
		if err := compareReceipt(r, &theirs.Receipts[i]); err != nil {
			return fmt.Errorf("receipt %d, of %v: %w", i, r.TxHash, err)
		}
	}
	if err := compareLogs(heard, theirs.Heard); err != nil {
		return fmt.Errorf("what the listener heard: %w", err)
	}
	if b.GasUsed() != theirs.GasUsed {
		return fmt.Errorf("gas used %d, the judge says %d", b.GasUsed(), theirs.GasUsed)
	}
	if root != theirs.Root {
		return fmt.Errorf("root %v, the judge says %v", root, theirs.Root)
	}
	return nil
}

func compareReceipt(ours *types.Receipt, theirs *judgeReceipt) error {
	a := fmt.Sprint("type ", ours.Type, " status ", ours.Status, " gas ", ours.GasUsed, " so far ",
		ours.CumulativeGasUsed,
		" of ", ours.TxHash, " in ", ours.BlockNumber, " ", ours.BlockHash, " contract ", ours.ContractAddress)
	b := fmt.Sprint("type ", uint8(theirs.Type), " status ", uint64(theirs.Status), " gas ", uint64(theirs.GasUsed),
		" so far ", uint64(theirs.CumulativeGasUsed),
		" of ", theirs.TxHash, " in ", theirs.BlockNumber.ToInt(), " ", theirs.BlockHash,
		" contract ", theirs.ContractAddress)
	if a != b {
		return fmt.Errorf("%s, the judge says %s", a, b)
	}
	if ours.Bloom != theirs.Bloom {
		return fmt.Errorf("bloom %x, the judge says %x", ours.Bloom, theirs.Bloom)
	}
	return compareLogs(ours.Logs, theirs.Logs)
}

// compareLogs leaves out the place of the transaction, where go-opera counts those that
// it left out.
func compareLogs(ours, theirs []*types.Log) error {
	if len(ours) != len(theirs) {
		return fmt.Errorf("%d logs, the judge says %d", len(ours), len(theirs))
	}
	for i, a := range ours {
		b := theirs[i]
		same := a.Address == b.Address && bytes.Equal(a.Data, b.Data) && len(a.Topics) == len(b.Topics) &&
			a.TxHash == b.TxHash && a.Index == b.Index && a.BlockNumber == b.BlockNumber && a.BlockHash == b.BlockHash
		for k := range a.Topics {
			same = same && a.Topics[k] == b.Topics[k]
		}
		if !same {
			return fmt.Errorf("log %d is %+v, the judge says %+v", i, a, b)
		}
	}
	return nil
}

// difference names the accounts that differ.
func difference(ours, theirs map[common.Address]judgeAccount) (text string) {
	for address, a := range ours {
		b, ok := theirs[address]
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y || !ok {
			text += fmt.Sprintf("%v:\n  ours   %.2000s\n  theirs %.2000s\n", address, x, y)
		}
	}
	for address, b := range theirs {
		if _, ok := ours[address]; !ok {
			text += fmt.Sprintf("%v:\n  only theirs %.2000s\n", address, fmt.Sprint(b))
		}
	}
	return text
}

// reached counts what scenes came to, so that a test of nothing is seen.
type reached struct {
	executed, failed, skipped, logs       int
	destructed, created, codes, contracts int
}

func (r *reached) count(b *Block, m *memory) {
	r.executed += len(b.Txs())
	r.skipped += len(b.Skipped())
	for _, receipt := range b.Receipts() {
		r.logs += len(receipt.Logs)
		if receipt.Status == types.ReceiptStatusFailed {
			r.failed++
		} else if receipt.ContractAddress != (common.Address{}) {
			r.contracts++
		}
	}
	r.destructed, r.created, r.codes = r.destructed+m.destructed, r.created+m.created, r.codes+m.codes
	m.destructed, m.created, m.codes = 0, 0, 0
}

func (r *reached) String() string { return fmt.Sprintf("reached %+v", *r) }

func (r *reached) check(t *testing.T) {
	for _, n := range []int{r.executed - r.failed, r.failed, r.skipped, r.logs, r.destructed, r.created, r.codes,
		r.contracts} {
		if n < 20 {
			t.Error("the scenes reach too little: ", r)
		}
	}
}
