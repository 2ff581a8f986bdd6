package difftest

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common/mclock"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p/discover/v4wire"
	"github.com/ethereum/go-ethereum/p2p/discover/v5wire"
	"github.com/ethereum/go-ethereum/p2p/enode"
)

// discovery sends packets of discovery, twenty thousand a second: pings with good signatures of nodes
// that nobody knows, packets of sessions that there are not, and garbage.
func (b *besieged) discovery(ctx context.Context) {
	var info struct{ Enode string }
	if err := b.Nodes[0].Call(ctx, &info, "admin_nodeInfo"); err != nil {
		return
	}
	node, err := enode.ParseV4(info.Enode)
	if err != nil {
		return
	}
	to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: node.UDP()}
	var number, answers atomic.Int64
	b.busy.Go(func() {
		pause(ctx, *hostileFor/2)
		if answers.Load() == 0 {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.refused, b.why = b.refused+1, errors.New("no packet of discovery is answered")
		}
	})
	b.each(ctx, func(ctx context.Context, s *stranger) {
		from := s.from.LocalAddr.(*net.TCPAddr).IP
		c, err := net.DialUDP("udp4", &net.UDPAddr{IP: from}, to)
		if err != nil {
			pause(ctx, 50*time.Millisecond)
			return
		}
		defer c.Close()
		go func() {
			for packet := make([]byte, 1280); ; answers.Add(1) {
				if _, err := c.Read(packet); err != nil {
					return
				}
			}
		}()
		packets, err := packetsOfDiscovery(node, c.LocalAddr().(*net.UDPAddr))
		if err != nil {
			return
		}
		for range 1000 {
			if ctx.Err() != nil {
				return
			}
			_, _ = c.Write(packets[int(number.Add(1))%len(packets)]) // the next one comes
			pause(ctx, 5*time.Millisecond)
		}
	})
}

// packetsOfDiscovery are some for a node, of each kind, from a key of their own.
func packetsOfDiscovery(to *enode.Node, from *net.UDPAddr) (packets [][]byte, err error) {
	garbage := make([]byte, 1280)
	if _, err := rand.Read(garbage); err != nil {
		return nil, err
	}
	packets = append(packets, garbage)
	key, err := crypto.GenerateKey()
	if err != nil {
		return nil, err
	}
	signed, err := pings(to, from, key)
	if err != nil {
		return nil, err
	}
	db, err := enode.OpenDB("")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	codec := v5wire.NewCodec(enode.NewLocalNode(db, key), key, mclock.System{}, nil)
	unknown, _, err := codec.Encode(to.ID(), from.String(), &v5wire.Ping{ReqID: []byte{1}}, nil)
	return append(append(packets, signed...), unknown), err
}

// pings are what a node that is not known says first.
func pings(to *enode.Node, from *net.UDPAddr, key *ecdsa.PrivateKey) (packets [][]byte, err error) {
	at := from.AddrPort()
	for i := range 4 {
		packet, _, err := v4wire.Encode(key, &v4wire.Ping{
			Version: 4, From: v4wire.NewEndpoint(netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), 0),
			To: v4wire.NewEndpoint(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(to.UDP())),
				0),
			Expiration: uint64(time.Now().Add(time.Minute).Unix()) + uint64(i),
		})
		if err != nil {
			return nil, err
		}
		packets = append(packets, packet)
	}
	return packets, nil
}
