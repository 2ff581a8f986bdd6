package eventlog

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/opera/inter"
	"tarn/store/vfs/memfs"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// idOf makes ids whose beginnings differ, some of them in the hash alone.
func idOf(r *rand.Rand) (id inter.EventID) {
	id[3], id[7] = byte(r.IntN(3)), byte(r.IntN(4))
	for i := 8; i < len(id); i++ {
		id[i] = byte(r.IntN(256))
	}
	return id
}

func TestEventsAreFound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	o := Options{FS: memfs.New(), Dir: "/events", Notice: func(err error) { t.Error(err) }}
	l, err := Open(o)
	must(t, err)
	raws := map[inter.EventID][]byte{}
	var ids []inter.EventID
	for range 6 {
		for range r.IntN(200) {
			id := idOf(r)
			raws[id] = bytes.Repeat(id[:], r.IntN(3))
			n, err := l.Append(id, raws[id])
			must(t, err)
			if ids = append(ids, id); n != uint64(len(ids)-1) {
				t.Fatalf("event %d got number %d", len(ids)-1, n)
			}
		}
		if r.IntN(2) == 0 && len(ids) > 5 {
			for _, id := range ids[len(ids)-5:] {
				delete(raws, id)
			}
			ids = ids[:len(ids)-5]
			must(t, l.Cut(uint64(len(ids))))
		}
		must(t, l.Sync())
		must(t, l.Settle(uint64(len(ids))))
		if r.IntN(2) == 0 {
			must(t, l.Close())
			o.Need = uint64(len(ids))
			l, err = Open(o)
			must(t, err)
		}
		compare(t, r, l, ids, raws)
	}
	must(t, l.Verify(func(err error) { t.Error(err) }, nil))
	must(t, l.Close())
}

func compare(t *testing.T, r *rand.Rand, l *Log, ids []inter.EventID, raws map[inter.EventID][]byte) {
	t.Helper()
	for n, id := range ids {
		at, raw, err := l.Read(uint64(n))
		must(t, err)
		got, err := l.Get(id)
		must(t, err)
		has, err := l.Has(id)
		must(t, err)
		if at != id || !bytes.Equal(raw, raws[id]) || !bytes.Equal(got, raws[id]) || got == nil || !has {
			t.Fatalf("event %d: %v %x, by its id %x", n, at, raw, got)
		}
	}
	strange := idOf(r)
	if got, err := l.Get(strange); got != nil || err != nil {
		t.Fatalf("an event that is not there: %x, %v", got, err)
	}
	from, to := idOf(r), idOf(r)
	var want, got []inter.EventID
	for _, id := range ids {
		if bytes.Compare(id[:], from[:]) >= 0 && bytes.Compare(id[:], to[:]) < 0 {
			want = append(want, id)
		}
	}
	slices.SortFunc(want, func(a, b inter.EventID) int { return bytes.Compare(a[:], b[:]) })
	must(t, l.Ascend(from, to, func(_ inter.EventID, n uint64) bool {
		got = append(got, ids[n])
		return true
	}))
	if !slices.Equal(got, want) {
		t.Fatalf("from %v to %v: %v, want %v", from, to, got, want)
	}
}
