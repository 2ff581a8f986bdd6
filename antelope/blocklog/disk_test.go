package blocklog

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"syscall"
	"testing"

	"tarn/store/vfs"
)

// twoDisks is a file system with a directory on another disk, where so many bytes fit.
type twoDisks struct {
	testFS
	other string
	left  *int64
}

func (d twoDisks) on(p string) bool { return strings.HasPrefix(path.Clean(p), d.other) }

func (d twoDisks) Rename(from, to string) error {
	if d.on(from) != d.on(to) {
		return syscall.EXDEV
	}
	return d.testFS.Rename(from, to)
}

func (d twoDisks) Create(p string) (vfs.File, error) {
	f, err := d.testFS.Create(p)
	if err == nil && d.on(p) {
		f = boundedFile{f, d.left}
	}
	return f, err
}

type boundedFile struct {
	vfs.File
	left *int64
}

func (f boundedFile) WriteAt(b []byte, at int64) (int, error) {
	n := min(int64(len(b)), *f.left)
	*f.left -= n
	if _, err := f.File.WriteAt(b[:n], at); err != nil {
		return 0, err
	}
	if n < int64(len(b)) {
		return int(n), syscall.ENOSPC
	}
	return len(b), nil
}

// A partition that is copied to another disk is never lost, though that disk is full in
// the middle of it, for a while.
func TestPartitionsMoveToAnotherDisk(t *testing.T) {
	for name, set := range map[string]func(*Options){
		"archive":  func(o *Options) { o.MaxRetainedFiles, o.ArchiveDir = ptr(uint32(1)), ptr("/other") },
		"retained": func(o *Options) { o.RetainedDir = ptr("/other") },
	} {
		for left := int64(0); left < 8000; left += 400 {
			t.Run(fmt.Sprintf("%s/%d", name, left), func(t *testing.T) { moveToAnotherDisk(t, set, left) })
		}
	}
}

func moveToAnotherDisk(t *testing.T, set func(*Options), left int64) {
	disks := twoDisks{memory(), "/other", &left}
	o := testOptions(disks)
	o.Stride = ptr(uint32(10))
	set(&o)
	l := mustOpen(t, o)
	c := newChain(newRand(t), 1)
	all := begin(t, l, c)
	var err error
	for err == nil && c.last.num < 60 {
		all = append(all, c.next(500))
		last := all[len(all)-1]
		err = l.Append(last.num, last.id, last.data)
	}
	if err == nil {
		t.Fatal("the disk was not full")
	}
	_ = l.Close()
	left = 1 << 30
	l = mustOpen(t, o)
	head, _, _ := l.Head()
	for _, s := range all[head:] {
		must(t, l.Append(s.num, s.id, s.data))
	}
	for c.last.num < 60 {
		all = append(all, c.next(500))
		last := all[len(all)-1]
		must(t, l.Append(last.num, last.id, last.data))
	}
	must(t, l.Close())
	var files []byte
	for _, p := range disks.mem.Paths() {
		if strings.HasSuffix(p, vfs.NewSuffix) {
			t.Errorf("%s is left", p)
		}
		files = append(files, disks.mem.Blob(p).Bytes()...)
	}
	for _, s := range all {
		if !bytes.Contains(files, s.data) {
			t.Errorf("block %d is lost", s.num)
		}
	}
	l = mustOpen(t, o)
	must(t, check(l, all[l.First()-1:]))
	must(t, l.Close())
}

// Blocks are taken back also where the partition that has the last of them lies on another disk.
func TestAPartitionComesBackFromAnotherDisk(t *testing.T) {
	left := int64(1 << 30)
	o := testOptions(twoDisks{memory(), "/other", &left})
	o.Stride, o.RetainedDir = ptr(uint32(10)), ptr("/other")
	l, c, all := produce(t, o, 35)
	must(t, l.Truncate(15))
	must(t, check(l, all[:15]))
	c.last = all[14]
	all = append(all[:15:15], add(t, l, c, 20, 50)...)
	must(t, l.Close())
	l = mustOpen(t, o)
	must(t, check(l, all))
	must(t, l.Close())
}
