package difftest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"tarn/antelope/types"
)

// scripts writes random scripts for one account with the script contract, most of
// them valid.
type scripts struct {
	*world
	account types.Name
	full    bool // the contract that imports all
	id      uint64
}

func (w *world) scripts(account types.Name, full bool) *scripts {
	return &scripts{world: w, account: account, full: full}
}

// begin starts a script; its row is one of a few, or a new one.
func (g *scripts) begin() *script {
	g.id++
	return newScript(g.id%50, byte(storeRow|g.Rand.IntN(2)*printDigest))
}

// number64 is an integer with a bias to the edges.
func number64(r *rand.Rand) uint64 {
	switch r.IntN(6) {
	case 0:
		return uint64(r.IntN(4))
	case 1:
		return -uint64(r.IntN(4))
	case 2:
		return 1<<63 - uint64(r.IntN(3))
	case 3:
		return 1<<r.IntN(64) - uint64(r.IntN(2))
	case 4:
		return uint64(r.Uint32())
	}
	return r.Uint64()
}

// double is the bits of a float64, of every kind.
func double(r *rand.Rand) uint64 {
	sign := uint64(r.IntN(2)) << 63
	switch r.IntN(9) {
	case 0:
		return sign
	case 1:
		return sign | 0x7ff<<52
	case 2:
		return sign | 0x7ff<<52 | r.Uint64()>>12 | 1
	case 3:
		return sign | 0x7ff8<<48
	case 4:
		return sign | r.Uint64()>>(12+r.IntN(52))
	case 5:
		return math.Float64bits(float64(r.IntN(40)-20) / 2)
	case 6:
		return math.Float64bits(math.Ldexp(1, r.IntN(130)-2)+float64(r.IntN(3)-1)) | sign
	case 7:
		return math.Float64bits(r.NormFloat64() * math.Ldexp(1, r.IntN(80)-10))
	}
	return r.Uint64()
}

// single is the bits of a float32, of every kind.
func single(r *rand.Rand) uint64 {
	sign := uint32(r.IntN(2)) << 31
	switch r.IntN(8) {
	case 0:
		return uint64(sign)
	case 1:
		return uint64(sign | 0xff<<23)
	case 2:
		return uint64(sign | 0xff<<23 | r.Uint32()>>9 | 1)
	case 3:
		return uint64(sign | r.Uint32()>>(9+r.IntN(23)))
	case 4:
		return uint64(math.Float32bits(float32(r.IntN(40)-20) / 2))
	case 5:
		return uint64(math.Float32bits(float32(math.Ldexp(1, r.IntN(66)))) | sign)
	case 6:
		return uint64(math.Float32bits(float32(r.NormFloat64() * 1000)))
	}
	return uint64(r.Uint32())
}

// quad is a float128's two words.
func quad(r *rand.Rand) (lo, hi uint64) {
	sign := uint64(r.IntN(2)) << 63
	switch r.IntN(8) {
	case 0:
		return 0, sign
	case 1:
		return 0, sign | 0x7fff<<48
	case 2:
		return r.Uint64(), sign | 0x7fff<<48 | r.Uint64()>>16
	case 3:
		return r.Uint64() >> r.IntN(64), sign | r.Uint64()>>(16+r.IntN(48))
	case 4, 5: // about the size of integers
		return r.Uint64() << r.IntN(64), sign | uint64(0x3fff-3+r.IntN(134))<<48 | r.Uint64()>>16
	case 6:
		return 0, sign | uint64(0x3fff+r.IntN(130))<<48
	}
	return r.Uint64(), r.Uint64()
}

// steps of some kinds, by the beginning of their names.
func stepsOf(keep func(f hostFunction) bool) []hostFunction {
	return slices.DeleteFunc(hostFunctions(), func(f hostFunction) bool { return !keep(f) })
}

// arithmetic steps do not fail, but the divisions and truncations.
func arithmetic() []hostFunction {
	return stepsOf(func(f hostFunction) bool { return len(f.code) == 1 && f.code[0] >= 0x45 })
}

func builtins() []hostFunction {
	return stepsOf(func(f hostFunction) bool { return len(f.name) > 2 && f.name[:2] == "__" })
}

// mayTrap tells whether an instruction has operands that it fails with.
func mayTrap(op byte) bool {
	return op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82 || op >= 0xa8 && op <= 0xab || op >= 0xae && op <= 0xb1
}

// instructions of the machine with operands of all kinds.
func (g *scripts) math(s *script, traps bool) {
	all := arithmetic()
	for range 10 + g.Rand.IntN(80) {
		f := pick(g.Driver, all)
		if mayTrap(f.code[0]) && !traps {
			continue
		}
		s.call(f.name, g.Rand.IntN(8), g.operands(f.signature)...)
	}
}

func (g *scripts) operands(signature string) []operand {
	parameters, _ := signatureParts(signature)
	var out []operand
	for i := range len(parameters) {
		o := number(number64(g.Rand))
		switch parameters[i] {
		case 'f':
			o = number(single(g.Rand))
		case 'd':
			o = number(double(g.Rand))
		}
		if g.One(3) {
			o = register(g.Rand.IntN(8))
		}
		out = append(out, o)
	}
	return out
}

// builtin calls the compiler's functions of 128 bits.
func (g *scripts) builtin(s *script) {
	all := builtins()
	for range 10 + g.Rand.IntN(50) {
		f := pick(g.Driver, all)
		parameters, results := signatureParts(f.signature)
		isFloat := f.name[len(f.name)-3:len(f.name)-1] == "tf" ||
			slices.Contains([]string{"__trunctfdf2", "__trunctfsf2"}, f.name) ||
			containsAny(f.name, "fixtf", "fixunstf")
		var o []operand
		for i := 0; i < len(parameters); i++ {
			switch {
			case parameters[i] == 'i' && i == 0 && results == "":
				o = append(o, pointer(scratchAt+16*g.Rand.IntN(8)))
			case parameters[i] == 'i':
				o = append(o, number(uint64(g.Rand.IntN(140))))
			case parameters[i] == 'f':
				o = append(o, number(single(g.Rand)))
			case parameters[i] == 'd':
				o = append(o, number(double(g.Rand)))
			case isFloat && i+1 < len(parameters) && parameters[i+1] == 'l':
				lo, hi := quad(g.Rand)
				o = append(o, number(lo), number(hi))
				i++
			default:
				o = append(o, number(number64(g.Rand)))
			}
		}
		s.call(f.name, g.Rand.IntN(8), o...)
		s.call("mix", -1, pointer(scratchAt), number(128))
	}
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool {
		for i := 0; i+len(p) <= len(s); i++ {
			if s[i:i+len(p)] == p {
				return true
			}
		}
		return false
	})
}

// callPrints calls the functions that print, whose text is in the traces only.
func (g *scripts) callPrints(s *script) {
	at := s.data(append(g.bytes(20), 0))
	lo, hi := quad(g.Rand)
	q := s.words(lo, hi)
	s.call("prints", -1, pointer(s.data([]byte("text\x00"))))
	s.call("prints_l", -1, pointer(at), number(uint64(g.Rand.IntN(20))))
	s.call("printi", -1, number(number64(g.Rand)))
	s.call("printui", -1, number(number64(g.Rand)))
	s.call("printi128", -1, pointer(at))
	s.call("printui128", -1, pointer(at))
	s.call("printsf", -1, number(single(g.Rand)))
	s.call("printdf", -1, number(double(g.Rand)))
	s.call("printqf", -1, pointer(q))
	s.call("printn", -1, number(number64(g.Rand)))
	s.call("printhex", -1, pointer(at), number(16))
}

func (g *scripts) bytes(most int) []byte {
	b := make([]byte, g.Rand.IntN(most+1))
	for i := range b {
		b[i] = byte(g.Rand.Uint32())
	}
	return b
}

// hashes calls the digests and checks what they give.
func (g *scripts) hashes(s *script) {
	for _, h := range []struct {
		name string
		size int
	}{{"sha256", 32}, {"sha1", 20}, {"sha512", 64}, {"ripemd160", 20}} {
		b := g.bytes(200)
		at := s.data(b)
		out := scratchAt + g.Rand.IntN(40)
		s.call(h.name, -1, pointer(at), number(uint64(len(b))), pointer(out))
		s.call("mix", -1, pointer(out), number(uint64(h.size)))
		s.call("assert_"+h.name, -1, pointer(at), number(uint64(len(b))), pointer(out))
	}
	digest := types.Hash(g.bytes(10))
	key := pick(g.Driver, g.pool)
	signed, err := key.Sign(digest)
	if err != nil {
		s.err = err
		return
	}
	signature, public := signed.Append(nil), key.Public().Append(nil)
	if g.One(8) {
		signature[1+g.Rand.IntN(60)] ^= 4 // another key, or none
	}
	d, sig, pub := s.data(digest[:]), s.data(signature), s.data(public)
	s.call("recover_key", 1, pointer(d), pointer(sig), number(uint64(len(signature))), pointer(scratchAt),
		number(uint64(34+g.Rand.IntN(10))))
	s.call("mix", -1, pointer(scratchAt), number(40))
	if g.One(2) {
		s.call("assert_recover_key", -1, pointer(d), pointer(sig), number(uint64(len(signature))), pointer(pub),
			number(uint64(len(public))))
	}
	if g.full {
		g.primitives(s, signature, digest)
	}
}

// primitives calls what CRYPTO_PRIMITIVES brought.
func (g *scripts) primitives(s *script, signature []byte, digest types.Checksum256) {
	b := g.bytes(300)
	out := scratchAt + 512
	s.call("sha3", -1, pointer(s.data(b)), number(uint64(len(b))), pointer(out), number(uint64(g.Rand.IntN(40))),
		number(uint64(g.Rand.IntN(3))))
	s.call("mix", -1, pointer(out), number(40))
	s.call("k1_recover", 2, pointer(s.data(signature[1:])), number(65), pointer(s.data(digest[:])), number(32),
		pointer(out), number(65))
	s.call("mix", -1, pointer(out), number(65))
	word := func(v uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 24), v) }
	p := s.data(append(word(1), word(2)...)) // the generator
	q := scratchAt + 1024
	s.call("alt_bn128_mul", 3, pointer(p), number(64), pointer(s.data(word(number64(g.Rand)))), number(32),
		pointer(q), number(64))
	s.call("alt_bn128_add", 4, pointer(p), number(64), pointer(q), number(64), pointer(q+128), number(64))
	s.call("mix", -1, pointer(q), number(200))
	bad := s.data(append(word(g.Rand.Uint64N(5)), word(3)...))
	s.call("alt_bn128_add", 4, pointer(bad), number(64), pointer(p), number(uint64(64-g.Rand.IntN(2))),
		pointer(q+256), number(64))
	s.call("alt_bn128_pair", 5, pointer(p), number(uint64(192*g.Rand.IntN(2))))
	base, exp, mod := g.bytes(40), g.bytes(4), append(g.bytes(40), byte(g.Rand.IntN(3)))
	s.call("mod_exp", 6, pointer(s.data(base)), number(uint64(len(base))), pointer(s.data(exp)),
		number(uint64(len(exp))),
		pointer(s.data(mod)), number(uint64(len(mod))), pointer(q+512), number(uint64(len(mod)+g.Rand.IntN(2))))
	s.call("mix", -1, pointer(q+512), number(48))
	state := s.data(slices.Concat(digest[:], digest[:]))
	message := s.data(make([]byte, 128))
	count := s.words(g.Rand.Uint64(), 0)
	s.call("blake2_f", 7, number(uint64(g.Rand.IntN(20))), pointer(state), number(64), pointer(message), number(128),
		pointer(count), number(8), pointer(count+8), number(8), number(uint64(g.Rand.IntN(2))),
		pointer(q+640), number(64))
	s.call("mix", -1, pointer(q+640), number(64))
}

// memory moves bytes about, now and then where it must not.
func (g *scripts) memory(s *script, traps bool) {
	at := s.data(append(g.bytes(60), make([]byte, 4)...))
	place := func() uint64 { return uint64(scratchAt + g.Rand.IntN(2000)) }
	for range 5 + g.Rand.IntN(20) {
		n := uint64(g.Rand.IntN(100))
		a := place()
		switch g.Rand.IntN(9) {
		case 0:
			s.call("memcpy", 0, number(a), number(a+n+uint64(g.Rand.IntN(50))), number(n))
		case 1:
			s.call("memmove", 0, number(a), number(place()), number(n))
		case 2:
			s.call("memset", 0, number(a), number(g.Rand.Uint64()), number(n))
		case 3:
			s.call("memcmp", 0, number(a), number(place()), number(n))
		case 4:
			s.call("memcpy", 0, number(a), pointer(at), number(uint64(g.Rand.IntN(60))))
		case 5:
			s.call("store"+pick(g.Driver, []string{"36", "3a", "37", "38", "39"}), -1, number(a),
				number(g.Rand.Uint64()))
		case 6:
			s.call("load"+pick(g.Driver, []string{"28", "2c", "29", "2a", "2b"}), g.Rand.IntN(8), number(a))
		case 7:
			s.call("memory.size", 1)
			if g.One(4) {
				s.call("memory.grow", 1, number(uint64(g.Rand.IntN(600))))
				s.call("memory.size", 1)
			}
		case 8:
			s.call("recurse", 1, number(uint64(g.Rand.IntN(240))))
		}
	}
	s.call("mix", -1, pointer(scratchAt), number(2200))
	if traps {
		bad := []func(){
			func() { s.call("load29", 0, number(g.Rand.Uint64())) },
			func() { s.call("load28", 0, number(uint64(65536-8+g.Rand.IntN(10)))) },
			func() { s.call("store37", -1, number(uint64(65536-8+g.Rand.IntN(10))), number(1)) },
			func() { s.call("memcpy", 0, number(place()), number(place()), number(uint64(g.Rand.IntN(500)))) },
			func() { s.call("memcpy", 0, number(uint64(65500)), number(place()), number(uint64(g.Rand.IntN(80)))) },
			func() { s.call("recurse", 1, number(uint64(235+g.Rand.IntN(30)))) },
			func() { s.call("unreachable", -1) },
		}
		pick(g.Driver, bad)()
	}
}

// context asks about what is going on.
func (g *scripts) context(s *script) {
	u := pick(g.Driver, g.users)
	out := pointer(scratchAt)
	s.call("current_time", 1)
	s.call("publication_time", 2)
	s.call("current_receiver", 3)
	s.call("action_data_size", 4)
	s.call("read_action_data", 5, out, number(uint64(g.Rand.IntN(300))))
	s.call("transaction_size", 6)
	s.call("read_transaction", 7, out, number(uint64(g.Rand.IntN(2000))))
	s.call("mix", -1, out, number(2000))
	s.call("expiration", 1)
	s.call("tapos_block_num", 1)
	s.call("tapos_block_prefix", 1)
	s.call("get_action", 1, number(uint64(g.Rand.IntN(2))), number(uint64(g.Rand.IntN(3))), out,
		number(uint64(g.Rand.IntN(1000))))
	s.call("mix", -1, out, number(1000))
	s.call("is_account", 1, accountOf(u))
	s.call("is_account", 1, number(g.Rand.Uint64()))
	s.call("has_auth", 1, accountOf(u))
	s.call("has_auth", 1, register(receiverRegister))
	s.call("get_active_producers", 1, out, number(uint64(g.Rand.IntN(4)*8)))
	s.call("mix", -1, out, number(32))
	s.call("get_permission_last_used", 1, accountOf(u), nameOperand(active))
	s.call("get_account_creation_time", 1, accountOf(u))
	s.call("require_auth", -1, accountOf(g.account))
	s.call("require_auth2", -1, accountOf(g.account), nameOperand(active))
	if g.full {
		s.call("get_sender", 1)
		s.call("get_block_num", 1)
		s.call("get_code_hash", 1, accountOf(u), number(0), out, number(uint64(g.Rand.IntN(60))))
		s.call("mix", -1, out, number(60))
		b := g.bytes(100)
		s.call("set_action_return_value", -1, pointer(s.data(b)), number(uint64(len(b))))
		s.call("is_feature_activated", 1, pointer(s.data(make([]byte, 32))))
	}
	g.permissionsOf(s, u)
}

// permissionsOf asks what keys and levels would satisfy.
func (g *scripts) permissionsOf(s *script, u types.Name) {
	keys := list([]types.PublicKey{g.Key(u).Public()}).Append(nil)
	if g.One(3) {
		keys = []byte{0}
	}
	levels := list([]types.PermissionLevel{level(pick(g.Driver, g.users), active)}).Append(nil)
	if g.One(2) {
		levels = []byte{0}
	}
	k, l := s.data(keys), s.data(levels)
	s.call("check_permission_authorization", 1, accountOf(u), nameOperand(pick(g.Driver, []string{active, owner})),
		pointer(k), number(uint64(len(keys))), pointer(l), number(uint64(len(levels))),
		number(uint64(g.Rand.Int64N(5_000_000))))
	t := types.Transaction{Actions: []types.Action{transfer(u, g.account, tokens(1, "SYS"), "")}}
	trx := t.Append(nil)
	s.call("check_transaction_authorization", 1, pointer(s.data(trx)), number(uint64(len(trx))),
		pointer(k), number(uint64(len(keys))), pointer(l), number(uint64(len(levels))))
}
