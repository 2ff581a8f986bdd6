package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// content is longer than what is copied at once, and no part of it is like another.
func content() []byte {
	b := make([]byte, 9<<20+17)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

func TestARangeOfAFileIsCopied(t *testing.T) {
	mem, all := memfs.New(), content()
	mem.Put("/a", memfs.NewBlob(all))
	in, err := mem.Open("/a", false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, r := range [][2]int64{{0, 0}, {0, 1}, {5, 5}, {5, 4<<20 + 5}, {1, int64(len(all))}, {0, int64(len(all))}} {
		if err := vfs.CopyRange(mem, in, r[0], r[1], "/b"); err != nil ||
			!bytes.Equal(mem.Blob("/b").Bytes(), all[r[0]:r[1]]) {
			t.Errorf("%d: %v", r, err)
		}
	}
	out, err := mem.Open("/b", true)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := vfs.CopyTo(out, 10, in, 100, 120); err != nil ||
		!bytes.Equal(mem.Blob("/b").Bytes(), append(append(bytes.Clone(all[:10]), all[100:120]...), all[30:]...)) {
		t.Errorf("into the middle of a file: %v", err)
	}
	if err := vfs.CopyRange(mem, in, 5, int64(len(all))+1, "/b"); !errors.Is(err, io.ErrUnexpectedEOF) ||
		!strings.Contains(err.Error(), "/b") {
		t.Errorf("beyond the end: %v", err)
	}
}

// A file that moves to another file system is whole under one of its names, at every
// crash and after every call that fails, and another try comes to its end.
func TestAFileThatMovesIsWholeSomewhere(t *testing.T) {
	want := content()
	begin := func(files vfs.FS) {
		for _, dir := range []string{filepath.Dir(file), filepath.Dir(moved)} {
			if err := vfs.MkdirAll(files, dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := vfs.WriteDurably(files, file, want); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(files *memfs.FS) bool {
		for _, path := range []string{file, moved} {
			if b := files.Blob(path); b != nil && bytes.Equal(b.Bytes(), want) {
				return true
			}
		}
		return false
	}
	disk := recordfs.New(memfs.New())
	begin(disk)
	from := disk.Position()
	if err := across(disk); err != nil {
		t.Fatal(err)
	}
	for s := range disk.Recording().States(recordfs.Options{From: from, Count: 200, Seed: 1}) {
		if !whole(s.FS) {
			t.Fatalf("it is lost\n%v", s)
		}
	}
	for nth := 1; ; nth++ {
		mem := memfs.New()
		begin(mem)
		bad := errorfs.New(mem)
		fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.ENOSPC, Part: true})
		err := across(bad)
		if fired() == 0 {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || !whole(mem) {
			t.Errorf("call %d failed: %v", nth, err)
		}
		bad.Clear()
		_ = across(bad) // it may have come to its end, and then there is nothing to move
		if b := mem.Blob(moved); b == nil || !bytes.Equal(b.Bytes(), want) || mem.Blob(file) != nil {
			t.Errorf("call %d failed, and another try does not move it", nth)
		}
	}
}

func TestACopyThatCannotBeMadeLeavesNothing(t *testing.T) {
	mem := memfs.New()
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(moved)} {
		if err := vfs.MkdirAll(mem, dir); err != nil {
			t.Fatal(err)
		}
	}
	mem.Put(file, memfs.NewBlob([]byte("text")))
	bad := errorfs.New(mem)
	bad.Inject(errorfs.Fault{Ops: errorfs.Write, Err: syscall.ENOSPC, Ever: true, Part: true})
	if err := across(bad); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), moved) ||
		!strings.Contains(err.Error(), file) {
		t.Error(err)
	}
	if got := mem.Paths(); len(got) != 1 || got[0] != file {
		t.Errorf("there is %q", got)
	}
}
