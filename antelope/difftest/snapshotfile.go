package difftest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tarn/antelope/serial"
)

const (
	snapshotMagic   = 0x30510550
	snapshotVersion = 1
	contractSection = "contract_tables"
)

// Snapshot is a snapshot of version 6 as rows that can be printed.
type Snapshot struct {
	Sections []Section
}

// Section is one of its sections.
type Section struct {
	Name string
	Rows [][]byte

	kinds  []int // of contract_tables: what the rows are
	tables []int // and which row is their table
}

// ReadSnapshot reads a file and finds its rows.
func ReadSnapshot(path string) (*Snapshot, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parseSnapshot(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func parseSnapshot(b []byte) (*Snapshot, error) {
	if len(b) < 8 || binary.LittleEndian.Uint32(b) != snapshotMagic ||
		binary.LittleEndian.Uint32(b[4:]) != snapshotVersion {
		return nil, errors.New("not a snapshot")
	}
	s := &Snapshot{}
	for at := 8; ; {
		if len(b)-at < 8 {
			return nil, fmt.Errorf("at offset %d: %w", at, io.ErrUnexpectedEOF)
		}
		size := binary.LittleEndian.Uint64(b[at:])
		at += 8
		if size == 1<<64-1 {
			return s, nil
		}
		if size < 9 || size > uint64(len(b)-at) {
			return nil, fmt.Errorf("at offset %d: a section of %d bytes", at, size)
		}
		section, err := parseSection(b[at : at+int(size)])
		if err != nil {
			return nil, fmt.Errorf("section at offset %d: %w", at, err)
		}
		s.Sections = append(s.Sections, section)
		at += int(size)
	}
}

// parseSection cuts a section, from its row count on, into rows.
func parseSection(b []byte) (Section, error) {
	count := binary.LittleEndian.Uint64(b)
	name, rows, ok := bytes.Cut(b[8:], []byte{0})
	if !ok {
		return Section{}, errors.New("no end of the name")
	}
	s := Section{Name: string(name)}
	read := rowPrinters()[s.Name]
	if read == nil && s.Name != contractSection {
		return s, fmt.Errorf("%s: not of version 6", s.Name)
	}
	r := serial.NewReader(rows)
	p := &printer{r: r}
	tables, table := contractTables{kind: tableRow}, 0
	for r.Len() > 0 && r.Err() == nil {
		start := r.Offset()
		if read != nil {
			read(p)
		} else {
			kind := tables.next(p)
			if kind == tableRow {
				table = len(s.Rows)
			}
			s.kinds, s.tables = append(s.kinds, kind), append(s.tables, table)
		}
		s.Rows = append(s.Rows, rows[start:r.Offset()])
	}
	if err := r.End(); err != nil {
		return s, fmt.Errorf("%s, row %d: %w", s.Name, len(s.Rows)-1, err)
	}
	if uint64(len(s.Rows)) != count {
		return s, fmt.Errorf("%s: %d rows, but it says %d", s.Name, len(s.Rows), count)
	}
	return s, nil
}

// Hash is the integrity hash: of all rows, one after the other.
func (s *Snapshot) Hash() [32]byte {
	h := sha256.New()
	for _, section := range s.Sections {
		for _, row := range section.Rows {
			h.Write(row)
		}
	}
	return [32]byte(h.Sum(nil))
}

// Text is row i, decoded.
func (s *Section) Text(i int) string {
	p := &printer{r: serial.NewReader(s.Rows[i]), print: true}
	if s.Name != contractSection {
		rowPrinters()[s.Name](p)
		return string(p.out)
	}
	p.contract(s.kinds[i])
	if s.kinds[i] == tableRow {
		return "table " + string(p.out)
	}
	t := &printer{r: serial.NewReader(s.Rows[s.tables[i]]), print: true}
	t.contract(tableRow)
	kind := "count"
	if s.kinds[i] < countRow {
		kind = contractKinds[s.kinds[i]]
	}
	return fmt.Sprintf("{%s} %s %s", t.out, kind, p.out)
}

// Print writes the rows as text, of all sections or of those whose name contains
// section. Block summaries that are zero are left out.
func (s *Snapshot) Print(w io.Writer, section string) error {
	for _, x := range s.Sections {
		if !strings.Contains(x.Name, section) {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %d rows\n", x.Name, len(x.Rows)); err != nil {
			return err
		}
		for i, row := range x.Rows {
			if len(row) == 32 && bytes.Count(row, []byte{0}) == 32 {
				continue
			}
			if _, err := fmt.Fprintf(w, "  %d %s\n", i, x.Text(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Diff writes the first differences of each section, at most limit rows of each,
// and tells how many rows differ. The rows of want come from the judge.
func Diff(w io.Writer, want, got *Snapshot, limit int) (different int) {
	sections := map[string]*Section{}
	for i := range got.Sections {
		sections[got.Sections[i].Name] = &got.Sections[i]
	}
	for i := range want.Sections {
		a := &want.Sections[i]
		b := sections[a.Name]
		if b == nil {
			fmt.Fprintf(w, "%s: missing\n", a.Name)
			different += len(a.Rows) + 1
			continue
		}
		delete(sections, a.Name)
		different += diffSection(w, a, b, limit)
	}
	for name, b := range sections {
		fmt.Fprintf(w, "%s: should not be there\n", name)
		different += len(b.Rows) + 1
	}
	return different
}

func diffSection(w io.Writer, want, got *Section, limit int) (different int) {
	for i := range max(len(want.Rows), len(got.Rows)) {
		if i < len(want.Rows) && i < len(got.Rows) && bytes.Equal(want.Rows[i], got.Rows[i]) {
			continue
		}
		if different++; different > limit {
			continue
		}
		a, b := "(no row)", "(no row)"
		if i < len(want.Rows) {
			a = want.Text(i)
		}
		if i < len(got.Rows) {
			b = got.Text(i)
		}
		fmt.Fprintf(w, "%s row %d:%s\n  want %s\n  got  %s\n", want.Name, i, fieldsThatDiffer(a, b), a, b)
	}
	if different > 0 {
		fmt.Fprintf(w, "%s: %d rows differ, %d wanted, %d there\n", want.Name, different, len(want.Rows), len(got.Rows))
	}
	return different
}

// fieldsThatDiffer names the fields, if both texts have the same ones.
func fieldsThatDiffer(a, b string) string {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return ""
	}
	var names []string
	for i := range x {
		if x[i] != y[i] {
			name, _, _ := strings.Cut(x[i], "=")
			names = append(names, name)
		}
	}
	return " " + strings.Join(names, ", ")
}
