package bench

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/oracle"
	"tarn/antelope/types"
	"tarn/bench/watcher"
	"tarn/probe"
)

// Names of what is measured.
const (
	tarn   = "tarn"
	other  = "tarn, other build"
	nodeos = "nodeos 4.1"
)

// subjects are those of a comparison, the one that others are beside of last. Every
// other round goes backwards.
func (b *bench) subjects(round int) []string {
	list := []string{tarn, nodeos}
	if b.config.Other != "" {
		list = []string{tarn, other, nodeos}
	}
	if round%2 == 1 {
		slices.Reverse(list)
	}
	return list
}

// turns are the rounds of a comparison, from 0, each with its subjects one after the other.
func (b *bench) turns() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for round := range b.config.Rounds {
			for _, subject := range b.subjects(round) {
				if !yield(round, subject) {
					return
				}
			}
		}
	}
}

// program is what runs a subject.
func (b *bench) program(subject string) oracle.Executable {
	path := b.config.Tarn
	switch subject {
	case nodeos:
		return b.peer.Nodeos()
	case other:
		path = b.config.Other
	}
	return oracle.Executable{Name: subject, Path: path, Args: []string{"nodeos"}, Env: os.Environ()}
}

// plan is how a node is started.
type plan struct {
	subject  string
	dir      string         // "" for a new one
	snapshot string         // to begin with
	genesis  *types.Genesis // to begin with
	produce  bool
	group    *watcher.Group // that it runs in, nil for none
	extra    []string
}

// node is a running one.
type node struct {
	*oracle.Node
	subject string
	took    time.Duration // until it answered
}

// starts runs a node until it answers.
func (b *bench) starts(p plan) (*node, error) {
	if p.dir == "" {
		p.dir = b.folder("node")
	}
	c := oracle.Config{Dir: p.dir, Genesis: p.genesis, Patience: 20 * time.Minute, StateMB: 16384,
		// 4.1 wants this window to be shorter than its default for long transactions.
		Extra: append([]string{"--plugin", "eosio::net_plugin", "--p2p-max-nodes-per-host", "9", "--read-only-read-window-time-us", "500000"}, p.extra...)}
	if p.snapshot != "" {
		c.Extra = append(c.Extra, "--snapshot", p.snapshot)
	}
	if p.produce {
		c.Producers = map[types.Name]crypto.PrivateKey{types.N("eosio"): oracle.NewKey(b.config.Seed, "eosio")}
	}
	begin := time.Now()
	program := b.program(p.subject)
	if p.group != nil {
		program.Path, program.Args = p.group.Within(program.Path, program.Args)
	}
	n, err := program.Start(b.ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.subject, err)
	}
	return &node{Node: n, subject: p.subject, took: time.Since(begin)}, nil
}

// with runs f with a node, stops it, and removes its folder.
func (b *bench) with(p plan, f func(n *node) error) error {
	n, err := b.starts(p)
	if err != nil {
		return err
	}
	defer os.RemoveAll(n.Dir())
	defer n.Kill()
	if err := f(n); err != nil {
		return fmt.Errorf("%s: %w", p.subject, err)
	}
	return n.Stop()
}

// head asks for the chain's id and the head's.
func (b *bench) head(n *node) (chain, head types.Checksum256, num uint32, err error) {
	i, err := n.Info(b.ctx)
	if err != nil {
		return chain, head, 0, err
	}
	if chain, err = types.ParseChecksum256(i.ChainID); err == nil {
		head, err = types.ParseChecksum256(i.HeadID)
	}
	return chain, head, i.HeadNum, err
}

// processor is what a node's process has used so far.
func (n *node) processor() (time.Duration, error) {
	p, err := probe.Read(n.PID())
	return p.CPU(), err
}

// written is what the process has had written to disks so far, in bytes: counted when
// a page of a file becomes dirty, and taken back when it is deleted before it gets to
// the disk.
func (n *node) written() (int64, error) {
	p, err := probe.Read(n.PID())
	return p.Disk.Net(), err
}

// peak is the most memory that the process had, in bytes.
func (n *node) peak() (int64, error) {
	p, err := probe.Read(n.PID())
	return p.PeakSize, err
}

// sizes adds up files.
func sizes(dir string, names ...string) (sum int64) {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
