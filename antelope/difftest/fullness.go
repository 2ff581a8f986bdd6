package difftest

import (
	"errors"
	"time"

	"tarn/antelope/types"
)

// smallBlocks is a genesis whose blocks are soon full.
func smallBlocks(g *types.Genesis) {
	c := &g.InitialConfiguration
	c.MinTransactionCPUUsage, c.MaxBlockNetUsage, c.MaxTransactionNetUsage = 1, 400_000, 300_000
}

// runFull fills blocks to the last microsecond, and to the last word that a
// transaction fits into.
func runFull(d *Driver, until time.Time) error {
	if err := d.bootAll(); err != nil {
		return err
	}
	w, err := d.tokenWorld(8)
	if err != nil {
		return err
	}
	return d.until(until, func() error {
		var err error
		if w.One(2) {
			err = w.fillTime()
		} else {
			err = w.fillRoom()
		}
		if err != nil {
			return err
		}
		return errors.Join(d.Blocks(uint32(w.Rand.IntN(3))), w.pace(40*time.Millisecond))
	})
}

// tries bounds what is pushed to fill a block, where nothing may fill it.
const tries = 120

// fillTime bills transactions until a block's CPU time is used up: after a refusal
// half as much.
func (w *world) fillTime() error {
	billed := uint32(20_000 + w.Rand.IntN(380_000))
	for range tries {
		_, err := w.Send(Tx{Actions: w.tokenActions(w.users[:2]), Billed: billed})
		switch {
		case blockIsFull(err) && billed == 1:
			return nil
		case blockIsFull(err):
			billed /= 2
		case !isRefusal(err):
			return err
		}
	}
	return nil
}

// fillRoom sends data until a block is full of them: after a refusal half as many.
func (w *world) fillRoom() error {
	size := 10_000 + w.Rand.IntN(60_000)
	for range tries {
		u := pick(w.Driver, w.users)
		_, err := w.Send(Tx{Actions: []types.Action{action(u, "fill", u, raw(w.filling(size)))}, Billed: 100})
		switch {
		case blockIsFull(err) && size == 0:
			return nil
		case blockIsFull(err):
			size /= 2
		case !isRefusal(err):
			return err
		}
	}
	return nil
}

// filling is so many bytes, always others.
func (w *world) filling(size int) []byte {
	b := make([]byte, size)
	for i := 0; i < size; i += 1 + w.Rand.IntN(64) {
		b[i] = byte(w.Rand.Uint32())
	}
	return b
}

// isRefusal tells whether there is no error, or one that the chain decided.
func isRefusal(err error) bool {
	var r *Refusal
	return err == nil || errors.As(err, &r)
}
