package parquet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"

	"tarn/fleet"
	"tarn/store/vfs"
)

// writer writes blocks into sets of files.
type writer struct {
	dir      string
	files    vfs.FS
	lock     io.Closer
	ledger   string
	per      uint64
	rowGroup int64
	until    uint64
	log      *slog.Logger
	told     func(fleet.Point) // hears of the last block of each set

	tables tables
	rows   tableOf[change]
	kinds  []kind

	sets  uint64      // that are complete
	last  fleet.Point // that was written; after a start, of the last set
	any   bool        // whether there is one
	first uint64      // block of the set that is being written; 0 for none
	parts []*part     // its files, as kinds has them
	// counted: export.json may count the set that is being written, also after an error.
	counted bool
}

// kind is a kind of files: a table, and the folder that its files are in.
type kind struct {
	folder string
	table  table
}

// part is a file of a set that is being written.
type part struct {
	path string
	file vfs.File
	at   int64
}

// Write appends.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.file.WriteAt(b, p.at)
	p.at += int64(n)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", p.path, err)
	}
	return n, nil
}

// openWriter opens the folder, and ends what a crash interrupted.
func openWriter(o *Options) (w *writer, err error) {
	w = &writer{dir: o.Dir, files: o.FS, ledger: o.Ledger.name, per: o.BlocksPerFile, rowGroup: o.RowGroup,
		until: o.Until, log: o.Log,
		told: func(fleet.Point) {}, tables: o.Ledger.tables()}
	w.kinds = []kind{{"rows", &w.rows}, {"transactions", w.tables.transactions}, {"blocks", w.tables.blocks}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("open the export in %s: %w", o.Dir, err)
		}
	}()
	if err := vfs.MkdirAll(w.files, w.dir); err != nil {
		return nil, err
	}
	lock, holder, err := w.files.Lock(filepath.Join(w.dir, "LOCK"), true)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("process %s exports into it: %w", holder, err)
	}
	if err != nil {
		return nil, err
	}
	w.lock = lock
	if err := w.resume(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return w, nil
}

// resume finds how far the export has come.
func (w *writer) resume() error {
	for _, k := range w.kinds {
		if err := vfs.MkdirAll(w.files, filepath.Join(w.dir, k.folder)); err != nil {
			return err
		}
	}
	p, err := readPlace(w.files, filepath.Join(w.dir, placeName), w.ledger)
	if err != nil {
		return err
	}
	if p != nil {
		w.sets, w.last, w.any = p.Set, p.Last, true
		if err := w.rename(p); err != nil {
			return err
		}
	}
	return w.discard()
}

// rename gives the files of a complete set their names, but for those that have them.
func (w *writer) rename(p *place) error {
	for _, k := range w.kinds {
		from := filepath.Join(w.dir, k.folder, unfinished(p.Set))
		there, err := w.files.Exists(from)
		if err == nil && there {
			err = vfs.RenameDurably(w.files, from, filepath.Join(w.dir, k.folder, p.complete()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// discard removes the files of the set that was not completed.
func (w *writer) discard() error {
	var errs []error
	for _, p := range w.parts {
		if p.file != nil {
			errs = append(errs, p.file.Close())
		}
	}
	w.parts, w.first = nil, 0
	if w.counted {
		return errors.Join(errs...)
	}
	for _, k := range w.kinds {
		err := w.files.Remove(filepath.Join(w.dir, k.folder, unfinished(w.sets+1)))
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// close ends the export. What is not complete is removed.
func (w *writer) close() error { return errors.Join(w.discard(), w.lock.Close()) }

func (w *writer) written() (fleet.Point, bool) { return w.last, w.any }

// write writes a block, and completes the set if it ends here.
func (w *writer) write(b *fleet.Block) error {
	if w.first != 0 && b.Parent != w.last { // a gap, before which a set ends
		if err := w.finish(); err != nil {
			return err
		}
	}
	if w.first == 0 {
		if err := w.begin(b.Parent.Revision + 1); err != nil {
			return err
		}
	}
	err := w.tables.decode(b)
	if err == nil {
		err = changes(b, w.rows.add)
	}
	for _, k := range w.kinds {
		if err == nil {
			err = k.table.drain()
		}
	}
	if err != nil {
		return fmt.Errorf("export block %d (%s): %w", b.Revision, b.ID, err)
	}
	w.last, w.any = b.Point, true
	end := w.until > 0 && b.Revision >= w.until
	if end || b.Revision/w.per != b.Parent.Revision/w.per {
		err = w.finish()
	}
	if end && err == nil {
		err = errEnd
	}
	return err
}

// begin begins a set.
func (w *writer) begin(first uint64) error {
	w.first = first
	for _, k := range w.kinds {
		path := filepath.Join(w.dir, k.folder, unfinished(w.sets+1))
		f, err := w.files.Create(path)
		if err != nil {
			return err
		}
		p := &part{path: path, file: f}
		w.parts = append(w.parts, p)
		k.table.begin(p, w.rowGroup)
	}
	return nil
}

// finish completes the set that is being written.
func (w *writer) finish() error {
	p := &place{Version: placeVersion, Ledger: w.ledger, Set: w.sets + 1, First: w.first, Last: w.last}
	for i, k := range w.kinds {
		if err := w.seal(k, w.parts[i], p); err != nil {
			return fmt.Errorf("complete the files of blocks %d to %d: %w", p.First, p.Last.Revision, err)
		}
	}
	w.counted = true
	if err := p.write(w.files, filepath.Join(w.dir, placeName)); err != nil {
		return err
	}
	w.sets, w.parts, w.first, w.counted = p.Set, nil, 0, false
	if err := w.rename(p); err != nil {
		return fmt.Errorf("name the files of blocks %d to %d: %w", p.First, p.Last.Revision, err)
	}
	w.log.Info("Files are complete", "first", p.First, "last", p.Last.Revision, "id", p.Last.ID)
	w.told(p.Last)
	return nil
}

// seal ends a file, and makes it and its name durable.
func (w *writer) seal(k kind, f *part, p *place) error {
	name := filepath.Join(w.dir, k.folder, p.complete())
	there, err := w.files.Exists(name)
	if err == nil && there {
		err = fmt.Errorf("%s is there already, and %s does not count it", name, placeName)
	}
	if err == nil {
		err = k.table.end()
	}
	if err == nil {
		err = f.file.Sync()
	}
	err = errors.Join(err, f.file.Close())
	f.file = nil
	if err == nil {
		err = w.files.SyncDir(filepath.Dir(f.path))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}
