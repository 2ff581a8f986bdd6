package txpool

import (
	"flag"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"tarn/internal/scratch"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// plain is a signer whose signatures are senders, so that tests need no keys.
type plain struct{ types.Signer }

func (plain) Sender(tx *types.Transaction) (common.Address, error) {
	_, _, s := tx.RawSignatureValues()
	if s.Sign() == 0 {
		return common.Address{}, types.ErrInvalidSig
	}
	return common.BigToAddress(s), nil
}

func (plain) Equal(o types.Signer) bool { _, ok := o.(plain); return ok }

// who is the address of a number.
func who(n int) common.Address { return common.BigToAddress(big.NewInt(int64(n))) }

// offer is a transaction of a sender to be made.
type offer struct {
	from     int
	nonce    uint64
	fee, tip int64 // a legacy transaction if tip is 0
	gas      uint64
	value    int64
	data     int // bytes
}

func (o offer) tx() *types.Transaction {
	if o.gas == 0 {
		o.gas = 21000 + 16*uint64(o.data)
	}
	data := make([]byte, o.data)
	v, r, s := big.NewInt(1), big.NewInt(1), big.NewInt(int64(o.from))
	if o.tip == 0 {
		return types.NewTx(&types.LegacyTx{Nonce: o.nonce, GasPrice: big.NewInt(o.fee), Gas: o.gas,
			To: &common.Address{}, Value: big.NewInt(o.value), Data: data, V: v, R: r, S: s})
	}
	return types.NewTx(&types.DynamicFeeTx{Nonce: o.nonce, GasFeeCap: big.NewInt(o.fee), GasTipCap: big.NewInt(o.tip),
		Gas: o.gas, To: &common.Address{},
		Value: big.NewInt(o.value), Data: data, V: v, R: r, S: s, ChainID: big.NewInt(1)})
}

// state is what the chain says of an account.
type state struct {
	nonce   uint64
	balance uint64
}

// world is a chain that a test changes.
type world struct {
	mu       sync.Mutex
	accounts map[common.Address]state
	rich     uint64 // balance of all others
	minPrice int64
	minTip   int64
	maxGas   uint64
	open     int // heads
	fails    error
	now      time.Time
}

func newWorld() *world {
	return &world{accounts: map[common.Address]state{}, rich: 1 << 60, minPrice: 10, maxGas: 10_000_000,
		now: time.Unix(1e9, 0)}
}

func (w *world) head() (*Head, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	accounts, rich := maps.Clone(w.accounts), w.rich
	w.open++
	return &Head{
		MaxGas: w.maxGas, MinPrice: big.NewInt(w.minPrice), MinTip: big.NewInt(w.minTip), Berlin: true, London: true,
		Account: func(a common.Address) (uint64, uint256.Int, error) {
			if s, ok := accounts[a]; ok {
				return s.nonce, *uint256.NewInt(s.balance), w.fails
			}
			return 0, *uint256.NewInt(rich), w.fails
		},
		Close: func() error { w.mu.Lock(); w.open--; w.mu.Unlock(); return nil },
	}, nil
}

func (w *world) pool(t *testing.T, o Options) *Pool {
	t.Helper()
	o.Head, o.Signer = w.head, plain{}
	if o.Now == nil {
		o.Now = func() time.Time { return w.now }
	}
	if o.Warn == nil {
		o.Warn = func(err error) { t.Error(err) }
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if w.open != 0 {
			t.Errorf("%d heads are open", w.open)
		}
	})
	return p
}

// sound checks what must hold at any time.
func sound(p *Pool) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	seen, ready, localReady, slots, local, bytes := 0, 0, 0, 0, 0, uint64(0)
	for sender, a := range p.accounts {
		if len(a.txs) == 0 || a.address != sender || a.ready > a.contiguous() {
			return fmt.Errorf("account %v: %d transactions, %d pending, %d without a gap",
				sender, len(a.txs), a.ready, a.contiguous())
		}
		if a.contiguous() > a.ready {
			return fmt.Errorf("account %v: %d of %d transactions are pending", sender, a.ready, a.contiguous())
		}
		if _, ok := p.long[a]; ok != (!a.local && a.ready > int(p.o.Limits.AccountSlots)) {
			return fmt.Errorf("account %v: long is %v", sender, ok)
		}
		if _, ok := p.gapped[a]; ok != (!a.local && a.queuedCount() > 0) || ok && a.beat.IsZero() {
			return fmt.Errorf("account %v: gapped is %v, its beat %v, %d are queued",
				sender, ok, a.beat, a.queuedCount())
		}
		for i, e := range a.txs {
			if i > 0 && a.txs[i-1].nonce() >= e.nonce() || p.all[e.tx.Hash()] != e || e.from != sender {
				return fmt.Errorf("account %v: transaction %d with nonce %d", sender, i, e.nonce())
			}
			if e.local != a.local || e.local != (e.in == nil) || e.in != nil && e.in.list[e.index] != e {
				return fmt.Errorf("account %v: transaction %d is local: %v, its place %v", sender, i, e.local, e.index)
			}
			if e.local {
				local++
				bytes += e.tx.Size()
			} else {
				slots += e.slots
			}
		}
		paid, sum := 0, new(uint256.Int)
		for paid < len(a.txs) && a.txs[paid].nonce() == a.nonce+uint64(paid) &&
			!a.balance.Lt(sum.Add(sum, &a.txs[paid].cost)) {
			paid++
		}
		if _, ok := p.idle[a]; a.paid != paid || ok != (!a.always && paid < len(a.txs)) {
			return fmt.Errorf("account %v: %d of %d transactions are paid, known are %d; idle is %v",
				sender, paid, len(a.txs), a.paid, ok)
		}
		if a.local {
			localReady += a.ready
		}
		seen += len(a.txs)
		ready += a.ready
	}
	if seen != len(p.all) || ready != p.ready || localReady != p.local.ready || slots != p.slots ||
		local != p.local.count || bytes != p.local.bytes {
		return fmt.Errorf("counted %d transactions, %d pending, %d slots, %d local, %d bytes; known %d, %d, %d, %d, %d",
			seen, ready, slots, local, bytes, len(p.all), p.ready, p.slots, p.local.count, p.local.bytes)
	}
	if n := p.prices.urgent.Len() + p.prices.floating.Len(); n != seen-local {
		return fmt.Errorf("%d transactions have a price, %d should", n, seen-local)
	}
	return nil
}

func journalIn(t *testing.T) string { return filepath.Join(t.TempDir(), "journal") }
