package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTestsThatAskAreListed(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a_test.go": `package a
import "testing"
func TestItself(t *testing.T) { if testing.Short() { t.Skip() } }
func TestThroughOthers(t *testing.T) { first(t) }
func TestQuick(t *testing.T) { quick(t) }
func quick(t *testing.T) {}
func BenchmarkNo(b *testing.B) { second(nil) }
`,
		"b_test.go": `package a
import "testing"
func first(t *testing.T) { t.Run("x", second) }
func second(t *testing.T) { if testing.Short() { t.Skip() } }
type s struct{}
func (s) run(t *testing.T) { second(t) }
func TestMethod(t *testing.T) { s{}.run(t) }
func TestMain(m *testing.M) { if testing.Short() { m.Run() } }
`,
	}
	var paths []string
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	got, err := longTests(paths)
	if want := []string{"TestItself", "TestMethod", "TestThroughOthers"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := longTests([]string{filepath.Join(dir, "gone_test.go")}); err == nil {
		t.Error("a file that is not there is no error")
	}
}
