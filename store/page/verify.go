package page

import (
	"bytes"
	"errors"
	"fmt"

	"tarn/store"
)

// Verify implements store.Engine. It reads the durable image by file calls, so
// that what it checks is what the disk holds, whatever the memory says. The
// writer calls it; what it is about stays untouched meanwhile.
func (e *Engine) Verify(report func(error)) error {
	if e.view == nil {
		return errVolatile
	}
	e.settle()
	e.mu.Lock()
	e.durable.refs++
	e.mu.Unlock()
	defer e.letGo(e.durable)
	size, err := e.view.Size()
	if err != nil {
		return fmt.Errorf("verify %s: %w", e.path, err)
	}
	v := &verifier{engine: e, image: e.image, size: size, report: report, seen: make(bitmap, e.image.end>>6+1)}
	for i := range v.nodes {
		v.nodes[i] = scratchNode()
	}
	return v.run()
}

// verifier walks one image.
type verifier struct {
	engine *Engine
	image  meta
	size   int64
	report func(error)
	seen   bitmap
	nodes  [maxHeight]*node
	rows   int64
	bytes  int64
	keys   [2][]byte // scratch: the present key and the one before
}

func (v *verifier) run() error {
	m, _, err := chooseMeta(v.engine.path, v.engine.view)
	if err != nil {
		v.report(err)
	} else if m.sequence < v.image.sequence {
		v.report(corruptPage(v.engine.path, int64(v.image.sequence&1), -1,
			fmt.Sprintf("newest meta page has sequence %d, %d was made durable", m.sequence, v.image.sequence)))
	}
	list := v.imageRun(v.image.free, kindFree)
	err = decodeFree(list, v.image.end, func(page, pages uint32) { v.mark(page, pages, -1, "free list") })
	if err != nil {
		v.report(corruptPage(v.engine.path, int64(v.image.free.page), -1, err.Error()))
	}
	var tables []table
	if catalog := v.imageRun(v.image.catalog, kindCatalog); v.image.catalog.page != 0 {
		if tables, err = decodeCatalog(catalog); err != nil {
			v.report(corruptPage(v.engine.path, int64(v.image.catalog.page), -1, err.Error()))
			return nil
		}
	}
	undo := v.imageRun(v.image.undo, kindUndo)
	if journals, err := decodeUndo(undo, len(tables)); err != nil {
		v.report(corruptPage(v.engine.path, int64(v.image.undo.page), -1, err.Error()))
	} else if uint64(len(journals)) != v.image.head-v.image.irreversible {
		v.report(corruptPage(v.engine.path, int64(v.image.undo.page), -1,
			fmt.Sprintf("%d undo journals between revisions %d and %d",
				len(journals), v.image.irreversible, v.image.head)))
	}
	for i := range tables {
		v.table(store.Table(i+1), &tables[i])
	}
	for p := uint32(firstPage); p < v.image.end; p++ {
		if !v.seen.get(p) {
			v.report(corruptPage(v.engine.path, int64(p), -1, "is neither free nor part of a table"))
		}
	}
	return nil
}

// mark notes the use of pages and reports a second one.
func (v *verifier) mark(page, pages uint32, t int64, use string) bool {
	if page < firstPage || uint64(page)+uint64(pages) > uint64(v.image.end) {
		v.report(corruptPage(v.engine.path, int64(page), t, use+" reaches outside the file"))
		return false
	}
	for p := page; p < page+pages; p++ {
		if v.seen.get(p) {
			v.report(corruptPage(v.engine.path, int64(p), t, "is used twice, here as "+use))
			return false
		}
		v.seen.set(p)
	}
	return true
}

func (v *verifier) imageRun(r runRef, kind uint8) []byte {
	if r.page == 0 || !v.mark(r.page, uint32(runPages(int64(r.size))), -1, "part of the image") {
		return nil
	}
	b, err := readRunFile(v.engine.path, v.engine.view, v.size, r, kind, 0)
	if err != nil {
		v.report(err)
	}
	return b
}

func (v *verifier) table(t store.Table, tb *table) {
	v.rows, v.bytes = 0, 0
	v.keys[0], v.keys[1] = v.keys[0][:0], v.keys[1][:0]
	if tb.height > 0 {
		v.walk(t, tb.root, int(tb.height)-1, nil, nil)
	}
	if v.rows != tb.rows || v.bytes != tb.bytes {
		v.report(corruptPage(v.engine.path, int64(tb.root.page), int64(t),
			fmt.Sprintf("table %q has %d rows of %d bytes, its catalog entry says %d of %d",
				tb.name, v.rows, v.bytes, tb.rows, tb.bytes)))
	}
}

// walk checks the subtree at r, whose keys must lie in [lo, hi), nil meaning no
// bound.
func (v *verifier) walk(t store.Table, r ref, level int, lo, hi []byte) {
	if !v.mark(r.page, 1, int64(t), "tree node") {
		return
	}
	n := v.nodes[level]
	if _, err := v.engine.view.ReadAt(n.bytes()[:], int64(r.page)<<pageShift); err != nil {
		v.report(fmt.Errorf("read page %d of %s at offset %d: %w", r.page, v.engine.path,
			int64(r.page)<<pageShift, err))
		return
	}
	if what := n.sound(r.page, r.generation, t, level); what != "" {
		v.report(corruptPage(v.engine.path, int64(r.page), int64(t), what))
		return
	}
	if level == 0 {
		v.leaf(t, n, lo, hi)
		return
	}
	for i := range int(n.count) {
		from, to := lo, hi
		if i > 0 {
			from = n.key(nil, i)
		}
		if i+1 < int(n.count) {
			to = n.key(nil, i+1)
		}
		if from != nil && to != nil && bytes.Compare(from, to) >= 0 ||
			lo != nil && from != nil && bytes.Compare(from, lo) < 0 ||
			hi != nil && to != nil && bytes.Compare(to, hi) > 0 {
			v.report(corruptPage(v.engine.path, int64(r.page), int64(t),
				fmt.Sprintf("key of slot %d is out of order", i)))
			continue
		}
		v.walk(t, n.child(i), level-1, from, to)
	}
}

func (v *verifier) leaf(t store.Table, n *node, lo, hi []byte) {
	for i := range int(n.count) {
		key := n.key(v.keys[0][:0], i)
		last := v.keys[1]
		if len(last) > 0 && bytes.Compare(key, last) <= 0 || lo != nil && bytes.Compare(key, lo) < 0 ||
			hi != nil && bytes.Compare(key, hi) >= 0 {
			v.report(corruptPage(v.engine.path, int64(n.number), int64(t),
				fmt.Sprintf("key of slot %d is out of order", i)))
		}
		if n.slot(i).head != head(n.suffix(i)) {
			v.report(corruptPage(v.engine.path, int64(n.number), int64(t),
				fmt.Sprintf("head of slot %d is not its key's", i)))
		}
		v.keys[0], v.keys[1] = last, key
		value, run := n.value(i)
		size := int64(len(value))
		if run {
			size = v.value(t, decodeRunRef(value))
		}
		v.rows++
		v.bytes += int64(len(key)) + size
	}
}

// value checks the run of a large value and returns its size.
func (v *verifier) value(t store.Table, r runRef) int64 {
	if v.mark(r.page, uint32(runPages(int64(r.size))), int64(t), "large value") {
		if _, err := readRunFile(v.engine.path, v.engine.view, v.size, r, kindValue, t); err != nil {
			var c *store.CorruptError
			if errors.As(err, &c) {
				c.Table = int(t)
			}
			v.report(err)
		}
	}
	return int64(r.size)
}

// Fill is how full the pages of the newest published state are: bytes of rows
// over bytes of pages in use, between 0 and 1.
func (e *Engine) Fill() float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	used := e.gauges.used.Load()
	if e.published == nil || used <= 0 {
		return 0
	}
	var rows int64
	for _, t := range e.published.tables {
		rows += t.bytes
	}
	return float64(rows) / float64(used)
}
