package abi

import (
	"fmt"
	"strconv"

	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Action takes an action from parsed JSON. Its data are hex, or an object that
// the account's ABI encodes, or hex in hex_data if there is nothing else.
func (c *Contents) Action(v variant.Value) (a types.Action, err error) {
	c.depth++
	defer func() { c.depth-- }()
	f := &fields{v: v}
	f.check()
	for _, key := range []string{"account", "name"} {
		if _, ok := v.Find(key); !ok && f.err == nil {
			f.err = exception.New(exception.PackedTransactionType, "Missing "+key)
		}
	}
	f.name("account", &a.Account)
	f.name("name", &a.Name)
	each(f, "authorization", &a.Authorization, func(f *fields, p *types.PermissionLevel) {
		f.name("actor", &p.Actor)
		f.name("permission", &p.Permission)
	})
	if f.err != nil {
		return a, f.err
	}
	empty := false // the data are there, and none
	if data, ok := v.Find("data"); ok {
		if a.Data, empty, err = c.data(&a, data); err != nil {
			return a, err
		}
	}
	if data, ok := v.Find("hex_data"); ok && !empty && len(a.Data) == 0 && data.Kind() == variant.String {
		if a.Data, err = bytesFromValue(data); err != nil {
			return a, err
		}
	}
	if !empty && len(a.Data) == 0 {
		return a, exception.New(exception.PackedTransactionType, "Failed to deserialize data for ${account}:${name}",
			"account", a.Account, "name", a.Name)
	}
	return a, nil
}

// data returns the data of an action, and whether they are rightly none.
func (c *Contents) data(a *types.Action, v variant.Value) (data []byte, empty bool, err error) {
	switch v.Kind() {
	case variant.String:
		data, err = bytesFromValue(v)
		return data, len(data) == 0, err
	case variant.Object:
		codec := c.codec(a.Account)
		if codec == nil && c.Wrong != nil {
			return nil, false, c.Wrong(a.Account)
		}
		if codec == nil {
			return nil, false, nil
		}
		typ := codec.ActionType(a.Name)
		if typ == "" {
			return nil, false, nil
		}
		data, err = codec.encode(nil, typ, v, c.scope(), true)
		if err == nil && c.Encoded != nil {
			err = c.Encoded(len(data))
		}
		return data, len(data) == 0, err
	}
	return nil, false, nil
}

// Transaction takes a transaction from parsed JSON. Members that it lacks are
// zero.
func (c *Contents) Transaction(v variant.Value) (*types.Transaction, error) {
	c.depth += 2
	defer func() { c.depth -= 2 }()
	t, f := new(types.Transaction), &fields{v: v}
	f.check()
	if m, ok := v.Find("expiration"); ok && f.err == nil {
		var err error
		t.Expiration, err = fromText(types.ParseTimePointSec)(m)
		f.fail("expiration", err)
	}
	t.RefBlockNum = uint16(f.number("ref_block_num"))
	t.RefBlockPrefix = uint32(f.number("ref_block_prefix"))
	t.MaxNetUsageWords = uint32(f.number("max_net_usage_words"))
	t.MaxCPUUsageMS = uint8(f.number("max_cpu_usage_ms"))
	t.DelaySec = uint32(f.number("delay_sec"))
	t.ContextFreeActions = c.actions(f, "context_free_actions")
	t.Actions = c.actions(f, "actions")
	f.extensions("transaction_extensions", &t.Extensions)
	return t, f.err
}

func (f *fields) number(key string) (n uint64) {
	f.uint64(key, &n)
	return n
}

func (c *Contents) actions(f *fields, key string) (out []types.Action) {
	for i, v := range f.list(key) {
		if f.err != nil {
			break
		}
		a, err := c.Action(v)
		if err != nil {
			err = fmt.Errorf("%d: %w", i, err)
		}
		f.fail(key, err)
		out = append(out, a)
	}
	return out
}

// PackedTransaction takes a packed transaction from parsed JSON: packed already,
// or with its contents, which are packed then.
func (c *Contents) PackedTransaction(v variant.Value) (*types.PackedTransaction, error) {
	c.depth++
	defer func() { c.depth-- }()
	p, f := new(types.PackedTransaction), &fields{v: v}
	f.check()
	for _, key := range []string{"signatures", "compression"} {
		if _, ok := v.Find(key); !ok && f.err == nil {
			return nil, exception.New(exception.PackedTransactionType, "Missing "+key)
		}
	}
	for _, v := range f.list("signatures") {
		s, err := fromText(types.ParseSignature)(v)
		f.fail("signatures", err)
		p.Signatures = append(p.Signatures, s)
	}
	if f.err != nil {
		return nil, f.err
	}
	m, _ := v.Find("compression")
	var err error
	if p.Compression, err = compressionOf(m); err != nil {
		return nil, err
	}
	var data [][]byte
	if p.PackedContextFreeData, err = packedMember(v, "packed_context_free_data"); err != nil {
		return nil, err
	}
	if p.PackedContextFreeData == nil {
		if data, err = byteStrings(f, "context_free_data"); err != nil {
			return nil, err
		}
	}
	if p.PackedTrx, err = packedMember(v, "packed_trx"); err != nil {
		return nil, err
	}
	if err := c.pack(p, v, data); err != nil {
		return nil, err
	}
	if c.Admit != nil {
		if err := c.Admit(p); err != nil {
			return nil, err
		}
	}
	_, _, err = p.Unpack() // as nodeos does at once
	return p, err
}

// pack fills what p lacks of its packed members.
func (c *Contents) pack(p *types.PackedTransaction, v variant.Value, data [][]byte) error {
	t := new(types.Transaction)
	if p.PackedTrx == nil {
		m, ok := v.Find("transaction")
		if !ok {
			return exception.New(exception.PackedTransactionType, "Missing transaction")
		}
		var err error
		if t, err = c.Transaction(m); err != nil {
			return err
		}
	}
	packed, err := types.Pack(t, nil, data, p.Compression)
	if err != nil {
		return err
	}
	if p.PackedTrx == nil {
		p.PackedTrx = packed.PackedTrx
	}
	if p.PackedContextFreeData == nil {
		p.PackedContextFreeData = packed.PackedContextFreeData
	}
	return nil
}

// packedMember returns a member of hex, nil if it is missing, empty or no string.
func packedMember(v variant.Value, key string) ([]byte, error) {
	m, ok := v.Find(key)
	if !ok || m.Kind() != variant.String {
		return nil, nil
	}
	return bytesFromValue(m)
}

func byteStrings(f *fields, key string) (out [][]byte, err error) {
	for _, v := range f.list(key) {
		b, err := bytesFromValue(v)
		f.fail(key, err)
		out = append(out, b)
	}
	return out, f.err
}

// compressionOf takes a compression by its name or number.
func compressionOf(v variant.Value) (types.Compression, error) {
	bad := func(s string) (types.Compression, error) {
		return 0, exception.New(exception.FCBadCast, "invalid index '${key}' in enum '${enum}'",
			"key", s, "enum", "eosio::chain::packed_transaction::compression_type")
	}
	if v.Kind() == variant.String {
		s, err := v.Text()
		if err != nil {
			return 0, err
		}
		switch s {
		case types.CompressionNone.String():
			return types.CompressionNone, nil
		case types.CompressionZlib.String():
			return types.CompressionZlib, nil
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return bad(s)
		}
		v = variant.OfInt64(n)
	}
	n, err := v.AsInt64()
	if err != nil {
		return 0, err
	}
	if n != int64(types.CompressionNone) && n != int64(types.CompressionZlib) {
		return bad(strconv.FormatInt(n, 10))
	}
	return types.Compression(n), nil
}
