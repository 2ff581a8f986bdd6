package p2p

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Options are those of nodeos' net_plugin, by their names, and what else a network
// is made with. [DefaultOptions] has nodeos' defaults.
type Options struct {
	// p2p-listen-endpoint: host:port[:trx|:blk][:rate]; none or an empty first one for no listener
	Listen             []string
	Server             []string // p2p-server-address: what is said in place of the listener of the same place
	Peers              []string // p2p-peer-address: host:port[:trx|:blk]
	MaxNodesPerHost    int      // p2p-max-nodes-per-host; below 0 for any number
	AcceptTransactions bool     // p2p-accept-transactions
	AutoBPPeers        []string // p2p-auto-bp-peer: account,host:port
	GossipEndpoints    []string // p2p-bp-gossip-endpoint: account,host:port,ip; this node gossips with at least one
	AgentName          string   // agent-name
	Allowed            []string // allowed-connection: any, producers, specified, none
	PeerKeys           []string // peer-key: public keys
	PeerPrivateKeys    []string // peer-private-key: ["public key","private key"]
	MaxClients         uint32   // max-clients; 0 for no limit

	CleanupPeriod  time.Duration // connection-cleanup-period
	MaxCleanupTime time.Duration // max-cleanup-time-msec; accepted, cleaning up takes no time to speak of
	DedupExpire    time.Duration // p2p-dedup-cache-expire-time-sec
	Threads        int           // net-threads; accepted, connections have goroutines of their own
	SyncFetchSpan  uint32        // sync-fetch-span
	SyncPeerLimit  uint32        // sync-peer-limit
	ReadWatermark  bool          // use-socket-read-watermark; accepted, the runtime's poller needs none
	PeerLogFormat  string        // peer-log-format
	KeepAlive      time.Duration // p2p-keepalive-interval-ms
	// vote-threads: votes that are verified at once; with 0 peers' votes are dropped unread
	VoteThreads  int
	DisableNacks bool // p2p-disable-block-nack: blocks are sent to all, and none is declined

	// Producers are the accounts that this node makes blocks for.
	Producers []types.Name
	// IsProducerKey tells whether this node produces with the key, which as in nodeos
	// lets other nodes of the producer in; nil for never. Any goroutine calls it.
	IsProducerKey func(types.PublicKey) bool
	// Sign signs with a key of this node; nil if it has none. Any goroutine calls it.
	Sign func(types.PublicKey, types.Checksum256) (types.Signature, error)

	Log    *slog.Logger // nil for silence
	Limits Limits       // of what peers may cost
}

// DefaultOptions returns nodeos' defaults.
func DefaultOptions() Options {
	return Options{
		Listen:             []string{"0.0.0.0:9876:0"},
		MaxNodesPerHost:    1,
		AcceptTransactions: true,
		AgentName:          "EOS Test Agent",
		Allowed:            []string{"any"},
		MaxClients:         25,
		CleanupPeriod:      30 * time.Second,
		MaxCleanupTime:     10 * time.Millisecond,
		DedupExpire:        10 * time.Second,
		Threads:            4,
		SyncFetchSpan:      1000,
		SyncPeerLimit:      3,
		PeerLogFormat:      `["${_name}" - ${_cid} ${_ip}:${_port}] `,
		KeepAlive:          10 * time.Second,
		Limits:             DefaultLimits(),
	}
}

// config is what options come to.
type config struct {
	Options
	listeners []endpoint
	allowed   allowed
	keys      []types.PublicKey                     // allowed
	private   map[types.PublicKey]crypto.PrivateKey // own
	authKey   types.PublicKey                       // the lowest of private
	autoPeers map[types.Name]string                 // addresses of producers
	autoNames map[string]types.Name                 // and the other way round
	gossip    []reached                             // where own producers can be reached
	mistakes  []string                              // what is left out, as nodeos does, and said
}

// endpoint is a listener with the address that is told to those who come by it.
type endpoint struct {
	Listener
	public string
}

// allowed is a set of who may connect.
type allowed uint8

const (
	allowProducers allowed = 1 << iota
	allowSpecified
	allowAny
)

// Validate checks the options, all of them at once. Its error joins a
// *admintypes.BadOption for each mistake.
func (o *Options) Validate() error {
	_, err := o.resolve("")
	return err
}

// Ignored returns what of the options has no effect because it is mistaken, as in nodeos,
// which says so and goes on: a line for each.
func (o *Options) Ignored() []string {
	c := &config{Options: *o}
	_, _ = c.readPeers(), c.readAllowed() // Validate says what is wrong with the rest
	return c.mistakes
}

// resolve checks the options, each part whatever the others are like. hostname stands
// for listeners on all addresses.
func (o *Options) resolve(hostname string) (*config, error) {
	c := &config{Options: *o}
	var errs []error
	for _, step := range []func() error{c.checkNumbers, c.Limits.Validate, func() error {
		return c.readListeners(hostname)
	},
		c.readPeers, c.readGossip, c.readAllowed, c.readKeys} {
		errs = append(errs, step())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *config) checkNumbers() error {
	var errs []error
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, admintypes.NewBadOption(format, args...))
		}
	}
	check(c.KeepAlive <= 0, "p2p-keepalive_interval-ms must be greater than 0")
	check(c.VoteThreads < 0, "vote-threads must not be negative")
	check(c.Threads <= 0, "net-threads %d must be greater than 0", c.Threads)
	check(len(c.AgentName) > maxHandshakeText, "agent-name too long, must be less than %d", maxHandshakeText)
	check(c.CleanupPeriod <= 0, "connection-cleanup-period must be greater than 0")
	check(c.SyncFetchSpan == 0, "sync-fetch-span must be greater than 0")
	check(c.SyncPeerLimit == 0, "sync-peer-limit must be greater than 0")
	check(c.DedupExpire < 0 || c.MaxCleanupTime < 0, "times must not be negative")
	return errors.Join(errs...)
}

// readListeners pairs listeners, in their order of text, with server addresses.
func (c *config) readListeners(hostname string) error {
	list := slices.Clone(c.Listen)
	if len(list) > 0 && list[0] == "" {
		list = nil
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(c.Server) > len(list) {
		return admintypes.NewBadOption("p2p-server-address may not be specified more times than p2p-listen-endpoint")
	}
	var errs []error
	for i, s := range list {
		e, err := readListener(s, hostname)
		if err == nil && i < len(c.Server) && c.Server[i] != "" {
			e.public = c.Server[i]
		}
		if err == nil && len(e.public) > maxAddress {
			err = admintypes.NewBadOption("p2p-server-address %s too long, must be less than %d", e.public, maxAddress)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.listeners = append(c.listeners, e)
	}
	return errors.Join(errs...)
}

// readListener reads one listener. hostname stands for all addresses.
func readListener(s, hostname string) (endpoint, error) {
	if len(s) > maxAddress {
		return endpoint{}, admintypes.NewBadOption("p2p-listen-endpoint %s too long, must be less than %d", s, maxAddress)
	}
	l, err := ParseListener(s)
	if err != nil {
		return endpoint{}, err
	}
	host, port, err := net.SplitHostPort(l.Address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return endpoint{}, admintypes.NewBadOption("p2p-listen-endpoint '%s' is no address: HOST:PORT[:trx|:blk][:RATE] "+
			"is expected, such as 0.0.0.0:9876", s)
	}
	e := endpoint{Listener: l, public: s}
	if host == "" || host == "0.0.0.0" || host == "::" {
		e.public = hostname + ":" + port + l.Traffic.String()
	}
	return e, nil
}

func (c *config) readPeers() error {
	// One mistake in a long list must not keep a node from its other peers.
	valid := func(address string) bool {
		_, _, _, ok := splitPeer(address)
		if !ok {
			c.mistakes = append(c.mistakes,
				fmt.Sprintf(`Invalid peer address. must be "host:port[:<blk>|<trx>]": %s`, address))
		}
		return ok
	}
	c.Peers = slices.DeleteFunc(slices.Clone(c.Peers), func(p string) bool { return !valid(p) })
	c.autoPeers, c.autoNames = map[types.Name]string{}, map[string]types.Name{}
	var errs []error
	for _, p := range c.AutoBPPeers {
		account, address, ok := strings.Cut(p, ",")
		if !ok {
			errs = append(errs, admintypes.NewBadOption("auto-bp-peer must consists an account name and server address "+
				"separated by a comma token"))
			continue
		}
		name, err := types.ParseName(account)
		switch {
		case err != nil:
			errs = append(errs, admintypes.NewBadOption("the account supplied by --auto-bp-peer option is invalid"))
		case !valid(address):
		case slices.Contains(c.Peers, address):
			errs = append(errs,
				admintypes.NewBadOption(
					`"%s" should only appear in either p2p-peer-address or p2p-auto-bp-peer option, not both.`,
					address))
		default:
			c.autoPeers[name], c.autoNames[address] = address, name
		}
	}
	return errors.Join(errs...)
}

// readGossip reads where the own producers can be reached (Spring: set_bp_producer_peers).
func (c *config) readGossip() error {
	var errs []error
	for _, s := range c.GossipEndpoints {
		o, err := parseReached(s)
		if err == nil {
			count := 0
			for _, other := range c.gossip {
				if other.producer != o.producer {
					continue
				}
				if count++; other.outbound == o.outbound {
					err = admintypes.NewBadOption("Duplicate p2p-bp-gossip-endpoint for: %v, outbound ip address: %s",
						o.producer, o.outbound)
				}
			}
			if count >= perProducer && err == nil {
				err = admintypes.NewBadOption("Too many p2p-bp-gossip-endpoint for %v, max %d", o.producer, perProducer)
			}
		}
		c.gossip = append(c.gossip, o)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// parseReached reads account,host:port,ip.
func parseReached(s string) (o reached, err error) {
	account, rest, ok := strings.Cut(s, ",")
	if !ok {
		return o, admintypes.NewBadOption(
			"p2p-bp-gossip-endpoint %s must consist of bp-account-name,inbound-server-endpoint,outbound-ip-address "+
				"separated by commas", s)
	}
	if o.producer, err = types.ParseName(account); err != nil {
		return o, admintypes.NewBadOption("The account %s supplied by --p2p-bp-gossip-endpoint option is invalid", account)
	}
	o.server, o.outbound, ok = strings.Cut(rest, ",")
	if !ok {
		return o, admintypes.NewBadOption(
			"p2p-bp-gossip-endpoint %s must consist of bp-account-name,inbound-server-endpoint,"+
				"outbound-ip-address separated by commas, second comma is missing", s)
	}
	o.server, o.outbound = strings.TrimSpace(o.server), strings.TrimSpace(o.outbound)
	if !isServer(o.server) {
		return o, admintypes.NewBadOption("Invalid p2p-bp-gossip-endpoint inbound server endpoint %s, syntax host:port",
			o.server)
	}
	if len(o.outbound) > maxAddress {
		return o, admintypes.NewBadOption("p2p-bp-gossip-endpoint outbound-ip-address %s too long, must be less than %d",
			o.outbound, maxAddress)
	}
	if _, err := netip.ParseAddr(o.outbound); err != nil {
		return o, admintypes.NewBadOption("Invalid p2p-bp-gossip-endpoint outbound ip address %s, syntax ip-address",
			o.outbound)
	}
	return o, nil
}

func (c *config) readAllowed() error {
	for _, s := range c.Allowed {
		switch s {
		case "any":
			c.allowed |= allowAny
		case "producers":
			c.allowed |= allowProducers
		case "specified":
			c.allowed |= allowSpecified
		case "none":
			c.allowed = 0
		default:
			c.mistakes = append(c.mistakes,
				fmt.Sprintf("allowed-connection %s is none of any, producers, specified and none", s))
		}
	}
	if c.allowed&allowSpecified != 0 && len(c.PeerKeys) == 0 {
		return admintypes.NewBadOption("At least one peer-key must accompany 'allowed-connection=specified'")
	}
	return nil
}

func (c *config) readKeys() error {
	var errs []error
	for _, s := range c.PeerKeys {
		k, err := types.ParsePublicKey(strings.Trim(s, `"`))
		if err != nil {
			errs = append(errs, admintypes.NewBadOption("peer-key %s: a public key is expected, EOS... or PUB_...", s))
			continue
		}
		c.keys = append(c.keys, k)
	}
	c.private = map[types.PublicKey]crypto.PrivateKey{}
	for _, s := range c.PeerPrivateKeys {
		public, private, err := parseKeyPair(s)
		if err != nil {
			// it is not to be shown
			errs = append(errs, admintypes.NewBadOption("a peer-private-key is not [\"public key\",\"private key\"]"))
			continue
		}
		c.private[public] = private
		if len(c.private) == 1 || public.Compare(c.authKey) < 0 {
			c.authKey = public
		}
	}
	return errors.Join(errs...)
}

// parseKeyPair reads a JSON array of a public and a private key.
func parseKeyPair(s string) (public types.PublicKey, private crypto.PrivateKey, err error) {
	v, err := variant.Parse(s)
	if err != nil {
		return public, private, err
	}
	list, err := v.Elements()
	if err != nil || len(list) != 2 {
		return public, private, admintypes.NewBadOption("not an array of two")
	}
	var text [2]string
	for i := range text {
		if text[i], err = list[i].AsText(); err != nil {
			return public, private, err
		}
	}
	if public, err = types.ParsePublicKey(text[0]); err != nil {
		return public, private, err
	}
	private, err = crypto.ParsePrivateKey(text[1])
	return public, private, err
}
