package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/gorilla/websocket"

	"tarn/httpserver"
)

// sockets serves WebSocket. Requests are answered as over HTTP, with the same turns and the same
// memory; go-ethereum's server, which reads on while it works, gets subscriptions alone.
type sockets struct {
	s       *Service
	server  *rpc.Server
	answers http.Handler // requests in the form of HTTP
	quick   *quick
	origins http.Handler // go-ethereum's, which refuses other sites' pages
	upgrade websocket.Upgrader
	ctx     context.Context // until connections are to end
	cancel  context.CancelFunc
}

func (s *Service) webSockets(server *rpc.Server, o *WSOptions) *sockets {
	of := s.older(o.APIs)
	k := &sockets{s: s, server: server,
		answers: of.askOthers(s.paceRequests(allowUnversioned(server), s.limits.Frame), s.limits.Frame),
		origins: server.WebsocketHandler(o.Origins)}
	k.ctx, k.cancel = context.WithCancel(s.hub.ctx)
	k.quick = s.quick(k.answers, o.APIs, of)
	k.upgrade = websocket.Upgrader{
		ReadBufferSize: socketBuffer, WriteBufferSize: socketBuffer, WriteBufferPool: new(sync.Pool),
		CheckOrigin: k.allowed,
	}
	return k
}

// status notes how a request is answered.
type status struct {
	header http.Header
	code   int
}

func (s *status) Header() http.Header         { return s.header }
func (s *status) WriteHeader(code int)        { s.code = code }
func (s *status) Write(b []byte) (int, error) { return len(b), nil }

// allowed asks go-ethereum's handler whether it would take a request: it refuses other sites' pages
// before it notes that there is no connection to take over.
func (k *sockets) allowed(r *http.Request) bool {
	to := &status{header: http.Header{}}
	k.origins.ServeHTTP(to, r)
	return to.code != http.StatusForbidden
}

// ServeHTTP implements http.Handler.
func (k *sockets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := k.upgrade.Upgrade(w, r, nil)
	if err != nil {
		return // the client has been told
	}
	client := k.s.client(r.Context())
	ctx, cancel := context.WithCancel(httpserver.Asking(context.WithoutCancel(r.Context()), client))
	c := &socket{of: k, conn: conn, client: client, name: conn.RemoteAddr().String(), from: r, ctx: ctx, cancel: cancel,
		working: make(chan struct{}, socketRequests)}
	k.s.sockets.Store(c.name, c)
	defer k.s.sockets.Delete(c.name)
	c.serve()
}

// socket is one connection.
type socket struct {
	of     *sockets
	conn   *websocket.Conn
	client httpserver.Client
	name   string
	from   *http.Request
	ctx    context.Context // until it ends
	cancel context.CancelFunc

	working chan struct{} // has an element for each request that is under way
	all     sync.WaitGroup
	coming  bool // a message has begun

	writing sync.Mutex
	naming  sync.Mutex
	named   map[rpc.ID]chan struct{} // subscriptions whose clients do not know their names yet
	library *io.PipeWriter           // to go-ethereum's server; nil until there is a subscription
}

// serve reads requests until the connection ends.
func (c *socket) serve() {
	defer c.all.Wait()
	defer context.AfterFunc(c.of.ctx, c.cancel)()
	defer context.AfterFunc(c.ctx, func() { _ = c.conn.Close() })() // which ends reading, and what is written
	defer c.cancel()
	defer func() {
		if c.library != nil {
			_ = c.library.Close() // it never fails
		}
	}()
	c.conn.SetReadLimit(c.of.s.limits.Frame)
	c.conn.SetPongHandler(func(string) error { return c.alive() })
	c.all.Go(c.ping)
	for {
		message, held, err := c.read()
		if err == nil {
			err = c.take(message, held)
		}
		if err != nil {
			return
		}
	}
}

// alive gives a client time that shows a sign of life. One whose message comes slowly shows none.
func (c *socket) alive() error {
	if c.coming {
		return nil
	}
	return c.conn.SetReadDeadline(time.Now().Add(socketIdle))
}

// ping asks for signs of life.
func (c *socket) ping() {
	tick := time.NewTicker(socketPing)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(socketWrite)); err != nil &&
				!errors.Is(err, context.DeadlineExceeded) {
				c.cancel()
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// read reads a message. What has come of it counts, and must have come fast enough.
func (c *socket) read() (message []byte, held int64, err error) {
	if err := c.alive(); err != nil {
		return nil, 0, err
	}
	_, from, err := c.conn.NextReader()
	if err != nil {
		return nil, 0, err
	}
	c.coming = true
	begin := time.Now()
	memory := c.of.s.memory
	defer func() {
		c.coming = false
		if err != nil {
			memory.Give(c.client, held)
			message, held = nil, 0
		}
	}()
	for {
		if len(message) == cap(message) {
			room := max(firstFrame, 2*cap(message))
			if more := int64(room-firstFrame) - held; more > 0 {
				if err := memory.Take(c.client, more); err != nil {
					return nil, held, errors.Join(err, c.dismiss(err))
				}
				held += more
			}
			message = append(make([]byte, 0, room), message...)
		}
		patience := frameGrace + time.Duration(len(message))*time.Second/slowestFrame
		if err := c.conn.SetReadDeadline(begin.Add(min(patience, longestFrame))); err != nil {
			return nil, held, err
		}
		n, err := from.Read(message[len(message):cap(message)])
		message = message[:len(message)+n]
		if err == io.EOF {
			return message, held, nil
		}
		if err != nil {
			return nil, held, err
		}
	}
}

// dismiss tells the client why the connection ends.
func (c *socket) dismiss(why error) error {
	text := websocket.FormatCloseMessage(websocket.CloseTryAgainLater, why.Error())
	return c.conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(socketFarewell))
}

// take has a message answered, and gives its memory back then.
func (c *socket) take(message []byte, held int64) error {
	give := func() { c.of.s.memory.Give(c.client, held) }
	end, err := c.reading(message)
	if err != nil {
		give()
		return errors.Join(err, c.dismiss(err))
	}
	about, err := aboutOf(message)
	end()
	if err != nil || about != requests {
		defer give()
		if err == nil && about == subscribes {
			return c.subscribe(message)
		}
		if err == nil {
			err = errMixed
		}
		told := c.write(refusal(message, err))
		if about == mixed {
			return told
		}
		return errors.Join(err, told)
	}
	select {
	case c.working <- struct{}{}:
	case <-c.ctx.Done():
		give()
		return context.Cause(c.ctx)
	}
	c.all.Go(func() {
		defer func() { <-c.working }()
		defer give()
		defer func() { // as net/http does: the node goes on
			if p := recover(); p != nil {
				log.Error("A request over WebSocket panicked", "conn", c.name, "panic", p,
					"stack", string(debug.Stack()))
				c.cancel()
			}
		}()
		c.answer(message)
	})
	return nil
}

// reading waits for a turn to read a message, if it is long.
func (c *socket) reading(message []byte) (end func(), err error) {
	if len(message) <= lightBytes {
		return func() {}, nil
	}
	return c.of.s.turn(c.ctx, c.client)
}

// answer answers a message as over HTTP.
func (c *socket) answer(message []byte) {
	if len(message) <= quickBytes {
		if text, taken := c.of.quick.answer(c.ctx, c.client, message, nil, func() string { return c.name }); taken {
			to := &heldWriter{ResponseWriter: &messages{socket: c}, s: c.of.s, client: c.client, body: message,
				end: func() {}}
			_, _ = to.Write(text) // who has gone needs none
			return
		}
	}
	r := c.from.Clone(c.ctx)
	r.Method, r.ContentLength, r.Body = http.MethodPost, int64(len(message)), whole(message)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Origin": c.from.Header.Values("Origin"),
		"User-Agent": c.from.Header.Values("User-Agent")}
	c.of.answers.ServeHTTP(&messages{socket: c}, r)
}

// messages is an answer that is a message of a connection.
type messages struct {
	socket *socket
	header http.Header
}

// Header implements http.ResponseWriter.
func (m *messages) Header() http.Header {
	if m.header == nil {
		m.header = http.Header{}
	}
	return m.header
}

// WriteHeader implements http.ResponseWriter: there is no status.
func (m *messages) WriteHeader(int) {}

// Write implements io.Writer.
func (m *messages) Write(b []byte) (int, error) {
	if err := m.socket.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// write writes a message. The connection of who does not take it ends.
func (c *socket) write(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	err := c.conn.SetWriteDeadline(time.Now().Add(socketWrite))
	if err == nil {
		err = c.conn.WriteMessage(websocket.TextMessage, bytes.TrimSuffix(text, []byte{'\n'}))
	}
	if err != nil {
		c.cancel()
	}
	return err
}

// about is what a message is about.
type about int

const (
	requests   about = iota
	subscribes       // nothing else
	mixed
)

var errMixed = &busy{errors.New("subscriptions and other requests are in one batch: send them one by one")}

// parseError is that of go-ethereum's server, with its code.
type parseError struct{ error }

func (p *parseError) ErrorCode() int { return -32700 }

// aboutOf tells what a message is about.
func aboutOf(message []byte) (about, error) {
	type request struct{ Method string }
	if !bytes.Contains(message, []byte("subscribe")) {
		var any json.RawMessage
		if err := json.Unmarshal(message, &any); err != nil {
			return requests, &parseError{err}
		}
		return requests, nil
	}
	var list []request
	if trimmed := bytes.TrimLeft(message, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(message, &list); err != nil && !json.Valid(message) {
			return requests, &parseError{err}
		}
	} else {
		var one request
		if err := json.Unmarshal(message, &one); err != nil && !json.Valid(message) {
			return requests, &parseError{err}
		}
		list = append(list, one)
	}
	n := 0
	for _, r := range list {
		if strings.HasSuffix(r.Method, "_subscribe") || strings.HasSuffix(r.Method, "_unsubscribe") {
			n++
		}
	}
	switch {
	case n == 0:
		return requests, nil
	case n < len(list):
		return mixed, nil
	case len(message) > librarySize:
		return mixed, &busy{fmt.Errorf("a message about subscriptions has more than %d bytes", librarySize)}
	}
	return subscribes, nil
}

// subscribe hands a message to go-ethereum's server, which runs while the connection does.
func (c *socket) subscribe(message []byte) error {
	if c.library == nil {
		from, to := io.Pipe()
		c.library = to
		c.all.Go(func() { c.of.server.ServeCodec(rpc.NewCodec(&piped{PipeReader: from, socket: c}), 0) })
	}
	// While an answer waits for the client to take it, no other is asked for: the library would hold
	// them all.
	c.writing.Lock()
	//lint:ignore SA2001 it waits, and writes nothing
	c.writing.Unlock()
	_, err := io.Copy(c.library, &versioner{ReadCloser: io.NopCloser(bytes.NewReader(message))})
	return err
}

// piped is the connection that go-ethereum's server sees.
type piped struct {
	*io.PipeReader
	socket *socket
}

// Write implements io.Writer.
func (p *piped) Write(b []byte) (int, error) {
	if err := p.socket.write(b); err != nil {
		return 0, err
	}
	p.socket.noteSubscriptions(b)
	return len(b), nil
}

// awaits returns a channel that is closed when the client has been told the name of its subscription:
// the library keeps, without a bound, what is told before.
func (c *socket) awaits(id rpc.ID) <-chan struct{} {
	c.naming.Lock()
	defer c.naming.Unlock()
	if c.named == nil {
		c.named = map[rpc.ID]chan struct{}{}
	}
	told := make(chan struct{})
	c.named[id] = told
	return told
}

// noteSubscriptions notes which subscriptions an answer names.
func (c *socket) noteSubscriptions(answer []byte) {
	c.naming.Lock()
	defer c.naming.Unlock()
	for id, told := range c.named {
		if bytes.Contains(answer, []byte(`"`+id+`"`)) {
			close(told)
			delete(c.named, id)
		}
	}
}

// SetWriteDeadline is for the socket to set.
func (p *piped) SetWriteDeadline(time.Time) error { return nil }

// RemoteAddr implements rpc.ConnRemoteAddr.
func (p *piped) RemoteAddr() string { return p.socket.name }
