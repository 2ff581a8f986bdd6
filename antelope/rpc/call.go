package rpc

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
	"tarn/httpserver"
)

// bodies says what a call takes for its body.
type bodies uint8

const (
	noParameters bodies = iota // only an empty one
	required                   // one with parameters
	requiredText               // one that is a text, or null
	possible                   // either
)

// call is an endpoint.
type call struct {
	path     string
	category nodeoshttp.Category
	status   int // of a success
	bodies   bodies
	waits    bool // for the writer, or for blocks
	takes    bool // transactions or a block of strangers: the work on them has its turn
	// raw, unless nil, reads the body instead of the parser that all others share.
	raw func(body string, l variant.Limits) (variant.Value, error)
	// most is how many elements a body may have that is a list; 0 for any number.
	most int
	// answer appends the body of the answer.
	answer func(q *query, b []byte) ([]byte, error)
}

// query is one request to a call. Who answers it is named for what is asked.
type query struct {
	ctx   context.Context
	api   *API
	begin time.Time
	take  func(bytes int64) error // counts memory, as nodeoshttp.Request.Take
	turn  func() error            // has the work on what came, or on the answer, wait for its turn
	wait  func()                  // ends the turn: it waits for something else
	older bool                    // what is asked for is older than all that the node has, and so not there
	params
}

// What is asked. Each has a method for each of its calls, which [API.calls] names.
type (
	chain        struct{ *query } // the head, parameters, features and producers in force
	blocks       struct{ *query } // blocks and their headers
	accounts     struct{ *query } // accounts, their code and ABIs; who may act for whom
	tables       struct{ *query } // rows of contracts, those of tokens and producers among them
	transactions struct{ *query } // transactions: executed, looked for, waiting
	peers        struct{ *query } // connections
	operator     struct{ *query } // what an operator orders of the node, and asks about it
	traces       struct{ *query } // what blocks' actions did
)

type asked interface{ ~struct{ *query } }

// handler returns what serves c.
func (a *API) handler(c call) nodeoshttp.Handler {
	return func(r *nodeoshttp.Request, b []byte) (int, []byte) {
		if a.Forward != nil && c.category == ChainRW {
			return a.forward(&c, r, b)
		}
		q := query{ctx: r.Context, api: a, begin: time.Now(), take: r.Take, turn: r.Turn, wait: r.EndTurn}
		out, err := c.run(&q, r.Body, b)
		if busy := new(httpserver.Busy); errors.As(err, &busy) {
			return Faults(b, nodeoshttp.TooManyBytes, busy.Bytes)
		}
		if err != nil && q.older {
			if status, answer := a.askOlder(r, b); status != 0 {
				return status, answer
			}
		}
		if err != nil {
			err = a.public(c.path, err)
			a.Log.Debug("exception while processing a request", "path", c.path, "error", err)
			return a.fault(b, err)
		}
		return c.status, out
	}
}

// askOlder has another node answer a request for what is older than this one; 0 if none has it. Nobody waits behind it
// for that.
func (a *API) askOlder(r *nodeoshttp.Request, b []byte) (status int, answer []byte) {
	if a.Older == nil {
		return 0, b
	}
	r.EndTurn()
	ctx, done := context.WithTimeout(r.Context, olderTime)
	defer done()
	end, err := a.olderTurns.Take(ctx, httpserver.ClientOf(r.Context))
	if err != nil {
		return Faults(b, nodeoshttp.TooManyRequests, 0)
	}
	defer end()
	status, answer, err = a.Older(r, b)
	switch {
	case err != nil:
		a.Log.Debug("exception while forwarding a request", "path", r.Target, "error", err)
	case status == http.StatusServiceUnavailable:
		return Faults(b, nodeoshttp.TooManyRequests, 0)
	case status == http.StatusOK:
		return status, answer
	}
	return 0, b
}

// forward has another node answer a request.
func (a *API) forward(c *call, r *nodeoshttp.Request, b []byte) (int, []byte) {
	status, answer, err := a.Forward(r, b)
	if err != nil {
		a.Log.Debug("exception while forwarding a request", "path", c.path, "error", err)
		return a.fault(b, err)
	}
	return status, answer
}

// public is what clients get of an error. Those of the node's own files are the
// operator's: they go to the log, with their paths.
func (a *API) public(path string, err error) error {
	if a.Damaged != nil && a.Damaged(err) {
		return errDamaged
	}
	if !errors.As(err, new(*fs.PathError)) && !errors.As(err, new(*os.LinkError)) {
		return err
	}
	a.Log.Error("A request failed because of the node's files", "path", path, "error", err)
	text := "the node cannot use one of its files; its log says which"
	if errors.Is(err, syscall.ENOSPC) {
		text = "a disk of the node is full; its log says which"
	}
	if e := exception.Of(err); e != nil {
		return exception.New(e.Kind, text)
	}
	return errors.New(text)
}

// errDamaged is what clients get in place of the error of a state, a log or a history that is
// damaged, which is the operator's and names files.
var errDamaged = errors.New("stored data of this node is damaged; ask its operator")

func (c *call) run(q *query, body string, b []byte) ([]byte, error) {
	if c.category == ChainRW && (q.api.NoTransactions || q.api.Transactions.RefusesTransactions()) {
		return b, exception.New(exception.MissingChainAPIPlugin,
			"Not allowed, node has api-accept-transactions = false")
	}
	var err error
	if c.takes {
		if err = q.turn(); err != nil {
			return b, err
		}
	}
	limits := variant.Limits{Take: q.take, Elements: c.most}
	if c.raw != nil {
		q.params.value, err = c.raw(body, limits)
	} else {
		q.params.value, err = parseBody(body, c.bodies, limits)
	}
	if err != nil {
		return b, err
	}
	return c.answer(q, b)
}

// isEmpty tells whether nodeos takes a body for none: blanks, or braces with
// nothing but blanks and tabs between them (Leap: is_empty_content).
func isEmpty(body string) bool {
	s := strings.Trim(body, " ")
	if s == "" {
		return true
	}
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return false
	}
	return strings.Trim(s[1:len(s)-1], " \t") == ""
}

// parseBody returns the parameters in a body, null if there are none (Leap:
// parse_params).
func parseBody(body string, want bodies, l variant.Limits) (variant.Value, error) {
	if isEmpty(body) {
		if want == required || want == requiredText {
			return variant.Value{}, exception.New(exception.InvalidHTTPRequest, "A Request body is required")
		}
		return variant.Value{}, nil
	}
	if want == noParameters {
		return variant.Value{}, invalid(exception.New(exception.InvalidHTTPRequest, "no parameter should be given"))
	}
	v, err := variant.ParseWithin(body, l)
	if errors.Is(err, variant.ErrElements) {
		return v, exception.New(exception.TooManyTxAtOnce, "Attempt to push too many transactions at once")
	}
	if err == nil && v.IsNull() && want != requiredText {
		_, _, err = v.Members() // which null has not
	}
	if err != nil {
		return v, invalid(err)
	}
	return v, nil
}

// invalid is what every failure to read parameters becomes.
func invalid(err error) error {
	return exception.Wrap(exception.InvalidHTTPRequest, err, "Unable to parse valid input from POST body")
}

// params reads the members of the parameters with nodeos' conversions. What is
// missing has its default, what is not known is ignored. The first error sticks.
type params struct {
	value variant.Value
	err   error
}

func (p *params) fail(err error) {
	if p.err == nil && err != nil {
		p.err = err
	}
}

// find returns a member. The parameters of a call that was given none are null.
func (p *params) find(key string) (variant.Value, bool) {
	if p.value.IsNull() || p.err != nil {
		return variant.Value{}, false
	}
	return p.value.Find(key)
}

// optional returns a member unless it is missing or null.
func (p *params) optional(key string) (variant.Value, bool) {
	v, ok := p.find(key)
	return v, ok && !v.IsNull()
}

// end returns the error of all that was read. It fails too if the parameters are no
// object.
func (p *params) end() error {
	if p.err == nil && p.value.Kind() != variant.Object && !p.value.IsNull() {
		_, _, p.err = p.value.Members()
	}
	if p.err != nil {
		return invalid(p.err)
	}
	return nil
}

// view ends the reading of the parameters, and returns the state, which the caller closes.
func (q *query) view() (*state.View, error) {
	if err := q.end(); err != nil {
		return nil, err
	}
	return q.api.Chain.View()
}

func nameOf(v variant.Value) (types.Name, error) {
	s, err := v.Text()
	if err != nil {
		return 0, err
	}
	return types.ParseName(s)
}

func (p *params) name(key string) types.Name {
	v, ok := p.find(key)
	if !ok {
		return 0
	}
	n, err := nameOf(v)
	p.fail(err)
	return n
}

func (p *params) optionalName(key string) *types.Name {
	if _, ok := p.optional(key); !ok {
		return nil
	}
	n := p.name(key)
	return &n
}

func (p *params) text(key, otherwise string) string {
	v, ok := p.find(key)
	if !ok {
		return otherwise
	}
	s, err := v.AsText()
	p.fail(err)
	return s
}

func (p *params) boolean(key string, otherwise bool) bool {
	v, ok := p.find(key)
	if !ok {
		return otherwise
	}
	t, err := v.AsBool()
	p.fail(err)
	return t
}

func (p *params) uint32(key string, otherwise uint32) uint32 {
	v, ok := p.find(key)
	if !ok {
		return otherwise
	}
	n, err := v.AsUint64()
	p.fail(err)
	return uint32(n)
}

func (p *params) optionalUint32(key string) *uint32 {
	if _, ok := p.optional(key); !ok {
		return nil
	}
	n := p.uint32(key, 0)
	return &n
}

func (p *params) optionalInt32(key string) *int32 {
	v, ok := p.optional(key)
	if !ok {
		return nil
	}
	n, err := v.AsInt64()
	p.fail(err)
	i := int32(n)
	return &i
}

// elements calls f with the elements of a member that is a list.
func (p *params) elements(key string, f func(variant.Value) error) {
	v, ok := p.find(key)
	if !ok {
		return
	}
	list, err := v.Elements()
	p.fail(err)
	for _, e := range list {
		p.fail(f(e))
	}
}

func (p *params) names(key string) (list []types.Name) {
	p.elements(key, func(v variant.Value) error {
		n, err := nameOf(v)
		list = append(list, n)
		return err
	})
	return list
}

// checksumOf reads hex; what is short is filled up with zeros (libfc: sha256.cpp).
func checksumOf(v variant.Value) (c types.Checksum256, err error) {
	s, err := v.AsText()
	if err != nil {
		return c, err
	}
	data, err := types.ParseHex(s)
	copy(c[:], data)
	return c, err
}

func keyOf(v variant.Value) (types.PublicKey, error) {
	s, err := v.AsText()
	if err != nil {
		return types.PublicKey{}, err
	}
	return types.ParsePublicKey(s)
}

// stopwatch tells when a walk over rows has to end.
type stopwatch struct {
	limited bool
	end     time.Time
}

// timeLimit returns the end of a call that walks rows, from the call's own limit
// and the node's.
func (q *query) timeLimit(ms *uint32) stopwatch {
	limit := q.api.MaxResponseTime
	if ms != nil {
		if own := time.Duration(*ms) * time.Millisecond; limit < 0 || own < limit {
			limit = own
		}
	}
	return stopwatch{limit >= 0, q.begin.Add(limit)}
}

func (s stopwatch) over() bool { return s.limited && !time.Now().Before(s.end) }

// whole counts memory of an answer that has all there is, as nodeos gives it without a limit of time: so that
// it ends before it is there. Its error ends it.
func (q *query) whole(bytes int) error {
	if limit := q.api.MaxResponseTime; limit >= 0 && time.Since(q.begin) > max(limit, q.api.WholeTime) {
		return exception.New(exception.Deadline, "there is too much to answer with all of it")
	}
	return q.take(int64(bytes))
}

// itemLimit returns how many rows an answer may have.
func (q *query) itemLimit(asked uint32) uint32 {
	if q.api.MaxResponseTime >= 0 && asked > maxItems {
		return maxItems
	}
	return asked
}
