// Package refimpl builds and asks the programs of refimpl/: originals that judge what
// tests of ours do, and must not be linked with it.
//
// It owns how such a program is found and talked to, line by line. It knows no protocol,
// and no code but tests imports it.
package refimpl

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Program is a running program that answers each line with a line. One goroutine uses it.
type Program struct {
	t       testing.TB
	in      *bufio.Writer
	answers *bufio.Scanner
}

// Build builds the module in a folder, named relative to the test's, into the user's cache
// folder, and returns the program. The test is skipped unless TARN_JUDGES is set, because
// that may take minutes, and if its modules cannot be fetched.
func Build(t testing.TB, folder string) string {
	t.Helper()
	if os.Getenv("TARN_JUDGES") == "" {
		t.Skip("set TARN_JUDGES=1 to build the original that judges this, which takes minutes once")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal("no folder for the judge: ", err)
	}
	program := filepath.Join(cache, "tarn", "judge-"+filepath.Base(folder))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	fetch := exec.CommandContext(ctx, "go", "mod", "download")
	fetch.Dir = folder
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Skipf("the modules of %s cannot be fetched: %v: %.600s", folder, err, out)
	}
	// go-ethereum of that time links to names of the runtime that are not to be linked to, and its JavaScript is in C.
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-checklinkname=0", "-o", program, ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the judge of %s cannot be built: %v: %.600s", folder, err, out)
	}
	return program
}

// Start builds the module in a folder and runs it until the test ends.
func Start(t testing.TB, folder string) *Program {
	t.Helper()
	cmd := exec.Command(Build(t, folder))
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		out.Close()
		// It may be cut off in the middle of an answer.
		_ = cmd.Wait()
	})
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<26)
	return &Program{t, bufio.NewWriter(in), answers}
}

// Ask asks all questions and returns the answers, in order.
func (j *Program) Ask(questions []string) []string {
	j.t.Helper()
	written := make(chan error, 1)
	go func() {
		for _, q := range questions {
			j.in.WriteString(q)
			j.in.WriteByte('\n')
		}
		written <- j.in.Flush()
	}()
	answers := make([]string, 0, len(questions))
	for len(answers) < len(questions) {
		if !j.answers.Scan() {
			j.t.Fatalf("the judge ended at question %d of %d, %.200s: %v",
				len(answers), len(questions), questions[len(answers)], j.answers.Err())
		}
		answers = append(answers, j.answers.Text())
	}
	if err := <-written; err != nil {
		j.t.Fatal("ask the judge: ", err)
	}
	return answers
}
