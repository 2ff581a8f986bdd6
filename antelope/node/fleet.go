package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/producer"
	"tarn/antelope/replica"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/ship"
	"tarn/antelope/tracelog"
	"tarn/fleet"
	"tarn/fleet/fleetnode"
	"tarn/fleet/stream"
	"tarn/httpserver"
	"tarn/nodeupkeep"
	"tarn/store/engine"
	"tarn/store/vfs"
)

// members are what of a fleet a node has.
type members struct {
	n      *Node
	part   *fleetnode.Member // nil for who is of no fleet
	origin *replica.Origin   // nil for who does not publish
}

// open connects to the fleet, before there is a chain.
func (m *members) open() (err error) {
	if f := m.n.o.Fleet; f != nil {
		m.part, err = fleetnode.Open(*f, m.n.o.Log)
	}
	return err
}

// hook has the chain tell the fleet what its blocks change, and what the histories keep of them. They have subscribed.
func (m *members) hook() {
	f := m.n.o.Fleet
	if f == nil || f.Replica {
		return
	}
	var packings []chain.Packing
	if m.n.history != nil {
		packings = m.n.history.Packings()
	}
	if m.n.traces != nil {
		packings = append(packings, tracelog.Packing())
	}
	m.origin = replica.NewOrigin(m.n.chain, m.n.store, f.Memory, packings...)
	m.n.chain.Subscribe(m.origin.Hooks())
}

// fleetNote is the note in a state into which the fleet's snapshot is being loaded, or is to be.
const fleetNote = "fleet"

// begin gives an empty state that of the fleet's newest snapshot.
func (m *members) begin(ctx context.Context) error {
	if _, _, logged := m.n.log.Head(); logged {
		return errors.New(
			"the block log is not empty, as it must be where a replica begins: start with --delete-all-blocks")
	}
	m.n.o.Log.Info("Starting from the fleet's newest snapshot, this may take a significant amount of time",
		"fleet", m.n.o.Fleet.Stream.Name)
	if err := m.n.forgetReversible(); err != nil {
		return fmt.Errorf("forget the reversible blocks from before the snapshot: %w", err)
	}
	if err := engine.MarkUnfinished(m.n.o.StateDir, []byte(fleetNote)); err != nil {
		return err
	}
	watch := nodeupkeep.NewProgress(m.n.o.Log, "Loading the fleet's snapshot", progressEvery)
	err := m.part.Follower().Fetch(ctx, func(im *fleet.ImageReader, s stream.Snapshot) error {
		return replica.Load(m.n.chain, m.n.store, im, func(rows int64) error {
			watch.Items(uint64(rows), uint64(max(rows, s.Rows)), "block", s.Point.Revision)
			if err := m.n.store.Relieve(); err != nil {
				return fmt.Errorf("save what was loaded so far: %w", err)
			}
			return context.Cause(ctx)
		})
	})
	if err != nil {
		return err
	}
	if err := m.n.log.Reset(m.n.chain.ID(), m.n.chain.Head().BlockNum+1); err != nil {
		return fmt.Errorf("begin the block log: %w", err)
	}
	if err := m.beginHistory(); err != nil {
		return err
	}
	if err := m.n.finishLater(); err != nil {
		return err
	}
	watch.Done("Finished initialization from the fleet's snapshot", "block", m.n.chain.Head().BlockNum,
		"id", m.n.chain.Head().ID)
	return nil
}

// replicaMark is a file in the folder of a state history that a replica has begun.
const replicaMark = "begun-by-a-replica"

// beginHistory goes on with a state history that has the snapshot's block. Another one that a replica has begun is
// given up, as nobody tells what came between; one of a node's is the operator's to give up.
func (m *members) beginHistory() error {
	h := m.n.history
	if h == nil {
		return nil
	}
	mark := filepath.Join(m.n.o.History.Dir, replicaMark)
	marked, err := vfs.OS.Exists(mark)
	if err != nil {
		return fmt.Errorf("look who has begun the state history: %w", err)
	}
	some, gap := h.Follows(m.n.chain.Head())
	if some {
		if gap == nil || !marked {
			return gap
		}
		m.n.o.Log.Warn("The state history does not go on from the fleet's snapshot: it is deleted, and begins again "+
			"with the snapshot's block",
			"block", m.n.chain.Head().BlockNum, "reason", gap)
		if err := h.Clear(); err != nil {
			return fmt.Errorf("give up the state history from before the snapshot: %w", err)
		}
	}
	if marked {
		return nil
	}
	return vfs.WriteDurably(vfs.OS, mark,
		[]byte("A replica deletes this state history when it has to begin again with a newer snapshot.\n"))
}

// serve publishes, or follows, until ctx ends. run begins a goroutine that the node waits for; fail ends the node.
func (m *members) serve(
	ctx context.Context, p *producer.Producer, answers stream.Answers, run func(func()), fail func(error),
) {
	switch follower := m.part.Follower(); {
	case m.origin != nil:
		m.origin.Serve(p.Do)
		run(func() {
			publishing, end := context.WithCancel(context.WithoutCancel(ctx))
			defer end()
			defer context.AfterFunc(ctx, func() { m.flush(); end() })()
			if err := m.part.Publish(publishing, m.origin, answers, nil); err != nil {
				fail(fmt.Errorf("fleet: %w", err))
			}
		})
	case follower != nil:
		r := replica.New(m.n.chain, m.n.store, p.Do)
		run(func() {
			if err := follower.Run(ctx, r); err != nil {
				fail(fmt.Errorf("fleet: %w", err))
			}
		})
	}
}

// flush lets the fleet have the newest blocks, for a while at most: what is irreversible is not told again after a
// start.
func (m *members) flush() {
	// the writer may be ending one
	for told, head := (fleet.Point{}), m.newest(); told != head; told, head = head, m.newest() {
		m.part.Flush(head)
	}
}

func (m *members) newest() fleet.Point {
	head, _ := m.origin.Line().Head()
	return head
}

// answersOf lets replicas' requests be answered by a node's API and state history; none if it has no API. They ask for
// what must reach the chain, and for blocks, traces and history that are older than they are.
func answersOf(s *nodeoshttp.Server, h *ship.History) stream.Answers {
	if s == nil {
		return stream.Answers{} // one that could answer only some would take the others' requests from who can
	}
	return stream.Answers{
		Ask: func(ctx context.Context, path string, body []byte) (int, []byte) {
			return s.Answer(ctx, path, string(body), rpc.ChainRW)
		},
		Read: func(ctx context.Context, path string, body []byte) (int, []byte) {
			if path == olderHistory {
				return answerHistory(ctx, h, body)
			}
			return s.Answer(httpserver.Asking(ctx, httpserver.Replicas()), path, string(body), rpc.ChainRO|rpc.TraceAPI)
		},
	}
}

// olderHistory is what replicas ask for where a client of their state history wants what is older than they are.
const olderHistory = "/tarn/state_history"

// answerHistory answers for a state history; nil for a node without one.
func answerHistory(ctx context.Context, h *ship.History, request []byte) (int, []byte) {
	if h == nil {
		return http.StatusNotFound, nil
	}
	answer, err := h.AnswerOlder(ctx, request)
	switch {
	case err != nil && ctx.Err() != nil:
		return http.StatusServiceUnavailable, nil // who asked has gone
	case errors.Is(err, ship.ErrOlderLong):
		return http.StatusRequestEntityTooLarge, nil
	case errors.Is(err, ship.ErrOlderMissing):
		return http.StatusNotFound, nil
	case errors.Is(err, ship.ErrOlderRequest):
		return http.StatusBadRequest, nil
	case err != nil:
		return http.StatusInternalServerError, nil // what it is, the node's log says
	}
	return http.StatusOK, answer
}

// history has a node of the fleet answer for what is older than this one's state history.
func (m *members) history(ctx context.Context, request []byte) ([]byte, error) {
	status, answer, err := m.part.Follower().Read(ctx, olderHistory, request)
	if err != nil {
		return nil, err
	}
	switch status {
	case http.StatusOK:
		return answer, nil
	case http.StatusServiceUnavailable:
		return nil, ship.ErrOlderBusy
	case http.StatusRequestEntityTooLarge:
		return nil, ship.ErrOlderLong
	case http.StatusNotFound:
		return nil, ship.ErrOlderMissing
	}
	return nil, fmt.Errorf("the node of the fleet answers with status %d", status)
}

// behind returns why a replica whose head is of a number is not ready; nil if it is. Any goroutine may ask.
func (m *members) behind(head uint32) error {
	if m.part.Follower() == nil {
		return nil
	}
	return m.part.Behind(uint64(head))
}

// ask has a node of the fleet answer what this one cannot. Who asks here next finds the block that the answer names, if
// it comes within a moment.
func (m *members) ask(r *nodeoshttp.Request, b []byte) (int, []byte, error) {
	status, answer, err := m.part.Follower().Ask(r.Context, r.Target, []byte(r.Body))
	if err == nil && status == http.StatusServiceUnavailable && len(answer) == 0 {
		err = fmt.Errorf("%w: all are busy", stream.ErrNoAnswer)
	}
	if err == nil {
		m.await(r.Context, namedBlock(answer))
	}
	return status, append(b, answer...), err
}

// read has a node of the fleet answer for what is older than this one.
func (m *members) read(r *nodeoshttp.Request, b []byte) (int, []byte, error) {
	status, answer, err := m.part.Follower().Read(r.Context, r.Target, []byte(r.Body))
	return status, append(b, answer...), err
}

// namedBlock is the number of the block in which an answer says that a transaction is; 0 for none.
func namedBlock(answer []byte) uint64 {
	_, rest, ok := bytes.Cut(answer, []byte(`"block_num":`))
	if !ok {
		return 0
	}
	end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	num, err := strconv.ParseUint(string(rest[:max(0, end)]), 10, 32)
	if err != nil {
		return 0
	}
	return num
}

// How long an answer waits for its block, and how often that is looked for.
const (
	blockWait = 2 * time.Second
	blockLook = 10 * time.Millisecond
)

// await waits until a block was applied, for [blockWait] at most.
func (m *members) await(ctx context.Context, num uint64) {
	ctx, done := context.WithTimeout(ctx, blockWait)
	defer done()
	for m.part.Follower().Lag().Applied.Revision < num && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(blockLook):
		}
	}
}
