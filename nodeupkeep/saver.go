package nodeupkeep

import (
	"errors"
	"time"

	"tarn/store"
)

// SaverOptions say when a state is saved.
type SaverOptions struct {
	Store store.Store
	// Recovery is how long a start may take to do again what was done since the last image;
	// 0 for any time: then the state is saved only when somebody asks.
	Recovery time.Duration
	// Worked is how long the writer has worked on the chain since the start, in all. It is
	// called by the goroutine that uses the saver.
	Worked func() time.Duration
	// Saved comes after each image that has become durable, before anybody is told that it
	// has; an error of it is the checkpoint's. It may be nil, and runs on the goroutine that
	// finds out.
	Saved func() error
}

// Saver decides when the state of a chain is saved: when what was done since the last
// checkpoint took as long as a start may take to do it again, when the state has become twice as
// large, or when the image is old. One goroutine at a time may use it, the writer while there is one.
type Saver struct {
	o      SaverOptions
	under  store.Checkpoint // under way, or not looked at since its end
	worked time.Duration    // when the last one was begun
	begun  time.Time        // that one, or the saver
	used   int64            // bytes of the state then
	looked time.Time        // when it was last asked how large the state is
}

// How old an image gets on a chain with so little work that its recovery would take no time for days: the memory
// of changed pages is given back by then. Who lets a recovery take longer than usual wants fewer bytes written, and
// has images that are older in the same measure: a page that changes all the time is written once an image.
const (
	maxAge     = time.Hour // or agePerTime of what recovery may take, if that is more
	agePerTime = 60
)

// A state that grows is saved while it does, so that its end does not wait for all of it to be written.
// What is added is written once, and a state doubles seldom: that adds few bytes.
const (
	leastGrowth = 128 << 20             // bytes of which nothing is done earlier
	lookEvery   = 50 * time.Millisecond // at its size
)

// NewSaver makes a saver of a state that stands at its image.
func NewSaver(o SaverOptions) *Saver {
	return &Saver{o: o, begun: time.Now(), used: o.Store.Stats().Used}
}

// Due tells whether it is time for a checkpoint. Between two blocks somebody asks, and calls
// Begin then.
func (s *Saver) Due() bool {
	return s.o.Recovery > 0 &&
		(s.o.Worked()-s.worked >= s.o.Recovery || s.isOld() || s.hasDoubled())
}

// isOld tells whether the last checkpoint was begun so long ago that its age alone calls for the next.
func (s *Saver) isOld() bool {
	age := time.Since(s.begun)
	return age >= maxAge && age/agePerTime >= s.o.Recovery
}

// hasDoubled tells whether the state is twice as large as when the last checkpoint was begun.
func (s *Saver) hasDoubled() bool {
	if time.Since(s.looked) < lookEvery {
		return false
	}
	s.looked = time.Now()
	return s.o.Store.Stats().Used-s.used >= max(leastGrowth, s.used)
}

// note notes how things stand at the beginning of a checkpoint.
func (s *Saver) note() {
	s.worked, s.begun, s.used = s.o.Worked(), time.Now(), s.o.Store.Stats().Used
}

// Begin begins a checkpoint unless one is under way. The next is due as if it had begun,
// whether it did or not. An error is that of the one before, or of beginning this one: it
// costs nothing but time after a crash, and the next one tries again.
func (s *Saver) Begin() error {
	if s.under != nil {
		select {
		case <-s.under.Done():
		default:
			return nil
		}
	}
	err := s.Wait()
	s.note()
	next, e := s.o.Store.Checkpoint()
	if e == nil {
		s.under = next
	}
	return errors.Join(err, e)
}

// Wait waits for the end of the checkpoint that is under way, and returns its error, or that
// of the last one if nobody has seen it; nil without one.
func (s *Saver) Wait() error {
	if s.under == nil {
		return nil
	}
	err := s.under.Wait()
	s.under = nil
	return s.finishSave(err)
}

// Underway is the checkpoint that is under way, or the last one while its end has not been
// looked at; else nil. Any goroutine may wait for it, and leaves Saved to the saver.
func (s *Saver) Underway() store.Checkpoint { return s.under }

// Save makes the present state durable. What became of a checkpoint before does not matter
// then.
func (s *Saver) Save() error {
	s.under = nil // the store waits for it
	s.note()
	last, err := s.o.Store.Checkpoint()
	if err == nil {
		err = last.Wait()
	}
	return s.finishSave(err)
}

func (s *Saver) finishSave(err error) error {
	if err != nil || s.o.Saved == nil {
		return err
	}
	return s.o.Saved()
}
