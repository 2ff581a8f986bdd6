package blocklog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// The kinds of keys of the index: a letter, and the first bytes of what is looked for, or a word
// made of a topic. Different ones may share these; whoever looks compares what it finds.
const (
	kindID      = 'b'
	kindTx      = 'x'
	kindAddress = 'a' // of a contract that logged
	kindTopic   = '0' // and '1', '2', '3': the topic's place
	maxTopics   = 4
	keyBytes    = 8
)

func key(kind byte, of []byte) []byte {
	return append([]byte{kind}, of[:keyBytes]...)
}

// topicKey is the key of a topic at a place. All of its four words count: those of an address or
// a small number begin with zeros, those of a short text end with them.
func topicKey(place int, topic common.Hash) []byte {
	var word uint64
	for at := 0; at < len(topic); at += keyBytes {
		word ^= binary.BigEndian.Uint64(topic[at:])
	}
	return binary.BigEndian.AppendUint64([]byte{kindTopic + byte(place)}, word)
}

// keys emits the keys of a block. The value of a transaction's is its index.
func keys(_ uint64, entry []byte, emit func(key, value []byte)) error {
	b := new(Block)
	if err := rlp.DecodeBytes(entry, b); err != nil {
		return fmt.Errorf("decode a block: %w", err)
	}
	b.keys(emit)
	return nil
}

// keys emits the keys of a block that is decoded.
func (b *Block) keys(emit func(key, value []byte)) {
	emit(key(kindID, b.ID[:]), nil)
	for i := 0; i+HashBytes <= len(b.Found); i += HashBytes {
		emit(key(kindTx, b.Found[i:]), binary.AppendUvarint(nil, uint64(i/HashBytes)))
	}
	seen := map[[1 + keyBytes]byte]bool{}
	once := func(of []byte) {
		k := [1 + keyBytes]byte(of)
		if !seen[k] {
			seen[k] = true
			emit(k[:], nil)
		}
	}
	for _, r := range b.Receipts {
		for _, l := range r.Logs {
			once(key(kindAddress, l.Address[:]))
			for i, topic := range l.Topics[:min(maxTopics, len(l.Topics))] {
				once(topicKey(i, topic))
			}
		}
	}
}

// number is of which block an entry of a part is.
func (l *Log) number(p *part, entry uint64) inter.BlockNumber {
	if p == &l.own {
		return inter.BlockNumber(entry)
	}
	return l.top - 1 - inter.BlockNumber(entry)
}

// Numbers calls each for the blocks whose ids begin as one does, until it returns false.
func (l *Log) Numbers(id inter.EventID, each func(inter.BlockNumber) bool) error {
	more := true
	for _, p := range []*part{&l.own, &l.brought} {
		err := p.index.Find(key(kindID, id[:]), 0, func(entry uint64, _ []byte) bool {
			more = each(l.number(p, entry))
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	_, err := l.recordNumbers(key(kindID, id[:]), func(n inter.BlockNumber, _ []byte) bool { return each(n) })
	return err
}

// Transactions calls each for the places of transactions whose hashes begin as one does,
// until it returns false.
func (l *Log) Transactions(hash common.Hash, each func(block inter.BlockNumber, index uint) bool) error {
	more := true
	for _, p := range []*part{&l.own, &l.brought} {
		err := p.index.Find(key(kindTx, hash[:]), 0, func(entry uint64, value []byte) bool {
			index, _ := binary.Uvarint(value)
			more = each(l.number(p, entry), uint(index))
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	_, err := l.recordedTransactions(hash, each)
	return err
}

// Query is which logs are wanted: of the blocks From to To, of one of the addresses if there
// are any, and with one of the topics at each place that has any.
type Query struct {
	From, To  inter.BlockNumber
	Addresses []common.Address
	Topics    [][]common.Hash
}

// Wants tells whether a log is wanted, whatever its block.
func (q *Query) Wants(l *types.Log) bool {
	if len(q.Addresses) != 0 && !slices.Contains(q.Addresses, l.Address) || len(q.Topics) > len(l.Topics) {
		return false
	}
	for i, topics := range q.Topics {
		if len(topics) != 0 && !slices.Contains(topics, l.Topics[i]) {
			return false
		}
	}
	return true
}

// keys are the keys of which a block must have one of each group, each once: others may share it, or be named again.
func (q *Query) keys() (groups [][][]byte) {
	once := func(group [][]byte) [][]byte {
		slices.SortFunc(group, bytes.Compare)
		return slices.CompactFunc(group, bytes.Equal)
	}
	var group [][]byte
	for _, a := range q.Addresses {
		group = append(group, key(kindAddress, a[:]))
	}
	if len(group) != 0 {
		groups = append(groups, once(group))
	}
	for i, topics := range q.Topics[:min(maxTopics, len(q.Topics))] {
		group = nil
		for _, topic := range topics {
			group = append(group, topicKey(i, topic))
		}
		if len(group) != 0 {
			groups = append(groups, once(group))
		}
	}
	return groups
}

// window is over how many blocks at once is looked: what is found lies in memory.
const window = 1 << 16

// Logging calls each for the blocks that may have what a query wants, in their order, until
// it returns false or the context ends. Of a query without addresses and topics that is
// all of them.
func (l *Log) Logging(ctx context.Context, q *Query, each func(inter.BlockNumber) bool) error {
	groups := q.keys()
	oldest := l.top - inter.BlockNumber(l.Brought())
	for _, s := range []struct {
		from, end inter.BlockNumber
		records   bool
	}{{0, oldest, true}, {oldest, l.top, false}, {l.top, l.first, true}, {l.first, l.Next(), false}} {
		from, end := max(q.From, s.from), s.end
		if q.To < end {
			end = q.To + 1
		}
		more, err := true, error(nil)
		if s.records && from < end {
			part := *q
			part.From, part.To = from, end-1
			more, err = l.LoggingRecords(ctx, &part, each)
			from = end
		}
		for ; more && err == nil && from < end; from += window {
			if err = ctx.Err(); err == nil {
				more, err = l.loggingIn(ctx, groups, from, min(end, from+window), each)
			}
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// LoggingRecords is Logging over the blocks that came as records, whether or not the chain has
// blocks of these numbers. It tells whether each wants more.
func (l *Log) LoggingRecords(ctx context.Context, q *Query, each func(inter.BlockNumber) bool) (bool, error) {
	if l.Records() == 0 {
		return true, nil
	}
	groups := q.keys()
	lowest, highest := l.RecordSpan()
	for from, to := max(q.From, lowest), min(q.To, highest); from <= to; from = (from/window + 1) * window {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		found, err := l.recordsIn(ctx, groups, from, min(to, (from/window+1)*window-1))
		if err != nil {
			return false, err
		}
		for _, n := range found {
			if !each(n) {
				return false, nil
			}
		}
	}
	return true, nil
}

// recordsIn returns the numbers from one to another, of one window, of records that have one key
// of each group.
func (l *Log) recordsIn(
	ctx context.Context, groups [][][]byte, from, to inter.BlockNumber,
) (found []inter.BlockNumber, err error) {
	if len(groups) == 0 {
		for n := from; n <= to; n++ {
			if has, err := l.HasRecord(n); err != nil || ctx.Err() != nil {
				return nil, errors.Join(err, ctx.Err())
			} else if has {
				found = append(found, n)
			}
		}
		return found, nil
	}
	return ofEach(ctx, groups, from, func(key []byte, add func(inter.BlockNumber)) error {
		_, err := l.recordNumbers(inWindow(key, from), func(n inter.BlockNumber, _ []byte) bool {
			if from <= n && n <= to {
				add(n)
			}
			return true
		})
		return err
	})
}

// loggingIn looks over the blocks from one to another, that one excluded, all of one part.
func (l *Log) loggingIn(
	ctx context.Context, groups [][][]byte, from, end inter.BlockNumber, each func(inter.BlockNumber) bool,
) (bool, error) {
	if len(groups) == 0 {
		for ; from < end; from++ {
			if !each(from) {
				return false, nil
			}
		}
		return true, nil
	}
	p, first := l.place(from)
	_, last := l.place(end - 1)
	found, err := ofEach(ctx, groups, min(first, last), func(key []byte, add func(uint64)) error {
		return p.index.FindIn(key, min(first, last), max(first, last), func(entry uint64, _ []byte) bool {
			add(entry)
			return true
		})
	})
	if err != nil {
		return false, err
	}
	if p == &l.brought {
		slices.Reverse(found)
	}
	for _, entry := range found {
		if !each(l.number(p, entry)) {
			return false, nil
		}
	}
	return true, nil
}

// ofEach returns the numbers that have one key of each group, ascending, of the window that begins with base; find adds
// those that have a key. However many keys have a number, it takes no more memory than if one had.
func ofEach[N ~uint64](
	ctx context.Context, groups [][][]byte, base N, find func(key []byte, add func(N)) error,
) (found []N, err error) {
	var all, of [window / 64]uint64
	for i, group := range groups {
		clear(of[:])
		for _, key := range group {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := find(key, func(n N) {
				if at := n - base; at < window {
					of[at/64] |= 1 << (at % 64)
				}
			}); err != nil {
				return nil, err
			}
		}
		none := true
		for at := range of {
			if i > 0 {
				of[at] &= all[at]
			}
			none = none && of[at] == 0
		}
		if all = of; none {
			return nil, nil
		}
	}
	for at, word := range all {
		for ; word != 0; word &= word - 1 {
			found = append(found, base+N(64*at+bits.TrailingZeros64(word)))
		}
	}
	return found, nil
}
