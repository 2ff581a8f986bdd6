// Package fleettest compares what replicas have with what their nodes have, for tests. It makes nothing.
package fleettest

import (
	"bytes"
	"errors"
	"fmt"

	"tarn/store"
)

// SameTable tells the first row in which a table of two stores differs; nil for none.
func SameTable(got, want store.Reader, t store.Table) error { return SameRows(got, want, t, t) }

// SameRows is [SameTable] of tables that have different handles in the two stores.
func SameRows(got, want store.Reader, of, in store.Table) error {
	a, err := got.Cursor(of)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := want.Cursor(in)
	if err != nil {
		return err
	}
	defer b.Close()
	for x, y := a.First(), b.First(); x || y; x, y = a.Next(), b.Next() {
		if x != y || !bytes.Equal(a.Key(), b.Key()) || !bytes.Equal(a.Value(), b.Value()) {
			return fmt.Errorf("row %x is %x, should be row %x, %x", a.Key(), a.Value(), b.Key(), b.Value())
		}
	}
	return errors.Join(a.Err(), b.Err())
}
