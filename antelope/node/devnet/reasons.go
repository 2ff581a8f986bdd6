package devnet

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// reasons passes a node's log on and keeps the last errors in it, for whoever does not
// see the log. It may be written to by several goroutines.
type reasons struct {
	to io.Writer

	mu    sync.Mutex
	lines []string
}

// mostReasons is how many errors are kept. The last one says why the node ended, and
// those before it may say what had gone wrong first.
const mostReasons = 3

// Write takes one record of the log, or other text, and passes it on.
func (r *reasons) Write(p []byte) (int, error) {
	if line := bytes.TrimSpace(p); bytes.HasPrefix(line, []byte("error ")) || bytes.Contains(line, []byte(`"level":"error"`)) {
		r.keep(string(line))
	}
	return r.to.Write(p)
}

func (r *reasons) keep(line string) {
	if _, message, ok := strings.Cut(line, "] "); ok && strings.HasPrefix(line, "error ") {
		line = message // without time and place
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	r.lines = r.lines[max(0, len(r.lines)-mostReasons):]
}

func (r *reasons) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}
