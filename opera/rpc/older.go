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
	"slices"
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
	// What must be there: the block, its parent, whose id it tells, the state after it, or the state before it, from which it
	// is executed again.
	block, parent, state, before bool
}

// reading finds which block a parameter means.
type reading func(v *view, param []byte) (m meant, err error)

// needOf is what a method needs; false if no other node is asked for it.
func needOf(method string) (n needed, ok bool) {
	space, name, _ := strings.Cut(method, "_")
	if space != "eth" && space != "ftm" {
		n, ok = need[method]
	} else if !strings.Contains(name, "_") {
		n, ok = need[name]
	}
	return n, ok
}

// isAsked tells whether another node is asked for a method.
func isAsked(method string) bool {
	_, ok := needOf(method)
	return ok || method == "eth_getProof" || method == "ftm_getProof"
}

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
	"getHeaderByNumber":                      {from: byRef, block: true, parent: true},
	"getBlockByNumber":                       {from: byRef, block: true, parent: true},
	"getUncleCountByBlockNumber":             {from: byRef, block: true},
	"getBlockTransactionCountByNumber":       {from: byRef, block: true},
	"getTransactionByBlockNumberAndIndex":    {from: byRef, block: true},
	"getRawTransactionByBlockNumberAndIndex": {from: byRef, block: true},
	"getBlockReceipts":                       {from: byRef, block: true},
	"getHeaderByHash":                        {from: byID, block: true, parent: true},
	"getBlockByHash":                         {from: byID, block: true, parent: true},
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
	"debug_getBlockRlp":                      {from: byNumber, block: true, parent: true},
	"debug_seedHash":                         {from: byNumber, block: true},
	"debug_printBlock":                       {from: byNumber, block: true, parent: true},
	"debug_traceCall":                        {from: byRef, at: 1, state: true},
	"debug_traceBlockByNumber":               {from: byRef, block: true, before: true},
	"debug_traceBlockByHash":                 {from: byID, block: true, before: true},
	"debug_traceTransaction":                 {from: byTx, block: true, before: true},
	"trace_block":                            {from: byRef, block: true, before: true},
	"trace_transaction":                      {from: byTx, block: true, before: true},
	"trace_get":                              {from: byTx, block: true, before: true},
	"trace_filter":                           {from: byTraces, block: true, before: true},
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
	return byRange(v, param, true)
}

// byTraces reads which blocks' traces are meant.
func byTraces(v *view, param []byte) (m meant, err error) { return byRange(v, param, false) }

// byRange reads where a range of blocks begins. It ends at the chain's last block, at the latest; one that is too wide is
// left as it is where that is told.
func byRange(v *view, param []byte, told bool) (m meant, err error) {
	var c struct{ FromBlock, ToBlock *BlockTag }
	var whole map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(param, &c), json.Unmarshal(param, &whole)); err != nil || whole == nil {
		return m, errors.Join(err, errSelector)
	}
	head := v.Head().Number
	from, to := head, head
	if c.FromBlock != nil {
		from = v.number(*c.FromBlock)
	}
	if c.ToBlock != nil {
		to = v.number(*c.ToBlock)
	}
	m.number = max(1, from) // block 0 has nothing
	if wide := to >= from && to-from > v.service.limits.UnindexedBlocks; to < head || to > head && wide && told && plainRange(whole) {
		return m, nil
	}
	for name := range whole { // whichever of several counts
		if strings.EqualFold(name, "fromBlock") || strings.EqualFold(name, "toBlock") {
			delete(whole, name)
		}
	}
	whole["fromBlock"], whole["toBlock"] = numberText(from), numberText(head)
	m.fixed, err = json.Marshal(whole)
	return m, err
}

// plainRange tells whether criteria name nothing but blocks.
func plainRange(whole map[string]json.RawMessage) bool {
	for name := range whole {
		if !strings.EqualFold(name, "fromBlock") && !strings.EqualFold(name, "toBlock") {
			return false
		}
	}
	return true
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
	case m.number > v.Head().Number || m.number == 0:
		return nothing, m, nil
	}
	least := m.number
	if n.parent && m.number < v.Head().Number {
		least = max(1, m.number-1)
	}
	for at := m.number; n.block && at >= least; at-- {
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
		return o.lacksProof(r)
	}
	n, ok := needOf(r.Method)
	if space, _, _ := strings.Cut(r.Method, "_"); !ok || !o.spaces[space] {
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

// lacksProof tells what the chain lacks for a proof, which is of its own last block, at the latest.
func (o *older) lacksProof(r *asked) (of lack, m meant, err error) {
	const at = 2
	if len(r.Params) <= at {
		return nothing, m, nil
	}
	of = aBlock
	m, err = read(o.s, func(v *view) (meant, error) {
		m, err := byRef(v, r.Params[at])
		switch {
		case err != nil || m.number > v.Head().Number:
			of = nothing // for who answers to say
		case m.hash != nil:
			of = aHash
		}
		return m, nil
	})
	if m.fixed != nil {
		r.Params[at] = m.fixed
	}
	return of, m, err
}

// isJSON tells whether a body is of a type that go-ethereum's server takes: pages of other sites cannot send these unasked.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (kind == "application/json" || kind == "application/json-rpc" || kind == "application/jsonrequest")
}

// answer has another node answer a body; false if the chain lacks nothing for it. each answers one request of a batch.
func (o *older) answer(r *http.Request, client serve.Client, body []byte, each http.Handler) (answer []byte, ok bool) {
	if o.s.options.Older == nil || !isJSON(r) {
		return nil, false
	}
	if len(body) > lightBytes { // to read it is work
		end, err := o.s.turn(r.Context(), client)
		if err != nil {
			return refusal(body, err), true
		}
		lacks := o.lacksForOne(body) || o.lacksForSome(body)
		end()
		if !lacks {
			return nil, false
		}
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return o.answerBatch(r, client, body, each)
	}
	ctx, done := context.WithTimeout(r.Context(), o.s.limits.RequestTime)
	defer done()
	return o.answerOne(ctx, client, body)
}

// lacksForOne tells whether the chain lacks something for a body with one request.
func (o *older) lacksForOne(body []byte) bool {
	var r asked
	if json.Unmarshal(body, &r) != nil {
		return false
	}
	of, _, err := o.lacks(&r)
	return of != nothing && err == nil
}

// lacksForSome is the same of a batch.
func (o *older) lacksForSome(body []byte) bool {
	var list []json.RawMessage
	return json.Unmarshal(body, &list) == nil && len(list) <= o.s.limits.Batch && slices.ContainsFunc(list,
		func(one json.RawMessage) bool { return o.lacksForOne(one) })
}

func (o *older) answerOne(ctx context.Context, client serve.Client, body []byte) (answer []byte, ok bool) {
	var r asked
	if json.Unmarshal(body, &r) != nil || len(r.ID) == 0 || r.Version != "" && r.Version != "2.0" {
		return nil, false // it has no answer, or is refused
	}
	of, m, err := o.lacks(&r)
	if err != nil || of == nothing {
		return nil, false
	}
	if of == aHash {
		found, err := o.elsewhere(ctx, client, m)
		if err == nil && !found {
			return nil, false
		}
		if err != nil {
			return errorAnswer(&r, err), true
		}
	}
	if answer, err = o.ask(ctx, client, &r); err != nil {
		return errorAnswer(&r, err), true
	}
	return answer, true
}

// errorAnswer is the answer where what is older is not to be had now: another one would be wrong.
func errorAnswer(r *asked, err error) []byte {
	text := append(append([]byte(`{"jsonrpc":"2.0","id":`), r.ID...), `,"error":`...)
	return append(appendError(text, &busy{fmt.Errorf("what is older than this node has is not to be had now: %w", err)}), '}')
}

// elsewhere tells whether another node has the block or the transaction of a hash, in a block that is here or older:
// who hears of a newer one would not find its block here. Where no other node is, nobody has it.
func (o *older) elsewhere(ctx context.Context, client serve.Client, m meant) (bool, error) {
	r := asked{ID: json.RawMessage("1"), Method: "eth_getHeaderByHash"}
	if m.tx {
		r.Method = "eth_getTransactionByHash"
	}
	hash, err := json.Marshal(m.hash)
	if err != nil {
		return false, err
	}
	r.Params = []json.RawMessage{hash}
	answer, err := o.ask(ctx, client, &r)
	if errors.Is(err, errNobody) {
		return false, nil
	}
	var said struct {
		Result struct{ Number, BlockNumber *hexutil.Uint64 }
	}
	if err == nil {
		err = json.Unmarshal(answer, &said)
	}
	number := said.Result.Number
	if m.tx {
		number = said.Result.BlockNumber
	}
	if err != nil || number == nil {
		return false, err
	}
	head, err := read(o.s, func(v *view) (inter.BlockNumber, error) { return v.Head().Number, nil })
	return inter.BlockNumber(*number) <= head, err
}

// answerBatch answers the requests of a batch one by one if the chain lacks something for one of them. What they get
// counts while it is put together.
func (o *older) answerBatch(
	r *http.Request, client serve.Client, body []byte, each http.Handler,
) (answer []byte, ok bool) {
	if !o.lacksForSome(body) {
		return nil, false
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) != nil {
		return nil, false
	}
	ctx, done := context.WithTimeout(r.Context(), o.s.limits.RequestTime)
	defer done()
	held := int64(0)
	defer func() { o.s.memory.Give(client, held) }()
	for _, one := range list {
		text, err := o.oneOfBatch(ctx, r, one, each, o.s.limits.Answer-len(answer))
		if n := int64(len(text)); err == nil && n > 0 {
			if err = o.s.memory.Take(client, n); err == nil {
				held += n
			}
		}
		if err != nil {
			text = refusal(one, &busy{err})
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

// oneOfBatch has a handler answer a request of a batch, with so many bytes at most.
func (o *older) oneOfBatch(
	ctx context.Context, r *http.Request, one []byte, each http.Handler, most int,
) (answer []byte, err error) {
	if ctx.Err() != nil {
		return nil, errBatchTime
	}
	if one[0] != '{' {
		return []byte(notRequest), nil
	}
	r = r.Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(one)), int64(len(one))
	to := &kept{header: http.Header{}, most: most}
	each.ServeHTTP(to, r)
	if to.full {
		return nil, errAnswerSize
	}
	return bytes.TrimSpace(to.body.Bytes()), nil
}

// The codes of errors that say nothing about what was asked.
const (
	noMethod  = -32601
	overLimit = -32005
)

// notRequest is what go-ethereum's server says of what is no request in a batch.
const notRequest = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`

var (
	// errNobody says that there is no other node.
	errNobody     = errors.New("no other node answers")
	errBatchTime  = errors.New("the time of a batch is over")
	errAnswerSize = errors.New("the answer is too long")
)

// ask has another node answer a request, when there is a place. The error wraps errNobody if there is none, and says else
// why it does not.
func (o *older) ask(ctx context.Context, client serve.Client, r *asked) (answer []byte, err error) {
	if err := o.s.olderPlaces.Wait(ctx, client, 1); err != nil {
		return nil, fmt.Errorf("too many requests for it: %w", err)
	}
	defer o.s.olderPlaces.Give(client, 1)
	r.Version = "2.0"
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if answer, err = o.s.options.Older(ctx, body); err != nil {
		log.Debug("No other node answers for what is older", "method", r.Method, "err", err)
		return nil, errNobody
	}
	var said struct {
		ID    json.RawMessage
		Error struct {
			Code    int
			Message string
		}
	}
	switch {
	case json.Unmarshal(answer, &said) != nil || len(said.ID) == 0:
		return nil, errors.New("what another node says is no answer")
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

// Answer answers a body with one request for strangers, as an address would that serves eth, ftm, debug and trace; false
// if the answer has more than 4 MiB, or the request is none that a chain asks another one.
func (e *Elder) Answer(ctx context.Context, body []byte) (answer []byte, ok bool) {
	var r asked
	if json.Unmarshal(body, &r) != nil || !isAsked(r.Method) {
		return nil, false
	}
	h, err := http.NewRequestWithContext(serve.Asking(ctx, serve.Replicas()), http.MethodPost, "/", bytes.NewReader(body))
	if err != nil {
		return nil, false
	}
	h.Header.Set("Content-Type", "application/json")
	to := &kept{header: http.Header{}, most: mostOlder}
	e.handler.http.ServeHTTP(to, h)
	answer = bytes.TrimSpace(to.body.Bytes())
	return answer, !to.full && len(answer) > 0
}

// kept is an answer of so many bytes at most that is kept.
type kept struct {
	header http.Header
	body   bytes.Buffer
	most   int
	full   bool
}

// Header implements http.ResponseWriter.
func (k *kept) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter: what is refused says so in its body.
func (k *kept) WriteHeader(int) {}

// Write implements io.Writer.
func (k *kept) Write(b []byte) (int, error) {
	if k.full = k.full || k.body.Len()+len(b) > k.most; k.full {
		return 0, errAnswerSize
	}
	return k.body.Write(b)
}
