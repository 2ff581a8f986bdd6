package chain

import (
	"bytes"
	"fmt"

	"tarn/opera/blocklog"
	"tarn/opera/inter"
	"tarn/store"
)

// ChangedRows calls each for rows that a block has changed, with what they are now, until an error. A row that is gone
// has present false. What is passed is valid until each returns.
type ChangedRows func(each func(t store.Table, key, value []byte, present bool) error) error

// Teller tells others what a chain's blocks changed. Any goroutine may use it.
type Teller struct{ c *Chain }

// NewTeller makes one of a chain.
func NewTeller(c *Chain) Teller { return Teller{c} }

// Tables are those whose rows are alike on all nodes that have executed the same blocks, but for what the head's row
// says of the node's logs.
func (t Teller) Tables() []store.TableInfo {
	c := t.c
	return append([]store.TableInfo{{ID: c.rows.head, Name: tableHead}, {ID: c.rows.epochs, Name: tableEpochs}},
		c.state.Shared()...)
}

// tellPushed tells of a block whose revision is the head and can be undone.
func tellPushed(c *Chain, b *Block) error {
	if c.options.Pushed == nil {
		return nil
	}
	shared := make(map[store.Table]bool)
	for _, t := range NewTeller(c).Tables() {
		shared[t.ID] = true
	}
	return c.options.Pushed(c.block.LastBlock, b,
		func(each func(t store.Table, key, value []byte, present bool) error) error {
			told := make(map[string]bool) // codes
			err := c.store.Changes(func(t store.Table) bool { return shared[t] },
				func(t store.Table, key, value []byte, present bool) error {
					if t == c.rows.head && !bytes.Equal(key, headKey) {
						return nil
					}
					if c.state.IsCode(t) {
						told[string(key)] = true
					}
					return each(t, key, value, present)
				})
			if err != nil {
				return err
			}
			// Another node may lack a code that this one had already.
			return c.state.EachCode(b.changes, func(t store.Table, hash, code []byte) error {
				if told[string(hash)] {
					return nil
				}
				told[string(hash)] = true
				return each(t, hash, code, true)
			})
		})
}

// Told is what a block brings to the logs of a chain that follows.
type Told struct {
	Number inter.BlockNumber
	// Block is what the log of blocks has of it; its Events are places in Events.
	Block  blocklog.Block
	Events []ToldEvent
	Before []byte   // what the block replaced, as an archive of states has it
	Root   [32]byte // of the state after it
}

// ToldEvent is an event whose transactions a block has, as it travels.
type ToldEvent struct {
	ID  inter.EventID
	Raw []byte
}

// Tell returns what a chain that follows needs of a block that this one has made, and waits for its root.
func (by Teller) Tell(number inter.BlockNumber) (*Told, error) {
	c, t := by.c, &Told{Number: number}
	e, err := c.logs.blocks.Block(number)
	if err == nil && e == nil {
		err = fmt.Errorf("the log does not have it")
	}
	if err != nil {
		return nil, fmt.Errorf("tell of block %d: %w", number, err)
	}
	t.Block = *e
	for i, n := range e.Events {
		id, raw, err := c.logs.events.Read(n)
		if err != nil {
			return nil, fmt.Errorf("tell of block %d: %w", number, err)
		}
		t.Events = append(t.Events, ToldEvent{id, raw})
		t.Block.Events[i] = uint64(i)
	}
	if t.Before, err = c.logs.states.Entry(uint64(number)); err == nil {
		t.Root, err = c.root(number)
	}
	if err != nil {
		return nil, fmt.Errorf("tell of block %d: %w", number, err)
	}
	return t, nil
}
