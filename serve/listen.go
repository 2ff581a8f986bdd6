package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// listener serves one address.
type listener struct {
	s          *Server
	address    string // as it was configured: a Host header that equals it is good
	categories Category
	unix       bool
	http       *http.Server
	done       chan struct{} // closed when serving has ended
}

// IsUnixSocket tells whether an address is the path of a unix socket.
func IsUnixSocket(address string) bool {
	return strings.HasPrefix(address, "/") || strings.HasPrefix(address, "./") || strings.HasPrefix(address, "../")
}

// SplitHostPort splits host:port as nodeos does: at the last colon, without the
// brackets of an IPv6 address (libfc: listener.hpp).
func SplitHostPort(address string) (host, port string) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return address, ""
	}
	if address[0] == '[' && i >= 2 {
		return address[1 : i-1], address[i+1:]
	}
	return address[:i], address[i+1:]
}

// OnLoopback tells whether an address can be reached from this machine only. It
// may ask the resolver.
func OnLoopback(ctx context.Context, address string) bool {
	if IsUnixSocket(address) {
		return true
	}
	host, _ := SplitHostPort(address)
	if host == "" {
		return false
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	for _, ip := range list {
		if !ip.Unmap().IsLoopback() {
			return false
		}
	}
	return true
}

// Listen begins to serve the endpoints of some categories at an address: host:port
// with a name or number, :port for all interfaces, or the path of a unix socket,
// relative to dir unless it is absolute. It returns where it listens. A name that
// stands for several addresses is served on all of them.
func (s *Server) Listen(ctx context.Context, address, dir string, c Category) ([]net.Addr, error) {
	var bound []net.Listener
	var err error
	if IsUnixSocket(address) {
		path := address
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		bound, err = listenUnix(ctx, path)
	} else {
		bound, err = listenTCP(ctx, address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP at %s: %w", address, err)
	}
	addrs := make([]net.Addr, len(bound))
	for i, b := range bound {
		addrs[i] = b.Addr()
		if err = s.start(b, address, c); err != nil {
			for _, b := range bound[i:] {
				err = errors.Join(err, b.Close())
			}
			return nil, err
		}
	}
	return addrs, nil
}

func listenUnix(ctx context.Context, path string) ([]net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		// Nobody listens to a socket that a killed process left.
		var d net.Dialer
		if c, err := d.DialContext(ctx, "unix", path); err == nil {
			return nil, errors.Join(errors.New("another process listens there"), c.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	return []net.Listener{l}, err
}

func listenTCP(ctx context.Context, address string) ([]net.Listener, error) {
	host, port := SplitHostPort(address)
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

// start serves what comes in at b.
func (s *Server) start(b net.Listener, address string, c Category) error {
	l := &listener{s: s, address: address, categories: c, unix: b.Addr().Network() == "unix", done: make(chan struct{})}
	l.http = &http.Server{
		Handler:           l,
		ReadHeaderTimeout: s.opt.HeaderTimeout,
		IdleTimeout:       s.opt.IdleTimeout,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       s.connected,
		ConnState:         s.disconnected,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelWarn),
	}
	l.http.SetKeepAlivesEnabled(!s.opt.NoReuse)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return http.ErrServerClosed
	}
	s.listeners = append(s.listeners, l)
	go func() {
		defer close(l.done)
		if err := l.http.Serve(b); !errors.Is(err, http.ErrServerClosed) {
			s.opt.Log.Error("HTTP service ended", "address", address, "error", err)
		}
	}()
	return nil
}

// allows tells whether a Host header may be meant for this address.
func (l *listener) allows(r *http.Request) bool {
	if l.unix || l.s.opt.AnyHost || r.Host == l.address {
		return true
	}
	if r.Host == "" {
		return false
	}
	host, _ := SplitHostPort(r.Host)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return l.s.hosts[host]
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	own := local.AddrPort().Addr()
	return own.Unmap() == ip.Unmap()
}
