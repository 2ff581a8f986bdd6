package difftest

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// printer decodes the fields of one row and, with out, writes them down as text.
type printer struct {
	r     *serial.Reader
	print bool
	out   []byte
}

func (p *printer) put(name string, value any) {
	if !p.print {
		return
	}
	if len(p.out) > 0 {
		p.out = append(p.out, ' ')
	}
	p.out = fmt.Appendf(p.out, "%s=%v", name, value)
}

func (p *printer) u8(name string)  { p.put(name, p.r.Uint8()) }
func (p *printer) u16(name string) { p.put(name, p.r.Uint16()) }
func (p *printer) u32(name string) { p.put(name, p.r.Uint32()) }
func (p *printer) u64(name string) { p.put(name, p.r.Uint64()) }
func (p *printer) i64(name string) { p.put(name, p.r.Int64()) }

func (p *printer) name(name string) { p.put(name, types.Name(p.r.Uint64())) }

// value reads anything that can read itself.
func (p *printer) value(name string, v interface {
	Read(*serial.Reader)
	fmt.Stringer
}) {
	v.Read(p.r)
	p.put(name, v)
}

func (p *printer) hash(name string)  { p.value(name, new(types.Checksum256)) }
func (p *printer) time(name string)  { p.value(name, new(types.TimePoint)) }
func (p *printer) slot(name string)  { p.value(name, new(types.BlockTimestamp)) }
func (p *printer) key(name string)   { p.value(name, new(types.PublicKey)) }
func (p *printer) id128(name string) { p.value(name, new(types.Uint128)) }

// bytes reads a counted string of bytes and prints its length and beginning.
func (p *printer) bytes(name string) {
	b := p.r.Bytes()
	if !p.print {
		return
	}
	if len(b) > 300 {
		p.put(name, fmt.Sprintf("%d:%x.. sha256 %s", len(b), b[:32], types.Hash(b)))
	} else {
		p.put(name, fmt.Sprintf("%d:%s", len(b), hex.EncodeToString(b)))
	}
}

// each reads a count and that many elements.
func (p *printer) each(name string, element func()) {
	n := p.r.Count(1)
	p.put(name, fmt.Sprintf("%d[", n))
	for range n {
		element()
	}
	if p.print {
		p.out = append(p.out, ']')
	}
}

// optional reads a flag and, if it is set, what follows.
func (p *printer) optional(name string, present func()) {
	there := p.r.Bool()
	p.put(name, there)
	if there {
		present()
	}
}

func (p *printer) authority() {
	p.u32("threshold")
	p.keyWeights()
	p.each("accounts", func() { p.name("actor"); p.name("permission"); p.u16("weight") })
	p.each("waits", func() { p.u32("wait"); p.u16("weight") })
}

func (p *printer) keyWeights() {
	p.each("keys", func() { p.key("key"); p.u16("weight") })
}

// blockAuthority is a variant of one alternative.
func (p *printer) blockAuthority() {
	if v := p.r.Varuint32(); v != 0 {
		p.r.Fail(fmt.Errorf("block signing authority variant %d", v))
	}
	p.u32("threshold")
	p.keyWeights()
}

func (p *printer) schedule(name string) {
	p.put(name, "")
	p.u32("version")
	p.each("producers", func() { p.name("producer"); p.blockAuthority() })
}

func (p *printer) extensions(name string) {
	p.each(name, func() { p.u16("type"); p.bytes("data") })
}

func (p *printer) blockState() {
	p.u32("block_num")
	p.u32("dpos_proposed_irreversible_blocknum")
	p.u32("dpos_irreversible_blocknum")
	p.schedule("active_schedule")
	p.each("blockroot_merkle", func() { p.hash("node") })
	p.u64("node_count")
	p.each("producer_to_last_produced", func() { p.name("producer"); p.u32("block") })
	p.each("producer_to_last_implied_irb", func() { p.name("producer"); p.u32("block") })
	p.blockAuthority()
	p.bytes("confirm_count")
	p.hash("id")
	p.put("header", "")
	p.slot("timestamp")
	p.name("producer")
	p.u16("confirmed")
	p.hash("previous")
	p.hash("transaction_mroot")
	p.hash("action_mroot")
	p.u32("schedule_version")
	p.optional("new_producers", func() {
		p.u32("version")
		p.each("producers", func() { p.name("producer"); p.key("key") })
	})
	p.extensions("header_extensions")
	p.value("producer_signature", new(types.Signature))
	p.u32("schedule_lib_num")
	p.hash("schedule_hash")
	p.schedule("pending_schedule")
	p.optional("activated_protocol_features", func() { p.each("features", func() { p.hash("feature") }) })
	p.each("additional_signatures", func() { p.value("signature", new(types.Signature)) })
}

func (p *printer) globalProperty() {
	p.optional("proposed_schedule_block_num", func() { p.u32("block") })
	p.schedule("proposed_schedule")
	var c types.ChainConfig
	c.Read(p.r)
	p.put("configuration", fmt.Sprintf("%+v", c))
	p.hash("chain_id")
	p.u32("kv_max_key_size")
	p.u32("kv_max_value_size")
	p.u32("kv_max_iterators")
	var w types.WasmConfig
	w.Read(p.r)
	p.put("wasm_configuration", fmt.Sprintf("%+v", w))
}

func (p *printer) accumulator(name string) {
	p.put(name, "")
	p.u32("last_ordinal")
	p.u64("value_ex")
	p.u64("consumed")
}

func (p *printer) limitParameters(name string) {
	p.put(name, "")
	p.u64("target")
	p.u64("max")
	p.u32("periods")
	p.u32("max_multiplier")
	p.u64("contract_num")
	p.u64("contract_den")
	p.u64("expand_num")
	p.u64("expand_den")
}

func (p *printer) float64(name string) {
	bits := p.r.Uint64()
	p.put(name, fmt.Sprintf("%v(%016x)", math.Float64frombits(bits), bits))
}

// rowPrinters read a row of each section of version 6, but contract_tables.
func rowPrinters() map[string]func(p *printer) {
	const chain, limits = "eosio::chain::", "eosio::chain::resource_limits::"
	all := limitPrinters(limits)
	maps.Copy(all, map[string]func(p *printer){
		chain + "chain_snapshot_header": func(p *printer) { p.u32("version") },
		chain + "block_state":           (*printer).blockState,
		chain + "account_object":        func(p *printer) { p.name("name"); p.slot("creation_date"); p.bytes("abi") },
		chain + "account_metadata_object": func(p *printer) {
			p.name("name")
			p.u64("recv_sequence")
			p.u64("auth_sequence")
			p.u64("code_sequence")
			p.u64("abi_sequence")
			p.hash("code_hash")
			p.time("last_code_update")
			p.u32("flags")
			p.u8("vm_type")
			p.u8("vm_version")
		},
		chain + "account_ram_correction_object": func(p *printer) { p.name("name"); p.u64("ram_correction") },
		chain + "global_property_object":        (*printer).globalProperty,
		chain + "protocol_state_object": func(p *printer) {
			p.each("activated", func() { p.hash("feature"); p.u32("block") })
			p.each("preactivated", func() { p.hash("feature") })
			p.each("intrinsics", func() { p.put("", p.r.String()) })
			p.u32("num_supported_key_types")
		},
		chain + "dynamic_global_property_object": func(p *printer) { p.u64("global_action_sequence") },
		chain + "block_summary_object":           func(p *printer) { p.hash("block_id") },
		chain +
			"transaction_object": func(p *printer) { p.value("expiration", new(types.TimePointSec)); p.hash("trx_id") },
		chain + "generated_transaction_object": func(p *printer) {
			p.hash("trx_id")
			p.name("sender")
			p.id128("sender_id")
			p.name("payer")
			p.time("delay_until")
			p.time("expiration")
			p.time("published")
			p.bytes("packed_trx")
		},
		chain + "code_object": func(p *printer) {
			p.hash("code_hash")
			p.bytes("code")
			p.u64("code_ref_count")
			p.u32("first_block_used")
			p.u8("vm_type")
			p.u8("vm_version")
		},
		chain + "permission_object": func(p *printer) {
			p.name("parent")
			p.name("owner")
			p.name("name")
			p.time("last_updated")
			p.time("last_used")
			p.authority()
		},
		chain + "permission_link_object": func(p *printer) {
			p.name("account")
			p.name("code")
			p.name("message_type")
			p.name("required_permission")
		},
	})
	return all
}

// limitPrinters are those of the resource limits.
func limitPrinters(limits string) map[string]func(p *printer) {
	return map[string]func(p *printer){
		limits + "resource_limits_object": func(p *printer) {
			p.name("owner")
			p.i64("net_weight")
			p.i64("cpu_weight")
			p.i64("ram_bytes")
		},
		limits + "resource_usage_object": func(p *printer) {
			p.name("owner")
			p.accumulator("net_usage")
			p.accumulator("cpu_usage")
			p.u64("ram_usage")
		},
		limits + "resource_limits_state_object": func(p *printer) {
			p.accumulator("average_block_net_usage")
			p.accumulator("average_block_cpu_usage")
			for _, name := range []string{"pending_net_usage", "pending_cpu_usage", "total_net_weight",
				"total_cpu_weight", "total_ram_bytes", "virtual_net_limit", "virtual_cpu_limit"} {
				p.u64(name)
			}
		},
		limits + "resource_limits_config_object": func(p *printer) {
			p.limitParameters("cpu")
			p.limitParameters("net")
			p.u32("account_cpu_usage_average_window")
			p.u32("account_net_usage_average_window")
		},
	}
}

// What a row of contract_tables is: a table's own row, a count of entries of a
// kind, or an entry of it.
const (
	tableRow = -1
	countRow = 16 // added to the kind
)

var contractKinds = [...]string{"i64", "idx64", "idx128", "idx256", "double", "long_double"}

// contractTables says what the next row of contract_tables is, from those before.
type contractTables struct {
	kind    int // tableRow, or the index of the kind that is being read
	counted bool
	left    uint32
}

// next tells what row comes, and reads it.
func (c *contractTables) next(p *printer) (row int) {
	switch {
	case c.kind == tableRow:
		p.contract(tableRow)
		c.kind, c.counted = 0, false
		return tableRow
	case !c.counted:
		row = countRow + c.kind
		c.left, c.counted = p.r.Varuint32(), true
		p.put(contractKinds[c.kind], c.left)
	default:
		row = c.kind
		p.contract(c.kind)
		c.left--
	}
	if c.left == 0 {
		c.kind, c.counted = c.kind+1, false
		if c.kind == len(contractKinds) {
			c.kind = tableRow
		}
	}
	return row
}

// contract reads a row of contract_tables that is of this kind.
func (p *printer) contract(row int) {
	if row == tableRow {
		p.name("code")
		p.name("scope")
		p.name("table")
		p.name("payer")
		p.u32("count")
		return
	}
	if row >= countRow {
		p.put(contractKinds[row-countRow], p.r.Varuint32())
		return
	}
	p.u64("primary")
	p.name("payer")
	switch contractKinds[row] {
	case "i64":
		p.bytes("value")
	case "idx64":
		p.u64("secondary")
	case "idx128":
		p.id128("secondary")
	case "idx256":
		p.id128("high")
		p.id128("low")
	case "double":
		p.float64("secondary")
	case "long_double":
		p.value("secondary", new(types.Float128))
	}
}
