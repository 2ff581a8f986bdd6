package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/types"
)

// Partitions is how often and for how long producers lose sight of each other.
type Partitions struct {
	Rounds       int
	Most         time.Duration // of a disturbance; at least a tenth of it
	Irreversible bool          // wait until what follows a round is irreversible: half a minute for three producers
	Seed         uint64        // of all choices
}

// agreeTime is how long nodes whose links are whole may take to agree.
const agreeTime = 3 * time.Minute

// Partition lets a producer work on each node, the nodes all linked with each other,
// and disturbs the links while random transfers are made. After each round all must
// come to the same head and state. Folders are made in dir; it says what it sees.
// The chain's schedule must have as many producers as there are nodes.
func Partition(
	ctx context.Context, c *Chain, list []difftest.Executable, producers []string, p Partitions, dir string,
	say io.Writer,
) error {
	fmt.Fprintf(say, "partitions: seed %d\n", p.Seed)
	m := &mesh{chain: c, say: say, random: rand.New(rand.NewPCG(p.Seed, 3))}
	defer m.close()
	if err := m.start(ctx, list, producers, dir); err != nil {
		return err
	}
	for round := range p.Rounds {
		if err := m.round(ctx, round, p); err != nil {
			return fmt.Errorf("seed %d, round %d: %w", p.Seed, round, err)
		}
	}
	return nil
}

// mesh is nodes that are all linked with each other.
type mesh struct {
	chain    *Chain
	say      io.Writer
	random   *rand.Rand
	names    []string
	nodes    []*difftest.Node
	links    []*Link
	accepted atomic.Int64 // transfers that a node took
	refused  atomic.Int64
}

func (m *mesh) start(ctx context.Context, list []difftest.Executable, producers []string, dir string) error {
	for i, x := range list {
		var ways []string
		for _, n := range m.nodes {
			k, err := NewLink()
			if err != nil {
				return err
			}
			k.To(n.P2P())
			m.links, ways = append(m.links, k), append(ways, k.Address())
		}
		name := fmt.Sprintf("%d-%s", i, x.Name)
		home := filepath.Join(dir, name)
		if err := m.chain.Copy(home); err != nil {
			return err
		}
		n, err := start(ctx, x, m.chain, home, producers[i:i+1], arguments(ways...)...)
		if err != nil {
			return err
		}
		m.names, m.nodes = append(m.names, name), append(m.nodes, n)
	}
	return nil
}

func (m *mesh) close() {
	stop(m.say, m.nodes...)
	for _, k := range m.links {
		_ = k.Close() // it is only listening
	}
}

// round disturbs the links for a while, heals them, and waits for agreement.
func (m *mesh) round(ctx context.Context, number int, p Partitions) error {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	for i, n := range m.nodes {
		random := rand.New(rand.NewPCG(m.random.Uint64(), uint64(i)))
		work.Go(func() { m.transfer(working, n, random) })
	}
	text := m.disturb(ctx, p.Most)
	for _, k := range m.links {
		k.Set(Condition{})
	}
	healed, err := m.highest(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if p.Irreversible {
		if err := m.awaitIrreversible(ctx, healed); err != nil {
			return err
		}
	}
	cancel()
	work.Wait()
	s, err := m.agree(ctx)
	if err != nil {
		return fmt.Errorf("after %s: %w", text, err)
	}
	fmt.Fprintf(m.say, "round %d: %s; the same at block %d after %.1f s, hash %s; %d transfers taken, %d refused\n",
		number, text, s.num(), time.Since(begin).Seconds(), s.hash, m.accepted.Load(), m.refused.Load())
	return nil
}

// disturb puts a few conditions on the links, one after the other, and says which.
func (m *mesh) disturb(ctx context.Context, most time.Duration) string {
	var text []string
	for range 1 + m.random.IntN(3) {
		length := most/10 + time.Duration(m.random.Int64N(int64(most-most/10)+1))
		var what []string
		for i, k := range m.links {
			c, name := m.condition()
			k.Set(c)
			if name != "" {
				what = append(what, fmt.Sprintf("%d %s", i, name))
			}
		}
		text = append(text, fmt.Sprintf("%.1f s [%s]", length.Seconds(), strings.Join(what, ", ")))
		if !sleep(ctx, length) {
			break
		}
	}
	return strings.Join(text, " ")
}

// condition is a random one, and its name.
func (m *mesh) condition() (Condition, string) {
	switch m.random.IntN(8) {
	case 0, 1, 2:
		return Condition{Cut: true}, "cut"
	case 3:
		return Condition{Stall: true}, "stalled"
	case 4:
		d := time.Duration(10+m.random.IntN(900)) * time.Millisecond
		return Condition{Delay: d}, "delayed by " + d.String()
	case 5:
		r := 1000 + m.random.IntN(20_000)
		return Condition{Rate: r}, fmt.Sprintf("%d bytes/s", r)
	}
	return Condition{}, ""
}

// transfer sends transfers to a node until ctx ends. Which of them the node takes
// depends on the fork that it is on.
func (m *mesh) transfer(ctx context.Context, n *difftest.Node, random *rand.Rand) {
	for sleep(ctx, time.Duration(random.IntN(300))*time.Millisecond) {
		i, err := n.Info(ctx)
		if err != nil {
			continue
		}
		ref, err := types.ParseChecksum256(i.HeadID)
		if err != nil {
			continue
		}
		p, err := m.chain.Transfer(ref)
		if err == nil {
			_, err = n.Push(ctx, p)
		}
		if err == nil {
			m.accepted.Add(1)
		} else if ctx.Err() == nil {
			m.refused.Add(1)
		}
	}
}

// highest is the highest head of all nodes.
func (m *mesh) highest(ctx context.Context) (num uint32, err error) {
	for i, n := range m.nodes {
		info, err := n.Info(ctx)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", m.names[i], err)
		}
		num = max(num, info.HeadNum)
	}
	return num, nil
}

// awaitIrreversible waits until a block is irreversible everywhere.
func (m *mesh) awaitIrreversible(ctx context.Context, num uint32) error {
	ctx, cancel := context.WithTimeout(ctx, agreeTime)
	defer cancel()
	for i, n := range m.nodes {
		for {
			info, err := n.Info(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", m.names[i], err)
			}
			if info.Irreversible >= num {
				break
			}
			if !sleep(ctx, 4*pollTime) {
				return fmt.Errorf("%s: block %d is not irreversible, at %d (irreversible %d)",
					m.names[i], num, info.HeadNum, info.Irreversible)
			}
		}
	}
	return nil
}

// agree pauses production and compares the nodes, which goes on afterwards. When
// they stop on forks of the same length they have to go on before they can agree.
func (m *mesh) agree(ctx context.Context) (s state, err error) {
	const still = 3 * time.Second // enough for the last block to get around
	for end := time.Now().Add(agreeTime); ; {
		if err := m.each(ctx, (*difftest.Node).Pause); err != nil {
			return s, err
		}
		same := await(ctx, "common head", still, func() (bool, error) { return m.level(ctx) })
		if same == nil {
			s, same = compare(ctx, m.names, m.nodes)
		}
		if err := m.each(ctx, (*difftest.Node).Resume); err != nil || same == nil {
			return s, err
		}
		if errors.Is(same, difftest.ErrDifferent) {
			return s, same
		}
		if time.Now().After(end) {
			return s, fmt.Errorf("the nodes do not agree: %w", same)
		}
		if !sleep(ctx, time.Second) {
			return s, ctx.Err()
		}
	}
}

// level tells whether all have the same head.
func (m *mesh) level(ctx context.Context) (bool, error) {
	var heads []string
	for i, n := range m.nodes {
		info, err := n.Info(ctx)
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.names[i], err)
		}
		heads = append(heads, info.HeadID)
	}
	return len(slices.Compact(heads)) == 1, nil
}

func (m *mesh) each(ctx context.Context, do func(*difftest.Node, context.Context) error) error {
	for i, n := range m.nodes {
		if err := do(n, ctx); err != nil {
			return fmt.Errorf("%s: %w", m.names[i], err)
		}
	}
	return nil
}
