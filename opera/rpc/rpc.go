// Package rpc answers JSON-RPC as go-opera v1.1.3-rc.5 does: over HTTP, WebSocket and a
// local socket, with the namespaces eth, ftm, dag, abft, net, web3, txpool, debug, trace, personal
// and admin.
//
// It owns the forms of blocks, transactions, receipts, logs and events in JSON, what a tag
// of a block means, the estimates of gas, filters and subscriptions, and the
// limits of all that. It reads a chain through its views, one a request, which is closed
// with it, so that no answer waits for a block that is being made or mixes two. It never
// changes a chain, knows no store, and keeps no transactions: those are the pool's.
//
// Errors have go-opera's texts and codes where go-opera fails. What it answers otherwise,
// and why, is listed in docs/opera-rpc.md.
package rpc

import (
	"context"
	"errors"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/httpserver"
	"tarn/opera/chain"
	"tarn/opera/evm"
	"tarn/opera/gasprice"
	"tarn/opera/inter"
)

// Chain is what is read. *chain.Chain is one. Any goroutine calls its methods.
type Chain interface {
	// View returns the chain after its newest block.
	View() (*chain.View, error)
	// Event returns an event as it travels, nil if there is none.
	Event(id inter.EventID) ([]byte, error)
	// Events calls each for the events from an id on, ascending, until it returns false.
	Events(from inter.EventID, each func(id inter.EventID, raw []byte) bool) error
	// Heads returns the events of the present epoch that no event has for a parent, by id.
	Heads() []inter.EventID
	// LastEvents returns each validator's newest event of the present epoch.
	LastEvents() map[inter.ValidatorID]inter.EventID
}

// Pool is where transactions wait. Any goroutine calls its methods. What it returns is the
// caller's, transactions excepted, which nobody changes.
type Pool interface {
	// Add takes a transaction of this node's own client. Errors have go-opera's texts.
	Add(tx *types.Transaction) error
	// Get returns a transaction that waits, nil if there is none.
	Get(hash common.Hash) *types.Transaction
	// Nonce returns what the next transaction of a sender has after those that wait.
	Nonce(sender common.Address) uint64
	// Pending returns what can be executed now, by sender and nonce.
	Pending() map[common.Address]types.Transactions
	// Content returns what can be executed now, and what waits for others.
	Content() (pending, queued map[common.Address]types.Transactions)
	// ContentFrom returns what Content does of one sender.
	ContentFrom(sender common.Address) (pending, queued types.Transactions)
	// Stats returns how many there are of each.
	Stats() (pending, queued int)
}

// Peers is what is known of the network. *p2p.Server has most of the methods.
type Peers interface {
	// PeerCount returns how many peers are connected.
	PeerCount() int
	// PeersInfo tells about each.
	PeersInfo() []*p2p.PeerInfo
	// NodeInfo tells about this node.
	NodeInfo() *p2p.NodeInfo
	// Highest returns the newest block and epoch that a peer has told of.
	Highest() (inter.BlockNumber, inter.Epoch)
	// SubscribeEvents has connections and their ends told to a channel, which must be read.
	SubscribeEvents(to chan *p2p.PeerEvent) event.Subscription
	// AddPeer keeps a connection to a node from now on, by the node's enode URL.
	AddPeer(url string) error
	// RemovePeer ends the connection to a node, and keeps none any more.
	RemovePeer(url string) error
	// AddTrustedPeer lets a node connect even if there are enough peers.
	AddTrustedPeer(url string) error
	// RemoveTrustedPeer takes AddTrustedPeer back. The connection goes on.
	RemoveTrustedPeer(url string) error
}

// Prices estimates what gas costs, in wei. *gasprice.Oracle is one. Any goroutine calls its
// methods. What they return is the caller's.
type Prices interface {
	// Tip returns how much above the least price to offer, for a certainty in millionths or
	// gasprice.ByDefault.
	Tip(v *chain.View, certainty uint64) *big.Int
	// Effective returns the price below which validators take no transaction.
	Effective(v *chain.View) *big.Int
}

// Options of a service.
type Options struct {
	Chain Chain
	// Pool is nil in a node that takes no transactions.
	Pool Pool
	// Peers is nil in a node that has none.
	Peers Peers
	// States tells how many parts of a state that is downloaded came, and of how many; nil if none ever is.
	States func() (pulled, known uint64)
	// Accounts are the node's own; nil is none.
	Accounts *accounts.Manager
	// InsecureUnlock allows personal_unlockAccount while clients of other machines are
	// served, as Remote says they are.
	InsecureUnlock, Remote bool
	// AllowUnprotected takes transactions that are valid on any chain.
	AllowUnprotected bool
	// Version is what web3_clientVersion says.
	Version string
	// DataDir is what admin_datadir says.
	DataDir string
	// IPRestrict are the addresses that peers may have, nil for any, and PrivateNodes the URLs
	// of nodes that others are not told of, as the operator named them.
	IPRestrict, PrivateNodes []string
	// Log is nil where the log cannot be changed.
	Log LogControl
	// Endpoints is nil where the addresses that are served cannot be changed.
	Endpoints Endpoints
	// Prices estimates what gas costs; nil is an oracle that knows no pool.
	Prices Prices
	// Damaged, if not nil, tells whether an error is of files that are not what was written, and
	// sees to it that the operator hears of it.
	Damaged func(error) bool
	// Older, if not nil, has another node answer a body with a request for what is older than the chain, or needs tries that
	// it has not, of a chain whose last block is head: the answer is the body of that node's. An error wraps [ErrNobody] if
	// there is no other node, and says else why none answers.
	Older  func(ctx context.Context, head inter.BlockNumber, body []byte) (answer []byte, err error)
	Limits Limits
	// Now is the clock, which only eth_syncing looks at; time.Now by default.
	Now func() time.Time
}

// Service answers requests. Any goroutine may call its methods.
type Service struct {
	options  Options
	limits   Limits
	blocks   *blockCache
	finding  chan struct{} // has an element for each block that is being found by its id
	analyses *evm.Analyses
	codes    *codes
	// pendingTexts are transactions that wait, as subscribers get them.
	pendingTexts *pendingTexts
	hashers      hashers
	hub          *hub
	filters      *installed
	latest       *latest
	profiles     debugProfiles
	nonces       locks

	memory, filterPlaces, subscriptions *httpserver.Shares
	pace                                pace
	olderTurns                          *httpserver.Turns
	sockets                             sync.Map // of *socket, by the name of a connection of WebSocket
}

// New returns a service. Close ends it.
func New(o Options) *Service {
	if o.Pool == nil {
		o.Pool = noPool{}
	}
	if o.Peers == nil {
		o.Peers = noPeers{}
	}
	if o.Accounts == nil {
		o.Accounts = accounts.NewManager(nil)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Prices == nil {
		o.Prices = gasprice.New(gasprice.Options{Chain: o.Chain, Now: o.Now})
	}
	s := &Service{options: o, limits: o.Limits.withDefaults(), hashers: newHashers(), profiles: newProfiles()}
	l := &s.limits
	s.finding = make(chan struct{}, l.Tellings)
	s.blocks, s.codes = newBlockCache(l.CachedBytes), newCodes(l.CodeBytes)
	s.pendingTexts = newPendingTexts(l.KeptTold)
	s.analyses = evm.NewAnalyses(l.AnalysisBytes)
	s.memory = httpserver.NewShares(l.Memory, httpserver.ShareOf(l.Memory))
	s.filterPlaces = httpserver.NewShares(int64(l.Filters), int64(max(1, l.Filters/shareOfPlaces)))
	s.subscriptions = httpserver.NewShares(int64(l.Subscriptions), int64(max(1, l.Subscriptions/shareOfPlaces)))
	s.olderTurns = httpserver.NewTurns(olderAtOnce, olderEach, l.Waiting)
	s.pace = newPace(l)
	s.filters = &installed{s: s, filters: map[rpc.ID]*filter{}}
	s.hub = newHub(s)
	s.latest = newLatest(o.Chain, s.hub.tellBlocks)
	return s
}

// Close ends filters and subscriptions. Requests that come later are refused; the chain must stay
// open until those that are being answered have ended.
func (s *Service) Close() error {
	err := s.latest.close()
	s.hub.close()
	return err
}

// Follow has the chain's newest block looked at, which is shown when it is whole. It must be called
// after each block, and never waits.
func (s *Service) Follow() { s.latest.follow() }

// Memory is what all that clients send, wait for and are told is counted in.
func (s *Service) Memory() *httpserver.Shares { return s.memory }

// client is who asks, by the context of a request.
func (s *Service) client(ctx context.Context) httpserver.Client {
	if of := s.socket(ctx); of != nil {
		return of.client
	}
	return httpserver.ClientOf(ctx)
}

// socket is the connection of WebSocket by which a request came, nil if it did not.
func (s *Service) socket(ctx context.Context) *socket {
	of, _ := s.sockets.Load(rpc.PeerInfoFromContext(ctx).RemoteAddr)
	c, _ := of.(*socket)
	return c
}

// busy is why a request is not answered now. The code is that of limits in Ethereum's JSON-RPC.
type busy struct{ error }

func (b *busy) ErrorCode() int { return overLimit }
func (b *busy) Unwrap() error  { return b.error }

// read gives a request its view: that of the newest block that is whole.
func read[T any](s *Service, f func(v *view) (T, error)) (result T, err error) {
	of, err := s.latest.take()
	if err != nil {
		var none T
		return none, s.public(err)
	}
	// An error keeps its code, which a joined one would not. What panics has no view either.
	defer func() {
		if closed := s.latest.give(of); err == nil {
			err = closed
		}
		err = s.public(err)
	}()
	return f(&view{View: of.View, service: s})
}

// noPool is the pool of a node without one.
type noPool struct{}

func (noPool) Add(*types.Transaction) error {
	return errors.New("this node takes no transactions")
}
func (noPool) Get(common.Hash) *types.Transaction                               { return nil }
func (noPool) Nonce(common.Address) uint64                                      { return 0 }
func (noPool) Pending() map[common.Address]types.Transactions                   { return nil }
func (noPool) Content() (pending, queued map[common.Address]types.Transactions) { return nil, nil }
func (noPool) ContentFrom(common.Address) (pending, queued types.Transactions)  { return nil, nil }
func (noPool) Stats() (pending, queued int)                                     { return 0, 0 }

// noPeers is the network of a node without one.
type noPeers struct{}

var errNoPeers = errors.New("this node has no peers")

func (noPeers) PeerCount() int                            { return 0 }
func (noPeers) PeersInfo() []*p2p.PeerInfo                { return []*p2p.PeerInfo{} }
func (noPeers) NodeInfo() *p2p.NodeInfo                   { return &p2p.NodeInfo{} }
func (noPeers) Highest() (inter.BlockNumber, inter.Epoch) { return 0, 0 }
func (noPeers) SubscribeEvents(chan *p2p.PeerEvent) event.Subscription {
	return event.NewSubscription(func(end <-chan struct{}) error { <-end; return nil })
}
func (noPeers) AddPeer(string) error           { return errNoPeers }
func (noPeers) RemovePeer(string) error        { return errNoPeers }
func (noPeers) AddTrustedPeer(string) error    { return errNoPeers }
func (noPeers) RemoveTrustedPeer(string) error { return errNoPeers }

// nonce is what the next transaction of a sender has.
func (s *Service) nonce(v *view, sender common.Address) (uint64, error) {
	if _, none := s.options.Pool.(noPool); !none {
		return s.options.Pool.Nonce(sender), nil
	}
	a, err := v.Account(sender)
	return a.Nonce, err
}

// minPrice is the hard lower bound of the price of gas.
func (v *view) minPrice() *big.Int { return new(big.Int).Set(v.Epoch().Rules.Economy.MinGasPrice) }
