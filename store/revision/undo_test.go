package revision_test

import (
	"errors"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

func TestUndoOfARowThatCameAndWent(t *testing.T) {
	e, err := page.OpenVolatile(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := revision.Open(e)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		s.Put(rows, []byte("old"), []byte("1")),
		s.Begin(),
		s.Put(rows, []byte("new"), []byte("2")),
		s.Delete(rows, []byte("new")),
		s.Delete(rows, []byte("old")),
		s.Push(),
		s.Undo(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if v, err := s.Get(rows, []byte("old")); err != nil || string(v) != "1" {
		t.Errorf("old row: %q, %v", v, err)
	}
	if _, err := s.Get(rows, []byte("new")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("row that came and went: %v", err)
	}
}
