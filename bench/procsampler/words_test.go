package procsampler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLastWordsAreWhatSaysWhy(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	long := "error 1 it ends: " + strings.Repeat("x", 3*lineLength) + ": no space left"
	for text, want := range map[string]string{
		"":                               "",
		"one\ntwo\n":                     "one | two",
		"a\nb\nc\nd\n":                   "b | c | d",
		"info a\nERROR[1] b\ninfo c\n":   "ERROR[1] b",
		"error old\ninfo a\nb\ninfo c\n": "info a | b | info c",
		"info a\n" + long + "\n":         long[:lineLength/2] + " … " + long[len(long)-lineLength/2:],
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := lastWords(name); got != want {
			t.Errorf("%q ends with %q, want %q", text, got, want)
		}
	}
}
