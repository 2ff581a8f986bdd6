package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/nat"
	"github.com/ethereum/go-ethereum/p2p/netutil"
)

// checkPeers refuses what is said of peers and cannot be, all at once: else a node would tell
// of it when its chain is open, one mistake a start.
func (c *Config) checkPeers() error {
	var errs []error
	p := &c.Node.P2P
	for _, list := range []struct {
		what string
		urls []string
	}{
		{"bootnodes", p.BootstrapNodes}, {"BootstrapNodesV5", p.BootstrapNodesV5}, {"StaticNodes", p.StaticNodes},
		{"TrustedNodes", p.TrustedNodes}, {"privatenodes", p.PrivateNodes},
	} {
		if list.what == "BootstrapNodesV5" && strings.Join(list.urls, ",") == strings.Join(p.BootstrapNodes, ",") {
			continue // one flag said both
		}
		for _, url := range list.urls {
			if _, err := enode.Parse(enode.ValidSchemes, url); err != nil {
				errs = append(errs,
					fmt.Errorf("%s: %q: %w; enode://KEY@HOST:PORT or an enr is expected", list.what, url, err))
			}
		}
	}
	if _, err := nat.Parse(p.NAT); err != nil {
		errs = append(errs, fmt.Errorf("nat: %w; any, none, upnp, pmp, extip:IP or stun is expected", err))
	}
	if _, err := netutil.ParseNetlist(strings.Join(p.NetRestrict, ",")); err != nil {
		errs = append(errs, fmt.Errorf("netrestrict: %w; networks such as 10.0.0.0/8 are expected", err))
	}
	for _, text := range p.IPRestrict {
		if _, err := netip.ParseAddr(strings.TrimSpace(text)); err != nil {
			errs = append(errs, fmt.Errorf("iprestrict: couldn't parse IP address %s: %w", text, err))
		}
	}
	if p.ListenAddr != "" {
		_, port, err := net.SplitHostPort(p.ListenAddr)
		if err == nil {
			_, err = net.LookupPort("tcp", port)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("p2p.listen: %q is no address: HOST:PORT or :PORT is expected",
				p.ListenAddr))
		}
	}
	return errors.Join(errs...)
}
