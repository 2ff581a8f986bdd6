package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"tarn/antelope/admintypes"
	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/writerloop"
)

// snapshots makes snapshots, at once and as scheduled (Leap: snapshot_scheduler).
// They are written from views, on goroutines of their own. All fields belong to the
// writer.
type snapshots struct {
	chain    *chain.Chain
	writer   *writerloop.Writer
	log      *loggers
	final    bool // the chain applies irreversible blocks only
	dir      string
	files    vfs.FS
	requests []*admintypes.SnapshotSchedule
	nextID   uint32
	started  uint32 // block of which the schedule has been looked at, with
	parent   types.Checksum256
	pending  map[types.Checksum256]*pendingSnapshot

	headView func() (*state.View, error) // shows the head's state
	showHead func() error                // publishes it

	ctx    context.Context // of the writing
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// pendingSnapshot is one that is being written, or whose block may still lose.
type pendingSnapshot struct {
	admintypes.Snapshot
	written bool
	naming  bool // the file is getting its final name
	decided bool // the block is irreversible, or lost
	lost    bool
	request *admintypes.SnapshotSchedule // nil if it was not scheduled
	waiting []func(admintypes.Snapshot, error)
}

const scheduleName = "snapshot-schedule.json"

func openSnapshots(p *Producer) (*snapshots, error) {
	s := &snapshots{
		chain: p.chain, writer: p.writer, log: &p.log, final: p.opt.Irreversible, dir: p.opt.SnapshotsDir,
		files:   p.opt.Files,
		pending: make(map[types.Checksum256]*pendingSnapshot), headView: p.headView, showHead: p.showHead,
	}
	if s.files == nil {
		s.files = vfs.OS
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.dir == "" {
		return s, nil
	}
	if err := vfs.MkdirAll(s.files, s.dir); err != nil {
		return nil, exception.Wrap(exception.SnapshotDirectoryNotFound, err, "No such directory '${dir}'", "dir", s.dir)
	}
	if err := s.load(); err != nil {
		p.log.main.Error(fmt.Sprintf("unable to restore snapshots schedule from filesystem %s, details: %v",
			filepath.Join(s.dir, scheduleName), err))
	}
	return s, nil
}

// stop ends what is being written, and answers who waits.
func (s *snapshots) stop() {
	s.cancel()
	s.work.Wait()
	for id, e := range s.pending {
		delete(s.pending, id)
		e.answer(writerloop.ErrStopped)
	}
}

func (e *pendingSnapshot) answer(err error) {
	for _, f := range e.waiting {
		f(e.Snapshot, err)
	}
	e.waiting = nil
}

func (s *snapshots) path(prefix string, id types.Checksum256) string {
	return filepath.Join(s.dir, fmt.Sprintf("%ssnapshot-%s.bin", prefix, id))
}

// create begins to make a snapshot of the head's state. No session of the state is
// open but the pending block's.
func (s *snapshots) create(request *admintypes.SnapshotSchedule, done func(admintypes.Snapshot, error)) error {
	head := s.chain.Head()
	if s.dir == "" {
		return exception.New(exception.SnapshotDirectoryNotFound, "No such directory ''")
	}
	if e := s.pending[head.ID]; e != nil {
		e.waiting = append(e.waiting, done)
		return nil
	}
	final := s.path("", head.ID)
	if _, err := os.Stat(final); err == nil {
		return exception.New(exception.SnapshotExists, "snapshot named ${name} already exists", "name", s.dir)
	}
	v, err := s.headView()
	if err != nil {
		return err
	}
	h, err := viewHead(v)
	if err == nil && h.ID != head.ID {
		err = fmt.Errorf("the view shows block %d, the head is %d", h.BlockNum, head.BlockNum)
	}
	if err != nil {
		return errors.Join(err, v.Close())
	}
	e := &pendingSnapshot{
		Snapshot: admintypes.Snapshot{
			HeadID: head.ID, HeadNum: head.BlockNum, HeadTime: head.Header.Timestamp.TimePoint(),
			Version: snapshot.VersionFor(h), Name: s.path(".pending-", head.ID),
		},
		request: request, waiting: []func(admintypes.Snapshot, error){done},
	}
	root := s.chain.Fork().Root()
	e.decided = s.final || root != nil && root.ID == head.ID
	s.pending[head.ID] = e
	if request != nil {
		request.Pending = append(request.Pending, e.Snapshot)
	}
	s.work.Go(func() {
		err := s.write(v, h, s.path(".incomplete-", head.ID), e.Name)
		s.writer.Put(writerloop.Calls, writerloop.Job{Do: func() { s.handleWritten(e, err) }})
	})
	return nil
}

// viewHead is where a view stands.
func viewHead(v *state.View) (consensus.Head, error) {
	b, err := v.Head()
	if err != nil {
		return consensus.Head{}, err
	}
	return consensus.DecodeHead(b)
}

// write writes a snapshot under a name that says that it is not whole, and then
// gives it another.
func (s *snapshots) write(v *state.View, h consensus.Head, incomplete, whole string) (err error) {
	defer func() { err = errors.Join(err, v.Close()) }()
	f, err := createDirect(incomplete)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(incomplete))
		}
	}()
	if err = snapshot.Write(f, v, h,
		snapshot.Options{Report: func(snapshot.Progress) error { return context.Cause(s.ctx) }}); err == nil {
		err = f.commit()
	}
	if err = errors.Join(err, f.close()); err != nil {
		return err
	}
	return s.files.Rename(incomplete, whole) // the final name is made durable
}

// handleWritten comes when a snapshot is written, or could not be.
func (s *snapshots) handleWritten(e *pendingSnapshot, err error) {
	if err != nil {
		s.drop(e)
		e.answer(err)
		return
	}
	e.written = true
	s.settle(e)
}

// settle gives a snapshot its final name when its block is irreversible, and
// removes it when the block lost. The name is made durable on another goroutine:
// blocks do not wait for the disk.
func (s *snapshots) settle(e *pendingSnapshot) {
	if !e.written || !e.decided || e.naming {
		return
	}
	if e.lost {
		s.drop(e)
		err := os.Remove(e.Name)
		e.answer(errors.Join(exception.New(exception.SnapshotFinalization,
			"Snapshotted block was forked out of the chain.  ID: ${block_id}", "block_id", e.HeadID), err))
		return
	}
	e.naming = true
	from, final := e.Name, s.path("", e.HeadID)
	s.work.Go(func() {
		err := vfs.RenameDurably(s.files, from, final)
		s.writer.Put(writerloop.Calls, writerloop.Job{Do: func() { s.handleNamed(e, final, err) }})
	})
}

// handleNamed comes when a snapshot has its final name, durably, or could not get it.
func (s *snapshots) handleNamed(e *pendingSnapshot, final string, err error) {
	s.drop(e)
	if err != nil {
		err = exception.Wrap(exception.SnapshotFinalization, err,
			"Unable to finalize valid snapshot of block number ${block_num}", "block_num", e.HeadNum)
	} else {
		e.Name = final
	}
	e.answer(err)
}

func (s *snapshots) drop(e *pendingSnapshot) {
	delete(s.pending, e.HeadID)
	if e.request == nil {
		return
	}
	kept := e.request.Pending[:0]
	for _, p := range e.request.Pending {
		if p.HeadID != e.HeadID {
			kept = append(kept, p)
		}
	}
	e.request.Pending = kept
}

// irreversible decides about the snapshots up to a block.
func (s *snapshots) irreversible(b *consensus.BlockState) {
	for _, e := range s.pending {
		if e.decided || e.HeadNum > b.BlockNum {
			continue
		}
		e.decided, e.lost = true, e.HeadNum == b.BlockNum && e.HeadID != b.ID
	}
}

// settleAll settles what was decided. It comes after the head was published: who
// gets an answer finds the snapshot's block irreversible.
func (s *snapshots) settleAll() {
	for _, e := range s.pending {
		s.settle(e)
	}
}

// startBlock makes the snapshots that are due when the block after the head is
// begun, once for each head.
func (s *snapshots) startBlock(num uint32) {
	head := s.chain.Head()
	if len(s.requests) == 0 || s.started == num && s.parent == head.ID {
		return
	}
	s.started, s.parent = num, head.ID
	var due *admintypes.SnapshotSchedule
	kept := s.requests[:0:0]
	for _, r := range s.requests {
		once := r.Spacing == 0 && num == r.Start+1
		again := r.Spacing != 0 && num >= r.Start+1 && (num-r.Start-1)%r.Spacing == 0
		if (once || again) && due == nil {
			due = r
		}
		if r.Spacing == 0 && num >= r.Start+1 || num-1 >= r.End {
			continue
		}
		kept = append(kept, r)
	}
	changed := len(kept) != len(s.requests)
	s.requests = kept
	if changed {
		s.save()
	}
	if due == nil {
		return
	}
	if late := s.unwritten(); late != nil {
		s.log.plugin.Warn(fmt.Sprintf(
			"The scheduled snapshot of block %d is left out, because the snapshot of block %d is still being "+
				"written. Schedule snapshots further apart",
			head.BlockNum, late.HeadNum))
		return
	}
	err := s.showHead()
	if err == nil {
		err = s.create(due, func(made admintypes.Snapshot, err error) {
			if err != nil && !errors.Is(err, writerloop.ErrStopped) {
				s.reportFailure(err)
			}
		})
	}
	if err != nil {
		s.reportFailure(err)
	}
}

// unwritten is a scheduled snapshot that is still being written; nil if none is. Each
// holds the state of its block and a share of the disk, so only one is at work.
func (s *snapshots) unwritten() *pendingSnapshot {
	for _, e := range s.pending {
		if e.request != nil && !e.written {
			return e
		}
	}
	return nil
}

// reportFailure reports a scheduled snapshot that was not made. A disk that is full of
// snapshots is no reason to stop a node, which nodeos does.
func (s *snapshots) reportFailure(err error) {
	s.log.plugin.Error(fmt.Sprintf("Exception during snapshot execution: Snapshot creation error: %v", err))
}

func (s *snapshots) schedule(r *admintypes.SnapshotRequest) error {
	for _, x := range s.requests {
		if x.Spacing == r.Spacing && x.Start == r.Start && x.End == r.End {
			return exception.New(exception.DuplicateSnapshotRequest, "Duplicate snapshot request")
		}
	}
	if r.Start > r.End {
		return exception.New(exception.InvalidSnapshotRequest,
			"End block number should be greater or equal to start block number")
	}
	if r.Start+r.Spacing > r.End {
		return exception.New(exception.InvalidSnapshotRequest, "Block spacing exceeds defined by start and end range")
	}
	r.ID = s.nextID
	s.nextID++
	s.requests = append(s.requests, &admintypes.SnapshotSchedule{SnapshotRequest: *r})
	s.save()
	return nil
}

// number is written as a string and read as either, as nodeos' property tree does.
type number uint32

// MarshalJSON is json.Marshaler's.
func (n number) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatUint(uint64(n), 10))
}

// UnmarshalJSON is json.Unmarshaler's.
func (n *number) UnmarshalJSON(b []byte) error {
	text := string(b)
	if s, err := strconv.Unquote(text); err == nil {
		text = s
	}
	v, err := strconv.ParseUint(text, 10, 32)
	*n = number(v)
	return err
}

// storedRequest is a request in the schedule's file.
type storedRequest struct {
	ID          number `json:"snapshot_request_id"`
	Description string `json:"snapshot_description"`
	Spacing     number `json:"block_spacing"`
	Start       number `json:"start_block_num"`
	End         number `json:"end_block_num"`
}

// save writes the schedule as nodeos does. A failure costs the schedule at the next
// start, no more.
func (s *snapshots) save() {
	var list any = ""
	if len(s.requests) > 0 {
		stored := make([]storedRequest, 0, len(s.requests))
		for _, r := range s.requests {
			stored = append(stored, storedRequest{number(r.ID), r.Description, number(r.Spacing), number(r.Start),
				number(r.End)})
		}
		list = stored
	}
	text, err := json.MarshalIndent(map[string]any{"snapshot_requests": list}, "", "    ")
	path := filepath.Join(s.dir, scheduleName)
	if err == nil && s.dir != "" {
		err = vfs.WriteDurably(s.files, path, append(text, '\n'))
	}
	if err != nil {
		s.log.main.Error(fmt.Sprintf("unable to store snapshots schedule to filesystem to %s, details: %v", path, err))
	}
}

func (s *snapshots) load() error {
	text, err := os.ReadFile(filepath.Join(s.dir, scheduleName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var file struct {
		Requests json.RawMessage `json:"snapshot_requests"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return err
	}
	var list []storedRequest
	if string(file.Requests) != `""` {
		if err := json.Unmarshal(file.Requests, &list); err != nil {
			return err
		}
	}
	for _, r := range list {
		if r.End == 0 {
			r.End = math.MaxUint32
		}
		s.requests = append(s.requests, &admintypes.SnapshotSchedule{SnapshotRequest: admintypes.SnapshotRequest{
			ID: uint32(r.ID), Spacing: uint32(r.Spacing), Start: uint32(r.Start), End: uint32(r.End),
			Description: r.Description,
		}})
		s.nextID = max(s.nextID, uint32(r.ID)+1)
	}
	return nil
}
