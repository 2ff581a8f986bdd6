package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"tarn/httpserver"
)

// light are the methods that are answered whatever is executed or searched meanwhile: each reads a few
// rows, a block, or what is in memory. All others, and requests in batches, execute, search or tell much,
// and wait for their turn.
func light(method string) bool {
	space, name, _ := strings.Cut(method, "_")
	switch space {
	case "net", "web3", "admin", "personal", rpc.MetadataApi:
		return true
	case "eth", "ftm":
		return lightNames[name]
	case "txpool":
		return name == "status"
	case "dag", "abft":
		return name != "getEvent" && name != "getEventPayload"
	}
	return false
}

var lightNames = map[string]bool{
	"accounts": true, "blockNumber": true, "chainId": true, "coinbase": true, "currentEpoch": true, "etherbase": true,
	"gasPrice": true, "getBalance": true, "getBlockByHash": true, "getBlockByNumber": true,
	"getBlockTransactionCountByHash": true, "getBlockTransactionCountByNumber": true, "getCode": true,
	"getStorageAt": true, "getTransactionByBlockHashAndIndex": true, "getTransactionByBlockNumberAndIndex": true,
	"getTransactionByHash": true, "getTransactionCount": true, "getTransactionReceipt": true, "hashrate": true,
	"maxPriorityFeePerGas": true, "mining": true, "newBlockFilter": true, "newFilter": true,
	"newPendingTransactionFilter": true, "protocolVersion": true, "sendRawTransaction": true, "subscribe": true,
	"syncing": true, "uninstallFilter": true, "unsubscribe": true,
}

// tellingNames are those of the light methods that read a whole block, whose size is strangers' choice: each holds the
// block, and what it tells of it, until it has told. They wait for turns of their own, never behind what executes.
var tellingNames = map[string]bool{
	"getBlockByHash": true, "getBlockByNumber": true, "getBlockTransactionCountByHash": true,
	"getBlockTransactionCountByNumber": true, "getTransactionByBlockHashAndIndex": true,
	"getTransactionByBlockNumberAndIndex": true, "getTransactionByHash": true, "getTransactionReceipt": true,
}

// pace is the turns that requests wait for.
type pace struct {
	executing, telling *httpserver.Turns
	patience           time.Duration // with which a request waits
}

func newPace(l *Limits) pace {
	return pace{
		executing: httpserver.NewTurns(l.Executions, max(1, l.Executions/2), l.Waiting),
		telling:   httpserver.NewTurns(l.Tellings, max(1, l.Tellings/2), l.Waiting),
		patience:  l.RequestTime,
	}
}

// turnsOf returns which turns a request waits for, nil if it waits for none.
func (p *pace) turnsOf(method string) *httpserver.Turns {
	if !light(method) {
		return p.executing
	}
	if _, name, _ := strings.Cut(method, "_"); tellingNames[name] {
		return p.telling
	}
	return nil
}

// turnsOfBody returns which turns a body waits for, nil if it waits for none: only one short request may.
func (p *pace) turnsOfBody(body []byte) *httpserver.Turns {
	var of struct{ Method string }
	if len(body) > lightBytes || json.Unmarshal(body, &of) != nil {
		return p.executing
	}
	return p.turnsOf(of.Method)
}

// turn waits for a client's turn to have something executed, but no longer than a request may take.
func (s *Service) turn(ctx context.Context, client httpserver.Client) (end func(), err error) {
	return s.pace.take(ctx, s.pace.executing, client)
}

// take waits for one of some turns, but no longer than a request may take. Nobody waits where there are none.
func (p *pace) take(ctx context.Context, turns *httpserver.Turns, client httpserver.Client) (end func(), err error) {
	if turns == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	end, err = turns.Take(ctx, client)
	if err != nil {
		return nil, &busy{fmt.Errorf("the node is busy: %w", err)}
	}
	return end, nil
}

// paceRequests lets requests of at most so many bytes wait for their turn. Who sends slowly, or takes an answer slowly,
// has no turn meanwhile.
func (s *Service) paceRequests(next http.Handler, most int64) http.Handler {
	return s.readWhole(next, most, func(w http.ResponseWriter, r *http.Request, client httpserver.Client, body []byte) {
		end, err := s.pace.take(r.Context(), s.pace.turnsOfBody(body), client)
		if err != nil {
			refuse(w, body, err)
			return
		}
		to := &heldWriter{ResponseWriter: w, s: s, client: client, body: body, end: sync.OnceFunc(end)}
		defer to.end()
		next.ServeHTTP(to, r)
	})
}

// readWhole reads the bodies of requests that have at most so many bytes, for with, which finds them in the requests
// again. Other requests are for next.
func (s *Service) readWhole(
	next http.Handler, most int64, with func(w http.ResponseWriter, r *http.Request, client httpserver.Client, body []byte),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.ContentLength == 0 || r.ContentLength > most {
			next.ServeHTTP(w, r)
			return
		}
		if of, ok := r.Body.(*wholeBody); ok {
			with(w, r, s.client(r.Context()), of.bytes)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
		if err != nil {
			unread(w, err)
			return
		}
		if int64(len(body)) <= most {
			r.Body = whole(body)
		} else {
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
		}
		with(w, r, s.client(r.Context()), body)
	})
}

// wholeBody is the body of a request that is in memory already: who wants it as a whole needs no copy, which would not
// count.
type wholeBody struct {
	io.Reader
	bytes []byte
}

func whole(body []byte) *wholeBody { return &wholeBody{bytes.NewReader(body), body} }

// Close implements io.Closer.
func (*wholeBody) Close() error { return nil }

// unread answers a request whose body did not come.
func unread(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if full := new(httpserver.Busy); errors.As(err, &full) {
		status = http.StatusServiceUnavailable
	}
	http.Error(w, err.Error(), status)
}

// refuse answers requests that are not answered now, each with its id, as their client waits for.
func refuse(w http.ResponseWriter, body []byte, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(refusal(body, err)) // who has gone needs none
}

// refusal is the answer to requests that are not answered now. Of a body beyond lightBytes, for whose
// reading there was no turn, the ids are not looked for.
func refusal(body []byte, err error) []byte {
	type asked struct{ ID json.RawMessage }
	one := func(out []byte, of asked) []byte {
		if len(of.ID) == 0 {
			of.ID = json.RawMessage("null")
		}
		out = append(append(append(out, `{"jsonrpc":"2.0","id":`...), of.ID...), `,"error":`...)
		return append(appendError(out, err), '}')
	}
	var out []byte
	var single asked
	var list []asked
	if len(body) > lightBytes {
		return one(nil, asked{})
	}
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		for _, of := range list {
			out = one(append(out, ','), of)
		}
		out[0] = '['
		out = append(out, ']')
	} else if json.Unmarshal(body, &single) == nil {
		out = one(nil, single)
	} else {
		out = one(nil, asked{})
	}
	return out
}

// heldWriter ends its request's turn when there is an answer, which counts until it is taken.
type heldWriter struct {
	http.ResponseWriter
	s      *Service
	client httpserver.Client
	body   []byte // of the request, where there is one to refuse
	end    func()
	wrote  bool
	full   bool // the answer was refused
}

// Write implements io.Writer.
func (h *heldWriter) Write(b []byte) (int, error) {
	h.end()
	if h.full {
		return len(b), nil
	}
	if n := int64(len(b)); n > uncounted {
		if err := h.s.memory.Take(h.client, n); err != nil {
			if h.wrote {
				return 0, err
			}
			h.full = true
			h.Header().Del("Content-Length")
			h.Header().Del("Transfer-Encoding")
			refuse(h.ResponseWriter, h.body, &busy{fmt.Errorf("too many bytes of answers: %w", err)})
			return len(b), nil
		}
		defer h.s.memory.Give(h.client, n)
	}
	h.wrote = true
	return h.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (h *heldWriter) Flush() {
	if f, ok := h.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
