// Package logrepairtest tries what mends the files of a history: whole, and cut short by a kill or
// a power cut. It owns what a repair promises, whatever the files are. It never damages them:
// that is for the test that knows what they hold. It is for tests only.
package logrepairtest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/logfinding"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// Verify reads all files through a layer over the disk that has them, and returns what it finds.
type Verify func(files vfs.FS, disk *memfs.FS) []logfinding.Finding

// Mend makes all that mends findings, as `tarn history repair` does, and tells how many it made.
func Mend(t testing.TB, list []logfinding.Finding) (made int) {
	t.Helper()
	for _, f := range list {
		if f.Mend == nil {
			continue
		}
		if err := f.Mend.Do(); err != nil {
			t.Fatalf("%v: %s: %v", f, f.Mend.What, err)
		}
		made++
	}
	return made
}

// Mendable tells whether something mends one of the findings.
func Mendable(list []logfinding.Finding) bool {
	return slices.ContainsFunc(list, func(f logfinding.Finding) bool { return f.Mend != nil })
}

// Told are findings as text, with what mends them.
func Told(list []logfinding.Finding) (text []string) {
	for _, f := range list {
		s := "\n" + f.String()
		if f.Mend != nil {
			s += " => " + f.Mend.What
		}
		text = append(text, s)
	}
	return text
}

// CutShort repairs the files of a disk. Then nothing is left that can be mended; and if a kill
// or a power cut had ended the repair at any write, the next one would have come to the same
// files. Damage tells what was done to the files. It returns what the repair found, and how
// much of that it mended.
func CutShort(
	t testing.TB, disk *memfs.FS, verify Verify, seed uint64, damage []string,
) (found []logfinding.Finding, mended int) {
	t.Helper()
	record := recordfs.New(disk)
	if err := record.Adopt(disk.Paths()...); err != nil {
		t.Fatal(err)
	}
	from := record.Position()
	found = verify(record, disk)
	mended = Mend(t, found)
	if left := verify(record, disk); Mendable(left) {
		t.Fatalf("%v\nfound %v\nand when that was mended %v", damage, Told(found), Told(left))
	}
	for st := range record.Recording().States(recordfs.Options{From: from, Count: 60, Seed: seed}) {
		again := verify(st.FS, st.FS)
		Mend(t, again)
		if odd := differing(disk, st.FS); len(odd) > 0 {
			t.Fatalf("%v\nfirst found %v\nthen %v\nother than without the crash: %v\n%v",
				damage, Told(found), Told(again), odd, st)
		}
	}
	return found, mended
}

// differing names the files that are not the same on two disks, or only on one, but for what is
// left of those that were not finished.
func differing(a, b *memfs.FS) (paths []string) {
	all := append(a.Paths(), b.Paths()...)
	slices.Sort(all)
	for _, p := range slices.Compact(all) {
		if strings.HasSuffix(p, vfs.NewSuffix) {
			continue
		}
		x, y := a.Blob(p), b.Blob(p)
		if x == nil || y == nil || !bytes.Equal(x.Bytes(), y.Bytes()) {
			paths = append(paths, p)
		}
	}
	return paths
}
