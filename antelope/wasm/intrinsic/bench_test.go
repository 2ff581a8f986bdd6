package intrinsic

import "testing"

func BenchmarkCall(b *testing.B) {
	h := newHarness(nil)
	h.a.Chain, h.chain.itr, h.a.Data = by(silent{h.chain}), 3, make([]byte, 64)
	for _, c := range []struct {
		name string
		s    []uint64
	}{
		{"require_auth", []uint64{1}}, {"read_action_data", []uint64{100, 64}}, {"db_find_i64", []uint64{1, 2, 3, 4}},
		{"db_get_i64", []uint64{1, 100, 64}}, {"db_idx256_lowerbound", []uint64{1, 2, 3, 100, 2, 200}},
		{"memcpy", []uint64{100, 300, 64}}, {"__multi3", []uint64{104, 1, 2, 3, 4}}, {"sha256", []uint64{100, 64, 300}},
	} {
		f, s := h.table[c.name], make([]uint64, 8)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				copy(s, c.s)
				if _, err := f.call(h.a, h.m, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
