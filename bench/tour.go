package bench

import (
	"fmt"

	"github.com/spf13/cobra"

	"tarn/bench/record"
	"tarn/bench/subjectflag"
	"tarn/bench/suite"
)

// What a tour may use. A round begins only if the longest round so far would still fit into
// tourSeconds: the first round, and one that takes longer than those before, may pass the limit.
const (
	tourSeconds = 180
	tourBytes   = 2_000_000_000 // of free disk space
)

// tourSubjects are this program in each mode, but for the one that is another library's default.
func tourSubjects() (all []string) {
	for _, mode := range subjectflag.Modes(subjectflag.Tarn) {
		if mode != subjectflag.SeekingLevelDB {
			all = append(all, subjectflag.Tarn+":"+mode)
		}
	}
	return all
}

// tourOptions are those of the tour: what takes three to four minutes on two processors.
func tourOptions() record.Options {
	return record.Options{
		Suites: []string{suite.Import, suite.Start, suite.Push, suite.Stop}, Rounds: 6, Seed: 1,
		Accounts: 20_000, Work: 40_000,
		Push: 3000, Connect: 16, Rate: 15, For: 600, Between: 3600, Limit: tourSeconds,
		Rating: 600, AskFor: 30, AskRate: 50, Peers: 200, Subscribers: 100, Syncing: 20, PeerFor: 60, Window: 3600, Load: 4000,
		LoadFor: 60, Clients: 10, Deployments: 10, DeployEvery: 3, Memory: 384,
	}
}

func tourCommand() *cobra.Command {
	o := tourOptions()
	var f files
	var dir string
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a node costs: processor, memory, disk",
		Long: "Without a subcommand: a tour. It takes three to four minutes and 2 GB of disk, and downloads nothing.\n" +
			"It makes a chain from a seed, gives it to this program in each of its engines and map modes, one\n" +
			"after the other, and says what they cost: a table here, and one page of HTML.\n" +
			"An interrupt ends the tour early, with the report of what was measured until then.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath()))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return measure(c, o, tourSubjects(), dir, tourBytes, f, []string{
				"the bytes that are written during hours of transfers at a steady rate, in which LSM engines also compact " +
					"(`tarn bench run disk` measures them)",
				"programs other than tarn (`tarn bench run SUITE --on SUBJECT,...` measures them)"})
		},
	}
	f.flags(c, "tarn-bench.json", "tarn-bench.html")
	c.Flags().StringVar(&dir, "dir", "",
		"folder for the chains and the nodes; by default a folder in the user's cache")
	c.Flags().Uint64Var(&o.Seed, "seed", o.Seed, "seed of the chain and the transfers")
	c.Flags().IntVar(&o.Rounds, "rounds", o.Rounds, "rounds; a round that does not fit into the time is left out")
	c.Flags().IntVar(&o.Accounts, "accounts", o.Accounts, "accounts of the chain")
	c.Flags().IntVar(&o.Work, "transfers", o.Work, "transfers of the chain")
	return c
}
