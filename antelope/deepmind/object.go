package deepmind

import (
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Objects of the state as nodeos shows them, in the order of its reflections.

func appendUint(b []byte, key string, v uint64) []byte {
	return variant.AppendUint64(variant.AppendKey(b, key), v)
}

func appendInt(b []byte, key string, v int64) []byte {
	return variant.AppendInt64(variant.AppendKey(b, key), v)
}

func appendName(b []byte, key string, v types.Name) []byte {
	return v.AppendJSON(variant.AppendKey(b, key))
}

func appendUsage(b []byte, key string, u state.Usage) []byte {
	b = append(variant.AppendKey(b, key), '{')
	b = appendUint(b, "last_ordinal", uint64(u.LastOrdinal))
	b = appendUint(b, "value_ex", u.ValueEx)
	return append(appendUint(b, "consumed", u.Consumed), '}')
}

func appendRatio(b []byte, key string, r state.Ratio) []byte {
	b = append(variant.AppendKey(b, key), '{')
	b = appendUint(b, "numerator", r.Numerator)
	return append(appendUint(b, "denominator", r.Denominator), '}')
}

func appendElastic(b []byte, key string, e *state.ElasticLimit) []byte {
	b = append(variant.AppendKey(b, key), '{')
	b = appendUint(b, "target", e.Target)
	b = appendUint(b, "max", e.Max)
	b = appendUint(b, "periods", uint64(e.Periods))
	b = appendUint(b, "max_multiplier", uint64(e.MaxMultiplier))
	b = appendRatio(b, "contract_rate", e.Contract)
	return append(appendRatio(b, "expand_rate", e.Expand), '}')
}

func (n *line) resourceConfig(c *state.ResourceConfig) *line {
	b := append(n.space().b, '{')
	b = appendElastic(b, "cpu_limit_parameters", &c.CPU)
	b = appendElastic(b, "net_limit_parameters", &c.Net)
	b = appendUint(b, "account_cpu_usage_average_window", uint64(c.AccountCPUWindow))
	b = appendUint(b, "account_net_usage_average_window", uint64(c.AccountNetWindow))
	n.b = append(b, '}')
	return n
}

func (n *line) resourceState(s *state.ResourceState) *line {
	b := append(n.space().b, '{')
	b = appendUsage(b, "average_block_net_usage", s.AverageBlockNet)
	b = appendUsage(b, "average_block_cpu_usage", s.AverageBlockCPU)
	b = appendUint(b, "pending_net_usage", s.PendingNet)
	b = appendUint(b, "pending_cpu_usage", s.PendingCPU)
	b = appendUint(b, "total_net_weight", s.TotalNetWeight)
	b = appendUint(b, "total_cpu_weight", s.TotalCPUWeight)
	b = appendUint(b, "total_ram_bytes", s.TotalRAM)
	b = appendUint(b, "virtual_net_limit", s.VirtualNet)
	b = appendUint(b, "virtual_cpu_limit", s.VirtualCPU)
	n.b = append(b, '}')
	return n
}

func (n *line) limits(l *state.ResourceLimits) *line {
	b := appendName(append(n.space().b, '{'), "owner", l.Owner)
	b = appendInt(b, "net_weight", l.NetWeight)
	b = appendInt(b, "cpu_weight", l.CPUWeight)
	n.b = append(appendInt(b, "ram_bytes", l.RAMBytes), '}')
	return n
}

func (n *line) usage(u *state.ResourceUsage) *line {
	b := appendName(append(n.space().b, '{'), "owner", u.Owner)
	b = appendUsage(b, "net_usage", u.Net)
	b = appendUsage(b, "cpu_usage", u.CPU)
	n.b = append(appendUint(b, "ram_usage", u.RAM), '}')
	return n
}

func (n *line) permission(p *state.Permission, parent uint64) *line {
	n.b = appendPermission(n.space().b, p, parent)
	return n
}

// appendPermission writes a permission_object. Its usage object was made with it, one
// id below: the first permission, which is reserved, has none.
func appendPermission(b []byte, p *state.Permission, parent uint64) []byte {
	b = appendUint(append(b, '{'), "usage_id", max(p.ID, 1)-1)
	b = appendUint(b, "parent", parent)
	b = appendName(b, "owner", p.Key.Owner)
	b = appendName(b, "name", p.Key.Name)
	b = p.LastUpdated.AppendJSON(variant.AppendKey(b, "last_updated"))
	return append(p.Authority.AppendJSON(variant.AppendKey(b, "auth")), '}')
}

// feature writes what protocol_feature::to_variant does.
func (n *line) feature(f *feature.Feature) *line {
	b := f.Digest.AppendJSON(variant.AppendKey(append(n.space().b, '{'), "feature_digest"))
	b = append(variant.AppendKey(b, "subjective_restrictions"), '{')
	b = variant.AppendBool(variant.AppendKey(b, "enabled"), f.Enabled)
	b = variant.AppendBool(variant.AppendKey(b, "preactivation_required"), f.PreactivationRequired)
	b = append(f.EarliestActivation.AppendJSON(variant.AppendKey(b, "earliest_allowed_activation_time")), '}')
	b = f.Description.AppendJSON(variant.AppendKey(b, "description_digest"))
	b = variant.AppendList(variant.AppendKey(b, "dependencies"), f.Dependencies,
		func(b []byte, d *types.Checksum256) []byte { return d.AppendJSON(b) })
	b = variant.AppendString(variant.AppendKey(b, "protocol_feature_type"), "builtin")
	b = append(variant.AppendKey(b, "specification"), '[', '{')
	b = variant.AppendString(variant.AppendKey(b, "name"), "builtin_feature_codename")
	b = variant.AppendString(variant.AppendKey(b, "value"), f.Codename.String())
	n.b = append(b, "}]}"...)
	return n
}
