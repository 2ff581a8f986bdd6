// Package httpserver is HTTP at the edge of a node: it listens, and holds whoever asks to limits
// of number, size and time, whatever handler answers.
//
// It owns the listeners (TCP, unix sockets, TLS over either), the bounds on connections, on
// bytes in flight and on requests that are worked on at once, and the patience with bodies
// that come slowly. A handler is mounted as it is: what streams, or becomes a WebSocket, stays
// under the bounds on connections. It knows no paths, no hosts, no form of an error: those
// are the dialect of a protocol.
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the limits of a server.
type Options struct {
	MaxBytesInFlight int64 // what Take counts, bodies among it; below 0 is no limit
	// Bytes are what Take counts, in place of MaxBytesInFlight, where others count theirs among
	// them; nil for MaxBytesInFlight, and a share of it for each client.
	Bytes          *Shares
	MaxConnections int  // above which Overload tells handlers so; below 0 is as many as are taken at all
	MaxEach        int  // connections of one client, above which they are closed at once; 0 is 1024, below 0 no limit
	NoReuse        bool // close connections after one answer

	Trusted Trusted // nil is Loopback

	HeaderTimeout time.Duration // for a request's headers; 0 is 10 s
	BodyTimeout   time.Duration // for a request's body; 0 is 30 s
	IdleTimeout   time.Duration // between requests; 0 is 5 min
	// for an answer, from the end of its request's headers; 0 is as long as its handler says
	WriteTimeout time.Duration
	TakeTimeout  time.Duration // for a client to take the answer to a plain request; 0 is WriteTimeout

	TLS *tls.Config  // nil for plain connections
	Log *slog.Logger // nil for none
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// ShareOf is which part of some bytes one client may have: a quarter, or what the largest requests
// need.
func ShareOf(all int64) int64 { return max(all/4, min(all, 16<<20)) }

func (o *Options) complete() {
	o.HeaderTimeout = orDefault(o.HeaderTimeout, 10*time.Second)
	o.BodyTimeout = orDefault(o.BodyTimeout, 30*time.Second)
	o.IdleTimeout = orDefault(o.IdleTimeout, 5*time.Minute)
	o.TakeTimeout = orDefault(o.TakeTimeout, o.WriteTimeout)
	if o.Trusted == nil {
		o.Trusted = Loopback()
	}
	if o.MaxEach == 0 {
		o.MaxEach = maxSockets / 16
	}
	if o.Bytes == nil {
		o.Bytes = NewShares(o.MaxBytesInFlight, ShareOf(o.MaxBytesInFlight))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Server serves handlers at listeners. Its methods may be called by all goroutines.
type Server struct {
	opt         Options
	turns       *Turns
	sockets     *Shares
	connections atomic.Int64

	mu      sync.Mutex
	serving []*serving
	closed  bool
}

// serving is what serves at one listener.
type serving struct {
	http  *http.Server
	lanes *lanes        // nil: all is net/http's
	from  net.Listener  // of the lanes
	done  chan struct{} // closed when net/http has ended, and the lanes' accepting
}

// workEach is how many requests a processor works on at once. More would not be done
// sooner, and each holds the answer that it makes.
const workEach = 4

// New returns a server that listens nowhere yet.
func New(o Options) *Server {
	o.complete()
	work := workEach * runtime.GOMAXPROCS(0)
	return &Server{opt: o, turns: NewTurns(work, work/2, maxSockets), sockets: NewShares(maxSockets, int64(o.MaxEach))}
}

// Serve lets a handler answer what comes in at a listener, which it takes over, until Stop.
func (s *Server) Serve(l net.Listener, h http.Handler) error { return s.ServePlain(l, h, nil) }

// ServePlain does what Serve does, and lets p, unless it is nil, answer what is plain. Where
// connections are encrypted or not kept, or may be one too many, all is the handler's.
func (s *Server) ServePlain(l net.Listener, h http.Handler, p Plain) error {
	address := l.Addr()
	l = &counting{Listener: l, s: s}
	if s.opt.TLS != nil {
		l = tls.NewListener(l, s.opt.TLS)
	}
	v := &serving{done: make(chan struct{}), http: &http.Server{
		Handler:           s.markClients(s.limitBodies(h)),
		ReadHeaderTimeout: s.opt.HeaderTimeout,
		WriteTimeout:      s.opt.WriteTimeout,
		IdleTimeout:       s.opt.IdleTimeout,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       markContext,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelWarn),
	}}
	v.http.SetKeepAlivesEnabled(!s.opt.NoReuse)
	to := l
	if p != nil && s.opt.TLS == nil && !s.opt.NoReuse && s.opt.MaxConnections < 0 {
		v.from = l
		h := &handed{at: address, conns: make(chan net.Conn), ended: make(chan struct{})}
		v.lanes = &lanes{s: s, plain: p, handed: h, all: map[*lane]struct{}{}}
		to = h
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	s.serving = append(s.serving, v)
	go func() {
		defer close(v.done)
		if err := v.serve(to); !errors.Is(err, http.ErrServerClosed) {
			s.opt.Log.Error("HTTP service ended", "address", address, "error", err)
		}
	}()
	return nil
}

// serve serves until the end.
func (v *serving) serve(l net.Listener) error {
	if v.lanes == nil {
		return v.http.Serve(l)
	}
	end := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { v.lanes.watch(end) })
	accepting := make(chan error, 1)
	beside.Go(func() {
		err := v.lanes.accept(v.from)
		if err != nil {
			err = errors.Join(err, l.Close()) // which ends what is served
		}
		accepting <- err
	})
	err := v.http.Serve(l)
	close(end)
	beside.Wait()
	return errors.Join(err, <-accepting)
}

// end ends what serves: connections on which plain requests came first, because they may hand
// themselves over, and then net/http's.
func (v *serving) end(ctx context.Context, one func(*http.Server) error) error {
	var err error
	if v.lanes != nil {
		err = v.from.Close()
		v.lanes.end(ctx)
	}
	err = errors.Join(err, one(v.http))
	<-v.done
	return err
}

// Stop ends the server: it takes no more connections, lets those requests that
// are under way end, and closes everything when ctx ends, but for connections that handlers
// have taken over.
func (s *Server) Stop(ctx context.Context) error {
	return s.end(ctx, func(h *http.Server) error {
		err := h.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, h.Close())
		}
		return err
	})
}

// Close ends the server at once.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return s.end(ctx, (*http.Server).Close)
}

func (s *Server) end(ctx context.Context, one func(*http.Server) error) error {
	s.mu.Lock()
	list := s.serving
	s.serving, s.closed = nil, true
	s.mu.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	for i, v := range list {
		wg.Go(func() { errs[i] = v.end(ctx, one) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Turn waits until there is room for one more request to work on, or until its client
// is gone: then ok is false. Where there is room it makes no difference that a client has
// closed its half of the connection. Clients, which are found by the context, take turns. The
// caller calls end.
func (s *Server) Turn(ctx context.Context) (end func(), ok bool) {
	end, err := s.turns.Take(ctx, ClientOf(ctx))
	return end, err == nil
}
