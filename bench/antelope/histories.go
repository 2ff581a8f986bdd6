package antelope

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tarn/antelope/blocklog"
	"tarn/bench/suite"
	"tarn/internal/freeport"
)

// Keep is a node that keeps histories too.
func (b *blocks) Keep(n suite.Node, what suite.Choice) (suite.Node, error) {
	n.Args = slices.Clone(n.Args)
	if what == suite.KeepTraces || what == suite.KeepBoth {
		n.Args = append(n.Args, "--plugin", "eosio::trace_api_plugin", "--trace-no-abis")
	}
	if what == suite.KeepStates || what == suite.KeepBoth {
		addresses, err := freeport.Addresses(1)
		if err != nil {
			return n, err
		}
		n.History = addresses[0]
		n.Args = append(n.Args, "--plugin", "eosio::state_history_plugin", "--state-history-endpoint", n.History,
			"--trace-history", "--chain-state-history",
			"--disable-replay-opts", "--read-only-threads", "0")
	}
	return n, nil
}

// Logs are the sizes of the logs in a node's folder.
func (b *blocks) Logs(dir string) (sum suite.LogBytes) {
	// What is removed meanwhile is not counted.
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		switch name := e.Name(); {
		case name == blocklog.LogName || name == blocklog.IndexName || name == blocklog.SumsName:
			sum.Blocks += info.Size()
		case strings.HasPrefix(name, "trace_history."):
			sum.Actions += info.Size()
		case strings.HasPrefix(name, "chain_state_history."):
			sum.Rows += info.Size()
		case strings.Contains(path, "/traces/trace_find_"):
			sum.Index += info.Size()
		case strings.Contains(path, "/traces/"):
			sum.Traces += info.Size()
		}
		return nil
	})
	return sum
}
