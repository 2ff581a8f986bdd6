package storetest_test

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tarn/store"
	"tarn/store/revision"
	"tarn/store/storetest"
)

// fault is something that a sketch does wrong on purpose, so that the suite can
// be seen to notice.
type fault int

const (
	sound        fault = iota
	skipSync           // an image is not synced
	earlyDone          // a checkpoint is done before its image is written
	lateLog            // the block log is synced after the image that needs it
	skipLog            // or not at all
	inPlace            // an image is written over the last one
	forgetUndo         // the way back misses rows
	wrongMoment        // an image is of the moment it is written
	movingView         // a view shows the writer's changes
	forgetDelete       // a deletion in a large table is not in the image
	leakLock           // a second opener is let in
)

// sketch is the plainest engine there can be: rows in sorted slices, every
// checkpoint all of them in one of two files. It shows that the suite works, and
// what an engine owes to the seam.
type sketch struct {
	dir   string
	knobs storetest.Knobs
	undo  bool // stored in images
	fault fault
	lock  *os.File

	mu       sync.Mutex // all below
	tables   []sketchTable
	shown    []sketchTable
	revision uint64 // of shown
	used     int64
	changed  int64 // bytes since the last checkpoint
	serial   uint64
	image    store.Image
	stats    store.Stats
	views    map[*sketchView]uint64
	pending  *sketchCheckpoint
	closed   bool
}

type sketchRow struct{ Key, Value string }

// sketchTable's rows are changed in place until they are shared.
type sketchTable struct {
	Name  string
	Rows  []sketchRow
	owned bool
}

func (t *sketchTable) own() []sketchRow {
	if !t.owned {
		t.Rows, t.owned = slices.Clone(t.Rows), true
	}
	return t.Rows
}

// share returns the tables as they are now. The caller holds mu.
func (e *sketch) share() []sketchTable {
	for i := range e.tables {
		e.tables[i].owned = false
	}
	return slices.Clone(e.tables)
}

// sketchImage is the content of a file, after its checksum.
type sketchImage struct {
	Serial uint64
	Tables []sketchTable
	Image  store.Image
}

func openSketch(dir string, k storetest.Knobs, undo bool, f fault) (store.Store, error) {
	e := &sketch{dir: dir, knobs: k, undo: undo, fault: f, views: map[*sketchView]uint64{}}
	if !k.ReadOnly {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := e.takeLock(); err != nil {
		return nil, err
	}
	if err := e.read(); err != nil {
		return nil, errors.Join(err, e.unlock())
	}
	e.stats.Engine = "sketch"
	s, err := revision.Open(e)
	if err != nil {
		return nil, errors.Join(err, e.unlock())
	}
	return s, nil
}

func (e *sketch) takeLock() error {
	name := filepath.Join(e.dir, "LOCK")
	flag, how := os.O_RDWR|os.O_CREATE, syscall.LOCK_EX
	if e.knobs.ReadOnly {
		flag, how = os.O_RDONLY, syscall.LOCK_SH
	}
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return err
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) && e.fault != leakLock {
		b := make([]byte, 20)
		n, _ := f.ReadAt(b, 0)
		f.Close()
		pid, _ := strconv.Atoi(string(b[:n]))
		return &store.LockedError{Path: e.dir, PID: pid}
	}
	e.lock = f
	if e.knobs.ReadOnly {
		return nil
	}
	return errors.Join(f.Truncate(0), second(f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)))
}

func second[T any](_ T, err error) error { return err }

func (e *sketch) file(serial uint64) string {
	if e.fault == inPlace {
		serial = 0
	}
	return filepath.Join(e.dir, fmt.Sprintf("image.%d", serial%2))
}

func (e *sketch) read() error {
	for n := range uint64(2) {
		b, err := os.ReadFile(e.file(n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if len(b) < 4 || crc32.ChecksumIEEE(b[4:]) != binary.LittleEndian.Uint32(b) {
			continue // was being written
		}
		var im sketchImage
		if err := gob.NewDecoder(bytes.NewReader(b[4:])).Decode(&im); err != nil {
			return err
		}
		if im.Serial >= e.serial {
			e.serial, e.tables, e.image = im.Serial, im.Tables, im.Image
		}
	}
	for _, t := range e.tables {
		for _, r := range t.Rows {
			e.used += int64(len(r.Key) + len(r.Value))
		}
	}
	return nil
}

func (e *sketch) Recovered() store.Image { return e.image }

func (e *sketch) Durable() store.Durable {
	e.mu.Lock()
	defer e.mu.Unlock()
	return store.Durable{Head: e.image.Head, Irreversible: e.image.Irreversible}
}

func find(rows []sketchRow, key []byte) (int, bool) {
	return slices.BinarySearchFunc(rows, string(key), func(r sketchRow, key string) int {
		return strings.Compare(r.Key, key)
	})
}

func get(rows []sketchRow, key []byte) ([]byte, error) {
	i, ok := find(rows, key)
	if !ok {
		return nil, store.ErrNotFound
	}
	return []byte(rows[i].Value), nil
}

func (e *sketch) Get(t store.Table, key []byte) ([]byte, error) {
	return get(e.tables[t-1].Rows, key)
}

func (e *sketch) Cursor(t store.Table) (store.Cursor, error) {
	return &sketchCursor{rows: func() []sketchRow { return e.tables[t-1].Rows }, at: -1}, nil
}

func (e *sketch) Restore(t store.Table, key, old []byte, existed bool) error {
	if existed {
		return e.Put(t, key, old, nil)
	}
	if err := e.Delete(t, key, nil); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

func (e *sketch) Put(t store.Table, key, value []byte, undo *store.Journal) error {
	if e.knobs.ReadOnly {
		return store.ErrReadOnly
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	limit, need := e.knobs.LimitBytes, int64(len(key)+len(value))
	if undo == nil {
		limit *= 2 // room to take everything back
	}
	if limit > 0 && e.used+need > limit {
		return &store.FullError{Path: e.dir, Need: need, Free: limit - e.used, Limit: e.knobs.LimitBytes}
	}
	rows := e.tables[t-1].own()
	i, ok := find(rows, key)
	row := sketchRow{string(key), string(value)}
	if undo != nil {
		var old []byte
		if ok {
			old = []byte(rows[i].Value)
		}
		undo.Record(t, key, old, ok)
	}
	if ok {
		e.used -= int64(len(rows[i].Key) + len(rows[i].Value))
		rows[i] = row
	} else {
		e.tables[t-1].Rows = slices.Insert(rows, i, row)
	}
	e.used += need
	e.changed += need
	return nil
}

func (e *sketch) Delete(t store.Table, key []byte, undo *store.Journal) error {
	if e.knobs.ReadOnly {
		return store.ErrReadOnly
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	rows := e.tables[t-1].own()
	i, ok := find(rows, key)
	if !ok {
		return store.ErrNotFound
	}
	if undo != nil {
		undo.Record(t, key, []byte(rows[i].Value), true)
	}
	e.used -= int64(len(rows[i].Key) + len(rows[i].Value))
	e.tables[t-1].Rows = slices.Delete(rows, i, i+1)
	return nil
}

func (e *sketch) CreateTable(name string) (store.Table, error) {
	if e.knobs.ReadOnly {
		return 0, store.ErrReadOnly
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tables = append(e.share(), sketchTable{Name: name})
	return store.Table(len(e.tables)), nil
}

func infos(tables []sketchTable) []store.TableInfo {
	var all []store.TableInfo
	for i, t := range tables {
		all = append(all, store.TableInfo{ID: store.Table(i + 1), Name: t.Name, Rows: int64(len(t.Rows)), Bytes: -1})
	}
	return all
}

func (e *sketch) Tables() []store.TableInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return infos(e.tables)
}

func (e *sketch) Pressure() (checkpoint, guard bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.knobs.MemoryBytes > 0 && e.changed > e.knobs.MemoryBytes,
		e.knobs.GuardBytes > 0 && e.knobs.LimitBytes-e.used < e.knobs.GuardBytes
}

func (e *sketch) Stats() store.Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.OpenViews = int64(len(e.views))
	for _, revision := range e.views {
		if s.OldestView == 0 || revision < s.OldestView {
			s.OldestView = revision
		}
	}
	return s
}

func (e *sketch) Verify(func(error)) error { return nil }

func (e *sketch) Close() error {
	e.mu.Lock()
	c := e.pending
	e.mu.Unlock()
	if c != nil {
		<-c.done
	}
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	return e.unlock()
}

// unlock does not leave it to the closing of the file, of which a process that
// is just being started may have a copy.
func (e *sketch) unlock() error {
	return errors.Join(syscall.Flock(int(e.lock.Fd()), syscall.LOCK_UN), e.lock.Close())
}

// Views.

type sketchView struct {
	engine   *sketch
	tables   []sketchTable
	revision uint64
}

func (e *sketch) Publish(revision uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown, e.revision = e.share(), revision
	return nil
}

func (e *sketch) View() (store.View, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, store.ErrClosed
	}
	v := &sketchView{engine: e, tables: e.shown, revision: e.revision}
	if e.fault == movingView {
		v.tables = e.share()
	}
	e.views[v] = v.revision
	return v, nil
}

func (v *sketchView) table(t store.Table) (sketchTable, error) {
	if t == 0 || int(t) > len(v.tables) {
		return sketchTable{}, store.ErrNoTable
	}
	return v.tables[t-1], nil
}

func (v *sketchView) Get(t store.Table, key []byte) ([]byte, error) {
	table, err := v.table(t)
	if err != nil {
		return nil, err
	}
	if len(key) == 0 || len(key) > store.MaxKey {
		return nil, store.ErrKeySize
	}
	return get(table.Rows, key)
}

func (v *sketchView) Cursor(t store.Table) (store.Cursor, error) {
	table, err := v.table(t)
	if err != nil {
		return nil, err
	}
	return &sketchCursor{rows: func() []sketchRow { return table.Rows }, at: -1}, nil
}

func (v *sketchView) Revision() uint64          { return v.revision }
func (v *sketchView) Tables() []store.TableInfo { return infos(v.tables) }
func (v *sketchView) Close() error {
	v.engine.mu.Lock()
	defer v.engine.mu.Unlock()
	delete(v.engine.views, v)
	return nil
}

// sketchCursor stands on a position; -1 is nowhere.
type sketchCursor struct {
	rows func() []sketchRow
	at   int
}

func (c *sketchCursor) to(i int) bool {
	c.at = i
	if i >= len(c.rows()) {
		c.at = -1
	}
	return c.at >= 0
}

func (c *sketchCursor) First() bool { return c.to(0) }
func (c *sketchCursor) Last() bool  { return c.to(len(c.rows()) - 1) }
func (c *sketchCursor) Seek(key []byte) bool {
	i, _ := find(c.rows(), key)
	return c.to(i)
}
func (c *sketchCursor) SeekLT(key []byte) bool {
	i, _ := find(c.rows(), key)
	return c.to(i - 1)
}
func (c *sketchCursor) Next() bool    { return c.at >= 0 && c.to(c.at+1) }
func (c *sketchCursor) Prev() bool    { return c.at >= 0 && c.to(c.at-1) }
func (c *sketchCursor) Valid() bool   { return c.at >= 0 }
func (c *sketchCursor) Key() []byte   { return []byte(c.rows()[c.at].Key) }
func (c *sketchCursor) Value() []byte { return []byte(c.rows()[c.at].Value) }
func (c *sketchCursor) Err() error    { return nil }
func (c *sketchCursor) Close() error  { return nil }

// Checkpoints.

type sketchCheckpoint struct {
	done chan struct{}
	err  error
}

func (c *sketchCheckpoint) Done() <-chan struct{} { return c.done }
func (c *sketchCheckpoint) Wait() error {
	<-c.done
	return c.err
}

func (e *sketch) Checkpoint(im store.Image) (store.Checkpoint, error) {
	if e.knobs.ReadOnly {
		return nil, store.ErrReadOnly
	}
	e.mu.Lock()
	last := e.pending
	e.mu.Unlock()
	if last != nil {
		<-last.done
	}
	begun := time.Now()
	e.mu.Lock()
	tables := e.share()
	e.changed = 0
	c := &sketchCheckpoint{done: make(chan struct{})}
	e.pending = c
	e.mu.Unlock()
	if !e.undo {
		if err := takeBack(tables, im.Undo); err != nil {
			return nil, err
		}
		im = store.Image{Head: im.Irreversible, Irreversible: im.Irreversible}
	}
	if e.fault == forgetUndo && len(im.Undo) > 0 {
		im.Undo = append(slices.Clone(im.Undo[:len(im.Undo)-1]), nil)
	}
	go func() {
		if e.fault == earlyDone {
			e.finish(c, im, begun)
			e.linger()
			e.write(im, tables) //nolint:errcheck // a fault
			return
		}
		c.err = e.write(im, tables)
		e.finish(c, im, begun)
	}()
	return c, nil
}

// linger makes the wrong moment of a fault so long that a kill meets it.
func (e *sketch) linger() { time.Sleep(40 * time.Millisecond) }

// takeBack undoes journals in shared tables.
func takeBack(tables []sketchTable, undo [][]byte) error {
	for _, journal := range slices.Backward(undo) {
		err := store.Backward(journal, func(t store.Table, key, old []byte, existed bool) error {
			rows := tables[t-1].own()
			var back []sketchRow
			if existed {
				back = []sketchRow{{string(key), string(old)}}
			}
			i, ok := find(rows, key)
			end := i
			if ok {
				end++
			}
			tables[t-1].Rows = slices.Replace(rows, i, end, back...)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *sketch) finish(c *sketchCheckpoint, im store.Image, begun time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.err != nil {
		e.stats.CheckpointsFailed++
	} else {
		e.image = im
		e.stats.Checkpoints++
		e.stats.LastCheckpoint = store.CheckpointStats{At: time.Now(), Duration: time.Since(begun),
			Image: store.Durable{Head: im.Head, Irreversible: im.Irreversible}}
	}
	close(c.done)
}

func (e *sketch) write(im store.Image, tables []sketchTable) error {
	if e.fault == wrongMoment {
		time.Sleep(5 * time.Millisecond)
		e.mu.Lock()
		tables = e.share()
		e.mu.Unlock()
	}
	if e.fault == forgetDelete {
		tables = withDeleted(tables)
	}
	var b bytes.Buffer
	b.Write(make([]byte, 4))
	if err := gob.NewEncoder(&b).Encode(sketchImage{e.serial + 1, tables, im}); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b.Bytes(), crc32.ChecksumIEEE(b.Bytes()[4:]))
	log := e.knobs.BeforeCheckpoint
	if log == nil || e.fault == skipLog {
		log = func(uint64) error { return nil }
	}
	if e.fault != lateLog {
		if err := log(im.Head); err != nil {
			return err
		}
	}
	if err := e.put(e.file(e.serial+1), b.Bytes()); err != nil {
		return e.full(err)
	}
	e.serial++
	if e.fault == lateLog {
		e.linger()
		return log(im.Head)
	}
	return nil
}

func (e *sketch) full(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: %w", &store.FullError{Path: e.dir}, err)
	}
	return err
}

// withDeleted brings the first row of a table back as if it had not been
// deleted.
func withDeleted(tables []sketchTable) []sketchTable {
	for i, t := range tables {
		if len(t.Rows) > 100 {
			tables[i].Rows = slices.Concat([]sketchRow{{"\x00", ""}}, t.Rows)
		}
	}
	return tables
}

func (e *sketch) put(name string, b []byte) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Truncate(int64(len(b)))
	}
	if err == nil && e.fault != skipSync {
		err = f.Sync()
	}
	if err == nil && e.fault != skipSync {
		var d *os.File
		if d, err = os.Open(e.dir); err == nil {
			err = errors.Join(d.Sync(), d.Close())
		}
	}
	return errors.Join(err, f.Close())
}
