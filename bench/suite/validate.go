package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tarn/bench/record"
)

// Bounds of what can be asked.
const (
	roundsMost   = 1000
	accountsMost = 10_000_000
	blockMost    = 5000 // transfers in one block of a chain that is made
	emptyMost    = 10_000_000

	transactionMost = 100 // transfers in one transaction of a chain that is made
	slotsMost       = 1_000_000
	rowsMost        = 65_536 // MB of rows in a chain's state
	workMost        = 100_000_000
	pushMost        = 1_000_000
	openMost        = 10_000_000 // transfers of one life of disk
	peersMost       = 10_000
	loadMost        = 100_000 // transfers per second
	clientsMost     = 1000

	deploymentsMost = 1000
	memoryLeast     = 64   // MB: no program of those that are measured starts with less
	loadForMost     = 3600 // seconds: the load's transfers are good for an hour
	rateLeast       = 0.01 // a transfer is signed up to two of its intervals before it is sent, and good for an hour
)

// Validate names everything that is wrong with options.
func Validate(o record.Options) error {
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for i, name := range o.Suites {
		known := slices.ContainsFunc(All(), func(d Description) bool { return d.Name == name })
		bad(!known, "no suite is called %q; there are %s", name, strings.Join(names(), ", "))
		bad(slices.Contains(o.Suites[:i], name), "suite %q is named twice", name)
	}
	bad(len(o.Suites) == 0, "no suite is named; there are %s", strings.Join(names(), ", "))
	bad(len(o.Subjects) == 0, "no subject is named")
	bad(o.Rounds < 1 || o.Rounds > roundsMost, "%d rounds: from 1 to %d", o.Rounds, roundsMost)
	bad(o.Accounts < 2 || o.Accounts > accountsMost, "%d accounts: from 2 to %d", o.Accounts, accountsMost)
	bad(o.Work < 1 || o.Work > workMost, "%d transfers in the chain: from 1 to %d", o.Work, workMost)
	bad(o.Push < 1 || o.Push > pushMost, "%d transfers to push: from 1 to %d", o.Push, pushMost)
	bad(o.Connect < 1 || o.Connect > 1000, "%d connections: from 1 to 1000", o.Connect)
	idle := o.Rate == 0 && !slices.Contains(o.Suites, Peer)
	bad(!(o.Rate >= rateLeast || idle) || !(o.For > 0) || o.Rate*o.For > openMost, "a rate of %g per second for %g s: at least %g, above 0, and at most %d transfers", o.Rate, o.For, rateLeast, openMost)
	bad(!(o.Between > 0), "%g s between checkpoints: above 0", o.Between)
	bad(!(o.Rating >= 0), "%g terabytes that the disk is rated for: not below 0", o.Rating)
	bad(!(o.AskFor > 0) || !(o.AskRate >= rateLeast) || o.AskFor*o.AskRate > openMost, "%g questions per second for %g s: at least %g, above 0, and at most %d in all", o.AskRate, o.AskFor, rateLeast, openMost)
	bad(o.Peers < 1 || o.Peers > peersMost, "%d peers: from 1 to %d", o.Peers, peersMost)
	bad(o.Syncing < 1 || o.Syncing > o.Peers, "%d peers that fetch the chain: from 1 to all %d", o.Syncing, o.Peers)
	bad(!(o.PeerFor > 0) || !(o.Window > 0), "%g s of peers, a window of %g s: both above 0", o.PeerFor, o.Window)
	bad(o.PerBlock < 0 || o.PerBlock > blockMost, "%d transfers in a block of the chain: from 1 to %d, or 0 for the usual number", o.PerBlock, blockMost)
	bad(o.PerTransaction < 0 || o.PerTransaction > transactionMost, "%d transfers in a transaction of the chain: from 1 to %d, or 0 for one", o.PerTransaction, transactionMost)
	bad(o.Keys < 0 || o.Keys > o.Accounts, "%d keys: from 1 to the number of accounts, or 0 for one", o.Keys)
	bad(o.Empty < 0 || o.Empty > emptyMost, "%d empty blocks: from 0 to %d", o.Empty, emptyMost)
	bad(o.Slots < 0 || o.Slots > slotsMost, "%d transactions that fill slots: from 0 to %d", o.Slots, slotsMost)
	bad(o.Rows < 0 || o.Rows > rowsMost, "%d MB of rows: from 0 to %d", o.Rows, rowsMost)
	bad(!(o.Load > 0) || o.Load > loadMost || !(o.LoadFor > 0) || o.LoadFor > loadForMost, "a load of %g per second for %g s: both above 0, and at most %d per second and %d s", o.Load, o.LoadFor, loadMost, loadForMost)
	bad(o.Deployments < 1 || o.Deployments > deploymentsMost || !(o.DeployEvery > 0) || float64(o.Deployments+1)*o.DeployEvery > loadForMost,
		"%d deployments, each %g s: from 1 to %d, above 0, and at most %d s in all", o.Deployments, o.DeployEvery, deploymentsMost, loadForMost)
	bad(o.Memory < memoryLeast, "%d MB of memory: at least %d", o.Memory, memoryLeast)
	bad(o.Clients < 1 || o.Clients > clientsMost, "%d clients: from 1 to %d", o.Clients, clientsMost)
	bad(!(o.Limit >= 0), "a limit of %g s", o.Limit)
	return errors.Join(errs...)
}

func names() (all []string) {
	for _, d := range All() {
		all = append(all, d.Name)
	}
	return all
}
