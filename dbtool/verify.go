package dbtool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tarn/store"
	"tarn/store/engine"
)

// verify reads all of a durable store and reports what is broken, each finding
// as soon as it is known. It returns an error only if it could not go on.
func verify(ctx context.Context, dir string, p *progress, found func(error)) (Verification, error) {
	start := time.Now()
	kind, err := engine.Detect(dir)
	if err != nil {
		return Verification{}, err
	}
	if _, err := engine.Unfinished(dir); err == nil {
		return Verification{}, fmt.Errorf("%s: a conversion into this folder has not finished: %s", dir, noteAbout)
	}
	v := Verification{Path: dir, Engine: kind}
	report := func(err error) {
		v.Found++
		found(err)
	}
	e, err := open(dir, engine.Options{})
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFault) || errors.Is(err, store.ErrFormat) {
		report(err) // too broken to open: that is the answer
		return v, nil
	}
	if err != nil {
		return v, err
	}
	done := make(chan error, 1)
	go func() {
		for _, err := range checkImage(dir, e.Recovered(), len(e.Tables())) {
			report(err)
		}
		done <- e.Verify(report)
	}()
	if err := p.wait(ctx, "verifying", done); err != nil {
		if errors.Is(err, errInterrupted) {
			return Verification{}, err // the engine is still in use
		}
		return v, errors.Join(err, e.Close())
	}
	v.Sound = v.Found == 0
	v.Rows, _ = total(reportTables(e))
	v.Bytes = e.Stats().Used
	v.Seconds = time.Since(start).Seconds()
	return v, e.Close()
}

// wait waits for work that cannot say how far it is.
func (p *progress) wait(ctx context.Context, what string, done <-chan error) error {
	p.begin(what, 0, -1)
	defer p.end()
	tick := time.NewTicker(terminalEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return errInterrupted
		case <-tick.C:
			p.tick()
		}
	}
}

// printDamage writes one finding as a line.
func printDamage(w io.Writer, err error) { fmt.Fprintf(w, "damaged: %v\n", err) }

// damageOf takes a finding apart for scripts.
func damageOf(err error) Damage {
	d := Damage{Table: -1, Page: -1, Offset: -1, Detail: err.Error()}
	var c *store.CorruptError
	if errors.As(err, &c) {
		d = Damage{Path: c.Path, Table: c.Table, Page: c.Page, Offset: c.Offset, Detail: c.Detail}
	}
	return d
}
