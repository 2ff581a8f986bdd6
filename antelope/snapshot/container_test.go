package snapshot

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// blob is a row of any length.
type blob []byte

func (r *blob) Append(b []byte) []byte     { return serial.AppendBytes(b, *r) }
func (r *blob) AppendJSON(b []byte) []byte { return b }
func (r *blob) Read(s *serial.Reader)      { *r = s.Bytes() }

// container writes sections of blobs.
func container(t testing.TB, names []string, rows map[string][]blob) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("before"); err != nil { // a snapshot starts where the file stands
		t.Fatal(err)
	}
	w, err := NewWriter(f)
	for _, name := range names {
		err = errors.Join(err, w.Begin(name))
		for _, row := range rows[name] {
			err = errors.Join(err, w.Row(&row))
		}
		err = errors.Join(err, w.End())
	}
	if err = errors.Join(err, w.Finish()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimPrefix(b, []byte("before"))
}

func open(b []byte) (*Reader, error) { return NewReader(bytes.NewReader(b), int64(len(b))) }

func TestRowsOfAllSizesComeBack(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	names := []string{"small", "large", "none", "mixed"}
	rows := map[string][]blob{}
	fill := func(name string, n, size int) {
		for range n {
			row := make(blob, rng.IntN(size))
			for i := range row {
				row[i] = byte(rng.Uint32())
			}
			rows[name] = append(rows[name], row)
		}
	}
	fill("small", 3000, 40)
	fill("large", 4, 5*window)
	fill("mixed", 400, 8000)
	fill("mixed", 2, 2*window)
	fill("mixed", 400, 8000)
	b := container(t, names, rows)
	r, err := open(append(b, "what follows is ignored"...))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.names(); !slices.Equal(got, names) {
		t.Errorf("sections %s", got)
	}
	for _, name := range []string{"mixed", "small", "none", "large"} {
		s, err := r.Section(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != uint64(len(rows[name])) || s.name != name {
			t.Errorf("section %s has %d rows", s.name, s.Len())
		}
		for i, want := range rows[name] {
			var got blob
			if err := s.Next(&got); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d: row %d of %s: %v", seed, i, name, err)
			}
		}
		if s.More() || s.Close() != nil {
			t.Errorf("section %s does not end: %v", name, s.Close())
		}
		if err := s.Next(new(blob)); !exception.Is(err, exception.Snapshot) {
			t.Errorf("a row more: %v", err)
		}
	}
	if _, err := r.Section("other"); !exception.Is(err, exception.Snapshot) {
		t.Errorf("no such section: %v", err)
	}
}

func TestContainersThatAreDamagedAreRefused(t *testing.T) {
	whole := container(t, []string{"first", "second"},
		map[string][]blob{"first": {blob("ab"), blob("c")}, "second": {blob("d")}})
	if _, err := open(whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := open(whole[:n]); !exception.Is(err, exception.Snapshot) {
			t.Errorf("cut off after %d bytes: %v", n, err)
		}
	}
	change := func(at int, to byte) []byte {
		b := bytes.Clone(whole)
		b[at] = to
		return b
	}
	for name, b := range map[string][]byte{
		"magic":                change(0, 1),
		"version":              change(4, 2),
		"size of a section":    change(8, 0xff),
		"no room for the name": change(8, 8),
		"number of rows":       change(17, 1),
		"no name":              bytes.ReplaceAll(whole, []byte("second\x00"), []byte("second!")),
	} {
		if _, err := open(b); !exception.Is(err, exception.Snapshot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := append([]byte(nil), whole[:8]...)
	for range maxSections + 2 {
		many = append(many, "\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00a\x00"...)
	}
	if _, err := open(append(many, whole[len(whole)-8:]...)); !exception.Is(err, exception.Snapshot) {
		t.Errorf("too many sections: %v", err)
	}
	broken := errors.New("broken disk")
	if _, err := NewReader(failing{broken}, 100); !errors.Is(err, broken) {
		t.Errorf("a disk that fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }
func (f failing) Write([]byte) (int, error)         { return 0, f.err }
func (f failing) Seek(int64, int) (int64, error)    { return 0, f.err }

func TestRowsThatDoNotFitTheirSectionAreRefused(t *testing.T) {
	section := func(b []byte) *Section {
		t.Helper()
		r, err := open(b)
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Section("name")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	b := container(t, []string{"name"}, map[string][]blob{"name": {blob("ab"), blob("c")}})
	at := bytes.Index(b, []byte("name\x00")) + 5

	longer := bytes.Clone(b)
	longer[at+3] = 7
	s := section(longer)
	if err := s.Next(new(blob)); err != nil || s.Offset() != int64(at+3) {
		t.Fatalf("offset %d, want %d: %v", s.Offset(), at+3, err)
	}
	if err := s.Close(); !exception.Is(err, exception.Snapshot) {
		t.Errorf("closed with a row left: %v", err)
	}
	err := s.Next(new(blob))
	if !exception.Is(err, exception.Snapshot) || !errors.Is(err, serial.ErrShort) ||
		!strings.Contains(err.Error(), "offset") {
		t.Errorf("a row that ends after its section: %v", err)
	}
	shorter := bytes.Clone(b)
	shorter[at+3] = 0
	s = section(shorter)
	if err := errors.Join(s.Next(new(blob)), s.Next(new(blob))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !exception.Is(err, exception.Snapshot) {
		t.Errorf("bytes after the last row: %v", err)
	}
}

func TestWritingStopsAtTheFirstFailure(t *testing.T) {
	full := errors.New("disk full")
	w, err := NewWriter(failing{full})
	if err != nil {
		t.Fatal(err) // only buffered so far
	}
	if err := w.Begin("a"); err != nil {
		t.Fatal(err)
	}
	if err := w.Begin("b"); !exception.Is(err, exception.Snapshot) {
		t.Errorf("a section in a section: %v", err)
	}
	if err := w.End(); !errors.Is(err, full) {
		t.Errorf("end of the section: %v", err)
	}
	if err := w.Finish(); !errors.Is(err, full) {
		t.Errorf("end: %v", err)
	}
	j := NewJSON(failing{full})
	if err := j.Finish(); !errors.Is(err, full) {
		t.Errorf("end of JSON: %v", err)
	}
	var _ io.WriteSeeker = failing{}
}

// rowsOf returns a reader for the rows of each section.
func rowsOf(version uint32) map[string]func() readable {
	return map[string]func() readable{
		versionSection: func() readable { return new(versionRow) },
		headerSection: func() readable {
			if version >= SpringVersion {
				return new(headRow)
			}
			return headerRow{new(consensus.HeaderState), version == 2}
		},
		genesisSection:        func() readable { return new(types.Genesis) },
		accountSection:        func() readable { return new(accountRow) },
		metadataSection:       func() readable { return new(metadataRow) },
		correctionSection:     func() readable { return new(correctionRow) },
		globalSection:         func() readable { return &globalRow{version: version} },
		protocolSection:       func() readable { return new(protocolRow) },
		dynamicSection:        func() readable { return new(dynamicRow) },
		summarySection:        func() readable { return new(summaryRow) },
		transactionSection:    func() readable { return new(transactionRow) },
		deferredSection:       func() readable { return deferredRow{new(state.Deferred)} },
		codeSection:           func() readable { return new(codeRow) },
		permissionSection:     func() readable { return new(permissionRow) },
		linkSection:           func() readable { return new(linkRow) },
		limitsSection:         func() readable { return new(limitsRow) },
		usageSection:          func() readable { return new(usageRow) },
		resourceStateSection:  func() readable { return new(resourceStateRow) },
		resourceConfigSection: func() readable { return new(resourceConfigRow) },
		"table":               func() readable { return new(tableRow) },
		"count":               func() readable { return new(countRow) },
		"value":               func() readable { return new(valueRow) },
		"index":               func() readable { return &indexRow{kind: state.Index256} },
	}
}

// What can be read can be written, and is read again as the same.
func FuzzRows(f *testing.F) {
	names := []string{
		versionSection, headerSection, accountSection, metadataSection, correctionSection, globalSection,
		protocolSection, dynamicSection, summarySection, transactionSection, deferredSection, codeSection,
		permissionSection, linkSection, limitsSection, usageSection, resourceStateSection, resourceConfigSection,
		"table", "count", "value", "index",
	}
	g := types.DefaultGenesis()
	f.Add(uint8(1), uint8(4), consensus.Genesis(&g).Append(nil))
	f.Add(uint8(2), uint8(4), (&accountRow{name: 1, abi: []byte("abc")}).Append(nil))
	f.Add(uint8(5), uint8(4), state.GlobalProperty{Wasm: types.DefaultWasmConfig()}.Append(nil))
	f.Add(uint8(5), uint8(0), append([]byte{0, 0, 0, 0, 0, 0}, types.DefaultChainConfig().AppendV0(nil)...))
	f.Add(uint8(12), uint8(4), (&permissionRow{}).Append(nil))
	f.Fuzz(func(t *testing.T, which, version uint8, b []byte) {
		versions := []uint32{2, 3, 4, 5, LeapVersion, SpringVersion}
		name, v := names[int(which)%len(names)], versions[int(version)%len(versions)]
		row := rowsOf(v)[name]()
		r := serial.NewReader(b)
		if row.Read(r); r.Err() != nil {
			return
		}
		if g, ok := row.(*globalRow); ok {
			g.version = max(v, LeapVersion)
		}
		out := row.(Row)
		packed := out.Append(nil)
		again := rowsOf(max(v, LeapVersion))[name]()
		if err := types.Decode(packed, again); err != nil {
			t.Fatalf("%s: %x cannot be read again: %v", name, packed, err)
		}
		if repacked := again.(Row).Append(nil); !bytes.Equal(packed, repacked) {
			t.Fatalf("%s: %x became %x", name, packed, repacked)
		}
		if len(out.AppendJSON(nil)) == 0 {
			t.Fatalf("%s: no JSON", name)
		}
	})
}

// names returns the names of the sections in their order.
func (r *Reader) names() (names []string) {
	for _, p := range r.sections {
		names = append(names, p.name)
	}
	return names
}

func FuzzContainer(f *testing.F) {
	f.Add(container(f, []string{versionSection, accountSection},
		map[string][]blob{versionSection: {blob("abc")}, accountSection: {blob("d")}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := open(b)
		if err != nil {
			return
		}
		for _, name := range r.names() {
			s, err := r.Section(name)
			if err != nil {
				t.Fatal(err)
			}
			row, known := rowsOf([]uint32{2, 3, 4, 5, LeapVersion, SpringVersion}[len(b)%6])[name]
			if !known {
				row = func() readable { return new(blob) }
			}
			for s.More() && s.Next(row()) == nil {
			}
			if s.Offset() > s.to {
				t.Fatalf("section %s was read beyond its end", name)
			}
		}
	})
}

// Whoever gives a file as it was downloaded is told to unpack it, beside what nodeos says.
func TestAPackedSnapshotIsCalledPacked(t *testing.T) {
	for begin, want := range map[string]string{
		"\x1f\x8b\x08\x00": "gunzip", "\x28\xb5\x2f\xfd": "zstd -d", "\xfd7zXZ\x00": "unxz", "BZh9": "bunzip2",
		"PK\x03\x04": "unzip", "{\"ve": "as JSON", "nope": "",
	} {
		_, err := open(append([]byte(begin), make([]byte, 20)...))
		if !exception.Is(err, exception.Snapshot) || !strings.Contains(err.Error(), "unexpected magic number!") ||
			!strings.Contains(err.Error(), want) || want == "" && strings.Contains(err.Error(), "unpack") {
			t.Errorf("%q: %v, want %q", begin, err, want)
		}
	}
}
