package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tarn/store"
)

func isLimited(e Engine) bool { return e.Limited }

func limitPromises() []promise {
	return []promise{
		{name: "a full store says so and changes nothing", check: fullChangesNothing, kept: isLimited},
		{name: "a full store can be undone, read and made durable", check: fullIsUsable, kept: isLimited},
		{name: "space comes back", check: spaceComesBack, kept: isLimited},
		{name: "a full store opens, and goes on under a higher limit", check: fullOpens, kept: isLimited},
		{name: "the guard refuses new revisions only", check: guardRefuses, kept: isLimited},
	}
}

// fillUp puts rows of a size in the open session until the store is full, and
// returns how many there were.
func (x *subject) fillUp(name string, size int) int {
	x.t.Helper()
	rng := source(1, name, 0)
	for n := range 1_000_000 {
		err := x.Put(x.rows, fmt.Appendf(nil, "%s%06d", name, n), []byte(value(rng, size)))
		if err == nil {
			continue
		}
		wantError(x.t, fmt.Sprintf("put of row %d of %d bytes", n, size), err, store.ErrFull)
		var full *store.FullError
		if !errors.As(err, &full) || full.Limit != x.knobs.LimitBytes || full.Need <= 0 || full.Path == "" {
			x.t.Fatalf("the error is not a FullError with what is needed and the limit of %d: %#v",
				x.knobs.LimitBytes, err)
		}
		return n
	}
	x.t.Fatal("the store is never full")
	return 0
}

// fullSizes are of rows that fill a store: small ones, and some that need runs of
// pages.
func fullSizes() []int { return []int{100, 3000, 100_000} }

const smallLimit = 8 << 20 / min(slowness, 2)

func fullChangesNothing(t *testing.T, e Engine) {
	for _, size := range fullSizes() {
		x := open(t, e, Knobs{LimitBytes: smallLimit})
		x.begin()
		n := x.fillUp("row", size)
		if n*size < smallLimit/4 {
			t.Fatalf("full after %d rows of %d bytes under a limit of %d", n, size, smallLimit)
		}
		for range 5 { // it stays so
			wantError(t, "put", x.Put(x.rows, fmt.Appendf(nil, "row%06d", n), make([]byte, size)), store.ErrFull)
		}
		wantError(t, "get of the row that did not fit", second(x.Get(x.rows, fmt.Appendf(nil, "row%06d", n))),
			store.ErrNotFound)
		rng := source(1, "row", 0)
		want := make([]row, n)
		for i := range want {
			want[i] = row{fmt.Sprintf("row%06d", i), value(rng, size)}
		}
		x.must(compareTable(x, x.rows, want, true))
		x.undo()
		x.wantRows("")
	}
}

func fullIsUsable(t *testing.T, e Engine) {
	for _, size := range fullSizes() {
		x := open(t, e, Knobs{LimitBytes: smallLimit})
		x.begin()
		x.fill(1000, strings.Repeat("v", 500))
		x.push()
		x.publish()
		x.begin()
		x.begin()
		x.fill(1000, strings.Repeat("w", 700))
		x.fillUp("row", size)
		v := x.view()
		wantValue(t, v, x.rows, numberedKey(999), strings.Repeat("v", 500))
		x.undo()
		x.wantRowsAre(1000, strings.Repeat("v", 500))
		x.undo()
		x.checkpoint()
		wantValue(t, v, x.rows, numberedKey(999), strings.Repeat("v", 500))
		x.must(v.Close())
		x.undo()
		x.wantRows("")
		x.begin()
		x.fill(1000, strings.Repeat("v", 500))
		x.push()
		x.commit(x.Head())
		x.checkpoint()
		x.reopen()
		x.wantRowsAre(1000, strings.Repeat("v", 500))
	}
}

func (x *subject) wantRowsAre(n int, value string) {
	x.t.Helper()
	want := make([]row, n)
	for i := range want {
		want[i] = row{numberedKey(i), value}
	}
	x.must(compareTable(x, x.rows, want, false))
}

// spaceComesBack fills the store again and again: nothing may leak.
func spaceComesBack(t *testing.T, e Engine) {
	for _, size := range fullSizes() {
		x := open(t, e, Knobs{LimitBytes: smallLimit})
		first := 0
		for round := range 6 {
			x.begin()
			n := x.fillUp("row", size)
			if round == 0 {
				first = n
			}
			if n < first*8/10 {
				t.Fatalf("%d rows of %d bytes fitted first, in round %d only %d", first, size, round, n)
			}
			x.undo()
			x.begin() // half of it is kept for a while
			for i := range n / 3 {
				x.must(x.Put(x.rows, fmt.Appendf(nil, "row%06d", i), make([]byte, size)))
			}
			x.push()
			x.commit(x.Head())
			x.publish()
			x.checkpoint()
			x.begin()
			x.must(second(x.DeleteRange(x.rows, nil, nil)))
			x.push()
			x.commit(x.Head())
			x.publish()
			x.checkpoint()
			x.checkpoint() // frees what only the image before could reach
		}
	}
}

func fullOpens(t *testing.T, e Engine) {
	x := open(t, e, Knobs{LimitBytes: smallLimit})
	rows := 0
	for full := false; !full; { // revision after revision, each durable
		x.begin()
		for range 50 {
			err := x.Put(x.rows, []byte(numberedKey(rows)), []byte(strings.Repeat("v", 1000)))
			if full = errors.Is(err, store.ErrFull); full {
				break
			}
			x.must(err)
			rows++
		}
		x.push()
		x.commit(x.Head())
		c, err := x.Checkpoint()
		if err == nil {
			err = c.Wait()
		}
		if err != nil && !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
		full = full || err != nil
	}
	durable := x.Durable()
	x.reopen()
	x.wantDurable(durable)
	x.must(second(x.Get(x.rows, []byte(numberedKey(0)))))
	x.knobs.LimitBytes *= 2
	x.reopen()
	x.wantDurable(durable)
	x.begin()
	x.fill(rows, strings.Repeat("w", 1000))
	x.push()
	x.commit(x.Head())
	x.checkpoint()
	x.reopen()
	x.wantRowsAre(rows, strings.Repeat("w", 1000))
}

func guardRefuses(t *testing.T, e Engine) {
	x := open(t, e, Knobs{LimitBytes: 16 << 20, GuardBytes: 8 << 20})
	var err error
	for i := 0; err == nil; i++ {
		if err = x.Begin(); err != nil {
			break
		}
		if i > 1000 {
			t.Fatal("the guard refuses nothing")
		}
		x.begin() // a session inside is never refused
		for j := range 20 {
			x.put(numberedKey(i*20+j), strings.Repeat("v", 3000))
		}
		x.must(x.Squash())
		x.push()
		x.commit(x.Head())
		x.checkpoint()
	}
	wantError(t, "begin", err, store.ErrGuard)
	x.wantNumbers(0, x.Head(), x.Head())
	x.publish()
	v := x.view()
	wantValue(t, v, x.rows, numberedKey(0), strings.Repeat("v", 3000))
	x.must(v.Close())
	wantError(t, "begin", x.Begin(), store.ErrGuard)

	x.must(second(x.DeleteRange(x.rows, nil, nil))) // outside a revision
	x.publish()
	x.checkpoint()
	x.checkpoint()
	x.revision("a", "1")
	x.wantRows("a=1")
}
