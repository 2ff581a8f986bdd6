package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

const (
	upper = "/upper"
	file  = upper + "/folder/file"
	moved = upper + "/other/file"
)

// steps are what is done to files, each with what must be there from then on:
// the content of the two names, "" for none.
var steps = []struct {
	name string
	do   func(files vfs.FS) error
	want [2]string
}{
	{"nothing", func(vfs.FS) error { return nil }, [2]string{}},
	{"folder", func(files vfs.FS) error { return vfs.MkdirAll(files, filepath.Dir(file)) }, [2]string{}},
	{"write", func(files vfs.FS) error { return vfs.WriteDurably(files, file, []byte("first")) }, [2]string{"first"}},
	{"write again", func(files vfs.FS) error { return vfs.WriteDurably(files, file, []byte("second")) }, [2]string{"second"}},
	{"other folder", func(files vfs.FS) error { return vfs.MkdirAll(files, filepath.Dir(moved)) }, [2]string{"second"}},
	{"rename", func(files vfs.FS) error { return vfs.RenameDurably(files, file, moved) }, [2]string{"", "second"}},
	{"write beside it", func(files vfs.FS) error { return vfs.WriteDurably(files, file, []byte("third")) }, [2]string{"third", "second"}},
	{"remove", func(files vfs.FS) error { return vfs.RemoveDurably(files, file) }, [2]string{"", "second"}},
	{"remove what is not there", func(files vfs.FS) error { return vfs.RemoveDurably(files, file) }, [2]string{"", "second"}},
	{"move", func(files vfs.FS) error { return vfs.MoveDurably(files, moved, file) }, [2]string{"second"}},
	{"move to another file system", across, [2]string{"", "second"}},
}

// across moves a file as if its new name were on another file system.
func across(files vfs.FS) error {
	other := errorfs.New(files)
	other.Inject(errorfs.Fault{Ops: errorfs.Rename, Err: syscall.EXDEV})
	return vfs.MoveDurably(other, file, moved)
}

// findFiles is what the two names have; a file without bytes is not what "" stands for.
func findFiles(t *testing.T, files *memfs.FS) [2]string {
	t.Helper()
	var got [2]string
	for i, path := range [2]string{file, moved} {
		if b := files.Blob(path); b != nil {
			got[i] = string(b.Bytes())
			if got[i] == "" {
				got[i] = "an empty file"
			}
		}
	}
	return got
}

// between tells whether each name has what it had before a step or has after it. A
// rename into another folder is allowed to be seen in either folder first.
func between(got, before, after [2]string) bool {
	for i := range got {
		if got[i] != before[i] && got[i] != after[i] {
			return false
		}
	}
	return true
}

func TestWhatWasMadeDurableIsThereAfterAnyCrash(t *testing.T) {
	disk := recordfs.New(memfs.New())
	ends := make([]int, len(steps))
	for i, s := range steps {
		if err := s.do(disk); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		ends[i] = disk.Position()
	}
	states, step := 0, 0
	for s := range disk.Recording().States(recordfs.Options{Count: 5000, Seed: 1}) {
		states++
		for step+1 < len(steps) && s.At >= ends[step+1] {
			step++
		}
		after := steps[step].want
		if step+1 < len(steps) {
			after = steps[step+1].want
		}
		if got := findFiles(t, s.FS); !between(got, steps[step].want, after) {
			t.Fatalf("after %q: found %q, want %q or %q\n%v", steps[step].name, got, steps[step].want, after, s)
		}
		// Who comes after the crash makes what is missing, and can rely on it.
		again := recordfs.New(s.FS)
		if err := vfs.MkdirAll(again, filepath.Dir(file)); err != nil {
			t.Fatalf("%v\n%v", err, s)
		}
		if err := vfs.WriteDurably(again, file, []byte("again")); err != nil {
			t.Fatalf("%v\n%v", err, s)
		}
	}
	if states < 100 {
		t.Errorf("%d states", states)
	}
}

// A folder whose maker was killed before its name was durable is found by the next
// process: what that one keeps in it must be there after a power cut.
func TestAFolderThatAKilledProcessMadeBecomesDurable(t *testing.T) {
	disk := recordfs.New(memfs.New())
	for _, dir := range []string{upper, filepath.Dir(file)} {
		if err := disk.Mkdir(dir); err != nil {
			t.Fatal(err)
		}
		if dir == upper {
			if err := disk.SyncDir("/"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := vfs.MkdirAll(disk, filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteDurably(disk, file, []byte("text")); err != nil {
		t.Fatal(err)
	}
	for s := range disk.Recording().States(recordfs.Options{From: disk.Position(), Count: 100, Seed: 1}) {
		if got := findFiles(t, s.FS); got[0] != "text" {
			t.Fatalf("found %q\n%v", got, s)
		}
	}
}

func TestACallThatFailsIsAnErrorAndLeavesTheOldOrTheNew(t *testing.T) {
	for i, s := range steps[1:] {
		before := steps[i].want
		for nth := 1; ; nth++ {
			mem := memfs.New()
			bad := errorfs.New(mem)
			for _, earlier := range steps[:i+1] {
				if err := earlier.do(bad); err != nil {
					t.Fatal(err)
				}
			}
			fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.EIO, Part: true})
			err := s.do(bad)
			if fired() == 0 {
				break
			}
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: call %d failed, and the error is %v", s.name, nth, err)
			}
			if got := findFiles(t, mem); !between(got, before, s.want) {
				t.Errorf("%s: call %d failed, and there is %q", s.name, nth, got)
			}
			bad.Clear()
			if err := s.do(bad); err != nil && !((s.name == "rename" || strings.HasPrefix(s.name, "move")) &&
				errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("%s: call %d failed, and then: %v", s.name, nth, err)
			}
			if got := findFiles(t, mem); got != s.want {
				t.Errorf("%s: call %d failed, done again there is %q", s.name, nth, got)
			}
		}
	}
}

// A folder that was given to us may lie in one that only others may open.
func TestAFolderBelowOneThatMayNotBeOpenedIsTaken(t *testing.T) {
	mem := memfs.New()
	if err := vfs.MkdirAll(mem, filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	bad := errorfs.New(mem)
	bad.Inject(errorfs.Fault{Ops: errorfs.SyncDir, Ever: true, Err: syscall.EACCES})
	if err := vfs.MkdirAll(bad, filepath.Dir(file)); err != nil {
		t.Error(err)
	}
	if err := vfs.MkdirAll(bad, filepath.Dir(moved)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a new folder whose name is not durable: %v", err)
	}
}

func TestTheMachinesOwnFileSystemDoesTheSame(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a", "b", "file")
	if err := vfs.MkdirAll(vfs.OS, filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "second"} {
		if err := vfs.WriteDurably(vfs.OS, path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(root, "a", "other")
	if err := vfs.RenameDurably(vfs.OS, path, to); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(to); err != nil || string(b) != "second" {
		t.Errorf("%q, %v", b, err)
	}
	for range 2 {
		if err := vfs.RemoveDurably(vfs.OS, to); err != nil {
			t.Error(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(root, "a", "*"))
	if want := fmt.Sprint([]string{filepath.Join(root, "a", "b")}); err != nil || fmt.Sprint(left) != want {
		t.Errorf("left %v, %v", left, err)
	}
}
