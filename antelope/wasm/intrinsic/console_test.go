package intrinsic

import (
	"math"
	"testing"
)

// prints expects what a function prints, and that it prints nothing while nobody
// keeps it.
func (h *harness) prints(want, fn string, args ...uint64) {
	h.Helper()
	h.chain.printed = nil
	h.a.Console = true
	h.call(fn, args...)
	if string(h.chain.printed) != want {
		h.Errorf("%s prints %q, want %q", fn, h.chain.printed, want)
	}
	h.chain.printed = nil
	h.a.Console = false
	h.call(fn, args...)
	if h.chain.printed != nil {
		h.Errorf("%s prints %q, want nothing", fn, h.chain.printed)
	}
}

func consoleBehaviours() map[string]behaviour {
	return map[string]behaviour{
		"prints": func(h *harness) {
			h.put(100, []byte("a\tb\n\x01\xff\x00rest"))
			h.prints("a\tb\n\x01\xff", "prints", 100)
			h.prints("", "prints", 106)
			h.prints("rest", "prints", 107)
		},
		"prints_l": func(h *harness) {
			p, n := h.put(100, []byte("a\x00\x1b[1m\xfe"))
			h.prints("a\x00\x1b[1m\xfe", "prints_l", p, n)
			h.prints("", "prints_l", p, 0)
		},
		"printi": func(h *harness) {
			h.prints("0", "printi", 0)
			h.prints("-1", "printi", ^uint64(0))
			h.prints("-9223372036854775808", "printi", 1<<63)
			h.prints("9223372036854775807", "printi", 1<<63-1)
		},
		"printui": func(h *harness) {
			h.prints("0", "printui", 0)
			h.prints("18446744073709551615", "printui", ^uint64(0))
		},
		"printi128": func(h *harness) {
			for _, c := range []struct {
				lo, hi uint64
				want   string
			}{
				{0, 0, "0"}, {1, 0, "1"}, {^uint64(0), ^uint64(0), "-1"}, {0, 1, "18446744073709551616"},
				{0, 1 << 63, "-170141183460469231731687303715884105728"},
				{^uint64(0), 1<<63 - 1, "170141183460469231731687303715884105727"},
			} {
				h.prints(c.want, "printi128", h.putWord(101, c.lo, c.hi))
			}
		},
		"printui128": func(h *harness) {
			h.prints("0", "printui128", h.putWord(101, 0, 0))
			h.prints("340282366920938463463374607431768211455", "printui128", h.putWord(104, ^uint64(0), ^uint64(0)))
			h.prints("10000000000000000000000", "printui128", h.putWord(104, 0x19e0c9bab2400000, 0x21e))
		},
		"printsf": func(h *harness) {
			for want, v := range map[string]uint32{
				"0.000000e+00": 0, "-0.000000e+00": 1 << 31, "1.000000e+00": math.Float32bits(1),
				"-1.234567e+02": math.Float32bits(-123.4567), "3.402823e+38": math.Float32bits(math.MaxFloat32),
				"1.401298e-45": 1, "inf": 0x7f800000, "-inf": 0xff800000, "nan": 0x7fc00000, "-nan": 0xffc00001,
			} {
				h.prints(want, "printsf", uint64(v))
			}
		},
		"printdf": func(h *harness) {
			for want, v := range map[string]uint64{
				"0.000000000000000e+00": 0, "-0.000000000000000e+00": 1 << 63,
				"1.000000000000000e-01":   math.Float64bits(0.1),
				"-1.797693134862316e+308": math.Float64bits(-math.MaxFloat64), "4.940656458412465e-324": 1,
				"inf": math.Float64bits(math.Inf(1)), "-inf": math.Float64bits(math.Inf(-1)), "nan": 0x7ff8000000000000,
				"-nan": 0xfff8000000000000,
			} {
				h.prints(want, "printdf", v)
			}
		},
		"printqf": func(h *harness) {
			for want, v := range map[string][2]uint64{
				"0.000000000000000000e+00":    {0, 0},
				"-1.000000000000000000e+00":   {0, 0xbfff000000000000},
				"1.000000000000000000e-01":    {0x999999999999999a, 0x3ffb999999999999},
				"1.189731495357229652e+4932":  {0, 0x7ffeffffffffffff},
				"1.189731495357231765e+4932":  {0xfffe000000000000, 0x7ffeffffffffffff}, // as far as 64 bits go
				"inf":                         {0, 0x7fff000000000000},
				"-nan":                        {1, 0xffff000000000000},
				"3.141592653589793239e+00":    {0x8469898cc51701b8, 0x4000921fb54442d1},
				"-3.362103143112093506e-4932": {0, 0x8001000000000000},
			} {
				h.prints(want, "printqf", h.putWord(101, v[0], v[1]))
			}
		},
		"printn": func(h *harness) {
			h.prints("eosio.token", "printn", name("eosio.token"))
			h.prints("", "printn", 0)
		},
		"printhex": func(h *harness) {
			p, n := h.put(100, []byte{0, 0x0f, 0xa0, 0xff})
			h.prints("000fa0ff", "printhex", p, n)
			h.prints("", "printhex", 0, 0)
		},
	}
}

func TestPrintingAllocatesNothingOnceItHasRoom(t *testing.T) {
	h := newHarness(t)
	h.put(100, []byte("text\x00"))
	for name, args := range map[string][]uint64{
		"prints": {100}, "prints_l": {100, 4}, "printi": {5}, "printui": {5}, "printn": {name("alice")},
		"printhex":  {100, 4},
		"printi128": {100}, "printdf": {5}, "printqf": {100},
	} {
		f, s := h.table[name], append(args, 0, 0)
		for _, console := range []bool{false, true} {
			if console && (name == "printi128" || name == "printdf" || name == "printqf") {
				continue
			}
			h.a.Console = console
			h.chain.printed = make([]byte, 0, 1<<20)
			n := testing.AllocsPerRun(100, func() {
				if _, err := f.call(h.a, h.m, s); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 {
				t.Errorf("%s with console %t: %g allocations", name, console, n)
			}
		}
	}
}
