package nodeupkeep

import (
	"errors"
	"log/slog"
	"sync"
)

// Damage is what requests, of clients and of peers, have met of a node's files that is not what was
// written. The writer may go on: it has not met the place, or will end the node when it does. Any
// goroutine may call its methods; the fields are not changed.
type Damage struct {
	Log *slog.Logger
	// Is tells whether an error is one of damage.
	Is func(error) bool
	// Remedy adds to such an error what helps.
	Remedy func(error) error

	mu   sync.Mutex
	said map[string]struct{}
}

// saidDamages bounds how many errors are logged: one place is met by many requests.
const saidDamages = 16

// Met tells whether an error is one of damage. It is logged, with its file and what helps, and from
// then on the node is not ready.
func (d *Damage) Met(err error) bool {
	if err == nil || !d.Is(err) {
		return false
	}
	text := d.Remedy(err).Error()
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.said[text]; known || len(d.said) >= saidDamages {
		return true
	}
	if d.said == nil {
		d.said = map[string]struct{}{}
	}
	d.said[text] = struct{}{}
	d.Log.Error(text)
	return true
}

// errDamaged is what is told to whoever may ask whether the node is ready, and need not know the
// server's folders.
var errDamaged = errors.New("files of this node are damaged; the log says which, and what to do")

// Err says why the node is not ready; nil if nothing was met.
func (d *Damage) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.said) == 0 {
		return nil
	}
	return errDamaged
}
