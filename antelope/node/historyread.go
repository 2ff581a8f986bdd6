package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tarn/antelope/logfinding"
	"tarn/antelope/ship"
	"tarn/antelope/tracelog/slicefile"
	"tarn/nodeupkeep"
)

// historyTool reads the histories of a folder.
type historyTool struct {
	retained, archive string

	ship   string // folder of state history, "" if there is none
	traces string // folder of traces
}

func (t *historyTool) flags(c *cobra.Command) {
	c.Flags().StringVar(&t.retained, "retained", "",
		"folder of the parts of state history that are read (default: retained in its folder)")
	c.Flags().StringVar(&t.archive, "archive", "",
		"folder of the parts of state history that are not read any more (default: archive in its folder)")
}

// open finds what a folder has, and takes its locks.
func (t *historyTool) open(dir string, write bool) (unlock func() error, err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: give the folder that it is in", dir)
	}
	for _, at := range []string{dir, filepath.Join(dir, "state-history")} {
		if t.ship == "" && has(at, "*_history.log", "retained/*_history-*-*.log") {
			t.ship = at
		}
	}
	for _, at := range []string{dir, filepath.Join(dir, "traces")} {
		if t.traces == "" && has(at, "trace_index_*.log", "trace_??????????-??????????.*log", "trace_trx_id_*.log") {
			t.traces = at
		}
	}
	if t.ship == "" && t.traces == "" {
		return nil, fmt.Errorf(
			"%s: no history in this folder: neither trace_history.log, chain_state_history.log or "+
				"finality_data_history.log, nor slices of traces, nor folders state-history or traces with them", dir)
	}
	var locks []io.Closer
	unlock = func() (err error) {
		for _, l := range locks {
			err = errors.Join(err, l.Close())
		}
		return err
	}
	for _, at := range []string{t.ship, t.traces} {
		if at == "" || at == t.ship && len(locks) > 0 {
			continue
		}
		lock, err := lockHistory(at, write)
		if err != nil {
			return nil, errors.Join(err, unlock())
		}
		locks = append(locks, lock)
	}
	return unlock, nil
}

// lockFolder takes the lock of a folder of histories until the node ends, so that nobody
// repairs them meanwhile. Both may be in one folder.
func (n *Node) lockFolder(dir string) error {
	dir = filepath.Clean(dir)
	if _, held := n.histories[dir]; held || dir == filepath.Clean(n.o.BlocksDir) ||
		dir == filepath.Clean(n.o.StateDir) {
		return nil
	}
	lock, err := lockHistory(dir, true)
	if err != nil {
		return err
	}
	if n.histories == nil {
		n.histories = map[string]io.Closer{}
	}
	n.histories[dir] = lock
	return nil
}

// read reads all, and shows how far it is.
func (t *historyTool) read(c *cobra.Command, found func(logfinding.Finding)) (logfinding.Counts, error) {
	var counts logfinding.Counts
	p := nodeupkeep.NewProgress(slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)), "verifying the history",
		10*time.Second)
	var done uint64
	total := t.bytes()
	report := logfinding.Reporter{Found: found, Read: func(bytes int64) error {
		done += uint64(bytes)
		p.Bytes(min(done, total), total)
		return c.Context().Err()
	}}
	if t.ship != "" {
		o := ship.VerifyOptions{Dir: t.ship, Retained: t.retained, Archive: t.archive, Reporter: report}
		if o.Retained == "" {
			o.Retained = filepath.Join(t.ship, "retained")
		}
		if o.Archive == "" {
			o.Archive = filepath.Join(t.ship, "archive")
		}
		n, err := ship.Verify(o)
		if counts.Add(n); err != nil {
			return counts, err
		}
	}
	if t.traces != "" {
		n, err := slicefile.Verify(slicefile.VerifyOptions{Dir: t.traces, Reporter: report})
		if counts.Add(n); err != nil {
			return counts, err
		}
	}
	return counts, nil
}

// bytes is how much there is to read, about.
func (t *historyTool) bytes() (n uint64) {
	for _, dir := range []string{t.ship, t.traces, t.retained, t.archive} {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return fs.SkipDir // what cannot be read is told when it is read
			}
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				n += uint64(info.Size())
			}
			return nil
		})
		if err != nil {
			return n
		}
	}
	return n
}
