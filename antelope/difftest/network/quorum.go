package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/difftest"
	"tarn/antelope/types"
	"tarn/internal/freeport"
)

// Place is what a node does for a chain of Savanna's rules.
type Place struct {
	Program   difftest.Executable
	Produces  bool // it has a producer of its own
	Finalizes int  // it has the keys of so many finalizers of its own
	Records   bool // it keeps a state history, with finality data
	Extra     []string
}

// Quorum is a chain that nodes of different makes produce and finalize together, from its genesis on.
// The first node makes the blocks until there is a schedule. One key is that of all accounts; each
// finalizer has a key of its own. The methods are for one goroutine, but for [Quorum.Push].
type Quorum struct {
	Genesis types.Genesis
	Key     crypto.PrivateKey

	say     io.Writer
	members []*Member
	runs    string // the contract on eosio
	nonce   atomic.Uint32
}

// Member is a node of a quorum. It keeps its folder, and its address for others, when it is started
// again.
type Member struct {
	Place
	*difftest.Node // while it runs
	Name           string
	Dir            string
	History        string // the address of its state history

	link   *Link
	config difftest.Config
	again  bool // it was started on what was in its folder
}

// Producer is the account that the member produces for.
func (m *Member) Producer() types.Name { return types.N("producer" + m.Name[:1]) }

// Finalizers are all that the member has the keys of, as a policy has them.
func (m *Member) Finalizers() (list []types.Finalizer) {
	for i := range m.Finalizes {
		list = append(list, types.Finalizer{Description: fmt.Sprintf("finalizer%s%d", m.Name[:1], i), Weight: 1,
			Key: m.vote(i).Public()})
	}
	return list
}

// vote is the key of one of the member's finalizers.
func (m *Member) vote(i int) *crypto.BLSPrivateKey {
	return crypto.NewBLSPrivateKey(types.Hash(fmt.Append(nil, m.Name, i)))
}

// NewQuorum starts nodes, each linked with all others, on a chain that begins now. Their folders are
// made in dir. After an error too, [Quorum.Close] ends them.
func NewQuorum(ctx context.Context, places []Place, dir string, say io.Writer) (*Quorum, error) {
	q := &Quorum{Genesis: types.DefaultGenesis(), Key: difftest.NewKey(0, "quorum"), say: say}
	q.Genesis.InitialKey = q.Key.Public()
	q.Genesis.InitialTimestamp = types.TimePoint(time.Now().Add(-2 * time.Second).Truncate(time.Second).UnixMicro())
	for _, p := range places {
		m, err := q.Join(p, dir)
		if err == nil {
			err = q.Start(ctx, m)
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}

// Join gives a node a place and a folder in dir, which others know before it is started.
func (q *Quorum) Join(p Place, dir string) (m *Member, err error) {
	m = &Member{Place: p, Name: fmt.Sprintf("%c-%s", 'a'+len(q.members), p.Program.Name)}
	m.Dir = filepath.Join(dir, m.Name)
	if m.link, err = NewLink(); err != nil {
		return nil, err
	}
	m.config, err = q.configOf(m, len(q.members) == 0)
	q.members = append(q.members, m)
	return m, err
}

// configOf is how a member is started.
func (q *Quorum) configOf(m *Member, first bool) (difftest.Config, error) {
	var ways []string
	for _, other := range q.members {
		ways = append(ways, other.link.Address())
	}
	c := difftest.Config{Dir: m.Dir, Genesis: &q.Genesis, Producers: map[types.Name]crypto.PrivateKey{}}
	c.Extra = slices.Concat(arguments(ways...), []string{"--vote-threads", "2"}, m.Extra)
	if first {
		c.Producers[types.N("eosio")] = q.Key
	}
	if m.Produces {
		c.Producers[m.Producer()] = q.Key
	}
	for i := range m.Finalizes {
		c.Extra = append(c.Extra, "--signature-provider", m.vote(i).Public().String()+"=KEY:"+m.vote(i).Text())
	}
	if m.Records {
		at, err := freeport.Addresses(1)
		if err != nil {
			return c, err
		}
		m.History = at[0]
		c.Extra = append(c.Extra, "--plugin", "eosio::state_history_plugin", "--state-history-endpoint", m.History,
			"--trace-history", "--chain-state-history", "--finality-data-history")
	}
	return c, nil
}

// Start starts a member on the genesis, or on what is in its folder.
func (q *Quorum) Start(ctx context.Context, m *Member) error { return q.launch(ctx, m, m.config) }

// Again starts a member on what is in its folder, with further options, such as a snapshot. The
// genesis is not said.
func (q *Quorum) Again(ctx context.Context, m *Member, more ...string) error {
	c := m.config
	c.Genesis, c.Extra, m.again = nil, slices.Concat(c.Extra, more), true
	return q.launch(ctx, m, c)
}

// launch starts a process that ends with Close, not with ctx.
func (q *Quorum) launch(ctx context.Context, m *Member, c difftest.Config) (err error) {
	if m.Node, err = m.Program.Start(context.WithoutCancel(ctx), c); err != nil {
		return err
	}
	m.link.To(m.P2P())
	return nil
}

// Members are the nodes, in the order of their places.
func (q *Quorum) Members() []*Member { return q.members }

// Close ends all nodes. One that had ended before is a fault, and is said.
func (q *Quorum) Close() {
	for _, m := range q.members {
		if m.Node != nil {
			stop(q.say, m.Node)
		}
		_ = m.link.Close() // it is only listening
	}
}

// names are the members', for reports.
func (q *Quorum) names() (list []string) {
	for _, m := range q.members {
		list = append(list, m.Name)
	}
	return list
}

func (q *Quorum) nodes() (list []*difftest.Node) {
	for _, m := range q.members {
		list = append(list, m.Node)
	}
	return list
}

// Final waits until a block is irreversible on each member.
func (q *Quorum) Final(ctx context.Context, num uint32, atMost time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for _, m := range q.members {
		if err := m.AwaitHead(ctx, num, true); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// Still pauses production, and calls do while all members have the same head and state.
func (q *Quorum) Still(ctx context.Context, do func(s state) error) error {
	err := q.still(ctx, do)
	for _, m := range q.members {
		err = errors.Join(err, m.Resume(ctx))
	}
	return err
}

// still is Still, but production stays paused.
func (q *Quorum) still(ctx context.Context, do func(s state) error) error {
	for _, m := range q.members {
		if err := m.Pause(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	for end := time.Now().Add(agreeTime); ; {
		if err := await(ctx, "common head", agreeTime, func() (bool, error) { return q.level(ctx) }); err != nil {
			return err
		}
		sleep(ctx, time.Second) // for a block that was being made
		s, err := compare(ctx, q.names(), q.nodes())
		switch {
		case err == nil:
			return do(s)
		case errors.Is(err, difftest.ErrDifferent) || ctx.Err() != nil || time.Now().After(end):
			return err
		}
	}
}

// level tells whether all have the same head and the same irreversible block.
func (q *Quorum) level(ctx context.Context) (bool, error) {
	var first difftest.Info
	for i, m := range q.members {
		info, err := m.Info(ctx)
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.Name, err)
		}
		if i == 0 {
			first = info
		}
		if info.HeadID != first.HeadID || info.LIBID != first.LIBID {
			return false, nil
		}
	}
	return true, nil
}
