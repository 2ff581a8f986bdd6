package lsm

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tarn/store"
)

// Engine implements store.Engine. Goroutine rules are those of store.Store.
type Engine struct {
	opts   Options
	folder *Folder
	base   *handle
	cache  *rowCache

	// The writer's; live and ground are only replaced by it, and read by others
	// for their counters.
	live     atomic.Pointer[overlay]
	ground   atomic.Pointer[ground]
	bare     bool // something changed outside any session since live was new
	loans    loans
	key      []byte
	flushing *flush // the newest one, perhaps done

	// next is a flush's result, on its way to the writer.
	next atomic.Pointer[ground]

	published atomic.Pointer[capture]
	tables    atomic.Pointer[[]store.TableInfo]
	named     int // tables whose names the base has; the flush's

	sequence uint64 // of the newest flush that was tried; the flush's
	unsure   bool   // the base may have more than its newest snapshot shows; the flush's

	mu       sync.Mutex // guards the next four, closed for writing only
	durable  store.Durable
	last     store.CheckpointStats
	views    map[*view]struct{}
	closed   atomic.Bool
	counters counters
}

type counters struct {
	gets, puts, deletes            atomic.Int64
	checkpoints, checkpointsFailed atomic.Int64
	sealed                         atomic.Int64 // bytes
}

var _ store.Engine = (*Engine)(nil)

// Open starts the engine on a library. It owns base from now on and closes it
// with the engine, or at once when it fails.
func Open(base Base, o Options) (*Engine, error) {
	o.setDefaults()
	e := &Engine{opts: o, folder: base.Folder(), base: newHandle(base), views: map[*view]struct{}{}}
	e.base.free = func() {
		e.base.err = base.Close()
		if e.cache != nil {
			e.base.err = errors.Join(e.base.err, e.cache.close())
		}
	}
	if err := o.Validate(); err != nil {
		return nil, e.abandon(err)
	}
	if err := e.start(); err != nil {
		return nil, e.abandon(fmt.Errorf("open %s: %w", e.folder.path, err))
	}
	return e, nil
}

// abandon undoes a start that failed.
func (e *Engine) abandon(err error) error {
	if g := e.ground.Load(); g != nil {
		g.drop()
	}
	if l := e.live.Load(); l != nil {
		l.drop()
	}
	e.base.drop()
	return errors.Join(err, e.base.err)
}

func (e *Engine) start() error {
	var err error
	if e.cache, err = newRowCache(Share(e.opts.CacheBytes).Rows); err != nil {
		return err
	}
	s, err := e.base.snapshot(0)
	if err != nil {
		return err
	}
	e.ground.Store(newGround(s))
	h, err := e.folder.head(func(key []byte) ([]byte, error) { return s.Get(nil, key) })
	if err != nil {
		return err
	}
	if h.sequence == 0 {
		if h, err = e.create(); err != nil {
			return err
		}
	}
	if e.folder.behind(h) {
		// From here on it is called durable, and must not be taken for the end of
		// a log that was being written.
		if err := e.seal(h); err != nil {
			return err
		}
	}
	e.sequence, s.sequence = h.sequence, h.sequence
	e.cache.advance(h.sequence)
	e.durable = store.Durable{Head: h.revision, Irreversible: h.revision}
	e.last.Image, e.last.At = e.durable, e.folder.at
	if err := e.readTables(); err != nil {
		return err
	}
	live, err := e.newOverlay(e.overlayLimit(), 0, e.named)
	if err != nil {
		return err
	}
	e.live.Store(live)
	return e.Publish(h.revision)
}

func (e *Engine) overlayLimit() int64 { return overlaySlack * e.opts.OverlayBytes }

// create makes the empty state durable as flush 1.
func (e *Engine) create() (head, error) {
	h := head{sequence: 1}
	b, err := e.base.Batch(64)
	if err != nil {
		return h, fmt.Errorf("create the store: %w", err)
	}
	if err := errors.Join(b.Put(formatKey, formatRow()), b.Put(headKey, h.encode())); err != nil {
		b.Discard()
		return h, fmt.Errorf("create the store: %w", err)
	}
	if err := b.Commit(); err != nil {
		return h, fmt.Errorf("create the store: %w", err)
	}
	if err := e.seal(h); err != nil {
		return h, err
	}
	s, err := e.base.snapshot(h.sequence)
	if err != nil {
		return h, err
	}
	e.ground.Swap(newGround(s)).drop()
	return h, nil
}

// readTables reads the catalogue from the base.
func (e *Engine) readTables() error {
	infos, err := readTables(e.ground.Load().base)
	if err != nil {
		return err
	}
	e.named = len(infos)
	e.tables.Store(&infos)
	return nil
}

func readTables(s Snapshot) (infos []store.TableInfo, err error) {
	c, err := s.Cursor([]byte{0, 0, nameKind}, []byte{0, 0, nameKind + 1})
	if err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for ok := c.First(); ok; ok = c.Next() {
		id := store.Table(len(infos) + 1)
		if key := c.Key(); string(key) != string(nameKey(id)) {
			return nil, fmt.Errorf("the name of table %d is missing, next is %x: %w", id, key, store.ErrCorrupt)
		}
		infos = append(infos, store.TableInfo{ID: id, Name: string(c.Value()), Rows: -1, Bytes: -1})
	}
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	return infos, nil
}

// CreateTable implements store.Engine. The name becomes durable with the next
// flush.
func (e *Engine) CreateTable(name string) (store.Table, error) {
	if e.folder.ReadOnly() {
		return 0, store.ErrReadOnly
	}
	infos := *e.tables.Load()
	if len(infos) == maxTables {
		return 0, fmt.Errorf("%s: %d tables are the most there can be: %w", e.folder.dir, maxTables, store.ErrFull)
	}
	id := store.Table(len(infos) + 1)
	if err := e.live.Load().grow(id); err != nil {
		return 0, err
	}
	grown := append(infos[:len(infos):len(infos)], store.TableInfo{ID: id, Name: name, Rows: -1, Bytes: -1})
	e.tables.Store(&grown)
	e.bare = true
	e.adopt()
	return id, nil
}

// Tables implements store.Engine. Rows and bytes are not counted.
func (e *Engine) Tables() []store.TableInfo {
	return append([]store.TableInfo(nil), *e.tables.Load()...)
}

// Durable implements store.Engine.
func (e *Engine) Durable() store.Durable {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.durable
}

// Recovered implements store.Engine: an image without undo data.
func (e *Engine) Recovered() store.Image {
	d := e.Durable()
	return store.Image{Head: d.Head, Irreversible: d.Irreversible}
}

// Pressure implements store.Engine. A writer that is faster than the flush under
// way waits for it here, when as much again has gathered.
func (e *Engine) Pressure() (checkpoint, guard bool) {
	used := e.live.Load().usedBytes()
	if used >= 2*e.opts.OverlayBytes && e.flushing != nil {
		e.flushing.Wait() //nolint:errcheck // its owner is told
	}
	return used >= e.opts.OverlayBytes, used >= e.overlayLimit()/8*7
}

// Close implements store.Engine. Views that are still open answer store.ErrClosed
// from now on, and keep the library and the lock until the last of them is
// closed.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed.Swap(true) {
		e.mu.Unlock()
		return store.ErrClosed
	}
	open := len(e.views)
	e.mu.Unlock()
	if e.flushing != nil {
		e.flushing.Wait() //nolint:errcheck // its owner has been told
	}
	e.adopt()
	e.loans.end()
	e.published.Swap(nil).drop()
	e.live.Load().drop()
	e.ground.Load().drop()
	e.base.drop()
	if open > 0 {
		return nil // the last view closes the library, and says what came of it
	}
	return e.base.err
}
