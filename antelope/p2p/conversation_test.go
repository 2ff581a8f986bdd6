package p2p_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tarn/antelope/finality"
	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
	"tarn/internal/recordedcalls"
)

// A conversation of peers as text, in the files testdata/peer_*.txt. What is asked is a
// message to a node whose chain has 100 blocks, what is answered is what the node sends. A
// comment begins another connection. The messages, with what they say:
//
//	handshake NAME=VALUE …     to the node: of a peer of Leap 5 with the node's blocks, but for what is named
//	notice TRX BLOCKS, request TRX BLOCKS   of each a mode, a number, ids: catch_up/100/b100
//	sync_request FIRST LAST, go_away REASON, block ID
//	transaction                one that nobody has sent before
//	vote ID KEY [wrong]        for a block, by the key of bytes KEY, with a wrong signature
//	nack ID, block_notice PREVIOUS ID
//	gossip RECORD …            of each the producer, a server, an IP address, slots after the head, and perhaps the
//	                           producer whose key signs it, "webauthn", or "garbage": prodb/b:1/192.0.2.2/100/prodc
//	gossip first PRODUCER      what a producer's node begins with
//	frame HEX                  what follows a length
//	bytes HEX                  as they are, without a length
//
// An id is bN (block N of the chain), zero, node or chain (the ids of the node and its chain),
// hash (of nothing), or in hex. The node's answers may be ended with "end", when it closes the
// connection, and with "log TEXT", what its log then has. Time messages are left out.
type conversing struct {
	t     *testing.T
	n     *p2p.TestNode
	chain *p2p.FakeChain
	peer  *lightpeer.Peer
	r     *rand.Rand
}

func (c *conversing) id(text string) types.Checksum256 {
	c.t.Helper()
	if num, ok := strings.CutPrefix(text, "b"); ok && len(text) < 6 {
		return c.chain.At(c.number(num)).BlockHeader.ID()
	}
	switch text {
	case "zero":
		return types.Checksum256{}
	case "node":
		return c.n.NodeID()
	case "chain":
		return c.n.ChainID()
	case "hash":
		return types.Hash(nil)
	}
	var id types.Checksum256
	if n, err := hex.Decode(id[:], []byte(text)); err != nil || n != len(id) {
		c.t.Fatalf("not an id: %s", text)
	}
	return id
}

func (c *conversing) name(id types.Checksum256) string {
	for _, name := range []string{"zero", "node", "chain", "hash"} {
		if c.id(name) == id {
			return name
		}
	}
	if num := types.BlockNum(id); num > 0 && num <= c.chain.Head() && c.chain.At(num).BlockHeader.ID() == id {
		return fmt.Sprintf("b%d", num)
	}
	return id.String()
}

// leap is what a node of Leap 5 says in its handshake: peers are such nodes unless they say otherwise.
const leap = 1212

var modes = []string{"none", "catch_up", "last_irreversible", "normal"}

func (c *conversing) ids(text string) (v p2p.IDs) {
	c.t.Helper()
	part := strings.Split(text, "/")
	for mode, word := range modes {
		if word == part[0] {
			v.Mode = p2p.Mode(mode)
		}
	}
	if modes[v.Mode] != part[0] {
		c.t.Fatalf("not a mode: %s", part[0])
	}
	if len(part) > 1 {
		v.Pending = c.number(part[1])
		for _, id := range part[2:] {
			v.IDs = append(v.IDs, c.id(id))
		}
	}
	return v
}

func (c *conversing) list(v p2p.IDs) string {
	s := fmt.Sprintf("%s/%d", modes[v.Mode], v.Pending)
	for _, id := range v.IDs {
		s += "/" + c.name(id)
	}
	return s
}

// number reads a number of 32 bits.
func (c *conversing) number(text string) uint32 {
	c.t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	must(c.t, err)
	return uint32(n)
}

// greet changes what the peer says of itself. A text may be so many times another: x*385.
func (c *conversing) greet(fields []string) {
	c.t.Helper()
	h := &c.peer.Hello
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if text, times, ok := strings.Cut(value, "*"); ok {
			value = strings.Repeat(text, int(c.number(times)))
		}
		switch name {
		case "version":
			h.NetworkVersion = uint16(c.number(value))
		case "chain":
			h.ChainID = c.id(value)
		case "node":
			h.NodeID = c.id(value)
		case "token":
			h.Token = c.id(value)
		case "lib":
			h.LIBNum = c.number(value)
		case "lib_id":
			h.LIBID = c.id(value)
		case "head":
			h.HeadNum = c.number(value)
		case "head_id":
			h.HeadID = c.id(value)
		case "address":
			h.P2PAddress = value
		case "agent":
			h.Agent = value
		case "os":
			h.OS = value
		default:
			c.t.Fatalf("a handshake has no %s", name)
		}
	}
}

// say sends a message. The node may close before all of it is sent.
func (c *conversing) say(text string) {
	c.t.Helper()
	word := strings.Fields(text)
	send := func(m p2p.Message) { _ = c.peer.Send(m) }
	bytes := func() []byte {
		b, err := hex.DecodeString(strings.Join(word[1:], ""))
		must(c.t, err)
		return b
	}
	switch {
	case word[0] == "handshake":
		c.greet(word[1:])
		must(c.t, c.peer.SendHandshake())
	case word[0] == "notice" && len(word) == 3:
		send(p2p.Notice{Trx: c.ids(word[1]), Blocks: c.ids(word[2])})
	case word[0] == "request" && len(word) == 3:
		send(p2p.Request{Trx: c.ids(word[1]), Blocks: c.ids(word[2])})
	case word[0] == "sync_request" && len(word) == 3:
		send(p2p.SyncRequest{Start: c.number(word[1]), End: c.number(word[2])})
	case word[0] == "block" && len(word) == 2:
		send(c.chain.At(types.BlockNum(c.id(word[1]))))
	case word[0] == "transaction" && len(word) == 1:
		send(p2p.RandomTransaction(c.r))
	case word[0] == "vote" && len(word) >= 3:
		v := finality.Vote{Block: c.id(word[1]), Strong: true, Key: types.BLSPublicKey{byte(c.number(word[2]))}}
		if len(word) == 4 && word[3] == "wrong" {
			v.Signature[0] = p2p.WrongSignature
		}
		send(v)
	case word[0] == "nack" && len(word) == 2:
		send(p2p.BlockNack{ID: c.id(word[1])})
	case word[0] == "block_notice" && len(word) == 3:
		send(p2p.BlockNotice{Previous: c.id(word[1]), ID: c.id(word[2])})
	case word[0] == "gossip" && len(word) >= 2:
		send(c.gossip(word[1:]))
	case word[0] == "frame":
		b := bytes()
		_ = c.peer.SendRaw(raw(uint32(len(b)), b...))
	case word[0] == "bytes":
		_ = c.peer.SendRaw(bytes())
	default:
		c.t.Fatalf("nothing that a peer can say: %s", text)
	}
}

// hear is the next message but time, as text; "end" if the connection ended.
func (c *conversing) hear() string {
	for {
		m, err := c.peer.Receive()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return "nothing"
		}
		if err != nil {
			return "end"
		}
		switch m := m.(type) {
		case p2p.Time:
		case p2p.Handshake:
			return fmt.Sprintf(
				"handshake version=%d chain=%s node=%s lib=%d lib_id=%s head=%d head_id=%s generation=%d",
				m.NetworkVersion,
				c.name(m.ChainID), c.name(m.NodeID), m.LIBNum, c.name(m.LIBID), m.HeadNum,
				c.name(m.HeadID), m.Generation)
		case p2p.Notice:
			return fmt.Sprintf("notice %s %s", c.list(m.Trx), c.list(m.Blocks))
		case p2p.Request:
			return fmt.Sprintf("request %s %s", c.list(m.Trx), c.list(m.Blocks))
		case p2p.SyncRequest:
			return fmt.Sprintf("sync_request %d %d", m.Start, m.End)
		case p2p.GoAway:
			return fmt.Sprintf("go_away %s", m.Reason)
		case *types.SignedBlock:
			return "block " + c.name(m.BlockHeader.ID())
		case *types.PackedTransaction:
			return "transaction"
		case finality.Vote:
			return fmt.Sprintf("vote %s %d", c.name(m.Block), m.Key[0])
		case p2p.BlockNack:
			return "nack " + c.name(m.ID)
		case p2p.BlockNotice:
			return fmt.Sprintf("block_notice %s %s", c.name(m.Previous), c.name(m.ID))
		case p2p.Gossip:
			return "gossip" + c.records(m)
		default:
			return fmt.Sprintf("%T", m)
		}
	}
}

// gossip reads records.
func (c *conversing) gossip(texts []string) (m p2p.Gossip) {
	c.t.Helper()
	if texts[0] == "first" {
		x := p2p.Record{Version: 1, Producer: types.N(texts[1])}
		p2p.SignRecord(c.n.ChainID(), &x, x.Producer)
		return p2p.Gossip{Records: []p2p.Record{x}}
	}
	for _, text := range texts {
		part := strings.Split(text, "/")
		end := c.n.ChainInfo().Time + types.BlockTimestamp(c.number(part[3]))
		place := p2p.Place{Server: part[1], Outbound: part[2], Expiration: end}
		x := p2p.Record{Version: 1, Producer: types.N(part[0]), Info: place.Append(nil)}
		by := part[0]
		if len(part) == 5 {
			by = part[4]
		}
		switch by {
		case "webauthn":
			x.Sig = types.Signature{Type: types.WebAuthn, AuthData: "a", ClientJSON: "{}"}
		case "garbage":
			x.Sig.Compact[0] = 31
		default:
			p2p.SignRecord(c.n.ChainID(), &x, types.N(by))
		}
		m.Records = append(m.Records, x)
	}
	return m
}

// records is what came, as text.
func (c *conversing) records(m p2p.Gossip) (s string) {
	for _, x := range m.Records {
		p, genuine := x.ReadPlace(c.n.ChainID())
		switch {
		case !genuine:
			s += " forged"
		case len(x.Info) == 0:
			s += fmt.Sprintf(" first %v", x.Producer)
		default:
			s += fmt.Sprintf(" %v/%s/%s/%d", x.Producer, p.Server, p.Outbound, p.Expiration-c.n.ChainInfo().Time)
		}
	}
	return s
}

// play says what a file has, and holds what is heard against it.
func (c *conversing) play(path string) {
	list, err := recordedcalls.Read(path)
	must(c.t, err)
	broken := false
	for i, x := range list {
		if x.Comment != "" || i == 0 {
			broken = false
			c.n.ForgetLog()
			c.peer = dial(c.t, c.n)
			c.peer.Hello.NodeID = types.Checksum256{1, byte(i)}
			c.peer.Hello.NetworkVersion = leap
		}
		if broken {
			continue
		}
		if x.Ask != "" {
			c.say(x.Ask)
		}
		for _, want := range x.Answers {
			if text, ok := strings.CutPrefix(want, "log "); ok {
				c.n.Eventually(c.t, fmt.Sprintf("%s:%d: the log has %q", path, x.Line, text),
					func() bool { return c.n.Logged(text) })
			} else if got := c.hear(); !recordedcalls.Matches(want, got) {
				c.t.Errorf("%s:%d: %s\nheard %s\nwant  %s", path, x.Line, x.Ask, got, want)
				broken = true
				break
			}
		}
	}
}

func TestPeersConverseAsTheFilesSay(t *testing.T) {
	files, err := filepath.Glob("testdata/peer_*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			chain, options := p2p.NewTestChain(100), func(o *p2p.Options) { o.VoteThreads = 1 }
			gossips := filepath.Base(path) == "peer_gossip.txt"
			if gossips {
				chain, options = p2p.NewRecentChain(100), p2p.Gossips("own", "own:9876")
				chain.Ranks("own", "prodb", "prodc")
			}
			n := p2p.StartNode(t, chain, options)
			if gossips {
				n.AwaitGossip(t)
			}
			c := conversing{t: t, n: n, chain: chain, r: rand.New(rand.NewPCG(1, 3))}
			info := n.ChainInfo()
			c.play(path)
			if n.ChainInfo() != info {
				t.Errorf("the chain went from %+v to %+v", info, n.ChainInfo())
			}
		})
	}
}
