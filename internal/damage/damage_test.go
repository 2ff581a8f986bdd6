package damage

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Each way comes about, changes its file where it says, and no other file; the same source does
// the same again.
func TestOneFileIsSpoiltWhereItIsSaid(t *testing.T) {
	whole := map[string][]byte{"a": bytes.Repeat([]byte("tarn"), 9000), "sub/b": {0}, "sub/empty": nil}
	done := map[Way]int{}
	for seed := range uint64(60) {
		var before Done
		for again := range 2 {
			dir := t.TempDir()
			write(t, dir, whole)
			d, err := Spoil(rand.New(rand.NewPCG(seed, 0)), dir)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range whole {
				got, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if same := bytes.Equal(got, want); same == (name == d.File) {
					t.Fatalf("seed %d: %s: %s is the same: %v", seed, d, name, same)
				}
				if name == d.File && !bytes.Equal(got[:min(len(got), int(d.At))], want[:d.At]) {
					t.Errorf("seed %d: %s: it begins before", seed, d)
				}
			}
			if again == 1 && d != before {
				t.Errorf("seed %d: %s, then %s", seed, before, d)
			}
			before = d
		}
		done[before.Way]++
	}
	if len(done) != int(ways) {
		t.Errorf("%v", done)
	}
	if _, err := Spoil(rand.New(rand.NewPCG(1, 0)), t.TempDir()); err == nil {
		t.Error("an empty folder was damaged")
	}
}

func write(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, b := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
