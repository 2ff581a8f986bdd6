package wire

import (
	"slices"

	"tarn/antelope/serial"
	"tarn/antelope/state"
)

// table collects what is shown of one table.
type table struct {
	name  string
	count int
	rows  []byte
	row   []byte // memory of the row that is being encoded
}

func (t *table) add(present bool, row []byte) {
	t.count++
	t.rows = serial.AppendBytes(serial.AppendBool(t.rows, present), row)
	t.row = row
}

// Deltas encodes tables of rows, one after the other in nodeos' order (table_delta[]).
// The zero value is empty.
type Deltas struct {
	tables int
	body   []byte
	rows   []byte // memory of a table's rows
}

// Append appends the tables that have rows.
func (d *Deltas) Append(b []byte) []byte {
	return append(serial.AppendCount(b, d.tables), d.body...)
}

func (d *Deltas) begin(name string) *table { return &table{name: name, rows: d.rows[:0]} }

func (d *Deltas) end(t *table) {
	d.rows = t.rows
	if t.count == 0 {
		return
	}
	d.tables++
	d.body = serial.AppendString(version(d.body, 0), t.name)
	d.body = append(serial.AppendCount(d.body, t.count), t.rows...)
}

// AppendDeltas appends what a block changed, as nodeos shows it: per table the rows that
// changed, those that are gone with the values that they had, those that are new (Leap:
// create_deltas.cpp).
func AppendDeltas(b []byte, c *state.Changes) []byte {
	d := &Deltas{}
	appendChanged(d, "account", c.Accounts, nil, appendAccount)
	appendChanged(d, "account_metadata", c.Metadata, metadataDiffers, appendMetadata)
	changedKeyed(d, "code", c.Codes, func(b []byte, k state.CodeKey, v *[]byte) []byte { return appendCode(b, k, *v) })
	appendChanged(d, "contract_table", c.Tables, func(a, b *state.ContractTable) bool { return a.Payer != b.Payer },
		appendTable)
	changedKeyed(d, "contract_row", c.Rows, appendRow)
	for i, list := range c.Indices {
		kind := state.Kind(i)
		changedKeyed(d, "contract_"+kind.String(), list, func(b []byte, k state.RowKey, r *state.IndexRow) []byte {
			return appendIndexRow(b, kind, k.TableKey, r)
		})
	}
	appendChanged(d, "global_property", c.Global, nil, appendGlobal)
	appendChanged(d, "generated_transaction", c.Deferred, nil, appendDeferred)
	appendChanged(d, "protocol_state", c.Protocol,
		func(a, b *state.ProtocolState) bool { return !slices.Equal(a.Activated, b.Activated) }, appendProtocol)
	appendChanged(d, "permission", c.Permissions, nil, appendPermission)
	appendChanged(d, "permission_link", c.Links, nil, appendLink)
	appendChanged(d, "resource_limits", c.Limits, limitsDiffer, appendLimits)
	appendChanged(d, "resource_usage", c.Usages, nil, appendUsage)
	appendChanged(d, "resource_limits_state", c.ResourceState, resourceStateDiffers, appendResourceState)
	appendChanged(d, "resource_limits_config", c.ResourceConfig, nil, appendResourceConfig)
	return d.Append(b)
}

// appendChanged adds a table whose rows know their keys. A row that was there before and is
// there now is left out unless it differs; a nil differs leaves out none.
func appendChanged[K comparable, V any](
	d *Deltas, name string, list []state.Change[K, V], differs func(a, b *V) bool, encode func([]byte, *V) []byte,
) {
	t := d.begin(name)
	for i := range list {
		c := &list[i]
		switch {
		case c.New == nil:
			t.add(false, encode(t.row[:0], c.Old))
		case c.Old == nil || differs == nil || differs(c.Old, c.New):
			t.add(true, encode(t.row[:0], c.New))
		}
	}
	d.end(t)
}

// changedKeyed adds a table whose rows are known by their keys.
func changedKeyed[K comparable, V any](
	d *Deltas, name string, list []state.Change[K, V], encode func([]byte, K, *V) []byte,
) {
	t := d.begin(name)
	for i := range list {
		c := &list[i]
		v := c.New
		if v == nil {
			v = c.Old
		}
		t.add(c.New != nil, encode(t.row[:0], c.Key, v))
	}
	d.end(t)
}

func metadataDiffers(a, b *state.AccountMetadata) bool {
	return a.Name != b.Name || a.Privileged() != b.Privileged() || a.LastCodeUpdate != b.LastCodeUpdate ||
		a.VMType != b.VMType || a.VMVersion != b.VMVersion || a.CodeHash != b.CodeHash
}

func limitsDiffer(a, b *state.ResourceLimits) bool {
	return a.NetWeight != b.NetWeight || a.CPUWeight != b.CPUWeight || a.RAMBytes != b.RAMBytes
}

// resourceStateDiffers leaves out what is only of the pending block.
func resourceStateDiffers(a, b *state.ResourceState) bool {
	x, y := *a, *b
	x.PendingNet, x.PendingCPU, y.PendingNet, y.PendingCPU = 0, 0, 0, 0
	return x != y
}
