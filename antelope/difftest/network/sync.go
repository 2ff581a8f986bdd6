package network

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"tarn/antelope/difftest"
)

// syncTime is how long a node may take for a chain.
const syncTime = 10 * time.Minute

// Sync lets nodes take over a chain from each other: the first replays its blocks,
// each other one fetches all of them from the one before, over a link in the
// condition given. All must come to the same head and state. Folders are made in
// dir. It says what it sees.
func Sync(ctx context.Context, c *Chain, list []difftest.Executable, way Condition, dir string, say io.Writer) error {
	var nodes []*difftest.Node
	var names []string
	defer func() { stop(say, nodes...) }()
	for i, x := range list {
		names = append(names, fmt.Sprintf("%d-%s", i, x.Name))
		home := filepath.Join(dir, names[i])
		if i == 0 {
			if err := c.Copy(home); err != nil {
				return err
			}
			n, err := start(ctx, x, c, home, nil, arguments()...)
			if err != nil {
				return err
			}
			nodes = append(nodes, n)
			continue
		}
		n, err := c.follow(ctx, x, nodes[i-1], way, home, say)
		if n != nil {
			nodes = append(nodes, n)
		}
		if err != nil {
			return fmt.Errorf("%s from %s: %w", names[i], names[i-1], err)
		}
	}
	s, err := compare(ctx, names, nodes)
	if err != nil {
		return err
	}
	fmt.Fprintf(say, "%s: the same at block %d, hash %s\n", strings.Join(names, ", "), s.num(), s.hash)
	return nil
}

// follow starts a node that fetches everything from another, and waits until it has
// it. The link ends with ctx.
func (c *Chain) follow(
	ctx context.Context, x difftest.Executable, source *difftest.Node, way Condition, dir string, say io.Writer,
) (*difftest.Node, error) {
	link, err := NewLink()
	if err != nil {
		return nil, err
	}
	defer link.Close()
	link.To(source.P2P())
	link.Set(way)
	want, err := source.Info(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	n, err := start(ctx, x, c, dir, nil, arguments(link.Address())...)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	if err := n.AwaitHead(limit, want.HeadNum, false); err != nil {
		return n, err
	}
	took := time.Since(begin)
	used, err := processorTime(n.PID())
	fmt.Fprintf(say, "%s: %d blocks in %.1f s, %.0f a second, %.1f s of CPU\n",
		x.Name, want.HeadNum, took.Seconds(), float64(want.HeadNum)/took.Seconds(), used.Seconds())
	return n, err
}
