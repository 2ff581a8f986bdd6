package node

import (
	"errors"
	"fmt"
	"sync/atomic"

	"tarn/store"
)

// damage is what readers found damaged of the state. The writer may go on: it has not
// met the place, or will end the node when it does.
type damage struct{ found atomic.Bool }

// damaged tells whether err says that the state cannot be read as it was written. The
// first one is logged; from then on the node is not ready.
func (n *Node) damaged(err error) bool {
	if !isDamage(err) {
		return false
	}
	if !n.damage.found.Swap(true) {
		n.o.Log.Error(damageRemedy(err).Error(), "state-dir", n.o.StateDir)
	}
	return true
}

// err says why the node is not ready; nil if nothing was found. Who may ask /readyz
// need not know the server's folders.
func (d *damage) err() error {
	if !d.found.Load() {
		return nil
	}
	return errors.New("the state is damaged; the log says where, and what to do")
}

func isDamage(err error) bool {
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFault)
}

// damageRemedy adds to the error of a damaged state what helps.
func damageRemedy(err error) error {
	return fmt.Errorf("The state is damaged. Stop the node and start it once with --replay-blockchain, if its block log begins with block 1; "+
		"else empty state-dir and start with --snapshot. Test the machine's memory and disk, which may have damaged it: %w", err)
}
