package p2p

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tarn/antelope/types"
)

// The bytes are put together by hand: what Spring writes (FC_REFLECT of gossip_bp_peers_message). A place may have
// more at its end, as those of later versions.
func TestRecordsTravelAsSpringWritesThem(t *testing.T) {
	x := Record{Version: 1, Producer: types.N("proda"), Sig: types.Signature{Compact: [65]byte{0: 31, 64: 7}}}
	x.Info = append(Place{Server: "h:1", Outbound: "::1", Expiration: 7}.Append(nil), 0xee)
	const signed = "01" + "000000000093e8ad" + "0d" + "03683a31" + "033a3a31" + "07000000" + "ee"
	want := "5b000000" + "0c" + "01" + signed + "00" + "1f" + strings.Repeat("00", 63) + "07"
	frame, err := AppendFrame(nil, Gossip{[]Record{x}})
	if err != nil || hex.EncodeToString(frame) != want {
		t.Fatalf("%x, %v\nnot %s", frame, err, want)
	}
	m, err := Decode(frame[4:])
	if err != nil {
		t.Fatal(err)
	}
	g := m.(Gossip)
	list, ok := g.list()
	if !ok || list[0].Place != (Place{"h:1", "::1", 7}) {
		t.Errorf("%+v, %v", list, ok)
	}
	chain := types.Hash(nil)
	b, _ := hex.DecodeString(signed)
	if x.Digest(chain) != types.Hash(append(chain[:], b...)) {
		t.Error("another digest")
	}
}

// What Spring takes for host:port, its accidents included.
func TestServersAreThoseThatSpringTakes(t *testing.T) {
	for s, want := range map[string]bool{
		"host:9876": true, " host:9876\n": true, "host:9876:1MB/s": true, "host:x:more": true, "h:1x": true,
		"[::1]:9876": true,
		"::1":        true, ":a:1": true, "h:1:x:y": true, strings.Repeat("h", maxAddress-2) + ":1": true,
		"": false, " ": false, "host": false, "host:": false, "host:x": false, ":1": false, "[::1]": false,
		"[::1":     false,
		"[::1]x:1": false, "[]:1": false, "h:1:trx": false, "h:1:blk": false, "h:1:blk:9": false, "h:1:2:3:4": false,
		"2001:db8:0:0:0:0:0:1:9876": false, strings.Repeat("h", maxAddress-1) + ":1": false,
	} {
		if got := isServer(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestListsThatNoHonestNodeSendsAreRefused(t *testing.T) {
	make := func(texts ...string) (m Gossip) {
		for _, s := range texts {
			name, server, _ := strings.Cut(s, " ")
			m.Records = append(m.Records, Record{Producer: types.N(name), Info: Place{Server: server}.Append(nil)})
		}
		return m
	}
	many := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("a h:%d", i))
		}
		return list
	}
	short := make("a h:1")
	short.Records[0].Info = short.Records[0].Info[:3]
	nobody := make("a h:1")
	nobody.Records[0].Producer = 0
	for name, c := range map[string]struct {
		m  Gossip
		ok bool
	}{
		"one": {make("a h:1"), true}, "in order": {make("a h:1", "a h:2", "b h:1"), true},
		"nine of a producer": {make(many(9)...), true}, "ten": {make(many(10)...), false},
		"ten after another": {make(append([]string{"1 h:1"}, many(10)...)...), false},
		"none":              {Gossip{}, false}, "out of order": {make("b h:1", "a h:1"), false},
		"a server twice": {make("a h:1", "a h:1"), false}, "a server of two": {make("a h:1", "b h:1"), true},
		"no server": {make("a h"), false}, "cut short": {short, false}, "nobody": {nobody, false},
		"a first one among others": {Gossip{[]Record{{Producer: 1}, {Producer: 2}}}, false},
	} {
		if list, ok := c.m.list(); ok != c.ok || ok && len(list) != len(c.m.Records) {
			t.Errorf("%s: %v, %d", name, ok, len(list))
		}
	}
}

// Whatever comes, what is made of it is in order and as it was, and a directory keeps to its bounds.
func FuzzGossip(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 4 {
		var m Gossip
		for i := range n {
			e := record(types.Checksum256{}, types.Name(i/2+1),
				Place{fmt.Sprintf("h:%d", i), "::1", types.BlockTimestamp(r.Uint32N(9))}, 0)
			m.Records = append(m.Records, e.Record)
		}
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(append([]byte{byte(TypeGossip)}, b...))
		if err != nil {
			return
		}
		g := m.(Gossip)
		list, ok := g.list()
		if !ok || g.isFirst() {
			return
		}
		limits := DefaultLimits()
		d := directory{limits: &limits}
		for i := range list {
			if i > 0 && (list[i].Producer < list[i-1].Producer ||
				list[i].Server == list[i-1].Server && list[i].Producer == list[i-1].Producer) {
				t.Fatalf("%+v before %+v", list[i-1], list[i])
			}
			d.put(list[i])
		}
		checkDirectory(t, &d)
	})
}
