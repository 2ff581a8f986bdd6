package intrinsic

import (
	"math"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// setFinalizers proposes finalizers (Spring: webassembly/privileged.cpp).
func setFinalizers(a *Apply, m []byte, s []uint64) (uint64, error) {
	if err := a.writable("set_finalizers"); err != nil {
		return 0, err
	}
	if s[0] != 0 {
		return 0, exception.New(exception.WasmExecutionError, "Finalizer policy is in an unknown format!")
	}
	packed := span(m, s, 1)
	r := a.reader(packed)
	threshold, list, count := readFinalizers(a, r)
	if err := unpackError(r, len(packed)); err != nil {
		return 0, err
	}
	switch {
	case count > types.MaxFinalizers:
		return 0, exception.New(exception.WasmExecutionError,
			"Finalizer policy exceeds the maximum finalizer count for this chain")
	case count == 0:
		return 0, exception.New(exception.WasmExecutionError, "Finalizers cannot be empty")
	}
	policy := &types.FinalizerPolicy{Threshold: threshold, Finalizers: make([]types.Finalizer, count)}
	if err := a.checkFinalizers(policy, list); err != nil {
		return 0, err
	}
	a.Chain.SetFinalizers(policy)
	return 0, nil
}

// packedFinalizer is a finalizer as contracts give it, in the contract's memory.
type packedFinalizer struct {
	description, key []byte
	weight           uint64
}

// readFinalizers reads the threshold and the finalizers, of which it keeps as many as a policy may
// have.
func readFinalizers(a *Apply, r *serial.Reader) (threshold uint64, list []packedFinalizer, count int) {
	threshold = r.Uint64()
	count = r.Count(1 + 8 + 1)
	list = make([]packedFinalizer, 0, min(count, types.MaxFinalizers))
	for range count {
		a.Charge(floating)
		f := packedFinalizer{description: r.Bytes(), weight: r.Uint64(), key: r.Bytes()}
		if r.Err() != nil {
			break
		}
		if len(list) < cap(list) {
			list = append(list, f)
		}
	}
	return threshold, list, count
}

// checkFinalizers checks the finalizers one after the other, and takes them into a policy.
func (a *Apply) checkFinalizers(policy *types.FinalizerPolicy, list []packedFinalizer) error {
	var sum uint64
	known := make(map[types.BLSPublicKey]bool, len(list))
	for i := range list {
		p, f := &list[i], &policy.Finalizers[i]
		a.Charge(changing) // a point is looked for on the curve
		switch {
		case len(p.description) > types.MaxFinalizerDescription:
			return exception.New(exception.WasmExecutionError, "Finalizer description greater than ${s}",
				"s", types.MaxFinalizerDescription)
		case math.MaxUint64-sum < p.weight:
			return exception.New(exception.WasmExecutionError, "sum of weights causes uint64_t overflow")
		case len(p.key) != len(f.Key):
			return exception.New(exception.WasmExecutionError, "Invalid bls public key length")
		case !crypto.BLSG1Valid(p.key):
			return exception.New(exception.FCAssert, "assertion failed") // libfc gives no reason
		}
		sum += p.weight
		*f = types.Finalizer{Description: string(p.description), Weight: p.weight, Key: types.BLSPublicKey(p.key)}
		if known[f.Key] {
			return exception.New(exception.WasmExecutionError, "Duplicate public key: ${pk}", "pk", f.Key)
		}
		known[f.Key] = true
	}
	if sum < policy.Threshold || policy.Threshold <= sum/2 {
		return exception.New(exception.WasmExecutionError,
			"Finalizer policy threshold (${t}) must be greater than half of the sum of the weights (${w}), and less "+
				"than or equal to the sum of the weights",
			"t", policy.Threshold, "w", sum)
	}
	return nil
}
