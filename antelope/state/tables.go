package state

import (
	"encoding/binary"
	"fmt"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store"
)

// Layout is the handles of a state's tables in its store, with their codecs. It never
// changes: whoever knows it opens the states of views without looking names up.
type Layout struct {
	accounts       table[types.Name, Account]
	metadata       table[types.Name, AccountMetadata]
	ramCorrections table[types.Name, RAMCorrection]
	codes          table[CodeKey, Code]
	contractTables table[TableKey, ContractTable]
	permissions    table[PermissionKey, Permission]
	links          table[LinkKey, PermissionLink]
	limits         table[types.Name, ResourceLimits]
	pendingLimits  table[types.Name, ResourceLimits]
	usages         table[types.Name, ResourceUsage]
	global         table[none, GlobalProperty]
	protocol       table[none, ProtocolState]
	dynamic        table[none, DynamicGlobal]
	resourceConfig table[none, ResourceConfig]
	resourceState  table[none, ResourceState]
	counters       table[store.Table, uint64]

	about        store.Table // format, head
	summaries    store.Table // low 16 bits of a block's number -> id
	abis         store.Table // account -> ABI
	codeBytes    store.Table // CodeKey -> code
	contractRows store.Table // table, primary key -> payer, value
	secondary    [Kinds]secondaryTables
	transactions store.Table // expiration, id -> transaction id
	deferred     deferredTables
}

// finder finds or makes tables, and remembers the first error.
type finder struct {
	st  store.Store
	err error
}

func (f *finder) table(name string) store.Table {
	if f.err != nil {
		return 0
	}
	t, err := f.st.Table(name)
	if err != nil {
		t, err = f.st.CreateTable(name)
	}
	if err != nil {
		f.err = fmt.Errorf("table %s: %w", name, err)
	}
	return t
}

func openTable[K comparable, V any](f *finder, c codec[K, V]) table[K, V] {
	t := table[K, V]{codec: c, rows: f.table(c.name)}
	if c.id != nil {
		t.ids = f.table(c.name + ".id")
	}
	return t
}

func openTables(st store.Store) (*Layout, error) {
	f := &finder{st: st}
	t := &Layout{
		accounts:       openTable(f, accountCodec),
		metadata:       openTable(f, metadataCodec),
		ramCorrections: openTable(f, ramCorrectionCodec),
		codes:          openTable(f, codeCodec),
		contractTables: openTable(f, contractTableCodec),
		permissions:    openTable(f, permissionCodec),
		links:          openTable(f, linkCodec),
		limits:         openTable(f, limitsCodec("resource_limits")),
		pendingLimits:  openTable(f, limitsCodec("resource_limits.pending")),
		usages:         openTable(f, usageCodec),
		global:         openTable(f, globalCodec),
		protocol:       openTable(f, protocolCodec),
		dynamic:        openTable(f, dynamicCodec),
		resourceConfig: openTable(f, resourceConfigCodec),
		resourceState:  openTable(f, resourceStateCodec),
		counters:       openTable(f, counterCodec),

		about:        f.table("about"),
		summaries:    f.table("block_summary"),
		abis:         f.table("account.abi"),
		codeBytes:    f.table("code.bytes"),
		contractRows: f.table("contract_row"),
		transactions: f.table("transaction"),
		deferred: deferredTables{
			rows:       f.table("generated_transaction"),
			ids:        f.table("generated_transaction.id"),
			byTrxID:    f.table("generated_transaction.trx_id"),
			byDelay:    f.table("generated_transaction.delay"),
			byDeadline: f.table("generated_transaction.expiration"),
		},
	}
	for k := range t.secondary {
		name := "contract_" + Kind(k).String()
		t.secondary[k] = secondaryTables{byPrimary: f.table(name), bySecondary: f.table(name + ".secondary")}
	}
	if f.err != nil {
		return nil, f.err
	}
	return t, checkFormat(st, t.about)
}

func (t *Layout) abi(src store.Reader, n types.Name) ([]byte, error) {
	var k [8]byte
	return optional(src.Get(t.abis, nameKey(k[:0], n)))
}

func (t *Layout) code(src store.Reader, k CodeKey) ([]byte, error) {
	return optional(src.Get(t.codeBytes, codeKey(nil, k)))
}

func (t *Layout) blockSummary(src store.Reader, num uint16) (id types.Checksum256, err error) {
	var k [2]byte
	binary.BigEndian.PutUint16(k[:], num)
	v, err := optional(src.Get(t.summaries, k[:]))
	if err == nil && v != nil && copy(id[:], v) != len(id) {
		err = fmt.Errorf("block summary %d has %d bytes: %w", num, len(v), store.ErrCorrupt)
	}
	return id, err
}

// Keys. Integers are big-endian, so that rows sort as nodeos' indices do.

func nameKey(b []byte, n types.Name) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

func parseName(b []byte) types.Name { return types.Name(binary.BigEndian.Uint64(b)) }

func idKey(id uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 0, 8), id) }

func codeKey(b []byte, k CodeKey) []byte {
	return append(append(b, k.Hash[:]...), k.VMType, k.VMVersion)
}

func parseCodeKey(b []byte) (k CodeKey) {
	copy(k.Hash[:], b)
	k.VMType, k.VMVersion = b[32], b[33]
	return k
}

func tableKey(b []byte, k TableKey) []byte {
	return nameKey(nameKey(nameKey(b, k.Code), k.Scope), k.Table)
}

func parseTableKey(b []byte) TableKey {
	return TableKey{parseName(b), parseName(b[8:]), parseName(b[16:])}
}

func permissionKey(b []byte, k PermissionKey) []byte { return nameKey(nameKey(b, k.Owner), k.Name) }

func parsePermissionKey(b []byte) PermissionKey {
	return PermissionKey{parseName(b), parseName(b[8:])}
}

func linkKey(b []byte, k LinkKey) []byte {
	return nameKey(nameKey(nameKey(b, k.Account), k.Code), k.Action)
}

func parseLinkKey(b []byte) LinkKey {
	return LinkKey{parseName(b), parseName(b[8:]), parseName(b[16:])}
}

// Hashes of keys, for the cache only: nothing that is stored depends on them.

func hashName(seed uint64, n types.Name) uint64 { return mix(seed ^ uint64(n)) }

func hashCode(seed uint64, k CodeKey) uint64 {
	return mix(seed ^ binary.LittleEndian.Uint64(k.Hash[:]))
}

func hashTable(seed uint64, k TableKey) uint64 {
	return mix(mix(mix(seed^uint64(k.Code))^uint64(k.Scope)) ^ uint64(k.Table))
}

func hashPermission(seed uint64, k PermissionKey) uint64 {
	return mix(mix(seed^uint64(k.Owner)) ^ uint64(k.Name))
}

func hashLink(seed uint64, k LinkKey) uint64 {
	return mix(mix(mix(seed^uint64(k.Account))^uint64(k.Code)) ^ uint64(k.Action))
}

func hashOnly(uint64, none) uint64 { return 0 }

// onlyKey is the key of the one row of a table.
func onlyKey(b []byte, _ none) []byte { return append(b, 0) }

func parseOnly([]byte) none { return none{} }

func singleton[V any](name string, encode func([]byte, *V) []byte, decode func(*serial.Reader, *V)) codec[none, V] {
	return codec[none, V]{name: name, key: onlyKey, parse: parseOnly, hash: hashOnly, encode: encode, decode: decode}
}

var counterCodec = codec[store.Table, uint64]{
	name: "counter",
	key: func(b []byte, t store.Table) []byte {
		return binary.BigEndian.AppendUint16(b, uint16(t))
	},
	parse:  func(b []byte) store.Table { return store.Table(binary.BigEndian.Uint16(b)) },
	hash:   func(_ uint64, t store.Table) uint64 { return uint64(t) },
	encode: func(b []byte, v *uint64) []byte { return serial.AppendUint64(b, *v) },
	decode: func(r *serial.Reader, v *uint64) { *v = r.Uint64() },
}
