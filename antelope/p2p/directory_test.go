package p2p

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tarn/antelope/types"
)

func newDirectory() *directory {
	limits := DefaultLimits()
	return &directory{limits: &limits}
}

// checkDirectory checks what must hold at all times.
func checkDirectory(t *testing.T, d *directory) {
	t.Helper()
	bytes, of := 0, map[types.Name]int{}
	for i := range d.list {
		e := &d.list[i]
		bytes += e.size()
		if of[e.Producer]++; of[e.Producer] > perProducer {
			t.Fatalf("%d records of %v", of[e.Producer], e.Producer)
		}
		if i > 0 && d.list[i-1].compare(e) >= 0 {
			t.Fatalf("%+v before %+v", d.list[i-1], e)
		}
	}
	if bytes != d.bytes {
		t.Fatalf("%d bytes are counted as %d", bytes, d.bytes)
	}
	if frame := d.frame(); len(frame) > 4+d.limits.GossipBytes || (frame == nil) != (len(d.list) == 0) {
		t.Fatalf("a message of %d bytes", len(frame))
	}
}

// servers is all of it as text.
func (d *directory) text() (s string) {
	for _, p := range d.peers() {
		s += fmt.Sprintf("%v %s %d; ", p.Producer, p.Server, p.Expiration)
	}
	return s
}

func TestADirectoryKeepsWhatEndsLast(t *testing.T) {
	d := newDirectory()
	put := func(producer, server string, end types.BlockTimestamp, kind byte) bool {
		return d.put(record(types.Checksum256{}, types.N(producer), Place{server, "::1", end}, kind))
	}
	for _, c := range []struct {
		producer, server string
		end              types.BlockTimestamp
		kind             byte
		news             bool
		want             string
	}{
		{"b", "h:1", 50, 0, true, "b h:1 50; "},
		{"b", "h:1", 50, 0, false, "b h:1 50; "}, // the same
		{"b", "h:1", 50, 1, true, "b h:1 50; "},  // signed anew
		{"b", "h:1", 49, 0, false, "b h:1 50; "}, // an older one
		{"b", "h:1", 51, 0, true, "b h:1 51; "},
		{"a", "z:1", 9, 0, true, "a z:1 9; b h:1 51; "},
		{"b", "a:1", 9, 0, true, "a z:1 9; b a:1 9; b h:1 51; "},
	} {
		if news := put(c.producer, c.server, c.end, c.kind); news != c.news || d.text() != c.want {
			t.Errorf("%+v: %v, %s", c, news, d.text())
		}
	}
	for i := range perProducer - 2 {
		put("b", fmt.Sprintf("m:%d", i), 60, 0)
	}
	if !put("b", "new:1", 3, 0) || d.has(types.N("c")) ||
		strings.Contains(d.text(), "b a:1") || !strings.Contains(d.text(), "b new:1 3") {
		t.Errorf("the record that ends first did not make room: %s", d.text())
	}
	if n := len(d.servers(types.N("b"))); n != perProducer {
		t.Errorf("%d servers", n)
	}
	checkDirectory(t, d)
}

func TestRecordsEnd(t *testing.T) {
	d := newDirectory()
	own := []reached{{types.N("a"), "h:1", "::1"}}
	d.put(record(types.Checksum256{}, types.N("a"), Place{"h:1", "::1", 10_000}, 0))
	d.put(record(types.Checksum256{}, types.N("a"), Place{"h:2", "::1", 8}, 0)) // of another node of the producer
	for _, c := range []struct {
		head types.BlockTimestamp
		soon bool
		left int
	}{{7, false, 2}, {8, false, 1}, {10_000 - 3601, false, 1}, {10_000 - 3600, true, 1}, {9999, true, 1},
		{10_000, true, 0}} {
		if soon := d.expire(c.head, own); soon != c.soon || len(d.list) != c.left {
			t.Errorf("at %d: %v, %d left", c.head, soon, len(d.list))
		}
		checkDirectory(t, d)
	}
	for end, ok := range map[types.BlockTimestamp]bool{100: false, 101: true, 100 + 8999: true, 100 + 9000: false} {
		if p := (Place{Expiration: end}); p.lasts(100) != ok {
			t.Errorf("a record until %d at 100: %v", end, !ok)
		}
	}
}

// However many producers there are, and however long their records, all fit into a message.
func TestADirectoryHasABound(t *testing.T) {
	d := newDirectory()
	r := rand.New(rand.NewPCG(1, 4))
	for range 2000 {
		p := Place{fmt.Sprintf("h:%d", r.Uint32N(20)), strings.Repeat("1", int(r.Uint32N(900))),
			types.BlockTimestamp(r.Uint32N(1000))}
		e := listed{Record: Record{Producer: types.Name(1 + r.Uint64N(200)), Info: p.Append(nil)}, Place: p}
		e.Sig.Compact[1] = byte(r.Uint32())
		d.put(e)
	}
	checkDirectory(t, d)
	if d.bytes < d.limits.GossipBytes-1000 {
		t.Errorf("it was never full: %d bytes", d.bytes)
	}
}
