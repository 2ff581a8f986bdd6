package rpc

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// ethFilters answers for eth about logs and what is new.
type ethFilters struct{ s *Service }

func (e ethFilters) GetLogs(ctx context.Context, c Criteria) ([]*LogJSON, error) {
	return read(e.s, func(v *view) ([]*LogJSON, error) {
		list, err := v.logs(ctx, &c)
		return logsJSON(list), err
	})
}

func (e ethFilters) NewFilter(c Criteria) (rpc.ID, error) {
	if err := e.s.checkFilter(&c); err != nil {
		return "", err
	}
	return e.s.hub.install(ofLogs, c)
}

// checkFilter refuses blocks that will never come.
func (s *Service) checkFilter(c *Criteria) error {
	if err := c.bounded(&s.limits); err != nil {
		return err
	}
	from, to := Latest, Latest
	if c.From != nil {
		from = *c.From
	}
	if c.To != nil {
		to = *c.To
	}
	switch {
	case from < 0 && to < 0, from >= 0 && to >= from, from >= 0 && to < 0:
		return nil
	}
	return errors.New("invalid from and to block combination: from > to")
}

func (e ethFilters) NewBlockFilter() (rpc.ID, error) { return e.s.hub.install(ofBlocks, Criteria{}) }

func (e ethFilters) NewPendingTransactionFilter() (rpc.ID, error) {
	return e.s.hub.install(ofPending, Criteria{})
}

func (e ethFilters) UninstallFilter(id rpc.ID) bool { return e.s.hub.uninstall(id) }

func (e ethFilters) GetFilterChanges(id rpc.ID) (any, error) { return e.s.hub.changes(id) }

func (e ethFilters) GetFilterLogs(ctx context.Context, id rpc.ID) ([]*LogJSON, error) {
	c, err := e.s.hub.criteria(id)
	if err != nil {
		return nil, err
	}
	return e.GetLogs(ctx, c)
}

// outgoing is how much may wait for a subscriber. Who is slower than that loses the
// subscription, so that nobody takes what has a hole for the whole.
const outgoing = 10_000

// subscribe sends a client what is new, until it goes or is too slow.
func (s *Service) subscribe(ctx context.Context, l *listener) (*rpc.Subscription, error) {
	notifier, ok := rpc.NotifierFromContext(ctx)
	if !ok {
		return nil, rpc.ErrNotificationsUnsupported
	}
	waiting := make(chan any, outgoing)
	slow := make(chan struct{})
	full := false
	stop := func() {
		if !full {
			full = true
			close(slow)
		}
	}
	l.end, l.send = stop, func(what any) {
		if full {
			return
		}
		select {
		case waiting <- what:
		default:
			stop()
		}
	}
	end, err := s.hub.listen(l)
	if err != nil {
		return nil, err
	}
	sub := notifier.CreateSubscription()
	go func() {
		defer end()
		for {
			select {
			case what := <-waiting:
				if notifier.Notify(sub.ID, what) != nil {
					return
				}
			case <-slow:
				return
			case <-sub.Err():
				return
			case <-s.hub.done:
				return
			}
		}
	}()
	return sub, nil
}

func (e ethFilters) NewHeads(ctx context.Context) (*rpc.Subscription, error) {
	return e.s.subscribe(ctx, &listener{kind: ofBlocks})
}

// NewPendingTransactions tells the hashes of transactions that come into the pool, or, if so much
// is wanted, the transactions.
func (e ethFilters) NewPendingTransactions(ctx context.Context, whole *bool) (*rpc.Subscription, error) {
	return e.s.subscribe(ctx, &listener{kind: ofPending, whole: whole != nil && *whole})
}

func (e ethFilters) Logs(ctx context.Context, c Criteria) (*rpc.Subscription, error) {
	if err := e.s.checkFilter(&c); err != nil {
		return nil, err
	}
	return e.s.subscribe(ctx, &listener{kind: ofLogs, criteria: c})
}

// headJSON is a header in the form of newHeads, and what else blocks have.
type headJSON struct {
	ParentHash  common.Hash      `json:"parentHash"`
	UncleHash   common.Hash      `json:"sha3Uncles"`
	Coinbase    common.Address   `json:"miner"`
	Root        common.Hash      `json:"stateRoot"`
	TxHash      common.Hash      `json:"transactionsRoot"`
	ReceiptHash common.Hash      `json:"receiptsRoot"`
	Bloom       types.Bloom      `json:"logsBloom"`
	Difficulty  *hexutil.Big     `json:"difficulty"`
	Number      *hexutil.Big     `json:"number"`
	GasLimit    hexutil.Uint64   `json:"gasLimit"`
	GasUsed     hexutil.Uint64   `json:"gasUsed"`
	Time        hexutil.Uint64   `json:"timestamp"`
	Extra       hexutil.Bytes    `json:"extraData"`
	MixDigest   common.Hash      `json:"mixHash"`
	Nonce       types.BlockNonce `json:"nonce"`
	BaseFee     *hexutil.Big     `json:"baseFeePerGas"`
	Hash        common.Hash      `json:"hash"`

	Epoch           hexutil.Uint64 `json:"epoch"`
	Size            hexutil.Uint64 `json:"size"`
	TimestampNano   hexutil.Uint64 `json:"timestampNano"`
	TotalDifficulty hexutil.Uint64 `json:"totalDifficulty"`
}

func headOf(h *types.Header, b *block) *headJSON {
	return &headJSON{
		ParentHash: h.ParentHash, UncleHash: h.UncleHash, Coinbase: h.Coinbase, Root: h.Root, TxHash: h.TxHash, ReceiptHash: h.ReceiptHash,
		Bloom: h.Bloom, Difficulty: (*hexutil.Big)(h.Difficulty), Number: (*hexutil.Big)(h.Number), GasLimit: hexutil.Uint64(h.GasLimit),
		GasUsed: hexutil.Uint64(h.GasUsed), Time: hexutil.Uint64(h.Time), Extra: h.Extra, MixDigest: h.MixDigest, Nonce: h.Nonce,
		BaseFee: (*hexutil.Big)(h.BaseFee), Hash: common.Hash(b.ID),
		Epoch: hexutil.Uint64(b.ID.Epoch()), Size: hexutil.Uint64(b.size(h.Root)), TimestampNano: hexutil.Uint64(b.Time),
	}
}
