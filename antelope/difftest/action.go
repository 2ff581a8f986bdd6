package difftest

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// The permissions that every account has.
const (
	owner  = "owner"
	active = "active"
)

var system = types.N("eosio")

// level is a permission of an account.
func level(actor types.Name, permission string) types.PermissionLevel {
	return types.PermissionLevel{Actor: actor, Permission: types.N(permission)}
}

// action makes one that actor authorises with its active permission. Its data is
// the encodings of fields, one after the other.
func action(contract types.Name, name string, actor types.Name, fields ...field) types.Action {
	return types.Action{
		Account: contract, Name: types.N(name),
		Authorization: []types.PermissionLevel{level(actor, active)},
		Data:          encode(fields...),
	}
}

// with changes who authorises an action.
func with(a types.Action, levels ...types.PermissionLevel) types.Action {
	a.Authorization = levels
	return a
}

// field is a part of an action's data.
type field interface{ Append(b []byte) []byte }

func encode(fields ...field) []byte {
	var b []byte
	for _, f := range fields {
		b = f.Append(b)
	}
	return b
}

// Fields that types has no type for.
type (
	u8   uint8
	u16  uint16
	u32  uint32
	u64  uint64
	vu   uint32
	blob []byte
	raw  []byte
)

func (v u8) Append(b []byte) []byte   { return append(b, byte(v)) }
func (v u16) Append(b []byte) []byte  { return serial.AppendUint16(b, uint16(v)) }
func (v u32) Append(b []byte) []byte  { return serial.AppendUint32(b, uint32(v)) }
func (v u64) Append(b []byte) []byte  { return serial.AppendUint64(b, uint64(v)) }
func (v vu) Append(b []byte) []byte   { return serial.AppendVaruint32(b, uint32(v)) }
func (v blob) Append(b []byte) []byte { return serial.AppendBytes(b, v) }
func (v raw) Append(b []byte) []byte  { return append(b, v...) }

// text is a string field.
func text(s string) field { return blob(s) }

// list is a counted list of fields.
func list[T field](items []T) field {
	b := serial.AppendCount(nil, len(items))
	for _, i := range items {
		b = i.Append(b)
	}
	return raw(b)
}

// tokens is an amount of a token of four decimals.
func tokens(amount int64, symbol string) types.Asset {
	s := types.Symbol(4)
	for i := range len(symbol) {
		s |= types.Symbol(symbol[i]) << (8 * (i + 1))
	}
	return types.Asset{Amount: amount, Symbol: s}
}

// newAccount makes an account whose owner and active permissions are these.
func newAccount(creator, name types.Name, owner, active types.Authority) types.Action {
	return action(system, "newaccount", creator, creator, name, owner, active)
}

// setCode puts a contract's code on an account; none takes it away.
func setCode(account types.Name, wasm []byte) types.Action {
	return action(system, "setcode", account, account, u8(0), u8(0), blob(wasm))
}

// setABI puts an ABI, packed, on an account.
func setABI(account types.Name, packed []byte) types.Action {
	return action(system, "setabi", account, account, blob(packed))
}
