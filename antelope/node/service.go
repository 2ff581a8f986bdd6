package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/finalizer"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/types"
	"tarn/nodeupkeep"
)

// Services are the parts of a node that work once the chain is at its head.
type Services struct {
	Producer producer.Options
	P2P      *p2p.Options // nil for a node without peers
	// Finalizers vote for blocks; nil for none.
	Finalizers *finalizer.Options
	// VoteLog is told whose votes are missing; nil for the node's own log.
	VoteLog *slog.Logger
	HTTP    *HTTP // nil for a node without an API
	// Dashboard is where the page of the node's numbers is served, host:port; "" for nowhere.
	Dashboard string
	Version   Version // that the dashboard shows

	ignored   []string // what of the options is mistaken, and left out as nodeos does
	malformed []string // what is wrong with a signature-provider, which Leap leaves out
}

// mistakes are lines for what is left out.
func (s *Services) mistakes() (lines []string) {
	for _, m := range s.malformed {
		lines = append(lines, "Malformed signature provider, ignoring! "+m)
	}
	return append(lines, s.ignored...)
}

// HTTP is where and how the API is served.
type HTTP struct {
	Server nodeoshttp.Options
	Listen []Listen
	Dir    string // of unix sockets with relative paths

	API     rpc.Config          // what is not the node's own: limits, versions, switches
	Plugins nodeoshttp.Category // of endpoints that are served at all
	Track   Tracking            // for the endpoints of the chain

	HeadAge  uint32       // blocks that the newest one may be old in a node that is ready; 0 for a minute
	DiskFull func() error // why a disk is full, for /readyz; nil for nobody to ask
}

// Listen is an address and the categories of endpoints that it serves.
type Listen struct {
	Address    string
	Categories nodeoshttp.Category
}

// stopTime is how long requests under way have when the node stops.
const stopTime = 5 * time.Second

// Serve runs the services until ctx ends, the last block is applied, or one of them
// fails. Start has been called; Close follows.
func (n *Node) Serve(ctx context.Context, s Services) error {
	waits := &nodeupkeep.DiskWaits{Processors: &n.processors, Log: n.o.Log}
	s.Producer.Waits = waits.Many
	p, err := producer.New(n.chain, s.Producer)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	defer running.Wait()
	var network *p2p.Network
	if s.P2P != nil {
		if network, err = n.network(p, s.P2P); err != nil {
			return errors.Join(err, p.Close())
		}
	}
	var server *nodeoshttp.Server
	m := n.newServiceMetrics(p, network, &s)
	if s.HTTP != nil {
		if server, err = n.server(ctx, p, network, s.HTTP, m, func() { cancel(nil) }); err != nil {
			return errors.Join(err, p.Close())
		}
	}
	if n.history != nil {
		if n.historyServer, err = n.history.Serve(n.o.History.Server); err != nil {
			return errors.Join(err, p.Close())
		}
		defer n.historyServer.Close() //nolint:errcheck // the connections end either way
		n.tellHistory()
	}
	p.Subscribe(producer.Events{Between: n.checkpointDue})
	if s.Dashboard != "" {
		page, err := n.dashboard(ctx, &s, m)
		if err != nil {
			return errors.Join(err, p.Close())
		}
		defer page.Close() //nolint:errcheck // it only shows what ends now
	}
	v, err := n.voters(&s, p, network)
	if err != nil {
		return errors.Join(err, p.Close())
	}
	if v != nil {
		running.Go(func() { v.run(ctx) })
	}
	// The writer comes last to its end: until then the others may ask it.
	writer := make(chan error, 1)
	running.Go(func() { waits.Watch(ctx) })
	running.Go(func() { writer <- p.Run(ctx) })
	n.fleet.serve(ctx, p, answersOf(server, n.history), running.Go, cancel)
	if network != nil {
		running.Go(func() {
			if err := network.Run(ctx); err != nil {
				cancel(fmt.Errorf("peers: %w", err))
			}
		})
	}
	if server != nil {
		if err := listen(ctx, server, s.HTTP, func(line string) { n.httpLog(s.HTTP).Info(line) }); err != nil {
			cancel(err)
		}
	}
	err = <-writer
	cancel(nil)
	return stopServer(ctx, err, server)
}

// voters are the finalizers of this node, nil for none. Whose votes blocks lack is logged from now on.
func (n *Node) voters(s *Services, p *producer.Producer, network *p2p.Network) (v *voter, err error) {
	var own []types.BLSPublicKey
	log := cmp.Or(s.VoteLog, n.o.Log)
	if s.Finalizers != nil {
		var tell func(*finality.Vote)
		if network != nil {
			tell = network.VoteCast
		}
		if v, err = n.vote(s.Finalizers, p.Vote, tell, log); err != nil {
			return nil, err
		}
		p.Subscribe(producer.Events{Header: v.header})
		own = v.own.Keys()
	}
	n.logVotes(log, own)
	return v, nil
}

// stopServer stops the server, and tells why the services have ended.
func stopServer(ctx context.Context, err error, server *nodeoshttp.Server) error {
	if server != nil {
		stop, done := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer done()
		err = errors.Join(err, server.Stop(stop))
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return err
}

func (n *Node) network(p *producer.Producer, o *p2p.Options) (*p2p.Network, error) {
	options := *o
	options.Producers = p.Producers()
	options.IsProducerKey, options.Sign = p.Signs, p.Sign
	if options.Log == nil {
		options.Log = n.o.Log
	}
	network, err := p2p.New(p2p.NewLedger(n.chain, p, n.blocks()), options)
	if err != nil {
		return nil, err
	}
	relay(n.chain, p, network)
	return network, nil
}

// server makes the API, until ctx ends; end ends the node. m is nil if nobody asks for metrics.
func (n *Node) server(
	ctx context.Context, p *producer.Producer, network *p2p.Network, h *HTTP, m *metrics, end func(),
) (*nodeoshttp.Server, error) {
	c, health := h.API, n.newHealth(p, h)
	c.Chain, c.Blocks, c.Billing, c.Transactions, c.Schedules = n.chain, servedLog{n}, p, p, p.Schedules
	c.Features = n.chain.Features()
	c.Damaged = n.noteDamage
	if h.Plugins&(rpc.ProducerRO|rpc.ProducerRW|rpc.Snapshot) != 0 {
		c.Producer = p.Operator()
	}
	if network != nil && h.Plugins&(rpc.NetRO|rpc.NetRW) != 0 {
		c.Net = network
	}
	if h.Plugins&rpc.DBSize != 0 {
		c.Size = n.size
	}
	if n.traces != nil && h.Plugins&rpc.TraceAPI != 0 {
		c.Traces = recorded{n.traces}
	}
	if c.Log == nil {
		c.Log = n.o.Log
	}
	if n.fleet.part.Follower() != nil {
		c.Forward, c.Older = n.fleet.ask, n.fleet.read
	}
	if h.Plugins&rpc.TestControl != 0 {
		k := &killer{log: n.o.Log, end: end, head: func() types.BlockTimestamp {
			return n.chain.Head().Header.Timestamp
		}}
		n.chain.Subscribe(k.hooks())
		c.Kill = k.kill
	}
	var api *rpc.API
	if h.Plugins&(rpc.ChainRO|rpc.ChainRW) != 0 {
		n.track(ctx, network, &h.Track, &c, func(t *types.TransactionTrace) ([]byte, error) { return api.Trace(t) })
	}
	o := h.Server
	if m != nil {
		o.Served, o.Answered = m.count, m.answers.add
	}
	if h.Plugins&rpc.Prometheus != 0 {
		c.Metrics = m.append
	}
	server := nodeoshttp.New(o, rpc.Faults)
	api = rpc.New(c)
	return server, errors.Join(api.Register(server),
		server.Add(healthEndpoints(func() error {
			return cmp.Or(health.ready(time.Now()), n.fleet.behind(health.head().Num))
		})...))
}

// httpLog takes the lines of the API.
func (n *Node) httpLog(h *HTTP) *slog.Logger {
	if h.Server.Log != nil {
		return h.Server.Log
	}
	return n.o.Log
}

// tellHistory says where the history is served.
func (n *Node) tellHistory() {
	log := n.o.History.Log
	if log == nil {
		log = n.o.Log
	}
	for _, a := range n.historyServer.Addresses() {
		log.Info(listening(a, n.o.History.Server.Address))
	}
}

// listen begins to serve at the addresses. said, if not nil, hears of each of them.
func listen(ctx context.Context, server *nodeoshttp.Server, h *HTTP, said func(string)) error {
	for _, l := range h.Listen {
		at, err := server.Listen(ctx, l.Address, h.Dir, l.Categories)
		if err != nil {
			return fmt.Errorf("http: %w", err)
		}
		for _, a := range at {
			if said != nil {
				said(listening(a, l.Address) + " for API categories: " + rpc.CategoryNames(l.Categories))
			}
		}
	}
	return nil
}

// listening is nodeos' line about an address (libfc: listener.hpp).
func listening(at net.Addr, asked string) string {
	if at.Network() == "unix" {
		return "start listening on Unix socket " + at.String()
	}
	return fmt.Sprintf("start listening on %v resolved from %s", at, asked)
}

// size is what db_size/get shows.
func (n *Node) size() (rpc.Size, error) {
	s := n.store.Stats()
	out := rpc.Size{Free: uint64(max(0, s.Free)), Used: uint64(max(0, s.Used))}
	out.Total = out.Free + out.Used // the limit: the file grows as it is needed
	for _, t := range n.store.Tables() {
		out.Tables = append(out.Tables, rpc.TableSize{Name: t.Name, Rows: uint64(max(0, t.Rows))})
	}
	return out, nil
}

// nameSet is a set of names; nil for a list that is nil.
func nameSet(list []types.Name) map[types.Name]bool {
	if list == nil {
		return nil
	}
	set := make(map[types.Name]bool, len(list))
	for _, n := range list {
		set[n] = true
	}
	return set
}
