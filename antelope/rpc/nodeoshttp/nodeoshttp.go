// Package nodeoshttp is HTTP as nodeos speaks it: endpoints are found by their whole target, in
// categories that an address serves, and get whole bodies; whoever comes from another site, or
// asks for another host, is told so in nodeos' headers (Leap: beast_http_session.hpp).
//
// It knows paths, bodies and status codes. What an endpoint means, and what the body of a
// refusal says, is its owner's (Faults). Connections, and bytes and requests under way, are
// bounded by package httpserver.
package nodeoshttp

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"time"

	"tarn/httpserver"
)

// Category is a set of kinds of endpoints, one bit each. What the bits mean is the
// owner's.
type Category uint32

// All is every category.
const All Category = math.MaxUint32

// Request is what an endpoint is asked.
type Request struct {
	Context    context.Context // ends with the connection and with the server
	Target     string          // path and query, as they came
	Body       string
	Categories Category // that the address serves

	server *Server  // nil for a request that no server made
	taken  int64    // bytes
	ends   []func() // of turns
}

// EndTurn gives the turn of the request to others: it waits for something else than the processor from now on. One
// goroutine calls it.
func (r *Request) EndTurn() {
	for _, end := range r.ends {
		end()
	}
	r.ends = nil
}

// Turn waits for a turn, until EndTurn, of a request to an endpoint that Waits: to work on what has come before it
// waits for something else, or on the answer after it. Such requests take turns among themselves alone, so that none
// waits behind those that only ask. Who has a turn keeps it. Its error is the context's, or [*httpserver.Crowded]. One
// goroutine calls it.
func (r *Request) Turn() error {
	if r.server == nil || len(r.ends) > 0 {
		return nil
	}
	end, err := r.server.waiting.Take(r.Context, httpserver.ClientOf(r.Context))
	if err != nil {
		return err
	}
	r.ends = append(r.ends, end)
	return nil
}

// Take counts memory that the request takes besides its body as in flight, until it has
// been answered. Its error is of type [*httpserver.Busy], and the answer to it the refusal
// [TooManyBytes]. One goroutine calls it.
func (r *Request) Take(bytes int64) error {
	if r.server == nil {
		return nil
	}
	if err := r.server.edge.Take(httpserver.ClientOf(r.Context), bytes); err != nil {
		return err
	}
	r.taken += bytes
	return nil
}

// Handler answers a request: it appends the body to b, which may have something already, and
// returns it with the status. It is called from many goroutines, of requests that have waited
// for their turn if it is not one that Waits.
type Handler func(r *Request, b []byte) (status int, body []byte)

// Endpoint is what is served at a path. It is found only on addresses that serve
// one of its categories.
type Endpoint struct {
	Path     string
	Category Category
	Text     bool // the answer is text/plain, not JSON
	Hidden   bool // Server.Paths leaves it out
	AnyHost  bool // whatever name it is asked by: who watches a machine asks by its address, or by none
	// Waits tells that Handle may wait for something else than the processor, or is
	// wanted at once, so that it is not one of the few that work at once. What is work of it, which strangers
	// size, it does in a [Request.Turn].
	Waits  bool
	Handle Handler
}

// Refusal is why a request reached no endpoint.
type Refusal int

// The reasons.
const (
	BadTarget Refusal = iota // the path is not absolute, or climbs
	BadHost                  // the Host header names another server
	NotFound
	TooManyBytes    // in flight
	TooManyRequests // in flight
)

// Faults appends the body of a refusal and returns it with its status. n is the
// number that is too large, if one is.
type Faults func(b []byte, r Refusal, n int64) (status int, body []byte)

// Options are the limits and habits of a server. The zero value of a limit is what
// its comment says.
type Options struct {
	MaxBody          int64 // bytes of a request's body; 0 is none but the empty one
	MaxBytesInFlight int64 // bodies, also while they are read, what they become, and answers; below 0 is no limit
	MaxConnections   int   // that get an answer; below 0 is as many as are taken at all

	Trusted httpserver.Trusted // whose addresses have no share of their own; nil is this machine's

	AnyHost bool     // take every Host header
	Hosts   []string // names that a Host header may have besides the addresses
	NoReuse bool     // close connections after one answer
	Server  string   // Server header; empty for none

	AllowOrigin, AllowHeaders, MaxAge string // Access-Control headers; empty for none
	AllowCredentials                  bool

	HeaderTimeout time.Duration // for a request's headers; 0 is 10 s
	BodyTimeout   time.Duration // for a request's body; 0 is 30 s
	IdleTimeout   time.Duration // between requests; 0 is 5 min
	WriteTimeout  time.Duration // for the client to take an answer; 0 is 30 s

	Log    *slog.Logger
	Served func(target string) // is told of each request to an endpoint; nil for nobody
	// Answered is told of each of them when its answer has been made, before it is sent; nil
	// for nobody.
	Answered func(Answered)
}

// Answered is the answer of an endpoint.
type Answered struct {
	Target string
	Status int
	Bytes  int
	Took   time.Duration // since the request had come, the wait for its turn included
}

// Server serves endpoints. They are added before it listens.
type Server struct {
	opt       Options
	edge      *httpserver.Server
	large     *httpserver.Turns // of requests with large bodies
	waiting   *httpserver.Turns // of requests to endpoints that wait, while they work
	faults    Faults
	endpoints map[string]*Endpoint
	hosts     map[string]bool
	buffers   sync.Pool // of *[]byte, for answers
	bodies    sync.Pool // of *[]byte of firstRead, for what requests say
}

// A large body becomes up to eighty times its bytes in memory, of which garbage stays as much again
// until it is collected: as many as there are processors are worked on at once.
const (
	largeBody = 64 << 10
	mostWait  = 16 << 10 // connections there are at most
)

// New returns a server without endpoints.
func New(o Options, faults Faults) *Server {
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	procs := runtime.GOMAXPROCS(0)
	s := &Server{opt: o, faults: faults, large: httpserver.NewTurns(procs, max(1, procs/2), mostWait),
		waiting: httpserver.NewTurns(2*procs, procs, mostWait), endpoints: map[string]*Endpoint{},
		hosts: map[string]bool{}, edge: httpserver.New(httpserver.Options{
			MaxBytesInFlight: o.MaxBytesInFlight, MaxConnections: o.MaxConnections, NoReuse: o.NoReuse,
			Trusted: o.Trusted, HeaderTimeout: o.HeaderTimeout, BodyTimeout: o.BodyTimeout, IdleTimeout: o.IdleTimeout,
			TakeTimeout: o.WriteTimeout, Log: o.Log,
		})}
	for _, h := range o.Hosts {
		host, _ := SplitHostPort(h)
		s.hosts[host] = true
	}
	return s
}

// Add adds endpoints, whose paths must be new.
func (s *Server) Add(list ...Endpoint) error {
	for i := range list {
		e := &list[i]
		if s.endpoints[e.Path] != nil {
			return errors.New("http url " + e.Path + " is not unique")
		}
		s.endpoints[e.Path] = e
	}
	return nil
}

// Paths returns the endpoints that are served for some of these categories, in
// no order.
func (s *Server) Paths(c Category) []string {
	var list []string
	for path, e := range s.endpoints {
		if e.Category&c != 0 && !e.Hidden {
			list = append(list, path)
		}
	}
	return list
}

// Stop ends the server: it takes no more connections, lets those requests that
// are under way end, and closes everything when ctx ends.
func (s *Server) Stop(ctx context.Context) error { return s.edge.Stop(ctx) }

// buffer returns an empty slice to append an answer to.
func (s *Server) buffer() []byte {
	if b, ok := s.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 4096)
}

// maxBuffer is the largest slice that is kept for the next answer.
const maxBuffer = 1 << 20

func (s *Server) release(b []byte) {
	if cap(b) > 0 && cap(b) <= maxBuffer {
		s.buffers.Put(&b)
	}
}
