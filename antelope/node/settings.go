package node

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/chain"
	"tarn/antelope/config"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/logging"
	"tarn/antelope/resourcemonitor"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/types"
	"tarn/antelope/variant"
	"tarn/store/engine"
	"tarn/store/vfs"
)

// settings turn what an operator said into the options of the node's parts.
type settings struct {
	*config.Config
	logs *logging.Logs
	log  *slog.Logger // the default logger
	// stop ends the node with a reason, from any goroutine.
	stop func(error)
	// looking means that there are mistakes: others are looked for, and nothing is made.
	looking bool
	replica bool // of a fleet
}

// mistakes are all that the options, the files that they name and logging.json have wrong,
// after those that were found already. Nothing is made by looking for them.
func (s *settings) mistakes(found error, v Version) error {
	look := *s
	look.looking, look.log = true, slog.New(slog.DiscardHandler)
	o, err := look.options()
	services, e := look.services(&o, v)
	for _, line := range services.mistakes() { // which would have to be mended, too
		s.logs.Certain().Error(line)
	}
	return joinUnrepeated(found, err, e)
}

// joinUnrepeated joins errors with what was found before. Two checks may have found one mistake.
func joinUnrepeated(found error, more ...error) error {
	said := map[string]bool{}
	for line := range strings.SplitSeq(found.Error(), "\n") {
		said[line] = true
	}
	out := []error{found}
	var walk func(error)
	walk = func(err error) {
		if list, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range list.Unwrap() {
				walk(e)
			}
			return
		}
		if text := err.Error(); !said[text] {
			said[text], out = true, append(out, err)
		}
	}
	for _, err := range more {
		if err != nil {
			walk(err)
		}
	}
	return errors.Join(out...)
}

// isAddress checks that an option has an address to listen at.
func isAddress(option, address string) error {
	_, port := nodeoshttp.SplitHostPort(address)
	if _, err := net.LookupPort("tcp", port); port == "" || err != nil {
		return admintypes.NewBadOption("%s: '%s' is no address: HOST:PORT is expected, such as 127.0.0.1:8888",
			option, address)
	}
	return nil
}

// ms and its like read numbers as times; a negative one stays negative.
func (s *settings) unsignedDuration(name string, unit time.Duration) time.Duration {
	n := s.Uint(name)
	if n > uint64(math.MaxInt64/unit) {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}

func (s *settings) signedDuration(name string, unit time.Duration) time.Duration {
	n := s.Int(name)
	if n > int64(math.MaxInt64/unit) {
		return math.MaxInt64
	}
	return time.Duration(max(n, -1)) * unit
}

// names reads a list of account names. The error names all that are none.
func (s *settings) names(option string) (list []types.Name, err error) {
	for _, text := range s.Texts(option) {
		n, e := types.ParseName(text)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", option, e))
			continue
		}
		list = append(list, n)
	}
	return list, err
}

// optional returns a pointer to an option's value, nil if it was not given.
func (s *settings) optional(name string) *uint32 {
	if !s.Has(name) {
		return nil
	}
	return new(uint32(s.Uint(name)))
}

// irreversible tells whether only irreversible blocks are applied.
func (s *settings) irreversible() bool { return s.Text("read-mode") == "irreversible" }

// options are the node's own. The error names all that is wrong with them.
func (s *settings) options() (o Options, err error) {
	o = Options{
		StateDir: s.Under(s.DataDir, "state-dir"), BlocksDir: s.Under(s.DataDir, "blocks-dir"),
		SnapshotsDir: s.Under(s.DataDir, "snapshots-dir"), Log: s.log, Snapshot: s.Text("snapshot"),
		DeleteAllBlocks: s.Bool("delete-all-blocks"), HardReplay: s.Bool("hard-replay-blockchain"),
		Replay: s.Bool("replay-blockchain"), TruncateAt: uint32(s.Uint("truncate-at-block")),
		TerminateAt:          uint32(s.Uint("terminate-at-block")),
		Recovery:             s.Duration("recovery-time-target"),
		IntegrityHashOnStart: s.Bool("integrity-hash-on-start"), IntegrityHashOnStop: s.Bool("integrity-hash-on-stop"),
	}
	var errs []error
	if o.Snapshot != "" {
		if _, err := os.Stat(o.Snapshot); err != nil {
			errs = append(errs, admintypes.NewBadOption("Cannot load snapshot, %s does not exist", o.Snapshot))
		}
	}
	o.Blocks.RetainBlocks, o.Blocks.Stride, o.Blocks.MaxRetainedFiles =
		s.optional("block-log-retain-blocks"), s.optional("blocks-log-stride"), s.optional("max-retained-block-files")
	if s.Has("blocks-retained-dir") {
		o.Blocks.RetainedDir = new(s.Text("blocks-retained-dir"))
	}
	if s.Has("blocks-archive-dir") {
		o.Blocks.ArchiveDir = new(s.Text("blocks-archive-dir"))
	}
	for _, part := range []func() error{
		func() (err error) { o.Engine, err = s.engine(o.StateDir); return err },
		func() (err error) { o.Chain, err = s.chain(); return err },
		func() (err error) { o.Chain.Checkpoints, err = s.checkpoints(); return err },
		func() (err error) { o.Genesis, err = s.genesis(); return err },
		func() (err error) { o.History, err = s.history(); return err },
		func() (err error) { o.Traces, err = s.traces(); return err },
		func() (err error) { o.Fleet, err = s.fleet(); return err },
		func() error { return o.Validate() },
	} {
		errs = append(errs, part())
	}
	return o, errors.Join(errs...)
}

func (s *settings) engine(dir string) (o engine.Options, err error) {
	mb := func(name string) int64 { return int64(s.Uint(name)) << 20 }
	o.LimitBytes, o.GuardBytes, o.PrivateBytes = mb("chain-state-db-size-mb"), mb("chain-state-db-guard-size-mb"), mb(
		"state-private-mb")
	o.SeekCompaction = s.Bool("state-seek-compaction")
	if s.Given("database-map-mode") { // else what suits the folder
		if o.Mode, err = engine.ParseMode(s.Text("database-map-mode")); err != nil {
			return o, fmt.Errorf("database-map-mode: %w", err)
		}
	}
	if kind := s.Text("state-engine"); kind != "" {
		if o.Kind, err = engine.ParseKind(kind); err != nil {
			return o, fmt.Errorf("state-engine: %w", err)
		}
	} else if o.Kind, err = engine.Detect(dir); err != nil {
		o.Kind = engine.Page
	}
	if o.Kind == engine.Page && o.LimitBytes > 0 && o.GuardBytes >= o.LimitBytes {
		return o, admintypes.NewBadOption("chain-state-db-guard-size-mb %d must be less than chain-state-db-size-mb %d",
			o.GuardBytes>>20, o.LimitBytes>>20)
	}
	// The one there is holds also if its state is deleted before it is opened.
	return o, nil
}

// chain are the options of the controller.
func (s *settings) chain() (o chain.Options, err error) {
	o = chain.Options{IrreversibleMode: s.irreversible(), Threads: int(s.Uint("chain-threads"))}
	o.Options = execute.Options{
		Console: s.Bool("contracts-console"), ForceAllChecks: s.Bool("force-all-checks"),
		DisableReplayOpts: s.Bool("disable-replay-opts"), LightValidation: s.Text("validation-mode") == "light",
		Speculative:          s.Text("read-mode") == "speculative",
		SignatureCPUPercent:  uint32(s.Uint("signature-cpu-billable-pct")) * 100,
		MaxVariableSignature: uint32(s.Uint("maximum-variable-signature-length")),
		NotifyBilling:        s.Bool("disable-ram-billing-notify-checks"),
		GenesisIntrinsics:    s.Texts("genesis-intrinsic"), MissingIntrinsics: s.Bool("allow-missing-intrinsics"),
		Policy: execute.Policy{
			Leeway:        s.signedDuration("subjective-cpu-leeway-us", time.Microsecond),
			GreylistLimit: uint32(s.Uint("greylist-limit")),
		},
	}
	var names, lists, features, intrinsics error
	if err := o.CheckGenesis(); err != nil {
		intrinsics = admintypes.NewBadOption("genesis-intrinsic: %s", err)
	}
	o.TrustedProducers, names = s.names("trusted-producer")
	o.Lists, lists = s.lists()
	o.Features, features = feature.Load(s.Under(s.ConfigDir, "protocol-features-dir"), !s.looking, s.log)
	return o, errors.Join(names, lists, features, intrinsics)
}

// lists are who and what may not. The error names all that is none.
func (s *settings) lists() (l execute.Lists, err error) {
	for _, list := range []struct {
		option string
		set    *map[types.Name]bool
	}{
		{"actor-whitelist", &l.ActorWhitelist}, {"actor-blacklist", &l.ActorBlacklist},
		{"contract-whitelist", &l.ContractWhitelist},
		{"contract-blacklist", &l.ContractBlacklist}, {"sender-bypass-whiteblacklist", &l.SenderBypass},
	} {
		names, e := s.names(list.option)
		*list.set, err = nameSet(names), errors.Join(err, e)
	}
	l.ActionBlacklist, l.KeyBlacklist = map[execute.ActionName]bool{}, map[types.PublicKey]bool{}
	for _, a := range s.Texts("action-blacklist") {
		account, name, _ := strings.Cut(a, "::")
		var x execute.ActionName
		var e error
		if x.Account, e = types.ParseName(account); e == nil {
			x.Name, e = types.ParseName(name)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("action-blacklist: %w", e))
		}
		l.ActionBlacklist[x] = true
	}
	for _, text := range s.Texts("key-blacklist") {
		k, e := types.ParsePublicKey(text)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("key-blacklist: %w", e))
		}
		l.KeyBlacklist[k] = true
	}
	return l, err
}

// checkpoints are the blocks whose id the operator knows.
func (s *settings) checkpoints() (map[uint32]types.Checksum256, error) {
	known := map[uint32]types.Checksum256{}
	var errs []error
	for _, text := range s.Texts("checkpoint") {
		num, id, err := parseCheckpoint(text)
		if err != nil {
			errs = append(errs, admintypes.NewBadOption("checkpoint %s is not [BLOCK_NUM,BLOCK_ID]: %v", text, err))
			continue
		}
		if other, ok := known[num]; ok && other != id {
			errs = append(errs,
				admintypes.NewBadOption("redefining existing checkpoint at block number %d: original: %s new: %s",
					num, other, id))
		}
		known[num] = id
	}
	return known, errors.Join(errs...)
}

func parseCheckpoint(text string) (num uint32, id types.Checksum256, err error) {
	v, err := variant.Parse(text)
	if err != nil {
		return 0, id, err
	}
	list, err := v.Elements()
	if err != nil || len(list) != 2 {
		return 0, id, fmt.Errorf("it must be a list of a block's number and its id")
	}
	n, err := list[0].AsUint64()
	if err != nil || n > math.MaxUint32 {
		return 0, id, fmt.Errorf("a block's number is between 0 and 4294967295")
	}
	s, err := list[1].AsText()
	if err == nil {
		id, err = types.ParseChecksum256(s)
	}
	return uint32(n), id, err
}

// monitor watches the node's disks. The folders must exist, but for those of the snapshots
// and of the state history, which are made.
func (s *settings) monitor(o *Options) (*resourcemonitor.Monitor, error) {
	folders := []string{s.DataDir, o.BlocksDir, o.StateDir}
	made := []string{o.SnapshotsDir}
	if o.History != nil {
		made = append(made, o.History.Dir)
	}
	for _, dir := range made {
		if dir == "" {
			continue
		}
		if err := vfs.MkdirAll(vfs.OS, dir); err != nil {
			return nil, err
		}
		folders = append(folders, dir)
	}
	if o.Traces != nil {
		folders = append(folders, o.Traces.Files.Dir)
	}
	for i := range folders {
		folders[i] = filepath.Clean(folders[i])
	}
	return resourcemonitor.New(resourcemonitor.Options{
		Interval:     s.unsignedDuration("resource-monitor-interval-seconds", time.Second),
		Threshold:    s.Uint("resource-monitor-space-threshold"),
		Absolute:     s.Uint("resource-monitor-space-absolute-gb"),
		KeepRunning:  s.Bool("resource-monitor-not-shutdown-on-threshold-exceeded"),
		WarningEvery: s.Uint("resource-monitor-warning-interval"), Log: s.log,
	}, folders...)
}
