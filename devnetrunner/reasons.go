package devnetrunner

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
	of func(line string) string

	mu    sync.Mutex
	lines []string
}

// mostReasons is how many errors are kept. The last one says why the node ended, and
// those before it may say what had gone wrong first.
const mostReasons = 3

// Write takes one record of the log, or other text, and passes it on.
func (r *reasons) Write(p []byte) (int, error) {
	if reason := r.of(string(bytes.TrimSpace(p))); reason != "" {
		r.mu.Lock()
		r.lines = append(r.lines, reason)
		r.lines = r.lines[max(0, len(r.lines)-mostReasons):]
		r.mu.Unlock()
	}
	return r.to.Write(p)
}

func (r *reasons) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}
