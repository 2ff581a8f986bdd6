package nodeoshttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"tarn/httpserver"
)

// listener serves one address.
type listener struct {
	s          *Server
	address    string // as it was configured: a Host header that equals it is good
	categories Category
	unix       bool
	lines      lines // of answers to plain requests
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

// Listen begins to serve the endpoints of some categories at an address: host:port
// with a name or number, :port for all interfaces, or the path of a unix socket,
// relative to dir unless it is absolute. It returns where it listens. A name that
// stands for several addresses is served on all of them.
func (s *Server) Listen(ctx context.Context, address, dir string, c Category) ([]net.Addr, error) {
	bound, err := bind(ctx, address, dir)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP at %s: %w", address, err)
	}
	l := &listener{s: s, address: address, categories: c, unix: IsUnixSocket(address)}
	if l.lines, err = s.lines(); err != nil {
		return nil, err
	}
	addrs := make([]net.Addr, len(bound))
	for i, b := range bound {
		addrs[i] = b.Addr()
		if err = s.edge.ServePlain(b, l, l); err != nil {
			for _, b := range bound[i+1:] {
				err = errors.Join(err, b.Close())
			}
			return nil, err
		}
	}
	return addrs, nil
}

func bind(ctx context.Context, address, dir string) ([]net.Listener, error) {
	if !IsUnixSocket(address) {
		host, port := SplitHostPort(address)
		return httpserver.ListenTCP(ctx, host, port)
	}
	if !filepath.IsAbs(address) {
		address = filepath.Join(dir, address)
	}
	l, err := httpserver.ListenUnix(ctx, address)
	if err != nil {
		return nil, err
	}
	return []net.Listener{l}, nil
}

// anyHost tells whether an endpoint, which may be nil, answers whatever name it is asked by.
func (e *Endpoint) anyHost() bool { return e != nil && e.AnyHost }

// allows tells whether a Host header may be meant for this address, at which a connection came
// in at local.
func (l *listener) allows(named string, local net.Addr) bool {
	if l.unix || l.s.opt.AnyHost || named == l.address {
		return true
	}
	if named == "" {
		return false
	}
	host, _ := SplitHostPort(named)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return l.s.hosts[host]
	}
	at, ok := local.(*net.TCPAddr)
	if !ok {
		return false
	}
	own := at.AddrPort().Addr()
	return own.Unmap() == ip.Unmap()
}
