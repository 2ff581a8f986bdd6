package dag

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"tarn/internal/refimpl"
)

// lachesisBase is the program of refimpl/lachesis.
func lachesisBase(t testing.TB) string { return refimpl.Build(t, "../../refimpl/lachesis") }

// ask gives the program lines, and returns a reader of its answers.
func ask(t testing.TB, program string, lines io.Reader) *bufio.Scanner {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Stdin = lines
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out.Close()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
	})
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<24)
	return answers
}
