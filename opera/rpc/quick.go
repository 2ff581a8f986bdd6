package rpc

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/metrics"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/httpserver"
)

// quick answers over HTTP what clients ask most, one request in a body, without go-ethereum's
// server, which makes a connection of its own for each body. It takes a request only where the
// answer is the one that the server would give; all else, errors in a request among it, goes to the
// server.
type quick struct {
	s       *Service
	server  http.Handler
	older   *older
	methods map[string]quickMethod
	bodies  sync.Pool // of *bytes.Buffer, to be used again
}

// quickMethod answers a request with such parameters: it appends the result to out. It has not
// taken a request whose parameters it cannot read.
type quickMethod func(ctx context.Context, params [][]byte, out []byte) (answer []byte, err error, taken bool)

// quick returns the handler of some namespaces, of all if none is named.
func (s *Service) quick(server http.Handler, names []string, o *older) *quick {
	q := &quick{s: s, server: server, older: o, methods: map[string]quickMethod{}}
	served := func(name string) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool {
			return strings.TrimSpace(n) == name
		})
	}
	if served("eth") && s.limits.RequestTime <= quickTime {
		q.methods["eth_getLogs"] = func(ctx context.Context, params [][]byte, out []byte) ([]byte, error, bool) {
			c, ok := parameter[Criteria](params, 0)
			if !ok || len(params) != 1 {
				return nil, nil, false
			}
			text, err := read(s, func(v *view) ([]byte, error) {
				list, err := v.logs(ctx, &c)
				return appendLogs(out, list), err
			})
			return text, err, true
		}
	}
	for _, space := range []string{"eth", "ftm"} {
		if !served(space) {
			continue
		}
		of := func(name string, m quickMethod) { q.methods[space+"_"+name] = m }
		of("chainId", without(ethChain{s}.ChainId))
		of("blockNumber", without(ethChain{s}.BlockNumber))
		of("gasPrice", without(ethChain{s}.GasPrice))
		of("getBalance", two(ethState{s}.GetBalance))
		of("getTransactionCount", two(ethState{s}.GetTransactionCount))
		of("getCode", two(ethState{s}.GetCode))
		of("getTransactionByHash", one(ethBlocks{s}.GetTransactionByHash))
		of("getTransactionReceipt", one(s.receiptText))
		of("getBlockByNumber", two(func(t BlockTag, full bool) (json.RawMessage, error) {
			return s.blockText(byTag(t), full, t == Pending)
		}))
		of("getBlockByHash", two(func(hash common.Hash, full bool) (json.RawMessage, error) {
			return s.blockText(byHash(hash), full, false)
		}))
		if s.limits.CallTime <= quickTime {
			of("call", func(ctx context.Context, params [][]byte, out []byte) ([]byte, error, bool) {
				if len(params) != 2 {
					return nil, nil, false
				}
				args, ok := plainArgs(params[0])
				if !ok {
					args, ok = parameter[TransactionArgs](params, 0)
				}
				ref, also := parameter[BlockRef](params, 1)
				if !ok || !also {
					return nil, nil, false
				}
				result, err := ethCalls{s}.Call(ctx, args, ref, nil)
				return appendOutcome(out, result, err)
			})
		}
	}
	return q
}

// parameter reads one; a null is for the server to refuse.
func parameter[T any](params [][]byte, i int) (value T, ok bool) {
	if i >= len(params) || string(params[i]) == "null" {
		return value, false
	}
	raw := params[i]
	if raw[0] == '"' { // a text that needs no decoding
		if to, itself := any(&value).(json.Unmarshaler); itself {
			return value, to.UnmarshalJSON(raw) == nil
		}
	}
	return value, json.Unmarshal(raw, &value) == nil
}

func without[R any](f func() (R, error)) quickMethod {
	return func(_ context.Context, params [][]byte, out []byte) ([]byte, error, bool) {
		if len(params) != 0 {
			return nil, nil, false
		}
		result, err := f()
		return appendOutcome(out, result, err)
	}
}

func one[A, R any](f func(A) (R, error)) quickMethod {
	return func(_ context.Context, params [][]byte, out []byte) ([]byte, error, bool) {
		a, ok := parameter[A](params, 0)
		if !ok || len(params) != 1 {
			return nil, nil, false
		}
		result, err := f(a)
		return appendOutcome(out, result, err)
	}
}

func two[A, B, R any](f func(A, B) (R, error)) quickMethod {
	return func(_ context.Context, params [][]byte, out []byte) ([]byte, error, bool) {
		a, ok := parameter[A](params, 0)
		b, also := parameter[B](params, 1)
		if !ok || !also || len(params) != 2 {
			return nil, nil, false
		}
		result, err := f(a, b)
		return appendOutcome(out, result, err)
	}
}

// appendOutcome appends a result that there is if there is no error. What cannot be told is the
// server's to say.
func appendOutcome(out []byte, result any, err error) ([]byte, error, bool) {
	if err != nil {
		return nil, err, true
	}
	out, failed := appendResult(out, result)
	return out, nil, failed == nil
}

// ServeHTTP implements http.Handler.
func (q *quick) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.ContentLength <= 0 || r.ContentLength > quickBytes ||
		r.Header.Get("Content-Type") != "application/json" {
		q.server.ServeHTTP(w, r)
		return
	}
	body, ok := q.bodies.Get().(*bytes.Buffer)
	if !ok {
		body = new(bytes.Buffer)
	}
	body.Reset()
	defer q.bodies.Put(body)
	if _, err := body.ReadFrom(r.Body); err != nil {
		unread(w, err)
		return
	}
	client := q.s.client(r.Context())
	if answer, taken := q.answer(r.Context(), client, body.Bytes(), nil, func() string { return r.RemoteAddr }); taken {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		to := &heldWriter{ResponseWriter: w, s: q.s, client: client, body: body.Bytes(), end: func() {}}
		_, _ = to.Write(answer) // who has gone needs none
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
	q.server.ServeHTTP(w, r)
}

// answer appends the answer to a client's body to out. It has not taken a body that is for the server.
func (q *quick) answer(
	ctx context.Context, client httpserver.Client, body, out []byte, remote func() string,
) (answer []byte, taken bool) {
	of, ok := open(body)
	method := q.methods[string(of.method)]
	if !ok || method == nil || !q.tells(string(of.method)) && q.lacks(string(of.method), of.params) {
		return nil, false
	}
	begun := time.Now()
	out = append(append(append(out, `{"jsonrpc":"2.0","id":`...), of.id...), ',')
	answer, err, taken := q.work(ctx, client, string(of.method), method, of.params, append(out, `"result":`...))
	switch {
	case !taken:
		return nil, false
	case err != nil:
		answer = appendError(append(out, `"error":`...), err)
		log.Warn("Served "+string(of.method), "conn", remote(), "reqid", string(of.id),
			"duration", time.Since(begun), "err", err)
	}
	countAnswer(of.method, err == nil, begun)
	return append(answer, '}'), true
}

// tells tells whether a method reads a block to find out whether the chain lacks it, for which there is a turn.
func (q *quick) tells(method string) bool { return q.s.pace.turnsOf(method) == q.s.pace.telling }

// lacks tells whether the chain lacks something that another node is asked for.
func (q *quick) lacks(method string, params [][]byte) bool {
	return q.s.options.Older != nil && q.older.finds(method, params)
}

// work has a method answer, when it is the client's turn if the method waits for one. It takes no request that
// another node is asked for.
func (q *quick) work(
	ctx context.Context, client httpserver.Client, name string, method quickMethod, params [][]byte, out []byte,
) (answer []byte, err error, taken bool) {
	end, err := q.s.pace.take(ctx, q.s.pace.turnsOf(name), client)
	if err != nil {
		return nil, err, true
	}
	defer end()
	if q.tells(name) && q.lacks(name, params) {
		return nil, nil, false
	}
	return method(ctx, params, out)
}

func appendResult(out []byte, result any) ([]byte, error) {
	switch result := result.(type) {
	case *hexutil.Big:
		if result != nil && result.ToInt().Sign() >= 0 {
			return append(result.ToInt().Append(append(out, `"0x`...), 16), '"'), nil
		}
	case hexutil.Uint64:
		return append(strconv.AppendUint(append(out, `"0x`...), uint64(result), 16), '"'), nil
	case *hexutil.Uint64:
		if result != nil {
			return appendResult(out, *result)
		}
	case json.RawMessage:
		if result == nil {
			return append(out, "null"...), nil
		}
		return append(out, result...), nil
	case hexutil.Bytes: // hexadecimal needs no look for what has to be escaped
		return append(hex.AppendEncode(append(out, `"0x`...), result), '"'), nil
	}
	text, err := json.Marshal(result)
	return append(out, text...), err
}

// appendError appends an error as go-ethereum's server tells it.
func appendError(out []byte, err error) []byte {
	said := struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{Code: -32000, Message: err.Error()}
	if of, ok := err.(rpc.Error); ok {
		said.Code = of.ErrorCode()
	}
	if of, ok := err.(rpc.DataError); ok {
		said.Data = of.ErrorData()
	}
	text, failed := json.Marshal(&said)
	if failed != nil { // data of an odd kind
		said.Data = nil
		text, _ = json.Marshal(&said)
	}
	return append(out, text...)
}

// countAnswer counts an answer where go-ethereum's server counts its own.
func countAnswer(method []byte, good bool, begun time.Time) {
	if !metrics.Enabled() {
		return
	}
	took := time.Since(begun)
	metrics.GetOrRegisterGauge("rpc/requests", nil).Inc(1)
	what, note := "rpc/success", "success"
	if !good {
		what, note = "rpc/failure", "failure"
	}
	metrics.GetOrRegisterGauge(what, nil).Inc(1)
	metrics.GetOrRegisterTimer("rpc/duration/all", nil).Update(took)
	metrics.GetOrRegisterHistogramLazy("rpc/duration/"+string(method)+"/"+note, nil, func() metrics.Sample {
		return metrics.ResettingSample(metrics.NewExpDecaySample(1028, 0.015))
	}).Update(took.Nanoseconds())
}

// text is a value as JSON. It is kept with its block in a place that it has there, unless that is
// nil.
func (s *Service) text(
	b *block, place *atomic.Pointer[json.RawMessage], value func() (any, error),
) (json.RawMessage, error) {
	if place != nil {
		if text := place.Load(); text != nil {
			return *text, nil
		}
	}
	of, err := value()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	text := json.RawMessage(raw)
	if place != nil && place.CompareAndSwap(nil, &text) {
		s.blocks.countText(b, len(text))
	}
	return text, nil
}

// blockText is a block as JSON, nil if there is none.
func (s *Service) blockText(get func(*view) (*block, error), full, pending bool) (json.RawMessage, error) {
	return read(s, func(v *view) (json.RawMessage, error) {
		b, err := get(v)
		if err != nil || b == nil {
			return nil, err
		}
		place := &b.hashesText
		if full {
			place = &b.fullText
		}
		if pending || b.Number == 0 { // it is told otherwise, or is not remembered
			place = nil
		}
		return s.text(b, place, func() (any, error) { return v.blockJSON(b, full, pending) })
	})
}

// receiptText is the receipt of an executed transaction as JSON, nil if there is none.
func (s *Service) receiptText(hash common.Hash) (json.RawMessage, error) {
	return read(s, func(v *view) (json.RawMessage, error) {
		b, index, err := v.find(hash)
		if err != nil || b == nil || index >= uint64(len(b.receiptTexts)) {
			return nil, err
		}
		return s.text(b, &b.receiptTexts[index], func() (any, error) { return b.receiptJSON(index), nil })
	})
}
