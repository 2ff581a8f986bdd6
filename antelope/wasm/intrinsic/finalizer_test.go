package intrinsic

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// blsKey is the public key that belongs to a small number.
func blsKey(t testing.TB, number byte) []byte {
	t.Helper()
	p := crypto.NewBLSPrivateKey([32]byte{number}).Public()
	return p[:]
}

// proposed is a finalizer as contracts give it.
type proposed struct {
	description string
	weight      uint64
	key         []byte
}

// pack is what set_finalizers takes, with a byte more, which is ignored.
func pack(threshold uint64, list ...proposed) []byte {
	b := serial.AppendCount(serial.AppendUint64(nil, threshold), len(list))
	for _, f := range list {
		b = serial.AppendBytes(serial.AppendUint64(serial.AppendString(b, f.description), f.weight), f.key)
	}
	return append(b, 9)
}

func proposesFinalizers(h *harness) {
	const fn = "set_finalizers"
	h.m = make([]byte, 1<<20) // room for too many finalizers
	one, two := blsKey(h, 1), blsKey(h, 2)
	none := make([]byte, 96) // the point at infinity is one
	put := func(b []byte) []uint64 {
		p, n := h.put(1000, b)
		return []uint64{0, p, n}
	}
	h.call(fn, put(pack(3, proposed{"a", 2, one}, proposed{"", 3, none}))...)
	want := &types.FinalizerPolicy{Threshold: 3,
		Finalizers: []types.Finalizer{{Description: "a", Weight: 2, Key: types.BLSPublicKey(one)}, {Weight: 3}}}
	if !reflect.DeepEqual(h.chain.finalizers, want) {
		h.Errorf("proposed %v, want %v", h.chain.finalizers, want)
	}
	h.readOnly(fn, put(pack(1, proposed{"", 1, one}))...)

	damaged := append([]byte(nil), one...)
	damaged[0] ^= 1
	outside, err := hex.DecodeString(strings.Repeat("ff", 96))
	if err != nil {
		h.Fatal(err)
	}
	many := make([]proposed, types.MaxFinalizers+1)
	for _, c := range []struct {
		packed  []byte
		kind    *exception.Kind
		message string
	}{
		{pack(1)[:8], exception.FCOutOfRange, ""},
		{pack(1, proposed{"", 1, one})[:60], exception.FCOutOfRange, ""},
		{pack(1), exception.WasmExecutionError, "Finalizers cannot be empty"},
		{pack(1, many...), exception.WasmExecutionError, "Finalizer policy exceeds the maximum finalizer count for this chain"},
		{pack(1, proposed{strings.Repeat("x", 257), 1, one}), exception.WasmExecutionError, "Finalizer description greater than 256"},
		{pack(1, proposed{"", 1 << 63, one}, proposed{"", 1 << 63, two}), exception.WasmExecutionError, "sum of weights causes uint64_t overflow"},
		{pack(1, proposed{"", 1, one[:95]}), exception.WasmExecutionError, "Invalid bls public key length"},
		{pack(1, proposed{"", 1, damaged}), exception.FCAssert, ""},
		{pack(1, proposed{"", 1, outside}), exception.FCAssert, ""},
		{pack(2, proposed{"", 1, one}, proposed{"", 1, one}), exception.WasmExecutionError, "Duplicate public key: " + types.BLSPublicKey(one).String()},
		{pack(3, proposed{"", 1, one}, proposed{"", 1, two}), exception.WasmExecutionError,
			"Finalizer policy threshold (3) must be greater than half of the sum of the weights (2), and less than " +
				"or equal to the sum of the weights"},
		{pack(1, proposed{"", 1, one}, proposed{"", 1, two}), exception.WasmExecutionError,
			"Finalizer policy threshold (1) must be greater than half of the sum of the weights (2), and less than " +
				"or equal to the sum of the weights"},
	} {
		h.chain.finalizers = nil
		h.fails(c.kind, c.message, fn, put(c.packed)...)
		if h.chain.finalizers != nil {
			h.Errorf("%s: finalizers were proposed", c.message)
		}
	}
	args := put(pack(1, proposed{"", 1, one}))
	args[0] = 1
	h.fails(exception.WasmExecutionError, "Finalizer policy is in an unknown format!", fn, args...)
	h.call(fn, put(pack(1, proposed{strings.Repeat("x", 256), 1, one}))...)
}
