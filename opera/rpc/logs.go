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
		b, err := fixedBytes(raw, common.AddressLength, "address")
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
			b, err := fixedBytes(text, common.AddressLength, "address")
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
		b, err := fixedBytes(text, common.HashLength, "topic")
		if err != nil {
			return nil, err
		}
		topics = append(topics, common.BytesToHash(b))
	}
	return topics, nil
}

func fixedBytes(text string, length int, what string) ([]byte, error) {
	b, err := hexutil.Decode(text)
	if err == nil && len(b) != length {
		err = fmt.Errorf("hex has invalid length %d after decoding; expected %d for %s", len(b), length, what)
	}
	return b, err
}

// checkBounds refuses criteria that would cost too much.
func (c *Criteria) checkBounds(l *Limits) error {
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
	return len(c.Addresses) != 0 || slices.ContainsFunc(c.Topics, func(topics []common.Hash) bool {
		return len(topics) != 0
	})
}

// prepare sorts what is compared with each log. It changes nothing that is sorted.
func (c *Criteria) prepare() {
	sort(c.Addresses, common.Address.Cmp)
	for _, topics := range c.Topics {
		sort(topics, common.Hash.Cmp)
	}
}

func sort[T any](list []T, compare func(a, b T) int) {
	if !slices.IsSortedFunc(list, compare) {
		slices.SortFunc(list, compare)
	}
}

// weight is how many bytes the criteria take.
func (c *Criteria) weight() int64 {
	n := len(c.Addresses) + len(c.Topics)
	for _, topics := range c.Topics {
		n += len(topics)
	}
	return int64(512 + 64*n)
}

// match tells whether a log fits criteria that are prepared, whatever its block.
func (c *Criteria) match(l *types.Log) bool {
	if len(c.Topics) > len(l.Topics) || !fits(c.Addresses, l.Address, common.Address.Cmp) {
		return false
	}
	for i, topics := range c.Topics {
		if !fits(topics, l.Topics[i], common.Hash.Cmp) {
			return false
		}
	}
	return true
}

// fits tells whether a sorted list has something, or is empty.
func fits[T any](list []T, one T, compare func(a, b T) int) bool {
	if len(list) == 0 {
		return true
	}
	_, found := slices.BinarySearchFunc(list, one, compare)
	return found
}

// logs returns the logs that fit, oldest first. They are shared: nobody changes them.
func (v *view) logs(ctx context.Context, c *Criteria) ([]*types.Log, error) {
	limits := &v.service.limits
	if err := c.checkBounds(limits); err != nil {
		return nil, err
	}
	c.prepare()
	q, err := v.query(c)
	if err != nil || q.From > q.To {
		return nil, err
	}
	found, err := v.search(ctx, c, q.From, q.To, limits.Logs)
	switch {
	case errors.Is(err, errMoreLogs):
		return nil, tooManyLogs(q, found.at, len(found.list))
	case errors.Is(err, context.DeadlineExceeded):
		return nil, timeOverLogs(found.list, q)
	}
	return found.list, err
}

// foundLogs are those that a search has found, as far as it came.
type foundLogs struct {
	list     []*types.Log
	at       inter.BlockNumber // of the newest of them, or the one that is too many
	searched inter.BlockNumber // the last one that was looked through
	bytes    int64
}

// errMoreLogs says that there are more logs, or bytes of them, than may be told.
var errMoreLogs = errors.New("more logs than may be told")

// fewBlocks is how many blocks are looked through one by one: to look for each address and topic
// in the index would take longer.
const fewBlocks = 16

// search looks for logs that fit prepared criteria.
func (v *view) search(ctx context.Context, c *Criteria, from, to inter.BlockNumber, most int) (foundLogs, error) {
	ctx, cancel := context.WithTimeout(ctx, v.service.limits.RequestTime)
	defer cancel()
	var f foundLogs
	var failed error
	blocks := 0
	each := func(n inter.BlockNumber) bool {
		b, err := v.logging(n, c, blocks < rememberedLogging)
		if err == nil && b != nil {
			blocks++
			err = f.add(b, c, most, v.service.limits.LogBytes)
		}
		if failed = err; failed != nil {
			return false
		}
		f.searched = n
		return ctx.Err() == nil
	}
	var err error
	if to-from < fewBlocks && to <= v.Head().Number {
		for n := from; n <= to && each(n); n++ {
			continue
		}
	} else {
		err = v.Logging(ctx, chain.LogQuery{From: from, To: to, Addresses: c.Addresses, Topics: c.Topics}, each)
	}
	return f, errors.Join(err, failed, ctx.Err())
}

// add adds the logs of a block that fit.
func (f *foundLogs) add(b *block, c *Criteria, most int, bytes int64) error {
	for _, r := range b.Receipts {
		for _, l := range r.Logs {
			if !c.match(l) {
				continue
			}
			f.at = b.Number
			if f.bytes += logWeight(l); len(f.list) >= most || f.bytes > bytes {
				return errMoreLogs
			}
			f.list = append(f.list, l)
		}
	}
	return nil
}

// logging returns a block that may have logs that fit, nil if it has none.
func (v *view) logging(n inter.BlockNumber, c *Criteria, remember bool) (*block, error) {
	if b := v.rememberedBlock(n); b != nil {
		return b, nil
	}
	of, err := v.BlockWith(n, c.match)
	if err != nil || of == nil {
		return nil, err
	}
	return v.readBlock(of, remember), nil
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
		return fmt.Errorf(
			"query returned more than %d results, all of them of block %#x: name addresses or topics to get fewer",
			limit, uint64(at))
	}
	return fmt.Errorf("query returned more than %d results. Try with this block range [%#x, %#x], and go on from %#x",
		limit, uint64(q.From), uint64(at-1), uint64(at))
}

func timeOverLogs(list []*types.Log, q *chain.LogQuery) error {
	const why = "the search for logs took too long"
	middle := q.From + (q.To-q.From)/2
	if len(list) > 0 {
		if last := inter.BlockNumber(list[len(list)-1].BlockNumber); last > q.From {
			middle = last - 1
		}
	}
	return fmt.Errorf("%s. Try with this block range [%#x, %#x], and go on from %#x",
		why, uint64(q.From), uint64(middle), uint64(middle+1))
}
