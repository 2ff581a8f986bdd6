package difftest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// contract is an ABI, by which random actions are made.
type contract struct {
	account types.Name
	abi     abiText
	types   map[string]string
	structs map[string]*abiStruct
}

// contractOf reads the ABI of one of the package's contracts that was put on an
// account.
func (d *Driver) contractOf(account types.Name, name string) (*contract, error) {
	_, doc, err := d.Peer.Contract(name)
	if err != nil {
		return nil, err
	}
	c := &contract{account: account, types: map[string]string{}, structs: map[string]*abiStruct{}}
	if err := json.Unmarshal(doc, &c.abi); err != nil {
		return nil, fmt.Errorf("ABI of %s: %w", name, err)
	}
	for _, t := range c.abi.Types {
		c.types[t.New] = t.Old
	}
	for i := range c.abi.Structs {
		c.structs[c.abi.Structs[i].Name] = &c.abi.Structs[i]
	}
	return c, nil
}

// random makes an action with data that has the right types, and whose first name
// is that of the user.
func (c *contract) random(w *world, name string, user types.Name) types.Action {
	kind := ""
	for _, a := range c.abi.Actions {
		if a.Name == name {
			kind = a.Type
		}
	}
	first := user
	b := c.value(w, nil, kind, &first)
	return types.Action{Account: c.account, Name: types.N(name), Data: b,
		Authorization: []types.PermissionLevel{level(user, active)}}
}

// value appends a random value of a type. *first is used up by the first name.
func (c *contract) value(w *world, b []byte, kind string, first *types.Name) []byte {
	if base, ok := strings.CutSuffix(kind, "?"); ok {
		if w.One(2) {
			return append(b, 0)
		}
		return c.value(w, append(b, 1), base, first)
	}
	if base, ok := strings.CutSuffix(kind, "[]"); ok {
		n := w.Rand.IntN(4)
		b = vu(n).Append(b)
		for range n {
			b = c.value(w, b, base, first)
		}
		return b
	}
	kind = strings.TrimSuffix(kind, "$")
	if old, ok := c.types[kind]; ok {
		return c.value(w, b, old, first)
	}
	if s := c.structs[kind]; s != nil {
		if s.Base != "" {
			b = c.value(w, b, s.Base, first)
		}
		for _, f := range s.Fields {
			b = c.value(w, b, f.Type, first)
		}
		return b
	}
	for _, v := range c.abi.Variants {
		if v.Name == kind {
			i := w.Rand.IntN(len(v.Types))
			return c.value(w, vu(i).Append(b), v.Types[i], first)
		}
	}
	return w.simpleValue(b, kind, first)
}

// simpleValue appends one of a built-in type, small where it is a number.
func (w *world) simpleValue(b []byte, kind string, first *types.Name) []byte {
	small := func() uint64 { return uint64(w.Rand.Int64N(1 << w.Rand.IntN(14))) }
	switch kind {
	case "name":
		n := *first
		if *first = 0; n == 0 {
			n = pick(w.Driver, w.users)
		}
		return n.Append(b)
	case "asset":
		symbol := "SYS"
		if w.One(3) {
			symbol = "REX"
		}
		return tokens(w.Rand.Int64N(1<<(1+w.Rand.IntN(22))), symbol).Append(b)
	case "symbol":
		return tokens(0, "SYS").Symbol.Append(b)
	case "string", "bytes":
		return blob(make([]byte, w.Rand.IntN(20))).Append(b)
	case "bool":
		return append(b, byte(w.Rand.IntN(2)))
	case "uint8", "int8":
		return append(b, byte(w.Rand.IntN(3)))
	case "uint16", "int16":
		return serial.AppendUint16(b, uint16(small()))
	case "uint32", "int32", "time_point_sec", "block_timestamp_type":
		return serial.AppendUint32(b, uint32(small()))
	case "uint64", "int64", "time_point":
		return serial.AppendUint64(b, small())
	case "varuint32":
		return serial.AppendVaruint32(b, uint32(small()))
	case "float64":
		return serial.AppendUint64(b, math.Float64bits(w.Rand.Float64()*10))
	case "uint128", "int128":
		return serial.AppendUint64(serial.AppendUint64(b, small()), 0)
	case "public_key":
		return pick(w.Driver, w.pool).Public().Append(b)
	case "checksum256":
		return types.Hash([]byte{byte(w.Rand.IntN(4))}).Append(b)
	}
	return b
}
