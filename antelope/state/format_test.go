package state_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"tarn/antelope/state"
	"tarn/antelope/types"
)

// The bytes of docs/formats/antelope-state.md.
func TestRowsLookAsTheirFormatSays(t *testing.T) {
	d := databases[0].open(t)
	s := d.state()
	every(d, s)
	tk := state.TableKey{Code: 1, Scope: 2, Table: 3}
	d.must(s.PutRow(state.RowKey{TableKey: tk, Primary: 4}, 5, []byte("six")))
	d.must(s.PutIndexRow(state.IndexDouble, tk,
		state.IndexRow{Primary: 4, Payer: 5, Secondary: state.SecondaryKey{Words: [4]uint64{1 << 63}}}))
	d.must(s.PutIndexRow(state.Index256, tk,
		state.IndexRow{Primary: 4, Payer: 5, Secondary: state.SecondaryKey{Words: [4]uint64{1, 2, 3, 4}}}))
	d.must(s.SetBlockSummary(0x0102, types.Checksum256{3}))
	d.must(s.SetABI(1, []byte{2}))
	d.must(s.SetCodeBytes(state.CodeKey{VMType: 1, VMVersion: 2}, []byte{3}))
	d.must(s.SetHead([]byte{7}))
	_, err := s.RecordTransaction(types.Checksum256{9}, 0x01020304)
	d.must(err)
	d.must(s.CreateDeferred(&state.Deferred{TrxID: types.Checksum256{1}, Sender: 2,
		SenderID: types.Uint128{Lo: 3, Hi: 4}, Payer: 5,
		DelayUntil: 6, Expiration: 7, Published: 8, Packed: []byte{9}}))
	d.must(s.Flush())

	be := func(v ...byte) (text string) { // 64-bit numbers of a key
		for _, b := range v {
			text += "00000000000000" + hex.EncodeToString([]byte{b})
		}
		return text
	}
	le := func(v ...byte) (text string) { // 64-bit numbers of a value
		for _, b := range v {
			text += hex.EncodeToString([]byte{b}) + "00000000000000"
		}
		return text
	}
	hash := func(b byte) string { return hex.EncodeToString([]byte{b}) + strings.Repeat("00", 31) }
	u32 := func(b byte) string { return hex.EncodeToString([]byte{b}) + "000000" }
	usage := func(a, b, c byte) string { return u32(a) + le(b, c) }
	generated := be(2, 4, 3)
	for _, row := range []struct{ table, key, value string }{
		{"about", hex.EncodeToString([]byte("format")), "01000000"},
		{"about", hex.EncodeToString([]byte("head")), "07"},
		{"account", be(1), le(1, 1) + u32(9)},
		{"account.id", be(1), be(1)},
		{"account_metadata", be(1), le(1, 1, 1, 2, 3, 4) + hash(5) + le(6) + u32(7) + "0809"},
		{"account_ram_correction", be(1), le(1, 1, 10)},
		{"code", hash(1) + "0201", le(1) + hash(1) + "0201" + le(4) + u32(5)},
		{"code.id", be(1), hash(1) + "0201"},
		{"contract_table", be(1, 2, 3), le(1) + be(1, 2, 3) + le(4) + u32(5)},
		{"permission_link", be(1, 2, 3), le(1) + be(1, 2, 3) + le(4)},
		{"resource_limits", be(1), le(1, 1) + "ffffffffffffffff" + le(2, 3)},
		{"resource_usage", be(1), le(1, 1) + usage(1, 2, 3) + usage(4, 5, 6) + le(7)},
		{"dynamic_global_property", "00", le(1)},
		{"resource_limits_state", "00", usage(1, 2, 3) + usage(9, 8, 7) + le(1, 2, 3, 4, 5, 6, 7)},
		{"protocol_state", "00", "01" + hash(1) + u32(2) + "01" + hash(3) + "02" + "0161" + "0162" + u32(2)},
		{"resource_limits_config", "00", le(1, 2) + u32(3) + u32(4) + le(5, 6, 7, 8) + le(99, 2) + u32(3) + u32(4) + le(5, 6, 7, 8) + u32(1) + u32(2)},
		{"block_summary", "0102", hash(3)},
		{"account.abi", be(1), "02"},
		{"code.bytes", hash(0) + "0102", "03"},
		{"transaction", "01020304" + be(0), hash(9)},
		{"contract_row", be(1, 2, 3, 4), le(5) + hex.EncodeToString([]byte("six"))},
		{"contract_index_double", be(1, 2, 3, 4), le(5) + "0000000000000080"},
		{"contract_index_double.secondary", be(1, 2, 3) + "8000000000000000" + be(4), le(5) + "0000000000000080"},
		{"contract_index256", be(1, 2, 3, 4), le(5, 1, 2, 3, 4)},
		{"contract_index256.secondary", be(1, 2, 3, 2, 1, 4, 3, 4), le(5, 1, 2, 3, 4)},
		{"generated_transaction", generated, le(0) + hash(1) + le(2, 3, 4, 5, 6, 7, 8) + "0109"},
		{"generated_transaction.id", be(0), generated},
		{"generated_transaction.trx_id", hash(1), generated},
		{"generated_transaction.delay", "80" + be(6)[2:] + be(0), generated},
		{"generated_transaction.expiration", "80" + be(7)[2:] + be(0), generated},
		{"permission", be(1, 2), le(1) + be(1, 2) + le(3, 4, 5) + u32(6) + // and the authority
			"01" + "02" + strings.Repeat("00", 33) + "01" + "0161" + "0700" + "01" + le(8, 9) + "0a00" + "01" +
			u32(11) + "0c00"},
	} {
		table, err := d.store.Table(row.table)
		d.must(err)
		key, err := hex.DecodeString(row.key)
		d.must(err)
		if value, err := d.store.Get(table, key); err != nil || hex.EncodeToString(value) != row.value {
			t.Errorf("%s at %s:\n got %x, %v\nwant %s", row.table, row.key, value, err, row.value)
		}
	}
	accounts, err := d.store.Table("account")
	d.must(err)
	counters, err := d.store.Table("counter")
	d.must(err)
	if value, err := d.store.Get(counters, []byte{byte(accounts >> 8), byte(accounts)}); err != nil ||
		hex.EncodeToString(value) != le(2) {
		t.Errorf("the counter of accounts is %x, %v", value, err)
	}
}
