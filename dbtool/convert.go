package dbtool

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// convertOptions say what the new store is.
type convertOptions struct {
	kind  engine.Kind
	mode  page.Mode // that a page store is written in
	limit int64     // bytes, of a page store; 0 for the engine's default
}

// batchBytes is how much of keys and values is copied from one checkpoint to the
// next: what an interrupted conversion does again, and what its memory is bound
// by.
const batchBytes = 128 << 20

// conversion copies the durable state of one store into another, and then
// compares them row by row. The destination is marked as unfinished until that
// has succeeded; an interrupted copy goes on after the last row that a
// checkpoint made durable.
type conversion struct {
	ctx      context.Context
	progress *display

	srcDir, dstDir string
	src            store.Engine
	from           store.View
	undone         past // laid over the view if the destination keeps no undo
	image          store.Image
	total          int64 // rows, for the progress

	dst     store.Engine
	options engine.Options
	batch   int64 // batchBytes
	pending int64 // bytes since the last checkpoint
}

// note is what the mark of an unfinished store says: which state it is to hold.
type note struct {
	About        string      `json:"about"`
	Source       string      `json:"source"`
	From         engine.Kind `json:"from"`
	To           engine.Kind `json:"to"`
	Head         uint64      `json:"head"`
	Irreversible uint64      `json:"irreversible"`
	Taken        time.Time   `json:"taken"` // the source's checkpoint
}

const noteAbout = "A conversion into this folder has not finished. Run the same `tarn db convert` again, or delete " +
	"the folder."

// convert is the whole of `tarn db convert`.
func convert(ctx context.Context, srcDir, dstDir string, o convertOptions, p *display) (Conversion, error) {
	c := &conversion{
		ctx: ctx, progress: p, srcDir: srcDir, dstDir: dstDir, batch: batchBytes,
		options: engine.Options{Kind: o.kind, Mode: o.mode, LimitBytes: o.limit, Unfinished: true},
	}
	return c.run()
}

func (c *conversion) run() (report Conversion, err error) {
	start := time.Now()
	if err := c.openSource(); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, c.from.Close(), c.src.Close()) }()
	report = Conversion{
		Source: c.srcDir, Destination: c.dstDir, To: c.options.Kind,
		Head: c.image.Head, Irreversible: c.image.Irreversible, UndoRevisions: len(c.image.Undo),
	}
	if report.From, err = engine.Detect(c.srcDir); err != nil {
		return report, err
	}
	if report.Resumed, err = c.prepare(report.From); err != nil {
		return report, err
	}
	if err := c.copy(); err != nil {
		return report, err
	}
	if err := c.compare(&report); err != nil {
		return report, err
	}
	if err := engine.MarkFinished(c.dstDir); err != nil {
		return report, err
	}
	report.Seconds = time.Since(start).Seconds()
	return report, nil
}

// openSource opens the source for reading and decides which state is copied: all
// of the image if the destination keeps undo data, else the irreversible one.
func (c *conversion) openSource() error {
	if same, err := sameFolder(c.srcDir, c.dstDir); err != nil || same {
		return errors.Join(err, sameError(c.srcDir, same))
	}
	src, err := open(c.srcDir, engine.Options{})
	if err != nil {
		return err
	}
	if c.image, c.from, err = c.durable(src); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", c.srcDir, err), src.Close())
	}
	c.src = src
	return nil
}

func (c *conversion) durable(src store.Engine) (store.Image, store.View, error) {
	im := src.Recovered()
	if errs := checkImage(c.srcDir, im, len(src.Tables())); len(errs) > 0 {
		return im, nil, errors.Join(errs...)
	}
	if c.options.Kind != engine.Page {
		var err error
		if c.undone, err = pastOf(im); err != nil {
			return im, nil, err
		}
		im = store.Image{Head: im.Irreversible, Irreversible: im.Irreversible}
	}
	if err := src.Publish(im.Head); err != nil {
		return im, nil, err
	}
	v, err := src.View()
	return im, v, err
}

func sameFolder(a, b string) (bool, error) {
	var paths [2]string
	for i, dir := range []string{a, b} {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return false, err
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		paths[i] = abs
	}
	return paths[0] == paths[1], nil
}

func sameError(dir string, same bool) error {
	if !same {
		return nil
	}
	return fmt.Errorf("%s: source and destination are the same folder", dir)
}

// prepare makes the destination's folder ready and opens the store in it, empty
// or with what an earlier run of this conversion left.
func (c *conversion) prepare(from engine.Kind) (resumed bool, err error) {
	source, err := filepath.Abs(c.srcDir)
	if err != nil {
		return false, err
	}
	n := note{
		About: noteAbout, Source: source, From: from, To: c.options.Kind,
		Head: c.image.Head, Irreversible: c.image.Irreversible, Taken: c.src.Stats().LastCheckpoint.At,
	}
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return false, err
	}
	found, err := engine.Unfinished(c.dstDir)
	switch {
	case err == nil && bytes.Equal(found, text):
		_, err := engine.Detect(c.dstDir)
		resumed = err == nil
	case err == nil:
		if err := engine.Remove(c.dstDir); err != nil {
			return false, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	default:
		if k, err := engine.Detect(c.dstDir); err == nil {
			return false, fmt.Errorf(
				"%s: there is a finished %s store in this folder; delete it or name another folder", c.dstDir, k)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	if err := engine.MarkUnfinished(c.dstDir, text); err != nil {
		return false, err
	}
	c.dst, err = engine.OpenRows(c.dstDir, c.options)
	return resumed, err
}

// copy fills the destination and closes it.
func (c *conversion) copy() (err error) {
	defer func() { err = errors.Join(err, c.dst.Close()) }()
	there, err := c.count(c.dst)
	if err != nil {
		return err
	}
	if c.total, err = c.count(c.src); err != nil {
		return err
	}
	c.progress.begin("copying", there, c.total)
	defer c.progress.end()
	if err := c.createTables(); err != nil {
		return err
	}
	for _, t := range c.src.Tables() {
		if err := c.copyTable(t); err != nil {
			return fmt.Errorf("table %q: %w", t.Name, err)
		}
	}
	return c.checkpoint(c.image)
}

// createTables gives the destination the source's tables under their handles,
// which are dense from 1. An earlier run may have made some.
func (c *conversion) createTables() error {
	there := c.dst.Tables()
	for i, t := range c.src.Tables() {
		if i < len(there) {
			if there[i].Name != t.Name {
				return c.differs("table %d is %q, %q in the source", i+1, there[i].Name, t.Name)
			}
			continue
		}
		if got, err := c.dst.CreateTable(t.Name); err != nil {
			return fmt.Errorf("create table %q: %w", t.Name, err)
		} else if got != t.ID {
			return fmt.Errorf("create table %q: handle %d, %d in the source", t.Name, got, t.ID)
		}
	}
	return nil
}

func (c *conversion) copyTable(t store.TableInfo) error {
	last, err := lastKey(c.dst, t.ID)
	if err != nil {
		return err
	}
	w, err := walk(c.from, t.ID, c.undone, last)
	if err != nil {
		return err
	}
	defer w.close()
	for n := 0; w.next(); n++ {
		if n == 0 && bytes.Equal(w.key, last) {
			continue // copied by an earlier run
		}
		if n%1024 == 0 || c.pending >= c.batch {
			if err := c.relieve(); err != nil {
				return err
			}
		}
		if err := c.dst.Put(t.ID, w.key, w.value, nil); err != nil {
			return err
		}
		c.pending += int64(len(w.key) + len(w.value))
		c.progress.add(1)
	}
	return w.err()
}

// relieve stops if it is told to, and takes a checkpoint when one is due. The
// image's revision counts for nothing before the last one.
func (c *conversion) relieve() error {
	if err := checkStopped(c.ctx); err != nil {
		return fmt.Errorf("%w; run the same command again to go on", err)
	}
	if due, _ := c.dst.Pressure(); !due && c.pending < c.batch {
		return nil
	}
	return c.checkpoint(store.Image{})
}

func (c *conversion) checkpoint(im store.Image) error {
	c.pending = 0
	ck, err := c.dst.Checkpoint(im)
	if err != nil {
		return err
	}
	return ck.Wait()
}

// compare reads the new store anew and holds it against the source.
func (c *conversion) compare(report *Conversion) (err error) {
	dst, err := open(c.dstDir, c.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	im := dst.Recovered()
	if im.Head != c.image.Head || im.Irreversible != c.image.Irreversible ||
		!slices.EqualFunc(im.Undo, c.image.Undo, bytes.Equal) {
		return c.differs("revisions or undo data")
	}
	if err := dst.Publish(im.Head); err != nil {
		return err
	}
	v, err := dst.View()
	if err != nil {
		return err
	}
	defer v.Close()
	c.progress.begin("comparing", 0, c.total)
	defer c.progress.end()
	d := newDigest()
	for _, t := range c.src.Tables() {
		n, err := c.compareTable(v, t, d)
		if err != nil {
			return err
		}
		report.Tables = append(report.Tables, n)
		report.Rows += n.Rows
		report.Bytes += n.Bytes
	}
	report.Digest = hex.EncodeToString(d.sum())
	return nil
}

func (c *conversion) compareTable(v store.View, t store.TableInfo, d *digest) (n Table, err error) {
	n = Table{ID: t.ID, Name: t.Name}
	want, err := walk(c.from, t.ID, c.undone, nil)
	if err != nil {
		return n, err
	}
	defer want.close()
	got, err := walk(v, t.ID, nil, nil)
	if err != nil {
		return n, err
	}
	defer got.close()
	d.table(t.Name)
	for {
		more, moreGot := want.next(), got.next()
		if err := errors.Join(want.err(), got.err()); err != nil {
			return n, fmt.Errorf("table %q: %w", t.Name, err)
		}
		switch {
		case !more && !moreGot:
			d.endTable()
			return n, nil
		case more != moreGot:
			return n, c.differs("table %q: one of the two ends after %d rows", t.Name, n.Rows)
		case !bytes.Equal(want.key, got.key) || !bytes.Equal(want.value, got.value):
			return n, c.differs("table %q: after %d rows comes key %x, in the source %x, or its value differs",
				t.Name, n.Rows, got.key, want.key)
		}
		d.row(got.key, got.value)
		n.Rows++
		n.Bytes += int64(len(got.key) + len(got.value))
		if c.progress.add(1); n.Rows%1024 == 0 && c.ctx.Err() != nil {
			return n, errInterrupted
		}
	}
}

// errDiffers: the copy is not what was to be copied. One of the two stores, the
// disk under it, or this program is at fault.
var errDiffers = errors.New("the copy differs from the source")

// differs makes sure that the next run starts from nothing.
func (c *conversion) differs(what string, args ...any) error {
	text, err := json.MarshalIndent(note{About: noteAbout}, "", "  ")
	if err == nil {
		err = engine.MarkUnfinished(c.dstDir, text)
	}
	return errors.Join(fmt.Errorf("%s: %w: %s; run the same command again to start over",
		c.dstDir, errDiffers, fmt.Sprintf(what, args...)), err)
}

// lastKey is the greatest key of a table, nil if it is empty.
func lastKey(r store.Reader, t store.Table) ([]byte, error) {
	c, err := r.Cursor(t)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if !c.Last() {
		return nil, c.Err()
	}
	return bytes.Clone(c.Key()), c.Err()
}

// count is the number of rows of an engine, which it may have to read for it.
func (c *conversion) count(e store.Engine) (int64, error) {
	tables := reportTables(e)
	if err := countTables(c.ctx, e, tables, c.progress); err != nil {
		return 0, err
	}
	rows, _ := total(tables)
	return rows, nil
}
