package node_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/crypto"
	"tarn/antelope/difftest"
	"tarn/antelope/node"
	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/serial"
	"tarn/antelope/ship"
	"tarn/antelope/types"
)

var (
	hostileFlag = flag.Duration("node.hostile", time.Second, "how long each attack lasts")
	idleFlag    = flag.Int("node.idle", 300,
		"connections that say nothing, of peers and of the API each, and of bodies that come slowly")
	rowsFlag = flag.Int("node.rows", 20_000, "rows of the table that is asked for with bad bounds")
)

// victim is a producing node with honest peers.
type victim struct {
	*difftest.Node
	chain types.Checksum256
	ship  string // where its state history is served
	next  int    // address of the next attacker, from 127.0.8.1 on

	most atomic.Int64 // rows that an answer had

	mu     sync.Mutex
	delays []time.Duration // of blocks since they were asked for last
}

// connect connects from an address of its own, so that no host has too many.
func (v *victim) connect(t *testing.T, to string) net.Conn {
	t.Helper()
	v.next++
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(8+v.next/250), byte(1+v.next%250))},
		Timeout: 5 * time.Second}
	c, err := d.DialContext(t.Context(), "tcp", to)
	for end := time.Now().Add(10 * time.Second); errors.Is(err, syscall.ECONNREFUSED) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // a node that answers requests may not listen for peers yet
		c, err = d.DialContext(t.Context(), "tcp", to)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// greet is a peer that said at which block it is: where the node is.
func (v *victim) greet(t *testing.T) (*lightpeer.Peer, net.Conn) {
	t.Helper()
	c := v.connect(t, v.P2P())
	p := lightpeer.New(c, v.chain)
	i, err := v.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Hello.HeadNum, p.Hello.LIBNum = i.HeadNum, i.Irreversible
	head, headErr := types.ParseChecksum256(i.HeadID)
	lib, libErr := types.ParseChecksum256(i.LIBID)
	p.Hello.HeadID, p.Hello.LIBID = head, lib
	if err := errors.Join(headErr, libErr, p.SendHandshake()); err != nil {
		t.Fatal(err)
	}
	return p, c
}

// follow is an honest peer, which notes how old each block is when it comes.
func (v *victim) follow(t *testing.T) {
	p, _ := v.greet(t)
	p.Seen = func(kind p2p.Type, frame []byte) {
		if kind != p2p.TypeBlock {
			return
		}
		r := serial.NewReader(frame)
		r.Varuint32()
		var h types.BlockHeader
		if h.Read(r); r.Err() != nil {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.delays = append(v.delays, time.Since(h.Timestamp.TimePoint().Time()))
	}
	go p.Follow(t.Context()) //nolint:errcheck // it ends with the test
}

// late is the 99th percentile of the delays since it was last asked for.
func (v *victim) late() (p99 time.Duration, blocks int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := v.delays
	v.delays = nil
	if len(list) == 0 {
		return time.Hour, 0
	}
	slices.Sort(list)
	return list[(len(list)-1)*99/100], len(list)
}

// Each attack goes on for a while beside honest peers, which hear blocks in time.
func TestHonestPeersHearBlocksBesideHostileOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a node for a while; not with -short")
	}
	t.Parallel()
	path, chain := rowsSnapshot(t, *rowsFlag)
	key, err := chaintest.Key()
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{chain: chain, ship: addresses(t, 1)[0]}
	v.Node = launch{snapshot: path, producers: map[types.Name]crypto.PrivateKey{types.N("eosio"): key},
		history: &node.History{
			Options: ship.Options{Dir: t.TempDir(), Traces: true, State: true},
			Server:  ship.ServerOptions{Limits: ship.DefaultLimits(), Address: v.ship},
		}}.untilTheEnd(t)
	for range 3 {
		v.follow(t)
	}
	v.followHistory(t)
	time.Sleep(time.Second) // what they are sent to catch up
	v.late()
	time.Sleep(*hostileFlag)
	quiet, _ := v.late()
	for _, attack := range []struct {
		name string
		on   func(*testing.T, context.Context)
	}{
		{"ranges in a loop", v.askForRanges}, {"peers that never read", v.neverRead}, {"idle peers", v.idlePeers},
		{"idle clients", v.idleClients},
		{"bad bounds", v.badBounds}, {"lies about irreversible blocks", v.lie},
		{"one compressed transaction", v.inflateOne}, {"invalid compressed transactions", v.inflateMany},
		{"half of messages", v.sendHalf}, {"lists of empty objects", v.pushNothing},
		{"compressed transactions in a call", v.pushBombs},
		{"slow bodies", v.sendSlowly}, {"failing names", v.failAs},
		{"clients of state history", v.askForHistory},
	} {
		// A machine that is late by itself is late here, too: the best of three counts.
		most, least := time.Second+2*max(0, quiet), 3*int(hostileFlag.Seconds())
		best, blocks := time.Hour, 0
		for try := 0; try < 3 && (best > most || blocks < least); try++ {
			ctx, cancel := context.WithCancel(t.Context())
			attack.on(t, ctx)
			time.Sleep(*hostileFlag)
			cancel()
			best, blocks = v.late()
		}
		t.Logf("%s: 99th percentile %v of %d, quiet %v", attack.name, best, blocks, quiet)
		if best > most || blocks < least {
			t.Errorf("%s: the 99th percentile of %d blocks' delays is %v, want %v at most",
				attack.name, blocks, best, most)
		}
	}
	for end := time.Now().Add(time.Minute); v.most.Load() < 1000 && time.Now().Before(end); {
		ctx, cancel := context.WithCancel(t.Context()) // no answer has come in its second
		v.badBounds(t, ctx)
		time.Sleep(5 * time.Second)
		cancel()
	}
	if got := v.most.Load(); got != 1000 {
		t.Errorf("the longest answer of rows has %d, want 1000", got)
	}
}

// askForRanges asks for all blocks that there can be, as fast as it goes, and reads them.
func (v *victim) askForRanges(t *testing.T, ctx context.Context) {
	for range 4 {
		p, c := v.greet(t)
		go io.Copy(io.Discard, c) //nolint:errcheck // ends with the connection
		go func() {
			for ctx.Err() == nil && p.Send(p2p.SyncRequest{Start: 1, End: 1 << 31}) == nil {
				time.Sleep(100 * time.Microsecond)
			}
			c.Close()
		}()
	}
}

// neverRead asks for the same and takes nothing.
func (v *victim) neverRead(t *testing.T, ctx context.Context) {
	for range 4 {
		p, c := v.greet(t)
		context.AfterFunc(ctx, func() { c.Close() })
		go func() {
			for p.Send(p2p.SyncRequest{Start: 1, End: 1 << 31}) == nil {
			}
		}()
	}
}

// idlePeers and idleClients open connections and say nothing. Where there are too many the
// node refuses them; here it has no bound for peers, and one of 16,384 for clients.
func (v *victim) idlePeers(t *testing.T, ctx context.Context) {
	node.Crowd{To: v.P2P(), Net: 1, Size: *idleFlag}.Gather(t, ctx)
}

func (v *victim) idleClients(t *testing.T, ctx context.Context) {
	node.Crowd{To: strings.TrimPrefix(v.HTTP(), "http://"), Net: 3, Size: *idleFlag}.Gather(t, ctx)
}

// badBounds asks for rows of a large table with bounds that are none, or of another type,
// or absurd, and for all rows by each index that is there and by some that are not.
func (v *victim) badBounds(t *testing.T, ctx context.Context) {
	bounds := []string{`"zzzzzzzzzzzzzzzz"`, `"-1"`, `"99999999999999999999999999"`,
		`{"a":[]}`, `"\u0000"`, `""`, `"0"`, `"18446744073709551615"`}
	kinds := []string{"i64", "i128", "i256", "float64", "float128", "sha256", "ripemd160", "name", "none"}
	clients(ctx, 4, func(int) {
		body := fmt.Sprintf(
			`{"json":true,"code":"eosio.token","scope":"eosio.token","table":"accounts","limit":4294967295,`+
				`"key_type":"%s","index_position":"%d","lower_bound":%s,"upper_bound":%s,"reverse":%t}`,
			kinds[rand.IntN(len(kinds))], rand.IntN(4), bounds[rand.IntN(len(bounds))], bounds[rand.IntN(len(bounds))],
			rand.IntN(2) == 0)
		_, answer, _ := v.Ask(ctx, "/v1/chain/get_table_rows", body) // an error, or rows
		if n := strings.Count(string(answer), "TOK"); n > int(v.most.Load()) {
			v.most.Store(int64(n))
		}
	})
}
