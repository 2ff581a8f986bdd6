package intrinsic

import (
	"math"

	"filippo.io/nistec"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// privilegedEntries are the functions of privileged contracts (Leap:
// webassembly/privileged.cpp).
func privilegedEntries() []entry {
	return []entry{
		{"is_feature_active", privileged, []arg{u64}, wasm.I32, price{changing, writing}, isFeatureActive},
		{"activate_feature", privileged, []arg{u64}, none, price{changing, writing}, activateFeature},
		{"preactivate_feature", privileged, []arg{ref32}, none, price{changing, writing}, preactivateFeature},
		{"set_resource_limits", privileged, []arg{u64, u64, u64, u64}, none, price{changing, writing}, setResourceLimits},
		{"get_resource_limits", privileged, []arg{u64, ref8, ref8, ref8}, none, price{changing, writing}, getResourceLimits},
		{"set_proposed_producers", privileged, []arg{chars}, wasm.I64, price{changing, writing}, setProposedProducers},
		{"set_proposed_producers_ex", privileged, []arg{u64, chars}, wasm.I64, price{changing, writing}, setProposedProducersEx},
		{"set_finalizers", privileged, []arg{u64, block}, none, price{changing, writing}, setFinalizers},
		{"get_blockchain_parameters_packed", privileged, []arg{chars}, wasm.I32, price{changing, writing}, getBlockchainParameters},
		{"set_blockchain_parameters_packed", privileged, []arg{chars}, none, price{changing, writing}, setBlockchainParameters},
		{"get_parameters_packed", privileged, []arg{block, block}, wasm.I32, price{changing, writing}, getParameters},
		{"set_parameters_packed", privileged, []arg{block}, none, price{changing, writing}, setParameters},
		{"get_wasm_parameters_packed", privileged, []arg{block, u32}, wasm.I32, price{changing, writing}, getWasmParameters},
		{"set_wasm_parameters_packed", privileged, []arg{block}, none, price{changing, writing}, setWasmParameters},
		{"is_privileged", privileged, []arg{u64}, wasm.I32, price{changing, writing}, isPrivileged},
		{"set_privileged", privileged, []arg{u64, u32}, none, price{changing, writing}, setPrivileged},
	}
}

// isFeatureActive and activateFeature are of an older scheme of protocol features. As in nodeos,
// no feature of that scheme is active, and none can be activated.
func isFeatureActive(*Apply, []byte, []uint64) (uint64, error) { return 0, nil }

func activateFeature(*Apply, []byte, []uint64) (uint64, error) {
	return 0, exception.New(exception.UnsupportedFeature, "Unsupported Hardfork Detected")
}

func preactivateFeature(a *Apply, m []byte, s []uint64) (uint64, error) {
	if err := a.writable("preactivate_feature"); err != nil {
		return 0, err
	}
	return 0, a.Chain.PreactivateFeature(types.Checksum256(ref(m, s, 0, 32)))
}

func setResourceLimits(a *Apply, _ []byte, s []uint64) (uint64, error) {
	if err := a.writable("set_resource_limits"); err != nil {
		return 0, err
	}
	for i, what := range [...]string{"ram resource limit", "net resource weight", "cpu resource weight"} {
		if int64(s[1+i]) < -1 {
			return 0, exception.New(exception.WasmExecutionError, "invalid value for "+what+" expected [-1,INT64_MAX]")
		}
	}
	return 0, a.Chain.SetResourceLimits(types.Name(s[0]), int64(s[1]), int64(s[2]), int64(s[3]))
}

// getResourceLimits writes three results, which may overlap: first those that are
// aligned, then, as nodeos copies them back, those that are not.
func getResourceLimits(a *Apply, m []byte, s []uint64) (uint64, error) {
	ram, net, cpu, err := a.Chain.ResourceLimits(types.Name(s[0]))
	if err != nil {
		return 0, err
	}
	for _, inPlace := range [...]bool{true, false} {
		for i, v := range [...]int64{ram, net, cpu} {
			if aligned(s, 1+i, 8) == inPlace {
				put64(m, s, 1+i, uint64(v))
			}
		}
	}
	return 0, nil
}

func isPrivileged(a *Apply, _ []byte, s []uint64) (uint64, error) {
	ok, err := a.Chain.IsPrivileged(types.Name(s[0]))
	return truth(ok), err
}

func setPrivileged(a *Apply, _ []byte, s []uint64) (uint64, error) {
	if err := a.writable("set_privileged"); err != nil {
		return 0, err
	}
	return 0, a.Chain.SetPrivileged(types.Name(s[0]), uint32(s[1]) != 0)
}

func setProposedProducers(a *Apply, m []byte, s []uint64) (uint64, error) {
	if err := a.writable("set_proposed_producers"); err != nil {
		return 0, err
	}
	return a.proposeKeys(span(m, s, 0))
}

func setProposedProducersEx(a *Apply, m []byte, s []uint64) (uint64, error) {
	if err := a.writable("set_proposed_producers_ex"); err != nil {
		return 0, err
	}
	packed := span(m, s, 1)
	switch s[0] {
	case 0:
		return a.proposeKeys(packed)
	case 1:
		producers, err := unpackList(a, packed, 14, (*types.ProducerAuthority).Read)
		if err != nil {
			return 0, err
		}
		return a.propose(producers, false)
	default:
		return 0, exception.New(exception.WasmExecutionError, "Producer schedule is in an unknown format!")
	}
}

// unpackList reads an array whose elements take at least least bytes.
func unpackList[T any](a *Apply, b []byte, least int, read func(*T, *serial.Reader)) ([]T, error) {
	r := a.reader(b)
	list := make([]T, r.Count(least))
	for i := range list {
		a.Charge(floating)
		read(&list[i], r)
	}
	return list, unpackError(r, len(b))
}

// proposeKeys proposes producers with a key each.
func (a *Apply) proposeKeys(packed []byte) (uint64, error) {
	list, err := unpackList(a, packed, 42, (*types.LegacyProducerKey).Read)
	if err != nil {
		return 0, err
	}
	producers := make([]types.ProducerAuthority, len(list))
	for i, p := range list {
		producers[i] = types.ProducerAuthority{Producer: p.Producer, Authority: types.BlockSigningAuthority{
			Threshold: 1, Keys: []types.KeyWeight{{Key: p.Key, Weight: 1}},
		}}
	}
	return a.propose(producers, true)
}

func (a *Apply) propose(producers []types.ProducerAuthority, checkKeys bool) (uint64, error) {
	if len(producers) > a.Chain.MostProducers() {
		return 0, exception.New(exception.WasmExecutionError,
			"Producer schedule exceeds the maximum producer count for this chain")
	}
	if len(producers) == 0 && !a.Chain.EmptyScheduleAllowed() {
		return 0, exception.New(exception.WasmExecutionError, "Producer schedule cannot be empty")
	}
	unique := make(map[types.Name]bool, len(producers))
	for i := range producers {
		p := &producers[i]
		ok, err := a.Chain.IsAccount(p.Producer)
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, exception.New(exception.WasmExecutionError, "producer schedule includes a nonexisting account")
		}
		if err := a.signing(p, checkKeys); err != nil {
			return 0, err
		}
		unique[p.Producer] = true
	}
	if len(unique) != len(producers) {
		return 0, exception.New(exception.WasmExecutionError, "duplicate producer name in producer schedule")
	}
	version, err := a.Chain.SetProposedProducers(producers)
	return uint64(version), err
}

// signing checks a producer's authority.
func (a *Apply) signing(p *types.ProducerAuthority, checkKeys bool) error {
	var sum uint32
	unique := make(map[types.PublicKey]bool, len(p.Authority.Keys))
	for _, k := range p.Authority.Keys {
		a.Charge(looking)
		if err := a.key(&k.Key, "in proposed producer schedule"); err != nil {
			return err
		}
		if checkKeys {
			if err := present(k.Key); err != nil {
				return err
			}
		}
		if math.MaxUint32-sum <= uint32(k.Weight) {
			sum = math.MaxUint32
		} else {
			sum += uint32(k.Weight)
		}
		unique[k.Key] = true
	}
	what := ""
	switch {
	case len(unique) != len(p.Authority.Keys):
		what = "a duplicated key"
	case p.Authority.Threshold == 0:
		what = "an authority with a threshold of 0"
	case sum < p.Authority.Threshold:
		what = "an unsatisfiable authority"
	default:
		return nil
	}
	return exception.New(exception.WasmExecutionError, "producer schedule includes "+what+" for ${account}",
		"account", p.Producer)
}

// present tells whether a key is one (libfc: public_key::valid): not all zero for K1;
// for R1 one that starts with a 0 byte is none, and one that is no point fails in the
// library; WebAuthn keys were checked when they were read.
func present(k types.PublicKey) error {
	ok := true
	switch k.Type {
	case types.K1:
		ok = k.Point != [33]byte{}
	case types.R1:
		ok = k.Point[0] != 0
		if ok {
			if _, err := nistec.NewP256Point().SetBytes(k.Point[:]); err != nil {
				return exception.New(exception.FCUnspecified, "error decoding public key")
			}
		}
	}
	if !ok {
		return exception.New(exception.WasmExecutionError, "producer schedule includes an invalid key")
	}
	return nil
}
