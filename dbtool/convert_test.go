package dbtool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// fuse is a context that ends after it was asked a number of times.
type fuse struct {
	context.Context
	left int
}

func (f *fuse) Err() error {
	if f.left--; f.left < 0 {
		return context.Canceled
	}
	return nil
}

// small is a conversion that checkpoints and looks at its context often.
func small(ctx context.Context, src, dst string, kind engine.Kind) *conversion {
	return &conversion{
		ctx: ctx, progress: newDisplay(io.Discard), srcDir: src, dstDir: dst, batch: 100,
		options: engine.Options{Kind: kind, Mode: page.MappedPrivate, Unfinished: true},
	}
}

func digestOf(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	check(t, dump(context.Background(), dir, dumpOptions{format: "hex"}, &out))
	return out.String()
}

func TestAConversionMayBeInterruptedAnywhere(t *testing.T) {
	src := t.TempDir()
	randomStore(t, src, 3)
	want := digestOf(t, src)
	for steps := 0; ; steps++ {
		dst := filepath.Join(t.TempDir(), "new")
		c := small(&fuse{context.Background(), steps}, src, dst, engine.Page)
		_, err := c.run()
		if err == nil {
			if steps < 10 {
				t.Fatalf("done after %d looks at the context: the test interrupts nothing", steps)
			}
			break
		}
		if !errors.Is(err, errInterrupted) {
			t.Fatalf("after %d: %v", steps, err)
		}
		if _, err := engine.Open(dst, engine.Options{}); !errors.Is(err, store.ErrFormat) ||
			!strings.Contains(err.Error(), "UNFINISHED") {
			t.Fatalf("after %d: an unfinished store opens: %v", steps, err)
		}
		report, err := small(context.Background(), src, dst, engine.Page).run()
		check(t, err)
		if !report.Resumed {
			t.Fatalf("after %d: the second run started over", steps)
		}
		if got := digestOf(t, dst); got != want {
			t.Fatalf("after %d: the copy differs", steps)
		}
	}
}

// A source that has gone on since is another source.
func TestAConversionOfAChangedSourceStartsOver(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "new")
	randomStore(t, src, 3)
	if _, err := small(&fuse{context.Background(), 8}, src, dst, engine.Page).run(); !errors.Is(err, errInterrupted) {
		t.Fatal(err)
	}
	s, err := engine.Open(src, engine.Options{})
	check(t, err)
	table, err := s.Table("rows")
	check(t, err)
	check(t, s.Begin())
	check(t, s.Put(table, []byte("000"), []byte("changed")))
	check(t, s.Push())
	c, err := s.Checkpoint()
	check(t, err)
	check(t, c.Wait())
	check(t, s.Close())

	report, err := small(context.Background(), src, dst, engine.Page).run()
	check(t, err)
	if report.Resumed {
		t.Fatal("went on from another state")
	}
	if digestOf(t, dst) != digestOf(t, src) {
		t.Fatal("the copy differs")
	}
}

// The comparison at the end is no formality: a row that got lost on the way is
// named, the store stays marked, and the next run starts from nothing.
func TestACopyThatDiffersIsNotFinished(t *testing.T) {
	for name, harm := range map[string]func(e store.Engine, t store.Table, key, value []byte) error{
		"lost":    func(e store.Engine, t store.Table, key, _ []byte) error { return e.Delete(t, key, nil) },
		"changed": func(e store.Engine, t store.Table, key, _ []byte) error { return e.Put(t, key, []byte("x"), nil) },
		"added": func(e store.Engine, t store.Table, key, _ []byte) error {
			return e.Put(t, append(key, '!'), nil, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			src, dst := t.TempDir(), filepath.Join(t.TempDir(), "new")
			randomStore(t, src, 3)
			if _, err := small(&fuse{context.Background(), 8}, src, dst, engine.Page).run(); !errors.Is(err,
				errInterrupted) {
				t.Fatal(err)
			}
			e, err := engine.OpenRows(dst, engine.Options{Unfinished: true, Mode: page.MappedPrivate})
			check(t, err)
			table := e.Tables()[len(e.Tables())-1].ID
			c, err := e.Cursor(table)
			check(t, err)
			if !c.First() {
				t.Fatal("nothing was copied before the interruption")
			}
			key := append([]byte(nil), c.Key()...)
			check(t, c.Close())
			check(t, harm(e, table, key, nil))
			ck, err := e.Checkpoint(store.Image{})
			check(t, err)
			check(t, ck.Wait())
			check(t, e.Close())

			_, err = small(context.Background(), src, dst, engine.Page).run()
			if !errors.Is(err, errDiffers) || !strings.Contains(err.Error(), dst) {
				t.Fatalf("%v, want the difference", err)
			}
			if _, err := engine.Open(dst, engine.Options{}); !errors.Is(err, store.ErrFormat) {
				t.Fatalf("a store that differs opens: %v", err)
			}
			report, err := small(context.Background(), src, dst, engine.Page).run()
			check(t, err)
			if report.Resumed || digestOf(t, dst) != digestOf(t, src) {
				t.Fatalf("resumed %v, or another copy", report.Resumed)
			}
		})
	}
}

func TestAFullDestinationSaysWhatToDo(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "new")
	s, err := engine.Open(src, engine.Options{Kind: engine.Page})
	check(t, err)
	table, err := s.CreateTable("rows")
	check(t, err)
	for i := range 1200 {
		check(t, s.Put(table, fmt.Appendf(nil, "%d", i), make([]byte, 8000)))
	}
	ck, err := s.Checkpoint()
	check(t, err)
	check(t, ck.Wait())
	check(t, s.Close())
	_, err = convert(context.Background(), src, dst, convertOptions{kind: engine.Page, limit: 2 << 20},
		newDisplay(io.Discard))
	if !errors.Is(err, store.ErrFull) || !strings.Contains(explain(err).Error(), "--limit") {
		t.Fatalf("%v", explain(err))
	}
	if _, err := os.Stat(filepath.Join(dst, "UNFINISHED")); err != nil {
		t.Fatal(err)
	}
	_, err = convert(context.Background(), src, dst, convertOptions{kind: engine.Page, limit: 64 << 20},
		newDisplay(io.Discard))
	check(t, err)
	if digestOf(t, src) != digestOf(t, dst) {
		t.Fatal("the copy differs")
	}
}
