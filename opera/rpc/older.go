package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/inter"
	"tarn/opera/state"
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
	// What must be there: the block, its parent, whose id it tells, the state after it, or the state before it, from
	// which it is executed again.
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

// byLogs reads which blocks' logs are meant. A range that is too wide is left as it is: that is told.
func byLogs(v *view, param []byte) (m meant, err error) {
	var c Criteria
	if err := c.UnmarshalJSON(param); err != nil {
		return m, err
	}
	if c.BlockHash != nil {
		return byHashOf(v, *c.BlockHash)
	}
	limits := &v.service.limits
	most := limits.IndexedBlocks
	if !c.indexed() {
		most = limits.UnindexedBlocks
	}
	return byRange(v, param, c.From, c.To, most)
}

// byTraces reads which blocks' traces are meant.
func byTraces(v *view, param []byte) (m meant, err error) {
	var c TraceFilter
	if err := json.Unmarshal(param, &c); err != nil {
		return m, err
	}
	return byRange(v, param, c.From, c.To, math.MaxUint64)
}

// byRange finds where a range of so many blocks at most begins. It ends at the chain's last block, at the latest.
func byRange(v *view, param []byte, first, last *BlockTag, most inter.BlockNumber) (m meant, err error) {
	head := v.Head().Number
	from, to := head, head
	if first != nil {
		from = v.number(*first)
	}
	if last != nil {
		to = v.number(*last)
	}
	if m.number = max(1, from); to < m.number { // block 0 has nothing
		return meant{}, nil
	}
	if to < head || to > head && to-from > most {
		return m, nil
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(param, &whole); err != nil || whole == nil {
		return m, errors.Join(err, errSelector)
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

// readAsked reads a request as go-ethereum's server does; false if it has no answer, or is refused.
func readAsked(body []byte) (r asked, ok bool) {
	var of struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage
		Method  string
		Params  json.RawMessage
	}
	if err := json.Unmarshal(body, &of); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return r, false
	}
	r = asked{Version: "2.0", ID: of.ID, Method: of.Method}
	if of.Params != nil && json.Unmarshal(of.Params, &r.Params) != nil {
		return r, false
	}
	return r, len(of.ID) > 0 && (of.Version == nil || string(of.Version) == `"2.0"`)
}

// finds tells whether a chain lacks something for a request.
func (o *older) finds(method string, params [][]byte) bool {
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
		case err != nil:
			of = nothing // for who answers to say
		case m.hash != nil:
			of = aHash
		case m.number > v.Head().Number || m.number == 0:
			of = nothing
		}
		return m, nil
	})
	if m.fixed != nil {
		r.Params[at] = m.fixed
	}
	return of, m, err
}
