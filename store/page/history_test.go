package page_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs"
	"tarn/store/vfs/recordfs"
)

// storeDir is where the stores of these tests lie in their file systems.
const storeDir = "/store"

// content is everything that a store holds, by "table/key".
type content map[string]string

// span is one checkpoint: what it makes durable, and when it was under way.
type span struct {
	image  store.Durable
	states []content // from the irreversible revision to the head
	begun  int       // position of the record at which it was asked for
	done   int       // at which Wait had returned nil; math.MaxInt if it did not
}

// history is a store at work and the book of what it has promised. The state
// of every undoable revision is kept whole, so that undoing is going back one.
type history struct {
	t       testing.TB
	rand    *rand.Rand
	fs      vfs.FS
	options page.Options
	record  *recordfs.FS // may be nil

	engine *page.Engine
	store  *revision.Store
	tables []store.Table
	log    vfs.File

	past    []content // of the undoable revisions, the irreversible one first
	now     content
	spans   []span
	opened  int  // position at which the first Open had returned
	sizes   int  // the largest value
	keys    int  // how many different keys
	waiting bool // the newest span's checkpoint has not been waited for
	pending store.Checkpoint

	// onFailure is told of failed checkpoints that nobody waits for; nil makes
	// them errors of the test.
	onFailure func(error)
}

// tableNames has a name of the greatest length.
var tableNames = []string{"accounts", strings.Repeat("b", 255), "code"}

// newHistory makes a store with its log in fs. Positions are those of record, a
// layer of fs; it may be nil.
func newHistory(t testing.TB, seed uint64, fs vfs.FS, record *recordfs.FS, o page.Options) *history {
	t.Helper()
	h := &history{
		t: t, rand: rand.New(rand.NewPCG(seed, 0)), fs: fs, record: record, options: o, sizes: 30_000, keys: 250,
	}
	h.options.FS = fs
	if h.options.Dir == "" {
		h.options.Dir = storeDir
	}
	h.options.BeforeCheckpoint = h.appendLog
	h.try(vfs.MkdirAll(fs, h.options.Dir))
	log, err := fs.Create(h.options.Dir + "/blocks.log")
	h.try(err)
	h.log = log
	h.try(fs.SyncDir(h.options.Dir))
	h.now = content{}
	h.open()
	h.opened = h.position()
	h.past = []content{h.now}
	return h
}

func (h *history) try(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) position() int {
	if h.record == nil {
		return 0
	}
	return h.record.Position()
}

// appendLog stands for the block log: a record for each image, durable before
// the image is.
func (h *history) appendLog(revision uint64) error {
	size, err := h.log.Size()
	if err != nil {
		return err
	}
	size -= size % 12 // a failed write may have left a part
	b := binary.LittleEndian.AppendUint64(nil, revision)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	if _, err := h.log.WriteAt(b, size); err != nil {
		return err
	}
	return h.log.Sync()
}

// hasLogged reports whether the log knows a revision.
func hasLogged(fs vfs.FS, path string, revision uint64) (bool, error) {
	f, err := fs.Open(path, false)
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return false, err
	}
	for at := int64(0); at+12 <= size; at += 12 {
		var b [12]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			return false, err
		}
		if crc32.ChecksumIEEE(b[:8]) == binary.LittleEndian.Uint32(b[8:]) &&
			binary.LittleEndian.Uint64(b[:]) == revision {
			return true, nil
		}
	}
	return false, nil
}

// open opens the store and checks that it is the durable one.
func (h *history) open() {
	h.t.Helper()
	e, err := page.Open(h.options)
	h.try(err)
	h.engine = e
	h.store, err = revision.Open(watched{e, h})
	h.try(err)
	h.tables = h.tables[:0]
	if h.store.Head() > 0 {
		for _, name := range tableNames {
			t, err := h.store.Table(name)
			h.try(err)
			h.tables = append(h.tables, t)
		}
	}
}

func (h *history) close() {
	h.t.Helper()
	h.wait()
	h.try(h.store.Close())
}

// reopen closes and opens the store, which goes back to the durable image.
func (h *history) reopen() {
	h.t.Helper()
	h.close()
	h.open()
	last := h.lastDone()
	h.past = slices.Clone(last.states)
	h.now = maps.Clone(last.states[len(last.states)-1])
	h.try(equal(h.store, h.now))
}

func (h *history) lastDone() span {
	for _, s := range slices.Backward(h.spans) {
		if s.done < math.MaxInt {
			return s
		}
	}
	return span{states: []content{{}}}
}

// fill makes the tables and loads rows outside any session.
func (h *history) fill(rows int, revision uint64) {
	h.t.Helper()
	for _, name := range tableNames {
		t, err := h.store.CreateTable(name)
		h.try(err)
		h.tables = append(h.tables, t)
	}
	for range rows {
		h.put()
	}
	h.try(h.store.SetRevision(revision))
	h.past = []content{maps.Clone(h.now)}
}

func (h *history) key() (int, string) {
	t := h.rand.IntN(len(h.tables))
	n := h.rand.IntN(h.keys)
	switch t {
	case 0:
		return t, fmt.Sprintf("%032d", n*n)
	case 1:
		return t, string(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	return t, strings.Repeat("long/", 40) + fmt.Sprint(n)
}

func (h *history) value() string {
	size := h.rand.IntN(120)
	switch n := h.rand.IntN(100); {
	case n < 3:
		size = h.rand.IntN(h.sizes)
	case n < 10:
		size = h.rand.IntN(3000)
	}
	return text(h.rand, size)
}

// text is a random string, quick to draw.
func text(r *rand.Rand, size int) string {
	b := make([]byte, size+8)
	for i := 0; i < size; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return string(b[:size])
}

func (h *history) put() {
	h.t.Helper()
	t, key := h.key()
	value := h.value()
	h.try(h.store.Put(h.tables[t], []byte(key), []byte(value)))
	h.now[tableNames[t]+"/"+key] = value
}

func (h *history) delete() {
	h.t.Helper()
	t, key := h.key()
	_, there := h.now[tableNames[t]+"/"+key]
	err := h.store.Delete(h.tables[t], []byte(key))
	if there != (err == nil) || !there && !errors.Is(err, store.ErrNotFound) {
		h.t.Fatalf("delete of a row that is there (%v): %v", there, err)
	}
	delete(h.now, tableNames[t]+"/"+key)
}

// clear empties one table.
func (h *history) clear(t int) {
	h.t.Helper()
	_, err := h.store.DeleteRange(h.tables[t], nil, nil)
	h.try(err)
	maps.DeleteFunc(h.now, func(k, _ string) bool { return strings.HasPrefix(k, tableNames[t]+"/") })
}

// block applies a revision of some changes, with sessions inside that are
// undone or squashed.
func (h *history) block(changes int) {
	h.t.Helper()
	h.try(h.store.Begin())
	for changes > 0 {
		before := maps.Clone(h.now)
		h.try(h.store.Begin())
		for range 1 + h.rand.IntN(6) {
			if h.rand.IntN(4) == 0 {
				h.delete()
			} else {
				h.put()
			}
			changes--
		}
		if h.rand.IntN(5) == 0 {
			h.try(h.store.Undo())
			h.now = before
		} else {
			h.try(h.store.Squash())
		}
	}
	h.try(h.store.Push())
	h.past = append(h.past, maps.Clone(h.now))
}

// undo takes the head revision back, if there is one.
func (h *history) undo() {
	h.t.Helper()
	if len(h.past) > 1 {
		h.try(h.store.Undo())
		h.past = h.past[:len(h.past)-1]
		h.now = maps.Clone(h.past[len(h.past)-1])
	}
}

// commit leaves at most n revisions undoable.
func (h *history) commit(n int) {
	h.t.Helper()
	if drop := len(h.past) - 1 - n; drop > 0 {
		h.try(h.store.Commit(h.store.Irreversible() + uint64(drop)))
		h.past = h.past[drop:]
	}
}

// checkpoint starts one; watched notes what it promises.
func (h *history) checkpoint() {
	h.t.Helper()
	_, err := h.store.Checkpoint()
	h.try(err)
}

// watched is the engine with an eye on its checkpoints, those included that the
// store takes by itself.
type watched struct {
	*page.Engine
	history *history
}

func (w watched) Checkpoint(im store.Image) (store.Checkpoint, error) {
	h := w.history
	if err := h.finish(); err != nil {
		if h.onFailure == nil {
			h.t.Error(err)
		} else {
			h.onFailure(err)
		}
	}
	s := span{
		image:  store.Durable{Head: im.Head, Irreversible: im.Irreversible},
		states: slices.Clone(h.past),
		begun:  h.position(),
		done:   math.MaxInt,
	}
	if uint64(len(s.states)) == im.Head-im.Irreversible { // Push calls before block has noted its state
		s.states = append(s.states, maps.Clone(h.now))
	}
	c, err := w.Engine.Checkpoint(im)
	if err == nil {
		h.spans = append(h.spans, s)
		h.pending, h.waiting = c, true
	}
	return c, err
}

// wait waits for the checkpoint under way.
func (h *history) wait() {
	h.t.Helper()
	h.try(h.finish())
}

// finish waits for the checkpoint under way and notes when it was promised.
func (h *history) finish() error {
	if !h.waiting {
		return nil
	}
	h.waiting = false
	if err := h.pending.Wait(); err != nil {
		return err
	}
	h.spans[len(h.spans)-1].done = h.position()
	return nil
}

// equal compares all that a store or a view holds with want.
func equal(r interface {
	store.Reader
	Tables() []store.TableInfo
}, want content) error {
	seen := 0
	for _, info := range r.Tables() {
		if !slices.Contains(tableNames, info.Name) {
			continue
		}
		n, err := equalTable(r, info, want)
		if err != nil {
			return fmt.Errorf("table %s: %w", info.Name, err)
		}
		seen += n
	}
	if seen != len(want) {
		return fmt.Errorf("%d rows instead of %d", seen, len(want))
	}
	return nil
}

func equalTable(r store.Reader, info store.TableInfo, want content) (n int, err error) {
	c, err := r.Cursor(info.ID)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	last := ""
	name := []byte(info.Name + "/")
	for ok := c.First(); ok; ok = c.Next() {
		key := append(name, c.Key()...)
		value, ok := want[string(key)]
		got := c.Value()
		if err := c.Err(); err != nil {
			return n, fmt.Errorf("value of row %x: %w", c.Key(), err)
		}
		switch {
		case !ok:
			return n, fmt.Errorf("row %x should not be there", c.Key())
		case string(got) != value:
			return n, fmt.Errorf("row %x has another value, of %d bytes instead of %d", c.Key(), len(got), len(value))
		case n > 0 && string(c.Key()) <= last:
			return n, fmt.Errorf("row %x comes after %x", c.Key(), last)
		}
		last = string(c.Key())
		n++
	}
	return n, c.Err()
}
