package traffic

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheSameShapeIsTheSameChain(t *testing.T) {
	dir := t.TempDir()
	var files [][]byte
	for i, s := range []Shape{{1, 20, 300}, {1, 20, 300}, {2, 20, 300}} {
		work := filepath.Join(dir, string(rune('a'+i)))
		if err := os.Mkdir(work, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(work, "events")
		made, err := Make(t.Context(), path, work, s)
		if err != nil {
			t.Fatal(err)
		}
		// The blocks hold all transfers: the last ones are not in events alone.
		if made.Blocks < 4 {
			t.Errorf("%+v", made)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, text)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("one shape gives two chains")
	}
	if bytes.Equal(files[0], files[2]) {
		t.Error("another seed gives the same chain")
	}
}
