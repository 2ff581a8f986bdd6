package page_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs/memfs"
)

// FuzzOpen damages a small store file by a program of 8-byte instructions and
// opens it. Without repaired checksums the outcome must be an error or the exact
// content of an image; with them anything but a panic or a hang.
func FuzzOpen(f *testing.F) {
	v := newVictim(f, 1)
	f.Add([]byte{0, 1, 0, 0, 100, 0, 0, 0})
	f.Add([]byte{1, 2, 4, 0, 7, 0, 0, 0, 4, 2, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{2, 3, 0, 0, 5, 0, 0, 0, 3, 9, 0, 0, 0, 0, 0, 0})
	for p := range v.pages() {
		f.Add([]byte{1, byte(p), 6, 0, 255, 0, 0, 0, 4, byte(p), 0, 0, 0, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		v.t = t
		file, repaired := v.execute(program)
		size := max(int64(len(file)), v.size*int64(len(file)/len(v.file)))
		if repaired {
			v.survive(file, size)
		} else if _, err := v.open(file, size); err != nil {
			t.Error(err)
		}
	})
}

// execute runs a program: kind, page, offset in the page, argument.
func (v *victim) execute(program []byte) (file []byte, repaired bool) {
	file = slices.Clone(v.file)
	for ; len(program) >= 8; program = program[8:] {
		p := int(program[1]) % v.pages()
		at := p*pageBytes + int(binary.LittleEndian.Uint16(program[2:]))%pageBytes
		arg := binary.LittleEndian.Uint32(program[4:])
		switch program[0] % 6 {
		case 0:
			file[at] ^= byte(arg)
		case 1:
			at &^= 3
			binary.LittleEndian.PutUint32(file[at:], arg)
		case 2:
			copy(nth(file, p), nth(v.file, int(arg)%v.pages()))
		case 3:
			copy(nth(file, p), nth(v.older[int(arg)%len(v.older)], p))
		case 4:
			page.Repair(file, p)
			repaired = true
		case 5:
			if arg%64 == 0 {
				return file[:at], repaired
			}
		}
	}
	return file, repaired
}

// survive opens a file whose checksums may lie, and reads and verifies it.
func (v *victim) survive(file []byte, size int64) {
	b := memfs.NewBlob(file)
	b.Truncate(size)
	fs := memfs.New()
	fs.Put(statePath, b)
	e, err := page.Open(page.Options{Dir: storeDir, FS: fs, Mode: page.Heap, LimitBytes: v.limit, GrowBytes: 2 << 20})
	if err != nil {
		return
	}
	defer e.Close()
	e.Verify(func(error) {}) //nolint:errcheck // it must only end
	st, err := revision.Open(e)
	if err != nil {
		return
	}
	for _, im := range v.images {
		match(st, []span{im})                  //nolint:errcheck // it must only end
		equal(st, im.states[len(im.states)-1]) //nolint:errcheck // the same
	}
}
