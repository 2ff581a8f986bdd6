package p2p

import (
	"errors"
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// The codes of messages (go-opera, gossip/protocol.go). Version 62 ends with codeEvents
// streams.
const (
	codeHandshake = iota
	codeProgress
	codeTxs
	codeTxHashes
	codeGetTxs
	codeEventIDs
	codeGetEvents
	codeEvents
	codeRequestEvents // a stream
	codeEventsChunk
	codeRequestBlockVotes
	codeBlockVotesChunk
	codeRequestBlockRecords
	codeBlockRecordsChunk
	codeRequestEpochPacks
	codeEpochPacksChunk
	codes
)

// Name and versions of the protocol.
const (
	protocolName  = "opera"
	withoutChunks = 62 // has no streams of records
	newest        = 63
)

// Errors for which a peer is left, in go-opera's words (gossip/protocol.go): operators
// search for them.
var (
	errTooLong  = errors.New("Message too long")
	errDecode   = errors.New("Invalid message")
	errCode     = errors.New("Invalid message code")
	errVersion  = errors.New("Protocol version mismatch")
	errNetwork  = errors.New("NetworkId mismatch")
	errGenesis  = errors.New("Genesis object mismatch")
	errNoStatus = errors.New("No status message")
	errStatus   = errors.New("Extra status message")
	errEmpty    = errors.New("Empty message")
)

// handshake is the first message of each side.
type handshake struct {
	Version uint32
	Network uint64 // 0 is any: go-opera sends it
	Genesis [32]byte
}

// Progress is how far a node says that it is.
type Progress struct {
	Epoch   inter.Epoch
	Block   inter.BlockNumber // the last one
	Atropos inter.EventID     // its id
	Lamport inter.Lamport     // of no use; 0
}

// request asks for the next chunks of a stream. Start and Stop are keys, or numbers in the
// streams of block records and epochs.
type request[K any] struct {
	Session   session[K]
	Limit     limit
	Type      uint8
	MaxChunks uint32
}

type session[K any] struct {
	ID          uint32
	Start, Stop K // from, inclusive; to, exclusive
}

type limit struct {
	Items uint32
	Bytes uint64
}

// What a stream of events has in it.
const (
	typeIDs    = 0
	typeEvents = 2
)

// eventsChunk is a part of a stream of events: ids, or whole events.
type eventsChunk struct {
	Session uint32
	Done    bool
	IDs     []inter.EventID
	Events  [][]byte
}

// decode decodes what has a bounded number of parts by itself.
func decode(raw []byte, into any) error {
	if err := rlp.DecodeBytes(raw, into); err != nil {
		return fmt.Errorf("%w: %w", errDecode, err)
	}
	return nil
}

// count refuses lists that are empty or too long, before any memory is taken for them.
func count(list []byte, least, most int) (int, error) {
	n, rest := 0, list
	for ; len(rest) > 0; n++ {
		if n == most {
			return 0, fmt.Errorf("%w: more than %d items", errTooLong, most)
		}
		_, _, after, err := rlp.Split(rest)
		if err != nil {
			return 0, fmt.Errorf("%w: item %d: %w", errDecode, n, err)
		}
		rest = after
	}
	if n < least {
		return 0, errEmpty
	}
	return n, nil
}

// whole returns what is in a message that is one list.
func whole(raw []byte) ([]byte, error) {
	list, rest, err := rlp.SplitList(raw)
	if err == nil && len(rest) > 0 {
		err = rlp.ErrMoreThanOneValue
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDecode, err)
	}
	return list, nil
}

// splitStrings returns the strings of a list's content, which stay in it.
func splitStrings(list []byte, least, most int) ([][]byte, error) {
	return splitList(list, least, most, rlp.SplitString)
}

// splitItem returns the first item of a list's content, as it is encoded, and what comes after it.
func splitItem(list []byte) (item, rest []byte, err error) {
	_, _, rest, err = rlp.Split(list)
	return list[:len(list)-len(rest)], rest, err
}

// splitItems returns the items of a list's content as they are encoded, which stay in it.
func splitItems(list []byte, least, most int) ([][]byte, error) {
	return splitList(list, least, most, splitItem)
}

// splitList splits a list's content, one item after the other.
func splitList(list []byte, least, most int, first func([]byte) (item, rest []byte, err error)) ([][]byte, error) {
	n, err := count(list, least, most)
	if err != nil {
		return nil, err
	}
	items := make([][]byte, n)
	for i := range items {
		if items[i], list, err = first(list); err != nil {
			return nil, fmt.Errorf("%w: item %d: %w", errDecode, i, err)
		}
	}
	return items, nil
}

// hash32 is an id of an event or the hash of a transaction.
type hash32 interface{ inter.EventID | common.Hash }

// splitHashes returns the hashes of a list's content.
func splitHashes[H hash32](list []byte, least, most int) ([]H, error) {
	items, err := splitStrings(list, least, most)
	if err != nil {
		return nil, err
	}
	hashes := make([]H, len(items))
	for i, item := range items {
		if len(item) != len(hashes[i]) {
			return nil, fmt.Errorf("%w: item %d: %d bytes are no hash", errDecode, i, len(item))
		}
		hashes[i] = H(item)
	}
	return hashes, nil
}

// decodeHashes decodes a message of hashes: an announcement, or a request.
func decodeHashes[H hash32](raw []byte) ([]H, error) {
	list, err := whole(raw)
	if err != nil {
		return nil, err
	}
	return splitHashes[H](list, 1, hardItems)
}

// decodeEvents decodes a message of events as far as each is one string.
func decodeEvents(raw []byte) ([][]byte, error) {
	list, err := whole(raw)
	if err != nil {
		return nil, err
	}
	return splitStrings(list, 1, hardItems)
}

// decodeTxs decodes a message of transactions.
func decodeTxs(raw []byte) (types.Transactions, error) {
	list, err := whole(raw)
	if err != nil {
		return nil, err
	}
	if _, err := count(list, 1, hardItems); err != nil {
		return nil, err
	}
	var txs types.Transactions
	if err := decode(raw, &txs); err != nil {
		return nil, err
	}
	for _, tx := range txs {
		if !inter.Supported(tx) {
			return nil, fmt.Errorf("%w: %w", errDecode, inter.ErrUnknownTxType)
		}
	}
	return txs, nil
}

// splitChunk decodes what any part of a stream begins with, and returns the rest.
func splitChunk(raw []byte) (session uint32, done bool, rest []byte, err error) {
	list, err := whole(raw)
	if err != nil {
		return 0, false, nil, err
	}
	number, list, err := rlp.SplitUint64(list)
	if err == nil && number > math.MaxUint32 {
		err = errors.New("a session above 32 bits")
	}
	var is uint64
	if err == nil {
		is, list, err = rlp.SplitUint64(list)
	}
	if err == nil && is > 1 {
		err = errors.New("neither done nor not")
	}
	if err != nil {
		return 0, false, nil, fmt.Errorf("%w: %w", errDecode, err)
	}
	return uint32(number), is == 1, list, nil
}

// decodeEventsChunk decodes a part of a stream of events. What it returns stays in raw.
func decodeEventsChunk(raw []byte) (*eventsChunk, error) {
	session, done, list, err := splitChunk(raw)
	if err != nil {
		return nil, err
	}
	c := &eventsChunk{Session: session, Done: done}
	if err := c.items(list); err != nil {
		return nil, err
	}
	return c, nil
}

// decodeRecordsChunk decodes a part of a stream of votes or records. What it returns stays in
// raw.
func decodeRecordsChunk(raw []byte) (session uint32, done bool, items [][]byte, err error) {
	session, done, rest, err := splitChunk(raw)
	if err != nil {
		return 0, false, nil, err
	}
	list, err := whole(rest)
	if err == nil {
		items, err = splitItems(list, 0, hardItems-1)
	}
	return session, done, items, err
}

// items decodes both lists of a part of a stream, one of which must be empty.
func (c *eventsChunk) items(list []byte) error {
	ids, rest, err := rlp.SplitList(list)
	var events []byte
	if err == nil {
		events, rest, err = rlp.SplitList(rest)
	}
	if err == nil && len(rest) > 0 {
		err = rlp.ErrMoreThanOneValue
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDecode, err)
	}
	if c.IDs, err = splitHashes[inter.EventID](ids, 0, hardItems-1); err != nil {
		return err
	}
	if c.Events, err = splitStrings(events, 0, hardItems-1); err != nil {
		return err
	}
	if len(c.IDs) > 0 && len(c.Events) > 0 {
		return errors.New("expected either events or event hashes")
	}
	return nil
}
