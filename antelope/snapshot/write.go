package snapshot

import (
	"fmt"
	"io"
	"slices"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Write writes a snapshot of the state after the block of head, from where w stands.
// It reads nothing but the view, so blocks may be applied meanwhile. Transactions that
// have expired by the time of the block are left out, as nodeos forgets them before it
// writes. Syncing the file is the caller's to do.
func Write(w io.WriteSeeker, view *state.View, head consensus.Head, o Options) error {
	sink, err := NewWriter(w)
	if err != nil {
		return err
	}
	return Export(sink, view, head, o)
}

// Hash returns the integrity hash of the state after the block of head, which depends on the
// version of the rows.
func Hash(view *state.View, head consensus.Head, o Options) (types.Checksum256, error) {
	h := NewHasher()
	if err := Export(h, view, head, o); err != nil {
		return types.Checksum256{}, err
	}
	return h.Sum(), nil
}

// Export is Write for any form of output.
func Export(sink Sink, view *state.View, head consensus.Head, o Options) error {
	if err := o.complete(head); err != nil {
		return err
	}
	e := &exporter{Sink: sink, view: view, head: head, o: o}
	single, err := view.Singletons()
	if err != nil {
		return err
	}
	tables, contracts := []written(nil), []written{{contractSection, e.contracts}}
	if o.Version == SpringVersion {
		tables, contracts = []written{{tableSection, e.tables}}, e.contractSections()
	}
	for _, s := range slices.Concat([]written{
		{versionSection, func() error { return e.Row(&versionRow{o.Version}) }},
		{headerSection, e.header},
		{accountSection, e.accounts},
		{metadataSection, e.metadata},
		{correctionSection, e.corrections},
		{globalSection, func() error { return e.Row(&globalRow{single.Global, o.Version}) }},
		{protocolSection, func() error { return e.Row(&protocolRow{single.Protocol}) }},
		{dynamicSection, func() error { return e.Row(&dynamicRow{single.Dynamic}) }},
		{summarySection, e.summaries},
		{transactionSection, e.transactions},
		{deferredSection, e.writeDeferred},
	}, tables, []written{
		{codeSection, e.codes},
	}, contracts, []written{
		{permissionSection, e.permissions},
		{linkSection, e.links},
		{limitsSection, e.limits},
		{usageSection, e.usages},
		{resourceStateSection, func() error { return e.Row(&resourceStateRow{single.ResourceState}) }},
		{resourceConfigSection, func() error { return e.Row(&resourceConfigRow{single.ResourceConfig}) }},
	}) {
		if err := e.section(s.name, s.rows); err != nil {
			return fmt.Errorf("section %s of the snapshot: %w", s.name, err)
		}
	}
	return e.Finish()
}

// written is a section, and what writes its rows.
type written struct {
	name string
	rows func() error
}

// exporter writes the rows of a view.
type exporter struct {
	Sink
	view *state.View
	head consensus.Head
	o    Options
	done Progress
}

// header writes where the state stands.
func (e *exporter) header() error {
	if e.o.Version == SpringVersion {
		return e.Row(&headRow{e.head})
	}
	return e.Row(headerRow{HeaderState: e.head.HeaderState})
}

func (e *exporter) section(name string, rows func() error) error {
	e.done.Section = name
	if err := e.progress(); err != nil {
		return err
	}
	if err := e.Begin(name); err != nil {
		return err
	}
	if err := rows(); err != nil {
		return err
	}
	return e.End()
}

func (e *exporter) progress() error {
	if w, ok := e.Sink.(*Writer); ok {
		e.done.Bytes = w.pos
	}
	return e.o.Report(e.done)
}

// Row passes a row on and counts it.
func (e *exporter) Row(r Row) error {
	if e.done.Rows++; e.done.Rows%progressRows == 0 {
		if err := e.progress(); err != nil {
			return err
		}
	}
	return e.Sink.Row(r)
}

func (e *exporter) accounts() error {
	var row accountRow
	return e.view.Accounts.EachByID(func(a *state.Account) (err error) {
		row.name, row.created = a.Name, a.Created
		if row.abi, err = e.view.ABI(a.Name); err != nil {
			return err
		}
		return e.Row(&row)
	})
}

func (e *exporter) metadata() error {
	var row metadataRow
	return e.view.Metadata.EachByID(func(m *state.AccountMetadata) error {
		row.AccountMetadata = *m
		return e.Row(&row)
	})
}

func (e *exporter) corrections() error {
	var row correctionRow
	return e.view.RAMCorrections.EachByID(func(c *state.RAMCorrection) error {
		row.RAMCorrection = *c
		return e.Row(&row)
	})
}

func (e *exporter) summaries() error {
	var row summaryRow
	for num := range summaries {
		var err error
		if row.id, err = e.view.BlockSummary(uint16(num)); err != nil {
			return err
		}
		if err := e.Row(&row); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) transactions() error {
	all, err := e.view.TransactionsByID()
	if err != nil {
		return err
	}
	now := e.head.Header.Timestamp.TimePoint()
	var row transactionRow
	for _, t := range all {
		if now > t.Expiration.TimePoint() {
			continue
		}
		row.Transaction = t
		if err := e.Row(&row); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) writeDeferred() error {
	return e.view.DeferredByID(func(d *state.Deferred) error { return e.Row(deferredRow{d}) })
}

func (e *exporter) codes() error {
	var row codeRow
	return e.view.Codes.EachByID(func(c *state.Code) (err error) {
		row.Code = *c
		if row.bytes, err = e.view.CodeBytes(c.Key); err != nil {
			return err
		}
		return e.Row(&row)
	})
}

// permissions writes the reserved permission with the time of use of the next one:
// in nodeos the reserved one names, for want of its own, the first usage object
// that there is, and the first permission to get one is the next (Leap:
// authorization_manager.cpp).
func (e *exporter) permissions() error {
	var row, reserved permissionRow
	waiting := false
	err := e.view.Permissions.EachByID(func(p *state.Permission) error {
		if p.ID == 0 {
			reserved.Permission, waiting = *p, true
			return nil
		}
		if waiting {
			waiting = false
			reserved.LastUsed = p.LastUsed
			if err := e.Row(&reserved); err != nil {
				return err
			}
		}
		row.Permission = *p
		return e.Row(&row)
	})
	if err == nil && waiting {
		err = e.Row(&reserved)
	}
	return err
}

func (e *exporter) links() error {
	var row linkRow
	return e.view.Links.EachByID(func(l *state.PermissionLink) error {
		row.PermissionLink = *l
		return e.Row(&row)
	})
}

func (e *exporter) limits() error {
	var row limitsRow
	return e.view.Limits.EachByID(func(l *state.ResourceLimits) error {
		row.ResourceLimits = *l
		return e.Row(&row)
	})
}

func (e *exporter) usages() error {
	var row usageRow
	return e.view.Usages.EachByID(func(u *state.ResourceUsage) error {
		row.ResourceUsage = *u
		return e.Row(&row)
	})
}

func (e *exporter) contracts() error {
	var row tableRow
	return e.view.Tables.EachByID(func(t *state.ContractTable) error {
		row.ContractTable = *t
		if err := e.Row(&row); err != nil {
			return err
		}
		counts, err := e.count(t)
		if err != nil {
			return err
		}
		if err := e.values(t, counts[0]); err != nil {
			return err
		}
		for k := range state.Kind(state.Kinds) {
			if err := e.indexRows(t, k, counts[1+k]); err != nil {
				return err
			}
		}
		return nil
	})
}

// tableCounts is how many rows proper a table has, and of each kind of secondary index.
type tableCounts [1 + state.Kinds]countRow

// count returns how many rows of each kind a table has. The table knows the sum, so
// that only the rows of secondary indices, which most tables have none of, need to
// be counted.
func (e *exporter) count(t *state.ContractTable) (counts tableCounts, err error) {
	counts[0] = countRow(t.Count)
	for k := range state.Kind(state.Kinds) {
		if counts[1+k], err = e.countIndex(t, k); err != nil {
			return counts, err
		}
		counts[0] -= counts[1+k]
	}
	return counts, nil
}

// countIndex returns how many rows of a kind of secondary index a table has.
func (e *exporter) countIndex(t *state.ContractTable, k state.Kind) (n countRow, err error) {
	err = e.view.EachIndexRow(k, t.Key, func(state.IndexRow) error {
		n++
		return nil
	})
	return n, err
}

// wrongCount says that a table has not as many rows as it counts.
func wrongCount(t *state.ContractTable, want, got countRow) error {
	return exception.New(exception.Snapshot,
		"table ${table} of ${code} in scope ${scope} has ${rows} rows where ${counted} are counted",
		"table", t.Key.Table, "code", t.Key.Code, "scope", t.Key.Scope, "rows", got, "counted", want)
}

func (e *exporter) values(t *state.ContractTable, count countRow) error {
	if err := e.Row(&count); err != nil {
		return err
	}
	var row valueRow
	var got countRow
	err := e.view.EachRow(t.Key, func(primary uint64, payer types.Name, value []byte) error {
		row.primary, row.payer, row.value = primary, payer, value
		got++
		return e.Row(&row)
	})
	if err == nil && got != count {
		err = wrongCount(t, count, got)
	}
	return err
}

func (e *exporter) indexRows(t *state.ContractTable, kind state.Kind, count countRow) error {
	if err := e.Row(&count); err != nil || count == 0 {
		return err
	}
	out := indexRow{kind: kind}
	var got countRow
	err := e.view.EachIndexRow(kind, t.Key, func(r state.IndexRow) error {
		out.IndexRow = r
		got++
		return e.Row(&out)
	})
	if err == nil && got != count {
		err = wrongCount(t, count, got)
	}
	return err
}
