package snapshot

import (
	"fmt"
	"slices"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// flushRows is how many rows are loaded between two writes of what the state holds
// back.
const flushRows = 1 << 14

// flushBytes is after how much of a snapshot that happens however few rows it is.
const flushBytes = 256 << 10

// rowsVersion returns the version of a snapshot's rows, which must be one that is
// known.
func rowsVersion(r *Reader) (uint32, error) {
	var v versionRow
	if err := one(r, versionSection, &v); err != nil {
		return 0, err
	}
	if v.version < MinVersion || v.version > SpringVersion {
		return 0, exception.New(exception.SnapshotValidation,
			"Unsupported version of chain snapshot: ${version}. Supported version must be between ${min} and "+
				"${max} inclusive.", "version", v.version, "min", MinVersion, "max", SpringVersion)
	}
	if v.version == refusedVersion {
		return 0, exception.New(exception.Snapshot, "v7 snapshots are not supported anymore in Spring 1.0.1 and above")
	}
	return v.version, nil
}

// Header returns where the state of a snapshot stands: the block that it was made after.
func Header(r *Reader) (consensus.Head, error) {
	version, err := rowsVersion(r)
	if err != nil {
		return consensus.Head{}, err
	}
	if version < SpringVersion {
		row := headerRow{new(consensus.HeaderState), version == 2}
		return consensus.Head{HeaderState: row.HeaderState}, one(r, headerSection, row)
	}
	var row headRow
	if err := one(r, headerSection, &row); err != nil {
		return consensus.Head{}, err
	}
	return row.Head, nil
}

// ChainID returns the id of the chain that a snapshot is of.
func ChainID(r *Reader) (types.Checksum256, error) {
	g, err := global(r)
	if err != nil {
		return types.Checksum256{}, err
	}
	return g.ChainID, nil
}

// Description is what a snapshot says of itself.
type Description struct {
	Version uint32 // of its rows
	Chain   types.Checksum256
	Head    consensus.Head // the block that it was made after
}

// Describe reads a snapshot's description, and none of its other rows.
func Describe(r *Reader) (d Description, err error) {
	if d.Version, err = rowsVersion(r); err != nil {
		return d, err
	}
	if d.Chain, err = ChainID(r); err != nil {
		return d, err
	}
	d.Head, err = Header(r)
	return d, err
}

// Protocol returns what a snapshot says of the chain's protocol: active features, and what
// contracts may import.
func Protocol(r *Reader) (*state.ProtocolState, error) {
	row := new(protocolRow)
	if err := one(r, protocolSection, row); err != nil {
		return nil, err
	}
	return &row.ProtocolState, nil
}

// global reads the global properties; version 2 has the chain's id only as the
// hash of its genesis state.
func global(r *Reader) (*state.GlobalProperty, error) {
	version, err := rowsVersion(r)
	if err != nil {
		return nil, err
	}
	row := &globalRow{version: version}
	if err := one(r, globalSection, row); err != nil {
		return nil, err
	}
	if version == 2 {
		var g types.Genesis
		if err := one(r, genesisSection, &g); err != nil {
			return nil, exception.Wrap(exception.Snapshot, err,
				"Snapshot indicates chain_snapshot_header version 2, but does not contain a genesis_state. It must "+
					"be corrupted.")
		}
		row.ChainID = g.ChainID()
	}
	return &row.GlobalProperty, nil
}

// readable is a row to be read.
type readable interface{ Read(*serial.Reader) }

// one reads a section of one row.
func one(r *Reader, name string, row readable) error {
	s, err := r.Section(name)
	if err != nil {
		return err
	}
	if s.Len() != 1 {
		return exception.New(exception.Snapshot,
			"Section ${name} of the binary snapshot has ${rows} rows instead of one", "name", name, "rows", s.Len())
	}
	if err := s.Next(row); err != nil {
		return err
	}
	return s.Close()
}

// Load fills an empty state from a snapshot of any version, and returns the header
// state of its block. Rows get new ids, from 0 in the order of the snapshot. The
// rows go straight to the store, outside any session; to name the revision, store
// the head and make a checkpoint is the caller's to do, and to start over if there
// is an error. Report is called now and then, at least every 256 KiB, unless it is nil; the
// store may be relieved in it. An error that it returns ends the loading.
func Load(r *Reader, s *state.State, report func(Progress) error) (none consensus.Head, err error) {
	if empty, err := s.Empty(); err != nil {
		return none, err
	} else if !empty {
		return none, exception.New(exception.Snapshot, "Snapshot can only be used to initialize an empty database.")
	}
	head, err := Header(r)
	if err != nil {
		return none, err
	}
	version, err := rowsVersion(r)
	if err != nil {
		return none, err
	}
	l := &loader{Reader: r, s: s, report: report, done: Progress{Size: r.Size()}}
	if l.report == nil {
		l.report = func(Progress) error { return nil }
	}
	if err := l.singletons(); err != nil {
		return none, err
	}
	contracts := []loaded{{contractSection, l.table}}
	if version >= SpringVersion {
		contracts = l.contractSections()
	}
	for _, c := range slices.Concat([]loaded{
		{accountSection, l.account},
		{metadataSection, l.metadata},
		{correctionSection, l.correction},
		{summarySection, l.summary},
		{transactionSection, l.transaction},
		{deferredSection, l.loadDeferred},
		{codeSection, l.code},
	}, contracts, []loaded{
		{permissionSection, l.permission},
		{linkSection, l.link},
		{limitsSection, l.limits},
		{usageSection, l.usage},
	}) {
		if err := l.section(c.name, c.row); err != nil {
			return none, err
		}
	}
	if err := l.checkTables(); err != nil {
		return none, err
	}
	return head, s.Flush()
}

// loaded is a section, and what loads its next row with those that belong to it.
type loaded struct {
	name string
	row  func(*Section) error
}

// loader puts rows into a state.
type loader struct {
	*Reader
	s      *state.State
	report func(Progress) error
	done   Progress
	nth    uint64 // number of the row in its section
	tables tables
}

func (l *loader) section(name string, row func(*Section) error) error {
	s, err := l.Section(name)
	if err != nil {
		return err
	}
	l.done.Section = name
	if err := l.progress(s); err != nil {
		return err
	}
	for l.nth = 0; s.More(); l.nth++ {
		at := s.Offset()
		if err := row(s); err != nil {
			return fmt.Errorf("load row at offset %d, of section %s: %w", at, name, err)
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	return l.s.Flush()
}

// next reads a row, and now and then writes and reports.
func (l *loader) next(s *Section, row readable) error {
	l.done.Rows++
	if l.done.Rows%flushRows == 0 || s.Offset()-l.done.Bytes >= flushBytes {
		if err := l.s.Flush(); err != nil {
			return err
		}
		if err := l.progress(s); err != nil {
			return err
		}
	}
	return s.Next(row)
}

func (l *loader) progress(s *Section) error {
	l.done.Bytes = s.Offset()
	return l.report(l.done)
}

// singletons loads the tables of one row.
func (l *loader) singletons() error {
	g, err := global(l.Reader)
	if err != nil {
		return err
	}
	var protocol protocolRow
	var dynamic dynamicRow
	var resourceState resourceStateRow
	var resourceConfig resourceConfigRow
	for _, c := range []struct {
		name string
		row  readable
	}{
		{protocolSection, &protocol}, {dynamicSection, &dynamic},
		{resourceStateSection, &resourceState}, {resourceConfigSection, &resourceConfig},
	} {
		if err := one(l.Reader, c.name, c.row); err != nil {
			return err
		}
	}
	return l.s.Initialise(state.Singletons{
		Global: *g, Protocol: protocol.ProtocolState, Dynamic: dynamic.DynamicGlobal,
		ResourceConfig: resourceConfig.ResourceConfig, ResourceState: resourceState.ResourceState,
	})
}

func (l *loader) account(s *Section) error {
	var row accountRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	if _, err := l.s.Accounts.Create(row.name, state.Account{Name: row.name, Created: row.created}); err != nil {
		return err
	}
	if len(row.abi) == 0 {
		return nil
	}
	return l.s.SetABI(row.name, row.abi)
}

func (l *loader) metadata(s *Section) error {
	var row metadataRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	_, err := l.s.Metadata.Create(row.Name, row.AccountMetadata)
	return err
}

func (l *loader) correction(s *Section) error {
	var row correctionRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	_, err := l.s.RAMCorrections.Create(row.Name, row.RAMCorrection)
	return err
}

func (l *loader) summary(s *Section) error {
	if s.Len() != summaries {
		return exception.New(exception.Snapshot, "${rows} block summaries instead of ${expected}",
			"rows", s.Len(), "expected", summaries)
	}
	var row summaryRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	return l.s.SetBlockSummary(uint16(l.nth), row.id)
}

func (l *loader) transaction(s *Section) error {
	var row transactionRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	added, err := l.s.RecordTransaction(row.TrxID, row.Expiration)
	if err == nil && !added {
		err = exception.New(exception.Snapshot, "transaction ${id} occurs twice", "id", row.TrxID)
	}
	return err
}

func (l *loader) loadDeferred(s *Section) error {
	row := deferredRow{new(state.Deferred)}
	if err := l.next(s, row); err != nil {
		return err
	}
	if twice, err := l.s.Deferred(state.DeferredKey{Sender: row.Sender, SenderID: row.SenderID}); err != nil {
		return err
	} else if twice != nil {
		return exception.New(exception.Snapshot, "generated transaction ${id} of ${sender} occurs twice",
			"id", row.SenderID, "sender", row.Sender)
	}
	if twice, err := l.s.DeferredByTrxID(row.TrxID); err != nil {
		return err
	} else if twice != nil {
		return exception.New(exception.Snapshot, "generated transaction ${id} occurs twice", "id", row.TrxID)
	}
	return l.s.CreateDeferred(row.Deferred)
}

func (l *loader) code(s *Section) error {
	var row codeRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	if _, err := l.s.Codes.Create(row.Key, row.Code); err != nil {
		return err
	}
	return l.s.SetCodeBytes(row.Key, row.bytes)
}

// permission checks what nodeos checks: the first one is reserved, and a parent
// comes before its children (Leap: authorization_manager.cpp).
func (l *loader) permission(s *Section) error {
	var row permissionRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	p := &row.Permission
	switch {
	case l.nth == 0:
		a := &p.Authority
		if p.Parent != 0 || p.Key != (state.PermissionKey{}) || p.LastUpdated != 0 || a.Threshold != 0 ||
			len(a.Keys)+len(a.Accounts)+len(a.Waits) > 0 {
			return exception.New(exception.Snapshot, "Unexpected content of reserved permission 0")
		}
	case p.Parent != 0:
		parent, err := l.s.Permissions.Get(state.PermissionKey{Owner: p.Key.Owner, Name: p.Parent})
		if err != nil {
			return err
		}
		if parent == nil {
			return exception.New(exception.Snapshot,
				"permission ${name} of ${owner} has a parent ${parent} that is not there",
				"name", p.Key.Name, "owner", p.Key.Owner, "parent", p.Parent)
		}
	}
	_, err := l.s.Permissions.Create(p.Key, *p)
	return err
}

func (l *loader) link(s *Section) error {
	var row linkRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	_, err := l.s.Links.Create(row.Key, row.PermissionLink)
	return err
}

func (l *loader) limits(s *Section) error {
	var row limitsRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	_, err := l.s.Limits.Create(row.Owner, row.ResourceLimits)
	return err
}

func (l *loader) usage(s *Section) error {
	var row usageRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	_, err := l.s.Usages.Create(row.Owner, row.ResourceUsage)
	return err
}

// table loads a contract's table with all of its rows.
func (l *loader) table(s *Section) error {
	var table tableRow
	if err := l.next(s, &table); err != nil {
		return err
	}
	key := table.Key
	if _, err := l.s.Tables.Create(key, table.ContractTable); err != nil {
		return err
	}
	total, err := l.values(s, key)
	if err != nil {
		return err
	}
	for k := range state.Kind(state.Kinds) {
		n, err := l.indexRows(s, key, k)
		if err != nil {
			return err
		}
		total += n
	}
	if total != uint64(table.Count) {
		return exception.New(exception.Snapshot,
			"table ${table} of ${code} in scope ${scope} has ${rows} rows where ${counted} are counted",
			"table", key.Table, "code", key.Code, "scope", key.Scope, "rows", total, "counted", table.Count)
	}
	return nil
}

// ascending makes sure that the rows of a table come in the order of their primary
// keys, and none twice.
func ascending(key state.TableKey, i countRow, last, primary uint64) error {
	if i > 0 && primary <= last {
		return exception.New(exception.Snapshot,
			"rows ${first} and ${second} of table ${table} of ${code} in scope ${scope} are in the wrong order",
			"first", last, "second", primary, "table", key.Table, "code", key.Code, "scope", key.Scope)
	}
	return nil
}

// values loads a number, and so many rows of a table.
func (l *loader) values(s *Section, key state.TableKey) (uint64, error) {
	var count countRow
	if err := l.next(s, &count); err != nil {
		return 0, err
	}
	var row valueRow
	for i := range count {
		last := row.primary
		if err := l.next(s, &row); err != nil {
			return 0, err
		}
		if err := ascending(key, i, last, row.primary); err != nil {
			return 0, err
		}
		if err := l.s.PutRow(state.RowKey{TableKey: key, Primary: row.primary}, row.payer, row.value); err != nil {
			return 0, err
		}
	}
	return uint64(count), nil
}

func (l *loader) indexRows(s *Section, key state.TableKey, kind state.Kind) (uint64, error) {
	var count countRow
	if err := l.next(s, &count); err != nil {
		return 0, err
	}
	row := indexRow{kind: kind}
	for i := range count {
		last := row.Primary
		if err := l.next(s, &row); err != nil {
			return 0, err
		}
		if err := ascending(key, i, last, row.Primary); err != nil {
			return 0, err
		}
		if err := l.s.PutIndexRow(kind, key, row.IndexRow); err != nil {
			return 0, err
		}
	}
	return uint64(count), nil
}
