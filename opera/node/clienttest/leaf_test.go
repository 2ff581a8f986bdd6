package clienttest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// leaf is a value in a JSON text that has nothing below it, and where it stands. A text is its
// leaves in their order, which members keep.
type leaf struct {
	path  string // members and indexes, such as result.logs[0].data
	value any    // string, json.Number, bool, nil, or empty for {} and []
}

// empty is an object or a list without anything in it.
type empty string

func (l leaf) String() string {
	if e, ok := l.value.(empty); ok {
		return fmt.Sprintf("%s: %s", l.path, string(e))
	}
	text, _ := json.Marshal(l.value) // a scalar
	return fmt.Sprintf("%s: %s", l.path, text)
}

// leaves reads a JSON text whose numbers stay as they are written.
func leaves(text string) ([]leaf, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	list, err := below("", d, nil)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = fmt.Errorf("something after the value: %v", end)
		}
	}
	return list, err
}

// below appends the leaves of the next value.
func below(path string, d *json.Decoder, list []leaf) ([]leaf, error) {
	t, err := d.Token()
	if err != nil {
		return list, err
	}
	opened, ok := t.(json.Delim)
	if !ok {
		return append(list, leaf{path, t}), nil
	}
	if !d.More() {
		closed, err := d.Token()
		return append(list, leaf{path, empty(fmt.Sprintf("%v%v", opened, closed))}), err
	}
	for i := 0; d.More(); i++ {
		at := fmt.Sprintf("%s[%d]", path, i)
		if opened == '{' {
			name, err := d.Token()
			if err != nil {
				return list, err
			}
			at = strings.TrimPrefix(fmt.Sprintf("%s.%s", path, name), ".")
		}
		if list, err = below(at, d, list); err != nil {
			return list, err
		}
	}
	_, err = d.Token()
	return list, err
}

func TestLeavesKeepTheirOrderAndForm(t *testing.T) {
	list, err := leaves(`{"b":[1,{"c":"0x1"},[]],"a":{},"d":1.0,"e":null}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(list), `[b[0]: 1 b[1].c: "0x1" b[2]: [] a: {} d: 1.0 e: null]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, bad := range []string{``, `{`, `{"a"}`, `1 2`, `[1,]`} {
		if list, err := leaves(bad); err == nil {
			t.Errorf("%q is %v", bad, list)
		}
	}
}
