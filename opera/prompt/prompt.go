// Package prompt asks whoever sits at the program's terminal: for lines, with history and
// completion, and for passwords, which are not shown.
//
// It owns the terminal's mode while it asks, and gives it back each time. Where there is no
// terminal it reads lines of the input, and says so, in go-opera's words. It knows no
// passwords, no commands, and keeps no files.
package prompt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/peterh/liner"

	"tarn/internal/tty"
)

// ErrAborted is the answer of who pressed Ctrl-C.
var ErrAborted = errors.New("prompt aborted")

// ErrStopped means that the context has ended before there was an answer. Nothing may be
// asked after that, because the question still waits for its answer.
var ErrStopped = errors.New("stopped before there was an answer")

// lineBytes is the longest line that is read where there is no terminal.
const lineBytes = 1 << 20

// Completer returns what could stand at a place of a line: what is before the word, the
// words that fit, and what is behind.
type Completer func(line string, pos int) (head string, words []string, tail string)

// Terminal asks. Its methods are for one goroutine at a time.
type Terminal struct {
	in     *bufio.Reader
	out    io.Writer
	editor *editor // nil where there is no terminal
	warned bool
}

// editor edits lines at a terminal.
type editor struct {
	*liner.State
	normal, raw liner.ModeApplier
}

// Open returns a terminal. Lines are edited if in and out are the process's own and belong to
// a terminal; then it is prepared for that, and what is returned gives it back at the end of
// the program. A process in the background is stopped by the system for it, so Open is for
// when there is a question.
func Open(in io.Reader, out io.Writer) (t *Terminal, end func() error) {
	t = &Terminal{in: bufio.NewReader(in), out: out}
	none := func() error { return nil }
	if !is(in, 0) || !is(out, 1) || !liner.TerminalSupported() {
		return t, none
	}
	normal, err := liner.TerminalMode()
	if err != nil {
		return t, none
	}
	state := liner.NewLiner() // now the mode is the editor's
	raw, err := liner.TerminalMode()
	if restored := normal.ApplyMode(); err != nil || restored != nil {
		return t, state.Close
	}
	state.SetCtrlCAborts(true)
	state.SetTabCompletionStyle(liner.TabPrints)
	state.SetMultiLineMode(true)
	t.editor = &editor{State: state, normal: normal, raw: raw}
	return t, state.Close
}

// is tells whether a stream is the process's, by its number, and a terminal.
func is(stream any, number uintptr) bool {
	f, ok := stream.(*os.File)
	return ok && f.Fd() == number && tty.Is(f)
}

// ask has the editor ask in its mode of the terminal.
func (e *editor) ask(question func() (string, error)) (answer string, err error) {
	if err := e.raw.ApplyMode(); err != nil {
		return "", fmt.Errorf("prepare the terminal: %w", err)
	}
	defer func() { err = errors.Join(err, e.normal.ApplyMode()) }()
	if answer, err = question(); errors.Is(err, liner.ErrPromptAborted) {
		err = ErrAborted
	}
	return answer, err
}

// Line asks for a line. The error at the end of the input is io.EOF.
func (t *Terminal) Line(ctx context.Context, prompt string) (string, error) {
	return until(ctx, func() (string, error) {
		if t.editor != nil {
			return t.editor.ask(func() (string, error) { return t.editor.Prompt(prompt) })
		}
		return t.read(prompt)
	})
}

// until waits for an answer, or for the context's end.
func until(ctx context.Context, question func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := question()
		got <- answer{text, err}
	}()
	select {
	case a := <-got:
		return a.text, a.err
	case <-ctx.Done(): // a read cannot be ended
		return "", ErrStopped
	}
}

// Password asks for a password.
func (t *Terminal) Password(ctx context.Context, prompt string) (string, error) {
	return until(ctx, func() (string, error) {
		if t.editor != nil {
			return t.editor.ask(func() (string, error) { return t.editor.PasswordPrompt(prompt) })
		}
		if !t.warned {
			t.warned = true
			fmt.Fprintln(t.out, "!! Unsupported terminal, password will be echoed.")
		}
		return t.read(prompt)
	})
}

// read reads a line where there is no terminal. The last one need not end.
func (t *Terminal) read(prompt string) (string, error) {
	fmt.Fprint(t.out, prompt)
	defer fmt.Fprintln(t.out)
	var line strings.Builder
	for {
		part, err := t.in.ReadSlice('\n')
		line.Write(part)
		switch {
		case line.Len() > lineBytes:
			return "", fmt.Errorf("a line of the input is longer than %d bytes", lineBytes)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && line.Len() == 0:
			return "", err
		case err != nil && !errors.Is(err, io.EOF):
			return "", fmt.Errorf("read a line of the input: %w", err)
		}
		return strings.TrimSuffix(strings.TrimSuffix(line.String(), "\n"), "\r"), nil
	}
}

// History sets the lines that the arrow keys bring back, the oldest first.
func (t *Terminal) History(lines []string) {
	if t.editor == nil {
		return
	}
	t.editor.ClearHistory()
	for _, line := range lines {
		t.editor.AppendHistory(line)
	}
}

// Remember adds a line to the history.
func (t *Terminal) Remember(line string) {
	if t.editor != nil {
		t.editor.AppendHistory(line)
	}
}

// Complete sets what the Tab key does.
func (t *Terminal) Complete(c Completer) {
	if t.editor != nil {
		t.editor.SetWordCompleter(liner.WordCompleter(c))
	}
}
