package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tarn/antelope/logfinding"
	"tarn/internal/exit"
	"tarn/store"
	"tarn/store/engine"
)

// Exit codes of `tarn history`, those of `tarn db`.
const (
	historyDamaged     = 1
	historyFailed      = 2
	historyInterrupted = 130
)

// recordAgain is what helps where nothing can be mended.
const recordAgain = "what cannot be mended has to be recorded again. State history: start the node once with " +
	"--replay-blockchain --delete-state-history, " +
	"if its block log begins with block 1, else with --snapshot and --delete-state-history. " +
	"Traces: move trace-dir away and start once with --replay-blockchain. Or restore the files from a copy"

// explainHistory gives an error its exit code and its remedy.
func explainHistory(err error) error {
	var e *exit.Error
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.Is(err, context.Canceled):
		return &exit.Error{Err: errors.New("interrupted"), Code: historyInterrupted}
	case errors.Is(err, store.ErrLocked):
		return &exit.Error{Err: err, Code: historyFailed,
			Remedy: "stop the node that uses the folder, or work on a copy of it"}
	}
	return &exit.Error{Err: err, Code: historyFailed}
}

// HistoryTools is `tarn history`: it checks and repairs state history and traces.
func HistoryTools() *cobra.Command {
	c := &cobra.Command{
		Use:   "history",
		Short: "Verify and repair an Antelope node's state history and traces",
		Long: `Verify and repair an Antelope node's state history (state_history_plugin) and traces
(trace_api_plugin), those that nodeos wrote too.

DIR is a folder of state history, a folder of traces, or a data folder with the folders
state-history and traces.

Exit codes: 0 done, 1 the history is damaged, or not all of it could be mended, 2 the command could
not do its work, 130 interrupted.`,
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return wrongHistoryUse(c, "%v", err) })
	c.AddCommand(historyVerifyCommand(), historyRepairCommand())
	return group(c)
}

func wrongHistoryUse(c *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s: %s\nusage: %s", c.CommandPath(), fmt.Sprintf(format, args...), c.UseLine())
}

func oneFolder(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return wrongHistoryUse(c, "the command takes one folder, and %d arguments were given", len(args))
	}
	return nil
}

// historyReport is what --json prints; docs/db.md lists the fields.
type historyReport struct {
	Path    string          `json:"path"`
	Sound   bool            `json:"sound"`
	Found   int64           `json:"found"`
	Damage  []historyDamage `json:"damage"`
	Notices []string        `json:"notices"`
	Files   int             `json:"files"`
	Entries int64           `json:"entries"`
	Bytes   int64           `json:"bytes"`
	Seconds float64         `json:"seconds"`
}

type historyDamage struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"` // -1 for the file as a whole
	Block  uint32 `json:"block"`
	Detail string `json:"detail"`
	Repair string `json:"repair"` // what `repair` does; "" if it cannot
}

// listedDamage is how many findings a report lists; it counts all.
const listedDamage = 10_000

func (r *historyReport) add(f logfinding.Finding) {
	if f.Start {
		if len(r.Notices) < listedDamage {
			r.Notices = append(r.Notices, f.String())
		}
		return
	}
	r.Found++
	if len(r.Damage) < listedDamage {
		d := historyDamage{Path: f.Path, Offset: f.Offset, Block: f.Block, Detail: f.Detail}
		if f.Mend != nil {
			d.Repair = f.Mend.What
		}
		r.Damage = append(r.Damage, d)
	}
}

func (r *historyReport) finish(start time.Time) {
	r.Sound, r.Seconds = r.Found == 0, time.Since(start).Seconds()
}

func (r *historyReport) summary() string {
	return fmt.Sprintf("%d entries in %d files, %d bytes, checked in %.1f s", r.Entries, r.Files, r.Bytes, r.Seconds)
}

func printFinding(w io.Writer, f logfinding.Finding) {
	what := "damaged"
	if f.Start {
		what = "to be mended by a start"
	}
	fmt.Fprintf(w, "%s: %v\n", what, f) //nolint:errcheck // the answer, as of all commands
}

func historyVerifyCommand() *cobra.Command {
	c := &cobra.Command{Use: "verify DIR", Short: "Read all of a history and check every entry and index",
		Args: oneFolder,
		Long: `Read all entries of a history, unpack and decode them, and check their order, the ids of blocks
where two files have them, the indexes and the marks. Each piece of damage is printed as soon as it
is found. Nothing is changed. What a crash left, and the next start mends, is no damage.`}
	var t historyTool
	t.flags(c)
	asJSON := c.Flags().Bool("json", false, "print JSON for scripts")
	c.RunE = func(c *cobra.Command, args []string) error {
		start := time.Now()
		r := historyReport{Path: args[0], Damage: []historyDamage{}, Notices: []string{}}
		unlock, err := t.open(args[0], false)
		if err != nil {
			return explainHistory(err)
		}
		counts, err := t.read(c, func(f logfinding.Finding) {
			if r.add(f); !*asJSON {
				printFinding(c.OutOrStdout(), f)
			}
		})
		if err = errors.Join(err, unlock()); err != nil {
			return explainHistory(err)
		}
		r.Files, r.Entries, r.Bytes = counts.Files, counts.Entries, counts.Bytes
		r.finish(start)
		switch {
		case *asJSON:
			e := json.NewEncoder(c.OutOrStdout())
			e.SetIndent("", "  ")
			err = e.Encode(r)
		case r.Sound:
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: sound: %s\n", r.Path, r.summary())
		}
		if err == nil && !r.Sound {
			err = fmt.Errorf("%s: the history is damaged: %d found in %s", r.Path, r.Found, r.summary())
			return &exit.Error{Err: err, Code: historyDamaged,
				Remedy: "`tarn history repair` mends what can be mended; with --dry-run it only says what"}
		}
		return explainHistory(err)
	}
	return c
}

// mostMends bounds what one repair does.
const mostMends = 100_000

func historyRepairCommand() *cobra.Command {
	c := &cobra.Command{Use: "repair DIR", Short: "Mend what can be mended of a history, and say what was done",
		Args: oneFolder,
		Long: `Verify a history and mend what can be mended: make indexes again, cut off what a crash or a
cut file left behind the last whole entry, write the header or the end of an entry anew where its
content proves what they were. Entries without damage are never changed. It asks no questions, and prints all that
it does. What cannot be mended is named, with what to do.`}
	var t historyTool
	t.flags(c)
	dry := c.Flags().Bool("dry-run", false, "say what would be done, and change nothing")
	c.RunE = func(c *cobra.Command, args []string) error {
		unlock, err := t.open(args[0], !*dry)
		if err != nil {
			return explainHistory(err)
		}
		return explainHistory(errors.Join(t.repair(c, args[0], *dry), unlock()))
	}
	return c
}

func (t *historyTool) repair(c *cobra.Command, dir string, dry bool) error {
	var mends []*logfinding.Mend
	var left int64
	counts, err := t.read(c, func(f logfinding.Finding) {
		printFinding(c.OutOrStdout(), f)
		switch {
		case f.Mend != nil && len(mends) < mostMends:
			mends = append(mends, f.Mend)
		case !f.Start:
			left++
		}
	})
	if err != nil {
		return err
	}
	verb := "done"
	if dry {
		verb = "would be done"
	}
	for _, m := range mends {
		if !dry {
			if err := m.Do(); err != nil {
				return fmt.Errorf("%s: %w", m.What, err)
			}
		}
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", verb, m.What); err != nil {
			return err
		}
	}
	if left > 0 {
		return &exit.Error{Err: fmt.Errorf("%s: %d found that cannot be mended", dir, left), Code: historyDamaged,
			Remedy: recordAgain}
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d repairs %s; %d entries in %d files were read\n",
		dir, len(mends), verb, counts.Entries, counts.Files)
	return err
}

// lockHistory takes the lock of a folder of histories, which a node holds as long as it runs.
// Who only reads takes it where there is one.
func lockHistory(dir string, write bool) (io.Closer, error) {
	if !write {
		if _, err := os.Stat(filepath.Join(dir, engine.LockFile)); errors.Is(err, os.ErrNotExist) {
			return io.NopCloser(nil), nil
		}
	}
	lock, err := engine.Lock(dir)
	if errors.Is(err, store.ErrLocked) {
		return nil, fmt.Errorf("a node uses this history: %w", err)
	}
	return lock, err
}

// has tells whether a folder has a file that fits one of the patterns.
func has(dir string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		list, err := filepath.Glob(filepath.Join(dir, p))
		return err == nil && len(list) > 0
	})
}
