package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// libraries have flags for the tests of packages that use them.
var libraries = map[string]string{"storetest.": "store/storetest", "damage": "store/lsm/lsmtest",
	"seed": "internal/seeded"}

// Each adversary fits a test that is there, and its flags are there too.
func TestEachAdversaryIsThere(t *testing.T) {
	t.Parallel()
	list, err := adversaries("..", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, a := range list {
		kinds[a.Kind]++
		if err := a.check(); err != nil {
			t.Error(err)
		}
		tests := source(t, filepath.Join("..", a.Package))
		top, _, _ := strings.Cut(a.Run, "/")
		fits, found := regexp.MustCompile(top), false
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(tests, -1) {
			found = found || a.Fuzz == m[1] || a.Fuzz == "" && fits.MatchString(m[1])
		}
		if !found {
			t.Errorf("%s: no test of %s is called %s%s", a.Name, a.Package, a.Run, a.Fuzz)
		}
		for _, arg := range a.Args {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
			if strings.HasPrefix(name, "test.") || strings.Contains(tests, `"`+name+`"`) {
				continue
			}
			there := false
			for prefix, dir := range libraries {
				there = there || strings.HasPrefix(name,
					prefix) && strings.Contains(source(t, filepath.Join("..", dir)), `"`+name+`"`)
			}
			if !there {
				t.Errorf("%s: the tests of %s have no flag %s", a.Name, a.Package, name)
			}
		}
	}
	if kinds["fuzzing"] < 50 || len(kinds) < 12 {
		t.Errorf("%v", kinds)
	}
}

// source is what the Go files of a folder say.
func source(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(src)
	}
	return all.String()
}
