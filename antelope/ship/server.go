package ship

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/ship/wire"
	"tarn/httpserver"
)

// ServerOptions say where a history is served.
type ServerOptions struct {
	Address string             // empty for none
	Socket  string             // path of a unix socket; empty for none
	Trusted httpserver.Trusted // whose addresses have no share of the sessions; nil is this machine's
	Log     *slog.Logger
	Limits  Limits // all are to be set, as [DefaultLimits] does
}

// Server serves a history to clients, each in a session of its own.
type Server struct {
	h         *History
	o         ServerOptions
	edge      *httpserver.Server
	addresses []net.Addr
	upgrade   websocket.Upgrader
	requests  *httpserver.Shares // bytes
	places    *httpserver.Shares
	looks     *httpserver.Turns // of ids that are read in files
	first     uint32
	frames    map[wire.Version][]byte // the first one of clients
	running   sync.WaitGroup
	ctx       context.Context // of sessions
	end       context.CancelFunc
	counts    counts

	mu       sync.Mutex
	sessions map[*session]*websocket.Conn
	closed   bool
}

// ServerStats are what a server has done since it began, and how its clients are.
type ServerStats struct {
	Sessions          int // at the moment
	Accepted, Refused uint64
	Blocks, Bytes     uint64 // that were sent
	// Behind is how many blocks the slowest client has not been sent yet, of those that are
	// recorded and that it has asked for.
	Behind uint32
}

// counts are what goes into the stats; any goroutine counts.
type counts struct{ accepted, refused, blocks, bytes atomic.Uint64 }

// Serve begins to serve, until Close. The history's hooks have been subscribed and its
// chain stands at its head.
func (h *History) Serve(o ServerOptions) (*Server, error) {
	if err := o.Limits.Validate(); err != nil {
		return nil, fmt.Errorf("serve state history: %w", err)
	}
	if o.Log == nil {
		o.Log = h.o.Log
	}
	l := &o.Limits
	s := &Server{h: h, o: o, sessions: make(map[*session]*websocket.Conn), first: h.earliest(),
		requests: httpserver.NewShares(l.RequestsBytes, httpserver.ShareOf(l.RequestsBytes)),
		places:   httpserver.NewShares(int64(l.Sessions), int64(l.EachSessions)),
		looks:    httpserver.NewTurns(looksAtOnce, looksEach, 8*l.Sessions),
		frames:   map[wire.Version][]byte{wire.Leap: wire.Leap.ABI(), wire.Spring: wire.Spring.ABI()}}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.upgrade = websocket.Upgrader{
		ReadBufferSize: l.ReadBuffer, WriteBufferSize: l.WriteBuffer,
		CheckOrigin: func(*http.Request) bool { return true }, // as nodeos: it is not for the outside
	}
	s.edge = httpserver.New(httpserver.Options{MaxConnections: -1, MaxBytesInFlight: -1, Trusted: o.Trusted, Log: o.Log})
	h.follow(s.leadTo)
	if err := s.listenAll(); err != nil {
		return nil, errors.Join(fmt.Errorf("serve state history: %w", err), s.Close())
	}
	return s, nil
}

// listenAll begins to take connections.
func (s *Server) listenAll() error {
	var list []net.Listener
	if s.o.Address != "" {
		host, port, err := net.SplitHostPort(s.o.Address)
		if err != nil {
			return err
		}
		if list, err = httpserver.ListenTCP(context.Background(), host, port); err != nil {
			return err
		}
	}
	if s.o.Socket != "" {
		l, err := httpserver.ListenUnix(context.Background(), s.o.Socket)
		if err != nil {
			for _, l := range list {
				err = errors.Join(err, l.Close())
			}
			return fmt.Errorf("%s: %w", s.o.Socket, err)
		}
		list = append(list, l)
	}
	var errs []error
	for _, l := range list {
		s.addresses = append(s.addresses, l.Addr())
		errs = append(errs, s.edge.Serve(l, http.HandlerFunc(s.connect)))
	}
	return errors.Join(errs...)
}

// Addresses are those that are listened on.
func (s *Server) Addresses() []net.Addr { return s.addresses }

// Stats are what has been served.
func (s *Server) Stats() ServerStats {
	out := ServerStats{Accepted: s.counts.accepted.Load(), Refused: s.counts.refused.Load(),
		Blocks: s.counts.blocks.Load(), Bytes: s.counts.bytes.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Sessions = len(s.sessions)
	for x := range s.sessions {
		out.Behind = max(out.Behind, x.behind())
	}
	return out
}

// Close ends all sessions.
func (s *Server) Close() error {
	s.h.follow(nil)
	err := s.edge.Close()
	s.end()
	s.mu.Lock()
	s.closed = true
	for _, c := range s.sessions {
		c.Close() //nolint:errcheck // it ends
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// leadTo leads all sessions to a new head.
func (s *Server) leadTo(t tip) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		x.rewind(t)
	}
}

// admit begins a session of a client; nil if there are too many.
func (s *Server) admit(c *websocket.Conn, of httpserver.Client) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.places.Take(of, 1) != nil {
		return nil
	}
	x := newSession(s.h.version(), s.first, s.h.at(), s.o.Limits.Statuses)
	s.sessions[x] = c
	s.counts.accepted.Add(1)
	return x
}

func (s *Server) leave(x *session, of httpserver.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places.Give(of, 1)
	delete(s.sessions, x)
}

// connect serves one client.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	c, err := s.upgrade.Upgrade(w, r, nil)
	if err != nil {
		return // it has been told
	}
	defer c.Close()
	client := httpserver.ClientOf(r.Context())
	x := s.admit(c, client)
	if x == nil {
		s.counts.refused.Add(1)
		s.o.Log.Warn("a client of state history is refused: there are too many", "client", r.RemoteAddr,
			"most", s.o.Limits.Sessions, "of one address", s.o.Limits.EachSessions)
		return
	}
	defer s.leave(x, client)
	s.running.Add(1)
	defer s.running.Done()
	s.o.Log.Info(fmt.Sprintf("incoming connection from %s", r.RemoteAddr))
	ctx, cancel := context.WithCancelCause(httpserver.Asking(s.ctx, client))
	defer cancel(nil)
	requests := ration{s.requests, client, s.o.Limits.FreeRequest}
	if s.h.older != nil {
		x.waiting = newWaiting(x, requests)
		go func() {
			cancel(x.waiting.run(ctx, func(q *wire.BlocksRequest) (reach, error) { return s.reach(ctx, x, q) }))
		}()
	}
	go func() { cancel(s.listen(ctx, x, c, requests)) }()
	out := &sender{c: c, limits: &s.o.Limits, bytes: &s.counts.bytes}
	defer out.window.drop()
	err = s.talk(ctx, x, out)
	s.h.o.Damaged(err)
	s.o.Log.Info(fmt.Sprintf("Closing connection from %s", r.RemoteAddr),
		"reason", errors.Join(err, context.Cause(ctx)))
}

var errTooMany = errors.New("it asks for more than it takes")

// listen takes requests until the connection ends.
func (s *Server) listen(ctx context.Context, x *session, c *websocket.Conn, requests ration) error {
	c.SetReadLimit(s.o.Limits.RequestBytes)
	var held int64 // by what the last request for blocks lists
	defer func() { requests.giveBack(held) }()
	look := s.lookerOf(ctx)
	for {
		_, r, err := c.NextReader()
		if err != nil {
			return err
		}
		b, taken, err := requests.read(r)
		if err != nil {
			requests.giveBack(taken)
			return err
		}
		q, err := x.version.DecodeRequest(b)
		if err != nil {
			requests.giveBack(taken)
			return fmt.Errorf("a request of %d bytes: %w", len(b), err)
		}
		if x.waiting != nil {
			if !x.waiting.take(q, taken) {
				return errTooMany
			}
			continue
		}
		if !x.asked(q, reach{has: look.has, first: s.first}) {
			requests.giveBack(taken)
			return errTooMany
		}
		if q.Blocks != nil { // its list is about as long as it was
			taken, held = held, taken
		}
		requests.giveBack(taken)
	}
}

// reach is what a request is held against, with what nodes have if there are any.
func (s *Server) reach(ctx context.Context, x *session, q *wire.BlocksRequest) (reach, error) {
	here := reach{has: s.lookerOf(ctx).has, first: s.first}
	r, err := s.h.older.reach(ctx, x.version, q, here)
	if err != nil {
		return here, fmt.Errorf("a request from block %d on: %w", q.Start, err)
	}
	return r, nil
}

// status is what there is, here and on nodes.
func (s *Server) status(ctx context.Context, d due) wire.Status {
	here := s.h.status(d)
	if s.h.older == nil {
		return here
	}
	return s.h.older.status(ctx, here)
}

// talk sends what is due.
func (s *Server) talk(ctx context.Context, x *session, out *sender) error {
	if err := out.text(s.frames[x.version]); err != nil {
		return err
	}
	look := s.lookerOf(ctx)
	for {
		d, ok := x.take(look)
		switch {
		case !ok:
			out.window.drop()
			select {
			case <-ctx.Done():
				return nil
			case <-x.wake:
			}
			continue
		case d.status:
			if err := out.status(s.status(ctx, d)); err != nil {
				return err
			}
		default:
			if err := s.h.send(ctx, out, d); err != nil {
				return err
			}
			s.counts.blocks.Add(1)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// sender writes messages, each in pieces as they come.
type sender struct {
	c      *websocket.Conn
	limits *Limits
	bytes  *atomic.Uint64 // that all senders have sent
	room   []byte
	window window // of a node's older blocks
}

func (o *sender) text(b []byte) error {
	if err := o.c.SetWriteDeadline(time.Now().Add(o.limits.Patience)); err != nil {
		return err
	}
	return o.c.WriteMessage(websocket.TextMessage, b)
}

func (o *sender) status(s wire.Status) error {
	if err := o.c.SetWriteDeadline(time.Now().Add(o.limits.Patience)); err != nil {
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
	if err := m.o.c.SetWriteDeadline(time.Now().Add(m.o.limits.Patience)); err != nil {
		return 0, err
	}
	n, err := m.w.Write(b)
	m.o.bytes.Add(uint64(n))
	return n, err
}

// nothing says that there is nothing of a kind.
func (m *message) nothing() error {
	_, err := m.Write(wire.AppendNothing(nil))
	return err
}

// bytes sends bytes that are all in memory, after their length.
func (m *message) bytes(b []byte) error {
	if _, err := m.Write(wire.AppendLength(nil, uint64(len(b)))); err != nil {
		return err
	}
	for len(b) > 0 {
		n := min(len(b), m.o.limits.SentAtOnce)
		if _, err := m.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// room is memory for a piece, the same one each time.
func (m *message) room() []byte {
	if m.o.room == nil {
		m.o.room = make([]byte, m.o.limits.Piece)
	}
	return m.o.room
}

func (m *message) end() error { return m.w.Close() }
