package page_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs/memfs"
)

var corruptions = flag.Int("crash.corruptions", fullCorruptions/5,
	"mutations of a small store file to open; fewer thin out the bytes and lengths that are tried")

// fullCorruptions is the number from which on every byte is damaged and the file
// cut at every length.
const fullCorruptions = 100_000

const (
	pageBytes = 4096
	statePath = storeDir + "/state.tarn"
)

// victim is a small store file, what it was before, and what it may show.
type victim struct {
	t      testing.TB
	file   []byte   // up to its last page in use
	size   int64    // of the whole file, which ends in a hole
	older  [][]byte // the file after each checkpoint before the last
	images []span   // all, the one of the empty store included
	limit  int64
}

// newVictim makes a store whose last two checkpoints both changed much, with
// trees of two levels, large values and undo data.
func newVictim(t testing.TB, seed uint64) *victim {
	fs := memfs.New()
	h := newHistory(t, seed, fs, nil, heap(4<<20))
	h.keys = 40
	h.sizes = 5000
	h.fill(35, 10)
	v := &victim{t: t, limit: 4 << 20}
	for range 5 {
		h.block(8)
		h.commit(2)
		h.checkpoint()
		h.wait()
		v.older = append(v.older, fs.Blob(statePath).Bytes())
	}
	h.close()
	whole := v.older[len(v.older)-1]
	v.older = v.older[:len(v.older)-1]
	v.size = int64(len(whole))
	end := len(bytes.TrimRight(whole, "\x00"))
	v.file = slices.Clip(whole[:(end+pageBytes-1)/pageBytes*pageBytes])
	v.images = append([]span{{states: []content{{}}}}, h.spans...)
	return v
}

// outcome says what a damaged file did.
type outcome int

const (
	refused  outcome = iota // Open returned an error
	reported                // Verify found it
	failed                  // reading found it, and Verify too
	harmless                // the content is exactly that of an image
	outcomes
)

// open puts a file to the test. An error means that damage went unnoticed.
func (v *victim) open(file []byte, size int64) (outcome, error) {
	b := memfs.NewBlob(file)
	b.Truncate(size)
	fs := memfs.New()
	fs.Put(statePath, b)
	e, err := page.Open(page.Options{Dir: storeDir, FS: fs, Mode: page.Heap, LimitBytes: v.limit, GrowBytes: 2 << 20})
	if err != nil {
		return refused, nil
	}
	defer e.Close()
	var problems []error
	if err := e.Verify(func(err error) { problems = append(problems, err) }); err != nil {
		problems = append(problems, err)
	}
	found := len(problems) > 0
	wrong, err := v.read(e, v.allowed(file))
	switch {
	case wrong:
		return 0, fmt.Errorf("read wrong data without an error: %w", err)
	case err != nil && !found:
		return 0, fmt.Errorf("verify finds nothing, reading does: %w", err)
	case err != nil:
		return failed, nil
	case found:
		return reported, nil
	}
	return harmless, nil
}

// allowed are the images that a damaged file may show: the last two. If both
// meta pages are replaced by older ones, nothing in the file tells that it was
// ever newer.
func (v *victim) allowed(file []byte) []span {
	if len(file) >= 2*pageBytes && !bytes.Equal(nth(file, 0), nth(v.file, 0)) &&
		!bytes.Equal(nth(file, 1), nth(v.file, 1)) {
		return v.images
	}
	return v.images[len(v.images)-2:]
}

// read walks all rows and the undo data. It tells wrong data from an error.
func (v *victim) read(e *page.Engine, images []span) (wrong bool, err error) {
	st, err := revision.Open(e)
	if err != nil {
		return !damaged(err), err
	}
	i := slices.IndexFunc(images, func(s span) bool { return s.image == st.Durable() })
	if i < 0 {
		return true, fmt.Errorf("shows an image at %+v, which it must not", st.Durable())
	}
	if _, err = match(st, images[i:i+1]); err != nil {
		return !damaged(err), err
	}
	return false, nil
}

// damaged reports whether err is the store's own finding.
func damaged(err error) bool {
	for _, family := range []error{store.ErrCorrupt, store.ErrFormat, store.ErrVersion, store.ErrFault} {
		if errors.Is(err, family) {
			return true
		}
	}
	return false
}

// mutation is one damaged file.
type mutation struct {
	name string
	file []byte
	size int64
}

// bytes damages every step-th byte by one bit.
func (v *victim) bytes(step int) iter.Seq[mutation] {
	return func(yield func(mutation) bool) {
		for i := 0; i < len(v.file); i += step {
			f := slices.Clone(v.file)
			f[i] ^= 1 << ((i*5 + i/pageBytes) % 8)
			if !yield(mutation{fmt.Sprintf("bit in byte %d of page %d", i%pageBytes, i/pageBytes), f, v.size}) {
				return
			}
		}
	}
}

// lengths cuts the file at every step-th length.
func (v *victim) lengths(step int) iter.Seq[mutation] {
	return func(yield func(mutation) bool) {
		for n := 0; n < len(v.file); n += step {
			if !yield(mutation{fmt.Sprintf("cut at %d", n), v.file[:n], int64(n)}) {
				return
			}
		}
	}
}

func (v *victim) pages() int { return len(v.file) / pageBytes }

func nth(file []byte, p int) []byte { return file[p*pageBytes : (p+1)*pageBytes] }

// everySwap exchanges each pair of pages, and puts each in the place of each
// other.
func (v *victim) everySwap(yield func(mutation) bool) {
	for a := range v.pages() {
		for b := range v.pages() {
			if a == b {
				continue
			}
			f := slices.Clone(v.file)
			copy(nth(f, a), nth(v.file, b))
			name := fmt.Sprintf("page %d where %d was", b, a)
			if a < b {
				copy(nth(f, b), nth(v.file, a))
				name = fmt.Sprintf("pages %d and %d exchanged", a, b)
			}
			if !yield(mutation{name, f, v.size}) {
				return
			}
		}
	}
}

// everyStalePage puts back each page, and each sector of it, as it was after
// each earlier checkpoint: a write that was lost.
func (v *victim) everyStalePage(yield func(mutation) bool) {
	for k, old := range v.older {
		for at := 0; at < len(v.file); at += 512 {
			for _, size := range []int{512, pageBytes} {
				if at%size != 0 || bytes.Equal(v.file[at:at+size], old[at:at+size]) {
					continue
				}
				f := slices.Clone(v.file)
				copy(f[at:at+size], old[at:])
				if !yield(mutation{fmt.Sprintf("%d bytes at %d as after checkpoint %d", size, at, k), f, v.size}) {
					return
				}
			}
		}
	}
}

// random draws damage of more than one kind, for ever.
func (v *victim) random(seed uint64) iter.Seq[mutation] {
	return func(yield func(mutation) bool) {
		r := rand.New(rand.NewPCG(seed, 2))
		for {
			f := slices.Clone(v.file)
			size := v.size
			name := ""
			for range 1 + r.IntN(4) {
				name += v.damage(r, f) + "; "
			}
			if r.IntN(16) == 0 {
				size = r.Int64N(int64(len(f)))
				f = f[:size]
				name += fmt.Sprintf("cut at %d", size)
			}
			if !yield(mutation{name, f, size}) {
				return
			}
		}
	}
}

// damage draws one change to f.
func (v *victim) damage(r *rand.Rand, f []byte) string {
	at := r.IntN(len(f))
	n := min(len(f)-at, 1+r.IntN(1<<r.IntN(13)))
	part := f[at : at+n]
	p := r.IntN(v.pages())
	switch r.IntN(7) {
	case 0:
		for i := range part {
			part[i] = byte(r.Uint32())
		}
		return fmt.Sprintf("%d random bytes at %d", n, at)
	case 1:
		clear(part)
		return fmt.Sprintf("%d zeros at %d", n, at)
	case 2:
		from := r.IntN(len(v.file) - n + 1)
		copy(part, v.file[from:])
		return fmt.Sprintf("%d bytes at %d copied to %d", n, from, at)
	case 3:
		clear(nth(f, p))
		return fmt.Sprintf("page %d zeroed", p)
	case 4:
		copy(nth(f, p), nth(v.file, r.IntN(v.pages())))
		return fmt.Sprintf("page %d replaced by another", p)
	case 5:
		k := r.IntN(len(v.older))
		copy(nth(f, p), nth(v.older[k], p))
		return fmt.Sprintf("page %d as after checkpoint %d", p, k)
	}
	f[at] ^= 1 << r.IntN(8)
	return fmt.Sprintf("bit in byte %d", at)
}

// TestNoDamageGoesUnnoticed damages a small store file in every simple way and
// in many others. Each time the damage is found, or the content is exactly that
// of one of the two images.
func TestNoDamageGoesUnnoticed(t *testing.T) {
	s := seed(t)
	v := newVictim(t, s)
	if got, err := v.open(v.file, v.size); got != harmless {
		t.Fatalf("the undamaged file: outcome %d, %v", got, err)
	}
	total, wanted := 0, budget(*corruptions)
	step := max(1, fullCorruptions/wanted)
	kinds := []struct {
		name string
		all  iter.Seq[mutation]
	}{
		{"one bit in a byte", v.bytes(step)},
		{"cut at a length", v.lengths(step)},
		{"pages exchanged", v.everySwap},
		{"lost writes", v.everyStalePage},
		{"random", v.random(s)},
	}
	for i, k := range kinds {
		limit := math.MaxInt
		if i+1 == len(kinds) {
			limit = max(wanted/10, wanted-total)
		}
		n, counts := v.putAll(k.all, limit)
		total += n
		t.Logf("%-22s %6d mutations: %6d refused, %6d reported by verify, %6d failed at read, %6d harmless",
			k.name, n, counts[refused], counts[reported], counts[failed], counts[harmless])
	}
	t.Logf("%d mutations of a file of %d pages", total, v.pages())
}

// putAll opens mutations, up to limit of them, on two goroutines and counts outcomes.
func (v *victim) putAll(all iter.Seq[mutation], limit int) (n int, counts [outcomes]int) {
	var (
		mutations = make(chan mutation, 16)
		group     sync.WaitGroup
		mu        sync.Mutex
		bad       atomic.Bool
	)
	for range 2 {
		group.Go(func() {
			for m := range mutations {
				got, err := v.open(m.file, m.size)
				mu.Lock()
				counts[got]++
				mu.Unlock()
				if err != nil && !bad.Swap(true) {
					v.t.Errorf("%s: %v", m.name, err)
				}
			}
		})
	}
	for m := range all {
		if n == limit || bad.Load() {
			break
		}
		n++
		mutations <- m
	}
	close(mutations)
	group.Wait()
	return n, counts
}
