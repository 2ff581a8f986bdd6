package rpc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"

	"tarn/antelope/abi"
	"tarn/antelope/exception"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/antelope/variant"
	"tarn/httpserver"
)

// Traces is what was recorded of the actions of blocks (tracelog.History). Its methods may
// be called by all goroutines.
type Traces interface {
	// Block returns what the transactions of a block did, and whether it is irreversible;
	// nil if there are no traces of it. take is asked before memory is taken, in bytes; its
	// error is the answer.
	Block(num uint32, take func(bytes int64) error) (b *wire.Block, irreversible bool, err error)
	// Find returns the block that has a transaction; false if there is none. It may take long, and
	// ends early when ctx does.
	Find(ctx context.Context, id types.Checksum256) (num uint32, ok bool, err error)
}

// traceEndpoints are the calls of trace_api_plugin. What is wrong with a request they say
// in their own words (Leap: trace_api_plugin.cpp).
func (a *API) traceEndpoints() []nodeoshttp.Endpoint {
	const prefix = "/v1/trace_api/"
	return []nodeoshttp.Endpoint{
		{Path: prefix + "get_block", Category: TraceAPI, Handle: a.traces(prefix+"get_block", traces.blockTrace)},
		{Path: prefix + "get_transaction_trace", Category: TraceAPI,
			Handle: a.traces(prefix+"get_transaction_trace", traces.transactionTrace)},
	}
}

// refusal is an answer that has no exception behind it.
type refusal struct {
	code int
	text string
}

func (r refusal) Error() string { return r.text }

func (a *API) traces(path string, answer func(q traces, body string, b []byte) ([]byte, error)) nodeoshttp.Handler {
	return func(r *nodeoshttp.Request, b []byte) (int, []byte) {
		q := query{ctx: r.Context, api: a, take: r.Take}
		out, err := answer(traces{&q}, r.Body, b)
		if err != nil && q.older {
			if status, answer := a.askOlder(r, b); status != 0 && a.traced(answer[len(b):]) {
				return status, answer
			}
		}
		var refused refusal
		busy := new(httpserver.Busy)
		switch {
		case err == nil:
			return http.StatusOK, out
		case errors.As(err, &refused):
			return refused.code, append(appendFault(b, refused.code, refused.text, 0, "", ""), `]}}`...)
		case errors.As(err, &busy):
			return Faults(b, nodeoshttp.TooManyBytes, busy.Bytes)
		}
		err = a.public(path, err)
		a.Log.Debug("exception while processing a request", "path", path, "error", err)
		return a.fault(b, err)
	}
}

// traced tells whether a trace is of a block that the node has come to, as far as it says of which block it is.
func (a *API) traced(trace []byte) bool {
	var of struct {
		Block *uint32 `json:"block_num"`
	}
	return json.Unmarshal(trace, &of) != nil || of.Block == nil || *of.Block <= a.best(a.Chain.Fork()).BlockNum
}

// member reads a member of the object in a body, as text or number; false if it is not
// there, or the body is no object.
func (q traces) member(body, key string) (variant.Value, error) {
	v, err := variant.ParseWithin(body, variant.Limits{Take: q.take})
	if err != nil {
		return v, err
	}
	p := sub(v)
	v, ok := p.find(key)
	if p.err == nil && !ok {
		p.fail(exception.New(exception.FCKeyNotFound, "Key ${key}", "key", key))
	}
	return v, p.err
}

// unusable is the answer to a request that could not be read, unless there was no room
// for it.
func unusable(err error, text string) error {
	if errors.As(err, new(*httpserver.Busy)) {
		return err
	}
	return refusal{http.StatusBadRequest, text}
}

// tracedSize is about how many times the bytes of traces they take as values and as text:
// the text of a small action has some six.
const tracedSize = 8

func (q traces) takeTraces(bytes int64) error { return q.take(tracedSize * bytes) }

func (q traces) blockTrace(body string, b []byte) ([]byte, error) {
	v, err := q.member(body, "block_num")
	num := uint64(0)
	if err == nil {
		num, err = v.AsUint64()
	}
	if err != nil || num > math.MaxUint32 {
		return b, unusable(err, "Bad or missing block_num")
	}
	x, irreversible, err := q.api.Traces.Block(uint32(num), q.takeTraces)
	if err != nil {
		return b, err
	}
	if x == nil {
		q.older = q.api.before(uint32(num))
		return b, refusal{http.StatusNotFound, "Trace API: block trace missing"}
	}
	return q.api.appendBlockTrace(b, x, irreversible)
}

func (q traces) transactionTrace(body string, b []byte) ([]byte, error) {
	const unread = "Bad or missing transaction ID"
	v, err := q.member(body, "id")
	text := ""
	if err == nil {
		text, err = v.AsText()
	}
	if err != nil || len(text) < 8 || len(text) > 64 {
		return b, unusable(err, unread)
	}
	id, err := types.ParseChecksum256(text)
	if err != nil {
		return b, unusable(err, unread)
	}
	num, ok, err := q.api.Traces.Find(q.ctx, id)
	if err != nil {
		return b, err
	}
	if !ok {
		q.older = true // for all that this node can know
		return b, refusal{http.StatusNotFound, "Trace API: transaction id missing in the transaction id log files"}
	}
	x, _, err := q.api.Traces.Block(num, q.takeTraces)
	if err != nil {
		return b, err
	}
	if x != nil {
		for i := range x.Transactions {
			if x.Transactions[i].ID == id {
				return q.api.appendTransactionTrace(b, &x.Transactions[i])
			}
		}
	}
	return b, refusal{http.StatusNotFound, "Trace API: transaction trace missing"}
}

// appendBlockTrace appends a block (Leap: request_handler.cpp).
func (a *API) appendBlockTrace(b []byte, x *wire.Block, irreversible bool) ([]byte, error) {
	status := "pending"
	if irreversible {
		status = "irreversible"
	}
	b = variant.AppendHex(variant.AppendKey(append(b, '{'), "id"), x.ID[:])
	b = variant.AppendUint64(variant.AppendKey(b, "number"), uint64(x.Number))
	b = variant.AppendHex(variant.AppendKey(b, "previous_id"), x.Previous[:])
	b = variant.AppendString(variant.AppendKey(b, "status"), status)
	b = variant.AppendText(variant.AppendKey(b, "timestamp"), func(b []byte) []byte {
		return append(x.Timestamp.AppendText(b), 'Z')
	})
	b = x.Producer.AppendJSON(variant.AppendKey(b, "producer"))
	if r := x.Roots; r != nil {
		b = variant.AppendHex(variant.AppendKey(b, "transaction_mroot"), r.Transactions[:])
		b = variant.AppendHex(variant.AppendKey(b, "action_mroot"), r.Actions[:])
		b = variant.AppendUint64(variant.AppendKey(b, "schedule_version"), uint64(r.ScheduleVersion))
	}
	b = append(variant.AppendKey(b, "transactions"), '[')
	for i := range x.Transactions {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = a.appendTransactionTrace(b, &x.Transactions[i]); err != nil {
			return b, err
		}
	}
	return append(b, "]}"...), nil
}

// appendTransactionTrace appends a transaction with what its version has.
func (a *API) appendTransactionTrace(b []byte, t *wire.Transaction) ([]byte, error) {
	b = variant.AppendHex(variant.AppendKey(append(b, '{'), "id"), t.ID[:])
	if p := t.Place; p != nil {
		b = variant.AppendUint64(variant.AppendKey(b, "block_num"), uint64(p.Number))
		b = p.Time.AppendJSON(variant.AppendKey(b, "block_time"))
		b = variant.AppendKey(b, "producer_block_id")
		if p.Producer == nil {
			b = append(b, "null"...)
		} else {
			b = variant.AppendHex(b, p.Producer[:])
		}
	}
	order := make([]*wire.Action, len(t.Actions))
	for i := range t.Actions {
		order[i] = &t.Actions[i]
	}
	slices.SortStableFunc(order, func(x, y *wire.Action) int { return cmp.Compare(x.GlobalSequence, y.GlobalSequence) })
	b = append(variant.AppendKey(b, "actions"), '[')
	for i, x := range order {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = a.appendTracedAction(b, x); err != nil {
			return b, err
		}
	}
	b = append(b, ']')
	if r := t.Receipt; r != nil {
		b = variant.AppendString(variant.AppendKey(b, "status"), r.Status.String())
		b = variant.AppendUint64(variant.AppendKey(b, "cpu_usage_us"), uint64(r.CPUUsageUS))
		b = variant.AppendUint64(variant.AppendKey(b, "net_usage_words"), uint64(r.NetUsageWords))
		b = variant.AppendList(variant.AppendKey(b, "signatures"), r.Signatures,
			func(b []byte, s *types.Signature) []byte { return s.AppendJSON(b) })
		b = r.Header.AppendMembers(append(variant.AppendKey(b, "transaction_header"), '{'))
		b = append(b, '}')
	}
	return append(b, '}'), nil
}

// appendTracedAction appends an action, and what its data and return value mean if the
// operator has given its account an ABI that knows.
func (a *API) appendTracedAction(b []byte, x *wire.Action) ([]byte, error) {
	b = variant.AppendUint64(variant.AppendKey(append(b, '{'), "global_sequence"), x.GlobalSequence)
	b = x.Receiver.AppendJSON(variant.AppendKey(b, "receiver"))
	b = x.Account.AppendJSON(variant.AppendKey(b, "account"))
	b = x.Name.AppendJSON(variant.AppendKey(b, "action"))
	b = variant.AppendList(variant.AppendKey(b, "authorization"), x.Authorization,
		func(b []byte, p *types.PermissionLevel) []byte {
			b = p.Actor.AppendJSON(variant.AppendKey(append(b, '{'), "account"))
			return append(p.Permission.AppendJSON(variant.AppendKey(b, "permission")), '}')
		})
	b = variant.AppendHex(variant.AppendKey(b, "data"), x.Data)
	if x.ReturnValue != nil {
		b = variant.AppendHex(variant.AppendKey(b, "return_value"), x.ReturnValue)
	}
	b, err := a.appendMeaning(b, x)
	return append(b, '}'), err
}

// appendMeaning appends an action's params and return_data (Leap:
// abi_data_handler::serialize_to_variant).
func (a *API) appendMeaning(b []byte, x *wire.Action) ([]byte, error) {
	codec := a.TraceABIs[x.Account]
	if codec == nil {
		return b, nil
	}
	typ := codec.ActionType(x.Name)
	if typ == "" {
		return b, nil
	}
	start := len(b)
	b, err := appendDecoded(b, codec, "params", typ, x.Data)
	if err != nil {
		return b, err
	}
	if bytes.HasSuffix(b[start:], []byte(`"params":null`)) { // an optional value that is none
		b = b[:start]
	}
	if len(x.ReturnValue) == 0 {
		return b, nil
	}
	if typ = codec.ActionResultType(x.Name); typ == "" {
		return b, nil
	}
	return appendDecoded(b, codec, "return_data", typ, x.ReturnValue)
}

// appendDecoded appends a member with decoded data, which take as long as they take.
func appendDecoded(b []byte, codec *abi.Codec, key, typ string, data []byte) ([]byte, error) {
	start := len(b)
	b, err := codec.Decode(variant.AppendKey(b, key), typ, data, nil)
	if err != nil {
		return b[:start], err
	}
	return b, nil
}
