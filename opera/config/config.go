// Package config reads what an operator says to an Opera node: the command line and the
// TOML file of go-opera v1.1.3-rc.5, with the names, defaults and precedence that they have
// there.
//
// It knows every flag and every key of go-opera. Those without a meaning here are accepted,
// and a notice says what happens instead. It opens no file but the one that it is told to
// read, starts nothing, and does not know what the parts of a node make of their options.
package config

import (
	"time"
)

// Config is what a node is to do. Its sections and keys are those of the TOML file; what
// only flags can say is in Run.
type Config struct {
	Node    Node
	Opera   Opera
	Emitter Emitter
	TxPool  TxPool
	Tarn    Tarn
	Run     Run `toml:"-"`

	// Notices are lines for the operator: what was said that has no effect here.
	Notices []string `toml:"-"`
}

// Node is where the node lives, and who may reach it.
type Node struct {
	DataDir     string
	UserIdent   string `toml:",omitempty"`
	KeyStoreDir string `toml:",omitempty"` // "" is the folder keystore in DataDir
	UseLightweightKDF,
	InsecureUnlockAllowed bool `toml:",omitempty"`

	IPCPath             string // a name alone is in DataDir; "" is none
	HTTPHost            string // "" is none
	HTTPPort            int
	HTTPCors            []string `toml:",omitempty"`
	HTTPVirtualHosts    []string
	HTTPModules         []string
	HTTPPathPrefix      string `toml:",omitempty"`
	WSHost              string // "" is none
	WSPort              int
	WSOrigins           []string `toml:",omitempty"`
	WSModules           []string
	WSPathPrefix        string `toml:",omitempty"`
	WSExposeAll         bool   `toml:",omitempty"`
	AllowUnprotectedTxs bool   `toml:",omitempty"`

	P2P          P2P
	HTTPTimeouts Timeouts
}

// P2P is who the node's peers are.
type P2P struct {
	MaxPeers        int
	MaxPendingPeers int `toml:",omitempty"`
	NoDiscovery     bool
	DiscoveryV5     bool
	// BootstrapNodes, and those of discovery v5, are nil for those of the network.
	BootstrapNodes, BootstrapNodesV5 []string `toml:",omitempty"`
	StaticNodes, TrustedNodes        []string
	NetRestrict, IPRestrict          []string `toml:",omitempty"`
	PrivateNodes                     []string `toml:",omitempty"`
	ListenAddr                       string
	NAT                              string
	NoDial                           bool `toml:",omitempty"`
	// NodeKey is a file's name and NodeKeyHex the key itself; without either the node
	// keeps one of its own.
	NodeKey, NodeKeyHex string `toml:"-"`
}

// Timeouts are those of HTTP.
type Timeouts struct {
	ReadTimeout, WriteTimeout, IdleTimeout time.Duration
}

// Opera is how the chain is followed and asked.
type Opera struct {
	AllowSnapsync       bool
	TxIndex             bool
	RPCGasCap           uint64
	RPCEVMTimeout       time.Duration
	RPCTxFeeCap         float64 // in FTM
	RPCTimeout          time.Duration
	AllowUnprotectedTxs bool
	RPCBlockExt         bool
	FilterAPI           FilterAPI
	GPO                 GPO
}

// FilterAPI is over how many blocks logs may be searched.
type FilterAPI struct {
	IndexedLogsBlockRangeLimit, UnindexedLogsBlockRangeLimit uint64
}

// GPO is what the gas price oracle may say, in wei; DefaultCertainty is in millionths.
type GPO struct {
	MaxGasPrice, MinGasPrice, MinGasTip, DefaultCertainty uint64
}

// Emitter is what a validator says, and when.
type Emitter struct {
	VersionToPublish     string
	Validator            Validator
	EmitIntervals        EmitIntervals
	MaxTxsPerAddress     int
	MaxParents           uint32
	LimitedTpsThreshold  uint64 // gas
	NoTxsThreshold       uint64 // gas
	EmergencyThreshold   uint64 // gas
	TxsCacheInvalidation time.Duration
	PrevEmittedEventFile, PrevBlockVotesFile,
	PrevEpochVoteFile File
	// Password is a file's name.
	Password string `toml:"-"`
}

// Validator is who the node speaks for; ID 0 is nobody.
type Validator struct {
	ID     uint32
	PubKey PubKey
}

// PubKey is a validator's key as the file has it: its type, and the bytes behind that.
type PubKey struct {
	Type uint8
	Raw  []byte `toml:",omitempty"`
}

// EmitIntervals are go-opera's.
type EmitIntervals struct {
	Min, Max, Confirming, ParallelInstanceProtection, DoublesignProtection time.Duration
}

// File is a file that a validator's last words are kept in.
type File struct {
	Path     string
	SyncMode bool
}

// TxPool is which transactions may wait.
type TxPool struct {
	Locals       []string // addresses
	NoLocals     bool
	Journal      string
	Rejournal    time.Duration
	PriceLimit   uint64 // wei
	PriceBump    uint64 // percent
	AccountSlots uint64
	GlobalSlots  uint64
	AccountQueue uint64
	GlobalQueue  uint64
	Lifetime     time.Duration
}

// Tarn is what go-opera does not have.
type Tarn struct {
	// Engine keeps the state: one of engine.Kinds; "" is that of the state
	// there is, or page.
	Engine string
	// MapMode is how the page engine maps its file: mapped, mapped_private, heap, locked;
	// "" is its own choice.
	MapMode string
	// SeekCompaction lets leveldb compact files that many reads searched without finding the row.
	SeekCompaction bool
	// CacheMB is the memory of the store, 0 is the engine's choice.
	CacheMB int
	// LimitMB is how large a page engine's file may get, 0 is its own choice.
	LimitMB int
	// Recovery is how long a start after a crash may take to make blocks again.
	Recovery time.Duration
	// HistoryDir is where finished files of history are moved to, "" is nowhere.
	HistoryDir string
	// States is of how many last blocks old states are kept, 0 is all.
	States uint64
	// MinFreeDiskMB is below which the node stops, 0 is never.
	MinFreeDiskMB uint64
	// HealthAge is how old the newest event of a node may be that is ready, and its newest
	// block where peers have a newer one.
	HealthAge time.Duration
	// Trusted are the addresses and networks whose clients have no share of their own, and that
	// say for whom they ask.
	Trusted []string
	// Subscriptions and Filters are how many clients may have, all together; 0 is the usual number.
	Subscriptions, Filters int
	Fleet                  Fleet
}

// Run is what only the command line says.
type Run struct {
	File     string // the configuration file, "" is none
	Genesis  string // a file, "" is none
	Trust    bool   // a genesis that is not known
	Fakenet  Fakenet
	Preset   string // of go-opera's databases
	GCMode   string
	SyncMode string
	// ExitAge ends the node when its newest event is no older, ExitEpoch when it is in the
	// epoch; nil is not asked.
	ExitAge   *time.Duration
	ExitEpoch *uint64
	Unlock    []string // accounts
	Password  string   // a file
	Metrics   bool
	MetricsAddr,
	JSPath, Exec, Preload string
	MetricsPort int
	Dashboard   string // host:port of the page of the node's numbers, "" is none
	Log         Log
	Profile     Profile
	Export      Export
	Help        bool
}

// Fakenet is a network for trying out: validator ID, 0 for none, of so many.
type Fakenet struct {
	ID         uint32
	Validators int // 0 is no fakenet
}

// Log is what is said, and in what form.
type Log struct {
	Verbosity int // 0 silent, 1 errors to 5 everything
	Modules   string
	JSON      bool
}

// Profile is what is measured of the process.
type Profile struct {
	Serve   bool
	Address string
	Port    int
	CPU     string // a file
	Trace   string // a file
}

// Export is what goes into an exported genesis.
type Export struct {
	Mode     string // mpt, ext-mpt or full
	Sections string
	Exclude  string
}
