package ship

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/ship/wire"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/httpserver"
	"tarn/internal/racedetector"
)

// nothing is a chain of which nothing but the history is there.
type nothing struct{}

func (nothing) View() (*state.View, error)                                { return nil, errors.ErrUnsupported }
func (nothing) Block(uint32, types.Checksum256) ([]byte, error)           { return nil, nil }
func (nothing) BlockID(uint32) (id types.Checksum256, ok bool, err error) { return id, false, nil }
func (nothing) Earliest() uint32                                          { return 1 }
func (nothing) FirstStored() uint32                                       { return 1 }
func (nothing) ChainID() (id types.Checksum256)                           { return id }
func (nothing) Irreversible() (num uint32, id types.Checksum256)          { return 0, id }

// entry is what the history has of a block: as many bytes as are asked for.
func entry(num uint32, size int) []byte {
	b := make([]byte, size)
	for i := 0; i+4 <= size; i += 4 {
		binary.LittleEndian.PutUint32(b[i:], num+uint32(i>>6))
	}
	return b
}

func blockID(num uint32) (id types.Checksum256) {
	binary.BigEndian.PutUint32(id[:], num)
	return id
}

// logged is a history with so many large entries of traces, served at a unix socket, whose
// buffers take little.
func logged(t *testing.T, o Options, blocks uint32, size int) (*History, *Server) {
	t.Helper()
	o.Dir, o.Traces = t.TempDir(), true
	h, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	h.source = nothing{}
	for num := uint32(1); num <= blocks; num++ {
		err := h.traces.Append(blockID(num), blockID(num-1), func(w io.Writer) error {
			_, err := w.Write(entry(num, size))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	h.advance(wire.Position{Num: blocks, ID: blockID(blocks)}, wire.Position{}, false)
	s, err := h.Serve(ServerOptions{Limits: DefaultLimits(), Socket: filepath.Join(t.TempDir(), "history.sock")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return h, s
}

// askTraces begins a session that asks for the traces of some blocks.
func askTraces(t *testing.T, s *Server, start, end uint32) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return net.Dial("unix", s.o.Socket) }}
	c, _, err := d.Dial("ws://history/", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ask := []byte{1}
	for _, n := range []uint32{start, end, 1 << 30} {
		ask = binary.LittleEndian.AppendUint32(ask, n)
	}
	if err := c.WriteMessage(websocket.BinaryMessage, append(ask, 0, 0, 0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Fifty clients that each ask for another large entry and take but its beginning hold together what
// the shelf has room for; who reads is sent everything beside them, and when they are gone
// all of the room is free again.
func TestClientsThatTakeNothingHoldNoMoreThanTheShelf(t *testing.T) {
	racedetector.SkipMeasure(t)
	const clients, size, most = 50, 4 << 20, 16 << 20
	h, s := logged(t, Options{RecentBytes: most}, clients, size)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var stuck []*websocket.Conn
	for i := range uint32(clients) {
		stuck = append(stuck, askTraces(t, s, i+1, i+2))
	}
	// Who has the beginning of an entry is being sent it, and nobody's buffers take the rest.
	for i, c := range stuck {
		for _, n := range []int64{100, 64 << 10} { // of the ABI, and of the block
			c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
			_, r, err := c.NextReader()
			if err == nil {
				_, err = io.CopyN(io.Discard, r, n)
			}
			if err != nil {
				t.Fatalf("client %d: %v", i, err)
			}
		}
	}
	h.shelf.mu.Lock()
	if h.shelf.bytes > most {
		t.Errorf("%d bytes are held, of at most %d", h.shelf.bytes, most)
	}
	h.shelf.mu.Unlock()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > most+clients*(300<<10)+(8<<20) {
		t.Errorf("%d MiB are in use for %d clients, of which the shelf has %d", grown>>20, clients, most>>20)
	}
	good := askTraces(t, s, 1, clients+1)
	for num := uint32(0); num <= clients; num++ {
		_, b, err := good.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if num > 0 && !bytes.HasSuffix(b[:len(b)-1], entry(num, size)) {
			t.Fatalf("block %d has other traces", num)
		}
	}
	for _, c := range append(stuck, good) {
		c.Close()
	}
	deadline := time.Now().Add(time.Minute)
	for !h.shelf.reserve(most) {
		if time.Now().After(deadline) {
			t.Fatal("clients that are gone hold memory")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Several clients are sent an entry that is unpacked once; what was unpacked for somebody
// outlives what is only unpacked ahead, and what is replaced is not given out any more.
func TestTheShelfKeepsWhatIsAskedFor(t *testing.T) {
	const size = 64 << 10
	h, _ := logged(t, Options{RecentBytes: 3 * (size + shelvedMemory)}, 10, size)
	s := h.shelf
	a, b := s.get(h.traces, 1), s.get(h.traces, 1)
	if a == nil || a != b {
		t.Fatal("it is unpacked twice")
	}
	for num := uint32(2); num <= 10; num++ {
		s.prefetch(h.traces, num)
	}
	for settled := false; !settled; time.Sleep(time.Millisecond) { // nobody unpacks
		s.mu.Lock()
		settled = len(s.entries) == 1+s.fresh.Len()
		s.mu.Unlock()
	}
	c := s.get(h.traces, 10)
	if c == nil {
		t.Fatal("no room beside what was unpacked ahead")
	}
	d := s.get(h.traces, 9)
	if d == nil {
		t.Fatal("no room for a third")
	}
	if s.get(h.traces, 8) != nil {
		t.Fatal("there is room for a fourth, while three are held")
	}
	s.drop(9)
	s.release(c)
	s.release(d)
	if x := s.get(h.traces, 9); x == nil || x == d {
		t.Error("what was replaced is given out")
	} else {
		s.release(x)
	}
	s.release(a)
	s.release(b)
	if !s.reserve(s.most) {
		t.Errorf("%d bytes are held by nobody", s.bytes)
	}
}

// Who waits for an entry that is only unpacked ahead gets it all the same if that fails for want
// of room: for somebody who asks, what others may ask for later makes room.
func TestWhoWaitsForAReadAheadThatFailsReadsItself(t *testing.T) {
	const size = 64 << 10
	h, _ := logged(t, Options{RecentBytes: 2 * (size + shelvedMemory)}, 10, size)
	s := h.shelf
	ahead := func(num uint32) *shelved {
		x, mine := s.claim(place{h.traces, num}, true)
		if !mine {
			t.Fatalf("block %d is there", num)
		}
		return x
	}
	for num := uint32(1); num <= 2; num++ {
		x := ahead(num)
		s.unpack(x)
		s.release(x)
	}
	x := ahead(3)
	got := make(chan *shelved)
	go func() { got <- s.get(h.traces, 3) }()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		waits = x.users == 2
		s.mu.Unlock()
	}
	s.unpack(x)
	if x.b != nil {
		t.Fatal("there was room")
	}
	s.release(x)
	y := <-got
	if y == nil || y == x || y.id != blockID(3) || !bytes.Equal(y.b, entry(3, size)) {
		t.Fatalf("it gets %v", y)
	}
	s.release(y)
	if !s.reserve(s.most) {
		t.Errorf("%d bytes are held by nobody", s.bytes)
	}
}

// slowly is a chain of which something happens before a position is found.
type slowly struct {
	*forked
	before func()
}

func (s slowly) position(num uint32) (wire.Position, bool) {
	s.before()
	return s.forked.position(num)
}

// The chain does not wait for somebody's list of positions to be looked up, neither when it
// is asked for nor when it is sent.
func TestPositionsAreLookedUpBesideTheChain(t *testing.T) {
	f := &forked{}
	for range 10 {
		f.add(f.head() + 1)
	}
	s := newSession(wire.Leap, 1, f.now(), DefaultLimits().Statuses)
	mine := make([]wire.Position, 0, 5)
	for n := uint32(3); n < 8; n++ {
		p, _ := f.position(n)
		mine = append(mine, p)
	}
	meanwhile := func() {
		done := make(chan struct{})
		go func() { s.rewind(f.now()); close(done) }()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("the chain waits")
		}
	}
	f.add(6) // a fork, which the client is told of although it comes while it asks
	var once atomic.Bool
	s.asked(wire.Request{Blocks: &wire.BlocksRequest{Start: 9, End: 20, Credits: 20, Have: mine}},
		reach{first: 1, has: func(p wire.Position) bool {
			if once.CompareAndSwap(false, true) {
				meanwhile()
			}
			return p.Num < 6
		}})
	var got []uint32
	for {
		d, ok := s.take(slowly{f, meanwhile})
		if !ok {
			break
		}
		got = append(got, d.num)
	}
	if len(got) != 1 || got[0] != 6 {
		t.Errorf("it is sent %d, not the block that was replaced", got)
	}
}

// Requests that are large and come slowly share their memory; small ones need none of it.
func TestLargeRequestsShareTheirMemory(t *testing.T) {
	r := ration{of: httpserver.NewShares(10<<20, -1), free: DefaultLimits().FreeRequest}
	large := bytes.Repeat([]byte{1}, 6<<20)
	b, first, err := r.read(bytes.NewReader(large))
	if err != nil || !bytes.Equal(b, large) {
		t.Fatal(err)
	}
	_, taken, err := r.read(bytes.NewReader(large))
	if err == nil {
		t.Error("there is room for both")
	}
	r.giveBack(taken)
	if b, taken, err := r.read(strings.NewReader("small")); err != nil || string(b) != "small" || taken != 0 {
		t.Errorf("%q takes %d: %v", b, taken, err)
	}
	r.giveBack(first)
	if n := r.of.Used(); n != 0 {
		t.Errorf("%d bytes are taken by nobody", n)
	}
}

// A socket on which a process listens is not taken from it; one that a process left is.
func TestASocketIsNotTakenFromWhoListens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.sock")
	first, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	h, _ := logged(t, Options{}, 1, 100)
	if s, err := h.Serve(ServerOptions{Limits: DefaultLimits(), Socket: path}); err == nil {
		s.Close()
		t.Fatal("it is taken")
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("who listened is not reached any more: %v", err)
	}
	c.Close()
	first.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	s, err := h.Serve(ServerOptions{Limits: DefaultLimits(), Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := h.Serve(ServerOptions{Limits: DefaultLimits(), Socket: path}); err == nil {
		s.Close()
		t.Error("a file was in its place")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "text" {
		t.Errorf("the file has %q: %v", b, err)
	}
}
