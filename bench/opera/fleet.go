package opera

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tarn/bench/subjectflag"
	"tarn/bench/suite"
	"tarn/fleet/stream"
	"tarn/internal/freeport"
)

// keepMB is what the servers of a fleet keep of its stream.
const keepMB = 4096

// Publish is a node that publishes what its blocks change.
func (n *Network) Publish(node suite.Node, servers []string) suite.Node {
	node.Args = append(slices.Clone(node.Args), fleet(servers)...)
	node.Args = append(node.Args, "--fleet.copies", strconv.Itoa(len(servers)), "--fleet.keepmb", strconv.Itoa(keepMB))
	return node
}

// Published is how many bytes the servers keep of a fleet's stream.
func (n *Network) Published(ctx context.Context, servers []string) (int64, error) {
	s, err := stream.Look(ctx, stream.Options{Name: suite.FleetName, Servers: servers}, 0)
	if err != nil {
		return 0, err
	}
	return int64(s.Moves.Bytes), nil
}

// fleet are the arguments that name one.
func fleet(servers []string) []string {
	return []string{"--fleet.name", suite.FleetName, "--fleet.server", strings.Join(servers, ",")}
}

// Replica is one that answers what a node does.
func (n *Network) Replica(s subjectflag.Subject, dir string, servers []string) (suite.Node, error) {
	if s.Program != subjectflag.Tarn {
		return suite.Node{}, fmt.Errorf("%s has no replicas: only tarn has", s.Name)
	}
	addresses, err := freeport.Addresses(1)
	if err != nil {
		return suite.Node{}, err
	}
	web, err := netip.ParseAddrPort(addresses[0])
	if err != nil {
		return suite.Node{}, err
	}
	args := append([]string{"replica"}, command(s)...)
	args = append(args, "--datadir", dir, "--datadir.minfreedisk", "0", "--ipcdisable", "--http",
		"--http.addr", web.Addr().String(), "--http.port", strconv.Itoa(int(web.Port())),
		"--http.api", "eth,net,web3,txpool")
	args = append(append(args, engineOf(s)...), fleet(servers)...)
	return suite.Node{Args: args, URL: "http://" + addresses[0]}, nil
}
