package node

import (
	"fmt"
	"math/big"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/gasprice"
	"tarn/opera/txpool"
)

// waiting is the transactions that wait, and what gas costs.
type waiting struct {
	*txpool.Pool
	prices *gasprice.Oracle
	stop   func() // of blocks being told
	room   func() error
}

// Add takes a transaction of a client, while there is room on the disk to keep and to execute it.
func (w *waiting) Add(tx *types.Transaction) error {
	if err := w.room(); err != nil {
		return err
	}
	return w.Pool.Add(tx)
}

// wait begins to take transactions.
func (s *services) wait(n *Node) (*waiting, error) {
	w := &waiting{room: n.room, prices: gasprice.New(gasprice.Options{Chain: n.Chain(), Bounds: s.priceBounds()})}
	o := s.poolOptions(n)
	o.Head, o.Signer = txpool.Heads(n.Chain(), w.prices), n.Chain().Signer()
	o.Senders = n.Chain().Verifier().Senders()
	var err error
	if w.Pool, err = txpool.New(o); err != nil {
		w.prices.Close()
		return nil, err
	}
	w.prices.Watch(w.Pool.Pending)
	w.stop = n.Subscribe(func(*chain.Block) { w.Follow() })
	if pending, queued := w.Stats(); pending+queued > 0 {
		s.log.Info("Loaded local transaction journal", "pending", pending, "queued", queued, "file", o.Journal)
	}
	return w, nil
}

// close ends it, after everybody who adds transactions.
func (w *waiting) close() error {
	w.stop()
	w.prices.Close()
	if err := w.Pool.Close(); err != nil {
		return fmt.Errorf("close the pool of transactions: %w", err)
	}
	return nil
}

// offered is the pool as a validator sees it.
type offered struct{ *txpool.Pool }

func (o offered) Pending() map[common.Address]types.Transactions { return o.Offers() }

func (s *services) poolOptions(n *Node) txpool.Options {
	c := &s.TxPool
	o := txpool.Options{
		Limits: txpool.Limits{
			PriceLimit: c.PriceLimit, PriceBump: c.PriceBump, AccountSlots: c.AccountSlots, GlobalSlots: c.GlobalSlots,
			AccountQueue: c.AccountQueue, GlobalQueue: c.GlobalQueue, Lifetime: c.Lifetime,
		},
		NoLocals: c.NoLocals, Journal: c.Journal, Rejournal: c.Rejournal,
		Warn: func(err error) { s.log.Warn("Transaction pool", "err", err) },
	}
	if o.Journal != "" && !filepath.IsAbs(o.Journal) {
		o.Journal = n.Dir(o.Journal)
	}
	for _, a := range c.Locals {
		o.Locals = append(o.Locals, common.HexToAddress(strings.TrimSpace(a)))
	}
	return o
}

func (s *services) priceBounds() gasprice.Bounds {
	wei := func(n uint64) *big.Int {
		if n == 0 {
			return nil
		}
		return new(big.Int).SetUint64(n)
	}
	o := &s.Opera.GPO
	return gasprice.Bounds{Max: wei(o.MaxGasPrice), Min: wei(o.MinGasPrice), MinTip: wei(o.MinGasTip),
		Certainty: o.DefaultCertainty}
}
