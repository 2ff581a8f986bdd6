package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// genesis reads the genesis that the operator gave, nil for none.
func (s *settings) genesis() (*types.Genesis, error) {
	path := s.Text("genesis-json")
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, admintypes.NewBadOption("Specified genesis file '%s' does not exist.", path)
	}
	g, err := types.ParseGenesis(string(text))
	if err != nil {
		return nil, fmt.Errorf("genesis file %s: %w", path, err)
	}
	if !s.Has("genesis-timestamp") {
		s.log.Info(fmt.Sprintf("Using genesis state provided in '%s'", path))
		return &g, nil
	}
	if g.InitialTimestamp, err = genesisTime(s.Text("genesis-timestamp"), time.Now()); err != nil {
		return nil, fmt.Errorf("genesis-timestamp: %w", err)
	}
	s.log.Info(fmt.Sprintf("Adjusting genesis timestamp to %s", g.InitialTimestamp))
	s.log.Info(fmt.Sprintf("Using genesis state provided in '%s' but with adjusted genesis timestamp", path))
	return &g, nil
}

// genesisTime reads a time or "now", and takes the next one that a block can have.
func genesisTime(text string, now time.Time) (types.TimePoint, error) {
	t := types.TimePoint(now.UnixMicro())
	if !strings.EqualFold(text, "now") {
		var err error
		if t, err = types.ParseTimePoint(text); err != nil {
			return 0, err
		}
	}
	const interval = 500_000 // us
	if rest := t % interval; rest > 0 {
		t += interval - rest
	}
	return t, nil
}

// reports does what some options ask for in place of a node; done tells that there
// was such an option.
func (s *settings) reports() (done bool, err error) {
	if s.Bool("print-build-info") || s.Has("extract-build-info") {
		info, err := json.MarshalIndent(map[string]any{
			"debug": false, "os": runtime.GOOS, "arch": runtime.GOARCH, "compiler": runtime.Version(),
		}, "", "  ")
		if err != nil {
			return true, err
		}
		if s.Bool("print-build-info") {
			s.log.Info("Build environment JSON:\n" + string(info))
		}
		if err := s.extract("extract-build-info", "build info", info); err != nil {
			return true, err
		}
		return true, errReported
	}
	if !s.Bool("print-genesis-json") && !s.Has("extract-genesis-json") {
		return false, nil
	}
	dir := s.Under(s.DataDir, "blocks-dir")
	g, err := blocklog.Tool{Dir: dir, Logger: s.log}.Genesis(s.Under(dir, "blocks-retained-dir"))
	if err != nil {
		return true, err
	}
	if g == nil {
		return true, admintypes.NewBadOption("Block log at '%s' does not contain a genesis state, it only has the chain-id.",
			filepath.Join(dir, "blocks.log"))
	}
	text := variant.AppendIndented(nil, g.AppendJSON(nil))
	if s.Bool("print-genesis-json") {
		s.log.Info("Genesis JSON:\n" + string(text))
	}
	return true, s.extract("extract-genesis-json", "genesis", text)
}

// extract writes what an option asks for into the file that it names.
func (s *settings) extract(option, what string, text []byte) error {
	if !s.Has(option) {
		return nil
	}
	path := s.Text(option)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("Error occurred while writing %s JSON to '%s': %w", what, path, err)
	}
	s.log.Info(fmt.Sprintf("Saved %s JSON to '%s'", what, path))
	return nil
}

// errReported means that what was asked for has been printed.
var errReported = errors.New("reported build environment information")
