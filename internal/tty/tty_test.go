package tty

import (
	"bytes"
	"os"
	"testing"
)

func TestOnlyATerminalIsOne(t *testing.T) {
	if Is(&bytes.Buffer{}) || Is(nil) || Is((*os.File)(nil)) {
		t.Error("what is no file is a terminal")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if Is(null) {
		t.Errorf("%s is a terminal", os.DevNull)
	}
	if err := null.Close(); err != nil || Is(null) {
		t.Errorf("a closed file is a terminal, or %v", err)
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals: %v", err)
	}
	defer terminal.Close()
	if !Is(terminal) {
		t.Error("a pseudo terminal is none")
	}
}
