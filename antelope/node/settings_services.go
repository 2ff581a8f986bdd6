package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/crypto"
	"tarn/antelope/finalizer"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/rpc/trxretry"
	"tarn/antelope/rpc/trxstatus"
	"tarn/antelope/types"
	"tarn/httpserver"
	"tarn/livepage"
)

// readOnlyThreads is how many threads for read-only transactions a node with
// chain_api has if nothing is said (Leap: producer_plugin.cpp).
const readOnlyThreads = 3

// services are the options of what works once the chain is at its head. The error
// names all that is wrong with them.
func (s *settings) services(o *Options, v Version) (out Services, err error) {
	out.Producer, out.malformed, err = s.producer(o)
	o.Follower = len(out.Producer.Producers) == 0
	finalizers, e := s.finalizers()
	out.Finalizers, err = finalizers, errors.Join(err, e)
	out.VoteLog = s.logs.Logger("vote")
	network := s.network()
	err = errors.Join(err, network.Validate())
	out.P2P = &network
	if s.looking { // else the network says it
		out.ignored = append(out.ignored, network.Ignored()...)
	}
	if out.Dashboard = s.Text("dashboard-address"); out.Dashboard != "" {
		if e := livepage.CheckAddress(out.Dashboard); e != nil {
			err = errors.Join(err, admintypes.NewBadOption("dashboard-address: %s", e.Error()))
		}
	}
	out.Version = v
	if s.replica {
		err = errors.Join(err, s.follow(&out))
	}
	if s.Plugins.Enabled("eosio::http_plugin") {
		var e error
		out.HTTP, e = s.http(v, len(out.Producer.Producers) > 0)
		err = errors.Join(err, e)
	}
	abis, e := s.traceABIs()
	if out.HTTP != nil {
		out.HTTP.API.TraceABIs = abis
	}
	return out, errors.Join(err, e)
}

// producer are the options of the writer, and what is wrong with a signature-provider, a line for each.
func (s *settings) producer(o *Options) (p producer.Options, malformed []string, err error) {
	p = producer.Options{
		StaleProduction: s.Bool("enable-stale-production"), Paused: s.Bool("pause-on-startup"),
		MaxTransactionTime: s.signedDuration("max-transaction-time", time.Millisecond),
		MaxIrreversibleAge: s.signedDuration("max-irreversible-block-age", time.Second),
		MaxReversible:      uint32(s.Uint("max-reversible-blocks")),
		VotePause:          s.unsignedDuration("production-pause-vote-timeout-ms", time.Millisecond),
		ProduceOffset:      s.unsignedDuration("produce-block-offset-ms", time.Millisecond),
		MaxBlockCPU:        s.unsignedDuration("max-block-cpu-usage-threshold-us", time.Microsecond),
		MaxBlockNet:        s.Uint("max-block-net-usage-threshold-bytes"), Leeway: s.signedDuration("subjective-cpu-leeway-us", time.Microsecond),
		MaxFailures:   uint32(s.Uint("subjective-account-max-failures")),
		FailureWindow: uint32(s.Uint("subjective-account-max-failures-window-size")),
		DecayTime:     s.unsignedDuration("subjective-account-decay-time-minutes", time.Minute),
		NoP2PBilling:  s.Bool("disable-subjective-p2p-billing"), NoAPIBilling: s.Bool("disable-subjective-api-billing"),
		QueueBytes: s.Uint("incoming-transaction-queue-size-mb") << 20, GreylistLimit: uint32(s.Uint("greylist-limit")),
		SnapshotsDir: o.SnapshotsDir, NoTransactions: !s.Bool("api-accept-transactions") &&
			!s.Bool("p2p-accept-transactions"), Irreversible: s.irreversible(),
		StopAt: o.TerminateAt, MaxSignature: uint32(s.Uint("maximum-variable-signature-length")),
		Log: s.log, Logger: s.logs.Logger, Signers: map[types.PublicKey]producer.SignatureProvider{},
	}
	for _, list := range []struct {
		option string
		names  *[]types.Name
	}{{"producer-name", &p.Producers}, {"greylist-account", &p.Greylist}, {"disable-subjective-account-billing",
		&p.UnbilledAccounts}} {
		var e error
		*list.names, e = s.names(list.option)
		err = errors.Join(err, e)
	}
	p.Readers = s.readers(len(p.Producers) > 0)
	timeout := s.signedDuration("keosd-provider-timeout", time.Millisecond)
	for i, spec := range s.Texts("signature-provider") {
		if strings.HasPrefix(spec, finalizerKey) {
			continue // see finalizers
		}
		key, sign, err := producer.ParseSignatureProvider(spec, timeout)
		if err != nil {
			// What is no public key may be a private one in the wrong place.
			public, _, _ := strings.Cut(spec, "=")
			if _, notKey := types.ParsePublicKey(public); notKey != nil {
				public, err = "***", admintypes.NewBadOption("it does not begin with a public key and =")
			}
			malformed = append(malformed, fmt.Sprintf("number=%d key=%s error=%q; <public key>=KEY:<private key> or "+
				"<public key>=KEOSD:<url> is expected", i+1, public, throw(err).Error()))
			continue
		}
		p.Signers[key] = sign
	}
	return p, malformed, errors.Join(err, p.Validate())
}

// finalizerKey begins the public keys of finalizers.
const finalizerKey = "PUB_BLS_"

// finalizers are those whose keys signature-provider has; nil for none. The text of a key may end with
// equals signs (Spring: signature_provider_plugin).
func (s *settings) finalizers() (*finalizer.Options, error) {
	o := &finalizer.Options{Dir: s.Under(s.DataDir, "finalizers-dir")}
	var mistakes error
	for i, spec := range s.Texts("signature-provider") {
		if !strings.HasPrefix(spec, finalizerKey) {
			continue
		}
		k, err := parseFinalizer(spec)
		if err != nil {
			mistakes = errors.Join(mistakes,
				admintypes.NewBadOption("signature-provider number %d, %s: %s", i+1, shownFinalizer(spec), err.Error()))
			continue
		}
		o.Keys = append(o.Keys, k)
	}
	switch {
	case len(o.Keys) == 0:
		return nil, mistakes
	case s.irreversible():
		mistakes = errors.Join(mistakes,
			admintypes.NewBadOption("signature-provider: a finalizer cannot vote in read-mode irreversible"))
	}
	return o, mistakes
}

// parseFinalizer reads the keys of a finalizer: PUB_BLS_...=KEY:PVT_BLS_...
func parseFinalizer(spec string) (*crypto.BLSPrivateKey, error) {
	public, private, ok := strings.Cut(spec, "=KEY:")
	if !ok {
		return nil, errors.New("<public key>=KEY:<private key> is expected: a key of a finalizer needs KEY: before " +
			"PVT_BLS_..., and KEOSD: is not possible, because no wallet has such a key")
	}
	want, err := types.ParseBLSPublicKey(strings.TrimRight(public, "="))
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", throw(err))
	}
	k, err := crypto.ParseBLSPrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("the private key: %w", throw(err))
	}
	if k.Public() != want {
		return nil, fmt.Errorf("the private key is that of another finalizer, %s", k.Public())
	}
	return k, nil
}

// shownFinalizer names a key that cannot be used: by its public key, if what is there is one. Else it may be
// a private key in the wrong place.
func shownFinalizer(spec string) string {
	public, _, _ := strings.Cut(spec, "=")
	if _, err := types.ParseBLSPublicKey(public); err != nil {
		return "***"
	}
	return public
}

// voteThreads is how many votes of peers are verified at once. A producer needs them for its certificates
// (Spring: chain_plugin.cpp).
func (s *settings) voteThreads() int {
	n := int(s.Uint("vote-threads"))
	if n == 0 && len(s.Texts("producer-name")) > 0 {
		return 4
	}
	return n
}

func (s *settings) network() p2p.Options {
	return p2p.Options{
		Listen: s.Texts("p2p-listen-endpoint"), Server: s.Texts("p2p-server-address"),
		Peers:           s.Texts("p2p-peer-address"),
		MaxNodesPerHost: int(s.Int("p2p-max-nodes-per-host")), AcceptTransactions: s.Bool("p2p-accept-transactions"),
		AutoBPPeers: s.Texts("p2p-auto-bp-peer"), GossipEndpoints: s.Texts("p2p-bp-gossip-endpoint"),
		AgentName: s.Text("agent-name"), Allowed: s.Texts("allowed-connection"),
		PeerKeys: s.Texts("peer-key"), PeerPrivateKeys: s.Texts("peer-private-key"),
		MaxClients:     uint32(s.Uint("max-clients")),
		CleanupPeriod:  s.signedDuration("connection-cleanup-period", time.Second),
		MaxCleanupTime: s.unsignedDuration("max-cleanup-time-msec", time.Millisecond),
		DedupExpire:    s.unsignedDuration("p2p-dedup-cache-expire-time-sec", time.Second),
		Threads:        int(s.Uint("net-threads")),
		SyncFetchSpan:  uint32(s.Uint("sync-fetch-span")), SyncPeerLimit: uint32(s.Uint("sync-peer-limit")),
		ReadWatermark: s.Bool("use-socket-read-watermark"), PeerLogFormat: s.Text("peer-log-format"),
		KeepAlive:   s.signedDuration("p2p-keepalive-interval-ms", time.Millisecond),
		VoteThreads: s.voteThreads(), DisableNacks: s.Bool("p2p-disable-block-nack"),
		Log:    s.logs.Logger("net_plugin_impl"),
		Limits: p2p.DefaultLimits(),
	}
}

// http is where the API is served, and to whom which part of it.
func (s *settings) http(v Version, producing bool) (*HTTP, error) {
	h := &HTTP{Dir: s.DataDir, Plugins: s.categories()}
	bytes := s.Int("http-max-bytes-in-flight-mb")
	if bytes > 0 {
		bytes <<= 20
	}
	trusted, err := s.trustedAddresses()
	h.Server = nodeoshttp.Options{
		Trusted: trusted,
		MaxBody: int64(s.Uint("max-body-size")), MaxBytesInFlight: bytes,
		MaxConnections: int(s.Int("http-max-in-flight-requests")), AnyHost: !s.Bool("http-validate-host"),
		Hosts: s.Texts("http-alias"), NoReuse: !s.Bool("http-keep-alive"), Server: serverName(v),
		AllowOrigin: s.Text("access-control-allow-origin"), AllowHeaders: s.Text("access-control-allow-headers"),
		MaxAge: s.Text("access-control-max-age"), AllowCredentials: s.Bool("access-control-allow-credentials"),
		Log: s.logs.Logger("http_plugin"),
	}
	readers := s.readers(producing)
	h.API = rpc.Config{
		Version: v.Number, VersionString: v.Short, FullVersion: v.Full,
		MaxResponseTime: s.signedDuration("http-max-response-time-ms", time.Millisecond),
		ABITime:         s.unsignedDuration("abi-serializer-max-time-ms", time.Millisecond),
		Verbose:         s.Bool("verbose-http-errors"),
		NoTransactions:  !s.Bool("api-accept-transactions"), ReadOnly: readers > 0, Irreversible: s.irreversible(),
		Log: s.logs.Logger("http_plugin"),
	}
	h.Track = s.tracking()
	if address := s.Text("http-server-address"); address != "" && address != "http-category-address" {
		if !nodeoshttp.IsUnixSocket(address) {
			err = errors.Join(err, isAddress("http-server-address", address))
		}
		h.Listen = append(h.Listen, Listen{Address: address, Categories: nodeoshttp.All})
	}
	if path := s.Text("unix-socket-path"); path != "" {
		if path[0] != '/' {
			path = "./" + path
		}
		h.Listen = append(h.Listen, Listen{Address: path, Categories: nodeoshttp.All})
	}
	return h, errors.Join(err, s.categoryAddresses(h))
}

// serverName is the Server header of answers.
func serverName(v Version) string { return "nodeos/" + v.Short }

// trustedAddresses are the addresses that have no share of their own; nil is this machine's.
func (s *settings) trustedAddresses() (httpserver.Trusted, error) {
	words := s.Texts("trusted-address")
	if len(words) == 0 {
		return nil, nil
	}
	all, err := httpserver.ParseTrusted(words)
	if err != nil {
		return nil, admintypes.NewBadOption("trusted-address: %v", err)
	}
	return all, nil
}

// readers is how many read-only transactions are executed at once; 0 if they are not
// served.
func (s *settings) readers(producing bool) int {
	if !s.Has("read-only-threads") && !producing && s.Plugins.Enabled("eosio::chain_api_plugin") {
		return readOnlyThreads
	}
	return int(s.Uint("read-only-threads"))
}

// tracking is what the API answers for if it is asked to.
func (s *settings) tracking() Tracking {
	t := Tracking{Authorizers: s.Bool("enable-account-queries")}
	if gb := s.Uint("transaction-finality-status-max-storage-size-gb"); gb > 0 {
		t.Finality = &trxstatus.Options{
			MaxBytes: gb << 30,
			Success:  s.unsignedDuration("transaction-finality-status-success-duration-sec", time.Second),
			Failure:  s.unsignedDuration("transaction-finality-status-failure-duration-sec", time.Second),
		}
	}
	if gb := s.Uint("transaction-retry-max-storage-size-gb"); gb > 0 {
		t.Retry = &trxretry.Options{
			MaxBytes: gb << 30, Interval: s.unsignedDuration("transaction-retry-interval-sec", time.Second),
			MaxExpiration: s.unsignedDuration("transaction-retry-max-expiration-sec", time.Second),
		}
	}
	return t
}

// categories are those of the plugins that are enabled.
func (s *settings) categories() (c nodeoshttp.Category) {
	for plugin, of := range map[string]nodeoshttp.Category{
		"eosio::chain_api_plugin": rpc.ChainRO | rpc.ChainRW, "eosio::db_size_api_plugin": rpc.DBSize,
		"eosio::net_api_plugin":      rpc.NetRO | rpc.NetRW,
		"eosio::producer_api_plugin": rpc.ProducerRO | rpc.ProducerRW | rpc.Snapshot,
		"eosio::prometheus_plugin":   rpc.Prometheus, "eosio::test_control_api_plugin": rpc.TestControl,
		"eosio::trace_api_plugin": rpc.TraceAPI,
	} {
		if s.Plugins.Enabled(plugin) {
			c |= of
		}
	}
	return c
}

// categoryAddresses reads http-category-address (Leap: http_plugin.cpp).
func (s *settings) categoryAddresses(h *HTTP) (err error) {
	hosts := map[string]string{}
	for _, spec := range s.Texts("http-category-address") {
		name, address, ok := strings.Cut(spec, ",")
		if !ok || name == "" {
			err = errors.Join(err, admintypes.NewBadOption("http-category-address '%s' does not contain a required comma "+
				"to separate the category and address", spec))
			continue
		}
		category, ok := rpc.ParseCategory(name)
		if !ok {
			err = errors.Join(err, admintypes.NewBadOption("invalid category name `%s` for http_category_address", name))
			continue
		}
		if plugin := rpc.CategoryPlugin(category); !s.Plugins.Enabled(plugin) {
			err = errors.Join(err, admintypes.NewBadOption("--plugin=%s is required for --http-category-address=%s",
				plugin, spec))
			continue
		}
		if !nodeoshttp.IsUnixSocket(address) {
			if e := isAddress("http-category-address", address); e != nil {
				err = errors.Join(err, e)
				continue
			}
		}
		host, port := nodeoshttp.SplitHostPort(address)
		if before, ok := hosts[port]; port != "" && ok && before != host {
			err = errors.Join(err,
				admintypes.NewBadOption("unable to listen to port %s for both %s and %s", port, host, before))
			continue
		}
		hosts[port] = host
		if i := slices.IndexFunc(h.Listen, func(l Listen) bool { return l.Address == address }); i >= 0 {
			h.Listen[i].Categories |= category
			continue
		}
		h.Listen = append(h.Listen, Listen{Address: address, Categories: category})
	}
	return err
}
