package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tarn/httpserver"
	"tarn/opera/rpc"
)

// endpoints are the addresses at which requests are answered over HTTP and WebSocket, from
// the start on or since admin_startHTTP or admin_startWS. Any goroutine may call its
// methods.
type endpoints struct {
	r        *requests
	mu       sync.Mutex
	http, ws *endpoint // nil while not served; the same one where both have one address
}

// endpoint is one address. What is nil is not served at it.
type endpoint struct {
	at        string // host:port as it was asked for
	listening net.Addr
	http, ws  atomic.Pointer[rpc.Handler]
	server    *httpserver.Server
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := e.http.Load()
	if ws := e.ws.Load(); ws != nil && (handler == nil || strings.EqualFold(r.Header.Get("Upgrade"), "websocket")) {
		handler = ws
	}
	if handler == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	handler.ServeHTTP(w, r)
}

// Answer implements httpserver.Plain.
func (e *endpoint) Answer(ctx context.Context, r *httpserver.PlainRequest, out []byte) (a httpserver.PlainAnswer, taken bool) {
	handler := e.http.Load()
	if handler == nil {
		return a, false
	}
	return handler.Answer(ctx, r, out)
}

// StartHTTP begins to answer over HTTP. What is not said is as the node was configured.
func (e *endpoints) StartHTTP(host string, port int, o rpc.HTTPOptions) error {
	c := &e.r.of.Node
	if o.APIs == nil {
		o.APIs = c.HTTPModules
	}
	if o.Origins == nil {
		o.Origins = c.HTTPCors
	}
	if o.Hosts == nil {
		o.Hosts = c.HTTPVirtualHosts
	}
	o.Prefix = c.HTTPPathPrefix
	at := address(host, c.HTTPHost, port, c.HTTPPort)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.http != nil {
		return already("HTTP", e.http, at)
	}
	handler, err := e.r.service.Handler(&o, nil)
	if err != nil {
		return err
	}
	e.http, err = e.open(at, e.ws, func(to *endpoint) { to.http.Store(handler) })
	if err != nil {
		handler.Close()
		return err
	}
	e.r.of.log.Info("JSON-RPC is served over HTTP", "endpoint", e.http.listening, "namespaces", o.APIs)
	return nil
}

// StartWS begins to answer over WebSocket, in the same way.
func (e *endpoints) StartWS(host string, port int, o rpc.WSOptions) error {
	c := &e.r.of.Node
	if o.APIs == nil && !c.WSExposeAll {
		o.APIs = c.WSModules
	}
	if o.Origins == nil {
		o.Origins = c.WSOrigins
	}
	o.Prefix = c.WSPathPrefix
	at := address(host, c.WSHost, port, c.WSPort)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ws != nil {
		return already("WebSocket", e.ws, at)
	}
	handler, err := e.r.service.Handler(nil, &o)
	if err != nil {
		return err
	}
	e.ws, err = e.open(at, e.http, func(to *endpoint) { to.ws.Store(handler) })
	if err != nil {
		handler.Close()
		return err
	}
	e.r.of.log.Info("JSON-RPC is served over WebSocket", "endpoint", e.ws.listening, "namespaces", o.APIs)
	return nil
}

// already says that something is served (go-ethereum, node/rpcstack.go).
func already(what string, e *endpoint, at string) error {
	if e.at != at {
		return fmt.Errorf("HTTP server already running on %s", e.at)
	}
	return fmt.Errorf("JSON-RPC over %s is already enabled", what)
}

func address(host, configured string, port, otherwise int) string {
	if host == "" {
		if host = configured; host == "" {
			host = "127.0.0.1"
		}
	}
	if port == 0 {
		port = otherwise
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// open has a handler put into the endpoint of an address: the other one's, if it is at
// that, or a new one's, which then listens. It returns nil if it cannot.
func (e *endpoints) open(at string, other *endpoint, put func(*endpoint)) (*endpoint, error) {
	if other != nil && other.at == at {
		put(other)
		return other, nil
	}
	to := &endpoint{at: at}
	put(to)
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("listen for JSON-RPC: %w", err)
	}
	t := e.r.of.Node.HTTPTimeouts
	to.listening = listener.Addr()
	to.server = httpserver.New(httpserver.Options{
		Bytes: e.r.service.Memory(), Trusted: e.r.of.trustedAddresses(), MaxConnections: -1,
		HeaderTimeout: t.ReadTimeout, BodyTimeout: t.ReadTimeout,
		WriteTimeout: t.WriteTimeout, IdleTimeout: t.IdleTimeout, Log: e.r.of.log,
	})
	if err := to.server.ServePlain(listener, e.r.of.observed.withHealth(to), to); err != nil {
		return nil, err
	}
	return to, nil
}

// StopHTTP ends what is answered over HTTP; that nothing is, is no error.
func (e *endpoints) StopHTTP() error { return endSoon(e.stopHTTP) }

// StopWS ends what is answered over WebSocket, in the same way.
func (e *endpoints) StopWS() error { return endSoon(e.stopWS) }

func (e *endpoints) stopHTTP() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.http
	e.http = nil
	if was == nil {
		return nil
	}
	return was.shut(was.http.Swap(nil), was != e.ws)
}

func (e *endpoints) stopWS() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.ws
	e.ws = nil
	if was == nil {
		return nil
	}
	return was.shut(was.ws.Swap(nil), was != e.http)
}

// endSoon waits a short time for an end. The request that asks for it may have come by what
// ends, which does so after the answer then.
func endSoon(end func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}

// shut ends a handler of an endpoint, and the endpoint if it was the last. Who has not
// taken the answer in a second has none.
func (e *endpoint) shut(handler *rpc.Handler, last bool) error {
	defer handler.Close()
	if !last {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := e.server.Stop(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// close ends all, after what is answered.
func (e *endpoints) close() error { return errors.Join(e.stopHTTP(), e.stopWS()) }
