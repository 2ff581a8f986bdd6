package prompt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// Where there is no terminal, lines of the input are the answers, however they end.
func TestLinesOfTheInputAreAnswers(t *testing.T) {
	var out bytes.Buffer
	long := strings.Repeat("x", 3*4096)
	a, end := Open(strings.NewReader("one\r\n\n"+long+"\nlast"), &out)
	for _, want := range []string{"one", "", long, "last"} {
		if got, err := a.Password(t.Context(), "? "); err != nil || got != want {
			t.Errorf("the answer is %.20q, %v; want %.20q", got, err, want)
		}
	}
	if _, err := a.Line(t.Context(), "> "); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if want := "!! Unsupported terminal, password will be echoed.\n" + strings.Repeat("? \n", 4) +
		"> \n"; out.String() != want {
		t.Errorf("it says %q, want %q", out.String(), want)
	}
	a.History([]string{"nothing"})
	a.Remember("nothing")
	a.Complete(nil)
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestALineWithoutAnEndIsRefused(t *testing.T) {
	a, _ := Open(&endless{}, io.Discard)
	if _, err := a.Line(t.Context(), "> "); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("the error is %v", err)
	}
}

type endless struct{}

func (*endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	in, writer := io.Pipe()
	defer writer.Close()
	a, _ := Open(in, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Password(ctx, "? "); !errors.Is(err, ErrStopped) {
		t.Errorf("the error is %v", err)
	}
}
