// Package ship keeps the history of a chain's state, traces and finality, and serves it, as
// nodeos' state_history_plugin does. It owns when a block is recorded, the sessions of
// clients, and what is kept in memory for those who are up to date.
//
// It never changes the chain, and never lets a client hold it: blocks are packed and
// written on a goroutine of their own, and a client reads files or memory.
//
// # What a crash leaves
//
// A checkpoint waits until the histories are durable up to its block (History.Sync), so
// a start applies again at least what they lack. Blocks that they have are left as they
// are. A history that misses blocks all the same, because files were taken away, ends
// the start with what to do.
//
// # Finality data
//
// Blocks from the one on that begins the change to Savanna's rules have finality data. A head
// without any takes back all that its log has, as in Spring: on a branch that leaves such blocks,
// and when a node begins before them, which records them again.
package ship

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/ship/wire"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/writebehind"
)

// Options say what is kept, and where.
type Options struct {
	Dir      string
	Traces   bool // trace-history
	State    bool // chain-state-history
	Finality bool // finality-data-history
	Debug    bool // trace-history-debug-mode
	// Spring has clients spoken to as Spring does from the beginning, and not only when the head
	// is one that has finality data: those that connect then get its ABI, and may ask what only
	// Spring knows.
	Spring    bool
	Retain    uint32
	Partition *shiplog.Partition

	// QueueBytes bounds the blocks that wait to be written, about; 0 is 64 MiB. A block
	// waits for those before it, and the chain with it.
	QueueBytes int64
	// RecentBytes bounds what is kept in memory of the newest blocks, and what clients are
	// sent from memory or is kept of what they read last, each; 0 is 32 MiB.
	RecentBytes int64
	// Damaged is told the errors of clients' requests, and tells whether one is of a log that is
	// damaged; nil for nobody. Any goroutine calls it.
	Damaged func(error) bool
	// Older has a node of the fleet answer a request ([History.AnswerOlder]) for what is older than the history of a
	// replica; nil for none. An error that wraps [ErrOlderBusy] has it asked again. Any goroutine calls it.
	Older func(ctx context.Context, request []byte) (answer []byte, err error)
	Log   *slog.Logger
}

// Names of the logs' files.
const (
	traceName    = "trace_history"
	stateName    = "chain_state_history"
	finalityName = "finality_data_history"
)

// History is a chain's history. Its hooks are the writer's; Sync, Stats and what
// sessions read may be called from anywhere.
type History struct {
	o                       Options
	traces, state, finality *shiplog.Log // nil if they are not kept
	recorder                *writebehind.Queue[job]
	recent                  *recent
	shelf                   *shelf
	source                  Source
	older                   *older // nil for nobody

	mu       sync.Mutex
	now      tip
	savanna  bool      // the head has finality data
	follower func(tip) // is told of each new head; nil for nobody
}

// logs are those that are kept.
func (h *History) logs() (list []*shiplog.Log) {
	for _, l := range []*shiplog.Log{h.traces, h.state, h.finality} {
		if l != nil {
			list = append(list, l)
		}
	}
	return list
}

// job is what is written in one go: a block, that was executed here or elsewhere, or the whole state of a block.
type job struct {
	block        *consensus.BlockState
	executed     *chain.Executed // nil for elsewhere
	entries      chain.Entries   // what another node has of it
	view         *state.View
	id, prev     types.Checksum256
	irreversible wire.Position
}

// entry is what of a block belongs in a log.
func (j *job) entry(e chain.Entry, pack func(*chain.Executed) ([]byte, error)) ([]byte, error) {
	if j.executed == nil {
		return j.entries[e], nil
	}
	return pack(j.executed)
}

// tip is where the history stands.
type tip struct{ head, irreversible wire.Position }

// Source is what a history reads of the chain beside the writer.
type Source interface {
	// View shows the state that was published last.
	View() (*state.View, error)
	// Block is a packed block, by number and id, which does not change; nil if it cannot be had.
	Block(num uint32, id types.Checksum256) ([]byte, error)
	// BlockID is the id of a block, by number; false if it is not known.
	BlockID(num uint32) (types.Checksum256, bool, error)
	// Earliest is the first block that can be had, or whose state the chain began with.
	Earliest() uint32
	// FirstStored is the first block that can be had.
	FirstStored() uint32
	// ChainID is the chain's id, which never changes.
	ChainID() types.Checksum256
	// Irreversible is the last one.
	Irreversible() (num uint32, id types.Checksum256)
}

// Open opens the histories, or begins them.
func Open(o Options) (*History, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RecentBytes == 0 {
		o.RecentBytes = recentBytes
	}
	if o.Damaged == nil {
		o.Damaged = func(error) bool { return false }
	}
	h := &History{o: o, recent: newRecent(o.RecentBytes), shelf: newShelf(o.RecentBytes)}
	h.older = newOlder(h, o.Older)
	var err error
	open := func(name string) *shiplog.Log {
		if err != nil {
			return nil
		}
		var l *shiplog.Log
		l, err = shiplog.Open(o.log(name))
		return l
	}
	if o.Traces {
		h.traces = open(traceName)
	}
	if o.State {
		h.state = open(stateName)
	}
	if o.Finality {
		h.finality = open(finalityName)
	}
	if err != nil {
		return nil, errors.Join(err, h.closeLogs())
	}
	h.recorder = writebehind.Start(writebehind.Options[job]{Bytes: o.QueueBytes, Do: h.write, Sync: h.sync,
		Failed: func(err error) {
			h.o.Log.Error("The history cannot be written: the node stops with its next block", "error", err)
		}})
	return h, nil
}

func (o *Options) log(name string) shiplog.Options {
	return shiplog.Options{Name: name, Dir: o.Dir, Logger: o.Log, Retain: o.Retain, Partition: o.Partition}
}

// Remove deletes the histories, which are not open (delete-state-history).
func Remove(o Options) error {
	return errors.Join(shiplog.Remove(o.log(traceName)), shiplog.Remove(o.log(stateName)),
		shiplog.Remove(o.log(finalityName)))
}

// Hooks are what the chain tells. Source comes from the same chain.
func (h *History) Hooks(s Source) chain.Hooks {
	h.source = s
	return chain.Hooks{Begin: h.begin, Record: h.record, Adopted: h.adopted, Changes: h.state != nil}
}

// Packings make the entries of the logs that are kept, for another node's history.
func (h *History) Packings() (list []chain.Packing) {
	if h.traces != nil {
		list = append(list, chain.Packing{Entry: chain.EntryTraces, Pack: packTraces(h.o.Debug)})
	}
	if h.state != nil {
		list = append(list, chain.Packing{Entry: chain.EntryDeltas, Pack: packDeltas})
	}
	if h.finality != nil {
		list = append(list, chain.Packing{Entry: chain.EntryActions, Pack: packActions})
	}
	return list
}

func packTraces(debug bool) func(*chain.Executed) ([]byte, error) {
	return func(x *chain.Executed) ([]byte, error) { return wire.AppendTraces(nil, x.Transactions, debug) }
}

func packDeltas(x *chain.Executed) ([]byte, error) { return wire.AppendDeltas(nil, x.Changes), nil }

func packActions(x *chain.Executed) ([]byte, error) { return x.Actions.Append(nil), nil }

// begin records the whole state of the head if there is no history of it, and checks
// that the history goes on from there.
func (h *History) begin(head *consensus.BlockState) error {
	at := wire.Position{Num: head.BlockNum, ID: head.ID}
	num, id := h.source.Irreversible()
	h.mu.Lock()
	h.now.head, h.now.irreversible, h.savanna = at, wire.Position{Num: num, ID: id}, head.Finality != nil
	h.mu.Unlock()
	if h.finality != nil && head.Finality == nil {
		if err := h.finality.Clear(); err != nil {
			return err
		}
	}
	if _, err := h.Follows(head); err != nil {
		return err
	}
	h.sayMissing(head)
	if h.state == nil || !h.state.Empty() {
		return nil
	}
	h.o.Log.Info(fmt.Sprintf("Placing initial state in block %d", head.BlockNum))
	v, err := h.source.View()
	if err != nil {
		return err
	}
	if err := h.recorder.Put(job{view: v, id: head.ID, prev: head.Header.Previous}, 0); err != nil {
		return errors.Join(err, v.Close())
	}
	return nil
}

// Follows says why a chain that begins at a head cannot go on with the history; nil if it can. some tells whether
// anything is kept.
func (h *History) Follows(head *consensus.BlockState) (some bool, err error) {
	for _, l := range h.logs() {
		if l.Empty() || l == h.finality && head.Finality == nil { // which is cleared then
			continue
		}
		some = true
		if err := follows(l, wire.Position{Num: head.BlockNum, ID: head.ID}); err != nil {
			return some, err
		}
	}
	return some, nil
}

// Clear takes back all that is kept, before the chain begins. What is in an archive is the operator's.
func (h *History) Clear() error {
	for _, l := range h.logs() {
		if err := l.Clear(); err != nil {
			return err
		}
	}
	return nil
}

// sayMissing warns of logs that are empty, though the chain has blocks that belong in them. A chain that
// begins at the head, with a genesis file, a replay or a snapshot, has none.
func (h *History) sayMissing(head *consensus.BlockState) {
	from := max(h.source.Earliest(), firstRecorded)
	for _, l := range h.logs() {
		if first, end := l.Range(); first < end {
			from = min(from, max(first, firstRecorded))
		}
	}
	var missing []string
	for _, l := range h.logs() {
		switch {
		case !l.Empty():
		case l == h.traces:
			missing = append(missing, fmt.Sprintf("blocks %d to %d in %s", from, head.BlockNum, l.Path()))
		case l == h.state: // begins with the whole state of the head
			missing = append(missing, fmt.Sprintf("blocks %d to %d in %s", from, head.BlockNum-1, l.Path()))
		case head.Finality != nil:
			missing = append(missing, fmt.Sprintf("blocks up to %d in %s", head.BlockNum, l.Path()))
		}
	}
	if len(missing) == 0 || from >= head.BlockNum {
		return
	}
	h.o.Log.Warn(
		fmt.Sprintf("The chain is at block %d, and the state history lacks %s. This is normal after "+
			"--delete-state-history, or if the option of this log is new. Otherwise its files are missing, or "+
			"state-history-dir is wrong: stop the node, and restore the files or correct the option. A "+
			"replay (--replay-blockchain) records the blocks again", head.BlockNum, strings.Join(missing, ", ")))
}

// firstRecorded is the first block that is applied, and not made from a genesis file.
const firstRecorded = 2

// follows checks that a log goes on from the head.
func follows(l *shiplog.Log, head wire.Position) error {
	if _, end := l.Range(); end <= head.Num {
		return fmt.Errorf("the history ends with block %d, and the state is that of block %d: the blocks "+
			"between them are not recorded. "+
			"Replay the chain (--replay-blockchain), or give the history up (--delete-state-history)", end-1, head.Num)
	}
	id, ok, err := l.ID(head.Num)
	if err == nil && ok && shiplog.Near(id, head.ID) {
		id, err = head.ID, l.CorrectID(head.Num, head.ID)
	}
	if err != nil {
		return fmt.Errorf("compare the history with the state, which is that of block %d: %w", head.Num, err)
	}
	if ok && id != head.ID {
		return fmt.Errorf("%s has block %d as %s, and the state is that of %s: its last blocks are of a branch "+
			"that has lost, or of another chain. "+
			"Replay the chain (--replay-blockchain): the history goes on from where both agree. Nothing is "+
			"wrong with its files; "+
			"to give it up and begin another one, start with --delete-state-history", l.Path(), head.Num, id, head.ID)
	}
	return nil
}

// record hands a block over to be written.
func (h *History) record(x *chain.Executed) error {
	j := job{block: x.Block, executed: x, id: x.Block.ID, prev: x.Block.Header.Previous}
	if j.irreversible.Num, j.irreversible.ID = h.source.Irreversible(); x.Status == execute.Irreversible {
		j.irreversible = wire.Position{Num: x.Block.BlockNum, ID: x.Block.ID}
	}
	return h.recorder.Put(j, x.Size())
}

// ErrNoEntry says that another node tells of a block without what a history here is to keep.
var ErrNoEntry = errors.New("the fleet tells of a block without its state history")

// adopted hands a block over that another node has executed.
func (h *History) adopted(x *chain.Adopted) error {
	entries := make(chain.Entries)
	for _, p := range h.Packings() {
		b, ok := x.Entries[p.Entry]
		switch {
		case !ok:
			return fmt.Errorf("%w: its node ran without %s then. Once there is a snapshot of a node that has it, "+
				"start with --delete-all-blocks --delete-state-history", ErrNoEntry, option(p.Entry))
		case p.Entry == chain.EntryActions && len(b) != len(types.Checksum256{}):
			return fmt.Errorf("%w: a root of actions of %d bytes", chain.ErrOtherState, len(b))
		}
		entries[p.Entry] = bytes.Clone(b)
	}
	j := job{block: x.Block, entries: entries, id: x.Block.ID, prev: x.Block.Header.Previous}
	if j.irreversible.Num, j.irreversible.ID = h.source.Irreversible(); x.Final {
		j.irreversible = wire.Position{Num: x.Block.BlockNum, ID: x.Block.ID}
	}
	return h.recorder.Put(j, adoptedBytes+entries.Size())
}

// adoptedBytes is about what a block of another node takes beside its entries.
const adoptedBytes = 4096

// option is what has a node keep an entry.
func option(e chain.Entry) string {
	switch e {
	case chain.EntryTraces:
		return "trace-history"
	case chain.EntryDeltas:
		return "chain-state-history"
	}
	return "finality-data-history"
}

// Sync waits until all blocks that were told are written, and makes them durable.
func (h *History) Sync() error { return h.recorder.Sync() }

// Close writes what waits, makes it durable, and closes the files. The chain tells
// nothing more.
func (h *History) Close() error {
	if h.older != nil {
		h.older.end()
	}
	return errors.Join(h.recorder.Close(), h.closeLogs())
}

func (h *History) closeLogs() (err error) {
	for _, l := range h.logs() {
		err = errors.Join(err, l.Close())
	}
	return err
}

// write packs and writes what was told, on the recorder's goroutine.
func (h *History) write(j job) error {
	if j.view != nil {
		err := h.state.Append(j.id, j.prev, func(w io.Writer) error { return wire.WriteState(w, j.view) })
		return errors.Join(err, j.view.Close())
	}
	return h.block(j)
}

func (h *History) sync() (err error) {
	for _, l := range h.logs() {
		err = errors.Join(err, l.Sync())
	}
	return err
}

// block packs a block, appends it to the logs, and shows it to sessions.
func (h *History) block(j job) error {
	x := &recorded{Position: wire.Position{Num: j.block.BlockNum, ID: j.id}, prev: j.prev, irreversible: j.irreversible}
	if b := j.block.Block; b != nil {
		x.block = b.Append(nil)
	}
	var err error
	if h.traces != nil {
		if x.traces, err = j.entry(chain.EntryTraces, packTraces(h.o.Debug)); err == nil {
			err = put(h.traces, x, x.traces)
		}
	}
	if err == nil && h.state != nil {
		if x.deltas, err = j.entry(chain.EntryDeltas, packDeltas); err == nil {
			err = put(h.state, x, x.deltas)
		}
	}
	if err == nil && h.finality != nil {
		err = h.finalityOf(&j, x)
	}
	if err != nil {
		return fmt.Errorf("write the state history of block %d: %w", x.Num, err)
	}
	if x.Num <= h.at().head.Num { // in the place of others
		h.shelf.drop(x.Num)
	}
	h.recent.add(x)
	h.advance(x.Position, j.irreversible, j.block.Finality != nil)
	return nil
}

// finalityOf appends the finality data of a block. Before Savanna's rules there is none, and none
// stays of blocks that came in other places (Spring: state_history_plugin_impl::store_finality_data).
func (h *History) finalityOf(j *job, x *recorded) error {
	if j.block.Finality == nil {
		if h.finality.Empty() {
			return nil
		}
		err := h.finality.Clear()
		h.shelf.drop(0)
		return err
	}
	actions, err := j.entry(chain.EntryActions, packActions)
	if err != nil {
		return err
	}
	x.finality = j.block.Finality.AppendData(nil, types.Checksum256(actions))
	return put(h.finality, x, x.finality)
}

func put(l *shiplog.Log, x *recorded, b []byte) error {
	return l.Append(x.ID, x.prev, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// advance makes a block the one that sessions are led to.
func (h *History) advance(head, irreversible wire.Position, savanna bool) {
	h.mu.Lock()
	h.now, h.savanna = tip{head, irreversible}, savanna
	follower := h.follower
	h.mu.Unlock()
	if follower != nil {
		follower(tip{head, irreversible})
	}
}

// follow makes f the one that is told of new heads.
func (h *History) follow(f func(tip)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follower = f
}

// Stats are what a history has done since it was opened.
type Stats struct {
	Head                    uint32        // newest block that is recorded
	Traces, State, Finality shiplog.Stats // of the logs; zero if one is not kept
	Waiting                 int64         // memory of blocks that wait to be written, about, in bytes
}

// Stats returns what the history has done.
func (h *History) Stats() Stats {
	s := Stats{Head: h.at().head.Num, Waiting: h.recorder.Waiting()}
	if h.traces != nil {
		s.Traces = h.traces.Stats()
	}
	if h.state != nil {
		s.State = h.state.Stats()
	}
	if h.finality != nil {
		s.Finality = h.finality.Stats()
	}
	return s
}

// version is whose messages a client that connects now is to be sent: Spring's if the chain may need
// them, else Leap's, so that nothing changes for clients of other chains.
func (h *History) version() wire.Version {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.o.Spring || h.savanna {
		return wire.Spring
	}
	return wire.Leap
}

// at is where the history stands.
func (h *History) at() tip {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}
