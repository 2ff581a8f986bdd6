package node

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each folder that grows is watched, whatever disk it is on.
func TestAllFoldersThatGrowAreWatched(t *testing.T) {
	dir := t.TempDir()
	s := parseSettings(t,
		"plugin = eosio::state_history_plugin\nplugin = eosio::trace_api_plugin\ntrace-no-abis = true\n"+
			"state-history-dir = "+filepath.Join(dir, "told")+"\ntrace-dir = "+filepath.Join(dir, "traces")+"\n")
	var said bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&said, nil))
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{o.BlocksDir, o.StateDir, o.Traces.Files.Dir} { // as by Open
		if err := os.MkdirAll(made, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.monitor(&o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{o.BlocksDir, o.StateDir, o.SnapshotsDir, filepath.Join(dir, "told"),
		filepath.Join(dir, "traces")} {
		if !strings.Contains(said.String(), want+"'s file system to be monitored") {
			t.Errorf("%s is not watched: %s", want, said.String())
		}
	}
}
