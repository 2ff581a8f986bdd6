package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/log"

	"tarn/opera/inter"
	"tarn/opera/state"
)

// older finds the requests at an address for what is older than the chain, which began with a snapshot, and has
// another node answer them. Of a chain that asks nobody it finds none.
type older struct {
	s      *Service
	spaces map[string]bool // that are served at the address
	asking chan struct{}   // has an element for each request that another node is asked
}

// olderAtOnce is how many requests another node is asked at one time; what comes meanwhile is answered by the chain
// itself.
const olderAtOnce = 32

func (s *Service) older(names []string) *older {
	o := &older{s: s, spaces: map[string]bool{}, asking: make(chan struct{}, olderAtOnce)}
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
	from func(v *view, param []byte) (inter.BlockNumber, bool, error) // whose block is meant; false if there is none
	at   int                                                          // the parameter that names it
	// What must be there: the block, the state after it, or the state before it, from which it is executed again.
	block, state, before bool
	named                bool // by a hash: the block may also be newer than the chain
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
	"getHeaderByHash":                        {from: byRef, block: true, named: true},
	"getBlockByHash":                         {from: byRef, block: true, named: true},
	"getUncleCountByBlockHash":               {from: byRef, block: true, named: true},
	"getBlockTransactionCountByHash":         {from: byRef, block: true, named: true},
	"getTransactionByBlockHashAndIndex":      {from: byRef, block: true, named: true},
	"getRawTransactionByBlockHashAndIndex":   {from: byRef, block: true, named: true},
	"getTransactionByHash":                   {from: byTx, block: true, named: true},
	"getRawTransactionByHash":                {from: byTx, block: true, named: true},
	"getTransactionReceipt":                  {from: byTx, block: true, named: true},
	"getLogs":                                {from: byRange, block: true},
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
	"debug_traceBlockByHash":                 {from: byRef, block: true, before: true, named: true},
	"debug_traceTransaction":                 {from: byTx, block: true, before: true, named: true},
	"trace_block":                            {from: byRef, block: true, before: true},
	"trace_transaction":                      {from: byTx, block: true, before: true, named: true},
	"trace_get":                              {from: byTx, block: true, before: true, named: true},
	"trace_filter":                           {from: byRange, block: true, before: true},
}

// byRef reads a tag, a number or the id of a block.
func byRef(v *view, param []byte) (inter.BlockNumber, bool, error) {
	var r BlockRef
	if err := r.UnmarshalJSON(param); err != nil {
		return 0, true, err
	}
	return byBlock(v, r)
}

func byBlock(v *view, r BlockRef) (inter.BlockNumber, bool, error) {
	switch {
	case r.Tag != nil:
		return v.number(*r.Tag), true, nil
	case r.Hash != nil:
		return v.numberOf(*r.Hash)
	}
	return 0, true, errSelector
}

// byNumber reads a number in decimal.
func byNumber(_ *view, param []byte) (inter.BlockNumber, bool, error) {
	var n uint64
	err := json.Unmarshal(param, &n)
	return inter.BlockNumber(n), true, err
}

// byTx reads the hash of a transaction.
func byTx(v *view, param []byte) (inter.BlockNumber, bool, error) {
	var hash common.Hash
	if err := json.Unmarshal(param, &hash); err != nil {
		return 0, true, err
	}
	b, _, err := v.find(hash)
	if err != nil || b == nil {
		return 0, false, err
	}
	return b.Number, true, nil
}

// byRange reads where a range of blocks begins.
func byRange(v *view, param []byte) (inter.BlockNumber, bool, error) {
	var c struct {
		BlockHash *common.Hash
		FromBlock *BlockTag
	}
	err := json.Unmarshal(param, &c)
	switch {
	case err != nil:
		return 0, true, err
	case c.BlockHash != nil:
		return byBlock(v, BlockRef{Hash: c.BlockHash})
	case c.FromBlock != nil:
		return max(1, v.number(*c.FromBlock)), true, nil // block 0 has no logs
	}
	return v.Head().Number, true, nil
}

// isOlder tells whether a chain lacks what a request needs, because it is older. What is wrong with the request is for
// who answers it to say.
func (n *needed) isOlder(v *view, params [][]byte) (bool, error) {
	if n.at >= len(params) {
		return false, nil
	}
	number, found, err := n.from(v, params[n.at])
	switch {
	case err != nil:
		return false, nil //nolint:nilerr // see above
	case !found:
		return true, nil
	case number > v.Head().Number:
		return false, nil
	}
	for at := number; n.block && at > 0 && at+1 >= number; at-- { // a block names its parent
		if h, err := v.Header(at); err != nil || h == nil {
			return err == nil, err
		}
	}
	if n.before {
		number = max(1, number) - 1
	}
	if n.state || n.before {
		_, err := v.StateAt(number)
		if errors.Is(err, state.ErrNoState) {
			return true, nil
		}
		return false, err
	}
	return false, nil
}

// asked is a request as another node gets it.
type asked struct {
	Method string
	Params []json.RawMessage
}

// finds tells whether a request is for what is older than the chain.
func (o *older) finds(method string, params [][]byte) bool {
	if o.s.options.Older == nil {
		return false
	}
	n, ok := o.need(method)
	if !ok {
		return false
	}
	is, err := read(o.s, func(v *view) (bool, error) { return n.isOlder(v, params) })
	return is && err == nil
}

// need is what a method needs; false if no other node is asked for it.
func (o *older) need(method string) (n needed, ok bool) {
	space, name, _ := strings.Cut(method, "_")
	if !o.spaces[space] {
		return n, false
	}
	if space != "eth" && space != "ftm" {
		name = method
	}
	n, ok = need[name]
	return n, ok
}

// answer has another node answer a body; false if it is not for what is older, or nobody has it.
func (o *older) answer(ctx context.Context, body []byte) (answer []byte, ok bool) {
	if o.s.options.Older == nil || len(body) > lightBytes {
		return nil, false
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return o.answerBatch(ctx, body)
	}
	var a asked
	if json.Unmarshal(body, &a) != nil {
		return nil, false
	}
	n, known := o.need(a.Method)
	switch {
	case o.isProof(a.Method):
		return o.ask(ctx, o.atHead(body, a.Params), false)
	case known && o.finds(a.Method, raws(a.Params)):
		return o.ask(ctx, body, n.named)
	}
	return nil, false
}

// answerBatch has another node answer a batch in which something is for what is older, if all of it may be asked of
// any node.
func (o *older) answerBatch(ctx context.Context, body []byte) (answer []byte, ok bool) {
	var list []asked
	if json.Unmarshal(body, &list) != nil {
		return nil, false
	}
	for _, a := range list {
		_, known := o.need(a.Method)
		if !known && !o.isProof(a.Method) {
			return nil, false
		}
		ok = ok || !known || o.finds(a.Method, raws(a.Params))
	}
	if !ok {
		return nil, false
	}
	return o.send(ctx, body)
}

func raws(params []json.RawMessage) [][]byte {
	list := make([][]byte, len(params))
	for i := range params {
		list[i] = params[i]
	}
	return list
}

// isProof tells whether a method needs tries, which only a chain has that executes its blocks.
func (o *older) isProof(method string) bool {
	return method == "eth_getProof" && o.spaces["eth"] || method == "ftm_getProof" && o.spaces["ftm"]
}

// atHead names the chain's own last block in a request for a proof that is of the last block: another node's is another
// one.
func (o *older) atHead(body []byte, params []json.RawMessage) []byte {
	var r BlockRef
	if len(params) != 3 || r.UnmarshalJSON(params[2]) != nil || r.Tag == nil || !r.Tag.last() {
		return body
	}
	head, err := read(o.s, func(v *view) (inter.BlockNumber, error) { return v.Head().Number, nil })
	if err != nil {
		return body
	}
	var whole map[string]json.RawMessage
	params[2], _ = json.Marshal(hexutil.Uint64(head)) // it never fails
	list, err := json.Marshal(params)
	if err != nil || json.Unmarshal(body, &whole) != nil {
		return body
	}
	whole["params"] = list
	if text, err := json.Marshal(whole); err == nil {
		return text
	}
	return body
}

// The codes of errors that say nothing about what was asked.
const (
	noMethod  = -32601
	overLimit = -32005
)

// ask has another node answer one request; false if it does not, or what it has is of a block that is not here yet:
// who asks for that block next would not find it.
func (o *older) ask(ctx context.Context, body []byte, named bool) (answer []byte, ok bool) {
	answer, ok = o.send(ctx, body)
	var said struct {
		Result json.RawMessage
		Error  struct{ Code int }
	}
	if !ok || json.Unmarshal(answer, &said) != nil || said.Error.Code == noMethod || said.Error.Code == overLimit {
		return nil, false
	}
	var of struct{ BlockNumber *hexutil.Uint64 }
	if !named || json.Unmarshal(said.Result, &of) != nil || of.BlockNumber == nil {
		return answer, true
	}
	head, err := read(o.s, func(v *view) (inter.BlockNumber, error) { return v.Head().Number, nil })
	return answer, err == nil && inter.BlockNumber(*of.BlockNumber) <= head
}

// send has another node answer a body, no longer than a request may take.
func (o *older) send(ctx context.Context, body []byte) (answer []byte, ok bool) {
	select {
	case o.asking <- struct{}{}:
		defer func() { <-o.asking }()
	default:
		return nil, false
	}
	ctx, done := context.WithTimeout(ctx, o.s.limits.RequestTime)
	defer done()
	answer, err := o.s.options.Older(ctx, body)
	if err != nil {
		log.Debug("No other node answers for what is older", "err", err)
	}
	return answer, err == nil
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

// mostOlder is how many bytes an answer for another chain may have: as many are held as are asked for at once.
const mostOlder = 4 << 20

// Answer answers a body as an address would that serves eth, ftm, debug and trace; false if the answer has more than
// 4 MiB.
func (e *Elder) Answer(ctx context.Context, body []byte) (answer []byte, ok bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(body))
	if err != nil {
		return nil, false
	}
	r.Header.Set("Content-Type", "application/json")
	to := &kept{header: http.Header{}}
	e.handler.http.ServeHTTP(to, r)
	return bytes.TrimSpace(to.body.Bytes()), !to.full
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
