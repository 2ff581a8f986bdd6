package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"

	"tarn/internal/closelistener"
)

// ListenTCP listens at a port of a host: of all interfaces if it is empty, and of all the
// addresses that a name stands for, as far as they can be had.
func ListenTCP(ctx context.Context, host, port string) ([]net.Listener, error) {
	hosts := []string{host}
	if _, err := netip.ParseAddr(host); err != nil && host != "" {
		if hosts, err = net.DefaultResolver.LookupHost(ctx, host); err != nil {
			return nil, err
		}
	}
	var bound []net.Listener
	var errs []error
	var lc net.ListenConfig
	for _, h := range hosts {
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(h, port))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		bound = append(bound, l)
	}
	if len(bound) == 0 {
		return nil, errors.Join(errs...)
	}
	return bound, nil
}

// ListenUnix listens at the path of a unix socket. One that a killed process left is
// removed; one where somebody listens, or a file that is no socket, is an error.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("%s is no socket, but in the way of one", path)
	}
	if err == nil {
		var d net.Dialer
		if c, err := d.DialContext(ctx, "unix", path); err == nil {
			return nil, errors.Join(errors.New("another process listens there"), c.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "unix", path)
}

// maxSockets is how many connections there are at most, whatever Options say: each takes
// some 15 kB, also if it says nothing. Those above it, or above a client's share, are closed at
// once.
const maxSockets = 16 << 10

// counting is a listener whose connections a server counts.
type counting struct {
	net.Listener
	s      *Server
	closed atomic.Bool
}

// Accept implements net.Listener.
func (l *counting) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil && l.closed.Load() {
			return nil, net.ErrClosed
		}
		if err != nil {
			return nil, err
		}
		of := l.s.opt.Trusted.at(c.RemoteAddr())
		if l.s.sockets.Take(of, 1) == nil {
			n := l.s.connections.Add(1)
			return &connection{Conn: c, s: l.s, of: of, over: l.s.opt.MaxConnections >= 0 &&
				n > int64(l.s.opt.MaxConnections), number: n}, nil
		}
		if err := c.Close(); err != nil {
			l.s.opt.Log.Debug("close an HTTP connection", "error", err)
		}
	}
}

// Close implements net.Listener.
func (l *counting) Close() error {
	l.closed.Store(true)
	return closelistener.Close(l.Listener)
}

// connection is counted until it is closed, whoever has taken it over.
type connection struct {
	net.Conn
	s      *Server
	of     Client
	closed sync.Once
	unread []byte // what a lane has read of it that comes first
	number int64  // how many there were with it
	over   bool   // one too many
}

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	if len(c.unread) > 0 && len(b) > 0 {
		n := copy(b, c.unread)
		if c.unread = c.unread[n:]; len(c.unread) == 0 {
			c.unread = nil
		}
		return n, nil
	}
	return c.Conn.Read(b)
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.closed.Do(func() {
		c.s.connections.Add(-1)
		c.s.sockets.Give(c.of, 1)
	})
	return c.Conn.Close()
}

// CloseWrite ends what is sent, so that a client gets the last answer although the rest of
// what it says is not read.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// overload marks the context of requests on a connection that is one too many.
type overload struct{}

// markContext marks the context of a connection's requests with whose they are, and whether it is one
// too many.
func markContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	of := c.(*connection)
	if of.over {
		ctx = context.WithValue(ctx, overload{}, of.number)
	}
	if !of.of.Local() {
		ctx = Asking(ctx, of.of)
	}
	return ctx
}

// Overload tells, by its context, whether a request came over a connection that is above
// Options.MaxConnections, and how many there were with it. A handler that does not ask
// serves it all the same.
func Overload(ctx context.Context) (n int64, over bool) {
	n, over = ctx.Value(overload{}).(int64)
	return n, over
}
