package dag

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// judge returns the program of conformance/lachesis, built into the user's cache folder.
// The test is skipped if it cannot be built, which needs its modules.
func judge(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no folder for the judge: ", err)
	}
	program := filepath.Join(cache, "tarn", "judge-lachesis")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "conformance", "lachesis")
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("the judge, lachesis-base, cannot be built: %v: %.600s", err, out)
	}
	return program
}

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
