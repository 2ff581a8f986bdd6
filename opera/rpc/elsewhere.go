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
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/log"

	"tarn/httpserver"
	"tarn/opera/inter"
)

// ErrNobody says that there is no other node that could answer for what is older.
var ErrNobody = errors.New("there is no other node")

// isJSON tells whether a body is of a type that go-ethereum's server takes: pages of other sites cannot send these
// unasked.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil &&
		(kind == "application/json" || kind == "application/json-rpc" || kind == "application/jsonrequest")
}

// askOthers has other nodes answer requests of at most so many bytes for which the chain lacks something. local answers
// the rest.
func (o *older) askOthers(local http.Handler, most int64) http.Handler {
	if o.s.options.Older == nil {
		return local
	}
	return o.s.readWhole(local, most, func(w http.ResponseWriter, r *http.Request, client httpserver.Client, body []byte) {
		to := &heldWriter{ResponseWriter: w, s: o.s, client: client, body: body, end: func() {}}
		if !isJSON(r) || !o.answer(to, r, client, body, local) {
			local.ServeHTTP(w, r)
		}
	})
}

// answer has another node answer a body; false if the chain lacks nothing for it. local answers what it does not lack
// of a batch.
func (o *older) answer(
	w http.ResponseWriter, r *http.Request, client httpserver.Client, body []byte, local http.Handler,
) bool {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	batch := len(trimmed) > 0 && trimmed[0] == '['
	list, err := o.look(r.Context(), client, body, batch)
	if err != nil {
		refuse(w, body, err)
		return true
	}
	var answer []byte
	switch {
	case list == nil:
		return false
	case batch:
		h := &holding{memory: o.s.memory, client: client}
		defer h.end()
		answer = o.answerBatch(r, h, list, local)
	default:
		if answer = o.ask(r.Context(), client, list[0].lacking); answer == nil {
			return false
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if len(answer) > 0 { // notifications have none
		_, _ = w.Write(answer) // who has gone needs none
	}
	return true
}

// part is a request of a body.
type part struct {
	body    json.RawMessage
	id      bool     // it has an answer
	lacking *lacking // what the chain lacks for it, nil for nothing
}

// lacking is a request for which the chain lacks something.
type lacking struct {
	asked
	of lack
	meant
}

// look finds for which requests of a body the chain lacks something; nil if for none. To read a long one, or many, is
// work, for which there is a turn, and of a request that tells something of a block the block may be read already.
func (o *older) look(ctx context.Context, client httpserver.Client, body []byte, batch bool) (list []part, err error) {
	turns := o.s.pace.executing
	if !batch && len(body) <= lightBytes {
		if turns = o.s.pace.turnsOfBody(body); turns == o.s.pace.executing {
			turns = nil // what is looked up is little
		}
	}
	end, err := o.s.pace.take(ctx, turns, client)
	if err != nil {
		return nil, err
	}
	defer end()
	var bodies []json.RawMessage
	if !batch {
		bodies = append(bodies, body)
	} else if json.Unmarshal(body, &bodies) != nil || len(bodies) > o.s.limits.Batch {
		return nil, nil // for the server to refuse
	}
	lacks := false
	list = make([]part, len(bodies))
	for i, one := range bodies {
		list[i].body = one
		r, ok := readAsked(one)
		if list[i].id = len(r.ID) > 0; !ok {
			continue
		}
		if of, m, err := o.lacks(&r); err == nil && of != nothing {
			list[i].lacking, lacks = &lacking{r, of, m}, true
		}
	}
	if !lacks {
		return nil, nil
	}
	return list, nil
}

// ask has another node answer a request; nil if the chain may answer it itself, as nobody has what it names.
func (o *older) ask(ctx context.Context, client httpserver.Client, r *lacking) (answer []byte) {
	var err error
	if found := true; r.of == aHash {
		if found, err = o.elsewhere(ctx, client, &r.meant); err == nil && !found {
			return nil
		}
	}
	if err == nil {
		answer, err = o.send(ctx, client, &r.asked)
	}
	if err != nil { // what the chain has would be a wrong answer
		return lackingAnswer(r, err)
	}
	return answer
}

// lackingAnswer is the answer where no other node gives one.
func lackingAnswer(r *lacking, why error) []byte {
	text := append(append([]byte(`{"jsonrpc":"2.0","id":`), r.ID...), `,"error":`...)
	why = &busy{fmt.Errorf("this replica does not have data that old, and no node can answer now: %w", why)}
	return append(appendError(text, why), '}')
}

// elsewhere tells whether another node has the block or the transaction of a hash, in a block that is here or older:
// who hears of a newer one would not find its block here. Where no other node is, nobody has it.
func (o *older) elsewhere(ctx context.Context, client httpserver.Client, m *meant) (bool, error) {
	r := asked{Version: "2.0", ID: json.RawMessage("1"), Method: "eth_getHeaderByHash"}
	if m.tx {
		r.Method = "eth_getTransactionByHash"
	}
	hash, err := json.Marshal(m.hash)
	if err != nil {
		return false, err
	}
	r.Params = []json.RawMessage{hash}
	answer, err := o.send(ctx, client, &r)
	if errors.Is(err, ErrNobody) {
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
	head, err := o.head()
	return inter.BlockNumber(*number) <= head, err
}

// head is the number of the chain's last block.
func (o *older) head() (inter.BlockNumber, error) {
	return read(o.s, func(v *view) (inter.BlockNumber, error) { return v.Head().Number, nil })
}

// answerBatch answers a batch: what the chain does not lack together, the rest one by one, in the order of the
// requests.
func (o *older) answerBatch(r *http.Request, h *holding, list []part, local http.Handler) (answer []byte) {
	texts := make([][]byte, len(list))
	o.askAll(r.Context(), h, list, texts)
	var own []int // of list, that have an answer
	together := []byte{'['}
	for i := range list {
		if texts[i] != nil {
			continue
		}
		if len(together) > 1 {
			together = append(together, ',')
		}
		if together = append(together, list[i].body...); list[i].id || list[i].body[0] != '{' {
			own = append(own, i)
		}
	}
	if len(together) > 1 {
		texts = place(texts, own, o.answerOwn(r, h, append(together, ']'), local))
	}
	for _, text := range texts {
		if len(text) > 0 {
			answer = append(append(answer, ','), text...)
		}
	}
	if len(answer) > 0 {
		answer = append(answer, ']')
		answer[0] = '['
	}
	return answer
}

// holding is the memory that the answers to a batch take while it is put together. Several goroutines may hold.
type holding struct {
	memory *httpserver.Shares
	client httpserver.Client
	held   atomic.Int64
}

// hold counts an answer to a body, or refuses the body.
func (h *holding) hold(answer, body []byte) []byte {
	n := int64(len(answer))
	if n == 0 {
		return answer
	}
	if err := h.memory.Take(h.client, n); err != nil {
		return refusal(body, &busy{fmt.Errorf("too many bytes of answers: %w", err)})
	}
	h.held.Add(n)
	return answer
}

// end gives all of it back.
func (h *holding) end() { h.memory.Give(h.client, h.held.Load()) }

// askAll has other nodes answer the requests for which the chain lacks something, a few at once, within the time of
// one.
func (o *older) askAll(ctx context.Context, h *holding, list []part, texts [][]byte) {
	ctx, done := context.WithTimeout(ctx, o.s.limits.RequestTime)
	defer done()
	var all sync.WaitGroup
	places := make(chan struct{}, olderEach)
	for i := range list {
		if list[i].lacking == nil {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			defer func() { // as net/http does for a request: the node goes on
				if what := recover(); what != nil {
					log.Error("A request in a batch panicked", "panic", what, "stack", string(debug.Stack()))
					texts[i] = lackingAnswer(list[i].lacking, errors.New("internal error"))
				}
			}()
			texts[i] = h.hold(o.ask(ctx, h.client, list[i].lacking), list[i].body)
		})
	}
	all.Wait()
}

// answerOwn has the chain answer a batch.
func (o *older) answerOwn(r *http.Request, h *holding, body []byte, local http.Handler) (list []json.RawMessage) {
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	to := &kept{header: http.Header{}, most: o.s.limits.Trace + o.s.limits.Answer}
	local.ServeHTTP(to, r)
	text := h.hold(bytes.TrimSpace(to.body.Bytes()), body)
	if to.full {
		text = refusal(body, &busy{errAnswerSize})
	}
	if len(text) > 0 && json.Unmarshal(text, &list) != nil {
		list = []json.RawMessage{text} // the server refuses all of it
	}
	return list
}

// place puts answers where their requests stand; what is more comes at the end.
func place(texts [][]byte, at []int, answers []json.RawMessage) [][]byte {
	for i, text := range answers {
		if i < len(at) {
			texts[at[i]] = text
		} else {
			texts = append(texts, text)
		}
	}
	return texts
}

// The codes of errors that say nothing about what was asked.
const (
	noMethod  = -32601
	overLimit = -32005
)

var errAnswerSize = errors.New("the answer is too long")

// send has another node answer a request, when there is a place, within the time of a request. The error wraps
// [ErrNobody] if there is no other node, and says else why none answers.
func (o *older) send(ctx context.Context, client httpserver.Client, r *asked) (answer []byte, err error) {
	waiting, done := context.WithTimeout(ctx, o.s.limits.RequestTime)
	defer done()
	end, err := o.s.olderTurns.Take(waiting, client)
	if err != nil {
		return nil, fmt.Errorf("too many requests for it: %w", err)
	}
	defer end()
	head, err := o.head()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	asking, done := context.WithTimeout(ctx, o.s.limits.RequestTime)
	defer done()
	if answer, err = o.s.options.Older(asking, head, body); err != nil {
		log.Debug("No other node answers for what is older", "method", r.Method, "err", err)
		if !errors.Is(err, ErrNobody) {
			err = errors.New("no other node answers in time") // which one, and how, is the operator's
		}
		return nil, err
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
