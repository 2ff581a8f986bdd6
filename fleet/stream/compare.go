package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"tarn/fleet"
)

// Verdict is what a member says of its rows at a block.
type Verdict struct {
	Member
	Block fleet.Point `json:"block"`
	fleet.RowsSum
	Failure string `json:"failure,omitempty"` // why there are no rows; "" if there are
}

// Comparison is what the node that publishes and its replicas say of the same block.
type Comparison struct {
	Node     Verdict   `json:"node"`
	Replicas []Verdict `json:"replicas"` // those that were asked, and whoever else has answered
}

// Equal tells whether there are replicas, and all have said that they have the node's rows.
func (c *Comparison) Equal() bool {
	return len(c.Replicas) > 0 && !slices.ContainsFunc(c.Replicas, func(v Verdict) bool {
		return v.Failure != "" || !v.Same(&c.Node.RowsSum)
	})
}

// comparedRows is what a publisher tells its replicas of a block that they compare: first its name, later its rows.
type comparedRows struct {
	Block          fleet.Point `json:"block"`
	Snapshot       bool        `json:"snapshot,omitempty"` // only replicas that compare themselves with snapshots do
	*fleet.RowsSum             // nil if only the block is named; of a snapshot the announcement has them
	Answer         string      `json:"answer,omitempty"` // the subject for verdicts
}

// What a publisher says at once to who asks for a comparison.
const (
	comparisonTaken = "taken"
	comparisonBusy  = "busy"
)

func (o *Options) compareSubject() string { return "tarn." + o.Name + ".compare" }
func (o *Options) rowsSubject() string    { return "tarn." + o.Name + ".rows" }

// hearComparisons takes requests to compare, one at a time, while this node publishes, until the connection is closed.
func (p *Publisher) hearComparisons(conn *nats.Conn) error {
	_, err := conn.Subscribe(p.compareSubject(), func(m *nats.Msg) {
		if !p.leads.Load() || !isInbox(m.Reply) {
			return
		}
		answer := comparisonBusy
		select {
		case p.compare <- m.Reply:
			answer = comparisonTaken
		default:
		}
		m.Respond([]byte(answer)) //nolint:errcheck // who asks waits for a while, and says that nobody answers
	})
	if err != nil {
		return fmt.Errorf("answer who asks for a comparison: %w", err)
	}
	return nil
}

// compareRows has the replicas compare their rows with this node's whenever somebody asks, until ctx ends. All rows are
// read beside the writer.
func (p *Publisher) compareRows(ctx context.Context, conn *nats.Conn, about Member) {
	for {
		select {
		case <-ctx.Done():
			return
		case answer := <-p.compare:
			verdict := Verdict{Member: about}
			verdict.Publishing = true
			if err := p.readRows(ctx, conn, &verdict); err != nil {
				p.log.Warn("This node's rows could not be read to be compared", "fleet", p.Name, "error", err)
				verdict.Failure = err.Error()
			} else {
				send(conn, p.rowsSubject(),
					&comparedRows{Block: verdict.Block, RowsSum: &verdict.RowsSum, Answer: answer})
			}
			send(conn, answer, &verdict)
		}
	}
}

// readRows reads the head's rows, after replicas have heard that this is due.
func (p *Publisher) readRows(ctx context.Context, conn *nats.Conn, v *Verdict) error {
	p.comparing.Store(true)
	pause(ctx, dueTime)
	im, err := p.Source.Image(ctx)
	if err == nil {
		p.stopAt(im.Revision)
	}
	p.comparing.Store(false)
	if err != nil {
		return fmt.Errorf("show the head's rows: %w", err)
	}
	send(conn, p.rowsSubject(), &comparedRows{Block: im.Point})
	v.Block, v.Head = im.Point, im.Point
	v.RowsSum, err = fleet.Sum(im.View, func(int64) error { return context.Cause(ctx) })
	return errors.Join(err, im.View.Close())
}

// stopAt has replicas stop at a block.
func (p *Publisher) stopAt(block uint64) {
	for {
		before := p.compared.Load()
		if before >= block || p.compared.CompareAndSwap(before, block) {
			return
		}
	}
}

// send sends a value as JSON to who may be there.
func send(conn *nats.Conn, subject string, value any) {
	text, err := json.Marshal(value)
	if err == nil {
		conn.Publish(subject, text) //nolint:errcheck // who waits for it waits for a while only
	}
}

// compareOnDemand compares the replica's rows with the node's whenever somebody asks, until the connection is closed.
func (f *Follower) compareOnDemand() error {
	_, err := f.conn.Subscribe(f.rowsSubject(), func(m *nats.Msg) {
		var c comparedRows
		if json.Unmarshal(m.Data, &c) != nil || c.RowsSum != nil && !isInbox(c.Answer) {
			return // whoever wrote it is no publisher
		}
		if c.RowsSum == nil {
			if f.Verify || !c.Snapshot {
				f.verify.nodeNames(c.Block)
			}
			return
		}
		f.verify.compareAnnounced(&nodesRows{at: c.Block, sum: *c.RowsSum, told: func(own *fleet.RowsSum, err error) {
			verdict := Verdict{Member: f.about, Block: c.Block}
			verdict.Head = f.Lag().Applied
			if err != nil {
				verdict.Failure = err.Error()
			} else {
				verdict.RowsSum = *own
			}
			send(f.conn, c.Answer, &verdict)
		}})
	})
	if err != nil {
		return fmt.Errorf("hear of comparisons: %w", err)
	}
	return nil
}

// Errors of a comparison that did not begin.
var (
	ErrNobody = errors.New("nobody publishes to the fleet")
	errBusy   = errors.New("the node compares its rows already; ask again later")
)

// Compare has the node that publishes and all replicas read their rows at the same block, until ctx ends. Members have
// wait to say that they are there. The options are valid. An error wraps [ErrNobody] where no node takes the request.
func Compare(ctx context.Context, o Options, wait time.Duration) (*Comparison, error) {
	o = o.withDefaults()
	conn, _, err := o.connect("comparison")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := o.await(ctx, conn); err != nil {
		return nil, err
	}
	list, err := o.members(ctx, conn, wait)
	if err != nil {
		return nil, err
	}
	inbox := conn.NewRespInbox()
	answers, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("ask for a comparison: %w", err)
	}
	defer answers.Unsubscribe() //nolint:errcheck // nothing comes any more
	if err := o.askToCompare(ctx, conn, answers, inbox, wait); err != nil {
		return nil, err
	}
	c := &Comparison{}
	for _, m := range list {
		if m.Role == RoleReplica {
			c.Replicas = append(c.Replicas, Verdict{Member: m, Failure: "it has not answered"})
		}
	}
	return c, c.collect(ctx, answers, wait)
}

func (o *Options) askToCompare(
	ctx context.Context, conn *nats.Conn, answers *nats.Subscription, inbox string, wait time.Duration,
) error {
	if err := conn.PublishRequest(o.compareSubject(), inbox, nil); err != nil {
		return fmt.Errorf("ask for a comparison: %w", err)
	}
	ctx, done := context.WithTimeout(ctx, wait)
	defer done()
	m, err := answers.NextMsgWithContext(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("ask for a comparison of the fleet %s: %w", o.Name, ErrNobody)
	case string(m.Data) != comparisonTaken:
		return fmt.Errorf("ask for a comparison of the fleet %s: %w", o.Name, errBusy)
	}
	return nil
}

// collect takes verdicts until all have come, and for a while more those of replicas that nobody knew of; or until ctx
// ends: then those that are missing say so.
func (c *Comparison) collect(ctx context.Context, answers *nats.Subscription, more time.Duration) error {
	missing := map[string]bool{}
	for _, v := range c.Replicas {
		missing[v.Node] = true
	}
	for whole := false; ; {
		if !whole && c.Node.Node != "" && len(missing) == 0 {
			whole = true
			var done context.CancelFunc
			ctx, done = context.WithTimeout(ctx, more)
			defer done()
		}
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			break
		}
		var v Verdict
		switch err := json.Unmarshal(m.Data, &v); {
		case err != nil || len(c.Replicas) >= mostMembers: // whoever else it was is no member
		case v.Role == RoleNode:
			if c.Node = v; v.Failure != "" {
				return fmt.Errorf("the node %s has not read its rows: %s", v.Node, v.Failure)
			}
		case missing[v.Node]:
			delete(missing, v.Node)
			c.Replicas[slices.IndexFunc(c.Replicas, func(x Verdict) bool { return x.Node == v.Node })] = v
		default:
			c.Replicas = append(c.Replicas, v)
		}
	}
	if c.Node.Node == "" {
		return errors.New("the node that publishes has not told of its rows in time")
	}
	return nil
}
