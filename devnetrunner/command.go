package devnetrunner

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// Options are how a chain is run.
type Options struct {
	Dir  string // of the chain; it is made if it is not there
	HTTP string // host:port of the API
	P2P  string // host:port for other nodes
	Page string // host:port of the page that shows what the node does; "" for none

	Replicas int    // that answer beside the node
	Fleet    string // host:port of the NATS server by which they hear of its blocks

	Args []string  // of the node, besides ours
	Tarn string    // how this program is called
	Out  io.Writer // is told how to use the chain once it is served
	Log  io.Writer // takes the node's log; nil for LogFile in the folder
}

// Flags gives a command the flags that fill o, whose values are the defaults, and makes run
// what the command does. api is what is served at o.HTTP; what stands after -- is the node's.
func Flags(c *cobra.Command, o Options, api string, run func(context.Context, Options) error) *cobra.Command {
	verbose := false
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Args, o.Out, o.Tarn = args, c.OutOrStdout(), Program()
		if verbose {
			o.Log = c.ErrOrStderr()
		}
		return run(c.Context(), o)
	}
	f := c.Flags()
	f.StringVarP(&o.Dir, "dir", "d", o.Dir, "folder of the chain; a chain that is already there goes on")
	f.StringVar(&o.HTTP, "http", o.HTTP, "where "+api)
	f.StringVar(&o.P2P, "p2p", o.P2P, "where other nodes connect to")
	f.StringVar(&o.Page, "dashboard", o.Page, "address of the page that shows what the node does; empty for none")
	f.IntVar(&o.Replicas, "replicas", 0, "how many replicas answer beside the node, at the ports after its own")
	f.StringVar(&o.Fleet, "fleet", "127.0.0.1:4222", "where the NATS server listens by which replicas hear of blocks")
	f.BoolVarP(&verbose, "verbose", "v", false, "show the node's log here instead of in "+LogFile)
	return c
}

// Execute runs the command of a node with arguments, and gives its log to a writer.
func Execute(ctx context.Context, node *cobra.Command, args []string, log io.Writer) error {
	node.SetOut(log)
	node.SetErr(log)
	node.SilenceUsage, node.SilenceErrors = true, true
	node.SetArgs(args)
	return node.ExecuteContext(ctx)
}

// Wait asks again and again until the answer is yes, or ctx ends.
func Wait(ctx context.Context, served func() bool) error {
	for !served() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
