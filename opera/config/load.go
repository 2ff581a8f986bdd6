package config

import (
	"cmp"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/internal/didyoumean"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store/engine"
)

// Environment is what the process around the options is like.
type Environment struct {
	Home string // of the user; the default data folder is in it
}

// Load reads a command line, the words of which are returned, and the configuration file
// that it names. Flags may stand anywhere, with one dash or two. All mistakes are in one
// error.
func Load(args []string, env Environment) (*Config, []string, error) {
	given, words, err := parse(args, env)
	errs := []error{err}
	c, l := defaults(env.Home), new(line)
	all := map[string]Flag{}
	for _, g := range groups(c, l) {
		for _, f := range g.flags {
			all[f.Name] = f
		}
	}
	if text, ok := given["fakenet"]; ok {
		if c.Run.Fakenet, err = parseFakenet(text); err != nil {
			errs = append(errs, fmt.Errorf("invalid fakenet flag: %w", err))
		} else {
			c.fake(c.Run.Fakenet)
		}
	}
	if path := given["config"]; path != "" {
		c.Run.File = path
		errs = append(errs, c.read(path))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		f := all[name]
		if err := f.value.set(given[name]); err != nil && name != "fakenet" {
			errs = append(errs, fmt.Errorf("--%s: invalid value %q: %w", name, given[name], err))
			delete(given, name) // what follows from it is no mistake of its own
		}
		if f.Instead != "" {
			c.notice("--"+name, f.Instead)
		}
	}
	errs = append(errs, c.finish(l, given, env), c.check(given), c.checkPeers())
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for _, v := range c.inert() {
		c.notice(v[0], v[1])
	}
	return c, words, nil
}

func (c *Config) notice(what, instead string) {
	c.Notices = append(c.Notices, fmt.Sprintf("%s has no effect: %s", what, instead))
}

// parse finds the flags and their texts, and the words between them. The error names all that
// are not understood; the others are returned with it.
func parse(args []string, env Environment) (given map[string]string, words []string, err error) {
	given = map[string]string{}
	set := flag.NewFlagSet("opera", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	var names []string
	for _, g := range groups(defaults(env.Home), new(line)) {
		for _, f := range g.flags {
			names = append(names, f.Name)
			set.Var(&noted{name: f.Name, bool: f.value.bool, given: given}, f.Name, "")
		}
	}
	var errs []error
	for len(args) > 0 {
		before := len(args)
		if err := set.Parse(args); err != nil {
			// What follows an unknown flag may be its value: the word counts for nothing then.
			rest := set.Args()
			if strings.HasPrefix(err.Error(), "bad flag syntax") {
				rest = rest[1:] // the package leaves the word where it is
			} else {
				err = unknown(err, args[before-len(rest)-1], names)
			}
			errs, args = append(errs, err), rest
			continue
		}
		rest := set.Args()
		if parsed := before - len(rest); parsed > 0 && args[parsed-1] == "--" {
			return given, append(words, rest...), errors.Join(errs...)
		}
		if len(rest) == 0 {
			break
		}
		words, args = append(words, rest[0]), rest[1:]
	}
	return given, words, errors.Join(errs...)
}

// unknown adds to the error of a word the flag that may have been meant.
func unknown(err error, word string, names []string) error {
	word, _, _ = strings.Cut(strings.TrimLeft(word, "-"), "=")
	near := didyoumean.Name(word, names)
	if near == "" || near == word {
		return err
	}
	return fmt.Errorf("%w (the nearest known one is --%s)", err, near)
}

// noted keeps a flag's text; the last one holds.
type noted struct {
	name  string
	bool  bool
	given map[string]string
}

func (n *noted) String() string { return "" }

// Set implements flag.Value.
func (n *noted) Set(text string) error {
	n.given[n.name] = text
	return nil
}

// IsBoolFlag tells package flag that no text need follow.
func (n *noted) IsBoolFlag() bool { return n.bool }

func parseFakenet(text string) (n Fakenet, err error) {
	first, second, ok := strings.Cut(text, "/")
	if !ok {
		return n, errors.New("use %d/%d format")
	}
	id, err := strconv.ParseUint(first, 10, 32)
	if err != nil {
		return n, err
	}
	all, err := strconv.ParseUint(second, 10, 32)
	if err != nil {
		return n, err
	}
	if id > all || all == 0 {
		return n, errors.New(
			"key-num should be in range from 1 to validators (<key-num>/<validators>), or should be zero for " +
				"non-validator node")
	}
	return Fakenet{ID: uint32(id), Validators: int(all)}, nil
}

func (l *line) setAge(c *Config) func(string) error {
	return func(s string) error {
		age, err := time.ParseDuration(s)
		c.Run.ExitAge = &age
		return err
	}
}

func setEpoch(c *Config) func(string) error {
	return func(s string) error {
		epoch, err := strconv.ParseUint(s, 10, 64)
		c.Run.ExitEpoch = &epoch
		return err
	}
}

// finish puts together what several flags say, with the precedence of go-opera: an address
// in the file is stronger than that of a flag.
func (c *Config) finish(l *line, given map[string]string, env Environment) error {
	n := &c.Node
	has := func(name string) bool { _, ok := given[name]; return ok }
	c.serve(l, has)
	var errs []error
	both := func(bad bool, text string) {
		if bad {
			errs = append(errs, errors.New(text))
		}
	}
	both(l.ipcDisable && has("ipcpath"), "flags --ipcdisable, --ipcpath can't be used at the same time")
	both(has("port") && has("p2p.listen"), "flags --port, --p2p.listen can't be used at the same time")
	if l.ipcDisable {
		n.IPCPath = ""
	}
	switch {
	case has("port"):
		n.P2P.ListenAddr = fmt.Sprintf(":%d", l.port)
	case has("p2p.listen"):
		n.P2P.ListenAddr = l.listen
	}
	if l.nodiscover {
		n.P2P.NoDiscovery = true
		if !has("v5disc") {
			n.P2P.DiscoveryV5 = false
		}
	}
	if has("bootnodes") {
		n.P2P.BootstrapNodes, n.P2P.BootstrapNodesV5 = l.bootnodes, l.bootnodes
	}
	if has("syncmode") {
		c.Opera.AllowSnapsync = c.Run.SyncMode == "snap"
	}
	if f := c.Run.Fakenet; f.Validators != 0 {
		both(has("validator.id") && f.ID != 0, "specified validator ID with both --fakenet and --validator.id")
		if !has("validator.id") {
			c.Emitter.Validator.ID = f.ID
		}
		if !has("datadir") {
			n.DataDir = filepath.Join(env.Home, ".opera", fmt.Sprintf("fakenet-%d", f.Validators))
		}
	}
	if c.Run.Preset = l.preset; c.Run.GCMode != "archive" && !has("history.states") && c.Tarn.States == 0 {
		c.Tarn.States = prunedStates
	}
	c.Opera.GPO.MinGasTip = cmp.Or(c.Opera.GPO.MinGasTip, c.TxPool.PriceLimit)
	if id := c.Emitter.Validator.ID; id != 0 && c.Emitter.PrevEmittedEventFile.Path == "" {
		c.Emitter.PrevEmittedEventFile.Path = filepath.Join(n.DataDir, "go-opera",
			"emitter", fmt.Sprintf("last-%d", id))
	}
	return errors.Join(append(errs, c.key(l.pubkey))...)
}

// key sets the validator's public key: the one that was given, or a fakenet's.
func (c *Config) key(given string) error {
	v := &c.Emitter.Validator
	switch fake := c.Run.Fakenet.ID; {
	case given == "" && fake == 0:
		return nil
	case given == "":
		key, err := fakenet.Key(inter.ValidatorID(fake))
		if err != nil {
			return fmt.Errorf("--fakenet: %w", err)
		}
		v.PubKey = PubKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)}
		return nil
	}
	key, err := hex.DecodeString(strings.TrimPrefix(given, "0x"))
	if err != nil || len(key) == 0 {
		return fmt.Errorf("--validator.pubkey: %q is no key", given)
	}
	v.PubKey = PubKey{Type: key[0], Raw: key[1:]}
	return nil
}

// prunedStates is of how many blocks old states are kept where go-opera would prune.
const prunedStates = 1024

// serve puts the flags of HTTP and WebSocket together.
func (c *Config) serve(l *line, has func(string) bool) {
	n := &c.Node
	open := func(host *string, on bool, address string) {
		if !on || *host != "" {
			return
		}
		if *host = "127.0.0.1"; address != "" {
			*host = address
		}
	}
	open(&n.HTTPHost, l.rpc, l.rpcAddr)
	open(&n.HTTPHost, l.http, l.httpAddr)
	open(&n.WSHost, l.ws, l.wsAddr)
	if has("rpcport") && !has("http.port") {
		n.HTTPPort = l.rpcPort
	}
	for old, to := range map[string]struct {
		now      string
		from, to *[]string
	}{
		"rpccorsdomain": {"http.corsdomain", &l.rpcCors, &n.HTTPCors},
		"rpcvhosts":     {"http.vhosts", &l.rpcHosts, &n.HTTPVirtualHosts},
		"rpcapi":        {"http.api", &l.rpcAs, &n.HTTPModules},
	} {
		if has(old) && !has(to.now) {
			*to.to = *to.from
		}
	}
}

// check refuses what cannot be, all at once.
func (c *Config) check(given map[string]string) error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	_, cache := given["cache"]
	wrong(cache && c.Tarn.CacheMB < MinCache, "--cache: minimum cache size is %d MB", MinCache)
	wrong(c.Node.DataDir == "", "--datadir: there is no home folder, so it must be given")
	for _, p := range []struct {
		name string
		port int
	}{{"http.port", c.Node.HTTPPort}, {"ws.port", c.Node.WSPort}, {"metrics.port", c.Run.MetricsPort},
		{"pprof.port", c.Run.Profile.Port}} {
		wrong(p.port < 0 || p.port > 65535, "--%s: there is no port %d", p.name, p.port)
	}
	for _, a := range c.TxPool.Locals {
		wrong(!common.IsHexAddress(strings.TrimSpace(a)), "invalid account in --txpool.locals: %s", a)
	}
	wrong(c.Emitter.Validator.ID != 0 && c.Emitter.Validator.PubKey.Type == 0, "validator public key is not set")
	wrong(c.Run.Genesis != "" && c.Run.Fakenet.Validators != 0, "--genesis and --fakenet name different networks")
	wrong(c.Tarn.HealthAge <= 0, "--health.age: %v is no age", c.Tarn.HealthAge)
	wrong(c.Tarn.Filters < 0, "--rpc.filters: %d is negative", c.Tarn.Filters)
	wrong(c.Tarn.Subscriptions < 0, "--rpc.subscriptions: %d is negative", c.Tarn.Subscriptions)
	wrong(c.Tarn.Recovery < 0, "--db.recovery: %v is negative", c.Tarn.Recovery)
	wrong(c.Tarn.MapMode != "" && c.Tarn.Engine != "" && c.Tarn.Engine != string(engine.Page),
		"--db.mapmode is for the page engine, not for %s", c.Tarn.Engine)
	wrong(c.Run.Log.Verbosity > 5, "--verbosity: %d is more than 5", c.Run.Log.Verbosity)
	_, err := c.Sections()
	return errors.Join(append(errs, err)...)
}

// Sections returns the names of the units of an exported genesis by their kind: brs, ers,
// evm.
func (c *Config) Sections() (map[string]string, error) {
	sections := map[string]string{}
	for name := range strings.SplitSeq(c.Run.Export.Sections, ",") {
		kind := name[:min(3, len(name))]
		if kind != "brs" && kind != "ers" && kind != "evm" {
			return nil, fmt.Errorf(
				"--export.sections: unknown section '%s': has to start with either 'brs' or 'ers' or 'evm'", name)
		}
		if sections[kind] != "" {
			return nil, fmt.Errorf("--export.sections: duplicate section: '%s'", name)
		}
		sections[kind] = name
	}
	return sections, nil
}
