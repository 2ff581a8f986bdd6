package rpc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/rpc"
)

// said is a log that notes what it is told to say.
type said struct {
	level   int
	modules string
}

func (s *said) Verbosity(level int)          { s.level = level }
func (s *said) Vmodule(pattern string) error { s.modules = pattern; return nil }

func TestOperatorsLookIntoTheProcess(t *testing.T) {
	log := &said{}
	w := newWorld(t, recordedEvents, Options{Log: log})
	c, dir := dial(t, w), t.TempDir()
	var none any
	call := func(method string, args ...any) {
		t.Helper()
		if err := c.Call(&none, method, args...); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	call("debug_verbosity", 5)
	call("debug_vmodule", "p2p=5")
	if log.level != 5 || log.modules != "p2p=5" {
		t.Errorf("%+v", log)
	}
	fails(t, c.Call(&none, "debug_backtraceAt", "a.go:1"), "debug_stacks")
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, x := range []struct {
		method, name string
		args         []any
	}{
		{"debug_cpuProfile", "cpu", []any{0}}, {"debug_goTrace", "trace", []any{0}},
		{"debug_blockProfile", "block", []any{0}},
		{"debug_mutexProfile", "mutex", []any{0}}, {"debug_writeMemProfile", "mem", nil}, {"debug_writeBlockProfile",
			"block2", nil},
		{"debug_writeMutexProfile", "mutex2", nil},
	} {
		call(x.method, append([]any{file(x.name)}, x.args...)...)
		if info, err := os.Stat(file(x.name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", x.method, err)
		}
	}
	fails(t, c.Call(&none, "debug_stopCPUProfile"), "CPU profiling not in progress")
	call("debug_startCPUProfile", file("again"))
	fails(t, c.Call(&none, "debug_startCPUProfile", file("twice")), "CPU profiling already in progress")
	call("debug_stopCPUProfile")
	call("debug_startGoTrace", file("again"))
	call("debug_stopGoTrace")
	fails(t, c.Call(&none, "debug_writeMemProfile", file("none/x")), "none/x")
	call("debug_chaindbCompact")
	fails(t, c.Call(&none, "debug_chaindbProperty", "leveldb.stats"), "tarn db info")
	var text string
	if err := c.Call(&text, "debug_printBlock", 3); err != nil || !strings.Contains(text, `"number": "0x3"`) {
		t.Errorf("%s, %v", text, err)
	}
	fails(t, c.Call(&text, "debug_printBlock", 1<<40), "not found")
	fails(t, c.Call(&none, "admin_startHTTP"), "cannot be changed")
}

// connecting is a network whose connections are made up.
type connecting struct {
	noPeers
	feed event.FeedOf[*p2p.PeerEvent]
}

func (c *connecting) SubscribeEvents(to chan *p2p.PeerEvent) event.Subscription {
	return c.feed.Subscribe(to)
}

// Who wants to know hears of connections and of their ends; who does not read harms nobody.
func TestConnectionsAreToldToSubscribers(t *testing.T) {
	peers := &connecting{}
	w := newWorld(t, recordedEvents, Options{Peers: peers})
	c, err := rpc.Dial("ws" + strings.TrimPrefix(w.url, "http"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heard := make(chan json.RawMessage, 10)
	sub, err := c.Subscribe(t.Context(), "admin", heard, "peerEvents")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	peers.feed.Send(&p2p.PeerEvent{Type: p2p.PeerEventTypeAdd, Peer: enode.ID{1}, RemoteAddress: "127.0.0.1:1"})
	select {
	case got := <-heard:
		if !strings.Contains(string(got), `"type":"add"`) || !strings.Contains(string(got), `"remote":"127.0.0.1:1"`) {
			t.Errorf("%s", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
	}
	for range 10 * w.service.limits.KeptNews {
		peers.feed.Send(&p2p.PeerEvent{Type: p2p.PeerEventTypeDrop})
	}
}
