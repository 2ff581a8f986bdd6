package intrinsic

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// readOnly expects a function to refuse a read-only transaction.
func (h *harness) readOnly(fn string, args ...uint64) {
	h.Helper()
	h.a.ReadOnly, h.chain.calls = true, nil
	h.fails(exception.WasmExecutionError, fn+" not allowed in a readonly transaction", fn, args...)
	h.checkAsked()
	h.a.ReadOnly = false
}

func privilegedBehaviours() map[string]behaviour {
	return map[string]behaviour{
		"is_feature_active": func(h *harness) { h.returns(0, "is_feature_active", 1) },
		"activate_feature": func(h *harness) {
			h.fails(exception.UnsupportedFeature, "Unsupported Hardfork Detected", "activate_feature", 1)
		},
		"preactivate_feature": func(h *harness) {
			h.put(101, []byte{0x12, 31: 0x34})
			h.call("preactivate_feature", 101)
			h.checkAsked("PreactivateFeature(12" + strings.Repeat("00", 30) + "34)")
			h.forwards("preactivate_feature", 101)
			h.readOnly("preactivate_feature", 101)
		},
		"set_resource_limits": func(h *harness) {
			minus := func(n int64) uint64 { return uint64(-n) }
			h.call("set_resource_limits", name("alice"), minus(1), 0, 1<<63-1)
			h.checkAsked("SetResourceLimits(alice,-1,0,9223372036854775807)")
			h.fails(exception.WasmExecutionError, "invalid value for ram resource limit expected [-1,INT64_MAX]",
				"set_resource_limits", 1, minus(2), minus(2), minus(2))
			h.fails(exception.WasmExecutionError, "invalid value for net resource weight expected [-1,INT64_MAX]",
				"set_resource_limits", 1, 0, 1<<63, minus(2))
			h.fails(exception.WasmExecutionError, "invalid value for cpu resource weight expected [-1,INT64_MAX]",
				"set_resource_limits", 1, 0, 0, minus(2))
			h.checkAsked()
			h.forwards("set_resource_limits", 1, 1, 1, 1)
			h.readOnly("set_resource_limits", 1, minus(2), 1, 1)
		},
		"get_resource_limits": getsLimits,
		"is_privileged": func(h *harness) {
			h.returns(0, "is_privileged", name("alice"))
			h.chain.yes = true
			h.returns(1, "is_privileged", name("bob"))
			h.checkAsked("IsPrivileged(alice)", "IsPrivileged(bob)")
			h.forwards("is_privileged", 1)
		},
		"set_privileged": func(h *harness) {
			h.call("set_privileged", name("alice"), 0)
			h.call("set_privileged", name("alice"), 1<<31)
			h.checkAsked("SetPrivileged(alice,false)", "SetPrivileged(alice,true)")
			h.forwards("set_privileged", 1, 1)
			h.readOnly("set_privileged", 1, 1)
		},
		"set_proposed_producers":    proposesKeys,
		"set_proposed_producers_ex": proposesAuthorities,
		"set_finalizers":            proposesFinalizers,

		"get_blockchain_parameters_packed": func(h *harness) {
			want := h.chain.config.AppendV0(nil)
			const fn = "get_blockchain_parameters_packed"
			h.returns(68, fn, 101, 0)
			h.returns(0, fn, 101, 67)
			h.holds(101, make([]byte, 69))
			h.returns(68, fn, 101, 68)
			h.holds(101, append(want, 0))
			h.returns(68, fn, 201, 99)
			h.holds(201, append(want, 0))
		},
		"set_blockchain_parameters_packed": func(h *harness) {
			const fn = "set_blockchain_parameters_packed"
			h.chain.config.MaxActionReturnValueSize = 77
			cfg := h.chain.config
			cfg.MaxBlockNetUsage, cfg.MaxAuthorityDepth = 1<<40, 9
			p, n := h.put(101, append(cfg.AppendV0(nil), 9))
			h.call(fn, p, n)
			h.checkAsked("SetChainConfig")
			if h.chain.config != cfg {
				h.Errorf("set %v, want %v", h.chain.config, cfg)
			}
			h.fails(exception.FCOutOfRange, "", fn, p, 67)
			h.forwards(fn, p, n)
			h.readOnly(fn, p, n)
			cfg.MaxAuthorityDepth = 0
			h.put(101, cfg.AppendV0(nil))
			h.fails(exception.ActionValidate, "max authority depth should be at least 1", fn, p, n)
			h.checkAsked()
		},
		"get_parameters_packed": getsParameters,
		"set_parameters_packed": setsParameters,
		"get_wasm_parameters_packed": func(h *harness) {
			const fn = "get_wasm_parameters_packed"
			want := h.chain.wasmConfig.Append(make([]byte, 4))
			h.returns(48, fn, 101, 0, 0)
			h.returns(48, fn, 101, 47, 0)
			h.holds(101, make([]byte, 48))
			h.returns(48, fn, 101, 48, 5)
			h.holds(101, append(want, 0))
		},
		"set_wasm_parameters_packed": func(h *harness) {
			const fn = "set_wasm_parameters_packed"
			cfg := h.chain.wasmConfig
			cfg.MaxPages = 1
			p, n := h.put(101, append(cfg.Append(make([]byte, 4)), 9))
			h.call(fn, p, n)
			h.checkAsked("SetWasmConfig")
			if h.chain.wasmConfig != cfg {
				h.Errorf("set %v, want %v", h.chain.wasmConfig, cfg)
			}
			h.fails(exception.FCOutOfRange, "", fn, p, 3)
			h.fails(exception.FCOutOfRange, "", fn, p, 47)
			h.forwards(fn, p, n)
			h.readOnly(fn, p, 0)
			cfg.MaxPages = 0
			h.put(101, cfg.Append(make([]byte, 4)))
			h.fails(exception.ActionValidate, "max_pages cannot be less than 1", fn, p, n)
			h.put(101, []byte{1})
			h.fails(exception.WasmConfigUnknownVersion, "set_wasm_parameters_packed: Unknown version: 1", fn, p, 4)
			h.checkAsked()
		},
	}
}

func getsLimits(h *harness) {
	h.chain.limits = [3]int64{-1, 1 << 40, 7}
	h.call("get_resource_limits", name("alice"), 101, 115, 205)
	if h.word(101) != ^uint64(0) || h.word(115) != 1<<40 || h.word(205) != 7 {
		h.Errorf("limits %d %d %d", h.word(101), h.word(115), h.word(205))
	}
	h.checkAsked("ResourceLimits(alice)")
	h.forwards("get_resource_limits", 1, 101, 115, 205)
	// Where results overlap, aligned ones are written first, each group in order.
	words := [3][]byte{bytes.Repeat([]byte{0xff}, 8), {0, 0, 0, 0, 0, 1, 0, 0}, {7, 0, 0, 0, 0, 0, 0, 0}}
	for p := uint64(96); p < 108; p++ {
		for q := uint64(96); q < 108; q++ {
			for r := uint64(96); r < 108; r++ {
				clear(h.m)
				want := make([]byte, 128)
				for _, late := range [2]bool{false, true} {
					for i, at := range [3]uint64{p, q, r} {
						if (at%8 != 0) == late {
							copy(want[at:], words[i])
						}
					}
				}
				h.call("get_resource_limits", 1, p, q, r)
				h.holds(0, want)
			}
		}
	}
}

func k1(b byte) types.PublicKey { return types.PublicKey{Type: types.K1, Point: [33]byte{2, b}} }

func proposesKeys(h *harness) {
	const fn = "set_proposed_producers"
	keys := func(list ...types.LegacyProducerKey) (p, n uint64) {
		b := serial.AppendCount(nil, len(list))
		for _, k := range list {
			b = k.Append(b)
		}
		return h.put(1000, append(b, 9))
	}
	h.chain.number, h.chain.yes = -1, true
	p, n := keys(types.LegacyProducerKey{Producer: 5, Key: k1(1)}, types.LegacyProducerKey{Producer: 4, Key: k1(1)})
	h.returns(^uint64(0), fn, p, n)
	want := []types.ProducerAuthority{
		{Producer: 5, Authority: types.BlockSigningAuthority{Threshold: 1, Keys: []types.KeyWeight{{Key: k1(1), Weight: 1}}}},
		{Producer: 4, Authority: types.BlockSigningAuthority{Threshold: 1, Keys: []types.KeyWeight{{Key: k1(1), Weight: 1}}}},
	}
	if !reflect.DeepEqual(h.chain.proposed, want) {
		h.Errorf("proposed %v, want %v", h.chain.proposed, want)
	}
	h.returns(^uint64(0), "set_proposed_producers_ex", 0, p, n)
	h.fails(exception.FCOutOfRange, "", fn, p, 30)
	h.readOnly(fn, p, n)
	h.chain.number = 12
	h.returns(12, fn, p, n)
	h.chain.calls = nil
	h.forwards(fn, p, n)

	generator, err := hex.DecodeString("036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
	if err != nil {
		h.Fatal(err)
	}
	for _, c := range []struct {
		key  types.PublicKey
		kind *exception.Kind
	}{
		{types.PublicKey{Type: types.K1}, exception.WasmExecutionError},
		{types.PublicKey{Type: types.K1, Point: [33]byte{0, 1}}, nil},
		{types.PublicKey{Type: types.R1, Point: [33]byte(generator)}, nil},
		{types.PublicKey{Type: types.R1, Point: [33]byte{0, 1}}, exception.WasmExecutionError},
		{types.PublicKey{Type: types.R1, Point: [33]byte{4, 1}}, exception.FCUnspecified},
		{types.PublicKey{Type: types.WebAuthn, RPID: "x"}, exception.UnactivatedKeyType},
	} {
		p, n := keys(types.LegacyProducerKey{Producer: 5, Key: c.key})
		if c.kind == nil {
			h.call(fn, p, n)
			continue
		}
		h.fails(c.kind, "", fn, p, n)
	}
	h.chain.keyTypes = 3
	p, n = keys(types.LegacyProducerKey{Producer: 5, Key: types.PublicKey{Type: types.WebAuthn, RPID: "x"}})
	h.call(fn, p, n)
	h.chain.yes = false
	h.fails(exception.WasmExecutionError, "producer schedule includes a nonexisting account", fn, p, n)
}

func proposesAuthorities(h *harness) {
	const fn = "set_proposed_producers_ex"
	propose := func(list ...types.ProducerAuthority) []uint64 {
		b := serial.AppendCount(nil, len(list))
		for _, a := range list {
			b = a.Append(b)
		}
		p, n := h.put(1000, append(b, 9))
		return []uint64{1, p, n}
	}
	producer := func(n types.Name, threshold uint32, keys ...types.KeyWeight) types.ProducerAuthority {
		return types.ProducerAuthority{Producer: n,
			Authority: types.BlockSigningAuthority{Threshold: threshold, Keys: keys}}
	}
	h.chain.number, h.chain.yes = 3, true
	alice := types.N("alice")
	want := []types.ProducerAuthority{
		producer(alice, 5, types.KeyWeight{Key: k1(1), Weight: 2}, types.KeyWeight{Key: k1(2), Weight: 3}),
		producer(4, 1, types.KeyWeight{Key: types.PublicKey{}, Weight: 1}), // keys are not looked at here
	}
	h.returns(3, fn, propose(want...)...)
	if !reflect.DeepEqual(h.chain.proposed, want) {
		h.Errorf("proposed %v, want %v", h.chain.proposed, want)
	}
	h.chain.calls = nil
	h.forwards(fn, propose(want...)...)
	h.readOnly(fn, 7, 0, 0)
	for _, c := range []struct {
		message string
		args    []uint64
	}{
		{"Producer schedule is in an unknown format!", []uint64{2, 0, 0}},
		{"Producer schedule is in an unknown format!", []uint64{1 << 32, 0, 0}},
		{"duplicate producer name in producer schedule", propose(producer(1, 1, types.KeyWeight{Key: k1(1), Weight: 1}),
			producer(1, 1, types.KeyWeight{Key: k1(1), Weight: 1}))},
	} {
		h.fails(exception.WasmExecutionError, c.message, fn, c.args...)
	}
	h.fails(exception.WasmExecutionError, "producer schedule includes a duplicated key for alice", fn,
		propose(producer(alice, 0, types.KeyWeight{Key: k1(1), Weight: 1}, types.KeyWeight{Key: k1(1), Weight: 2}))...)
	h.fails(exception.WasmExecutionError, "producer schedule includes an authority with a threshold of 0 for alice",
		fn, propose(producer(alice, 0))...)
	h.fails(exception.WasmExecutionError, "producer schedule includes an unsatisfiable authority for alice", fn,
		propose(producer(alice, 4, types.KeyWeight{Key: k1(1), Weight: 3}))...)
	h.fails(exception.UnactivatedKeyType, "Unactivated key type used in proposed producer schedule", fn,
		propose(producer(alice, 0,
			types.KeyWeight{Key: types.PublicKey{Type: types.WebAuthn, RPID: "x"}, Weight: 1}))...)

	many := make([]types.ProducerAuthority, 126)
	for i := range many {
		many[i] = producer(types.Name(i+1), 1, types.KeyWeight{Key: k1(1), Weight: 1})
	}
	h.call(fn, propose(many[:125]...)...)
	h.fails(exception.WasmExecutionError, "Producer schedule exceeds the maximum producer count for this chain",
		fn, propose(many...)...)
	h.call(fn, propose()...)
	h.chain.noEmpty = true
	h.fails(exception.WasmExecutionError, "Producer schedule cannot be empty", fn, propose()...)
	h.chain.yes = false
	h.fails(exception.WasmExecutionError, "producer schedule includes a nonexisting account", fn, propose(many[0])...)
	h.fails(exception.FCOutOfRange, "", fn, 1, 1000, 0)
}

func getsParameters(h *harness) {
	const fn = "get_parameters_packed"
	get := func(ids ...byte) []uint64 {
		p, n := h.put(1000, append([]byte{byte(len(ids))}, ids...))
		return []uint64{p, n}
	}
	cfg := &h.chain.config
	cfg.MaxBlockNetUsage, cfg.MaxTransactionDelay, cfg.MaxAuthorityDepth, cfg.MaxActionReturnValueSize = 0x0102, 0x0304,
		0x0506, 0x0708
	want := []byte{3, 16, 6, 5, 0, 2, 1, 0, 0, 0, 0, 0, 0, 13, 4, 3, 0, 0}
	h.returns(18, fn, append(get(16, 0, 13), 101, 0)...)
	h.returns(18, fn, append(get(16, 0, 13), 101, 19)...)
	h.holds(101, append(want, 0))
	h.fails(exception.ConfigParseError, "get_parameters_packed: buffer size is smaller than 18",
		fn, append(get(16, 0, 13), 101, 17)...)
	h.returns(1, fn, append(get(), 101, 0)...)
	h.fails(exception.ConfigParseError, "provided id 18 should be less than 18", fn, append(get(18), 101, 0)...)
	h.fails(exception.ConfigParseError, "duplicate id provided: 3", fn, append(get(3, 4, 3), 101, 0)...)
	h.fails(exception.UnsupportedFeature, "config id 17 is no allowed", fn, append(get(17), 101, 0)...)
	h.chain.returning = true
	h.returns(6, fn, append(get(17), 101, 6)...)
	h.holds(101, []byte{1, 17, 8, 7, 0, 0})
	h.fails(exception.FCOutOfRange, "", fn, 1000, 1, 101, 0)
	all := make([]byte, 18)
	for i := range all {
		all[i] = byte(i)
	}
	h.returns(1+18+8+4*15+2*2, fn, append(get(all...), 2000, 1000)...)
}

func setsParameters(h *harness) {
	const fn = "set_parameters_packed"
	before := h.chain.config
	set := func(b ...byte) []uint64 {
		p, n := h.put(101, b)
		return []uint64{p, n}
	}
	h.call(fn, set(2, 15, 7, 0, 3, 8, 0, 0, 0, 99)...) // what follows is ignored
	h.checkAsked("SetChainConfig")
	want := before
	want.MaxInlineActionDepth, want.BasePerTransactionNetUsage = 7, 8
	if h.chain.config != want {
		h.Errorf("set %v, want %v", h.chain.config, want)
	}
	h.chain.calls = nil
	h.forwards(fn, set(1, 16, 1, 0)...)
	h.readOnly(fn, set(1, 16, 1, 0)...)
	h.fails(exception.ActionValidate, "max authority depth should be at least 1", fn, set(1, 16, 0, 0)...)
	h.fails(exception.ConfigParseError, "provided id 18 should be less than 18", fn, set(1, 18, 0, 0)...)
	h.fails(exception.ConfigParseError, "duplicate id provided: 16", fn, set(2, 16, 1, 0, 16, 1, 0)...)
	h.fails(exception.UnsupportedFeature, "config id 17 is no allowed", fn, set(1, 17, 1, 0, 0, 0)...)
	h.fails(exception.FCOutOfRange, "", fn, set(2, 16, 1, 0)...)
	h.fails(exception.FCOutOfRange, "read datastream of length 3 over by 0", fn, set(1, 16, 1)...)
	h.fails(exception.FCOutOfRange, "read datastream of length 0 over by 1", fn, set()...)
	h.chain.returning = true
	h.call(fn, set(1, 17, 1, 0, 0, 0)...)
	h.fails(exception.ActionValidate, "max action return value size should be less than MAX_SIZE_OF_BYTE_ARRAYS",
		fn, set(1, 17, 1, 0, 0x40, 1)...)
}

func TestAProducerIsAskedForOnce(t *testing.T) {
	h := newHarness(t)
	h.chain.yes = true
	p, n := h.put(1000,
		append([]byte{1}, types.LegacyProducerKey{Producer: types.N("alice"), Key: k1(1)}.Append(nil)...))
	h.call("set_proposed_producers", p, n)
	h.checkAsked("IsAccount(alice)", "SetProposedProducers")
}

func TestWeightsDoNotWrapAround(t *testing.T) {
	h := newHarness(t)
	h.m = make([]byte, 64*wasm.PageSize)
	h.chain.yes = true
	keys := make([]types.KeyWeight, 65538) // of the highest weight: a little over 2^32
	for i := range keys {
		keys[i] = types.KeyWeight{Key: types.PublicKey{Point: [33]byte{2, byte(i), byte(i >> 8), byte(i >> 16)}},
			Weight: 65535}
	}
	producer := types.ProducerAuthority{Producer: 1,
		Authority: types.BlockSigningAuthority{Threshold: 1<<32 - 1, Keys: keys}}
	p, n := h.put(1000, producer.Append([]byte{1}))
	h.call("set_proposed_producers_ex", 1, p, n)
	producer.Authority.Keys = keys[:65536]
	p, n = h.put(1000, producer.Append([]byte{1}))
	h.fails(exception.WasmExecutionError, "producer schedule includes an unsatisfiable authority for ............1",
		"set_proposed_producers_ex", 1, p, n)
}
