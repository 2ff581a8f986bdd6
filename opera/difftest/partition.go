package difftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tarn/opera/inter"
)

// Split has the nodes of each group connected with none of another group, and returns when
// no such connection is left. Validators that are in no group, or do not run, stay as they
// are.
func (n *Network) Split(ctx context.Context, groups ...[]inter.ValidatorID) error {
	for i, group := range groups {
		for j, other := range groups {
			if i == j {
				continue
			}
			for _, node := range n.of(group) {
				if err := node.peers(ctx, "admin_removePeer", n.of(other)); err != nil {
					return err
				}
			}
		}
	}
	for i, group := range groups {
		apart := n.of(slices.Concat(slices.Delete(slices.Clone(groups), i, i+1)...))
		for _, node := range n.of(group) {
			if err := node.meets(ctx, 0, apart); err != nil {
				return fmt.Errorf("split the network: %w", err)
			}
		}
	}
	return nil
}

// Heal connects all nodes again, and returns when they are. A node calls no other twice
// within half a minute, so that may take as long.
func (n *Network) Heal(ctx context.Context) error {
	running := n.running()
	for i, node := range running {
		// One of two calls: when both do at once, each may take its own call for the one that stays,
		// and they try again after half a minute, at once again.
		if err := node.peers(ctx, "admin_addPeer", running[:i]); err != nil {
			return err
		}
	}
	for _, node := range running {
		others := without(running, node)
		if err := node.meets(ctx, len(others), others); err != nil {
			return fmt.Errorf("heal the network: %w", err)
		}
	}
	return nil
}

// of are the nodes of some validators that run.
func (n *Network) of(ids []inter.ValidatorID) (list []*Node) {
	for _, id := range ids {
		if node := n.Nodes[id-1]; node != nil {
			list = append(list, node)
		}
	}
	return list
}

func without(list []*Node, one *Node) []*Node {
	return slices.DeleteFunc(slices.Clone(list), func(n *Node) bool { return n == one })
}

// meets waits until so many of the others are peers of a node.
func (n *Node) meets(ctx context.Context, want int, others []*Node) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var ids []string
	for _, other := range others {
		var info struct{ ID string }
		if err := other.Call(ctx, &info, "admin_nodeInfo"); err != nil {
			return err
		}
		ids = append(ids, info.ID)
	}
	for {
		var peers []struct {
			ID        string
			Protocols map[string]any
		}
		err := n.Call(ctx, &peers, "admin_peers")
		count := 0
		for _, p := range peers {
			if slices.Contains(ids, p.ID) {
				count++
			}
		}
		if err == nil && count == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%d of %d nodes are peers of %s, not %d",
				count, len(ids), n.config.Dir, want), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
