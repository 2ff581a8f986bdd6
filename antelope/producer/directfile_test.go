package producer

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that is written to in pieces, and changed in places that may be on the disk
// already, is what a slice would be, past the page cache and through it.
func TestDirectFile(t *testing.T) {
	for _, cached := range []bool{false, true} {
		for seed := range uint64(6) {
			directRun(t, seed, cached)
		}
	}
}

func directRun(t *testing.T, seed uint64, cached bool) {
	rng := rand.New(rand.NewPCG(seed, 5))
	path := filepath.Join(t.TempDir(), "file")
	d, err := createDirect(path)
	if err != nil {
		t.Fatal(err)
	}
	if d.direct == nil {
		t.Logf("no way past the page cache here")
	} else if cached {
		d.direct.Close()
		d.direct = nil
	}
	var want []byte
	pos := 0
	for range 40 {
		b := make([]byte, rng.IntN(1<<(1+rng.IntN(20))))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		if n, err := d.Write(b); n != len(b) || err != nil {
			t.Fatalf("seed %d: wrote %d of %d bytes: %v", seed, n, len(b), err)
		}
		want = append(want[:pos], append(b, want[min(pos+len(b), len(want)):]...)...)
		pos += len(b)
		switch rng.IntN(3) {
		case 0:
			pos = rng.IntN(len(want) + 1)
			_, err = d.Seek(int64(pos), io.SeekStart)
		case 1:
			pos = len(want)
			_, err = d.Seek(0, io.SeekEnd)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Seek(int64(len(want)+1), io.SeekStart); err == nil {
		t.Error("sought beyond the end")
	}
	if err := errors.Join(d.commit(), d.close()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("seed %d, cached %v: the file has %d bytes, other than the %d that were written",
			seed, cached, len(got), len(want))
	}
}

// What the file refuses is said, at the latest by commit.
func TestDirectFileSaysWhatFailed(t *testing.T) {
	for _, size := range []int{100, 9 * directPart} {
		d, err := createDirect(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		d.file.Close()
		if d.direct != nil {
			d.direct.Close()
		}
		_, err = d.Write(make([]byte, size))
		if size > directPart && !errors.Is(err, os.ErrClosed) {
			t.Errorf("nine parts were taken: %v", err)
		}
		if err := d.commit(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("commit: %v", err)
		}
		d.close()
	}
	if _, err := createDirect(filepath.Join(t.TempDir(), "no", "file")); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("a file in no folder: %v", err)
	}
}

// A file that is given up before anything was written.
func TestDirectFileIsGivenUp(t *testing.T) {
	for range 100 {
		d, err := createDirect(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
}
