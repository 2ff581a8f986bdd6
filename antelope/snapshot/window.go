package snapshot

// window is how much is read at a time, and buffered for writing.
const window = 1 << 20

// headroom is how much of a row may be left over from one window without a copy of
// the one that follows.
const headroom = 64 << 10

// windows reads a part of a snapshot from its beginning to its end, on another
// goroutine, one window ahead of who works on them.
type windows struct {
	r        *Reader
	from, to int64 // what was not asked for
	read     chan answer
	asked    int64  // bytes that an answer is to come for
	mem      []byte // of the answer before
}

// answer is headroom, and a window behind it.
type answer struct {
	mem []byte
	err error
}

func (r *Reader) windows(from, to int64) windows {
	return windows{r: r, from: from, to: to, read: make(chan answer, 1)}
}

// remaining is how many bytes there are to come.
func (w *windows) remaining() int64 { return w.asked + w.to - w.from }

// next returns what is left over, followed by the next window. The memory is good
// until the next call.
func (w *windows) next(rest []byte) ([]byte, error) {
	if w.asked == 0 {
		w.ask(nil, window)
	}
	a := <-w.read
	w.asked = 0
	if a.err != nil {
		return nil, a.err
	}
	if len(rest) > headroom {
		b := append(append(make([]byte, 0, len(rest)+len(a.mem)-headroom), rest...), a.mem[headroom:]...)
		w.ask(nil, max(window, int64(len(rest)))) // a row that is so long may be twice as long
		return b, nil
	}
	b := a.mem[headroom-len(rest):]
	copy(b, rest)
	free := w.mem
	w.mem = a.mem
	w.ask(free, window)
	return b, nil
}

// ask has up to size bytes read into mem, or what it takes, if there are more.
func (w *windows) ask(mem []byte, size int64) {
	size = min(size, w.to-w.from)
	if size == 0 {
		return
	}
	if int64(cap(mem)) < headroom+size {
		mem = make([]byte, headroom+size)
	}
	at := w.from
	w.asked = size
	w.from += size
	go func() {
		mem = mem[:headroom+size]
		w.read <- answer{mem, w.r.read(mem[headroom:], at)}
	}()
}
