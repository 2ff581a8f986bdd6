package node

import (
	"encoding/binary"
	"encoding/hex"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"tarn/antelope/config"
	"tarn/internal/cobraflags"
)

// Version is what a node says of itself.
type Version struct {
	Short  string // that of the nodeos that it stands in for: clients compare it
	Full   string // with what it was built from
	Number uint32 // get_info's server_version: the first digits of the commit
}

// leap is the version of nodeos whose behaviour this is.
const leap = "v5.0.3"

// as is the same with another text in the place of nodeos'.
func (v Version) as(text string) Version {
	v.Full = strings.Replace(v.Full, v.Short, text, 1)
	v.Short = text
	return v
}

// version asks the build.
func version() Version {
	v := Version{Short: leap, Full: leap + "-tarn"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key != "vcs.revision" {
			continue
		}
		v.Full += "-" + s.Value
		if b, err := hex.DecodeString(s.Value[:min(8, len(s.Value))]); err == nil && len(b) == 4 {
			v.Number = binary.BigEndian.Uint32(b)
		}
	}
	return v
}

// Command is the nodeos subcommand. Its arguments are nodeos' own, read by
// nodeos' rules, but for a tool in the first place.
func Command() *cobra.Command {
	return newCommand("An Antelope node, which replaces Leap's nodeos (see --help), and `nodeos block-log`, "+
		"`nodeos snapshot`", func(c *cobra.Command, args []string) error {
		if len(args) > 0 && (args[0] == "block-log" || args[0] == "snapshot") {
			tool := Tools()
			tool.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: c.CommandPath()} // in usages
			tool.SilenceUsage, tool.SilenceErrors = true, true
			tool.SetArgs(args)
			tool.SetOut(c.OutOrStdout())
			tool.SetErr(c.ErrOrStderr())
			return tool.ExecuteContext(c.Context())
		}
		return run(c.Context(), args, streams{out: c.OutOrStdout(), err: c.ErrOrStderr()})
	})
}

// Replica is the subcommand of a replica of a nodeos. Its arguments are nodeos' own.
func Replica() *cobra.Command {
	return newCommand("A replica of an Antelope node: it answers the same API from a state of its own, and executes "+
		"no block (see --help, and fleet-server there)", func(c *cobra.Command, args []string) error {
		return runAs(c.Context(), args, streams{out: c.OutOrStdout(), err: c.ErrOrStderr()}, true)
	})
}

// newCommand makes a command whose arguments are nodeos' own, which shells can complete.
func newCommand(short string, start func(*cobra.Command, []string) error) *cobra.Command {
	c := &cobra.Command{Use: "nodeos", Short: short, Args: cobra.ArbitraryArgs, DisableFlagParsing: true, RunE: start}
	for _, g := range config.Groups() {
		for _, o := range g.Options {
			cobraflags.Add(c, []cobraflags.Option{o.Synopsis()})
		}
	}
	return c
}
