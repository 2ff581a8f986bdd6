package parquet

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
	"tarn/fleet/natsserver"
	"tarn/fleet/stream"
	"tarn/internal/freeport"
	"tarn/store/vfs/memfs"
)

// published is a fleet's stream, and what writes it.
type published struct {
	t      *testing.T
	server *natsserver.Server
	moves  jetstream.Stream
	js     jetstream.JetStream
	writer *fleet.Writer
}

func publish(t *testing.T, o natsserver.Options) *published {
	t.Helper()
	s, err := natsserver.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &published{t: t, server: s}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); p.server.Stop() })
	if p.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	p.moves, err = p.js.CreateOrUpdateStream(t.Context(),
		jetstream.StreamConfig{Name: "TARN_test_MOVES", Subjects: []string{"tarn.test.moves"}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	p.begin(1, fleet.Point{})
	return p
}

// begin begins a line.
func (p *published) begin(line uint64, at fleet.Point) {
	p.t.Helper()
	p.writer = fleet.NewWriter(fleet.Header{Line: line, To: at}, fleet.Limits{Message: 2000})
}

func (p *published) tell(list ...*fleet.Move) {
	p.t.Helper()
	for _, m := range list {
		messages, err := p.writer.Write(m)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, b := range messages {
			p.send(b)
		}
	}
}

func (p *published) send(b []byte) {
	p.t.Helper()
	if _, err := p.js.Publish(p.t.Context(), "tarn.test.moves", b); err != nil {
		p.t.Fatal(err)
	}
}

// options are those of an export of the stream.
func (p *published) options() (Options, *memfs.FS) {
	o, disk := options(p.t)
	o.Stream = stream.Options{Name: "test", InProcess: p.server, Log: o.Log}
	return o, disk
}

// last is the last block that can be exported of moves: a block may be irreversible before it is told.
func last(list []*fleet.Move) uint64 {
	m := list[len(list)-1]
	return min(m.Final.Revision, m.To().Revision)
}

// What a stream has is exported up to a block, and from there on by the next export, over the beginning of a new line.
func TestAStreamIsExported(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 20))
	s := newScript(r, 200, 6)
	list := s.moves(r)
	p := publish(t, natsserver.Options{Dir: t.TempDir()})
	half := len(list) / 2
	p.tell(list[:half]...)
	o, disk := p.options()
	end := last(list[:half])
	for _, until := range []uint64{end / 2, end, 1} {
		o.Until = until
		if err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	same(t, read(t, disk), wanted(s.chain()[:end]))
	p.begin(2, list[half-1].To())
	p.tell(list[half:]...)
	o.Until = last(list)
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, disk), wanted(s.chain()[:o.Until]))
	again, whole := p.options()
	again.Until = o.Until
	if err := Run(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, whole), read(t, disk))
}

// An export that is interrupted ends without an error, and leaves nothing that is not complete.
func TestAnInterruptedExportGoesOn(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 21))
	s := newScript(r, 300, 12)
	list := s.moves(r)
	p := publish(t, natsserver.Options{Dir: t.TempDir()})
	o, disk := p.options()
	sent := 0
	for _, sets := range []int{1, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Run(ctx, o) }()
		for len(complete(disk, "blocks")) < sets {
			if sent < len(list) {
				p.tell(list[sent])
				sent++
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		for _, path := range disk.Paths() {
			if strings.HasSuffix(path, "unfinished") {
				t.Errorf("%s is there", path)
			}
		}
	}
	p.tell(list[sent:]...)
	o.Until = last(list)
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, disk), wanted(s.chain()[:o.Until]))
}

// A server that goes away and comes back interrupts nothing for good.
func TestAServerGoesAway(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 22))
	s := newScript(r, 200, 12)
	list := s.moves(r)
	so := natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)}
	p := publish(t, so)
	o, disk := p.options()
	o.Stream.InProcess, o.Stream.Servers = nil, []string{"nats://" + so.Listen}
	o.Until = last(list)
	p.tell(list[:len(list)/2]...)
	ended := make(chan error, 1)
	go func() { ended <- Run(t.Context(), o) }()
	for len(complete(disk, "blocks")) == 0 {
		time.Sleep(time.Millisecond)
	}
	p.server.Stop()
	q := publish(t, so)
	q.writer = p.writer
	q.tell(list[len(list)/2:]...)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	same(t, read(t, disk), wanted(s.chain()[:o.Until]))
}

// A stream that has dropped what follows the last file is an error, unless a gap is wanted.
func TestAStreamHasDroppedWhatFollows(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 23))
	s := newScript(r, 200, 0)
	list := s.moves(r)
	p := publish(t, natsserver.Options{Dir: t.TempDir()})
	p.tell(list[:len(list)/3]...)
	o, disk := p.options()
	o.Until = last(list[:len(list)/3])
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	before := read(t, disk)
	p.tell(list[len(list)/3 : len(list)*2/3]...)
	if err := p.moves.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.tell(list[len(list)*2/3:]...)
	o.Until = last(list)
	if err := Run(t.Context(), o); !errors.Is(err, ErrGap) {
		t.Fatal(err)
	}
	same(t, read(t, disk), before)
	o.FromHere = true
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	first := list[len(list)*2/3].Base().Revision
	same(t, read(t, disk),
		wanted(append(s.chain()[:len(before.blocks):len(before.blocks)], s.chain()[first:o.Until]...)))
}

// Messages that are no moves end an export; nothing that comes after them is in files.
func TestADamagedStreamIsAnError(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 24))
	s := newScript(r, 100, 0)
	list := s.moves(r)
	raw := func(change func(messages [][]byte) []byte) func(*published) {
		return func(p *published) {
			messages, err := p.writer.Write(&fleet.Move{Final: s[0].Point, Blocks: s.chain()[:30]})
			if err != nil {
				t.Fatal(err)
			}
			p.send(change(messages))
		}
	}
	for name, damage := range map[string]func(*published){
		"no message":      func(p *published) { p.send([]byte("hello")) },
		"a bit is turned": raw(func(m [][]byte) []byte { m[0][len(m[0])-1] ^= 1; return m[0] }),
		"a bit of the digest is turned": func(p *published) {
			m := &fleet.Move{Final: list[len(list)/2].Final}
			messages, err := p.writer.Write(m)
			if err != nil {
				t.Fatal(err)
			}
			messages[0][60] ^= 1
			p.send(messages[0])
		},
		"a move is left out": func(p *published) {
			_, err := p.writer.Write(list[len(list)/2])
			if err != nil {
				t.Fatal(err)
			}
			p.tell(&fleet.Move{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := publish(t, natsserver.Options{Dir: t.TempDir()})
			p.tell(list[:len(list)/2]...)
			damage(p)
			p.tell(list[len(list)/2+1:]...)
			o, disk := p.options()
			err := Run(t.Context(), o)
			if !errors.Is(err, fleet.ErrDamaged) && !errors.Is(err, fleet.ErrGap) && !errors.Is(err, ErrGap) ||
				!strings.Contains(err.Error(), "message ") {
				t.Fatal(err)
			}
			n := len(read(t, disk).blocks)
			if n > int(list[len(list)/2-1].Final.Revision/20*20) {
				t.Errorf("%d blocks are in files", n)
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	err := (&Options{Held: -1}).Validate()
	for _, want := range []string{"no folder", "no ledger", "must not be negative", "no NATS server"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing: %v", want, err)
		}
	}
}
