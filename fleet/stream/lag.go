package stream

import (
	"encoding/json"
	"time"

	"tarn/fleet"
)

// noteStatus notes what the publisher says of itself. What was there before this replica listened does not say that
// somebody publishes: a server whose clock was set back keeps the word of one that is gone.
func (f *Follower) noteStatus(text []byte, live bool) {
	var p Publishing
	if json.Unmarshal(text, &p) != nil {
		return // whoever wrote it is no publisher
	}
	f.change(func(l *Lag) {
		if l.Publisher = p; live {
			l.Heard = time.Now()
		}
	})
	f.verify.due.Store(p.Compare || p.Due && f.Verify)
}

func (f *Follower) applied(p fleet.Point) { f.change(func(l *Lag) { l.Applied = p }) }

// change replaces what is known. Two goroutines do so.
func (f *Follower) change(fn func(*Lag)) {
	for {
		old := f.lag.Load()
		next := *old
		if fn(&next); f.lag.CompareAndSwap(old, &next) {
			return
		}
	}
}
