package httpserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Client is whom limits are shared out to: the IPv4 address, or the network of 64 bits of the IPv6
// address, from which requests come. The zero Client is a local one.
type Client struct{ network netip.Prefix }

// Local tells whether requests come over a socket of this machine, or from a trusted address:
// they have no share of their own.
func (c Client) Local() bool { return c == Client{} }

// String is the address or network, "local" of a local client.
func (c Client) String() string {
	switch {
	case c.Local():
		return "local"
	case c.network.IsSingleIP():
		return c.network.Addr().String()
	}
	return c.network.String()
}

// ClientAt is the client at an address, a local one if it is none.
func ClientAt(address string) Client {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return Client{}
	}
	return clientOf(a)
}

// Replicas is the client that all replicas of a fleet are together for their node: who asks them is a stranger.
func Replicas() Client { return clientOf(netip.IPv4Unspecified()) }

// perClient is how many bits of an IPv6 address are one client's: who has one address of a network
// of 64 bits has all.
const perClient = 64

func clientOf(a netip.Addr) Client {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = perClient
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return Client{} // no address
	}
	return Client{p}
}

// Trusted are the networks whose addresses have no share of their own: those of the operator's
// programs, and of reverse proxies. Who asks through a proxy is found in the header
// X-Forwarded-For that it adds.
type Trusted []netip.Prefix

// Loopback is what is trusted unless somebody says otherwise.
func Loopback() Trusted {
	return Trusted{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// ParseTrusted reads addresses and networks (10.0.0.0/8, ::1). "loopback" stands for those of this
// machine, "none" for nobody.
func ParseTrusted(words []string) (Trusted, error) {
	all := Trusted{}
	for _, word := range words {
		word = strings.TrimSpace(word)
		switch word {
		case "", "none":
			continue
		case "loopback":
			all = append(all, Loopback()...)
			continue
		}
		p, err := netip.ParsePrefix(word)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(word); err == nil {
				p, err = a.Prefix(a.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf(
				"%q is neither an address (10.1.2.3), nor a network (10.0.0.0/8), nor loopback, nor none", word)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

func (t Trusted) has(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range t {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// at is the client at the other end of a connection.
func (t Trusted) at(remote net.Addr) Client {
	of, ok := remote.(*net.TCPAddr)
	if !ok {
		return Client{}
	}
	a, ok := netip.AddrFromSlice(of.IP)
	if !ok || t.has(a) {
		return Client{}
	}
	return clientOf(a)
}

// forwardedClient is the client for whom a trusted one asks: the last address of the header that is not
// trusted itself, because each proxy adds the address that it sees. Without one it is the trusted
// one. What strangers say is not looked at.
func (t Trusted) forwardedClient(by Client, header string) Client {
	if !by.Local() || header == "" {
		return by
	}
	for rest, more := header, true; more; {
		var word string
		if at := strings.LastIndexByte(rest, ','); at >= 0 {
			rest, word = rest[:at], rest[at+1:]
		} else {
			word, more = rest, false
		}
		a, ok := parseForwarded(strings.TrimSpace(word))
		if !ok {
			return by
		}
		if !t.has(a) {
			return clientOf(a)
		}
	}
	return by
}

// parseForwarded reads an address that a proxy has added: some add a port.
func parseForwarded(word string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(strings.Trim(word, "[]")); err == nil {
		return a, true
	}
	p, err := netip.ParseAddrPort(word)
	return p.Addr(), err == nil
}

// asking marks the context of a request with its client.
type asking struct{}

// ClientOf is who asks, by the context of a request. Without a mark it is a local client.
func ClientOf(ctx context.Context) Client {
	c, _ := ctx.Value(asking{}).(Client)
	return c
}

// Asking returns a context that has a client, for what answers in place of a server.
func Asking(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, asking{}, c)
}

// markClients marks requests with their clients.
func (s *Server) markClients(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := ClientOf(r.Context())
		if to := s.opt.Trusted.forwardedClient(by, strings.Join(r.Header.Values("X-Forwarded-For"), ",")); to != by {
			r = r.WithContext(Asking(r.Context(), to))
		}
		h.ServeHTTP(w, r)
	})
}
