// Package rpc is the HTTP API of nodeos (Leap 5.0): the calls of chain_api, net_api,
// producer_api, db_size_api, trace_api, test_control_api and prometheus, with nodeos' leniency
// towards what it is asked and its bodies to the letter (Leap: plugins). Clients parse them.
//
// Reads take one view of the state each and wait for nobody: not for blocks, not
// for each other. What changes something is handed to the interfaces of this
// package, which the node provides. The package reads no store and owns no chain.
//
// Its views show the newest finished block, and of the block that is being made what
// the node has answered transactions of clients with; nodeos' shows all that has gone
// into that block so far.
package rpc

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"tarn/antelope/abi"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
	"tarn/httpserver"
)

// The categories of endpoints (Leap: api_category.hpp). Node is served everywhere.
const (
	ChainRO nodeoshttp.Category = 1 << iota
	ChainRW
	DBSize
	NetRO
	NetRW
	ProducerRO
	ProducerRW
	Snapshot
	TraceAPI
	Prometheus
	TestControl

	Node = nodeoshttp.All
)

// names of the categories in options, in the order of their bits
var categoryNames = [...]string{"chain_ro", "chain_rw", "db_size", "net_ro", "net_rw", "producer_ro", "producer_rw",
	"snapshot", "trace_api", "prometheus", "test_control"}

// ParseCategory returns the category of a name in http-category-address.
func ParseCategory(name string) (nodeoshttp.Category, bool) {
	i := slices.Index(categoryNames[:], name)
	return 1 << max(i, 0), i >= 0
}

// CategoryNames returns the names of categories with a space between them, all for all of them,
// as nodeos' log has them.
func CategoryNames(c nodeoshttp.Category) string {
	if c == nodeoshttp.All {
		return "all"
	}
	var names []string
	for i, name := range categoryNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// CategoryPlugin returns the plugin that must be loaded for the endpoints of a
// category, as nodeos demands it.
func CategoryPlugin(c nodeoshttp.Category) string {
	switch c {
	case DBSize:
		return "eosio::db_size_api_plugin"
	case TraceAPI:
		return "eosio::trace_api_plugin"
	case Prometheus:
		return "eosio::prometheus_plugin"
	case TestControl:
		return "eosio::test_control_plugin"
	case ChainRO, ChainRW:
		return "eosio::chain_api_plugin"
	case NetRO, NetRW:
		return "eosio::net_api_plugin"
	}
	return "eosio::producer_api_plugin"
}

// Chain is what is read of the chain (chain.Chain). Its methods may be called by
// all goroutines.
type Chain interface {
	// View returns the state that was published last. The caller closes it.
	View() (*state.View, error)
	// Fork returns the tree of blocks above the last irreversible one.
	Fork() *consensus.ForkDatabase
	// ID returns the chain's id, which never changes.
	ID() types.Checksum256
}

// BlockLog is where irreversible blocks are read. Its methods may be called by all
// goroutines.
type BlockLog interface {
	// First returns the number of the first block from which on all can be read.
	First() uint32
	// Read returns a block, which is the caller's; nil if it is not there. An error says that
	// it could not be read.
	Read(num uint32) (*types.SignedBlock, error)
	// ReadHeader returns a block's header, as Read the block.
	ReadHeader(num uint32) (*types.SignedBlockHeader, error)
}

// Billing is what this node knows of accounts besides the state.
type Billing interface {
	// Subjective is the CPU that an account is billed by this node alone, in us.
	Subjective(account types.Name, now time.Time) int64
	// Greylisted tells whether only the account's own stake counts.
	Greylisted(account types.Name) bool
}

// Transactions executes transactions and takes blocks. Errors are exceptions.
type Transactions interface {
	// RefusesTransactions tells whether the node takes none now.
	RefusesTransactions() bool
	// Transaction executes a transaction and returns its trace.
	Transaction(ctx context.Context, p *types.PackedTransaction,
		o execute.TransactionOptions) (*types.TransactionTrace, error)
	// Block takes a block as if a peer had sent it; id is the block's.
	Block(ctx context.Context, b *types.SignedBlock, id types.Checksum256) error
}

// Retry keeps transactions until they are where they should be
// (transaction-retry-max-storage-size-gb).
type Retry interface {
	// MaxExpiration is the latest expiration that it takes.
	MaxExpiration() types.TimePointSec
	// Track begins to keep a transaction that is about to be executed, until its
	// block is irreversible or, unless blocks is nil, that many blocks deep.
	Track(p *types.PackedTransaction, blocks *uint16) (Tracked, error)
}

// Tracked is a transaction that is kept.
type Tracked interface {
	// Wait returns the JSON of its trace once it is where it should be.
	Wait(ctx context.Context) ([]byte, error)
	// Drop ends the keeping; nobody waits.
	Drop()
}

// Status is what is known of a transaction (transaction-finality-status-...).
type Status struct {
	State      string // LOCALLY_APPLIED, IN_BLOCK, IRREVERSIBLE, FAILED, FORKED_OUT; empty if nothing is known
	BlockID    types.Checksum256
	BlockTime  types.TimePoint
	Expiration types.TimePoint
}

// StatusChain is how far the tracking of transactions is.
type StatusChain struct {
	HeadID, IrreversibleID, EarliestID types.Checksum256
	HeadTime, IrreversibleTime         types.TimePoint
}

// Finality tracks transactions.
type Finality interface {
	// Status returns what is known of a transaction, and how far the tracking is, both of one
	// moment. Any goroutine may call it.
	Status(id types.Checksum256) (Status, StatusChain)
}

// Authorized is a permission that an account or a key takes part in.
type Authorized struct {
	Account, Permission types.Name
	ByAccount           *types.PermissionLevel // either this
	ByKey               *types.PublicKey       // or this
	Weight              uint16
	Threshold           uint32
}

// Authorizers finds accounts by what their permissions name (enable-account-queries).
type Authorizers interface {
	// Accounts returns those of a view; a level with an empty permission is every
	// permission of its actor. It tells more of each permission that it has read, with how much it adds to
	// what is returned; an error of more ends it.
	Accounts(v *state.View, levels []types.PermissionLevel, keys []types.PublicKey,
		more func(matches int) error) ([]Authorized, error)
}

// Size is what the state takes, in bytes, and its tables.
type Size struct {
	Free, Used, Total uint64
	Tables            []TableSize
}

// TableSize is a table's number of rows.
type TableSize struct {
	Name string
	Rows uint64
}

// Config is what the API needs of the node. An interface that is nil takes its
// endpoints away, as a plugin that isn't loaded does in nodeos.
type Config struct {
	Chain    Chain
	Blocks   BlockLog
	Features *feature.Set
	Billing  Billing // nil for none
	// Schedules are those of the block that is being made, nil if none is; itself nil for a node that makes none. They
	// count for views of the block before.
	Schedules    func() *consensus.Schedules
	Transactions Transactions
	Retry        Retry    // nil if it is off
	Finality     Finality // nil if it is off
	// LastVote is the newest vote of a finalizer that a block has brought; false if none is known.
	LastVote    func(types.BLSPublicKey) (finality.LastVote, bool)
	Authorizers Authorizers // nil if they are off
	Net         Net
	Producer    Producer
	Size        func() (Size, error)
	Traces      Traces // nil if they are not recorded
	// TraceABIs are the operator's ABIs of accounts, by which traces are shown.
	TraceABIs map[types.Name]*abi.Codec
	// Damaged tells whether an error is of a state, a log or a history that is not as it was
	// written, and sees to it that the operator learns of it. Clients get no more than that.
	Damaged func(error) bool
	Metrics func(b []byte) []byte // appends them in Prometheus' text format
	// Kill ends the node when a producer is at a slot of its sequence.
	Kill func(producer types.Name, slot uint32, irreversible bool)

	Version         uint32 // get_info's server_version
	VersionString   string // v5.0.3
	FullVersion     string
	MaxResponseTime time.Duration // http-max-response-time-ms; below 0 is no limit
	// WholeTime is how long an answer may take at least that has no part; 0 is a second.
	WholeTime      time.Duration
	ABITime        time.Duration // abi-serializer-max-time-ms; 0 is 15 ms
	Verbose        bool          // verbose-http-errors
	NoTransactions bool          // api-accept-transactions = false
	ReadOnly       bool          // send_read_only_transaction is served (read-only-threads > 0)
	Irreversible   bool          // read-mode = irreversible
	Log            *slog.Logger

	// Forward has another node answer what must reach the chain, of a node that only follows: it appends that
	// node's answer and returns its status. Nil for a node that answers itself.
	Forward func(r *nodeoshttp.Request, b []byte) (status int, answer []byte, err error)
	// Older is Forward for what is older than all that is here.
	Older func(r *nodeoshttp.Request, b []byte) (status int, answer []byte, err error)
}

// API answers the calls. Its methods may be called by all goroutines.
type API struct {
	Config
	codecs codecs
	heads  headCache
	apis   func(nodeoshttp.Category) []string

	olderTurns *httpserver.Turns // of requests that another node is asked for what is older
}

// New returns the API of a node.
func New(c Config) *API {
	if c.WholeTime == 0 {
		c.WholeTime = wholeTime
	}
	if c.ABITime == 0 {
		c.ABITime = abiTime
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &API{Config: c, olderTurns: httpserver.NewTurns(olderAtOnce, olderEach, olderWaiting)}
}

// Register adds the endpoints that the configuration has an owner for to a server.
// It is called once.
func (a *API) Register(s *nodeoshttp.Server) error {
	a.apis = s.Paths
	return s.Add(append(a.Calls(), nodeoshttp.Endpoint{Path: "/v1/node/get_supported_apis", Category: Node, Hidden: true,
		Handle: a.supportedAPIs})...)
}

// Calls returns the endpoints that the configuration has an owner for, but for the
// list of them.
func (a *API) Calls() []nodeoshttp.Endpoint {
	var list []nodeoshttp.Endpoint
	for _, c := range a.calls() {
		list = append(list, nodeoshttp.Endpoint{Path: c.path, Category: c.category, Text: c.category == Prometheus,
			Waits: c.waits, Handle: a.handler(c)})
	}
	if a.Traces != nil {
		list = append(list, a.traceEndpoints()...)
	}
	return list
}

func (q operator) metrics(b []byte) ([]byte, error) { return q.api.Metrics(b), nil }

func (a *API) supportedAPIs(r *nodeoshttp.Request, b []byte) (int, []byte) {
	list := a.apis(r.Categories)
	slices.Sort(list)
	b = variant.AppendList(append(b, `{"apis":`...), list, func(b []byte, s *string) []byte {
		return variant.AppendString(b, *s)
	})
	return http.StatusOK, append(b, '}')
}
