package ship

// Forget drops what is kept in memory of blocks.
func (h *History) Forget() {
	h.shelf.drop(0)
	h.recent.mu.Lock()
	defer h.recent.mu.Unlock()
	h.recent.drop(0, len(h.recent.list))
}

// Break makes every write fail from now on.
func (h *History) Break(err error) { h.recorder.Fail(err) }
