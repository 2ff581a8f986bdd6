package difftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/chain"
	"tarn/opera/epoch"
	"tarn/opera/inter"
)

// Deeds are transactions by their hash, and as what they are counted.
type Deeds map[common.Hash]string

// Add notes a transaction.
func (d Deeds) Add(kind string, tx *types.Transaction) { d[tx.Hash()] = kind }

// Fate is what became of the deeds of a kind.
type Fate struct {
	Refused int // by a node's pool
	Sent    int
	Done    int // and succeeded
	Failed  int // executed, and failed
	Left    int // out, of every block
}

// Statistics counts what networks have lived through, by what their chains say: so a driver
// that does nothing is seen.
type Statistics struct {
	Networks, Blocks, Txs, Events int
	Epochs                        int // sealed
	Rules, Upgrades               int // changes of rules but the price of gas, and of upgrades among them
	Cheaters                      int // whom the driver contract was told of
	Created                       int // validators that the genesis does not have
	Skipped                       int // transactions in events that could not be executed
	Forked, Proven, Spoiled       int // events that forked, proofs of cheating, events that broke a rule
	Fates                         map[string]Fate
}

// Count counts what a chain has, with the deeds that were sent to it.
func Count(c *chain.Chain, deeds Deeds, validators int) (*Statistics, error) {
	v, err := c.View()
	if err != nil {
		return nil, err
	}
	defer v.Close()
	t := &Statistics{Networks: 1, Fates: map[string]Fate{}}
	left := maps.Clone(deeds)
	for number := inter.BlockNumber(2); number <= v.Head().Number; number++ {
		b, err := v.Block(number)
		if err != nil {
			return nil, err
		}
		t.block(b, left)
	}
	for _, kind := range deeds {
		t.change(kind, func(f *Fate) { f.Sent++ })
	}
	for _, kind := range left {
		t.change(kind, func(f *Fate) { f.Left++ })
	}
	return t, t.epochs(v, validators)
}

func (t *Statistics) change(kind string, by func(*Fate)) {
	f := t.Fates[kind]
	by(&f)
	t.Fates[kind] = f
}

// block counts a block, and takes what it has from the deeds that are left.
func (t *Statistics) block(b *chain.Block, left Deeds) {
	const deactivate = 0x1e702f83 // deactivateValidator(uint256,uint256)
	t.Blocks++
	t.Skipped += len(b.Skipped)
	for i, tx := range b.Txs {
		t.Txs++
		if b.Senders[i] == (common.Address{}) && tx.To() != nil && *tx.To() == epoch.Driver() && len(tx.Data()) >= 4 &&
			binary.BigEndian.Uint32(tx.Data()) == deactivate {
			t.Cheaters++
		}
		kind, ok := left[tx.Hash()]
		if !ok {
			continue
		}
		delete(left, tx.Hash())
		t.change(kind, func(f *Fate) {
			if b.Receipts[i].Status == types.ReceiptStatusSuccessful {
				f.Done++
			} else {
				f.Failed++
			}
		})
	}
}

// epochs counts what changed from epoch to epoch.
func (t *Statistics) epochs(v *chain.View, validators int) error {
	const first = inter.Epoch(2)
	var before []byte
	var upgrades inter.Upgrades
	created := map[inter.ValidatorID]bool{}
	for e := first; e <= v.Epoch().Epoch; e++ {
		record, err := v.EpochRecord(e)
		if err != nil || record == nil {
			return fmt.Errorf("count epoch %d: %w", e, err)
		}
		state := &record.State.EpochState
		for id := range state.Profiles {
			if int(id) > validators {
				created[id] = true
			}
		}
		// The price moves by itself.
		held := state.Rules.Copy()
		held.Economy.MinGasPrice = new(big.Int)
		rules, err := rlp.EncodeToBytes(&held)
		if err != nil {
			return err
		}
		if e > first {
			t.Epochs++
			if !bytes.Equal(rules, before) {
				t.Rules++
			}
			if state.Rules.Upgrades != upgrades {
				t.Upgrades++
			}
		}
		before, upgrades = rules, state.Rules.Upgrades
	}
	t.Created += len(created)
	return nil
}

// Add adds another's counts.
func (t *Statistics) Add(o *Statistics) {
	for _, n := range []struct{ to, by *int }{
		{&t.Networks, &o.Networks}, {&t.Blocks, &o.Blocks}, {&t.Txs, &o.Txs}, {&t.Events, &o.Events},
		{&t.Epochs, &o.Epochs},
		{&t.Rules, &o.Rules}, {&t.Upgrades, &o.Upgrades}, {&t.Cheaters, &o.Cheaters}, {&t.Created, &o.Created},
		{&t.Skipped, &o.Skipped},
		{&t.Forked, &o.Forked}, {&t.Proven, &o.Proven}, {&t.Spoiled, &o.Spoiled},
	} {
		*n.to += *n.by
	}
	if t.Fates == nil {
		t.Fates = map[string]Fate{}
	}
	for kind, f := range o.Fates {
		t.change(kind, func(to *Fate) {
			*to = Fate{to.Refused + f.Refused, to.Sent + f.Sent, to.Done + f.Done, to.Failed + f.Failed,
				to.Left + f.Left}
		})
	}
}

// String is a table of it all.
func (t *Statistics) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d networks, %d blocks, %d transactions in blocks, %d events\n",
		t.Networks, t.Blocks, t.Txs, t.Events)
	fmt.Fprintf(&b,
		"%d epochs sealed, rules changed %d times and upgrades %d times, %d cheaters, %d validators created\n",
		t.Epochs, t.Rules, t.Upgrades, t.Cheaters, t.Created)
	fmt.Fprintf(&b, "%d transactions skipped, %d events that fork, %d proofs, %d events that break a rule\n",
		t.Skipped, t.Forked, t.Proven, t.Spoiled)
	fmt.Fprintf(&b, "%-36s %8s %8s %8s %8s %8s\n", "kind", "refused", "sent", "done", "failed", "left out")
	for _, kind := range slices.Sorted(maps.Keys(t.Fates)) {
		f := t.Fates[kind]
		fmt.Fprintf(&b, "%-36s %8d %8d %8d %8d %8d\n", kind, f.Refused, f.Sent, f.Done, f.Failed, f.Left)
	}
	return b.String()
}
