// Package plantedfault builds packages with faults in them, and demands that their tests notice.
//
// It changes no file: the compiler is given other contents for one (go's -overlay). It
// knows nothing of what it builds.
package plantedfault

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Fault is a piece of a source file and what it is changed into.
type Fault = struct {
	Name     string // what is wrong then
	File     string // its path from the folder of the tests
	From, To string // of the first place where it stands
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// Test runs the tests of the package in the present folder without a fault, where they
// must pass, and with each, where one must fail. Tests that are named Planted are left
// out; arguments are for go test, besides. A -timeout among them ends tests that a fault
// lets hang, which counts as noticing it; without a fault they have ten minutes. It is
// skipped without TARN_PLANTED=1, but not before it has looked whether each fault fits its
// source.
func Test(t *testing.T, faults []Fault, arguments ...string) {
	t.Helper()
	for _, f := range faults {
		changedSource(t, f)
	}
	if t.Failed() {
		return
	}
	if os.Getenv("TARN_PLANTED") == "" {
		t.Skip("set TARN_PLANTED=1 to build and test the package once for each planted fault; takes some minutes")
	}
	if out, err := run(append(slices.Clone(arguments), "-timeout=10m")); err != nil { // the last one counts
		t.Fatalf("without a planted fault: %v\n%s", err, out)
	}
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel() // linking takes one processor
			out, err := run(append([]string{"-failfast", "-overlay", overlay(t, f)}, arguments...))
			caught := failedTest.FindAllStringSubmatch(out, -1)
			switch {
			case err == nil:
				t.Errorf("no test noticed that %s", f.Name)
			case len(caught) == 0 && !strings.Contains(out, "panic: "):
				t.Errorf("the tests did not run: %v\n%s", err, out)
			}
			for _, m := range caught {
				t.Logf("caught by %s", m[1])
			}
		})
	}
}

func run(arguments []string) (out string, err error) {
	b, err := exec.Command("go", append([]string{"test", "-vet=off", "-count=1", "-skip=Planted", "."},
		arguments...)...).CombinedOutput()
	return string(b), err
}

// overlay makes the file that tells the compiler of the fault.
func overlay(t *testing.T, f Fault) string {
	t.Helper()
	text := changedSource(t, f)
	dir := t.TempDir()
	original, err := filepath.Abs(f.File)
	if err != nil {
		t.Fatal(err)
	}
	changed, overlay := filepath.Join(dir, filepath.Base(f.File)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		changed: []byte(text),
		overlay: list,
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

// changedSource is the text of a fault's file with the fault.
func changedSource(t *testing.T, f Fault) string {
	t.Helper()
	source, err := os.ReadFile(f.File)
	switch {
	case err != nil:
		t.Errorf("%s: %v", f.Name, err)
	case !strings.Contains(string(source), f.From):
		t.Errorf("%s: %s has no %q", f.Name, f.File, f.From)
	}
	return strings.Replace(string(source), f.From, f.To, 1)
}
