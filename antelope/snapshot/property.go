package snapshot

import (
	"slices"

	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// globalRow is global_property_object, to be read in the form of any version.
type globalRow struct {
	state.GlobalProperty
	version uint32
}

// Read decodes the row of a version, with what nodeos fills in where older ones say
// nothing. Version 2 leaves the chain's id to the genesis state.
func (r *globalRow) Read(s *serial.Reader) {
	switch {
	case r.version >= SpringVersion:
		r.GlobalProperty.ReadWithoutKV(s)
		return
	case r.version >= 5:
		r.GlobalProperty.Read(s)
		return
	}
	g := state.GlobalProperty{Wasm: types.DefaultWasmConfig()}
	if s.Bool() {
		g.ProposedScheduleBlock = new(s.Uint32())
	}
	if r.version == 2 {
		var legacy types.LegacySchedule
		legacy.Read(s)
		g.ProposedSchedule = legacy.Upgrade()
	} else {
		g.ProposedSchedule.Read(s)
	}
	g.Configuration = types.DefaultChainConfig()
	g.Configuration.ReadV0(s)
	if r.version >= 3 {
		g.ChainID.Read(s)
	}
	if r.version == 4 {
		g.KV = state.KVConfig{MaxKeySize: s.Uint32(), MaxValueSize: s.Uint32(), MaxIterators: s.Uint32()}
		g.Wasm.Read(s)
	}
	r.GlobalProperty = g
}

// Append appends the row of a version that is written.
func (r *globalRow) Append(b []byte) []byte {
	if r.version >= SpringVersion {
		return r.GlobalProperty.AppendWithoutKV(b)
	}
	return r.GlobalProperty.Append(b)
}

func (r *globalRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		if r.ProposedScheduleBlock != nil {
			d.unsignedField("proposed_schedule_block_num", uint64(*r.ProposedScheduleBlock))
		}
		d.schedule("proposed_schedule", &r.ProposedSchedule)
		d.object("configuration", func() { d.chainConfig(&r.Configuration) })
		d.digestField("chain_id", &r.ChainID)
		if r.version < SpringVersion {
			d.object("kv_configuration", func() {
				d.unsignedField("max_key_size", uint64(r.KV.MaxKeySize))
				d.unsignedField("max_value_size", uint64(r.KV.MaxValueSize))
				d.unsignedField("max_iterators", uint64(r.KV.MaxIterators))
			})
		}
		d.object("wasm_configuration", func() { d.wasmConfig(&r.Wasm) })
	})
	return d.b
}

func (d *document) chainConfig(c *types.ChainConfig) {
	for _, f := range [...]struct {
		name  string
		value uint64
	}{
		{"max_block_net_usage", c.MaxBlockNetUsage},
		{"target_block_net_usage_pct", uint64(c.TargetBlockNetUsagePct)},
		{"max_transaction_net_usage", uint64(c.MaxTransactionNetUsage)},
		{"base_per_transaction_net_usage", uint64(c.BasePerTransactionNetUsage)},
		{"net_usage_leeway", uint64(c.NetUsageLeeway)},
		{"context_free_discount_net_usage_num", uint64(c.ContextFreeDiscountNetUsageNum)},
		{"context_free_discount_net_usage_den", uint64(c.ContextFreeDiscountNetUsageDen)},
		{"max_block_cpu_usage", uint64(c.MaxBlockCPUUsage)},
		{"target_block_cpu_usage_pct", uint64(c.TargetBlockCPUUsagePct)},
		{"max_transaction_cpu_usage", uint64(c.MaxTransactionCPUUsage)},
		{"min_transaction_cpu_usage", uint64(c.MinTransactionCPUUsage)},
		{"max_transaction_lifetime", uint64(c.MaxTransactionLifetime)},
		{"deferred_trx_expiration_window", uint64(c.DeferredTrxExpirationWindow)},
		{"max_transaction_delay", uint64(c.MaxTransactionDelay)},
		{"max_inline_action_size", uint64(c.MaxInlineActionSize)},
		{"max_inline_action_depth", uint64(c.MaxInlineActionDepth)},
		{"max_authority_depth", uint64(c.MaxAuthorityDepth)},
		{"max_action_return_value_size", uint64(c.MaxActionReturnValueSize)},
	} {
		d.unsignedField(f.name, f.value)
	}
}

func (d *document) wasmConfig(c *types.WasmConfig) {
	for _, f := range [...]struct {
		name  string
		value uint32
	}{
		{"max_mutable_global_bytes", c.MaxMutableGlobalBytes},
		{"max_table_elements", c.MaxTableElements},
		{"max_section_elements", c.MaxSectionElements},
		{"max_linear_memory_init", c.MaxLinearMemoryInit},
		{"max_func_local_bytes", c.MaxFuncLocalBytes},
		{"max_nested_structures", c.MaxNestedStructures},
		{"max_symbol_bytes", c.MaxSymbolBytes},
		{"max_module_bytes", c.MaxModuleBytes},
		{"max_code_bytes", c.MaxCodeBytes},
		{"max_pages", c.MaxPages},
		{"max_call_depth", c.MaxCallDepth},
	} {
		d.unsignedField(f.name, uint64(f.value))
	}
}

// protocolRow is protocol_state_object.
type protocolRow struct{ state.ProtocolState }

// Read decodes the row. nodeos reads the functions as a set, in whatever order they are.
func (r *protocolRow) Read(s *serial.Reader) {
	r.ProtocolState.Read(s)
	slices.Sort(r.Intrinsics)
	r.Intrinsics = slices.Compact(r.Intrinsics)
}

func (r *protocolRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.array("activated_protocol_features", len(r.Activated), func(i int) {
			d.object("", func() {
				d.digestField("feature_digest", &r.Activated[i].Digest)
				d.unsignedField("activation_block_num", uint64(r.Activated[i].Block))
			})
		})
		d.digests("preactivated_protocol_features", r.Preactivated)
		d.array("whitelisted_intrinsics", len(r.Intrinsics), func(i int) { d.string(r.Intrinsics[i]) })
		d.unsignedField("num_supported_key_types", uint64(r.KeyTypes))
	})
	return d.b
}

// dynamicRow is dynamic_global_property_object.
type dynamicRow struct{ state.DynamicGlobal }

func (r *dynamicRow) Append(b []byte) []byte { return serial.AppendUint64(b, r.ActionSequence) }

func (r *dynamicRow) Read(s *serial.Reader) { r.ActionSequence = s.Uint64() }

func (r *dynamicRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() { d.unsignedField("global_action_sequence", r.ActionSequence) })
	return d.b
}

// summaryRow is block_summary_object.
type summaryRow struct{ id types.Checksum256 }

func (r *summaryRow) Append(b []byte) []byte { return append(b, r.id[:]...) }

func (r *summaryRow) Read(s *serial.Reader) { r.id.Read(s) }

func (r *summaryRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() { d.digestField("block_id", &r.id) })
	return d.b
}

// transactionRow is transaction_object.
type transactionRow struct{ state.Transaction }

func (r *transactionRow) Append(b []byte) []byte {
	return append(r.Expiration.Append(b), r.TrxID[:]...)
}

func (r *transactionRow) Read(s *serial.Reader) {
	r.Expiration.Read(s)
	r.TrxID.Read(s)
}

func (r *transactionRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("expiration", r.Expiration)
		d.digestField("trx_id", &r.TrxID)
	})
	return d.b
}

// deferredRow is generated_transaction_object.
type deferredRow struct{ *state.Deferred }

func (r deferredRow) Append(b []byte) []byte {
	b = r.Payer.Append(r.SenderID.Append(r.Sender.Append(append(b, r.TrxID[:]...))))
	b = r.Published.Append(r.Expiration.Append(r.DelayUntil.Append(b)))
	return serial.AppendBytes(b, r.Packed)
}

func (r deferredRow) Read(s *serial.Reader) {
	r.TrxID.Read(s)
	r.Sender.Read(s)
	r.SenderID.Read(s)
	r.Payer.Read(s)
	r.DelayUntil.Read(s)
	r.Expiration.Read(s)
	r.Published.Read(s)
	r.Packed = s.Bytes()
}

func (r deferredRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.digestField("trx_id", &r.TrxID)
		d.textField("sender", r.Sender)
		d.textField("sender_id", r.SenderID)
		d.textField("payer", r.Payer)
		d.textField("delay_until", r.DelayUntil)
		d.textField("expiration", r.Expiration)
		d.textField("published", r.Published)
		d.base64Field("packed_trx", r.Packed)
	})
	return d.b
}
