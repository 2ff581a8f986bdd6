package dbtool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// inspect reads what a store says about itself. With count it reads every row of
// the tables that the engine does not count.
func inspect(ctx context.Context, dir string, count bool, p *display) (_ Info, err error) {
	kind, err := engine.Detect(dir)
	if err != nil {
		return Info{}, err
	}
	e, err := open(dir, engine.Options{})
	if kind == engine.Page && errors.Is(err, store.ErrLocked) {
		return peek(dir)
	}
	if err != nil {
		return Info{}, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	im, s := e.Recovered(), e.Stats()
	info := Info{
		Path: dir, Engine: kind,
		Head: im.Head, Irreversible: im.Irreversible, UndoRevisions: len(im.Undo),
		SizeBytes: s.Size, UsedBytes: s.Used, FreeBytes: max(s.Size-s.Used, 0),
		Checkpoint: checkpointOf(s.LastCheckpoint, time.Now()),
	}
	for _, u := range im.Undo {
		info.UndoBytes += int64(len(u))
	}
	if kind != engine.Page {
		at, err := engine.Sealed(dir, kind)
		if err != nil {
			return info, err
		}
		info.Checkpoint.setTime(at, time.Now())
	}
	info.Tables = reportTables(e)
	if count {
		if err := countTables(ctx, e, info.Tables, p); err != nil {
			return info, err
		}
	}
	if _, info.RowBytes = total(info.Tables); info.RowBytes > 0 && s.Used > 0 {
		info.Fill = float64(info.RowBytes) / float64(s.Used)
	}
	return info, nil
}

// peek reads a page store's meta pages beside its writer. What is behind them may
// be on its way to another place, and is left alone.
func peek(dir string) (Info, error) {
	s, err := page.Peek(dir, nil)
	if err != nil {
		return Info{}, err
	}
	return Info{
		Path: dir, Engine: engine.Page, InUse: true,
		Head: s.Durable.Head, Irreversible: s.Durable.Irreversible,
		UndoRevisions: int(s.Durable.Head - s.Durable.Irreversible), UndoBytes: -1,
		SizeBytes: s.SizeBytes, UsedBytes: -1, FreeBytes: -1, RowBytes: -1,
		Checkpoint: checkpointOf(s.Last, time.Now()),
	}, nil
}

func reportTables(e store.Engine) []Table {
	tables := []Table{}
	for _, t := range e.Tables() {
		tables = append(tables, Table{ID: t.ID, Name: t.Name, Rows: t.Rows, Bytes: t.Bytes})
	}
	return tables
}

// total adds tables up, to -1 if one of them is not counted.
func total(tables []Table) (rows, bytes int64) {
	for _, t := range tables {
		if t.Rows < 0 || t.Bytes < 0 {
			return -1, -1
		}
		rows, bytes = rows+t.Rows, bytes+t.Bytes
	}
	return rows, bytes
}

// countTables reads every row of the tables whose counts are missing.
func countTables(ctx context.Context, r store.Reader, tables []Table, p *display) error {
	p.begin("counting", 0, -1)
	defer p.end()
	for i := range tables {
		t := &tables[i]
		if t.Rows >= 0 && t.Bytes >= 0 {
			continue
		}
		if err := countTable(ctx, r, t, p); err != nil {
			return fmt.Errorf("table %q: %w", t.Name, err)
		}
	}
	return nil
}

func countTable(ctx context.Context, r store.Reader, t *Table, p *display) (err error) {
	w, err := walk(r, t.ID, nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	t.Rows, t.Bytes = 0, 0
	for w.next() {
		t.Rows++
		t.Bytes += int64(len(w.key) + len(w.value))
		if p.add(1); t.Rows%1024 == 0 && ctx.Err() != nil {
			return errInterrupted
		}
	}
	return w.err()
}

func checkpointOf(s store.CheckpointStats, now time.Time) Checkpoint {
	c := Checkpoint{
		Head: s.Image.Head, Irreversible: s.Image.Irreversible,
		Bytes: s.Bytes, Seconds: s.Duration.Seconds(),
	}
	if !s.At.IsZero() {
		c.setTime(s.At, now)
	}
	return c
}

func (c *Checkpoint) setTime(at, now time.Time) {
	at = at.UTC()
	c.At, c.AgeSeconds = &at, now.Sub(at).Seconds()
}
