package genesis

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/klauspost/compress/gzip"

	"tarn/opera/inter"
)

var testHeader = Header{ID: [32]byte{1, 2, 3}, NetworkID: inter.FakeNetwork, NetworkName: "fake"}

func epochRecord(t testing.TB, n inter.Epoch) *inter.EpochRecord {
	t.Helper()
	set, err := inter.NewValidators([]inter.Validator{{ID: 1, Weight: 7}})
	if err != nil {
		t.Fatal(err)
	}
	return &inter.EpochRecord{
		State: inter.EpochContent{
			BlockState: inter.BlockState{LastBlock: inter.BlockInfo{Number: inter.BlockNumber(n) * 10},
				ValidatorStates: []inter.ValidatorBlockState{{Originated: big.NewInt(5)}}},
			EpochState: inter.EpochState{Epoch: n, Validators: set,
				ValidatorStates: make([]inter.ValidatorEpochState, 1), Rules: inter.FakeRules()},
		},
		Epoch: n,
	}
}

func blockRecord(n inter.BlockNumber) *inter.BlockRecord {
	return &inter.BlockRecord{Block: inter.BlockContent{Atropos: inter.EventID{byte(n)}, Time: inter.Timestamp(n)},
		Number: n}
}

// part is a unit of a test's file: what it is called and what writes it.
type part struct {
	name  string
	write func(*UnitWriter) error
}

// writeFile makes a genesis of those parts, with pieces of that many bytes.
func writeFile(t testing.TB, piece uint32, parts ...part) ([]byte, Hashes) {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, testHeader, t.TempDir())
	w.piece = piece
	hashes := Hashes{}
	for _, p := range parts {
		u, err := w.Unit(p.name)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.write(u); err != nil {
			t.Fatal(err)
		}
		if hashes[p.name], err = u.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes(), hashes
}

func epochs(t testing.TB, from, to inter.Epoch) func(*UnitWriter) error {
	return func(u *UnitWriter) error {
		for n := to; n >= from; n-- {
			if err := u.Epoch(epochRecord(t, n)); err != nil {
				return err
			}
		}
		return nil
	}
}

func blocks(from, to inter.BlockNumber) func(*UnitWriter) error {
	return func(u *UnitWriter) error {
		for n := to; n >= from; n-- {
			if err := u.Block(blockRecord(n)); err != nil {
				return err
			}
		}
		return nil
	}
}

func items(list ...Item) func(*UnitWriter) error {
	return func(u *UnitWriter) error {
		for _, it := range list {
			if err := u.Item(it); err != nil {
				return err
			}
		}
		return nil
	}
}

func open(t testing.TB, raw []byte) *File {
	t.Helper()
	f, err := NewFile("x.g", bytes.NewReader(raw), int64(len(raw)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// contents reads everything and returns it in a form that can be compared.
func contents(s Source) (string, error) {
	var out strings.Builder
	for e, err := range s.Epochs() {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "epoch %d %x\n", e.Epoch, e.State.Hash())
	}
	for b, err := range s.Blocks() {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "block %d %x\n", b.Number, b.Block.Hash())
	}
	for it, err := range s.Items() {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "item %x=%x\n", it.Key, it.Value)
	}
	return out.String(), nil
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	item := Item{[]byte("key"), bytes.Repeat([]byte("value"), 100)}
	want := ""
	for n := inter.Epoch(4); n > 0; n-- {
		want += fmt.Sprintf("epoch %d %x\n", n, epochRecord(t, n).State.Hash())
	}
	for n := inter.BlockNumber(30); n > 0; n-- {
		want += fmt.Sprintf("block %d %x\n", n, blockRecord(n).Block.Hash())
	}
	want += fmt.Sprintf("item %x=%x\nitem =\n", item.Key, item.Value)
	for _, piece := range []uint32{1, 7, 100, PieceSize} {
		// Parts stand in any order in the file.
		raw, hashes := writeFile(t, piece,
			part{"brs-1", blocks(11, 30)}, part{"ers", epochs(t, 1, 2)}, part{"evm", items(Item{})},
			part{"brs", blocks(1, 10)}, part{"ers-1", epochs(t, 3, 4)}, part{"evm-1", items(item)},
			part{"notes", func(u *UnitWriter) error { _, err := u.Write([]byte("no section's")); return err }},
		)
		path := filepath.Join(t.TempDir(), "x.g")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		read := map[string]uint64{}
		f, err := Open(path, Options{Progress: func(unit string, done, size uint64) { read[unit] = size - done }})
		if err != nil {
			t.Fatal(err)
		}
		if f.Header() != testHeader || f.Hashes().String() != hashes.String() {
			t.Errorf("header %v, hashes %v, want %v, %v", f.Header(), f.Hashes(), testHeader, hashes)
		}
		if got, err := contents(f); err != nil || got != want {
			t.Errorf("pieces of %d: read\n%swant\n%s%v", piece, got, want, err)
		}
		if err := f.Verify(); err != nil {
			t.Error(err)
		}
		for _, u := range f.units {
			if left, ok := read[u.Name]; !ok || left != 0 {
				t.Errorf("%s: %d bytes were not reported as read", u.Name, left)
			}
		}
		for e, err := range f.Epochs() { // a loop may end early
			if err != nil || e.Epoch != 4 {
				t.Errorf("the first epoch is %v: %v", e, err)
			}
			break
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The roots of contents that go-opera's own test has (genesisstore/fileshash).
func TestRootsAreGoOperas(t *testing.T) {
	for _, c := range []struct {
		content string
		piece   uint32
		want    string
	}{
		{"\x00", 1, "bdda25ac486f2b8c0330a6fcace8f3d05d3e713b7920a39a1f60c0d8df024c0e"},
		{"\x00", 2, "f2b22424f7d1d01467d650f18ad49df8929fbefdeefe95e868d52eec6ea399e1"},
		{"", 1, "9cbc73d18d70c94fe366e696035c4f2cffdbab7ea6d6c2c039ca185f9c9f2746"},
		{"", 2, "163e7f66d58036ccb1d0b0058d8f46e7cd639816f570e5eb32853ea73634e4cd"},
	} {
		_, hashes := writeFile(t, c.piece, part{"x", func(u *UnitWriter) error {
			_, err := u.Write([]byte(c.content))
			return err
		}})
		if got := fmt.Sprintf("%x", hashes["x"]); got != c.want {
			t.Errorf("%q in pieces of %d has the root %s, want %s", c.content, c.piece, got, c.want)
		}
	}
}

// Each byte of a file, changed, is an error that names file and place, or changes
// nothing that is read.
func TestDamageIsFoundAndPlaced(t *testing.T) {
	raw, _ := writeFile(t, 64, part{"ers", epochs(t, 1, 2)}, part{"brs", blocks(1, 3)},
		part{"evm", items(Item{[]byte("k"), []byte("v")})})
	good, err := contents(open(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 1 << (i % 8)
		f, err := NewFile("x.g", bytes.NewReader(bad), int64(len(bad)), Options{})
		var got string
		if err == nil {
			got, err = contents(f)
		}
		var placed *Error
		switch {
		case err == nil && got != good && len(f.units) == 3 && names(f) == "ers brs evm":
			t.Fatalf("byte %d changed: other contents and no error", i)
		case err != nil && (!errors.As(err, &placed) || placed.File != "x.g"):
			t.Fatalf("byte %d changed: the error has no place: %v", i, err)
		case err != nil:
			found++
		}
	}
	if found < len(raw)/2 {
		t.Errorf("only %d of %d changed bytes were noticed", found, len(raw))
	}
	for n := range raw {
		f, err := NewFile("x.g", bytes.NewReader(raw[:n]), int64(n), Options{})
		if err == nil && len(f.units) == 3 {
			t.Fatalf("cut after %d of %d bytes: no error", n, len(raw))
		}
	}
}

func names(f *File) string {
	list := []string{}
	for _, u := range f.units {
		list = append(list, u.Name)
	}
	return strings.Join(list, " ")
}

// handmade makes a unit whose body is what the test likes.
func handmade(t testing.TB, name string, header Header, sum [32]byte, body []byte) []byte {
	t.Helper()
	head, err := rlp.EncodeToBytes(unitHeader{name, header})
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	if _, err := zip.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	raw := slices.Concat([]byte(intro), head, sum[:])
	raw = binary.BigEndian.AppendUint64(raw, uint64(zipped.Len()))
	raw = binary.BigEndian.AppendUint64(raw, uint64(len(body)))
	return append(raw, zipped.Bytes()...)
}

// content makes a body whose hashes are right.
func body(piece uint32, content []byte) (sum [32]byte, raw []byte) {
	u := &UnitWriter{w: &Writer{piece: piece}, left: piece, sum: sha256.New(), zip: gzip.NewWriter(io.Discard)}
	if _, err := u.Write(content); err != nil {
		return sum, nil
	}
	if u.left < piece {
		u.endPiece()
	}
	raw = binary.BigEndian.AppendUint32(nil, piece)
	raw = binary.BigEndian.AppendUint64(raw, uint64(len(content)))
	return root(piece, uint64(len(content)), u.hashes), slices.Concat(raw, u.hashes, content)
}

func TestUnitsThatMayNotStandTogetherAreRefused(t *testing.T) {
	sum, raw := body(8, nil)
	other := testHeader
	other.NetworkName = "fake2"
	version := bytes.Replace(handmade(t, "ers", testHeader, sum, raw), []byte(intro),
		[]byte("\x64\x1b\x00\xac\x00\x02\x00\x02"), 1)
	ers, brs := handmade(t, "ers", testHeader, sum, raw), handmade(t, "brs", testHeader, sum, raw)
	for _, c := range []struct {
		what string
		file []byte
		want error
	}{
		{"a unit twice", slices.Concat(ers, brs, ers), ErrDuplicate},
		{"another header", slices.Concat(ers, handmade(t, "brs", other, sum, raw)), ErrHeader},
		{"no name", handmade(t, "", testHeader, sum, raw), ErrMalformed},
		{"another version", version, ErrVersion},
		{"bytes behind the last unit", slices.Concat(ers, []byte("\x64\x1b")), ErrNotGenesis},
		{"no unit", nil, ErrNotGenesis},
		{"a body cut short", ers[:len(ers)-1], ErrTruncated},
	} {
		_, err := NewFile("x.g", bytes.NewReader(c.file), int64(len(c.file)), Options{})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}

func TestContentsThatLieAreRefused(t *testing.T) {
	sum, raw := body(8, []byte("0123456789abcdef!"))
	lie := func(at int, with ...byte) []byte {
		b := bytes.Clone(raw)
		copy(b[at:], with)
		return b
	}
	large := binary.BigEndian.AppendUint32(nil, memoryLimit)
	many := append(binary.BigEndian.AppendUint32(nil, 1), 0, 0, 0, 1, 0, 0, 0, 0)
	keys := binary.BigEndian.AppendUint32(nil, 1<<31)
	keySum, keyBody := body(8, keys)
	listSum, listBody := body(8, []byte{0xfb, 0x7f, 0xff, 0xff, 0xff, 0})
	for _, c := range []struct {
		what, unit string
		sum        [32]byte
		body       []byte
		want       error
	}{
		{"a piece", "notes", sum, lie(len(raw)-1, '?'), ErrPiece},
		{"a hash", "notes", sum, lie(12, 0), ErrRoot},
		{"a size", "notes", sum, lie(11, 16), ErrRoot},
		{"pieces of no bytes", "notes", sum, lie(0, 0, 0, 0, 0), ErrMalformed},
		{"a piece too large", "notes", sum, append(large, raw[4:]...), ErrTooLarge},
		{"too many pieces", "notes", sum, many, ErrTooLarge},
		{"an end too soon", "notes", sum, raw[:len(raw)-1], ErrTruncated},
		{"hashes that are not there", "notes", sum, raw[:40], ErrTruncated},
		{"a key too large", "evm", keySum, keyBody, ErrTooLarge},
		{"a record too large", "ers", listSum, listBody, ErrTooLarge},
	} {
		f := open(t, handmade(t, c.unit, testHeader, c.sum, c.body))
		_, err := contents(f)
		if c.unit == "notes" {
			err = f.Verify()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}

func TestAUnitThatIsGivenUpIsNotWritten(t *testing.T) {
	folder := t.TempDir()
	var out bytes.Buffer
	w := NewWriter(&out, testHeader, folder)
	whole, err := w.Unit("ers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	u, err := w.Unit("evm")
	if err == nil {
		err = errors.Join(u.Item(Item{}), u.Discard())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := names(open(t, out.Bytes())); got != "ers" {
		t.Errorf("the file has the units %s", got)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// A unit of any size takes the memory of a piece.
func TestMemoryIsThatOfAPiece(t *testing.T) {
	const size = 96 << 20
	value := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	raw, _ := writeFile(t, 1<<20, part{"evm", func(u *UnitWriter) error {
		for range size / len(value) {
			if err := u.Item(Item{[]byte("k"), value}); err != nil {
				return err
			}
		}
		return nil
	}})
	f := open(t, raw)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, most := 0, uint64(0)
	for _, err := range f.Items() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%500 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	}
	if n != size/len(value) || most > 8<<20 {
		t.Errorf("%d items read with %d bytes of memory", n, most)
	}
}

func TestKnownFilesAreRecognized(t *testing.T) {
	list, err := KnownFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 19 {
		t.Errorf("%d files are known", len(list))
	}
	for _, k := range list {
		if name, ok, err := Recognize(k.Header, k.Hashes); err != nil || !ok || name != k.Name {
			t.Errorf("%s is recognized as %q, %v: %v", k.Name, name, ok, err)
		}
		delete(k.Hashes, "brs")
		delete(k.Hashes, "brs-1")
		if name, ok, _ := Recognize(k.Header, k.Hashes); ok {
			t.Errorf("%s without its blocks is %s", k.Name, name)
		}
	}
}

func FuzzFile(f *testing.F) {
	raw, _ := writeFile(f, 64, part{"ers", epochs(f, 1, 1)}, part{"brs", blocks(1, 2)},
		part{"evm", items(Item{[]byte("k"), []byte("v")})})
	f.Add(raw)
	sum, some := body(8, []byte{0xc1, 0x80})
	f.Add(handmade(f, "brs", testHeader, sum, some))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := NewFile("x.g", bytes.NewReader(raw), int64(len(raw)), Options{})
		if err != nil {
			return
		}
		_, errRead := contents(file)
		errVerify := file.Verify()
		if errRead == nil && errVerify == nil && len(file.units) == 0 {
			t.Error("a file without units is read")
		}
	})
}

// FuzzContent lets hashes be right, so that what the units hold is reached.
func FuzzContent(f *testing.F) {
	raw, err := rlp.EncodeToBytes(epochRecord(f, 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("ers", raw)
	if raw, err = rlp.EncodeToBytes(blockRecord(1)); err != nil {
		f.Fatal(err)
	}
	f.Add("brs", raw)
	f.Add("evm", []byte("\x00\x00\x00\x01k\x00\x00\x00\x01v"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		sum, raw := body(16, content)
		if name == "" {
			return
		}
		if _, err := contents(open(t, handmade(t, name, testHeader, sum, raw))); err != nil {
			var placed *Error
			if !errors.As(err, &placed) || placed.Unit != name {
				t.Errorf("the error has no place: %v", err)
			}
		}
	})
}
