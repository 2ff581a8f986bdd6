package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// Waiting are the transactions that wait at a node.
type Waiting interface {
	Add(tx *types.Transaction) error
	Get(hash common.Hash) *types.Transaction
	Nonce(sender common.Address) uint64
	Pending() map[common.Address]types.Transactions
	Content() (pending, queued map[common.Address]types.Transactions)
	ContentFrom(sender common.Address) (pending, queued types.Transactions)
	Stats() (pending, queued int)
}

// The questions of replicas to nodes, as paths.
const (
	askAdd     = "/pool/add"     // bytes of a transaction; the answer of an error is its text
	askGet     = "/pool/get"     // a hash; bytes of a transaction, or none
	askNonce   = "/pool/nonce"   // an address; a JSON number
	askPending = "/pool/pending" // nothing; JSON of content
	askContent = "/pool/content" // nothing, or an address; JSON of content
	askStats   = "/pool/stats"   // nothing; JSON of stats
)

type content struct {
	Pending map[common.Address][]hexutil.Bytes `json:"pending"`
	Queued  map[common.Address][]hexutil.Bytes `json:"queued"`
}

type stats struct{ Pending, Queued int }

// Answering answers for a node what replicas ask about transactions that wait. Any goroutine may use it.
type Answering struct {
	of       Waiting
	contents chan struct{} // whose answers are being made
}

// NewAnswering makes one for a node's pool.
func NewAnswering(of Waiting) *Answering {
	return &Answering{of: of, contents: make(chan struct{}, contentsAtOnce)}
}

// contentsAtOnce is how many replicas are told all that waits at the same time: each answer takes several times
// mostContent while it is made.
const contentsAtOnce = 4

// Answer answers a question ([stream.Answerer]).
func (a *Answering) Answer(path string, body []byte) (status int, answer []byte) {
	if path == askPending || path == askContent {
		select {
		case a.contents <- struct{}{}:
			defer func() { <-a.contents }()
		default:
			return http.StatusServiceUnavailable, nil
		}
	}
	answer, err := answerWaiting(a.of, path, body)
	switch {
	case errors.Is(err, errQuestion):
		return http.StatusNotFound, []byte(err.Error())
	case err != nil:
		return http.StatusUnprocessableEntity, []byte(err.Error())
	}
	return http.StatusOK, answer
}

var errQuestion = errors.New("the node does not know this question")

func answerWaiting(w Waiting, path string, body []byte) ([]byte, error) {
	switch path {
	case askAdd:
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(body); err != nil {
			return nil, err
		}
		return nil, w.Add(tx)
	case askGet:
		if tx := w.Get(common.BytesToHash(body)); tx != nil {
			return tx.MarshalBinary()
		}
		return nil, nil
	case askNonce:
		return json.Marshal(w.Nonce(common.BytesToAddress(body)))
	case askPending:
		return encodeContent(w.Pending(), nil)
	case askStats:
		var s stats
		s.Pending, s.Queued = w.Stats()
		return json.Marshal(s)
	case askContent:
		if len(body) == 0 {
			return encodeContent(w.Content())
		}
		sender := common.BytesToAddress(body)
		pending, queued := w.ContentFrom(sender)
		return encodeContent(map[common.Address]types.Transactions{sender: pending},
			map[common.Address]types.Transactions{sender: queued})
	}
	return nil, fmt.Errorf("%w: %.100q", errQuestion, path)
}

func encodeContent(pending, queued map[common.Address]types.Transactions) ([]byte, error) {
	var c content
	var err error
	left := mostContent
	if c.Pending, err = encodeTxs(pending, &left); err == nil {
		c.Queued, err = encodeTxs(queued, &left)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

// mostContent is how many bytes of transactions are told at once.
const mostContent = 16 << 20

// encodeTxs takes what it tells off what is left.
func encodeTxs(of map[common.Address]types.Transactions, left *int) (map[common.Address][]hexutil.Bytes, error) {
	all := make(map[common.Address][]hexutil.Bytes, len(of))
	for sender, txs := range of {
		for _, tx := range txs {
			raw, err := tx.MarshalBinary()
			if err != nil {
				return nil, err
			}
			if *left -= len(raw); *left < 0 {
				return nil, fmt.Errorf("more than %d bytes of transactions wait", mostContent)
			}
			all[sender] = append(all[sender], raw)
		}
	}
	return all, nil
}

func decodeTxs(of map[common.Address][]hexutil.Bytes) (map[common.Address]types.Transactions, error) {
	all := make(map[common.Address]types.Transactions, len(of))
	for sender, list := range of {
		for _, raw := range list {
			tx := new(types.Transaction)
			if err := tx.UnmarshalBinary(raw); err != nil {
				return nil, err
			}
			all[sender] = append(all[sender], tx)
		}
	}
	return all, nil
}

// Pool are the transactions that wait at a node, for a replica, which has none. Where no node answers nothing waits,
// and nothing can be added. Any goroutine may call its methods.
type Pool struct {
	ask   func(ctx context.Context, path string, body []byte) (status int, answer []byte, err error)
	nonce func(common.Address) uint64
}

// NewPool makes a replica's pool. ask has a node answer; nonce is a sender's in the replica's own state.
func NewPool(
	ask func(ctx context.Context, path string, body []byte) (status int, answer []byte, err error),
	nonce func(common.Address) uint64,
) *Pool {
	return &Pool{ask, nonce}
}

// askTime is how long a node may take.
const askTime = 10 * time.Second

// question asks a node. An error is the node's own, or says that none answers.
func (p *Pool) question(path string, body []byte) ([]byte, error) {
	ctx, done := context.WithTimeout(context.Background(), askTime)
	defer done()
	status, answer, err := p.ask(ctx, path, body)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusServiceUnavailable:
		return nil, errors.New("the nodes of the fleet are busy")
	case status != http.StatusOK:
		return nil, errors.New(string(answer))
	}
	return answer, nil
}

// Add gives a transaction to a node.
func (p *Pool) Add(tx *types.Transaction) error {
	raw, err := tx.MarshalBinary()
	if err != nil {
		return err
	}
	_, err = p.question(askAdd, raw)
	return err
}

// Get asks for a transaction.
func (p *Pool) Get(hash common.Hash) *types.Transaction {
	raw, err := p.question(askGet, hash[:])
	tx := new(types.Transaction)
	if err != nil || len(raw) == 0 || tx.UnmarshalBinary(raw) != nil {
		return nil
	}
	return tx
}

// Nonce asks for what the next transaction of a sender has.
func (p *Pool) Nonce(sender common.Address) (n uint64) {
	text, err := p.question(askNonce, sender[:])
	if err != nil || json.Unmarshal(text, &n) != nil {
		return p.nonce(sender)
	}
	return n
}

// Pending asks for what can be executed now.
func (p *Pool) Pending() map[common.Address]types.Transactions {
	pending, _ := p.contentOf(askPending, nil)
	return pending
}

// Content asks for all that waits.
func (p *Pool) Content() (pending, queued map[common.Address]types.Transactions) {
	return p.contentOf(askContent, nil)
}

// ContentFrom asks for what waits of a sender.
func (p *Pool) ContentFrom(sender common.Address) (pending, queued types.Transactions) {
	a, b := p.contentOf(askContent, sender[:])
	return a[sender], b[sender]
}

func (p *Pool) contentOf(path string, body []byte) (pending, queued map[common.Address]types.Transactions) {
	text, err := p.question(path, body)
	var c content
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil {
		pending, err = decodeTxs(c.Pending)
	}
	if err == nil {
		queued, err = decodeTxs(c.Queued)
	}
	if err != nil {
		return nil, nil
	}
	return pending, queued
}

// Stats asks how many wait.
func (p *Pool) Stats() (pending, queued int) {
	var s stats
	text, err := p.question(askStats, nil)
	if err != nil || json.Unmarshal(text, &s) != nil {
		return 0, 0
	}
	return s.Pending, s.Queued
}
