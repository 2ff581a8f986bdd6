package nodeupkeep

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"tarn/internal/tty"
)

// Live is a terminal to which a log is written, and whose last line shows how far a piece of
// work is, again and again in its place. Any goroutine may use it.
type Live struct {
	out  *os.File
	mu   sync.Mutex
	line string // that is shown; "" for none
}

// NewLive returns nil if out is no terminal.
func NewLive(out io.Writer) *Live {
	if !tty.Is(out) {
		return nil
	}
	return &Live{out: out.(*os.File)}
}

// erase moves to the beginning of a line and clears it.
const erase = "\r\x1b[K"

// Write implements io.Writer, for the log: what is written stands above the line.
func (l *Live) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line == "" {
		return l.out.Write(b)
	}
	if _, err := fmt.Fprint(l.out, erase); err != nil {
		return 0, err
	}
	n, err := l.out.Write(b)
	if err == nil {
		_, err = fmt.Fprint(l.out, l.line)
	}
	return n, err
}

// Show puts a text in the place of the line, "" for no line. What the terminal has no room
// for is cut off. Errors are the log's to meet.
func (l *Live) Show(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text == l.line {
		return
	}
	width := 80
	if size, err := unix.IoctlGetWinsize(int(l.out.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 1 {
		width = int(size.Col)
	}
	if r := []rune(text); len(r) >= width {
		text = string(r[:width-1])
	}
	l.line = text
	fmt.Fprint(l.out, erase+text) //nolint:errcheck // see above
}

// Handler returns a handler of a log that is written through l. [Progress] over such a log
// shows its line; l may be nil.
func (l *Live) Handler(h slog.Handler) slog.Handler {
	if l == nil {
		return h
	}
	return liveHandler{h, l}
}

type liveHandler struct {
	slog.Handler
	live *Live
}

// WithAttrs implements slog.Handler.
func (h liveHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return liveHandler{h.Handler.WithAttrs(attrs), h.live}
}

// WithGroup implements slog.Handler.
func (h liveHandler) WithGroup(name string) slog.Handler {
	return liveHandler{h.Handler.WithGroup(name), h.live}
}
