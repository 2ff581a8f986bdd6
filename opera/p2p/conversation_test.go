package p2p

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"

	"tarn/internal/recordedcalls"
	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// A conversation of peers as text, in testdata/peers.txt. What is asked is a message to a node
// that has the events of fill, what is answered is what the node sends. A comment begins another
// connection. The messages, with what they say:
//
//	handshake VERSION NETWORK GENESIS   the genesis is ours, or another
//	progress EPOCH BLOCK
//	get_events eN …                     event N of those that the node has, from 0
//	request_events SESSION FROM TO KIND ITEMS BYTES CHUNKS   keys in hex; the kind is ids, or events
//	message CODE HEX                    any other
//
// The node's answers may be ended with "end", when it closes the connection, whatever it says
// before, and with "left TEXT", what the node tells its operator of why.
type speaker struct {
	t      *testing.T
	rw     p2p.MsgReadWriter
	ids    []inter.EventID // of the node's events
	ours   [32]byte        // genesis
	server *p2p.Server
	over   chan struct{}
}

// meet connects a peer that has said nothing.
func meet(t *testing.T, n *Node, ids []inter.EventID) *speaker {
	t.Helper()
	s := &speaker{t: t, ids: ids, ours: n.o.Ledger.Network().GenesisID, over: make(chan struct{})}
	met := make(chan p2p.MsgReadWriter, 1)
	s.server = &p2p.Server{Config: p2p.Config{PrivateKey: newKey(t), MaxPeers: 1, Name: "speaker", NoDiscovery: true,
		StaticNodes: []*enode.Node{n.Self()}}}
	s.server.Protocols = []p2p.Protocol{{Name: protocolName, Version: newest, Length: codes,
		Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error {
			select {
			case met <- rw:
			default: // it connects again after an end
				return errors.New("once is enough")
			}
			<-s.over
			return nil
		}}, {Name: fsnap.Name, Version: fsnap.Version, Length: fsnap.Codes,
		Run: func(_ *p2p.Peer, rw p2p.MsgReadWriter) error { return idle(rw) }}}
	if err := s.server.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case s.rw = <-met:
	case <-time.After(time.Minute):
		t.Fatal("no connection in 20 s")
	}
	return s
}

func (s *speaker) leave() {
	close(s.over)
	s.server.Stop()
}

func (s *speaker) number(text string) uint64 {
	s.t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *speaker) hex(text string) []byte {
	s.t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// say sends a message. The node may have left before.
func (s *speaker) say(text string) {
	s.t.Helper()
	word := strings.Fields(text)
	send := func(code uint64, v any) { _ = p2p.Send(s.rw, code, v) }
	switch {
	case word[0] == "handshake" && len(word) == 4:
		h := handshake{Version: uint32(s.number(word[1])), Network: s.number(word[2]), Genesis: s.ours}
		if word[3] != "ours" {
			h.Genesis[0]++
		}
		send(codeHandshake, &h)
	case word[0] == "progress" && len(word) == 3:
		send(codeProgress,
			&Progress{Epoch: inter.Epoch(s.number(word[1])), Block: inter.BlockNumber(s.number(word[2]))})
	case word[0] == "get_events":
		var list []inter.EventID
		for _, w := range word[1:] {
			list = append(list, s.ids[s.number(w[1:])])
		}
		send(codeGetEvents, list)
	case word[0] == "request_events" && len(word) == 8:
		r := request[[]byte]{Session: session[[]byte]{uint32(s.number(word[1])), s.hex(word[2]), s.hex(word[3])},
			Type:  uint8(slices.Index([]string{"ids", "", "events"}, word[4])),
			Limit: limit{uint32(s.number(word[5])), s.number(word[6])}, MaxChunks: uint32(s.number(word[7]))}
		send(codeRequestEvents, &r)
	case word[0] == "message" && len(word) == 3:
		raw := s.hex(word[2])
		_ = s.rw.WriteMsg(p2p.Msg{Code: s.number(word[1]), Size: uint32(len(raw)),
			Payload: strings.NewReader(string(raw))})
	default:
		s.t.Fatalf("nothing that a peer can say: %s", text)
	}
}

func (s *speaker) names(ids []inter.EventID) (text string) {
	for _, id := range ids {
		text += fmt.Sprintf(" e%d", slices.Index(s.ids, id))
	}
	return text
}

// events are the names of events by their encodings.
func (s *speaker) events(raws [][]byte) string {
	var ids []inter.EventID
	for _, raw := range raws {
		p, err := inter.DecodePayload(raw)
		if err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, p.ID())
	}
	return s.names(ids)
}

// hear is the next message of the node, as text.
func (s *speaker) hear() string {
	s.t.Helper()
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		m, err := s.rw.ReadMsg()
		if err != nil {
			got <- answer{text: "end"}
			return
		}
		raw, err := io.ReadAll(m.Payload)
		text := ""
		if err == nil {
			text, err = s.text(m.Code, raw)
		}
		got <- answer{text, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			s.t.Fatal(a.err)
		}
		return a.text
	case <-time.After(time.Minute):
		return "nothing"
	}
}

func (s *speaker) text(code uint64, raw []byte) (string, error) {
	switch code {
	case codeHandshake:
		var h handshake
		err := decode(raw, &h)
		genesis := map[bool]string{true: "ours", false: "another"}[h.Genesis == s.ours]
		return fmt.Sprintf("handshake %d %d %s", h.Version, h.Network, genesis), err
	case codeProgress:
		var p Progress
		err := decode(raw, &p)
		return fmt.Sprintf("progress %d %d", p.Epoch, p.Block), err
	case codeEvents:
		list, err := decodeEvents(raw)
		return "events" + s.events(list), err
	case codeEventIDs:
		list, err := decodeHashes[inter.EventID](raw)
		return "event_ids" + s.names(list), err
	case codeEventsChunk:
		c, err := decodeEventsChunk(raw)
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("chunk %d", c.Session)
		if c.Done {
			text += " done"
		}
		if len(c.IDs) > 0 {
			return text + " ids" + s.names(c.IDs), nil
		}
		return text + " events" + s.events(c.Events), nil
	}
	return fmt.Sprintf("message %d %x", code, raw), nil
}

func TestPeersConverseAsTheFileSays(t *testing.T) {
	const path = "testdata/peers.txt"
	list, err := recordedcalls.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	l := openLedger(t, t.TempDir(), 1)
	defer l.close(t, false)
	var ids []inter.EventID
	for _, raw := range fill(t, l) {
		p, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID())
	}
	var notices lines
	n := startNode(t, NewLedger(l.Chain.Chain, l), func(o *Options) {
		o.Notice = notices.add
		o.Refused = func(r Refusal) { notices.add(fmt.Errorf("%v: %w", r.Reason, r.Err)) }
	})
	defer closeNode(t, n)
	var s *speaker
	for i, x := range list {
		if x.Comment != "" || i == 0 {
			if s != nil {
				s.leave()
			}
			s = meet(t, n, ids)
		}
		if x.Ask != "" {
			s.say(x.Ask)
		}
		for _, want := range x.Answers {
			if text, ok := strings.CutPrefix(want, "left "); ok {
				await(t, "it is told that "+text, func() bool { return notices.have(text) })
				continue
			}
			got := s.hear()
			for want == "end" && got != "end" && got != "nothing" {
				got = s.hear()
			}
			if !recordedcalls.Matches(want, got) {
				t.Errorf("%s:%d: %s\nheard %s\nwant  %s", path, x.Line, x.Ask, got, want)
			}
		}
	}
	s.leave()
}

// lines are what an operator is told.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, err.Error())
}

// have tells whether something was told, and forgets all of it then.
func (l *lines) have(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := slices.ContainsFunc(l.list, func(line string) bool { return strings.Contains(line, text) })
	if is {
		l.list = nil
	}
	return is
}
