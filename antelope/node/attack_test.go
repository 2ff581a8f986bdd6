package node_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"tarn/antelope/node"
	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// attackers are peers that do something until they are sent away or the attack is over.
// What they are told is read, and means nothing to them.
func (v *victim) attackers(t *testing.T, ctx context.Context, count int, do func(*lightpeer.Peer, net.Conn) error) {
	for range count {
		p, c := v.greet(t)
		context.AfterFunc(ctx, func() { c.Close() })
		go io.Copy(io.Discard, c) //nolint:errcheck // ends with the connection
		go func() {
			for ctx.Err() == nil && do(p, c) == nil {
			}
		}()
	}
}

// clients do something with the API until the attack is over, so many at once.
func clients(ctx context.Context, count int, do func(n int)) {
	for n := range count {
		go func() {
			for ctx.Err() == nil {
				do(n)
			}
		}()
	}
}

// lie claims an irreversible block that is ahead of everybody's head, and sends nothing.
func (v *victim) lie(t *testing.T, ctx context.Context) {
	v.attackers(t, ctx, 8, func(p *lightpeer.Peer, _ net.Conn) error {
		i, err := v.Info(ctx)
		if err != nil {
			return err
		}
		p.Hello.LIBNum, p.Hello.HeadNum = i.HeadNum+20, i.HeadNum+30
		binary.BigEndian.PutUint32(p.Hello.LIBID[:], p.Hello.LIBNum)
		binary.BigEndian.PutUint32(p.Hello.HeadID[:], p.Hello.HeadNum)
		if err := p.SendHandshake(); err != nil {
			return err
		}
		return pause(ctx, 200*time.Millisecond)
	})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// bomb is a transaction of 2 kB that becomes 2 MB when it is inflated.
func bomb(t *testing.T, number uint32) *types.PackedTransaction {
	t.Helper()
	trx := new(types.Transaction)
	trx.Expiration = types.TimePointSec(time.Now().Unix() + 60)
	trx.Actions = []types.Action{{Data: make([]byte, 1_000_000)}}
	binary.LittleEndian.PutUint32(trx.Actions[0].Data, number)
	p, err := types.Pack(trx, make([]types.Signature, 1), [][]byte{make([]byte, 1_000_000)}, types.CompressionZlib)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// frames are messages for peers.
func frames(t *testing.T, list ...*types.PackedTransaction) []byte {
	t.Helper()
	var all []byte
	for _, p := range list {
		var err error
		if all, err = p2p.AppendFrame(all, *p); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// inflateOne sends one compressed transaction again and again.
func (v *victim) inflateOne(t *testing.T, ctx context.Context) {
	one := frames(t, bomb(t, rand.Uint32()))
	v.attackers(t, ctx, 4, func(p *lightpeer.Peer, _ net.Conn) error { return p.SendRaw(one) })
}

// inflateMany sends compressed transactions that are all different and invalid.
func (v *victim) inflateMany(t *testing.T, ctx context.Context) {
	var list []*types.PackedTransaction
	for i := range uint32(50) {
		list = append(list, bomb(t, i))
	}
	all := frames(t, list...)
	v.attackers(t, ctx, 4, func(p *lightpeer.Peer, _ net.Conn) error { return p.SendRaw(all) })
}

// sendHalf announces messages of 8 MiB, sends three quarters, and then a byte now and then.
func (v *victim) sendHalf(t *testing.T, ctx context.Context) {
	v.attackers(t, ctx, 24, func(_ *lightpeer.Peer, c net.Conn) error {
		message := make([]byte, 6<<20)
		binary.LittleEndian.PutUint32(message, 8<<20)
		_, err := c.Write(message)
		for err == nil && pause(ctx, 100*time.Millisecond) == nil {
			_, err = c.Write([]byte{0})
		}
		return err
	})
}

// pushNothing pushes lists of empty objects, which become a hundred times their bytes.
func (v *victim) pushNothing(_ *testing.T, ctx context.Context) {
	body := "[" + strings.Repeat("{},", 660_000) + "{}]"
	clients(ctx, 64, func(int) { _, _, _ = v.Ask(ctx, "/v1/chain/push_transactions", body) })
}

// pushBombs pushes 400 transactions in a call that inflate to 2 MB each.
func (v *victim) pushBombs(t *testing.T, ctx context.Context) {
	body := "[" + strings.Repeat(string(bomb(t, 0).AppendJSON(nil))+",", 399) + string(bomb(t, 1).AppendJSON(nil)) + "]"
	clients(ctx, 4, func(int) { _, _, _ = v.Ask(ctx, "/v1/chain/push_transactions", body) })
}

// sendSlowly announces bodies of a megabyte and sends a byte now and then.
func (v *victim) sendSlowly(t *testing.T, ctx context.Context) {
	address := strings.TrimPrefix(v.HTTP(), "http://")
	node.Crowd{To: address, Net: 2, Size: *idleFlag, Drip: true,
		Greet: fmt.Sprintf("POST /v1/chain/push_transaction HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000000\r\n\r\n",
			address)}.Gather(t, ctx)
}

// failAs sends transactions that fail, each in another name.
func (v *victim) failAs(t *testing.T, ctx context.Context) {
	v.attackers(t, ctx, 4, func(p *lightpeer.Peer, _ net.Conn) error {
		var list []*types.PackedTransaction
		for range 100 {
			list = append(list, failing(t))
		}
		return p.SendRaw(frames(t, list...))
	})
	clients(ctx, 4, func(int) {
		_, _, _ = v.Ask(ctx, "/v1/chain/send_transaction", string(failing(t).AppendJSON(nil)))
	})
}

// failing is a transaction in a name that stands for nobody, or nobody's yet.
func failing(t *testing.T) *types.PackedTransaction {
	trx := new(types.Transaction)
	trx.Expiration = types.TimePointSec(time.Now().Unix() + 60)
	trx.Actions = []types.Action{{Account: types.N("eosio.token"), Name: types.N("transfer"),
		Authorization: []types.PermissionLevel{{Actor: types.Name(rand.Uint64() &^ 15),
			Permission: types.N("active")}}}}
	p, err := types.Pack(trx, nil, nil, types.CompressionNone)
	if err != nil {
		t.Error(err)
	}
	return p
}
