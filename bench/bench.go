// Package bench is `tarn bench`: what a node costs, measured from outside. It reads a
// process by the kernel's files, starts nodes of this program and of others beside each
// other, and writes what it found as tables, JSON and one HTML file (docs/bench.md).
//
// It owns the command line. What is measured is suite's and procsampler's, what is kept is
// record's, what is shown is report's.
package bench

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// Exit codes beside 0; a wrong command line ends with 2.
const (
	exitUsage   = 2
	exitFailed  = 3   // could not measure
	exitPartial = 130 // stopped by a signal; the report is of the time until then
)

// failure is an error with the exit code that it ends the program with.
type failure struct {
	err  error
	code int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// ExitCode is what the program should end with.
func (f *failure) ExitCode() int { return f.code }

func usage(err error) error  { return &failure{err, exitUsage} }
func failed(err error) error { return &failure{err, exitFailed} }

// Command is `tarn bench`.
func Command() *cobra.Command {
	c := tourCommand()
	c.AddCommand(watchCommand(), listCommand(), runCommand(), storeCommand(), childCommand(),
		compareCommand(), reportCommand(), picturesCommand(), growthCommand())
	return c
}

// files are where a report goes; "" is nowhere.
type files struct{ json, html string }

func (f *files) flags(c *cobra.Command, jsonDefault, htmlDefault string) {
	c.Flags().StringVar(&f.json, "json", jsonDefault, "file for all results, in JSON")
	c.Flags().StringVar(&f.html, "html", htmlDefault, "file for the report, one page")
}

// check finds a file that cannot be written before the work and not after it.
func (f *files) check() error {
	for _, name := range []string{f.json, f.html} {
		if name == "" {
			continue
		}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return usage(fmt.Errorf("write %s: it is a folder", name))
		}
		if dir := filepath.Dir(name); unix.Access(dir, unix.W_OK) != nil {
			return usage(fmt.Errorf("write %s: its folder is not there, or may not be written to", name))
		}
	}
	if f.json != "" && f.json == f.html {
		return usage(errors.New("--json and --html name the same file"))
	}
	return nil
}

// parent is the folder that nodes' folders and chains go to: not the usual one for
// temporary files, which is often in memory.
func parent(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for nodes (--dir names one): %w", err)
	}
	return filepath.Join(cache, "tarn", "bench"), nil
}

// called is the command line of this program.
func called() []string { return append([]string{cmp.Or(os.Args[0], "tarn")}, os.Args[1:]...) }
