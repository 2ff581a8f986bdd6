// Package fleettool is `tarn fleet`: it shows operators who publishes to a fleet, who follows, what the servers
// keep, and whether replicas have the node's rows; and it exports what comes.
//
// It owns the report, its words, and the command lines. It changes nothing on the servers, and knows no ledger: those
// whose blocks it exports are given to it.
package fleettool

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tarn/fleet/stream"
	"tarn/internal/exit"
)

// Command is `tarn fleet` with all its subcommands. ledgers are those whose blocks it can export.
func Command(ledgers ...Ledger) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Look at a fleet: a node that publishes, and the replicas that follow it",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(statusCommand(), verifyCommand(), exportCommand(ledgers))
	return c
}

func statusCommand() *cobra.Command {
	var o stream.Options
	var asJSON bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "status --fleet-server nats://HOST:PORT",
		Short: "Show who publishes, who follows and how far behind, and what the servers keep",
		Long: `Show who publishes, who follows and how far behind, and what the servers keep.

The options that begin with fleet are those of the node and its replicas. Exit codes: 0 somebody publishes,
1 nobody does, there is no such fleet, or the servers do not answer, 2 the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return fmt.Errorf("%s: %w\nusage: %s", c.CommandPath(), err, c.UseLine())
			}
			s, err := stream.Look(c.Context(), o, wait)
			if err != nil {
				return &exit.Error{Err: fmt.Errorf("%s: %w", c.CommandPath(), err), Code: 1}
			}
			if asJSON {
				err = writeJSON(c.OutOrStdout(), s)
			} else {
				err = writeText(c.OutOrStdout(), s, time.Now())
			}
			if err == nil && s.Publisher == nil {
				err = &exit.Error{Err: fmt.Errorf("%s: %w %s", c.CommandPath(), stream.ErrNobody, s.Fleet), Code: 1}
			}
			return err
		},
	}
	connectFlags(c.Flags(), &o)
	c.Flags().DurationVar(&wait, "wait", time.Second, "how long members may take to answer")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON for scripts")
	return c
}

// connectFlags are those of the fleet and its servers, named as the node's options are.
func connectFlags(f *pflag.FlagSet, o *stream.Options) {
	f.StringArrayVar(&o.Servers, "fleet-server", nil,
		"address of a NATS server (nats://host:port); may be given many times")
	f.StringVar(&o.Name, "fleet-name", "nodeos",
		"name of the fleet, as in the node's option; for a fleet of tarn opera give opera")
	f.StringVar(&o.Credentials, "fleet-credentials", "", "file of a NATS user's JWT and key (.creds)")
	f.StringVar(&o.NKey, "fleet-nkey", "", "file of the seed of a NATS user's nkey")
	f.StringVar(&o.User, "fleet-user", "", "NATS user")
	f.StringVar(&o.Password, "fleet-password", "", "password of the NATS user")
	f.StringVar(&o.CA, "fleet-ca", "", "file of certificates (PEM) by which NATS servers are trusted")
	f.StringVar(&o.Cert, "fleet-cert", "", "file of the certificate (PEM) that NATS servers demand of clients")
	f.StringVar(&o.Key, "fleet-key", "", "file of the key (PEM) of fleet-cert")
}
