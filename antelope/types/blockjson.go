package types

import (
	"tarn/antelope/exception"
	"tarn/antelope/variant"
)

// AppendJSON appends an object.
func (p LegacyProducerKey) AppendJSON(b []byte) []byte {
	return openObject(b).json("producer_name", p.Producer).json("block_signing_key", p.Key).close()
}

// AppendJSON appends an object.
func (s LegacySchedule) AppendJSON(b []byte) []byte {
	return list(openObject(b).uint("version", uint64(s.Version)), "producers", s.Producers).close()
}

// AppendJSON appends an array: the index of the variant and the authority.
func (a BlockSigningAuthority) AppendJSON(b []byte) []byte {
	o := openObject(append(b, "[0,"...)).uint("threshold", uint64(a.Threshold))
	return append(list(o, "keys", a.Keys).close(), ']')
}

// AppendJSON appends an object.
func (p ProducerAuthority) AppendJSON(b []byte) []byte {
	return openObject(b).json("producer_name", p.Producer).json("authority", p.Authority).close()
}

// AppendJSON appends an object.
func (s ProducerSchedule) AppendJSON(b []byte) []byte {
	return list(openObject(b).uint("version", uint64(s.Version)), "producers", s.Producers).close()
}

// AppendRoots appends the members up to the schedule's version without braces,
// after what an object has so far.
func (h BlockHeader) AppendRoots(b []byte) []byte {
	o := jsonObject(b).json("timestamp", h.Timestamp).json("producer", h.Producer)
	o = o.uint("confirmed", uint64(h.Confirmed)).json("previous", h.Previous)
	o = o.json("transaction_mroot", h.TransactionMRoot).json("action_mroot", h.ActionMRoot)
	return o.uint("schedule_version", uint64(h.ScheduleVersion))
}

func (h BlockHeader) jsonMembers(o jsonObject) jsonObject {
	o = h.AppendRoots(o)
	if h.NewProducers != nil {
		o = o.json("new_producers", h.NewProducers)
	}
	return list(o, "header_extensions", h.Extensions)
}

// AppendJSON appends an object.
func (h BlockHeader) AppendJSON(b []byte) []byte { return h.jsonMembers(openObject(b)).close() }

// AppendJSON appends an object.
func (h SignedBlockHeader) AppendJSON(b []byte) []byte {
	return h.jsonMembers(openObject(b)).json("producer_signature", h.ProducerSignature).close()
}

// AppendJSON appends an object with transactions and extensions as they are packed.
func (s SignedBlock) AppendJSON(b []byte) []byte {
	o := s.jsonMembers(openObject(b)).json("producer_signature", s.ProducerSignature)
	o = list(o, "transactions", s.Transactions)
	return list(o, "block_extensions", s.Extensions).close()
}

// configNames are the names of the parameters, by their numbers.
var configNames = [chainConfigCount]string{
	"max_block_net_usage", "target_block_net_usage_pct", "max_transaction_net_usage",
	"base_per_transaction_net_usage", "net_usage_leeway", "context_free_discount_net_usage_num",
	"context_free_discount_net_usage_den", "max_block_cpu_usage", "target_block_cpu_usage_pct",
	"max_transaction_cpu_usage", "min_transaction_cpu_usage", "max_transaction_lifetime",
	"deferred_trx_expiration_window", "max_transaction_delay", "max_inline_action_size",
	"max_inline_action_depth", "max_authority_depth", "max_action_return_value_size",
}

func (c *ChainConfig) appendJSON(b []byte, count uint32) []byte {
	o := openObject(b)
	for id := range count {
		switch f := c.field(id).(type) {
		case *uint64:
			o = o.uint(configNames[id], *f)
		case *uint32:
			o = o.uint(configNames[id], uint64(*f))
		case *uint16:
			o = o.uint(configNames[id], uint64(*f))
		}
	}
	return o.close()
}

// AppendJSON appends an object with the parameters of version 1.
func (c ChainConfig) AppendJSON(b []byte) []byte { return c.appendJSON(b, chainConfigCount) }

// AppendJSONV0 appends an object with the parameters of version 0.
func (c ChainConfig) AppendJSONV0(b []byte) []byte { return c.appendJSON(b, chainConfigV0Count) }

// fromVariant sets the parameters that an object has.
func (c *ChainConfig) fromVariant(v variant.Value, count uint32) error {
	if _, _, err := v.Members(); err != nil {
		return err
	}
	for id := range count {
		member, ok := v.Find(configNames[id])
		if !ok {
			continue
		}
		n, err := member.AsUint64()
		if err != nil {
			return err
		}
		switch f := c.field(id).(type) {
		case *uint64:
			*f = n
		case *uint32:
			*f = uint32(n)
		case *uint16:
			*f = uint16(n)
		}
	}
	return nil
}

// wasmNames are the names of the fields in their order.
var wasmNames = [11]string{
	"max_mutable_global_bytes", "max_table_elements", "max_section_elements",
	"max_linear_memory_init", "max_func_local_bytes", "max_nested_structures",
	"max_symbol_bytes", "max_module_bytes", "max_code_bytes", "max_pages", "max_call_depth",
}

// AppendJSON appends an object.
func (c WasmConfig) AppendJSON(b []byte) []byte {
	o := openObject(b)
	for i, f := range c.fields() {
		o = o.uint(wasmNames[i], uint64(*f))
	}
	return o.close()
}

// AppendJSON appends an object as genesis.json has it.
func (g Genesis) AppendJSON(b []byte) []byte {
	o := openObject(b).json("initial_timestamp", g.InitialTimestamp).json("initial_key", g.InitialKey)
	return append(g.InitialConfiguration.AppendJSONV0(o.key("initial_configuration")), '}')
}

// ParseGenesis reads a genesis.json. What it does not say is as in
// [DefaultGenesis].
func ParseGenesis(s string) (Genesis, error) {
	g := DefaultGenesis()
	v, err := variant.Parse(s)
	if err != nil {
		return g, err
	}
	if _, _, err := v.Members(); err != nil {
		return g, err
	}
	if member, ok := v.Find("initial_timestamp"); ok {
		text, err := member.AsText()
		if err == nil {
			g.InitialTimestamp, err = ParseTimePoint(text)
		}
		if err != nil {
			return g, exception.Wrap(exception.FCUnspecified, err, "initial_timestamp")
		}
	}
	if member, ok := v.Find("initial_key"); ok {
		text, err := member.AsText()
		if err == nil {
			g.InitialKey, err = ParsePublicKey(text)
		}
		if err != nil {
			return g, err
		}
	}
	if member, ok := v.Find("initial_configuration"); ok {
		err = g.InitialConfiguration.fromVariant(member, chainConfigV0Count)
	}
	return g, err
}
