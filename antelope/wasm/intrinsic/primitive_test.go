package intrinsic

import (
	"bytes"
	"slices"

	"tarn/antelope/exception"
)

// run calls a function with spans, each in memory of its own, and with integers as
// they are; a []byte that is the last argument is what comes out.
func (h *harness) run(want int32, fn string, args ...any) {
	h.Helper()
	h.Log(fn)
	var s []uint64
	p, out := 1001, -1
	for _, a := range args {
		switch a := a.(type) {
		case []byte:
			at, n := h.put(p, a)
			s, out, p = append(s, at, n), p, p+len(a)+100
		case int:
			s = append(s, uint64(a))
		}
	}
	_ = out
	if f := h.table[fn]; f.result == none {
		h.call(fn, s...)
		return
	}
	h.returns(i32(want), fn, s...)
}

// comes expects what run left in a span.
func (h *harness) comes(fn string, in []any, n int, want []byte) {
	h.Helper()
	out := bytes.Repeat([]byte{0xee}, n)
	at := 1001
	for _, a := range in {
		if b, ok := a.([]byte); ok {
			at += len(b) + 100
		}
	}
	for i, a := range in { // the place of what comes out
		if a == nil {
			in = slices.Clone(in)
			at = 1001
			for _, b := range in[:i] {
				if b, ok := b.([]byte); ok {
					at += len(b) + 100
				}
			}
			in[i] = out
			h.run(0, fn, in...)
			h.holds(at, want)
			return
		}
	}
	h.run(0, fn, append(slices.Clone(in), out)...)
	h.holds(at, want)
}

func le(n int, v ...byte) []byte { return append(v, make([]byte, n-len(v))...) }
func be(n int, v ...byte) []byte { return append(make([]byte, n-len(v)), v...) }

func primitiveBehaviours() map[string]behaviour {
	bn := append(be(32, 1), be(32, 2)...) // the generator
	tests := map[string]behaviour{
		"alt_bn128_add": func(h *harness) {
			double := unhex(h, "030644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd3"+
				"15ed738c0e0a7c92e7845f96b2ae9c0a68a6a449e3538fc7ff3ebf7a5a18a2c4")
			h.comes("alt_bn128_add", []any{bn, make([]byte, 64)}, 64, bn)
			h.comes("alt_bn128_add", []any{bn, bn}, 65, append(double, 0xee))
			h.run(-1, "alt_bn128_add", bn, bn, make([]byte, 63))
			h.run(-1, "alt_bn128_add", bn[1:], bn, make([]byte, 64))
		},
		"alt_bn128_mul": func(h *harness) {
			h.comes("alt_bn128_mul", []any{bn, be(32, 1)}, 64, bn)
			h.run(-1, "alt_bn128_mul", be(32, 1), bn, make([]byte, 64))
		},
		"alt_bn128_pair": func(h *harness) {
			h.run(0, "alt_bn128_pair", []byte{})
			h.run(-1, "alt_bn128_pair", make([]byte, 191))
			h.run(0, "alt_bn128_pair", make([]byte, 192))
		},
		"mod_exp": func(h *harness) {
			h.comes("mod_exp", []any{be(4, 3), be(4, 5), be(4, 100)}, 4, be(4, 43))
			h.comes("mod_exp", []any{be(4, 5), be(4, 3), be(2, 100)}, 3, []byte{0, 25, 0xee})
			h.run(-1, "mod_exp", be(4, 5), be(4, 3), be(4, 100), make([]byte, 3))
			h.a.Speculative = true
			h.run(0, "mod_exp", be(4, 5), be(4, 3), be(4, 100), make([]byte, 4))
			h.fails(exception.SubjectiveBlockProduction, "", "mod_exp", 1000, 4, 2000, 5, 3000, 4, 4000, 4)
			h.a.Speculative = false
			h.returns(0, "mod_exp", 1001, 4, 2001, 5, h.modulus(3001), 4, 4001, 4)
		},
		"blake2_f": func(h *harness) {
			state := unhex(h,
				"48c9bdf267e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d182e6ad7f520e511f6c3e2b8c68059b6bbd41fbabd9831f79217e1319cde05b")
			want := unhex(h,
				"ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
			message, t0, t1 := le(128, 'a', 'b', 'c'), le(8, 3), le(8)
			h.comes("blake2_f", []any{12, state, message, t0, t1, 1, nil}, 64, want)
			h.comes("blake2_f", []any{12, state, message, t0, t1, 1, nil}, 66, append(slices.Clone(want), 0xee, 0xee))
			h.run(-1, "blake2_f", 12, state, message, t0, t1, 1, make([]byte, 63))
			h.run(-1, "blake2_f", 12, state[1:], message, t0, t1, 1, make([]byte, 64))
			h.chain.timeLeft = 0
			h.fails(exception.Deadline, "time is up", "blake2_f", 100_000_000, 1001, 64, 2001, 128, 3001, 8, 4001,
				8, 1, 5001, 64)
		},
		"sha3": func(h *harness) {
			sha3 := unhex(h, "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a")
			keccak := unhex(h, "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
			h.comes("sha3", []any{[]byte{}, nil, 0}, 33, append(slices.Clone(sha3), 0xee))
			h.comes("sha3", []any{[]byte{}, nil, 2}, 32, sha3)
			h.comes("sha3", []any{[]byte{}, nil, 1}, 32, keccak)
			h.comes("sha3", []any{[]byte{}, nil, 1}, 5, keccak[:5])
			h.comes("sha3", []any{[]byte("abc"), nil, 0}, 32,
				unhex(h, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"))
			h.chain.timeLeft = 0
			h.fails(exception.Deadline, "time is up", "sha3", 1001, 10241, 101, 32, 0)
		},
		"k1_recover": func(h *harness) {
			digest := unhex(h, "ce0677bb30baa8cf067c88db9811f4333d131bf8bcf12fe7065d211dce971008")
			sig := unhex(h, "1c"+
				"90f27b8b488db00b00606796d2987f6a5f59ae62ea05effe84fef5b8b0e549984a691139ad57a3f0b906637673aa2f63d1f55cb1a69199d4009eea23ceaddc93")
			want := unhex(h,
				"04e32df42865e97135acfb65f3bae71bdc86f4d49150ad6a440b6f15878109880a0a2b2667f7e725ceea70c673093bf67663e0312623c8e091b13cf2c0f11ef652")
			h.comes("k1_recover", []any{sig, digest}, 66, append(want, 0xee))
			h.run(-1, "k1_recover", sig, digest, make([]byte, 64))
			h.run(-1, "k1_recover", digest, sig, make([]byte, 65))
		},
	}
	for n, b := range blsBehaviours() {
		tests[n] = b
	}
	return tests
}

// modulus writes one of four bytes.
func (h *harness) modulus(p int) uint64 {
	at, _ := h.put(p, be(4, 7))
	return at
}

// out runs a function that writes n bytes and returns them.
func (h *harness) out(fn string, n int, args ...any) []byte {
	h.Helper()
	at := 1001
	for _, a := range args {
		if b, ok := a.([]byte); ok {
			at += len(b) + 100
		}
	}
	h.run(0, fn, append(slices.Clone(args), make([]byte, n))...)
	return bytes.Clone(h.m[at : at+n])
}

func (h *harness) same(what string, a, b []byte) {
	h.Helper()
	if !bytes.Equal(a, b) || bytes.Equal(a, make([]byte, len(a))) {
		h.Errorf("%s: %x, %x", what, a, b)
	}
}

func blsBehaviours() map[string]behaviour {
	g1 := func(h *harness, e byte) []byte { return h.out("bls_g1_map", 96, le(48, e)) }
	g2 := func(h *harness, e byte) []byte { return h.out("bls_g2_map", 192, le(96, e)) }
	adds := func(add, sum string, point func(*harness, byte) []byte, n int) behaviour {
		return func(h *harness) {
			p, q := point(h, 1), point(h, 2)
			h.same("a sum", h.out(add, n, p, q),
				h.out(sum, n, append(slices.Clone(p), q...), append(le(32, 1), le(32, 1)...), 2))
			h.same("a double", h.out(add, n, p, p), h.out(sum, n, p, le(32, 2), 1))
			h.run(-1, add, p, q, make([]byte, n+1))
			h.run(-1, add, p[1:], q, make([]byte, n))
		}
	}
	sums := func(sum string, point func(*harness, byte) []byte, n int) behaviour {
		return func(h *harness) {
			p, q := point(h, 1), point(h, 2)
			h.same("once", h.out(sum, n, p, le(32, 1), 1), p)
			h.same("weights", h.out(sum, n, append(slices.Clone(p), q...), append(le(32, 0), le(32, 1)...), 2), q)
			h.run(-1, sum, p, le(32, 1), 0, make([]byte, n))
			h.run(-1, sum, p, le(32, 1), 2, make([]byte, n))
			h.run(-1, sum, le(32, 1), p, 1, make([]byte, n))
			h.chain.timeLeft = 0
			at, k := h.put(1001, bytes.Repeat(p, 30))
			sp, sn := h.put(20001, bytes.Repeat([]byte{0xfe}, 30*32))
			h.fails(exception.Deadline, "time is up", sum, at, k, sp, sn, 30, 30001, uint64(n))
		}
	}
	return map[string]behaviour{
		"bls_g1_add":          adds("bls_g1_add", "bls_g1_weighted_sum", g1, 96),
		"bls_g2_add":          adds("bls_g2_add", "bls_g2_weighted_sum", g2, 192),
		"bls_g1_weighted_sum": sums("bls_g1_weighted_sum", g1, 96),
		"bls_g2_weighted_sum": sums("bls_g2_weighted_sum", g2, 192),
		"bls_pairing": func(h *harness) {
			p, q := g1(h, 1), g2(h, 1)
			double := h.out("bls_pairing", 576, h.out("bls_g1_add", 96, p, p), q, 1)
			h.same("a pairing of doubles", double, h.out("bls_pairing", 576, p, h.out("bls_g2_add", 192, q, q), 1))
			h.run(-1, "bls_pairing", p, q, 2, make([]byte, 576))
			h.run(-1, "bls_pairing", q, p, 1, make([]byte, 576))
			h.run(-1, "bls_pairing", p, q, 1, make([]byte, 575))
			h.chain.timeLeft = 0
			at, n := h.put(1001, p)
			bt, k := h.put(2001, q)
			h.fails(exception.Deadline, "time is up", "bls_pairing", at, n, bt, k, 1, 3001, 576)
		},
		"bls_g1_map": func(h *harness) {
			h.same("a point", g1(h, 1), g1(h, 1))
			h.run(-1, "bls_g1_map", make([]byte, 96), make([]byte, 48))
			h.run(-1, "bls_g1_map", bytes.Repeat([]byte{0xff}, 48), make([]byte, 96))
		},
		"bls_g2_map": func(h *harness) {
			h.same("a point", g2(h, 1), g2(h, 1))
			h.run(-1, "bls_g2_map", make([]byte, 192), make([]byte, 96))
		},
		"bls_fp_mod": func(h *harness) {
			h.comes("bls_fp_mod", []any{le(64, 5)}, 48, le(48, 5))
			h.run(-1, "bls_fp_mod", make([]byte, 48), make([]byte, 64))
		},
		"bls_fp_mul": func(h *harness) {
			h.comes("bls_fp_mul", []any{le(48, 5), le(48, 7)}, 48, le(48, 35))
			h.run(-1, "bls_fp_mul", le(48, 5), le(48, 7), make([]byte, 49))
		},
		"bls_fp_exp": func(h *harness) {
			h.comes("bls_fp_exp", []any{le(48, 2), le(64, 5)}, 48, le(48, 32))
			h.comes("bls_fp_exp", []any{le(48, 5), le(64, 2)}, 48, le(48, 25))
			h.run(-1, "bls_fp_exp", le(64, 2), le(48, 5), make([]byte, 48))
		},
	}
}
