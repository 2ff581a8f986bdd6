package ship

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/ship/wire"
)

// ServerOptions say where a history is served.
type ServerOptions struct {
	Address string // empty for none
	Socket  string // path of a unix socket; empty for none
	Log     *slog.Logger
}

// The server's bounds. A client that takes nothing for so long is dropped: it holds one
// message, of which a megabyte is in memory, and whatever the kernel keeps for it.
const (
	mostSessions = 1000
	requestBytes = 16 << 20
	patience     = 5 * time.Minute
	piece        = 1 << 20
)

// Server serves a history to clients, each in a session of its own.
type Server struct {
	h         *History
	o         ServerOptions
	http      *http.Server
	listeners []net.Listener
	upgrade   websocket.Upgrader
	first     uint32
	running   sync.WaitGroup
	stats     ServerStats

	mu       sync.Mutex
	sessions map[*session]*websocket.Conn
	closed   bool
}

// ServerStats count what clients were sent; any goroutine may read them.
type ServerStats struct {
	Sessions atomic.Int64 // at the moment
	Accepted atomic.Uint64
	Refused  atomic.Uint64
	Blocks   atomic.Uint64
	Bytes    atomic.Uint64
}

// Serve begins to serve, until Close. The history's hooks have been subscribed and its
// chain stands at its head.
func (h *History) Serve(o ServerOptions) (*Server, error) {
	if o.Log == nil {
		o.Log = h.o.Log
	}
	s := &Server{h: h, o: o, sessions: make(map[*session]*websocket.Conn), first: h.earliest()}
	s.upgrade = websocket.Upgrader{
		ReadBufferSize: 4096, WriteBufferSize: 64 << 10,
		CheckOrigin: func(*http.Request) bool { return true }, // as nodeos: it is not for the outside
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.connect), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)}
	for _, l := range []struct{ network, address string }{{"tcp", o.Address}, {"unix", o.Socket}} {
		if l.address == "" {
			continue
		}
		if l.network == "unix" { // one that a node before left
			if err := removeSocket(l.address); err != nil {
				return nil, errors.Join(err, s.Close())
			}
		}
		listener, err := net.Listen(l.network, l.address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("serve state history: %w", err), s.Close())
		}
		s.listeners = append(s.listeners, listener)
	}
	h.follow(s.accepted)
	for _, l := range s.listeners {
		s.running.Go(func() {
			if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				o.Log.Error("State history is not served any more", "address", l.Addr(), "error", err)
			}
		})
	}
	return s, nil
}

// removeSocket removes a socket that nobody listens on.
func removeSocket(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode()&os.ModeSocket == 0 {
		err = fmt.Errorf("%s is not a socket", path)
	}
	if err == nil {
		err = os.Remove(path)
	}
	return err
}

// Addresses are those that are listened on.
func (s *Server) Addresses() (list []net.Addr) {
	for _, l := range s.listeners {
		list = append(list, l.Addr())
	}
	return list
}

// Stats are what has been served.
func (s *Server) Stats() *ServerStats { return &s.stats }

// Close ends all sessions.
func (s *Server) Close() error {
	s.h.follow(nil)
	err := s.http.Close()
	for _, l := range s.listeners { // of a server that has not begun
		l.Close() //nolint:errcheck // most are closed
	}
	s.mu.Lock()
	s.closed = true
	for _, c := range s.sessions {
		c.Close() //nolint:errcheck // it ends
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// accepted leads all sessions to a new head.
func (s *Server) accepted(t tip) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		x.accepted(t)
	}
}

// admit begins a session; nil if there are too many.
func (s *Server) admit(c *websocket.Conn) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.sessions) >= mostSessions {
		return nil
	}
	x := newSession(s.first, s.h.at())
	s.sessions[x] = c
	s.stats.Sessions.Add(1)
	s.stats.Accepted.Add(1)
	return x
}

func (s *Server) leave(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, x)
	s.stats.Sessions.Add(-1)
}

// connect serves one client.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	c, err := s.upgrade.Upgrade(w, r, nil)
	if err != nil {
		return // it has been told
	}
	defer c.Close()
	x := s.admit(c)
	if x == nil {
		s.stats.Refused.Add(1)
		s.o.Log.Warn("a client of state history is refused: there are too many", "client", r.RemoteAddr, "most", mostSessions)
		return
	}
	defer s.leave(x)
	s.running.Add(1)
	defer s.running.Done()
	s.o.Log.Info(fmt.Sprintf("incoming connection from %s", r.RemoteAddr))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() { cancel(s.listen(x, c)) }()
	err = s.talk(ctx, x, &sender{c: c, stats: &s.stats})
	s.o.Log.Info(fmt.Sprintf("Closing connection from %s", r.RemoteAddr), "reason", errors.Join(err, context.Cause(ctx)))
}

var errTooMany = errors.New("it asks for more than it takes")

// listen takes requests until the connection ends.
func (s *Server) listen(x *session, c *websocket.Conn) error {
	c.SetReadLimit(requestBytes)
	for {
		_, b, err := c.ReadMessage()
		if err != nil {
			return err
		}
		q, err := wire.DecodeRequest(b)
		if err != nil {
			return fmt.Errorf("a request of %d bytes: %w", len(b), err)
		}
		if !x.asked(q, s.h.has) {
			return errTooMany
		}
	}
}

// talk sends what is due.
func (s *Server) talk(ctx context.Context, x *session, out *sender) error {
	if err := out.text(wire.ABI); err != nil {
		return err
	}
	for {
		d, ok := x.take(s.h.position)
		switch {
		case !ok:
			select {
			case <-ctx.Done():
				return nil
			case <-x.wake:
			}
			continue
		case d.status:
			if err := out.status(s.h.status(d.at)); err != nil {
				return err
			}
		default:
			if err := s.h.send(out, d); err != nil {
				return err
			}
			s.stats.Blocks.Add(1)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// sender writes messages, each in pieces as they come.
type sender struct {
	c     *websocket.Conn
	stats *ServerStats
}

func (o *sender) text(b []byte) error {
	if err := o.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return o.c.WriteMessage(websocket.TextMessage, b)
}

func (o *sender) status(s wire.Status) error {
	if err := o.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return o.c.WriteMessage(websocket.BinaryMessage, s.Append(nil))
}

// message is one that is being written. Each piece has its own time.
type message struct {
	w io.WriteCloser
	o *sender
}

func (o *sender) begin() (*message, error) {
	w, err := o.c.NextWriter(websocket.BinaryMessage)
	return &message{w, o}, err
}

// Write sends a piece.
func (m *message) Write(b []byte) (int, error) {
	if err := m.o.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	n, err := m.w.Write(b)
	m.o.stats.Bytes.Add(uint64(n))
	return n, err
}

func (m *message) end() error { return m.w.Close() }
