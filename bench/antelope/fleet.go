package antelope

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"tarn/bench/subjectflag"
	"tarn/bench/suite"
	"tarn/fleet/stream"
	"tarn/internal/freeport"
)

// keepMB is what the servers of a fleet keep of its stream.
const keepMB = 4096

// Publish is a node that publishes what its blocks change.
func (b *blocks) Publish(n suite.Node, servers []string) suite.Node {
	n.Args = append(slices.Clone(n.Args), fleet(servers)...)
	n.Args = append(n.Args, "--fleet-copies", strconv.Itoa(len(servers)), "--fleet-keep-mb", strconv.Itoa(keepMB))
	return n
}

// Published is how many bytes the servers keep of a fleet's stream.
func (b *blocks) Published(ctx context.Context, servers []string) (int64, error) {
	s, err := stream.Look(ctx, stream.Options{Name: suite.FleetName, Servers: servers}, 0)
	if err != nil {
		return 0, err
	}
	return int64(s.Moves.Bytes), nil
}

// fleet are the arguments that name one.
func fleet(servers []string) []string {
	args := []string{"--fleet-name", suite.FleetName}
	for _, s := range servers {
		args = append(args, "--fleet-server", s)
	}
	return args
}

// Replica is one that answers what a node's chain API does.
func (b *blocks) Replica(s subjectflag.Subject, dir string, servers []string) (suite.Node, error) {
	if s.Program != subjectflag.Tarn {
		return suite.Node{}, fmt.Errorf("%s has no replicas: only tarn has", s.Name)
	}
	addresses, err := freeport.Addresses(1)
	if err != nil {
		return suite.Node{}, err
	}
	args := append([]string{"replica"}, command(s)...)
	args = append(args, "--data-dir", dir, "--config-dir", dir+"/config", "--plugin", "eosio::chain_api_plugin",
		"--http-server-address", addresses[0], "--http-validate-host", "0", "--http-max-response-time-ms", "10000",
		"--abi-serializer-max-time-ms", "10000", "--chain-state-db-size-mb", b.room(),
		"--resource-monitor-not-shutdown-on-threshold-exceeded")
	args = append(append(args, engineOf(s)...), fleet(servers)...)
	return suite.Node{Args: args, URL: "http://" + addresses[0]}, nil
}
