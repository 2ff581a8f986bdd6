package config

import (
	"errors"
	"math"
	"strings"

	"tarn/antelope/admintypes"
)

// check checks what nodeos' plugins check of their options when they are
// initialised (Leap: plugin_initialize). What belongs to a part of the node alone
// is checked by its own Options.
// All of it is checked, for who mends one mistake wants to know of the others.
func (c *Config) check() error {
	var m mistakes
	for _, f := range []func(*mistakes){c.checkChain, c.checkGenesis, c.checkBlockLog, c.checkRetry, c.checkHTTP,
		c.checkMonitor, c.checkReaders} {
		f(&m)
	}
	return errors.Join(m...)
}

// mistakes are those that were found so far.
type mistakes []error

// bad adds a *admintypes.BadOption if a value is one.
func (m *mistakes) bad(is bool, format string, args ...any) {
	if is {
		*m = append(*m, admintypes.NewBadOption(format, args...))
	}
}

func (c *Config) checkChain(m *mistakes) {
	const most = 8 << 20 // MiB
	guard, private, percent := c.Uint("chain-state-db-guard-size-mb"), c.Uint("state-private-mb"), c.Uint(
		"signature-cpu-billable-pct")
	m.bad(c.Uint("chain-state-db-size-mb") > most,
		"The maximum supported size for the chain state db (chain-state-db-size-mb) is 8TiB")
	m.bad(guard > most, "chain-state-db-guard-size-mb %s must be 0 .. %d",
		c.asWritten("chain-state-db-guard-size-mb"), most)
	m.bad(private > most, "state-private-mb %s must be 0 .. %d", c.asWritten("state-private-mb"), most)
	m.bad(c.Uint("chain-threads") == 0, "chain-threads 0 must be greater than 0")
	m.bad(percent > 100, "signature-cpu-billable-pct must be 0 - 100, %s", c.asWritten("signature-cpu-billable-pct"))
	m.bad(c.Uint("eos-vm-oc-compile-threads") == 0, "eos-vm-oc-compile-threads must be set to a non-zero value")
	for _, a := range c.Texts("action-blacklist") {
		m.bad(!strings.Contains(a, "::"), "Invalid entry in action-blacklist: '%s'", a)
	}
	if c.Bool("deep-mind") {
		for _, name := range []string{"api-accept-transactions", "p2p-accept-transactions"} {
			m.bad(c.Bool(name), "%s must be set to false in order to enable deep-mind logging.", name)
		}
	}
}

func (c *Config) checkGenesis(m *mistakes) {
	m.bad(c.Has("genesis-timestamp") && c.Has("snapshot"),
		"--snapshot is incompatible with --genesis-timestamp as the snapshot contains genesis information")
	m.bad(c.Has("genesis-timestamp") && !c.Has("snapshot") && !c.Has("genesis-json"),
		"--genesis-timestamp is only valid if also passed in with --genesis-json")
	m.bad(c.Has("snapshot") && c.Has("genesis-json"),
		"--snapshot is incompatible with --genesis-json as the snapshot contains genesis information")
}

func (c *Config) checkBlockLog(m *mistakes) {
	parts := c.Has("blocks-retained-dir") || c.Has("blocks-archive-dir") || c.Has("blocks-log-stride") ||
		c.Has("max-retained-block-files")
	m.bad(parts && c.Has("block-log-retain-blocks"),
		"block-log-retain-blocks cannot be specified together with blocks-retained-dir, blocks-archive-dir or "+
			"blocks-log-stride or max-retained-block-files.")
}

func (c *Config) checkRetry(m *mistakes) {
	if !c.Has("transaction-retry-max-storage-size-gb") {
		return
	}
	m.bad(c.Has("producer-name"), "Transaction retry not allowed on producer nodes.")
	if c.Uint("transaction-retry-max-storage-size-gb") == 0 {
		return
	}
	interval, dedup := c.Uint("transaction-retry-interval-sec"), c.Uint("p2p-dedup-cache-expire-time-sec")
	m.bad(interval < 2*dedup,
		"transaction-retry-interval-sec %d must be greater than 2 times p2p-dedup-cache-expire-time-sec %d",
		interval, dedup)
	most := c.Uint("transaction-retry-max-expiration-sec")
	m.bad(most <= interval,
		"transaction-retry-max-expiration-sec %d should be configured larger than transaction-retry-interval-sec %d",
		most, interval)
}

func (c *Config) checkHTTP(m *mistakes) {
	if !c.Plugins.Enabled("eosio::http_plugin") {
		return
	}
	const most = math.MaxInt64 / (1 << 20)
	flight, response := c.Int("http-max-bytes-in-flight-mb"), c.Int("http-max-response-time-ms")
	m.bad(c.Uint("http-threads") == 0, "http-threads 0 must be greater than 0")
	m.bad(flight < -1 || flight >= most,
		"http-max-bytes-in-flight-mb (%d) must be equal to or greater than -1 and less than %d", flight, int64(most))
	m.bad(response < -1, "http-max-response-time-ms must be -1, or non-negative: %d", response)
	m.bad(c.Has("http-category-address") && (c.Text("http-server-address") != "http-category-address" ||
		c.Has("unix-socket-path")),
		"when http-category-address is specified, http-server-address must be set as `http-category-address` and "+
			"`unix-socket-path` must be left unspecified")
}

func (c *Config) checkMonitor(m *mistakes) {
	interval, warning := c.Uint("resource-monitor-interval-seconds"), c.Uint("resource-monitor-warning-interval")
	m.bad(interval < 1 || interval > 300, `"resource-monitor-interval-seconds" must be between 1 and 300`)
	if c.Has("resource-monitor-space-absolute-gb") {
		n := c.Uint("resource-monitor-space-absolute-gb")
		m.bad(n == 0 || n >= math.MaxUint64>>30,
			`"resource-monitor-space-absolute-gb" must be greater than 0 GiB and less than max 64 bit value.`)
	} else {
		n := c.Uint("resource-monitor-space-threshold")
		m.bad(n < 6 || n > 99, `"resource-monitor-space-threshold" must be between 6 and 99`)
	}
	m.bad(warning < 1 || warning > 450, `"resource-monitor-warning-interval" must be between 1 and 450`)
}

func (c *Config) checkReaders(m *mistakes) {
	const most, least = 128, 10_000
	n, window := c.Uint("read-only-threads"), c.Uint("read-only-read-window-time-us")
	m.bad(c.Uint("producer-threads") == 0, "producer-threads 0 must be greater than 0")
	if n == 0 {
		return
	}
	m.bad(c.Has("producer-name"), "read-only-threads not allowed on producer node")
	m.bad(n > most, "read-only-threads (%d) greater than the number of threads allowed (%d)", n, most)
	m.bad(window <= least, "read-only-read-window-time-us (%d) must be at least greater than  %d us", window, least)
}
