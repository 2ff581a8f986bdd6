package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/log"

	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/serve"
)

// older finds the requests at an address for what is older than the chain, which began with a snapshot, and has
// another node answer them. Of a chain that asks nobody it finds none.
type older struct {
	s      *Service
	spaces map[string]bool // that are served at the address
}

func (s *Service) older(names []string) *older {
	o := &older{s: s, spaces: map[string]bool{}}
	if len(names) == 0 {
		names = []string{"eth", "ftm", "debug", "trace"}
	}
	for _, name := range names {
		o.spaces[strings.TrimSpace(name)] = true
	}
	return o
}

// needed is what a request needs of a chain.
type needed struct {
	from reading
	at   int // the parameter that names the block
	// What must be there: the block, the state after it, or the state before it, from which it is executed again.
	block, state, before bool
}

// reading finds which block a parameter means.
type reading func(v *view, param []byte) (m meant, err error)

// meant is a block that a parameter means.
type meant struct {
	number inter.BlockNumber
	// hash is that of a block, or of a transaction in it, if the chain has none such; nil else.
	hash *common.Hash
	tx   bool
	// fixed is the parameter with the chain's own last block in place of its name; nil if it is not named.
	fixed []byte
}

// need is what is needed by methods, by their names without namespaces but for those of traces.
var need = map[string]needed{
	"getHeaderByNumber":                      {from: byRef, block: true},
	"getBlockByNumber":                       {from: byRef, block: true},
	"getUncleCountByBlockNumber":             {from: byRef, block: true},
	"getBlockTransactionCountByNumber":       {from: byRef, block: true},
	"getTransactionByBlockNumberAndIndex":    {from: byRef, block: true},
	"getRawTransactionByBlockNumberAndIndex": {from: byRef, block: true},
	"getBlockReceipts":                       {from: byRef, block: true},
	"getHeaderByHash":                        {from: byID, block: true},
	"getBlockByHash":                         {from: byID, block: true},
	"getUncleCountByBlockHash":               {from: byID, block: true},
	"getBlockTransactionCountByHash":         {from: byID, block: true},
	"getTransactionByBlockHashAndIndex":      {from: byID, block: true},
	"getRawTransactionByBlockHashAndIndex":   {from: byID, block: true},
	"getTransactionByHash":                   {from: byTx, block: true},
	"getRawTransactionByHash":                {from: byTx, block: true},
	"getTransactionReceipt":                  {from: byTx, block: true},
	"getLogs":                                {from: byLogs, block: true},
	"getBalance":                             {from: byRef, at: 1, state: true},
	"getCode":                                {from: byRef, at: 1, state: true},
	"getTransactionCount":                    {from: byRef, at: 1, state: true},
	"getStorageAt":                           {from: byRef, at: 2, state: true},
	"call":                                   {from: byRef, at: 1, state: true},
	"estimateGas":                            {from: byRef, at: 1, state: true},
	"createAccessList":                       {from: byRef, at: 1, state: true},
	"debug_getBlockRlp":                      {from: byNumber, block: true},
	"debug_seedHash":                         {from: byNumber, block: true},
	"debug_printBlock":                       {from: byNumber, block: true},
	"debug_traceCall":                        {from: byRef, at: 1, state: true},
	"debug_traceBlockByNumber":               {from: byRef, block: true, before: true},
	"debug_traceBlockByHash":                 {from: byID, block: true, before: true},
	"debug_traceTransaction":                 {from: byTx, block: true, before: true},
	"trace_block":                            {from: byRef, block: true, before: true},
	"trace_transaction":                      {from: byTx, block: true, before: true},
	"trace_get":                              {from: byTx, block: true, before: true},
	"trace_filter":                           {from: byRange, block: true, before: true},
}

// byRef reads a tag, a number or the id of a block.
func byRef(v *view, param []byte) (m meant, err error) {
	var r BlockRef
	if err := r.UnmarshalJSON(param); err != nil {
		return m, err
	}
	switch {
	case r.Tag != nil:
		m.number = v.number(*r.Tag)
		if r.Tag.last() {
			m.fixed = numberText(m.number)
		}
		return m, nil
	case r.Hash != nil:
		return byHashOf(v, *r.Hash)
	}
	return m, errSelector
}

// byID reads the id of a block.
func byID(v *view, param []byte) (m meant, err error) {
	var hash common.Hash
	if err := json.Unmarshal(param, &hash); err != nil {
		return m, err
	}
	return byHashOf(v, hash)
}

func byHashOf(v *view, hash common.Hash) (m meant, err error) {
	number, found, err := v.numberOf(hash)
	if m.number = number; err == nil && !found {
		m.hash = &hash
	}
	return m, err
}

// numberText is a block's number as a parameter.
func numberText(n inter.BlockNumber) []byte { return fmt.Appendf(nil, `"0x%x"`, uint64(n)) }

// byNumber reads a number in decimal.
func byNumber(_ *view, param []byte) (m meant, err error) {
	var n uint64
	err = json.Unmarshal(param, &n)
	m.number = inter.BlockNumber(n)
	return m, err
}

// byTx reads the hash of a transaction.
func byTx(v *view, param []byte) (m meant, err error) {
	var hash common.Hash
	if err := json.Unmarshal(param, &hash); err != nil {
		return m, err
	}
	b, _, err := v.find(hash)
	switch {
	case err != nil:
	case b == nil:
		m.hash, m.tx = &hash, true
	default:
		m.number = b.Number
	}
	return m, err
}

// byLogs reads which blocks' logs are meant.
func byLogs(v *view, param []byte) (m meant, err error) {
	var c struct{ BlockHash *common.Hash }
	if err := json.Unmarshal(param, &c); err != nil {
		return m, err
	}
	if c.BlockHash != nil {
		return byHashOf(v, *c.BlockHash)
	}
	return byRange(v, param)
}

// byRange reads where a range of blocks begins. It ends at the chain's last block, at the latest.
func byRange(v *view, param []byte) (m meant, err error) {
	var c struct{ FromBlock, ToBlock *BlockTag }
	var whole map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(param, &c), json.Unmarshal(param, &whole)); err != nil {
		return m, err
	}
	head := v.Head().Number
	m.number = head
	if c.FromBlock != nil {
		m.number = max(1, v.number(*c.FromBlock)) // block 0 has no logs
	}
	// A range that is too wide is told so.
	if c.ToBlock == nil || v.number(*c.ToBlock) == head || v.number(*c.ToBlock) > head &&
		v.number(*c.ToBlock)-m.number <= v.service.limits.UnindexedBlocks {
		for name := range whole {
			if strings.EqualFold(name, "toBlock") {
				delete(whole, name)
			}
		}
		whole["toBlock"] = numberText(head)
		m.fixed, err = json.Marshal(whole)
	}
	return m, err
}

// lack is what a chain lacks for a request.
type lack int

const (
	nothing lack = iota
	aBlock       // one that is older, or a state
	aHash        // it does not know a block or a transaction, which may be older, newer, or nobody's
)

// lacks tells what a chain lacks for a request, and which block is meant. What is wrong with a request is for who
// answers it to say.
func (n *needed) lacks(v *view, params []json.RawMessage) (of lack, m meant, err error) {
	if n.at >= len(params) {
		return nothing, m, nil
	}
	m, err = n.from(v, params[n.at])
	switch {
	case err != nil:
		return nothing, m, nil //nolint:nilerr // see above
	case m.hash != nil:
		return aHash, m, nil
	case m.number > v.Head().Number:
		return nothing, m, nil
	}
	for at := m.number; n.block && at > 0 && at+1 >= m.number; at-- { // a block names its parent
		if m.number == v.Head().Number {
			break // it is here
		}
		if found, err := v.Keeps(at); err != nil || !found {
			return aBlock, m, err
		}
	}
	at := m.number
	if n.before {
		at = max(1, at) - 1
	}
	if n.state || n.before {
		if _, err := v.StateAt(at); errors.Is(err, state.ErrNoState) {
			return aBlock, m, nil
		} else if err != nil {
			return nothing, m, err
		}
	}
	return nothing, m, nil
}

// asked is a request of a client, and as another node gets it.
type asked struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

// finds tells whether a chain lacks something for a request.
func (o *older) finds(method string, params [][]byte) bool {
	if o.s.options.Older == nil {
		return false
	}
	r := asked{Method: method}
	for _, p := range params {
		r.Params = append(r.Params, p)
	}
	of, _, err := o.lacks(&r)
	return of != nothing && err == nil
}

// lacks tells what the chain lacks for a request.
func (o *older) lacks(r *asked) (of lack, m meant, err error) {
	if o.isProof(r.Method) {
		return aBlock, m, nil
	}
	space, name, _ := strings.Cut(r.Method, "_")
	if space != "eth" && space != "ftm" {
		name = r.Method
	}
	n, ok := need[name]
	if !ok || !o.spaces[space] {
		return nothing, m, nil
	}
	m, err = read(o.s, func(v *view) (m meant, err error) {
		of, m, err = n.lacks(v, r.Params)
		return m, err
	})
	if of == aBlock && m.fixed != nil {
		r.Params[n.at] = m.fixed
	}
	return of, m, err
}

// isProof tells whether a method needs tries, which only a chain has that executes its blocks.
func (o *older) isProof(method string) bool {
	return method == "eth_getProof" && o.spaces["eth"] || method == "ftm_getProof" && o.spaces["ftm"]
}

// pinProof names the chain's own last block in a request for a proof that is of the last block.
func (o *older) pinProof(r *asked) {
	const at = 2
	if len(r.Params) <= at {
		return
	}
	m, err := read(o.s, func(v *view) (meant, error) { return byRef(v, r.Params[at]) })
	if err == nil && m.fixed != nil {
		r.Params[at] = m.fixed
	}
}

// plainJSON tells whether a body is of the type that pages of other sites cannot send unasked.
func plainJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// answer has another node answer a body; false if the chain lacks nothing for it. each answers one request of a batch.
func (o *older) answer(r *http.Request, body []byte, each http.Handler) (answer []byte, ok bool) {
	if o.s.options.Older == nil || len(body) > lightBytes || !plainJSON(r) {
		return nil, false
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return o.answerBatch(r, body, each)
	}
	return o.answerOne(r.Context(), body)
}

func (o *older) answerOne(ctx context.Context, body []byte) (answer []byte, ok bool) {
	var r asked
	if json.Unmarshal(body, &r) != nil || len(r.ID) == 0 { // a notification has no answer
		return nil, false
	}
	of, m, err := o.lacks(&r)
	if err != nil || of == nothing || of == aHash && !o.elsewhere(ctx, m) {
		return nil, false
	}
	if o.isProof(r.Method) {
		o.pinProof(&r)
	}
	answer, err = o.ask(ctx, &r)
	if err == nil {
		return answer, true
	}
	log.Debug("No other node answers for what is older", "method", r.Method, "err", err)
	text := append(append([]byte(`{"jsonrpc":"2.0","id":`), r.ID...), `,"error":`...)
	return append(appendError(text, errNobody), '}'), true
}

// errNobody says that what is older is not to be had now. An answer without it would be a wrong one.
var errNobody = &busy{errors.New("this is older than what this node has, and no other node answers for it now")}

// elsewhere tells whether another node has the block or the transaction of a hash, in a block that is here or older:
// who hears of a newer one would not find its block here.
func (o *older) elsewhere(ctx context.Context, m meant) bool {
	r := asked{ID: json.RawMessage("1"), Method: "eth_getHeaderByHash"}
	if m.tx {
		r.Method = "eth_getTransactionByHash"
	}
	hash, err := json.Marshal(m.hash)
	if err != nil {
		return false
	}
	r.Params = []json.RawMessage{hash}
	answer, err := o.ask(ctx, &r)
	var said struct {
		Result struct{ Number, BlockNumber *hexutil.Uint64 }
	}
	if err != nil || json.Unmarshal(answer, &said) != nil {
		return false
	}
	number := said.Result.Number
	if m.tx {
		number = said.Result.BlockNumber
	}
	head, err := read(o.s, func(v *view) (inter.BlockNumber, error) { return v.Head().Number, nil })
	return err == nil && number != nil && inter.BlockNumber(*number) <= head
}

// answerBatch answers the requests of a batch one by one if the chain lacks something for one of them.
func (o *older) answerBatch(r *http.Request, body []byte, each http.Handler) (answer []byte, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) != nil || len(list) > o.s.limits.Batch {
		return nil, false
	}
	for _, one := range list {
		var q asked
		if one[0] != '{' || json.Unmarshal(one, &q) != nil {
			return nil, false // what is no request the server refuses
		}
		if !ok {
			of, _, err := o.lacks(&q)
			ok = of != nothing && err == nil
		}
	}
	if !ok {
		return nil, false
	}
	ctx, done := context.WithTimeout(r.Context(), o.s.limits.RequestTime)
	defer done()
	for _, one := range list {
		text, ok := answerOf(ctx, r, one, each)
		if len(answer)+len(text) > mostOlder || !ok {
			text = refusal(one, &busy{errAnswerSize})
		}
		if len(text) > 0 {
			answer = append(append(answer, ','), text...)
		}
	}
	if len(answer) == 0 {
		return nil, true
	}
	answer[0] = '['
	return append(answer, ']'), true
}

// answerOf has a handler answer a body as if it had come with a request; false if the answer is too long.
func answerOf(ctx context.Context, r *http.Request, body []byte, of http.Handler) (answer []byte, ok bool) {
	r = r.Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	to := &kept{header: http.Header{}}
	of.ServeHTTP(to, r)
	return bytes.TrimSpace(to.body.Bytes()), !to.full
}

// The codes of errors that say nothing about what was asked.
const (
	noMethod  = -32601
	overLimit = -32005
)

// ask has another node answer a request, no longer than one may take. An error says that it does not.
func (o *older) ask(ctx context.Context, r *asked) (answer []byte, err error) {
	client := o.s.client(ctx)
	if err := o.s.olderPlaces.Take(client, 1); err != nil {
		return nil, err
	}
	defer o.s.olderPlaces.Give(client, 1)
	ctx, done := context.WithTimeout(ctx, o.s.limits.RequestTime)
	defer done()
	r.Version = "2.0"
	body, err := json.Marshal(r)
	if err == nil {
		answer, err = o.s.options.Older(ctx, body)
	}
	var said struct {
		ID    json.RawMessage
		Error struct {
			Code    int
			Message string
		}
	}
	switch {
	case err != nil:
		return nil, err
	case json.Unmarshal(answer, &said) != nil || len(said.ID) == 0:
		return nil, errors.New("what comes is no answer")
	case said.Error.Code == noMethod || said.Error.Code == overLimit:
		return nil, errors.New(said.Error.Message)
	}
	return answer, nil
}

// Elder answers for chains that began later. Any goroutine may call its methods.
type Elder struct{ handler *Handler }

// Elder returns what answers the requests that other chains' [Options.Older] sends. Who calls it closes it.
func (s *Service) Elder() (*Elder, error) {
	h, err := s.Handler(&HTTPOptions{APIs: []string{"eth", "ftm", "debug", "trace"}}, nil)
	return &Elder{h}, err
}

// Close ends what is being answered.
func (e *Elder) Close() { e.handler.Close() }

// Answer answers a body for strangers, as an address would that serves eth, ftm, debug and trace; false if the answer
// has more than 4 MiB, or there is none.
func (e *Elder) Answer(ctx context.Context, body []byte) (answer []byte, ok bool) {
	r, err := http.NewRequestWithContext(serve.Asking(ctx, serve.Replicas()), http.MethodPost, "/", bytes.NewReader(body))
	if err != nil {
		return nil, false
	}
	r.Header.Set("Content-Type", "application/json")
	to := &kept{header: http.Header{}}
	e.handler.http.ServeHTTP(to, r)
	answer = bytes.TrimSpace(to.body.Bytes())
	return answer, !to.full && len(answer) > 0
}

// kept is an answer that is kept, unless it is too long.
type kept struct {
	header http.Header
	body   bytes.Buffer
	full   bool
}

// Header implements http.ResponseWriter.
func (k *kept) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter: what is refused says so in its body.
func (k *kept) WriteHeader(int) {}

// Write implements io.Writer.
func (k *kept) Write(b []byte) (int, error) {
	if k.full = k.full || k.body.Len()+len(b) > mostOlder; k.full {
		return 0, errAnswerSize
	}
	return k.body.Write(b)
}

var errAnswerSize = errors.New("the answer is too long for another node")
