package chain

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
	"tarn/opera/llr"
)

// First returns the first block that is not of the genesis. Any goroutine may ask.
func (l *logs) First() inter.BlockNumber { return l.blocks.First() }

// AfterGenesis returns the first block that no genesis brought: this node has made it, or it came as a
// record. Any goroutine may ask.
func (l *logs) AfterGenesis() inter.BlockNumber { return l.blocks.Top() }

// Lowest returns the oldest block that there is. Any goroutine may ask.
func (l *logs) Lowest() inter.BlockNumber {
	return l.blocks.Top() - inter.BlockNumber(l.blocks.Brought())
}

// HasEvent tells whether an event was connected. Any goroutine may ask.
func (l *logs) HasEvent(id inter.EventID) (bool, error) { return l.events.Has(id) }

// Event returns an event as it travels, nil if it was not connected. Any goroutine may
// ask.
func (l *logs) Event(id inter.EventID) ([]byte, error) { return l.events.Get(id) }

// Events calls each for the events from an id on, in the order of ids, in which parents
// come before their children, until it returns false. Any goroutine may call it.
func (l *logs) Events(from inter.EventID, each func(id inter.EventID, raw []byte) bool) error {
	var failed error
	last := inter.EventID(bytes.Repeat([]byte{math.MaxUint8}, len(from)))
	err := l.events.Ascend(from, last, func(_ inter.EventID, number uint64) bool {
		id, raw, err := l.events.Read(number)
		if err != nil {
			failed = err
			return false
		}
		return bytes.Compare(id[:], from[:]) < 0 || each(id, raw)
	})
	return errors.Join(err, failed)
}

// NextEvent is the number that the next event gets, in the order in which they are connected. Any
// goroutine may ask.
func (l *logs) NextEvent() uint64 { return l.events.Next() }

// EventAt returns the event of a number, below NextEvent, and its id. Any goroutine may ask.
func (l *logs) EventAt(number uint64) (inter.EventID, []byte, error) { return l.events.Read(number) }

// SyncEvents makes durable what was connected. Any goroutine may call it.
func (l *logs) SyncEvents() error { return l.events.Sync() }

// decodeVotes decodes votes, or takes them out of their event.
func (l *logs) decodeVotes(v llr.Votes, into any, take func(*inter.Payload)) error {
	if v.Signed != nil {
		if err := rlp.DecodeBytes(v.Signed, into); err != nil {
			return fmt.Errorf("read votes of no event: %w", err)
		}
		return nil
	}
	p, err := l.payload(v.Event)
	if err == nil {
		take(p)
	}
	return err
}

// payload reads an event that was connected.
func (l *logs) payload(id inter.EventID) (*inter.Payload, error) {
	raw, err := l.Event(id)
	if err == nil && raw == nil {
		err = errors.New("the log of events does not have it")
	}
	var p *inter.Payload
	if err == nil {
		p, err = inter.DecodePayload(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("read event %v for its votes: %w", id, err)
	}
	return p, nil
}
