package config

import (
	"math"
	"strings"

	"tarn/antelope/exception"
)

// bad is what nodeos throws for a value that it understands and does not take.
func bad(format string, args ...any) error {
	return exception.New(exception.PluginConfig, format, args...)
}

// check checks what nodeos' plugins check of their options when they are
// initialised (Leap: plugin_initialize). What belongs to a part of the node alone
// is checked by its own Options.
func (c *Config) check() error {
	for _, f := range []func() error{c.checkChain, c.checkBlockLog, c.checkRetry, c.checkHTTP, c.checkMonitor, c.checkReaders} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) checkChain() error {
	const most = 8 << 20 // MiB
	switch n := c.Uint("chain-state-db-size-mb"); {
	case n > most:
		return bad("The maximum supported size for the chain state db (chain-state-db-size-mb) is 8TiB")
	case c.Uint("chain-state-db-guard-size-mb") > most:
		return bad("chain-state-db-guard-size-mb %d must be 0 .. %d", c.Uint("chain-state-db-guard-size-mb"), most)
	case c.Uint("state-private-mb") > most:
		return bad("state-private-mb %d must be 0 .. %d", c.Uint("state-private-mb"), most)
	case c.Uint("chain-threads") == 0:
		return bad("chain-threads 0 must be greater than 0")
	case c.Uint("signature-cpu-billable-pct") > 100:
		return bad("signature-cpu-billable-pct must be 0 - 100, %d", c.Uint("signature-cpu-billable-pct"))
	case c.Uint("eos-vm-oc-compile-threads") == 0:
		return bad("eos-vm-oc-compile-threads must be set to a non-zero value")
	}
	for _, a := range c.Texts("action-blacklist") {
		if !strings.Contains(a, "::") {
			return bad("Invalid entry in action-blacklist: '%s'", a)
		}
	}
	if c.Has("genesis-timestamp") {
		switch {
		case c.Has("snapshot"):
			return bad("--snapshot is incompatible with --genesis-timestamp as the snapshot contains genesis information")
		case !c.Has("genesis-json"):
			return bad("--genesis-timestamp is only valid if also passed in with --genesis-json")
		}
	}
	if c.Has("snapshot") && c.Has("genesis-json") {
		return bad("--snapshot is incompatible with --genesis-json as the snapshot contains genesis information")
	}
	if c.Bool("deep-mind") {
		for _, name := range []string{"api-accept-transactions", "p2p-accept-transactions"} {
			if c.Bool(name) {
				return bad("%s must be set to false in order to enable deep-mind logging.", name)
			}
		}
	}
	return nil
}

func (c *Config) checkBlockLog() error {
	parts := c.Has("blocks-retained-dir") || c.Has("blocks-archive-dir") || c.Has("blocks-log-stride") || c.Has("max-retained-block-files")
	if parts && c.Has("block-log-retain-blocks") {
		return bad("block-log-retain-blocks cannot be specified together with blocks-retained-dir, blocks-archive-dir or blocks-log-stride or max-retained-block-files.")
	}
	return nil
}

func (c *Config) checkRetry() error {
	if !c.Has("transaction-retry-max-storage-size-gb") {
		return nil
	}
	if c.Has("producer-name") {
		return bad("Transaction retry not allowed on producer nodes.")
	}
	if c.Uint("transaction-retry-max-storage-size-gb") == 0 {
		return nil
	}
	interval, dedup := c.Uint("transaction-retry-interval-sec"), c.Uint("p2p-dedup-cache-expire-time-sec")
	if interval < 2*dedup {
		return bad("transaction-retry-interval-sec %d must be greater than 2 times p2p-dedup-cache-expire-time-sec %d", interval, dedup)
	}
	if most := c.Uint("transaction-retry-max-expiration-sec"); most <= interval {
		return bad("transaction-retry-max-expiration-sec %d should be configured larger than transaction-retry-interval-sec %d", most, interval)
	}
	return nil
}

func (c *Config) checkHTTP() error {
	if !c.Plugins.Enabled("eosio::http_plugin") {
		return nil
	}
	const most = math.MaxInt64 / (1 << 20)
	switch {
	case c.Uint("http-threads") == 0:
		return bad("http-threads 0 must be greater than 0")
	case c.Int("http-max-bytes-in-flight-mb") < -1 || c.Int("http-max-bytes-in-flight-mb") >= most:
		return bad("http-max-bytes-in-flight-mb (%d) must be equal to or greater than -1 and less than %d", c.Int("http-max-bytes-in-flight-mb"), int64(most))
	case c.Int("http-max-response-time-ms") < -1:
		return bad("http-max-response-time-ms must be -1, or non-negative: %d", c.Int("http-max-response-time-ms"))
	case c.Has("http-category-address") && (c.Text("http-server-address") != "http-category-address" || c.Has("unix-socket-path")):
		return bad("when http-category-address is specified, http-server-address must be set as " +
			"`http-category-address` and `unix-socket-path` must be left unspecified")
	}
	return nil
}

func (c *Config) checkMonitor() error {
	if n := c.Uint("resource-monitor-interval-seconds"); n < 1 || n > 300 {
		return bad(`"resource-monitor-interval-seconds" must be between 1 and 300`)
	}
	if c.Has("resource-monitor-space-absolute-gb") {
		if n := c.Uint("resource-monitor-space-absolute-gb"); n == 0 || n >= math.MaxUint64>>30 {
			return bad(`"resource-monitor-space-absolute-gb" must be greater than 0 GiB and less than max 64 bit value.`)
		}
	} else if n := c.Uint("resource-monitor-space-threshold"); n < 6 || n > 99 {
		return bad(`"resource-monitor-space-threshold" must be between 6 and 99`)
	}
	if n := c.Uint("resource-monitor-warning-interval"); n < 1 || n > 450 {
		return bad(`"resource-monitor-warning-interval" must be between 1 and 450`)
	}
	return nil
}

func (c *Config) checkReaders() error {
	const most, least = 128, 10_000
	n := c.Uint("read-only-threads")
	switch {
	case c.Uint("producer-threads") == 0:
		return bad("producer-threads 0 must be greater than 0")
	case n == 0:
		return nil
	case c.Has("producer-name"):
		return bad("read-only-threads not allowed on producer node")
	case n > most:
		return bad("read-only-threads (%d) greater than the number of threads allowed (%d)", n, most)
	case c.Uint("read-only-read-window-time-us") <= least:
		return bad("read-only-read-window-time-us (%d) must be at least greater than  %d us", c.Uint("read-only-read-window-time-us"), least)
	}
	return nil
}
