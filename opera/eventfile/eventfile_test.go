package eventfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestEventsComeBack(t *testing.T) {
	events := [][]byte{{1, 2}, {0x80}, bytes.Repeat([]byte{7}, 100), bytes.Repeat([]byte{8}, 1<<17)}
	for _, name := range []string{"events", "events.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if err := w.Write(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range events {
			if got, err := r.Next(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: event %d has %d bytes, want %d: %v", name, i, len(got), len(want), err)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatIsNoFileOfEventsIsSaid(t *testing.T) {
	for _, content := range []string{"", "\x7e\x99", "\x7e\x99\x56\x78\x00\x01\x00\x02",
		header + "\xc0", header + "\x83ab", header + "\xba\xff\xff\xff"} {
		path := filepath.Join(t.TempDir(), "events")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if len(content) <= len(header) {
			if !errors.Is(err, ErrNotEvents) {
				t.Errorf("%x: %v", content, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%x: %v", content, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
