package bench

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p/enode"

	"tarn/bench/watcher"
)

// feeder is a node of ours that holds a chain, and gives it to the nodes that are measured: the
// same one to all. It uses the same processors, so that it should cost little.
type feeder struct {
	*serving
	url  string // as peers name it
	head uint64
	hash string // of the head
	txs  []int  // in the blocks up to each number
}

// feed starts a node that holds the chain of a file of events.
func (m *measurement) feed(events string) (_ *feeder, err error) {
	subject := m.config.Engines[0]
	dir, err := m.folder("feeder")
	if err != nil {
		return nil, err
	}
	child, err := watcher.Start(m.command(subject, dir, "import", "events", events))
	if err == nil {
		err = child.Wait(m.ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("give the feeder its chain: %w", err)
	}
	key, err := crypto.GenerateKey()
	if err != nil {
		return nil, err
	}
	f := &feeder{}
	if f.serving, err = m.serve(subject, dir, life{more: []string{"--nodekeyhex", fmt.Sprintf("%x", crypto.FromECDSA(key))}}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Kill()
		}
	}()
	at, err := netip.ParseAddrPort(f.peers)
	if err != nil {
		return nil, err
	}
	f.url = enode.NewV4(&key.PublicKey, at.Addr().AsSlice(), int(at.Port()), int(at.Port())).URLv4()
	if f.head, f.hash, err = f.last(); err != nil {
		return nil, err
	}
	return f, f.count()
}

// count finds out how many transactions there are up to each block.
func (f *feeder) count() error {
	f.txs = make([]int, f.head+1)
	for n := uint64(1); n <= f.head; n++ {
		var txs hexutil.Uint64
		if err := ask(f.at(), &txs, "eth_getBlockTransactionCountByNumber", strconv.Quote(hexutil.EncodeUint64(n))); err != nil {
			return err
		}
		f.txs[n] = f.txs[n-1] + int(txs)
	}
	return nil
}

// at is where a node answers.
func (s *serving) at() string { return "http://" + s.address }

// number is a node's last block.
func (s *serving) number() (uint64, error) {
	var n hexutil.Uint64
	err := ask(s.at(), &n, "eth_blockNumber", "")
	return uint64(n), err
}

// last is a node's last block with its id.
func (s *serving) last() (number uint64, hash string, err error) {
	var b struct {
		Number hexutil.Uint64
		Hash   string
	}
	err = ask(s.at(), &b, "eth_getBlockByNumber", `"latest",false`)
	return uint64(b.Number), b.Hash, err
}

// lookEvery is between two looks at how far a node is, which each cost it a request.
const lookEvery = 50 * time.Millisecond

// syncTime is the longest that a node may take to get all of the chain.
const syncTime = 20 * time.Minute

// follow looks how far a node is until a block that is wanted, and returns the one that it has.
func (m *measurement) follow(s *serving, wanted uint64) (uint64, error) {
	for end := time.Now().Add(syncTime); ; {
		n, err := s.number()
		if err != nil || n >= wanted {
			return n, err
		}
		if time.Now().After(end) {
			return n, fmt.Errorf("block %d of %d within %v", n, wanted, syncTime)
		}
		select {
		case <-time.After(lookEvery):
		case <-s.Done():
			return n, errors.Join(fmt.Errorf("it ended at block %d of %d", n, wanted), s.Wait(m.ctx))
		case <-m.ctx.Done():
			return n, m.ctx.Err()
		}
	}
}
