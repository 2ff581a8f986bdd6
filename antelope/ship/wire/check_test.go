package wire_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"tarn/antelope/ship/wire"
)

// delta is a table of one row.
func delta(name string, present byte, row []byte) []byte {
	b := append([]byte{1, 0, byte(len(name))}, name...)
	b = append(b, 1, present)
	b = binary.AppendUvarint(b, uint64(len(row)))
	return append(b, row...)
}

// A row of code: version, type and version of the machine, hash, bytes.
func codeRow() []byte { return append(make([]byte, 1+1+1+32), 1, 0xaa) }

// Each kind of fault that contents can have is told; what is whole is not.
func TestContentsThatTheABICannotReadAreFound(t *testing.T) {
	c, err := wire.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	row := codeRow()
	for name, x := range map[string]struct {
		traces bool
		b      []byte
		want   string
	}{
		"no traces":                      {true, []byte{0}, ""},
		"no tables":                      {false, []byte{0}, ""},
		"a row":                          {false, delta("code", 1, row), ""},
		"a removed row":                  {false, delta("code", 0, row), ""},
		"empty traces":                   {true, nil, "decode transaction_trace[]"},
		"traces that are cut":            {true, []byte{1, 0, 7}, "decode transaction_trace[]"},
		"a trace of an unknown version":  {true, []byte{1, 9}, "decode transaction_trace[]"},
		"bytes behind the traces":        {true, []byte{0, 0}, "decode transaction_trace[]"},
		"empty changes":                  {false, nil, "unexpected EOF"},
		"bytes behind the tables":        {false, append(delta("code", 1, row), 0), "1 bytes follow the last table"},
		"a table that is not there":      {false, []byte{1}, "unexpected EOF"},
		"a table of another version":     {false, []byte{1, 1}, "table_delta of version 1"},
		"an unknown table":               {false, delta("codes", 1, row), `a table "codes"`},
		"a row neither there nor gone":   {false, delta("code", 2, row), "present is 2"},
		"a row of an unknown version":    {false, delta("code", 1, append([]byte{3}, row[1:]...)), "row 0 of table code: decode code"},
		"a row that ends too early":      {false, delta("code", 1, row[:20]), "row 0 of table code: decode code"},
		"bytes behind a row":             {false, delta("code", 1, append(codeRow(), 0)), "row 0 of table code: decode code"},
		"a row cut with its entry":       {false, delta("code", 1, row)[:20], "unexpected EOF"},
		"a value of more bytes than any": {false, append([]byte{1, 0}, binary.AppendUvarint(nil, 1<<31)...), "a value of 2147483648 bytes"},
		"a count that is none":           {false, binary.AppendUvarint(nil, 1<<40), "a count of"},
	} {
		check := c.Deltas
		if x.traces {
			check = c.Traces
		}
		err := check(bytes.NewReader(x.b))
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	if err := c.Deltas(bytes.NewReader(delta("code", 1, row))); err != nil {
		t.Errorf("after all of them: %v", err)
	}
}

// finality is finality data of a block that made one finalizer pending.
func finality() []byte {
	b := append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0}, make([]byte, 32+32+4+32+4+32)...)
	b = append(b, 1, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 1, 'a', 9, 0, 0, 0, 0, 0, 0, 0, 3, 'K', 'E', 'Y')
	return append(b, 3, 0, 0, 0)
}

// So is what is wrong with finality data.
func TestFinalityDataThatTheABICannotReadIsFound(t *testing.T) {
	c, err := wire.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	whole := finality()
	none := append(bytes.Clone(whole[:12+136]), 0, 3, 0, 0, 0)
	for name, x := range map[string]struct {
		b    []byte
		good bool
	}{
		"with finalizers":   {whole, true},
		"without":           {none, true},
		"empty":             {nil, false},
		"cut":               {whole[:len(whole)-1], false},
		"with bytes behind": {append(bytes.Clone(whole), 0), false},
	} {
		if err := c.Finality(bytes.NewReader(x.b)); (err == nil) != x.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzChecker: whatever an entry has, it is read or refused, and takes no memory for what is not
// there.
func FuzzChecker(f *testing.F) {
	f.Add([]byte{0})
	f.Add(delta("code", 1, codeRow()))
	f.Add([]byte{1, 0, 7, 0xff, 0xff, 0xff, 0x7f})
	f.Add(finality())
	c, err := wire.NewChecker()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		c.Traces(bytes.NewReader(b))   //nolint:errcheck // it ends
		c.Deltas(bytes.NewReader(b))   //nolint:errcheck // as above
		c.Finality(bytes.NewReader(b)) //nolint:errcheck // as above
	})
}
