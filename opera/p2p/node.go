package p2p

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// Node is this node among others. Any goroutine may call its methods.
//
// It has many methods because each question of an operator has one, and each thing that happens to
// its parts: those know nothing of each other.
type Node struct {
	o          Options
	limits     Limits
	server     *p2p.Server
	reading    *budget // messages that are being handled
	states     *exchange
	intake     *intake
	leecher    *leecher
	recordSync *recordSync
	events     *fetcher[inter.EventID]
	txs        *transactions
	answers    *answers

	ctx    context.Context // until Close
	cancel context.CancelCauseFunc
	all    sync.WaitGroup // everything that runs but the server

	at    atomic.Pointer[Present]
	fresh atomic.Bool // an event that is young was seen
	peers peers

	refusals [reasons]atomic.Uint64

	mu     sync.Mutex
	added  map[enode.ID]*enode.Node // by AddPeer
	failed error
	told   time.Time // progress
}

// New returns a node that is not among others yet.
func New(o Options) (*Node, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Records == nil {
		o.Records = none{}
	}
	if o.States == nil {
		o.States = nobody{}
	}
	if o.Notice == nil {
		o.Notice = func(error) {}
	}
	if o.Refused == nil {
		o.Refused = func(Refusal) {}
	}
	if err := o.Limits.Validate(); err != nil {
		return nil, err
	}
	n := &Node{o: o, limits: o.Limits, peers: peers{byID: map[enode.ID]*peer{}}, added: map[enode.ID]*enode.Node{}}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	n.reading = newBudget(n.limits.Messages, n.limits.MessageBytes)
	n.states = newExchange(n)
	n.intake = newIntake(o.Ledger, &n.limits)
	n.events = newFetcher(&n.limits, n.limits.Arrive, n.intake.missing, func(p *peer, ids []inter.EventID) {
		_ = p.send(codeGetEvents, ids)
	})
	n.events.waits = n.intake.isChecking
	n.txs = newTransactions(n)
	n.answers = &answers{o: &n.o, limits: &n.limits, txs: n.txs}
	n.leecher = &leecher{
		asker:   newAsker(&n.limits),
		settled: n.intake.settled,
		busy:    func(p *peer) bool { return n.intake.busy() || n.events.busy(p) },
		ask:     func(p *peer, r *request[[]byte]) { _ = p.send(codeRequestEvents, r) },
	}
	n.intake.accepted, n.intake.dropped, n.intake.wanted = n.gossipAccepted, leaveSender, n.askForParents
	n.intake.entered, n.intake.failed, n.intake.ahead = n.enterEpoch, n.fail, n.leecher.force
	n.recordSync = newRecordSync(n)
	if err := n.begin(); err != nil {
		return nil, err
	}
	return n, n.makeServer()
}

// begin finds out where the ledger is.
func (n *Node) begin() error {
	at, err := n.o.Ledger.Present()
	if err != nil {
		return fmt.Errorf("begin with the present epoch: %w", err)
	}
	n.at.Store(&at)
	n.recordSync.lookBehind(&at)
	var highest inter.Lamport
	err = n.o.Ledger.Events(inter.NewEventID(at.Epoch, 0, [32]byte{}), func(id inter.EventID, _ []byte) bool {
		highest = max(highest, id.Lamport())
		return id.Epoch() == at.Epoch
	})
	if err != nil {
		return fmt.Errorf("find the newest event of epoch %d: %w", at.Epoch, err)
	}
	n.intake.enter(at.Epoch, highest)
	n.leecher.enter(at.Epoch, highest == 0)
	return nil
}

// Start begins to listen and to connect.
func (n *Node) Start() error {
	if err := n.server.Start(); err != nil {
		n.cancel(errClosed)
		return fmt.Errorf("start to listen to peers on %s: %w", n.o.Server.Listen, err)
	}
	n.all.Go(func() { n.intake.serve(n.ctx) })
	if n.recordSync.repeater != nil {
		n.all.Go(func() { n.recordSync.repeater.serve(n.ctx) })
	}
	n.all.Go(n.loop)
	return nil
}

// Close leaves all peers and waits until everything has ended. The ledger must still be
// there; what was on its way to it is lost.
func (n *Node) Close() error {
	n.cancel(errClosed)
	n.server.Stop()
	n.all.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failed
}

// loop does what is due by the clock.
func (n *Node) loop() {
	ticker := time.NewTicker(n.limits.Beat)
	defer ticker.Stop()
	var fetched time.Time
	still := stillness{since: n.o.Now()}
	for {
		select {
		case <-ticker.C:
		case <-n.ctx.Done():
			return
		}
		now := n.o.Now()
		n.look()
		if still.behind(now, n.progress(), n.peers.farthest(n.progress()), 3*n.limits.Progress) {
			n.leecher.force()
		}
		if n.Overtakes() {
			n.leecher.pause(now)
		} else {
			n.leecher.tick(now)
		}
		n.recordSync.tick(now)
		if now.Sub(fetched) >= n.limits.ArriveTx/8 {
			n.events.tick(now)
			n.txs.fetch(now)
			fetched = now
		}
		n.tell(now, n.limits.Progress)
		n.txs.tick(now)
	}
}

// stillness is for how long this node has stood where it is.
type stillness struct {
	at    inter.BlockNumber
	since time.Time
}

// behind tells, once in a while, that a peer is farther while this node stands: something
// was lost that nobody announces again.
func (s *stillness) behind(now time.Time, own, highest Progress, patience time.Duration) bool {
	if own.Block != s.at {
		s.at, s.since = own.Block, now
	}
	if highest.Block <= own.Block || now.Sub(s.since) < patience {
		return false
	}
	s.since = now
	return true
}

// look looks where the ledger is: others may connect events too, and be the end of an epoch.
func (n *Node) look() {
	at, err := n.o.Ledger.Present()
	if err != nil {
		n.o.Notice(fmt.Errorf("look where the chain is: %w", err))
		return
	}
	n.at.Store(&at)
	if uint32(at.Epoch) != n.intake.epoch.Load() {
		token(n.intake.moved)
	}
	n.recordSync.lookBehind(&at)
}

// progress is what peers are told.
func (n *Node) progress() Progress {
	at := n.at.Load()
	return Progress{Epoch: at.Epoch, Block: at.Last.Number, Atropos: at.Last.Atropos}
}

// tell tells all peers how far this node is, unless that was done a short time ago.
func (n *Node) tell(now time.Time, pause time.Duration) {
	n.mu.Lock()
	due := now.Sub(n.told) >= pause
	if due {
		n.told = now
	}
	n.mu.Unlock()
	if due {
		for _, p := range n.peers.list() {
			_ = p.send(codeProgress, n.progress())
		}
	}
}

// run is a connection's life. It is called on a goroutine of the server's, and ends with the
// connection.
func (n *Node) run(version uint, conn *p2p.Peer, rw p2p.MsgReadWriter) error {
	p := newPeer(n.ctx, conn.ID(), conn.Fullname(), version, rw, &n.limits)
	defer p.leave(nil)
	trusted := conn.Info().Network.Trusted
	p.useless = !trusted && (!strings.Contains(strings.ToLower(p.name), "opera") ||
		!conn.RunningCap(protocolName, []uint{newest}) || !conn.RunningCap(fsnap.Name, []uint{fsnap.Version}))
	if p.useless && n.peers.useless() >= n.server.MaxPeers/10 {
		return p2p.DiscTooManyPeers
	}
	network := n.o.Ledger.Network()
	if err := p.shake(network.GenesisID, network.ID, n.progress(), n.limits.Handshake); err != nil {
		n.countRefusal(p, conn, err)
		return fmt.Errorf("shake hands with %s: %w", p.name, err)
	}
	if err := n.join(p); err != nil {
		return err
	}
	defer n.part(p)
	var both sync.WaitGroup
	defer both.Wait()
	defer p.leave(nil)
	both.Go(p.write)
	both.Go(func() { n.answers.answer(p) })
	n.txs.greet(p)
	// What the others find wrong ends the reading here, which waits for the other side.
	stop := context.AfterFunc(p.ctx, func() { conn.Disconnect(p2p.DiscUselessPeer) })
	defer stop()
	for {
		m, release, err := p.read(n.reading)
		if err == nil {
			err = n.handle(p, m, release)
			release()
		}
		if err != nil {
			p.leave(err)
			err = context.Cause(p.ctx)
			if !errors.Is(err, errClosed) {
				n.o.Notice(fmt.Errorf("leave peer %s (%s): %w", p.name, p.id.TerminalString(), err))
			}
			return err
		}
	}
}

// join makes a peer one of those that are told and asked.
func (n *Node) join(p *peer) error {
	if !n.peers.add(p) {
		return p2p.DiscAlreadyConnected
	}
	n.leecher.add(p)
	n.recordSync.add(p)
	return nil
}

func (n *Node) part(p *peer) {
	n.peers.remove(p)
	n.leecher.forgetPeer(p, n.o.Now())
	n.recordSync.forgetPeer(p)
	n.events.forgetPeer(p)
	n.txs.forgetPeer(p)
}

// gossipAccepted gossips an event of a peer that the ledger has taken.
func (n *Node) gossipAccepted(a *arrival) {
	n.events.noteReceived(a.event.ID())
	passed := n.o.Now().Sub(time.Unix(0, int64(a.event.CreationTime)))
	if passed < n.limits.Fresh {
		n.fresh.Store(true)
	}
	n.broadcast(a.event, max(passed, 0))
}

// leaveSender leaves the peer that sent an event which no honest peer sends.
func leaveSender(from *peer, id inter.EventID, err error) {
	if eventcheck.Bans(err) {
		from.leave(fmt.Errorf("event %v: %w", id, err))
	}
}

// askForParents asks who sent events for their parents.
func (n *Node) askForParents(from *peer, parents []inter.EventID) {
	n.events.announce(from, parents, n.o.Now())
}

// enterEpoch begins with the ledger's epoch. Whether the node has seen already that the ledger
// is there says nothing: it looks on a goroutine of its own.
func (n *Node) enterEpoch(epoch inter.Epoch) {
	n.look()
	n.leecher.enter(epoch, true)
	if !n.Overtakes() {
		n.leecher.tick(n.o.Now())
	}
	n.tell(n.o.Now(), min(n.limits.ProgressSoon, n.limits.Progress))
}

// fail ends everything: the ledger can go on no more.
func (n *Node) fail(err error) {
	if errors.Is(err, chain.ErrGoesOver) { // as it should
		n.cancel(err)
		return
	}
	n.mu.Lock()
	n.failed = err
	n.mu.Unlock()
	n.o.Notice(fmt.Errorf("events of peers are taken no more: %w", err))
	n.cancel(err)
}

// Broadcast tells peers of an event that this node has made, and waits for nobody. Who makes
// events is at the head unless it waits for a later epoch, so that the only validator of a network
// takes transactions of peers too, which go-opera's does not.
func (n *Node) Broadcast(p *inter.Payload) {
	if !n.Overtakes() {
		n.fresh.Store(true)
	}
	n.broadcast(p, 0)
}

// Connected takes notice of an event that this node has made, and of the blocks that it decided.
func (n *Node) Connected(id inter.EventID) { n.intake.own(id) }

// broadcast sends an event to those that lack it: whole to some, its id to the others.
func (n *Node) broadcast(p *inter.Payload, passed time.Duration) {
	id := p.ID()
	var lacking []*peer
	for _, to := range n.peers.list() {
		if to.interested(id) {
			lacking = append(lacking, to)
		}
	}
	if len(lacking) == 0 {
		return
	}
	rand.Shuffle(len(lacking), func(i, j int) { lacking[i], lacking[j] = lacking[j], lacking[i] })
	whole := recipients(p.Size(), passed, len(lacking))
	var event message
	named, err := newMessage(codeEventIDs, []inter.EventID{id})
	if whole > 0 && err == nil {
		event, err = newMessage(codeEvents, []*inter.Payload{p})
	}
	if err != nil {
		n.o.Notice(err)
		return
	}
	for _, to := range lacking {
		m := named
		if whole > 0 && !to.useless {
			whole--
			m = event
		}
		if to.queue.put(m) == nil {
			to.events.add(short(id))
		}
	}
}

// recipients is how many of the peers get something whole that was made some time ago
// (go-opera, decideBroadcastAggressiveness, with its default weights of latency and
// throughput).
func recipients(size int, passed time.Duration, peers int) int {
	switch cost := passed * time.Duration(128+size) / 128; {
	case cost <= cheapToTell:
		return peers
	case cost <= 10*cheapToTell || passed == 0:
		return min(peers, max(4, int(math.Sqrt(float64(peers)))))
	default:
		return 0
	}
}

// BroadcastTxs tells peers of transactions that are new in the pool.
func (n *Node) BroadcastTxs(txs types.Transactions) { n.txs.broadcast(txs) }
