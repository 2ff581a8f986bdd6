package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/store"
)

// Verify implements store.Engine: the library checks its own files, then every
// row of the newest durable state is read and must have a place in the schema.
func (e *Engine) Verify(report func(error)) error {
	if err := e.base.Verify(report); err != nil {
		return fmt.Errorf("verify %s: %w", e.folder.path, err)
	}
	s, err := e.base.snapshot(0)
	if err != nil {
		return fmt.Errorf("verify %s: %w", e.folder.path, err)
	}
	defer s.drop()
	if _, err := e.folder.head(func(key []byte) ([]byte, error) { return s.Get(nil, key) }); err != nil {
		report(err)
	}
	tables, err := readTables(s)
	if err != nil {
		report(err)
		return nil
	}
	c, err := s.Cursor([]byte{0, 0, 1}, []byte{0xff})
	if err != nil {
		return fmt.Errorf("verify %s: %w", e.folder.path, err)
	}
	var last []byte
	for ok := c.First(); ok; ok = c.Next() {
		key := c.Key()
		if what := unsound(key, c.Value(), last, len(tables)); what != "" {
			report(corrupt(e.folder.path, "row %x %s", key, what))
		}
		last = append(last[:0], key...)
	}
	if err := c.Err(); err != nil {
		report(err)
	}
	return errors.Join(c.Close())
}

// unsound says what is wrong with a row of the base, "" if nothing.
func unsound(key, value, last []byte, tables int) string {
	if bytes.Compare(last, key) >= 0 {
		return fmt.Sprintf("does not come after %x", last)
	}
	if len(key) <= tablePrefix || len(key) > MaxBaseKey {
		return fmt.Sprintf("has a key of %d bytes", len(key))
	}
	if len(value) > store.MaxValue {
		return fmt.Sprintf("has a value of %d bytes", len(value))
	}
	t := int(binary.BigEndian.Uint16(key))
	if t > tables {
		return fmt.Sprintf("belongs to table %d of %d", t, tables)
	}
	if t > 0 || bytes.Equal(key, formatKey) || bytes.Equal(key, headKey) || key[2] == nameKind && len(key) == 5 {
		return ""
	}
	return "is no row of the engine's"
}
