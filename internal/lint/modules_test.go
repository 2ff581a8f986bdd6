package lint

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linked lists every module that the binary may contain, with its licence. A
// new one is a decision: is there a smaller way, is it kept well, may we?
var linked = map[string]string{
	"github.com/spf13/cobra": "Apache-2.0",
	"github.com/spf13/pflag": "BSD",
	"golang.org/x/sys":       "BSD",
}

// Text that a licence file of that kind must contain.
var licenceText = map[string]*regexp.Regexp{
	"Apache-2.0": regexp.MustCompile(`(?i)Apache License`),
	"BSD":        regexp.MustCompile(`(?i)Redistribution and use in source and binary forms`),
	"ISC":        regexp.MustCompile(`(?i)Permission to use, copy, modify, and(/or)? distribute`),
	"MIT":        regexp.MustCompile(`(?i)Permission is hereby granted, free of charge`),
}

var copyleft = regexp.MustCompile(`(?i)GNU (LESSER |AFFERO )?GENERAL PUBLIC LICENSE|Mozilla Public License`)

type goModule struct{ Path, Dir string }

// modulesOf lists the modules, other than ours, of all that pkg links.
func modulesOf(t *testing.T, pkg string) []goModule {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=Module", pkg)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var list []goModule
	for dec := json.NewDecoder(out); ; {
		var p struct{ Module *goModule }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if m := p.Module; m != nil && m.Path != module && !slices.Contains(list, *m) {
			list = append(list, *m)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	return list
}

// licence is the text of a module's licence files.
func licence(t *testing.T, m goModule) string {
	t.Helper()
	var text strings.Builder
	for _, pattern := range []string{"LICEN[CS]E*", "COPYING*", "licen[cs]e*", "LICENSES/*"} {
		names, err := filepath.Glob(filepath.Join(m.Dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if b, err := os.ReadFile(name); err == nil {
				text.Write(b)
			}
		}
	}
	return text.String()
}

func TestTheBinaryLinksOnlyListedModules(t *testing.T) {
	known := except(linked)
	for _, m := range modulesOf(t, "./cmd/tarn") {
		if !known.has(m.Path) {
			t.Errorf("module %s is linked but not listed; its licence begins: %.120q", m.Path, licence(t, m))
			continue
		}
		want := licenceText[linked[m.Path]]
		if want == nil {
			t.Errorf("module %s: licence %q is not one that we take", m.Path, linked[m.Path])
		} else if !want.MatchString(licence(t, m)) {
			t.Errorf("module %s: its licence file is not %s", m.Path, linked[m.Path])
		}
	}
	known.unused(t)
}

// A contagious licence at the seam would reach everything that stands on it.
func TestTheStoreLinksNoCopyleft(t *testing.T) {
	for _, m := range modulesOf(t, "./store/...") {
		if copyleft.MatchString(licence(t, m)) {
			t.Errorf("module %s: %s", m.Path, copyleft.FindString(licence(t, m)))
		}
	}
}

// The same checks everywhere: what the README tells a newcomer to run is what
// the build machine runs.
func TestTheBuildMachineRunsTheDocumentedTestCommand(t *testing.T) {
	const command = "go test ./..."
	for _, name := range []string{"README.md", ".ci/run"} {
		if !strings.Contains(string(read(t, name)), command) {
			t.Errorf("%s does not name the test command %q", name, command)
		}
	}
}
