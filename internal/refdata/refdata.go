// Package refdata finds data that the originals made, which is no part of the project: in the
// folder that TARN_REFERENCE_DATA names, or in a folder shared/data beside the checkout or above
// it. It is for tests only.
package refdata

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Path returns where a file or a folder of that name is. Without it the test is skipped.
func Path(t testing.TB, name string) string {
	t.Helper()
	dirs := []string{os.Getenv("TARN_REFERENCE_DATA")}
	for up := ".."; len(up) < 20; up += "/.." {
		dirs = append(dirs, filepath.Join(up, "shared", "data"))
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); dir != "" && err == nil {
			return path
		}
	}
	t.Skipf("no reference data: %s is in none of %q; TARN_REFERENCE_DATA names its folder", name, dirs)
	return ""
}

// Read returns what is in a file, uncompressed if its name ends with .gz.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(name) != ".gz" {
		return b
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return b
}
