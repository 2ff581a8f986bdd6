package rpc

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// object is JSON under way.
type object []byte

func (o object) uint(key string, v uint64) object {
	return variant.AppendUint64(variant.AppendKey(o, key), v)
}
func (o object) int(key string, v int64) object {
	return variant.AppendInt64(variant.AppendKey(o, key), v)
}
func (o object) text(key, v string) object {
	return variant.AppendString(variant.AppendKey(o, key), v)
}
func (o object) boolean(key string, v bool) object {
	return variant.AppendBool(variant.AppendKey(o, key), v)
}
func (o object) json(key string, v interface{ AppendJSON([]byte) []byte }) object {
	return v.AppendJSON(variant.AppendKey(o, key))
}
func (o object) name(key string, v types.Name) object {
	return v.AppendJSON(variant.AppendKey(o, key))
}

// list adds a member with the elements of a list, each of which prints itself.
func list[T interface{ AppendJSON([]byte) []byte }](o object, key string, v []T) object {
	return variant.AppendList(variant.AppendKey(o, key), v, func(b []byte, e *T) []byte { return (*e).AppendJSON(b) })
}

// headCache keeps the header state of the newest block that was asked for, and
// what get_info said of it.
type headCache struct {
	head atomic.Pointer[headEntry]
	info atomic.Pointer[infoEntry]
}

type headEntry struct {
	raw   []byte
	state *consensus.HeaderState
}

// headOf returns the header state of a view's block.
func (a *API) headOf(v *state.View) (*consensus.HeaderState, error) {
	raw, err := v.Head()
	if err != nil {
		return nil, err
	}
	if e := a.heads.head.Load(); e != nil && bytes.Equal(e.raw, raw) {
		return e.state, nil
	}
	e := &headEntry{raw: bytes.Clone(raw)}
	head, err := consensus.DecodeHead(e.raw)
	if err != nil {
		return nil, err
	}
	e.state = head.HeaderState
	a.heads.head.Store(e)
	return e.state, nil
}

// infoEntry is an answer of get_info with what it depends on.
type infoEntry struct {
	head, root, best *consensus.HeaderState
	earliest         uint32
	config           state.ResourceConfig // nothing on Spring's chain
	usage            state.ResourceState  // the same
	json             []byte
}

func (q chain) getInfo(b []byte) ([]byte, error) {
	a := q.api
	v, err := a.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	head, err := a.headOf(v)
	if err != nil {
		return b, err
	}
	fork := a.Chain.Fork()
	now := infoEntry{head: head, root: fork.Root().HeaderState, best: a.best(fork).HeaderState,
		earliest: a.earliest(fork)}
	// Leap tells what the pending block has used up by now, Spring what there was when the head had come.
	spring := head.IsActive(a.Features, feature.Savanna)
	if !spring {
		if now.config, now.usage, err = v.Resources(); err != nil {
			return b, err
		}
	}
	if e := a.heads.info.Load(); e != nil && e.head == now.head && e.root == now.root && e.best == now.best &&
		e.earliest == now.earliest && e.config == now.config && e.usage == now.usage {
		return append(b, e.json...), nil
	}
	c, s := now.config, now.usage
	if spring {
		if c, s, err = v.Resources(); err != nil {
			return b, err
		}
		s.PendingCPU, s.PendingNet = 0, 0
	}
	now.json = a.info(&now, &c, &s)
	a.heads.info.Store(&now)
	return append(b, now.json...), nil
}

func (a *API) info(e *infoEntry, c *state.ResourceConfig, s *state.ResourceState) []byte {
	o := object("{").text("server_version", fmt.Sprintf("%08x", a.Version)).json("chain_id", a.Chain.ID())
	o = o.uint("head_block_num", uint64(e.head.BlockNum)).uint("last_irreversible_block_num", uint64(e.root.BlockNum))
	o = o.json("last_irreversible_block_id", e.root.ID).json("head_block_id", e.head.ID)
	o = o.json("head_block_time", e.head.Header.Timestamp).name("head_block_producer", e.head.Header.Producer)
	o = o.uint("virtual_block_cpu_limit", s.VirtualCPU).uint("virtual_block_net_limit", s.VirtualNet)
	o = o.uint("block_cpu_limit", c.CPU.Max-s.PendingCPU).uint("block_net_limit", c.Net.Max-s.PendingNet)
	o = o.text("server_version_string", a.VersionString)
	o = o.uint("fork_db_head_block_num", uint64(e.best.BlockNum)).json("fork_db_head_block_id", e.best.ID)
	o = o.text("server_full_version_string", a.FullVersion)
	o = o.uint("total_cpu_weight", s.TotalCPUWeight).uint("total_net_weight", s.TotalNetWeight)
	o = o.uint("earliest_available_block_num", uint64(e.earliest)).
		json("last_irreversible_block_time", e.root.Header.Timestamp)
	return append(o, '}')
}

// earliest is the number of the first block that can be had (Leap:
// controller::earliest_available_block_num).
func (a *API) earliest(fork *consensus.ForkDatabase) uint32 {
	if first := a.Blocks.First(); first != 0 {
		return first
	}
	return fork.Root().BlockNum
}

func (q chain) getConsensusParameters(b []byte) ([]byte, error) {
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	one, err := v.Singletons()
	if err != nil {
		return b, err
	}
	head, err := q.api.headOf(v)
	if err != nil {
		return b, err
	}
	o := object(append(b, '{')).json("chain_config", one.Global.Configuration)
	if head.IsActive(q.api.Features, feature.ConfigurableWasmLimits) {
		o = o.json("wasm_config", one.Global.Wasm)
	}
	return append(o, '}'), nil
}

// activation is where a feature stands in the list of those that are active.
type activation struct {
	ordinal int
	block   uint32
}

// appendFeature appends what nodeos tells about a feature: where it was activated,
// or what the operator decided about it (Leap: protocol_feature::to_variant).
func appendFeature(b []byte, f *feature.Feature, at *activation) []byte {
	o := object(append(b, '{')).json("feature_digest", f.Digest)
	if at != nil {
		o = o.uint("activation_ordinal", uint64(at.ordinal)).uint("activation_block_num", uint64(at.block))
	} else {
		o = object(append(variant.AppendKey(o, "subjective_restrictions"), '{')).boolean("enabled", f.Enabled)
		o = o.boolean("preactivation_required", f.PreactivationRequired)
		o = append(o.json("earliest_allowed_activation_time", f.EarliestActivation), '}')
	}
	o = list(o.json("description_digest", f.Description), "dependencies", f.Dependencies)
	o = o.text("protocol_feature_type", "builtin")
	o = object(append(o, `,"specification":[{"name":"builtin_feature_codename"`...)).text("value", f.Codename.String())
	return append(o, `}]}`...)
}

func (q chain) getActivatedFeatures(b []byte) ([]byte, error) {
	lower, upper := q.optionalUint32("lower_bound"), q.optionalUint32("upper_bound")
	q.uint32("limit", 0)
	byBlock, reverse := q.boolean("search_by_block_num", false), q.boolean("reverse", false)
	q.optionalUint32("time_limit_ms")
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	one, err := v.Singletons()
	if err != nil {
		return b, err
	}
	within := func(i int) bool {
		at := uint32(i)
		if byBlock {
			at = one.Protocol.Activated[i].Block
		}
		return (lower == nil || at >= *lower) && (upper == nil || at <= *upper)
	}
	b = append(b, `{"activated_protocol_features":[`...)
	first := len(b)
	for k := range one.Protocol.Activated {
		i := k
		if reverse {
			i = len(one.Protocol.Activated) - 1 - k
		}
		if !within(i) {
			continue
		}
		if len(b) > first {
			b = append(b, ',')
		}
		active := one.Protocol.Activated[i]
		f := q.api.Features.Find(active.Digest)
		if f == nil {
			return b, exception.New(exception.ProtocolFeature, "unrecognized protocol feature digest: ${digest}",
				"digest", active.Digest)
		}
		b = appendFeature(b, f, &activation{i, active.Block})
	}
	return append(b, `]}`...), nil
}

// schedules are those of the block that is being made after head, or else head's own.
func (a *API) schedules(head *consensus.HeaderState) *consensus.Schedules {
	if a.Schedules != nil {
		if s := a.Schedules(); s != nil && s.Previous == head.ID {
			return s
		}
	}
	return &consensus.Schedules{Active: head.ActiveSchedule, Pending: head.PendingSchedule()}
}

func (q chain) getProducerSchedule(b []byte) ([]byte, error) {
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	head, err := q.api.headOf(v)
	if err != nil {
		return b, err
	}
	one, err := v.Singletons()
	if err != nil {
		return b, err
	}
	s := q.api.schedules(head)
	schedule := func(o object, key string, s *types.ProducerSchedule, evenEmpty bool) object {
		if s == nil || len(s.Producers) == 0 && !evenEmpty {
			return append(variant.AppendKey(o, key), "null"...)
		}
		return o.json(key, s)
	}
	o := object(append(b, '{')).json("active", s.Active)
	// Spring tells that nothing waits by an empty schedule, until proper blocks follow.
	o = schedule(o, "pending", s.Pending, head.IsActive(q.api.Features, feature.Savanna) && !head.PrecedesProper())
	proposed := &one.Global.ProposedSchedule
	// what is proposed since counts
	if at := one.Global.ProposedScheduleBlock; at == nil || s.Promoted && *at <= head.BlockNum {
		proposed = nil
	}
	return append(schedule(o, "proposed", proposed, false), '}'), nil
}
