package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// Criteria say which logs a client wants.
type Criteria struct {
	BlockHash *common.Hash // in place of From and To
	From, To  *BlockTag    // the last block if nil
	Addresses []common.Address
	Topics    [][]common.Hash
}

// UnmarshalJSON implements json.Unmarshaler with go-opera's texts.
func (c *Criteria) UnmarshalJSON(data []byte) error {
	// The name of the type stands in errors that clients get.
	type input struct {
		BlockHash *common.Hash `json:"blockHash"`
		FromBlock *BlockTag    `json:"fromBlock"`
		ToBlock   *BlockTag    `json:"toBlock"`
		Address   any          `json:"address"`
		Topics    []any        `json:"topics"`
	}
	var raw input
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if raw.BlockHash != nil && (raw.FromBlock != nil || raw.ToBlock != nil) {
		return errors.New("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other")
	}
	c.BlockHash, c.From, c.To = raw.BlockHash, raw.FromBlock, raw.ToBlock
	if err := c.readAddresses(raw.Address); err != nil {
		return err
	}
	for _, t := range raw.Topics {
		topics, err := readTopics(t)
		if err != nil {
			return err
		}
		c.Topics = append(c.Topics, topics)
	}
	return nil
}

func (c *Criteria) readAddresses(raw any) error {
	switch raw := raw.(type) {
	case nil:
	case string:
		b, err := fixed(raw, common.AddressLength, "address")
		if err != nil {
			return fmt.Errorf("invalid address: %v", err)
		}
		c.Addresses = []common.Address{common.BytesToAddress(b)}
	case []any:
		for i, one := range raw {
			text, ok := one.(string)
			if !ok {
				return fmt.Errorf("non-string address at index %d", i)
			}
			b, err := fixed(text, common.AddressLength, "address")
			if err != nil {
				return fmt.Errorf("invalid address at index %d: %v", i, err)
			}
			c.Addresses = append(c.Addresses, common.BytesToAddress(b))
		}
	default:
		return errors.New("invalid addresses in query")
	}
	return nil
}

// readTopics reads what may stand at a place: nothing is anything, and so is a list with
// nothing in it.
func readTopics(raw any) (topics []common.Hash, err error) {
	list, ok := raw.([]any)
	if !ok {
		if raw == nil {
			return nil, nil
		}
		list = []any{raw}
	}
	for _, one := range list {
		if one == nil {
			return nil, nil
		}
		text, ok := one.(string)
		if !ok {
			return nil, errors.New("invalid topic(s)")
		}
		b, err := fixed(text, common.HashLength, "topic")
		if err != nil {
			return nil, err
		}
		topics = append(topics, common.BytesToHash(b))
	}
	return topics, nil
}

func fixed(text string, length int, what string) ([]byte, error) {
	b, err := hexutil.Decode(text)
	if err == nil && len(b) != length {
		err = fmt.Errorf("hex has invalid length %d after decoding; expected %d for %s", len(b), length, what)
	}
	return b, err
}

// bounded refuses criteria that would cost too much.
func (c *Criteria) bounded(l *Limits) error {
	n := len(c.Addresses) + len(c.Topics)
	for _, topics := range c.Topics {
		n += len(topics)
	}
	if n > l.Criteria {
		return fmt.Errorf("too many addresses and topics: %d, the limit is %d", n, l.Criteria)
	}
	return nil
}

// indexed tells whether the criteria name anything that logs are found by.
func (c *Criteria) indexed() bool {
	return len(c.Addresses) != 0 || slices.ContainsFunc(c.Topics, func(topics []common.Hash) bool { return len(topics) != 0 })
}

// match tells whether a log fits the criteria, whatever its block.
func (c *Criteria) match(l *types.Log) bool {
	q := chain.LogQuery{Addresses: c.Addresses, Topics: c.Topics}
	return q.Wants(l)
}

// logs returns the logs that fit, oldest first. They are shared: nobody changes them.
func (v *view) logs(ctx context.Context, c *Criteria) ([]*types.Log, error) {
	limits := &v.service.limits
	if err := c.bounded(limits); err != nil {
		return nil, err
	}
	q, err := v.query(c)
	if err != nil || q.From > q.To {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limits.RequestTime)
	defer cancel()
	var list []*types.Log
	more, at, searched := false, inter.BlockNumber(0), 0
	var failed error
	err = v.Logging(ctx, *q, func(n inter.BlockNumber) bool {
		b, err := v.logging(n, c, searched < rememberedLogging)
		if err != nil {
			failed = err
			return false
		}
		if b == nil {
			return ctx.Err() == nil
		}
		searched++
		for _, r := range b.Receipts {
			for _, l := range r.Logs {
				if !c.match(l) {
					continue
				}
				at = n
				if more = len(list) >= limits.Logs; more {
					return false
				}
				list = append(list, l)
			}
		}
		return ctx.Err() == nil
	})
	if err = errors.Join(err, failed, ctx.Err()); more {
		return nil, tooManyLogs(q, at, limits.Logs)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, timeOverLogs(list, q)
	}
	return list, err
}

// rememberedLogging is how many blocks of a search are remembered, so that a wide one does not
// push out what others ask for.
const rememberedLogging = 64

// logging returns a block that may have logs that fit, nil if it has none.
func (v *view) logging(n inter.BlockNumber, c *Criteria, remember bool) (*block, error) {
	if b := v.remembered(n); b != nil {
		return b, nil
	}
	of, err := v.BlockWith(n, c.match)
	if err != nil || of == nil {
		return nil, err
	}
	return v.told(of, remember), nil
}

// query says which blocks and what of them is searched.
func (v *view) query(c *Criteria) (*chain.LogQuery, error) {
	q := &chain.LogQuery{From: v.Head().Number, To: v.Head().Number, Addresses: c.Addresses, Topics: c.Topics}
	if c.BlockHash != nil && *c.BlockHash == (common.Hash{}) {
		q.From, q.To = 0, 0
		return q, nil
	}
	if c.BlockHash != nil {
		n, found, err := v.numberOf(*c.BlockHash)
		if err == nil && !found {
			err = errors.New("unknown block")
		}
		q.From, q.To = n, n
		return q, err
	}
	if c.From != nil {
		q.From = v.number(*c.From)
	}
	if c.To != nil {
		q.To = v.number(*c.To)
	}
	most := v.service.limits.IndexedBlocks
	if !c.indexed() {
		most = v.service.limits.UnindexedBlocks
	}
	if q.From <= q.To && q.To-q.From > most {
		return q, fmt.Errorf("too wide blocks range, the limit is %d", most)
	}
	return q, nil
}

// tooManyLogs says how to go on: which blocks fit into an answer, and where the next begins.
func tooManyLogs(q *chain.LogQuery, at inter.BlockNumber, limit int) error {
	if at == q.From {
		return fmt.Errorf("query returned more than %d results, all of them of block %#x: name addresses or topics to get fewer", limit, uint64(at))
	}
	return fmt.Errorf("query returned more than %d results. Try with this block range [%#x, %#x], and go on from %#x", limit, uint64(q.From), uint64(at-1), uint64(at))
}

func timeOverLogs(list []*types.Log, q *chain.LogQuery) error {
	const why = "the search for logs took too long"
	middle := q.From + (q.To-q.From)/2
	if len(list) > 0 {
		if last := inter.BlockNumber(list[len(list)-1].BlockNumber); last > q.From {
			middle = last - 1
		}
	}
	return fmt.Errorf("%s. Try with this block range [%#x, %#x], and go on from %#x", why, uint64(q.From), uint64(middle), uint64(middle+1))
}
