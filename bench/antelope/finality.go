package antelope

import (
	"context"
	"fmt"

	"tarn/antelope/chain/chaintest"
	"tarn/bench/subjectflag"
	"tarn/bench/suite"
)

// voteThreads verify others' votes. Nodes that make no blocks have none by default, and pass no votes on.
const voteThreads = "4"

// Finalizers is how many the chain has.
func (n *Network) Finalizers() int { return n.shape.Finalizers }

// Finalizer is the node of a number, of so many that share the finalizers.
func (n *Network) Finalizer(s subjectflag.Subject, dir string, number, count int, peers []string) (suite.Node, error) {
	node, err := n.newNode(s, dir)
	if err != nil {
		return node, err
	}
	if node.Args = crowdable(node.Args); number == 0 {
		if node.Args, err = producing(node.Args); err != nil {
			return node, err
		}
	}
	for _, p := range peers {
		node.Args = append(node.Args, "--p2p-peer-address", p)
	}
	node.Args = append(append(node.Args, "--vote-threads", voteThreads), n.voting(number, count)...)
	return node, nil
}

// voting are the arguments of a node that has the keys of each count-th finalizer, from a first one on.
func (n *Network) voting(first, count int) (args []string) {
	for i := first; i < n.shape.Finalizers; i += count {
		key := chaintest.FinalizerKey(i)
		args = append(args, "--signature-provider", fmt.Sprintf("%s=KEY:%s", key.Public(), key.Text()))
	}
	return args
}

// Final is the number of a running node's newest irreversible block.
func (n *Network) Final(ctx context.Context, url string) (uint64, error) {
	i, err := getInfo(ctx, url)
	return uint64(i.LIBNumber), err
}
