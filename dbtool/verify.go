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

// verify reads all of what a folder has, a durable store, logs of history, or both, and reports
// what is broken, each finding as soon as it is known. It returns an error only if it could not
// go on.
func verify(ctx context.Context, dir string, p *display, found func(error)) (Verification, error) {
	start := time.Now()
	v := Verification{Path: dir, Rows: -1}
	t, err := find(dir)
	if err != nil {
		return v, err
	}
	report := func(err error) {
		v.Found++
		found(err)
	}
	if len(t.logs) != 0 {
		if err := v.verifyHistory(ctx, &t, p, report); err != nil {
			return v, err
		}
	}
	if t.store != "" {
		if err := v.verifyStore(ctx, t.store, p, report); err != nil {
			return v, err
		}
	}
	v.Sound = v.Found == 0
	v.Seconds = time.Since(start).Seconds()
	return v, nil
}

// verifyStore reads all of a store.
func (v *Verification) verifyStore(ctx context.Context, dir string, p *display, report func(error)) error {
	kind, err := engine.Detect(dir)
	if err != nil {
		return err
	}
	v.Engine = kind
	if _, err := engine.Unfinished(dir); err == nil {
		return fmt.Errorf("%s: a conversion into this folder has not finished: %s", dir, noteAbout)
	}
	e, err := open(dir, engine.Options{})
	if tooBroken(err) {
		report(err) // that is the answer
		return nil
	}
	if err != nil {
		return err
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
			return err // the engine is still in use
		}
		return errors.Join(err, e.Close())
	}
	v.Rows, _ = total(reportTables(e))
	v.Bytes = e.Stats().Used
	return e.Close()
}

// wait waits for work that cannot say how far it is.
func (p *display) wait(ctx context.Context, what string, done <-chan error) error {
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

// printNotice writes what the next start mends.
func printNotice(w io.Writer, text string) { fmt.Fprintf(w, "to be mended by a start: %s\n", text) }

// printDamage writes one finding as a line.
func printDamage(w io.Writer, err error) { fmt.Fprintf(w, "damaged: %v\n", err) }

// damageOf takes a finding apart for scripts.
func damageOf(err error) Damage {
	d := Damage{Table: -1, Page: -1, Offset: -1, Detail: err.Error()}
	if h, ok := damageIn(err); ok {
		return h
	}
	var c *store.CorruptError
	if errors.As(err, &c) {
		d = Damage{Path: c.Path, Table: c.Table, Page: c.Page, Offset: c.Offset, Detail: c.Detail}
	}
	return d
}
