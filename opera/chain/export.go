package chain

import (
	"errors"
	"fmt"
	"iter"

	"tarn/opera/genesis"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// GenesisOptions say what of a chain becomes a genesis. Zero values stand for the defaults.
type GenesisOptions struct {
	// From and To are the first and the last epoch whose records go into it; 1 and the
	// present one. The state is that in which the last one begins.
	From, To inter.Epoch
	// Preimages says whether addresses and slots' keys are named, not only their hashes.
	Preimages bool
}

// Genesis returns what of the chain another node can begin with, as go-opera's `export
// genesis` does: the records of epochs, those of their blocks, and the state with which the
// last epoch begins. The view must stay open while it is read.
func (v *View) Genesis(o GenesisOptions) (genesis.Source, error) {
	o.From = max(o.From, 1)
	if o.To == 0 || o.To > v.shown.epoch.Epoch {
		o.To = v.shown.epoch.Epoch
	}
	if o.From > o.To {
		return nil, fmt.Errorf("export a genesis: epoch %d comes after epoch %d", o.From, o.To)
	}
	last, err := v.EpochRecord(o.To)
	if err == nil && last == nil {
		err = errors.New("it is not known")
	}
	if err != nil {
		return nil, fmt.Errorf("export a genesis that begins with epoch %d: %w", o.To, err)
	}
	return &exported{view: v, o: o, last: last}, nil
}

// exported is a genesis that is read from a view.
type exported struct {
	view *View
	o    GenesisOptions
	last *inter.EpochRecord
}

// Header implements genesis.Source.
func (e *exported) Header() genesis.Header {
	n := e.view.Network()
	return genesis.Header{ID: n.GenesisID, NetworkID: n.ID, NetworkName: n.Name}
}

// Epochs implements genesis.Source. It ends before the first epoch that is not known.
func (e *exported) Epochs() iter.Seq2[*inter.EpochRecord, error] {
	return func(yield func(*inter.EpochRecord, error) bool) {
		for number := e.o.To; number >= e.o.From; number-- {
			record, err := e.view.EpochRecord(number)
			if err == nil && record == nil || !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// Blocks implements genesis.Source: from the block before the last epoch down to the one
// before the first, as go-opera does.
func (e *exported) Blocks() iter.Seq2[*inter.BlockRecord, error] {
	return func(yield func(*inter.BlockRecord, error) bool) {
		first := inter.BlockNumber(1)
		if record, err := e.view.EpochRecord(e.o.From); err != nil {
			yield(nil, err)
			return
		} else if record != nil {
			first = max(first, record.State.BlockState.LastBlock.Number)
		}
		for number := e.last.State.BlockState.LastBlock.Number; number >= first; number-- {
			record, err := e.view.BlockRecord(number)
			if err == nil && record == nil || !yield(record, err) || err != nil {
				return
			}
		}
	}
}

var errEnough = errors.New("the reader of the items has enough")

// Items implements genesis.Source.
func (e *exported) Items() iter.Seq2[genesis.Item, error] {
	return func(yield func(genesis.Item, error) bool) {
		number := e.last.State.BlockState.LastBlock.Number
		of, err := e.view.StateAt(number)
		if err != nil {
			yield(genesis.Item{}, err)
			return
		}
		walked, ok := of.(state.Walkable)
		if !ok {
			yield(genesis.Item{}, fmt.Errorf("the state of block %d cannot be walked", number))
			return
		}
		root, err := state.ExportItems(walked, e.o.Preimages, func(key, value []byte) error {
			if !yield(genesis.Item{Key: key, Value: value}, nil) {
				return errEnough
			}
			return nil
		})
		if want := e.last.State.BlockState.FinalizedStateRoot; err == nil && root != want {
			err = fmt.Errorf("the state of block %d has root %x, and its record says %x", number, root, want)
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(genesis.Item{}, err)
		}
	}
}
