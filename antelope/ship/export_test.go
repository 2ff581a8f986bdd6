package ship

import "time"

// Forget drops what is kept in memory of blocks.
func (h *History) Forget() {
	h.shelf.drop(0)
	h.recent.mu.Lock()
	defer h.recent.mu.Unlock()
	h.recent.drop(0, len(h.recent.list))
}

// Break makes every write fail from now on.
func (h *History) Break(err error) { h.recorder.Fail(err) }

// ForgetFailure has nodes asked again that did not answer.
func (h *History) ForgetFailure() {
	h.older.mu.Lock()
	defer h.older.mu.Unlock()
	h.older.failed = time.Time{}
}

// OlderHeld is how many bytes of the shelf are held for what nodes have sent.
func (h *History) OlderHeld() int64 {
	h.older.mu.Lock()
	defer h.older.mu.Unlock()
	return h.older.held
}

// Work takes all turns of who reads and unpacks; the caller gives them back.
func (h *History) Work() (giveBack func()) {
	for range cap(h.shelf.work) {
		h.shelf.work <- struct{}{}
	}
	return func() {
		for range cap(h.shelf.work) {
			<-h.shelf.work
		}
	}
}
