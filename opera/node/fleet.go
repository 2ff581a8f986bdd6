package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/fleet"
	"tarn/fleet/fleetnode"
	"tarn/fleet/stream"
	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/gasprice"
	"tarn/opera/inter"
	"tarn/opera/replica"
	"tarn/opera/rpc"
	"tarn/store/engine"
)

// joined is what of a fleet a node has.
type joined struct {
	n        *Node
	part     *fleetnode.Member // nil for who is of no fleet
	origin   *replica.Origin   // nil for who does not publish
	follower chain.Follower    // of a replica
}

// open connects to the fleet, before there is a chain.
func (j *joined) open() (err error) {
	o := &j.n.o
	if o.Fleet == nil {
		return nil
	}
	if j.part, err = fleetnode.Open(*o.Fleet, o.Log); err == nil && !o.Fleet.Replica {
		j.origin = replica.NewOrigin(o.Fleet.Memory, o.Log)
	}
	return err
}

// replicates tells whether the node is a replica.
func (j *joined) replicates() bool { return j.n.o.Fleet != nil && j.n.o.Fleet.Replica }

// load begins the chain of a replica with the fleet's newest snapshot. The state carries a mark until it is durable.
func (j *joined) load(ctx context.Context) error {
	n := j.n
	if n.o.Engine.Kind == "" {
		if kind, err := engine.Detect(n.stateDir()); err == nil {
			n.o.Engine.Kind = kind // it keeps its engine
		}
	}
	if err := n.newStore(
		"a replica was loading a snapshot of its fleet; start it again: tarn replica opera\n"); err != nil {
		return err
	}
	n.o.Log.Info("Starting from the fleet's newest snapshot", "fleet", j.part.Name(), "engine", n.o.Engine.Kind)
	p := nodeupkeep.NewProgress(n.o.Log, "Loading the fleet's snapshot", progressEvery)
	defer p.End()
	var block uint64
	err := j.part.Follower().Fetch(ctx, func(im *fleet.ImageReader, s stream.Snapshot) error {
		block = im.Revision
		return replica.Load(chain.Options{Store: n.store, History: n.history}, im, func(rows int64) error {
			p.Items(uint64(rows), uint64(max(rows, s.Rows)), "block", block)
			if err := n.store.Relieve(); err != nil {
				return fmt.Errorf("save what was loaded so far: %w", err)
			}
			return context.Cause(ctx)
		})
	})
	if err != nil {
		return fmt.Errorf("begin with the fleet's snapshot: %w", remedy(err))
	}
	// Closed and opened anew: the chain's logs are open once.
	err, n.store = n.store.Close(), nil
	if err == nil {
		err = engine.MarkFinished(n.stateDir())
	}
	if err == nil {
		p.Done("Loaded the fleet's snapshot", "block", block)
	}
	return err
}

// tell publishes the chain to the fleet until what is returned is called, when the chain makes no more blocks; w
// answers replicas. It is called before the chain makes blocks.
func (s *services) tell(n *Node, w *waiting) (end func() error) {
	o := n.fleet.origin
	if o == nil {
		return func() error { return nil }
	}
	o.Begin(n.chain, n.Do)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { o.Run(ctx) })
	pool := replica.NewAnswering(answering{w, n})
	all.Go(func() {
		answers := stream.Answers{
			Ask:  func(_ context.Context, path string, body []byte) (int, []byte) { return pool.Answer(path, body) },
			Read: s.answerOlder,
		}
		err := n.fleet.part.Publish(ctx, o, answers, func() error { return s.observed.ready(time.Now()) })
		if err != nil {
			n.stop(fmt.Errorf("fleet: %w", err))
		}
	})
	return func() error {
		n.fleet.part.Flush(replica.PointOf(n.chain.Head()))
		cancel()
		all.Wait()
		return nil
	}
}

// answersFor lets a node that publishes answer replicas for what is older than they are, until what is returned is
// called.
func (s *services) answersFor(n *Node, of *rpc.Service) (end func() error, err error) {
	if n.fleet.origin == nil {
		return func() error { return nil }, nil
	}
	e, err := of.Elder()
	if err != nil {
		return nil, err
	}
	s.elder.Store(e)
	return func() error {
		s.elder.Store(nil)
		e.Close()
		return nil
	}, nil
}

// answerOlder answers a replica's request for what is older than it.
func (s *services) answerOlder(ctx context.Context, path string, body []byte) (status int, answer []byte) {
	head, ok := replica.OlderThan(path)
	e := s.elder.Load()
	switch {
	case !ok:
		return http.StatusNotFound, nil
	case e == nil:
		return http.StatusServiceUnavailable, nil
	}
	answer, err := e.Answer(ctx, head, body)
	switch {
	case errors.Is(err, rpc.ErrLacks):
		return http.StatusServiceUnavailable, nil
	case err != nil:
		return http.StatusRequestEntityTooLarge, nil
	}
	return http.StatusOK, answer
}

// older has a node of the fleet answer for what is older than the replica.
func (j *joined) older(ctx context.Context, head inter.BlockNumber, body []byte) ([]byte, error) {
	answer, err := replica.Older(j.part.Follower().Read)(ctx, head, body)
	if errors.Is(err, stream.ErrUnreachable) {
		err = errors.Join(rpc.ErrNobody, err)
	}
	return answer, err
}

// answering answers replicas about transactions.
type answering struct {
	*waiting
	n *Node
}

// Add adds a client's transaction. The replica's client gets what one of this node would.
func (a answering) Add(tx *types.Transaction) error {
	return rpc.Public(a.waiting.Add(tx), a.n.damage.Met)
}

// Get returns a transaction that waits, or is in a block: the replica may not have that block yet.
func (a answering) Get(hash common.Hash) *types.Transaction {
	if tx := a.waiting.Get(hash); tx != nil {
		return tx
	}
	v, err := a.n.chain.View()
	if err != nil {
		return nil
	}
	defer v.Close() //nolint:errcheck // nothing was written
	var found *types.Transaction
	err = v.Places(hash, func(p chain.TxPlace) bool {
		b, err := v.Block(p.Block)
		if err == nil && b != nil && int(p.Index) < len(b.Txs) && b.Txs[p.Index].Hash() == hash {
			found = b.Txs[p.Index]
		}
		return found == nil
	})
	if err != nil {
		return nil
	}
	return found
}

// follow has a replica follow its fleet until what is returned is called.
func (j *joined) follow() (end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	r := replica.New(j.follower, j.n.Do)
	all.Go(func() {
		if err := j.part.Follower().Run(ctx, r); err != nil {
			j.n.stop(fmt.Errorf("fleet: %w", err))
		}
	})
	return func() error { cancel(); all.Wait(); return nil }
}

// behind returns why a replica is not ready; nil if it is, and for a node.
func (j *joined) behind() error {
	if !j.replicates() {
		return nil
	}
	at, err := j.n.place()
	if err != nil {
		return errUnreadable
	}
	return j.part.Behind(uint64(at.block))
}

// nonce is what the next transaction of a sender has in the newest state.
func (j *joined) nonce(sender common.Address) uint64 {
	v, err := j.n.chain.View()
	if err != nil {
		return 0
	}
	defer v.Close() //nolint:errcheck // nothing was written
	a, err := v.Account(sender)
	if err != nil {
		return 0
	}
	return a.Nonce
}

// beginReplica is begin of a replica: it has no peers and no validator, and transactions wait at a node.
func (s *services) beginReplica(n *Node) (_ *rpc.Service, end func() error, err error) {
	var begun closers
	defer func() {
		if err != nil {
			err = errors.Join(err, begun.close())
		}
	}()
	begun = append(begun, n.fleet.follow())
	prices := gasprice.New(gasprice.Options{Chain: n.Chain(), Bounds: s.priceBounds()})
	begun = append(begun, func() error { prices.Close(); return nil })
	r, err := s.respond(n, func(o *rpc.Options) {
		of := n.fleet.part.Follower()
		o.Pool, o.Prices, o.Older = replica.NewPool(of.Ask, n.fleet.nonce), prices, n.fleet.older
	})
	if err != nil {
		return nil, nil, err
	}
	begun = append(begun, r.close)
	hide := s.observed.serves(n, &beside{}, s.Tarn.HealthAge)
	begun = append(begun, func() error { hide(); return nil })
	page, err := s.openDashboard(s.observed.metrics)
	if err != nil {
		return nil, nil, err
	}
	begun = append(begun, page)
	return r.service, begun.close, nil
}

// noReplica says which options mean nothing for a replica.
func (s *services) noReplica() error {
	var errs []error
	for _, o := range []struct {
		given bool
		name  string
	}{
		{s.Run.Genesis != "", "genesis"}, {s.Run.Fakenet.Validators != 0, "fakenet"},
		{s.Emitter.Validator.ID != 0, "validator.id"},
		{s.Opera.AllowSnapsync, "syncmode"}, {s.Run.ExitAge != nil, "exitwhensynced.age"},
		{s.Run.ExitEpoch != nil, "exitwhensynced.epoch"},
	} {
		if o.given {
			errs = append(errs,
				fmt.Errorf("--%s has no meaning for a replica: its state and its blocks come from the fleet", o.name))
		}
	}
	return errors.Join(errs...)
}
