package suite

import (
	"context"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/bench/subjectflag"
	"tarn/internal/figuretable"
)

// Network is a chain that all subjects are given, and how its programs are spoken to.
type Network interface {
	// Chain makes the chain, or finds it made.
	Chain(ctx context.Context, tell func(string)) (record.Chain, error)
	// Version asks a subject's program which version it is. The text goes into the report.
	Version(ctx context.Context, s subjectflag.Subject) (string, error)
	// Install puts the chain where a node of the folder, which is new, looks for it.
	Install(dir string) error
	// Import are the arguments of a node that makes the state of that chain, and ends.
	Import(s subjectflag.Subject, dir string) ([]string, error)
	// Head asks a node for its newest block.
	Head(ctx context.Context, url string) (uint64, error)
}

// Node is how a node is started, and where it is spoken to.
type Node struct {
	Args    []string
	URL     string   // where it answers
	Peers   string   // where it waits for peers
	Metrics string   // where it says what it writes, "" if it does not
	Env     []string // besides the bench's own
	History string   // where it serves its state history, "" if it keeps none
	Socket  string   // where it answers over WebSocket, "" if it does not
}

// What a network's nodes can do besides. A suite that needs more of a network than it has is
// refused.
type (
	// Serving makes blocks of transactions. Without it, a chain was recorded elsewhere.
	Serving interface {
		// Serve is a node that takes transactions on the chain, or on a snapshot of it.
		Serve(s subjectflag.Subject, dir, snapshot string) (Node, error)
		// Transfers makes requests that send a node transfers.
		Transfers(url string, seed uint64) (load.Source, error)
		// Accepted says why an answer is not that a transfer was taken.
		Accepted(status int, body []byte) error
	}
	// Saving can write snapshots.
	Saving interface {
		// Snapshot has a node of a folder write one, and returns its path, and when it was whole.
		Snapshot(ctx context.Context, url, dir string) (path string, whole time.Time, err error)
	}
	// Asking answers questions that change nothing.
	Asking interface {
		// Calls are the names of those that can be asked alone.
		Calls() []string
		// Questions ask one call, or a mix of calls if it is "".
		Questions(ctx context.Context, url string, seed uint64, call string, count int) ([]load.Request, error)
		// Answered says why an answer is none.
		Answered(status int, body []byte) error
	}
	// Resting can have nodes that make no blocks without transactions. Without it nodes make
	// blocks all the time.
	Resting interface {
		// Idle tells whether its nodes make no blocks without transactions.
		Idle() bool
	}
	// Pooling has nodes that keep transfers from one run to the next, and refuse more than so many.
	Pooling interface {
		// Waiting is how many transfers wait for a block.
		Waiting(ctx context.Context, url string) (uint64, error)
	}
	// Following gets blocks from other nodes.
	Following interface {
		// Source is a node that gives the chain's blocks to peers, and makes none.
		Source(s subjectflag.Subject, dir string) (Node, error)
		// Follow is a node that gets blocks from a peer, after those that its folder has, or
		// from the first.
		Follow(s subjectflag.Subject, dir, peer string) (Node, error)
	}
	// Confirming says which transfers are in blocks.
	Confirming interface {
		// Confirmed counts those of some transfers that a node has in blocks.
		Confirmed(ctx context.Context, url string, transfers []load.Request) (int, error)
	}
	// Crowded lets many light peers connect.
	Crowded interface {
		// Crowd connects peers to a node, of which some fetch its chain again and again. Another
		// node that the node follows may be named: its blocks are seen there first.
		Crowd(ctx context.Context, node, source Node, peers, fetching int) (Crowd, error)
	}
	// Fetched lets some peers of a crowd fetch its chain again and again.
	Fetched interface {
		Crowded
		// Fetchable tells whether it does.
		Fetchable() bool
	}
	// Subscribed tells clients of each new block.
	Subscribed interface {
		// Subscribable is the node of which that may be asked for.
		Subscribable(n Node, o Subscriptions) (Node, error)
		// Subscribe subscribes to a node's blocks. Another node that the node follows is named: its blocks are
		// seen there first.
		Subscribe(ctx context.Context, node, source Node, o Subscriptions) (Crowd, error)
	}
	// Keeping can keep histories beside the chain.
	Keeping interface {
		// Keep is the node with histories of a choice.
		Keep(n Node, what Choice) (Node, error)
		// Logs are the sizes of the logs in a node's folder.
		Logs(dir string) LogBytes
	}
	// Tracing answers questions for the traces that it keeps.
	Tracing interface {
		// TraceQuestions ask for blocks with transactions, and for transactions, of the chain.
		TraceQuestions(url string, seed uint64, count int) (blocks, transactions []load.Request, err error)
		// Traced says why an answer is none.
		Traced(status int, body []byte) error
	}
	// Loading takes transactions from peers, at any rate, and tells them its blocks.
	Loading interface {
		// Load sends transfers as a peer, and sees what blocks come.
		Load(ctx context.Context, node Node, o Load) (Pace, error)
	}
	// Streaming serves the state history that it keeps.
	Streaming interface {
		// Stream reads the history of all blocks up to one, once, and tells of each.
		Stream(ctx context.Context, node Node, last uint64, told func()) error
	}
	// Deploying takes contracts.
	Deploying interface {
		// Deployments makes requests in pairs: a large contract, and its first call.
		Deployments(url string, seed uint64) (load.Source, error)
	}
	// Publishing tells servers of NATS what its blocks change, and has replicas that follow there.
	Publishing interface {
		// Publish is the node with such servers, each of which keeps a copy, in the fleet [FleetName].
		Publish(n Node, servers []string) Node
		// Published is how many bytes the servers keep of what the fleet's nodes published.
		Published(ctx context.Context, servers []string) (int64, error)
		// Replica is one of such a node.
		Replica(s subjectflag.Subject, dir string, servers []string) (Node, error)
	}
	// Finalizing has finalizers, which several nodes may share.
	Finalizing interface {
		// Finalizers is how many the chain has; 0: its blocks become final without.
		Finalizers() int
		// Finalizer is the node of a number, from 0, of so many that share the finalizers. Node 0 makes
		// the blocks, on the chain that its folder has. It connects to peers.
		Finalizer(s subjectflag.Subject, dir string, number, count int, peers []string) (Node, error)
		// Final asks a node for its newest block that is final.
		Final(ctx context.Context, url string) (uint64, error)
	}
	// Gossiping takes transactions from peers.
	Gossiping interface {
		// Gossip makes transfers, says that it is ready, sends them as a peer, and returns when
		// they are in blocks: how many are, and how long that took.
		Gossip(ctx context.Context, node Node, seed uint64, count int, ready func() error) (int, time.Duration, error)
	}
)

// Subscriptions are what clients ask a node for, to hear of its blocks.
type Subscriptions struct {
	Count   int // that the node tells of each block
	Filters int // that it is asked for again and again; only Opera's has any
}

// Load is transfers at a steady rate.
type Load struct {
	Seed  uint64
	Rate  float64 // per second
	For   time.Duration
	Ready func() error // is called before the first is sent

	Besides int // transactions that others send meanwhile
}

// Crowd is light peers that are connected.
type Crowd interface {
	// Begin forgets what was seen until now.
	Begin()
	// Seen is what was seen since then.
	Seen() Sight
	// Close ends all peers, and returns when they have ended.
	Close()
}

// Sight is what a crowd was sent.
type Sight struct {
	Bytes          int64
	Blocks, Chains int64                 // blocks that are new; whole chains that were fetched
	Delays         figuretable.Latencies // from when anybody had a block to a peer's having it
	Last           figuretable.Latencies // the same of each block's last peer
	Failed         map[string]int        // peers that ended, by why
}

// What suites need of a network.
func serves(n Network) bool  { _, ok := n.(Serving); return ok }
func asks(n Network) bool    { _, ok := n.(Asking); return ok && serves(n) }
func saves(n Network) bool   { _, ok := n.(Saving); return ok && serves(n) }
func follows(n Network) bool { _, ok := n.(Following); return ok }
func keepsUp(n Network) bool { return follows(n) && serves(n) }
func confirms(n Network) bool {
	_, ok := n.(Confirming)
	return ok && serves(n)
}
func finalizes(n Network) bool {
	f, ok := n.(Finalizing)
	return ok && f.Finalizers() > 0 && serves(n)
}
func gossips(n Network) bool { _, ok := n.(Gossiping); return ok && serves(n) }
func crowds(n Network) bool  { _, ok := n.(Crowded); return ok && keepsUp(n) }
func isFetched(n Network) bool {
	f, ok := n.(Fetched)
	return ok && f.Fetchable() && keepsUp(n)
}
func subscribes(n Network) bool { _, ok := n.(Subscribed); return ok && keepsUp(n) }

func keeps(n Network) bool  { _, ok := n.(Keeping); return ok && follows(n) }
func traces(n Network) bool { _, ok := n.(Tracing); return ok && keeps(n) }
func loads(n Network) bool  { _, ok := n.(Loading); return ok && keeps(n) && serves(n) }
func streams(n Network) bool {
	_, ok := n.(Streaming)
	return ok && loads(n)
}
func publishes(n Network) bool {
	_, ok := n.(Publishing)
	return ok && follows(n)
}
func replicates(n Network) bool { return publishes(n) && loads(n) && asks(n) }
func deploys(n Network) bool {
	_, ok := n.(Deploying)
	return ok && loads(n)
}
