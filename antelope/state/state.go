// Package state holds a chain's state as typed tables over a store: accounts,
// permissions, resources, contract rows and the rest of nodeos' tables, with their
// ids, orders and undo. It owns the keys and the encoding of rows in the store, and
// the cache of decoded rows between the chain and the store.
//
// It knows no rules of the chain: it never bills RAM, checks an authority or counts
// a table's rows. It starts no goroutine.
//
// # Writing
//
// [State] is the one writer's, like the store below. The small, hot tables are
// [Rows]: decoded, cached, and written to the store when a block is finished.
// Contract rows go through to the store at once, because contracts walk them. All
// of it takes part in the sessions: block, transaction, action.
//
// # Reading
//
// [View] is one finished block's state for any number of readers.
//
// # Ids
//
// nodeos gives every row an id from its table's counter, and orders snapshots by it.
// Where that order can be seen, rows have an id here too. The rows of contracts
// need none.
package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store"
)

// State is the writer's state. One goroutine at a time may use it; readers take a
// View.
//
// It has many methods because it has some for each table, and those of sessions, which all
// tables and caches go through together.
type State struct {
	Accounts       *Rows[types.Name, Account]
	Metadata       *Rows[types.Name, AccountMetadata]
	RAMCorrections *Rows[types.Name, RAMCorrection]
	Codes          *Rows[CodeKey, Code]
	Tables         *Rows[TableKey, ContractTable]
	Permissions    *Rows[PermissionKey, Permission]
	Links          *Rows[LinkKey, PermissionLink]
	Limits         *Rows[types.Name, ResourceLimits]
	PendingLimits  *Rows[types.Name, ResourceLimits] // at most until the block's end
	Usages         *Rows[types.Name, ResourceUsage]

	Global         One[GlobalProperty]
	Protocol       One[ProtocolState] // of features
	Dynamic        One[DynamicGlobal] // the global action counter
	ResourceConfig One[ResourceConfig]
	ResourceState  One[ResourceState] // totals and averages

	counters *Rows[store.Table, uint64]

	contract // contract rows
	seen     // transactions that must not come again
	deferred // generated transactions
	store    store.Store
	t        *Layout
	scratch  scratch
	caches   []cache

	noted     noted
	recorders []recorder // all notes, those of Rows too, and seen

	level  uint64   // serial number of the innermost session, 0 without one
	levels []uint64 // of the open sessions
	last   uint64   // serial number given last

	generation int // rows that a cache holds before the oldest are dropped

	buf  []byte
	seed uint64 // of the caches' hashes; nothing that is stored depends on it
}

// none is the key of tables of one row.
type none struct{}

// ErrFormat says that a store holds something else than a chain's state, or one of
// a version that is not known.
var ErrFormat = errors.New("not a chain state of a known version")

// formatVersion is of the keys and rows in the store.
const formatVersion = 1

// Open takes over a store, which may be empty. The store stays the caller's to
// close.
func Open(st store.Store) (*State, error) {
	t, err := openTables(st)
	if err != nil {
		return nil, fmt.Errorf("open the chain state: %w", err)
	}
	return t.Open(st), nil
}

// Layout is how the state's tables lie in its store.
func (s *State) Layout() *Layout { return s.t }

// Open takes over a store whose tables lie so: the one that the layout was found in, or
// one above a view of it. The store stays the caller's to close.
func (t *Layout) Open(st store.Store) *State {
	s := &State{store: st, t: t, buf: make([]byte, 0, 4096), seed: rand.Uint64(), generation: DefaultCacheRows}
	s.contract = contract{src: st, t: t}
	s.Accounts = newRows(s, &t.accounts)
	s.Metadata = newRows(s, &t.metadata)
	s.RAMCorrections = newRows(s, &t.ramCorrections)
	s.Codes = newRows(s, &t.codes)
	s.Tables = newRows(s, &t.contractTables)
	s.Permissions = newRows(s, &t.permissions)
	s.Links = newRows(s, &t.links)
	s.Limits = newRows(s, &t.limits)
	s.PendingLimits = newRows(s, &t.pendingLimits)
	s.Usages = newRows(s, &t.usages)
	s.Global.rows = newRows(s, &t.global)
	s.Protocol.rows = newRows(s, &t.protocol)
	s.Dynamic.rows = newRows(s, &t.dynamic)
	s.ResourceConfig.rows = newRows(s, &t.resourceConfig)
	s.ResourceState.rows = newRows(s, &t.resourceState)
	s.counters = newRows(s, &t.counters)
	s.seen = seen{store: st, t: t, nextID: s.nextID}
	s.recorders = append(s.recorders, &s.seen)
	s.deferred = deferred{store: st, t: t, nextID: s.nextID, notes: &s.noted.deferred}
	return s
}

// CacheRows sets how many rows of each table, read or written last, are kept decoded: at least n,
// and at most twice as many beside those of one block. It is looked at between blocks.
func (s *State) CacheRows(n int) { s.generation = n }

func newRows[K comparable, V any](s *State, t *table[K, V]) *Rows[K, V] {
	r := &Rows[K, V]{table: t, s: s}
	s.caches = append(s.caches, r)
	return r
}

// Close gives the state's cursors back to the store, which stays open. Nothing is
// written: what no block has and no Flush wrote is lost.
func (s *State) Close() error { return s.contract.close() }

// Empty tells whether the state has never been initialised.
func (s *State) Empty() (bool, error) {
	g, err := s.Global.rows.Get(none{})
	return g == nil, err
}

// One is a table of one row, which is there from [State.Initialise] on.
type One[V any] struct{ rows *Rows[none, V] }

// Get returns the row, to be read. The error wraps [ErrFormat] if the state was never
// initialised.
func (o One[V]) Get() (*V, error) {
	v, err := o.rows.Get(none{})
	if err == nil && v == nil {
		err = fmt.Errorf("the chain state has no %s: %w", o.rows.name, ErrFormat)
	}
	return v, err
}

// Edit returns the row to be changed.
func (o One[V]) Edit() (*V, error) { return o.rows.Edit(none{}) }

// Singletons are the tables of one row together, for genesis and snapshots.
type Singletons struct {
	Global         GlobalProperty
	Protocol       ProtocolState
	Dynamic        DynamicGlobal
	ResourceConfig ResourceConfig
	ResourceState  ResourceState
}

// Initialise creates the tables of one row, which must not exist.
func (s *State) Initialise(v Singletons) error {
	_, err1 := s.Global.rows.Create(none{}, v.Global)
	_, err2 := s.Protocol.rows.Create(none{}, v.Protocol)
	_, err3 := s.Dynamic.rows.Create(none{}, v.Dynamic)
	_, err4 := s.ResourceConfig.rows.Create(none{}, v.ResourceConfig)
	_, err5 := s.ResourceState.rows.Create(none{}, v.ResourceState)
	return errors.Join(err1, err2, err3, err4, err5)
}

func (s *State) nextID(t store.Table) (uint64, error) {
	c, err := s.counters.Get(t)
	if err != nil {
		return 0, err
	}
	if c == nil {
		if _, err = s.counters.Create(t, 1); err != nil {
			return 0, err
		}
		return 0, nil
	}
	if c, err = s.counters.Edit(t); err != nil {
		return 0, err
	}
	*c++
	return *c - 1, nil
}

// Begin opens a session: the next block if none is open, else one inside the
// innermost. What was changed outside sessions is written first, since no undo may
// reach it.
func (s *State) Begin() error {
	if len(s.levels) == 0 {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	if err := s.store.Begin(); err != nil {
		return err
	}
	s.last++
	s.level = s.last
	s.levels = append(s.levels, s.level)
	for _, c := range s.caches {
		c.begin()
	}
	for _, r := range s.recorders {
		r.begin()
	}
	return nil
}

// Depth is the number of open sessions.
func (s *State) Depth() int { return len(s.levels) }

func (s *State) end() {
	s.levels = s.levels[:len(s.levels)-1]
	s.level = 0
	if n := len(s.levels); n > 0 {
		s.level = s.levels[n-1]
	}
}

// Squash makes the innermost session part of the one around it.
func (s *State) Squash() error {
	if err := s.store.Squash(); err != nil {
		return err
	}
	s.end()
	for _, c := range s.caches {
		c.squash()
	}
	for _, r := range s.recorders {
		r.squash()
	}
	return nil
}

// Undo takes the innermost session back; with none open, the head block.
func (s *State) Undo() error {
	if err := s.store.Undo(); err != nil {
		return err
	}
	s.contract.resetCursors()
	if len(s.levels) == 0 {
		s.forget()
		return nil
	}
	s.end()
	for _, c := range s.caches {
		c.undo()
	}
	for _, r := range s.recorders {
		r.undo()
	}
	if len(s.levels) == 0 {
		for _, c := range s.caches {
			c.settle()
		}
	}
	return nil
}

// Refresh forgets all rows that are kept decoded: the store has others. No session is open.
func (s *State) Refresh() {
	s.contract.resetCursors()
	s.forget()
}

func (s *State) forget() {
	for _, c := range s.caches {
		c.forget()
	}
	for _, r := range s.recorders {
		r.forget()
	}
}

// Flush writes what is held back to the store. Push does it by itself; whoever
// fills a state outside sessions calls it now and then, and at the end.
func (s *State) Flush() error {
	for _, c := range s.caches {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if err := s.seen.flush(); err != nil {
		return err
	}
	if len(s.levels) == 0 {
		for _, c := range s.caches {
			c.age()
		}
	}
	return nil
}

// Push finishes the block: the store's head is the next revision. On an error the
// block is still open, and must be undone.
func (s *State) Push() error {
	if err := s.Flush(); err != nil {
		return err
	}
	if err := s.store.Push(); err != nil {
		return err
	}
	s.end()
	for _, c := range s.caches {
		c.squash()
		c.age()
	}
	for _, r := range s.recorders {
		r.squash()
	}
	return nil
}

// Replace makes the next revision of rows that another state had, which change puts into the store.
// check gets what SetHead stored there last; its error, as that of change, leaves the state as it was. No session is
// open.
func (s *State) Replace(change func(store.Store) error, check func(head []byte) error) error {
	if err := errors.Join(s.Flush(), s.store.Begin()); err != nil {
		return err
	}
	err := change(s.store)
	if err == nil {
		var head []byte
		if head, err = s.Head(); err == nil {
			err = check(head)
		}
	}
	if err == nil {
		err = s.store.Push()
	}
	if err != nil {
		err = errors.Join(err, s.store.Undo())
	}
	s.Refresh()
	return err
}

// SetHead stores what the chain needs to go on from this block (its header state),
// as part of the block.
func (s *State) SetHead(b []byte) error { return s.store.Put(s.t.about, keyHead, b) }

// Head returns what SetHead stored last, nil if nothing.
func (s *State) Head() ([]byte, error) { return optional(s.store.Get(s.t.about, keyHead)) }

// BlockSummary returns the id of the newest block with these low bits; zero if
// there was none.
func (s *State) BlockSummary(num uint16) (types.Checksum256, error) {
	return s.t.blockSummary(s.store, num)
}

// SetBlockSummary stores the id of a block at its number's low bits.
func (s *State) SetBlockSummary(num uint16, id types.Checksum256) error {
	var k [2]byte
	binary.BigEndian.PutUint16(k[:], num)
	return s.store.Put(s.t.summaries, k[:], id[:])
}

// ABI returns an account's ABI as it was set, nil if there is none. It is valid
// until the writer's next change.
func (s *State) ABI(n types.Name) ([]byte, error) { return s.t.abi(s.store, n) }

// SetABI sets an account's ABI; an empty one removes it.
func (s *State) SetABI(n types.Name, abi []byte) error {
	if err := s.Accounts.note(n); err != nil {
		return err
	}
	return s.setBlob(s.t.abis, nameKey(nil, n), abi)
}

// CodeBytes returns a contract's code, nil if there is none. It is valid until the
// writer's next change.
func (s *State) CodeBytes(k CodeKey) ([]byte, error) { return s.t.code(s.store, k) }

// SetCodeBytes stores a contract's code; an empty one removes it.
func (s *State) SetCodeBytes(k CodeKey, code []byte) error {
	if err := s.noteCode(k, len(code) > 0); err != nil {
		return err
	}
	return s.setBlob(s.t.codeBytes, codeKey(nil, k), code)
}

func (s *State) setBlob(t store.Table, key, b []byte) error {
	if len(b) > 0 {
		return s.store.Put(t, key, b)
	}
	if err := s.store.Delete(t, key); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// optional turns a missing row into nil.
func optional(v []byte, err error) ([]byte, error) {
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return v, err
}

var keyHead, keyFormat = []byte("head"), []byte("format")

// checkFormat reads the version that a state was made with, and writes it into an
// empty one.
func checkFormat(st store.Store, about store.Table) error {
	v, err := optional(st.Get(about, keyFormat))
	switch {
	case err != nil:
		return err
	case v == nil:
		return st.Put(about, keyFormat, serial.AppendUint32(nil, formatVersion))
	case len(v) != 4 || binary.LittleEndian.Uint32(v) != formatVersion:
		return fmt.Errorf("version % x, want %d: %w", v, formatVersion, ErrFormat)
	}
	return nil
}
