package snapshot

import (
	"tarn/antelope/serial"
	"tarn/antelope/state"
)

// limitsRow is resource_limits_object.
type limitsRow struct{ state.ResourceLimits }

func (r *limitsRow) Append(b []byte) []byte {
	b = serial.AppendInt64(r.Owner.Append(b), r.NetWeight)
	return serial.AppendInt64(serial.AppendInt64(b, r.CPUWeight), r.RAMBytes)
}

func (r *limitsRow) Read(s *serial.Reader) {
	r.Owner.Read(s)
	r.NetWeight, r.CPUWeight, r.RAMBytes = s.Int64(), s.Int64(), s.Int64()
}

func (r *limitsRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("owner", r.Owner)
		d.signedField("net_weight", r.NetWeight)
		d.signedField("cpu_weight", r.CPUWeight)
		d.signedField("ram_bytes", r.RAMBytes)
	})
	return d.b
}

// usageRow is resource_usage_object.
type usageRow struct{ state.ResourceUsage }

func (r *usageRow) Append(b []byte) []byte {
	return serial.AppendUint64(r.CPU.Append(r.Net.Append(r.Owner.Append(b))), r.RAM)
}

func (r *usageRow) Read(s *serial.Reader) {
	r.Owner.Read(s)
	r.Net.Read(s)
	r.CPU.Read(s)
	r.RAM = s.Uint64()
}

func (r *usageRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("owner", r.Owner)
		d.accumulator("net_usage", &r.Net)
		d.accumulator("cpu_usage", &r.CPU)
		d.unsignedField("ram_usage", r.RAM)
	})
	return d.b
}

func (d *document) accumulator(name string, u *state.Usage) {
	d.object(name, func() {
		d.unsignedField("last_ordinal", uint64(u.LastOrdinal))
		d.unsignedField("value_ex", u.ValueEx)
		d.unsignedField("consumed", u.Consumed)
	})
}

// resourceStateRow is resource_limits_state_object.
type resourceStateRow struct{ state.ResourceState }

func (r *resourceStateRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.accumulator("average_block_net_usage", &r.AverageBlockNet)
		d.accumulator("average_block_cpu_usage", &r.AverageBlockCPU)
		d.unsignedField("pending_net_usage", r.PendingNet)
		d.unsignedField("pending_cpu_usage", r.PendingCPU)
		d.unsignedField("total_net_weight", r.TotalNetWeight)
		d.unsignedField("total_cpu_weight", r.TotalCPUWeight)
		d.unsignedField("total_ram_bytes", r.TotalRAM)
		d.unsignedField("virtual_net_limit", r.VirtualNet)
		d.unsignedField("virtual_cpu_limit", r.VirtualCPU)
	})
	return d.b
}

// resourceConfigRow is resource_limits_config_object.
type resourceConfigRow struct{ state.ResourceConfig }

func (r *resourceConfigRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.elastic("cpu_limit_parameters", &r.CPU)
		d.elastic("net_limit_parameters", &r.Net)
		d.unsignedField("account_cpu_usage_average_window", uint64(r.AccountCPUWindow))
		d.unsignedField("account_net_usage_average_window", uint64(r.AccountNetWindow))
	})
	return d.b
}

func (d *document) elastic(name string, e *state.ElasticLimit) {
	d.object(name, func() {
		d.unsignedField("target", e.Target)
		d.unsignedField("max", e.Max)
		d.unsignedField("periods", uint64(e.Periods))
		d.unsignedField("max_multiplier", uint64(e.MaxMultiplier))
		d.ratio("contract_rate", e.Contract)
		d.ratio("expand_rate", e.Expand)
	})
}

func (d *document) ratio(name string, q state.Ratio) {
	d.object(name, func() {
		d.unsignedField("numerator", q.Numerator)
		d.unsignedField("denominator", q.Denominator)
	})
}
