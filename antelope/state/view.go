package state

import (
	"bytes"
	"errors"
	"fmt"

	"tarn/antelope/types"
	"tarn/store"
)

// View is the state that was published: of a finished block, and, where the chain
// published that, with what a pending one has added. It never changes. One goroutine at a
// time may use it; take as many as there are readers.
type View struct {
	Accounts       Table[types.Name, Account]
	Metadata       Table[types.Name, AccountMetadata]
	RAMCorrections Table[types.Name, RAMCorrection]
	Codes          Table[CodeKey, Code]
	Tables         Table[TableKey, ContractTable]
	Permissions    Table[PermissionKey, Permission]
	Links          Table[LinkKey, PermissionLink]
	Limits         Table[types.Name, ResourceLimits]
	PendingLimits  Table[types.Name, ResourceLimits] // of a pending block: they hold instead of Limits
	Usages         Table[types.Name, ResourceUsage]

	contract
	view    store.View
	scratch scratch
}

// Table reads one table of a View.
type Table[K comparable, V any] struct {
	t       *table[K, V]
	src     store.Reader
	scratch *scratch // the View's
}

// View shows what was published last to a reader, on any goroutine. Close it when
// done.
func (s *State) View() (*View, error) {
	v, err := s.store.View()
	if err != nil {
		return nil, err
	}
	return s.t.view(v), nil
}

func (t *Layout) view(v store.View) *View {
	x := &View{contract: contract{src: v, t: t}, view: v}
	s := &x.scratch
	x.Accounts = Table[types.Name, Account]{&t.accounts, v, s}
	x.Metadata = Table[types.Name, AccountMetadata]{&t.metadata, v, s}
	x.RAMCorrections = Table[types.Name, RAMCorrection]{&t.ramCorrections, v, s}
	x.Codes = Table[CodeKey, Code]{&t.codes, v, s}
	x.Tables = Table[TableKey, ContractTable]{&t.contractTables, v, s}
	x.Permissions = Table[PermissionKey, Permission]{&t.permissions, v, s}
	x.Links = Table[LinkKey, PermissionLink]{&t.links, v, s}
	x.Limits = Table[types.Name, ResourceLimits]{&t.limits, v, s}
	x.PendingLimits = Table[types.Name, ResourceLimits]{&t.pendingLimits, v, s}
	x.Usages = Table[types.Name, ResourceUsage]{&t.usages, v, s}
	return x
}

// Revision is the finished block's number.
func (v *View) Revision() uint64 { return v.view.Revision() }

// Close gives the view back.
func (v *View) Close() error { return errors.Join(v.contract.close(), v.view.Close()) }

// Get returns the row at k, nil if there is none.
func (t Table[K, V]) Get(k K) (*V, error) {
	v := new(V)
	found, err := t.t.get(t.src, t.scratch, k, v)
	if err != nil || !found {
		return nil, err
	}
	return v, nil
}

// EachByID calls f with every row in the order of ids. The row is f's only until
// it returns.
func (t Table[K, V]) EachByID(f func(*V) error) error {
	c, err := t.src.Cursor(t.t.ids)
	if err != nil {
		return fmt.Errorf("walk %s: %w", t.t.name, err)
	}
	defer c.Close()
	for ok := c.First(); ok; ok = c.Next() {
		var v V
		value, err := t.src.Get(t.t.rows, c.Value())
		if err != nil {
			return fmt.Errorf("walk %s: %w", t.t.name, err)
		}
		if err := t.t.unpack(value, t.scratch, &v); err != nil {
			return err
		}
		if err := f(&v); err != nil {
			return err
		}
	}
	return c.Err()
}

// EachRow calls f with all rows of a contract's table in the order of their keys. The
// value is f's only until it returns. f must not read rows of the view.
func (v *View) EachRow(t TableKey, f func(primary uint64, payer types.Name, value []byte) error) error {
	return v.each(0, v.t.contractRows, t, func(w *walker) error {
		payer, value, err := parseRow(w.c.Value())
		if err != nil {
			return errors.Join(err, w.c.Err())
		}
		return f(parseRowKey(w.c.Key()).Primary, payer, value)
	})
}

// EachIndexRow calls f with all rows of an index of a contract's table in the order of
// their primary keys. f must not read rows of the view.
func (v *View) EachIndexRow(kind Kind, t TableKey, f func(IndexRow) error) error {
	return v.each(byPrimarySlot(kind), v.t.secondary[kind].byPrimary, t, func(w *walker) error {
		r, _, err := indexAt(w, true, nil, kind, t)
		if err != nil {
			return err
		}
		return f(r)
	})
}

// each calls f while the walker of a slot stands on a row of a contract's table.
func (v *View) each(slot int, in store.Table, t TableKey, f func(*walker) error) error {
	w, err := v.walker(slot, in)
	if err != nil {
		return err
	}
	var buf [rowKeyLen]byte
	prefix := tableKey(buf[:0], t)
	for w.on = w.c.Seek(prefix); w.on && bytes.HasPrefix(w.c.Key(), prefix); w.on = w.c.Next() {
		if err := f(w); err != nil {
			return err
		}
	}
	return w.c.Err()
}

// Scan calls f with the rows from key from on, in the order of keys, until f
// returns false.
func (t Table[K, V]) Scan(from K, f func(*V) (bool, error)) error {
	c, err := t.src.Cursor(t.t.rows)
	if err != nil {
		return fmt.Errorf("scan %s: %w", t.t.name, err)
	}
	defer c.Close()
	for ok := c.Seek(t.t.key(nil, from)); ok; ok = c.Next() {
		var v V
		if err := t.t.unpack(c.Value(), t.scratch, &v); err != nil {
			return err
		}
		if more, err := f(&v); err != nil || !more {
			return err
		}
	}
	return c.Err()
}

// Singletons returns the tables of one row.
func (v *View) Singletons() (s Singletons, err error) {
	err = errors.Join(
		oneOf(v.t.global, v, &s.Global), oneOf(v.t.protocol, v, &s.Protocol), oneOf(v.t.dynamic, v, &s.Dynamic),
		oneOf(v.t.resourceConfig, v, &s.ResourceConfig), oneOf(v.t.resourceState, v, &s.ResourceState))
	return s, err
}

func oneOf[V any](t table[none, V], in *View, v *V) error {
	found, err := t.get(in.src, &in.scratch, none{}, v)
	if err == nil && !found {
		err = fmt.Errorf("the chain state has no %s: %w", t.name, ErrFormat)
	}
	return err
}

// Head returns the chain's own data about the block, as State.SetHead stored it.
func (v *View) Head() ([]byte, error) { return optional(v.src.Get(v.t.about, keyHead)) }

// ABI returns an account's ABI, nil if there is none.
func (v *View) ABI(n types.Name) ([]byte, error) { return v.t.abi(v.src, n) }

// CodeBytes returns a contract's code, nil if there is none.
func (v *View) CodeBytes(k CodeKey) ([]byte, error) { return v.t.code(v.src, k) }

// BlockSummary returns the id of the newest block with these low bits.
func (v *View) BlockSummary(num uint16) (types.Checksum256, error) {
	return v.t.blockSummary(v.src, num)
}

// TransactionsByID returns the transactions that have not been forgotten, in the
// order of ids: all at once, 48 bytes each.
func (v *View) TransactionsByID() ([]Transaction, error) { return v.t.transactionsByID(v.src) }

// DeferredByID calls f with the generated transactions in the order of ids.
func (v *View) DeferredByID(f func(*Deferred) error) error {
	return v.t.eachDeferred(v.src, v.t.deferred.ids, nil, func(d *Deferred) (bool, error) { return true, f(d) })
}

// Deferred returns a sender's generated transaction, nil if there is none.
func (v *View) Deferred(k DeferredKey) (*Deferred, error) {
	return v.t.deferredAt(v.src, deferredKey(nil, k))
}

// DeferredByDelay calls f with the generated transactions by the time from which
// they may run, and by id, until f returns false.
func (v *View) DeferredByDelay(f func(*Deferred) (bool, error)) error {
	return v.t.eachDeferred(v.src, v.t.deferred.byDelay, nil, f)
}
