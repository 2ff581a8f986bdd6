package ship_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/ship"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store/page"
	"tarn/store/revision"
)

// node is a chain with a history that is served.
type node struct {
	*chaintest.Maker
	t       *testing.T
	history *ship.History
	server  *ship.Server
	ids     sync.Map // of blocks, by number
	packed  sync.Map // blocks of its block log, by id
	from    uint32   // first block of that; 0 for a chain without one
	broken  error    // that the history ends with
	over    bool     // it has ended
	dir     string   // of the history
}

func (n *node) View() (*state.View, error) { return n.Chain.View() }

func (n *node) ChainID() types.Checksum256 { return n.Chain.ID() }

func (n *node) Earliest() uint32 { return max(1, n.from) }

func (n *node) FirstStored() uint32 { return max(1, n.from) }

func (n *node) Irreversible() (uint32, types.Checksum256) {
	if root := n.Chain.Fork().Root(); root != nil {
		return root.BlockNum, root.ID
	}
	return 0, types.Checksum256{} // not yet, in a start
}

func (n *node) Block(num uint32, id types.Checksum256) ([]byte, error) {
	if b := n.Chain.Fork().Block(id); b != nil && b.Block != nil {
		return b.Block.Append(nil), nil
	}
	if b, ok := n.packed.Load(id); ok && n.from > 0 && num >= n.from {
		return b.([]byte), nil
	}
	return nil, nil
}

// BlockID knows each block from before it is the head, as a node with its block log does.
func (n *node) BlockID(num uint32) (types.Checksum256, bool, error) {
	id, ok := n.ids.Load(num)
	if !ok {
		return types.Checksum256{}, false, nil
	}
	return id.(types.Checksum256), true, nil
}

func start(t *testing.T, o ship.Options, server ship.ServerOptions) *node {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := page.OpenVolatile(256 << 20)
	must(err)
	st, err := revision.Open(rows)
	must(err)
	t.Cleanup(func() { st.Close() })
	m, err := chaintest.New(st, chain.Options{})
	must(err)
	t.Cleanup(func() { m.Chain.Close() })
	o.Dir = t.TempDir()
	return serve(t, m, o, server)
}

// serve serves the history of a chain, in o.Dir, from its head on.
func serve(t *testing.T, m *chaintest.Maker, o ship.Options, server ship.ServerOptions) *node {
	t.Helper()
	return serveFrom(t, m, o, server, 0)
}

// serveFrom is serve for a chain with a block log that begins with a block.
func serveFrom(t *testing.T, m *chaintest.Maker, o ship.Options, server ship.ServerOptions, from uint32) *node {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	n := &node{Maker: m, t: t, dir: o.Dir, from: from}
	o.Traces, o.State = true, true
	var err error
	n.history, err = ship.Open(o)
	must(err)
	t.Cleanup(n.end)
	n.ids.Store(n.Chain.Head().BlockNum, n.Chain.Head().ID)
	n.Chain.Subscribe(chain.Hooks{Record: func(x *chain.Executed) error {
		n.ids.Store(x.Block.BlockNum, x.Block.ID)
		n.packed.Store(x.Block.ID, x.Block.Block.Append(nil))
		return nil
	}})
	n.Chain.Subscribe(n.history.Hooks(n))
	must(n.Chain.Publish())
	must(n.Chain.Resume(t.Context(), nil, nil))
	n.server, err = n.history.Serve(server)
	must(err)
	return n
}

// end ends what is served, as a node does that is stopped.
func (n *node) end() {
	if n.over {
		return
	}
	n.over = true
	if n.server != nil {
		n.server.Close() //nolint:errcheck // it ends
	}
	if err := n.history.Close(); !errors.Is(err, n.broken) {
		n.t.Error(err)
	}
}

// sync waits until all blocks are recorded.
func (n *node) sync() {
	n.t.Helper()
	if err := n.history.Sync(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) produce(blocks int) (list []*types.SignedBlock) {
	n.t.Helper()
	for range blocks {
		if err := n.StartBlock(); err != nil {
			n.t.Fatal(err)
		}
		b, err := n.EndBlock()
		if err != nil {
			n.t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// client is one that speaks the protocol.
type client struct {
	t *testing.T
	c *websocket.Conn
}

// dial is a client that is spoken to as Leap does.
func (n *node) dial(i int) *client {
	n.t.Helper()
	c, frame := n.connect(i)
	if len(frame) != leapABIBytes {
		n.t.Fatalf("the first frame has %d bytes", len(frame))
	}
	return c
}

// leapABIBytes is how long the first frame of a server is that speaks as Leap does.
const leapABIBytes = 29538

// connect is a client, and the first frame that it was sent.
func (n *node) connect(i int) (*client, []byte) {
	n.t.Helper()
	a := n.server.Addresses()[i]
	d := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return net.Dial(a.Network(), a.String()) }}
	c, _, err := d.Dial("ws://history/", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { c.Close() })
	kind, frame, err := c.ReadMessage()
	if err != nil || kind != websocket.TextMessage {
		n.t.Fatalf("the first frame: %d, %d bytes, %v", kind, len(frame), err)
	}
	return &client{n.t, c}, frame
}

// read is the next message.
func (c *client) read() []byte {
	c.t.Helper()
	c.c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
	_, b, err := c.c.ReadMessage()
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// ended tells whether the server ends the connection, and says nothing more.
func (c *client) ended() bool {
	c.c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
	_, _, err := c.c.ReadMessage()
	return err != nil
}

func (c *client) send(b ...byte) {
	if err := c.c.WriteMessage(websocket.BinaryMessage, b); err != nil {
		c.t.Error(err)
	}
}

func (c *client) ask(start, end, credits uint32) {
	b := []byte{1}
	for _, n := range []uint32{start, end, credits} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	c.send(append(b, 0, 0, 1, 1, 1)...)
}

// next is the number and the rest of the next block.
func (c *client) next() (uint32, []byte) {
	c.c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
	_, b, err := c.c.ReadMessage()
	if err != nil {
		c.t.Error(err)
		return 0, nil
	}
	const head = 1 + 36 + 36
	if b[0] != 1 || b[head] != 1 {
		c.t.Errorf("answer % x", b[:min(len(b), head+8)])
		return 0, nil
	}
	return binary.LittleEndian.Uint32(b[head+1:]), b[head:]
}

// Many clients, some of which take nothing, are served beside the chain, which waits for
// none of them; those who read get every block once, from the log and from memory.
func TestClientsDoNotHoldTheChain(t *testing.T) {
	const blocks, readers = 150, 20
	n := start(t, ship.Options{RecentBytes: 20 << 10}, ship.ServerOptions{Limits: ship.DefaultLimits(),
		Address: "127.0.0.1:0", Socket: filepath.Join(t.TempDir(), "history.sock")})
	for i := range 30 {
		c := n.dial(i % 2)
		c.ask(0, 1<<30, 1<<30) // and it reads nothing
	}
	var wait sync.WaitGroup
	for i := range readers {
		c := n.dial(i % 2)
		c.ask(1, blocks+1, 5)
		wait.Go(func() {
			for want := uint32(1); want <= blocks; want++ {
				if want%5 == 0 {
					c.send(2, 5, 0, 0, 0)
				}
				if num, _ := c.next(); num != want {
					t.Errorf("block %d, want %d", num, want)
					return
				}
			}
		})
	}
	begun := time.Now()
	n.produce(blocks)
	took := time.Since(begun)
	wait.Wait()
	t.Logf("%d blocks in %s beside %d clients", blocks, took.Round(time.Millisecond), readers+30)
	if took > time.Minute {
		t.Errorf("%d blocks took %s", blocks, took)
	}
	if got := n.server.Stats().Sessions; got != readers+30 {
		t.Errorf("%d sessions", got)
	}
}

// What a client is sent of a block is the same from memory and from the log.
func TestABlockIsTheSameFromMemoryAndFromTheLog(t *testing.T) {
	n := start(t, ship.Options{}, ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
	n.produce(20)
	if err := n.history.Sync(); err != nil {
		t.Fatal(err)
	}
	all := func() (list [][]byte) {
		c := n.dial(0)
		// Without the blocks: this chain has no log of them.
		c.send(1, 1, 0, 0, 0, 21, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 1, 1)
		for range 20 {
			_, b := c.next()
			list = append(list, b)
		}
		return list
	}
	fresh := all()
	n.history.Forget()
	if old := all(); !slices.EqualFunc(fresh, old, bytes.Equal) {
		t.Error("they differ")
	}
}

// A client that sends what is no request is ended, and nobody else is.
func TestWhatIsNoRequestEndsItsClient(t *testing.T) {
	n := start(t, ship.Options{}, ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
	n.produce(3)
	good := n.dial(0)
	for _, b := range [][]byte{{9}, {1, 2, 3}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f},
		bytes.Repeat([]byte{0xff}, 1<<20)} {
		bad := n.dial(0)
		bad.send(b...)
		bad.c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
		if _, _, err := bad.c.ReadMessage(); err == nil {
			t.Errorf("% x is answered", b[:min(len(b), 20)])
		}
	}
	good.ask(1, 3, 10)
	for want := uint32(1); want < 3; want++ {
		if num, _ := good.next(); num != want {
			t.Errorf("block %d, want %d", num, want)
		}
	}
}

// A full disk keeps the next block from becoming the head.
func TestWithoutRoomNoBlockGoesUnrecorded(t *testing.T) {
	n := start(t, ship.Options{}, ship.ServerOptions{Limits: ship.DefaultLimits()})
	n.produce(3)
	n.broken = fmt.Errorf("no space left")
	n.history.Break(n.broken)
	head := n.Chain.Head().BlockNum
	if err := n.StartBlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := n.EndBlock(); err == nil || n.Chain.Head().BlockNum != head {
		t.Errorf("head %d after %d, %v", n.Chain.Head().BlockNum, head, err)
	}
	if err := n.history.Sync(); err == nil {
		t.Error("a checkpoint would be taken")
	}
}
