package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/difftest/network"
)

// networking is what the commands about networks are told.
type networking struct {
	tarn, nodeos difftest.Executable
	dir          string
	seed         uint64
	shape        network.Shape
	rounds       int
	most         time.Duration
	nodes        string
	out          io.Writer
}

func networks(ctx context.Context, what string, args []string, out io.Writer) error {
	n := &networking{out: out}
	if err := n.parse(ctx, what, args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(n.dir, "tarn-network-")
	if err != nil {
		return err
	}
	do := map[string]func(context.Context, string) error{
		"sync": n.sync, "partition": n.partition, "kill": n.kill}[what]
	if err := do(ctx, dir); err != nil {
		return fmt.Errorf("%w (kept in %s)", err, dir)
	}
	return os.RemoveAll(dir)
}

func (n *networking) parse(ctx context.Context, what string, args []string) error {
	flags := flag.NewFlagSet(what, flag.ContinueOnError)
	tarn := flags.String("tarn", "", "a program of ours to run as `tarn nodeos`; this one if empty")
	flags.StringVar(&n.dir, "dir", "", "where folders are made; they stay if something fails")
	flags.Uint64Var(&n.seed, "seed", 0, "seed of all that is random; 0 for a new one")
	flags.IntVar(&n.shape.Blocks, "blocks", 10_000, "sync, kill: blocks of the chain that is there at first")
	flags.IntVar(&n.shape.Transfers, "transfers", 5, "transfers in each of them")
	flags.IntVar(&n.shape.Users, "users", 500, "accounts with tokens")
	flags.StringVar(&n.nodes, "nodes", "",
		"sync, partition: the programs in their order, such as nodeos,tarn,tarn; some of both if empty")
	flags.IntVar(&n.rounds, "rounds", 20, "partition: rounds; kill: kills of each kind")
	flags.DurationVar(&n.most, "most", 20*time.Second, "partition: the longest disturbance; kill: the longest life")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if n.seed == 0 {
		n.seed = uint64(time.Now().UnixNano())
	}
	p, err := difftest.Find(ctx)
	if err != nil {
		return err
	}
	n.nodeos = p.Nodeos()
	n.tarn = difftest.Executable{Name: "tarn", Path: *tarn, Args: []string{"nodeos"}}
	if *tarn == "" {
		n.tarn.Path, err = os.Executable()
	}
	return err
}

// lists are the programs that work together: what was asked for, or each default.
func (n *networking) lists(defaults ...string) (all [][]difftest.Executable, err error) {
	if n.nodes != "" {
		defaults = []string{n.nodes}
	}
	for _, text := range defaults {
		var list []difftest.Executable
		for name := range strings.SplitSeq(text, ",") {
			switch name {
			case n.tarn.Name:
				list = append(list, n.tarn)
			case n.nodeos.Name:
				list = append(list, n.nodeos)
			default:
				return nil, fmt.Errorf("no program %q", name)
			}
		}
		all = append(all, list)
	}
	return all, nil
}

func (n *networking) sync(ctx context.Context, dir string) error {
	lists, err := n.lists("nodeos,tarn,nodeos,nodeos,tarn,tarn")
	if err != nil {
		return err
	}
	c, err := network.NewChain(filepath.Join(dir, "chain"), n.shape)
	if err != nil {
		return err
	}
	return network.Sync(ctx, c, lists[0], network.Condition{}, dir, n.out)
}

func (n *networking) partition(ctx context.Context, dir string) error {
	lists, err := n.lists("tarn,nodeos,tarn", "nodeos,nodeos,tarn")
	if err != nil {
		return err
	}
	for i, list := range lists {
		home := filepath.Join(dir, fmt.Sprint(i))
		var names []string
		for k := range list {
			names = append(names, "producer"+string(rune('a'+k)))
		}
		c, err := network.NewChain(filepath.Join(home, "chain"), network.Shape{Users: n.shape.Users, Producers: names})
		if err != nil {
			return err
		}
		p := network.Partitions{Rounds: n.rounds, Most: n.most, Irreversible: true, Seed: n.seed}
		if err := network.Partition(ctx, c, list, names, p, home, n.out); err != nil {
			return err
		}
	}
	return nil
}

func (n *networking) kill(ctx context.Context, dir string) error {
	c, err := network.NewChain(filepath.Join(dir, "chain"), n.shape)
	if err != nil {
		return err
	}
	return network.Kill(ctx, c, n.tarn, n.nodeos, network.Kills{Count: n.rounds, Most: n.most, Seed: n.seed}, dir,
		n.out)
}
