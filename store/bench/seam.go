package bench

import (
	"errors"
	"fmt"

	"tarn/store"
	"tarn/store/engine"
)

// seam is an engine, opened as a ledger opens it.
type seam struct {
	store.Store
	table    store.Table
	lag      uint64 // revisions that stay undoable
	paged    bool
	appended int
}

// tableName is the only table's.
const tableName = "rows"

// limitBytes is how large a page store may become.
const limitBytes = 256 << 30

func openSeam(s Subject, dir string, b budget) (*seam, error) {
	st, err := engine.Open(dir, engine.Options{
		Kind: s.Kind, Mode: s.Mode, LimitBytes: limitFor(s.Kind),
		CacheBytes: b.Cache, OverlayBytes: b.Overlay, SeekCompaction: s.SeekCompaction,
	})
	if err != nil {
		return nil, err
	}
	t, err := st.CreateTable(tableName)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &seam{Store: st, table: t, paged: s.Kind == engine.Page}, nil
}

func limitFor(k engine.Kind) int64 {
	if k == engine.Page {
		return limitBytes
	}
	return 0
}

// Apply implements subject: one revision, published.
func (s *seam) Apply(b *batch) error {
	if err := s.change(b); err != nil {
		return err
	}
	return s.Publish()
}

// change is one revision.
func (s *seam) change(b *batch) error {
	if err := s.Begin(); err != nil {
		return err
	}
	if err := s.put(b, batchRows); err != nil {
		return err
	}
	return s.finish()
}

func (s *seam) put(b *batch, n int) error {
	for i := range b.rows[:n] {
		if err := s.Put(s.table, b.keys[i][:], b.values[i][:]); err != nil {
			return err
		}
	}
	return nil
}

func (s *seam) finish() error {
	if err := s.Push(); err != nil {
		return err
	}
	if head := s.Head(); head > s.lag {
		return s.Commit(head - s.lag)
	}
	return nil
}

// appendRows is how many rows an LSM engine gathers for a flush while it is
// loaded.
const appendRows = 250_000

// Append implements subject: without undo, as a snapshot is loaded.
func (s *seam) Append(b *batch, n int) error {
	if err := s.put(b, n); err != nil {
		return err
	}
	if err := s.SetRevision(s.Head() + 1); err != nil {
		return err
	}
	if s.appended += n; s.paged || s.appended < appendRows {
		return nil
	}
	s.appended = 0
	return s.checkpoint()
}

// Settle implements subject.
func (s *seam) Settle() error {
	if err := s.Commit(s.Head()); err != nil {
		return err
	}
	if err := s.Publish(); err != nil {
		return err
	}
	if err := s.checkpoint(); err != nil {
		return err
	}
	if d := s.Durable(); d.Head != s.Head() {
		return fmt.Errorf("revision %d is durable after a checkpoint at %d", d.Head, s.Head())
	}
	return nil
}

func (s *seam) checkpoint() error {
	c, err := s.Checkpoint()
	if err != nil {
		return err
	}
	return c.Wait()
}

// Reader implements subject: a view.
func (s *seam) Reader() (reader, error) {
	v, err := s.View()
	if err != nil {
		return nil, err
	}
	return seamReader{v, s.table, v.Close}, nil
}

// writer reads the writer's own state.
func (s *seam) writer() reader {
	return seamReader{s.Store, s.table, func() error { return nil }}
}

type seamReader struct {
	state store.Reader
	table store.Table
	close func() error
}

func (r seamReader) Get(key []byte) ([]byte, error) { return r.state.Get(r.table, key) }
func (r seamReader) Close() error                   { return r.close() }

func (r seamReader) Cursor() (cursor, error) { return r.state.Cursor(r.table) }
