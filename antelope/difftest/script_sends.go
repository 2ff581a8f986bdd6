package difftest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"tarn/antelope/types"
)

// nestedAction writes the action of another script, on any of the accounts, whose depth
// of further ones is limited.
func (g *scripts) nestedAction(depth int, failing bool) types.Action {
	to := pick(g.Driver, scriptAccounts())
	h := &scripts{world: g.world, account: to, full: g.full}
	s := newScript(uint64(50+g.Rand.IntN(50)), storeRow)
	for range 1 + g.Rand.IntN(2) {
		switch g.Rand.IntN(5) {
		case 0:
			h.change(s, pick(g.Driver, indexKinds()), 5, types.N("tab"))
		case 1:
			s.call("current_time", 1)
			s.call("publication_time", 1)
			s.call("transaction_size", 1)
			if g.full {
				s.call("get_sender", 1)
			}
		case 2:
			s.call("require_recipient", -1, accountOf(pick(g.Driver, g.users)))
		default:
			if depth > 0 {
				h.inline(s, depth-1, failing)
			}
		}
	}
	if failing {
		h.fail(s)
	}
	return s.action(to, level(g.account, active))
}

// inline sends actions: scripts, transfers, native ones.
func (g *scripts) inline(s *script, depth int, failing bool) {
	for range 1 + g.Rand.IntN(2) {
		a := g.nestedAction(depth, failing && g.One(2))
		function := "send_inline"
		switch g.Rand.IntN(6) {
		case 0:
			a = transfer(g.account, pick(g.Driver, g.users), tokens(1+g.Rand.Int64N(10), "SYS"), "inline")
		case 1:
			c := newScript(0, 0) // in a context-free action there are no tables
			g.math(c, failing && g.One(3))
			a, function = c.action(pick(g.Driver, scriptAccounts())), "send_context_free_inline"
		case 2:
			u := pick(g.Driver, scriptAccounts())
			p := account("perm", g.Rand.IntN(3))
			a = with(action(system, "updateauth", u, u, p, types.N(active), g.simple(u)), level(u, active))
		}
		if failing && g.One(4) {
			a.Authorization = append(a.Authorization,
				level(pick(g.Driver, g.users), pick(g.Driver, []string{owner, active, "none"})))
		}
		b := a.Append(nil)
		s.call(function, -1, pointer(s.data(b)), number(uint64(len(b))))
	}
}

// sendDeferred sends transactions for later, replaces and cancels them.
func (g *scripts) sendDeferred(s *script, failing bool) {
	for range 1 + g.Rand.IntN(3) {
		id := s.words(g.Rand.Uint64N(30), g.Rand.Uint64N(2)*g.Rand.Uint64N(2))
		if g.One(5) {
			s.call("cancel_deferred", 1, pointer(id))
			continue
		}
		t := types.Transaction{TransactionHeader: types.TransactionHeader{
			Expiration: types.TimePointSec(g.ground.chainTime().Add(30 * time.Minute).Unix()),
			DelaySec:   uint32(g.Rand.IntN(4))}}
		for range 1 + g.Rand.IntN(2) {
			t.Actions = append(t.Actions, g.nestedAction(1, g.One(3)))
		}
		if failing && g.One(6) {
			t.ContextFreeActions = []types.Action{{Account: g.account, Name: types.N("run")}}
		}
		b := t.Append(nil)
		if len(b) > 3000 {
			continue
		}
		payer := register(receiverRegister)
		if failing && g.One(5) {
			payer = accountOf(pick(g.Driver, g.users))
		}
		replace := uint64(0) // before REPLACE_DEFERRED producers refuse to replace
		if g.full && (!failing || !g.One(3)) {
			replace = 1
		}
		s.call("send_deferred", -1, pointer(id), payer, pointer(s.data(b)), number(uint64(len(b))), number(replace))
	}
}

// fail writes a step that fails, or may.
func (g *scripts) fail(s *script) {
	message := s.data(append([]byte("it failed"), 0))
	pick(g.Driver, []func(){
		func() { s.call("eosio_assert", -1, number(g.Rand.Uint64N(2)), pointer(message)) },
		func() { s.call("eosio_assert_message", -1, number(g.Rand.Uint64N(2)), pointer(message), number(9)) },
		func() { s.call("eosio_assert_code", -1, number(g.Rand.Uint64N(2)), number(number64(g.Rand))) },
		func() { s.call("abort", -1) },
		func() { s.call("eosio_exit", -1, number(g.Rand.Uint64N(3))) },
		func() { s.call("require_auth", -1, accountOf(pick(g.Driver, g.users))) },
		func() { s.call("require_auth2", -1, accountOf(g.account), nameOperand(owner)) },
		func() { s.call("load29", 1, number(1<<31)) },
	})()
}

// wild calls any function with any operands. Those that may take for ever, or that
// only the privileged have, are left out.
func (g *scripts) wild(s *script) {
	out := []string{"blake2_f", "mod_exp", "alt_bn128_pair", "set_proposed_producers", "abort", "unreachable"}
	for range 1 + g.Rand.IntN(4) {
		f := pick(g.Driver, hostFunctions())
		if slices.Contains(out, f.name) {
			continue
		}
		parameters, _ := signatureParts(f.signature)
		var o []operand
		for i := range len(parameters) {
			switch parameters[i] {
			case 'i':
				o = append(o, number(g.wild32(s)))
			case 'l':
				o = append(o, pick(g.Driver, []operand{number(number64(g.Rand)), accountOf(pick(g.Driver, g.users)),
					register(receiverRegister), nameOperand("tab"), number(g.Rand.Uint64N(3))}))
			case 'f':
				o = append(o, number(single(g.Rand)))
			case 'd':
				o = append(o, number(double(g.Rand)))
			}
		}
		s.call(f.name, g.Rand.IntN(8), o...)
	}
}

// wild32 is a length, a place in memory or out of it, an iterator, anything.
func (g *scripts) wild32(s *script) uint64 {
	r := g.Rand
	return []func() uint64{
		func() uint64 { return r.Uint64N(70) },
		func() uint64 { return scratchAt + r.Uint64N(64) },
		func() uint64 { return scriptAt + r.Uint64N(uint64(len(s.b))) },
		func() uint64 { return 65536 - r.Uint64N(70) },
		func() uint64 { return -r.Uint64N(5) },
		func() uint64 { return 0 },
		func() uint64 { return uint64(r.Uint32()) },
	}[r.IntN(7)]()
}

// callPrivileged calls what only privileged accounts may.
func (g *scripts) callPrivileged(s *script) {
	u := accountOf(pick(g.Driver, g.users[:4])) // not the contracts': they must go on
	out := scratchAt
	limit := func() operand {
		return number(pick(g.Driver, []uint64{1<<64 - 1, 1_000_000 + g.Rand.Uint64N(1000), 50_000_000}))
	}
	for range 1 + g.Rand.IntN(5) {
		switch g.Rand.IntN(8) {
		case 0:
			s.call("set_resource_limits", -1, u, limit(), limit(), limit())
		case 1:
			s.call("get_resource_limits", -1, u, pointer(out), pointer(out+8), pointer(out+16))
			s.call("mix", -1, pointer(out), number(24))
		case 2:
			s.call("is_privileged", 1, u)
			s.call("set_privileged", -1, u, number(g.Rand.Uint64N(2)))
		case 3:
			s.call("get_blockchain_parameters_packed", 1, pointer(out), number(g.Rand.Uint64N(100)))
			s.call("mix", -1, pointer(out), number(100))
		case 4:
			c := g.sane()
			b := c.AppendV0(nil)
			s.call("set_blockchain_parameters_packed", -1, pointer(s.data(b)), number(uint64(len(b))))
		case 5:
			s.call("is_feature_active", 1, number(g.Rand.Uint64N(4)))
			s.call("is_feature_activated", 1, pointer(s.data(make([]byte, 32))))
		default:
			if g.full {
				g.parameterSets(s)
			}
		}
	}
}

// sane are parameters that let the work go on.
func (w *world) sane() types.ChainConfig {
	c := w.parameters()
	c.MinTransactionCPUUsage, c.MaxInlineActionDepth, c.MaxAuthorityDepth = min(c.MinTransactionCPUUsage, 200), 6, 6
	return c
}

// parameterSets gets and sets parameters one by one, and those of the machine.
func (g *scripts) parameterSets(s *script) {
	out := scratchAt
	var ids []byte
	for i := range byte(18) {
		if g.One(2) {
			ids = append(ids, i)
		}
	}
	packed := append([]byte{byte(len(ids))}, ids...)
	s.call("get_parameters_packed", 1, pointer(s.data(packed)), number(uint64(len(packed))), pointer(out),
		number(g.Rand.Uint64N(120)))
	s.call("mix", -1, pointer(out), number(120))
	value := []byte{2, 15}
	value = binary.LittleEndian.AppendUint16(value, uint16(4+g.Rand.IntN(3)))
	value = binary.LittleEndian.AppendUint32(append(value, 17), uint32(200+g.Rand.IntN(100)))
	s.call("set_parameters_packed", -1, pointer(s.data(value)), number(uint64(len(value))))
	s.call("get_wasm_parameters_packed", 1, pointer(out), number(uint64(40+g.Rand.IntN(20))), number(g.Rand.Uint64N(2)))
	s.call("mix", -1, pointer(out), number(60))
	c := types.DefaultWasmConfig()
	c.MaxCallDepth = uint32(245 + g.Rand.IntN(10))
	c.MaxPages = uint32(500 + g.Rand.IntN(60))
	c.MaxSectionElements = uint32(2000 + g.Rand.IntN(8000))
	c.MaxNestedStructures = uint32(500 + g.Rand.IntN(1000))
	b := c.Append(binary.LittleEndian.AppendUint32(nil, 0))
	s.call("set_wasm_parameters_packed", -1, pointer(s.data(b)), number(uint64(len(b))))
}

// contextFree is a transaction with context-free actions and data for them.
func (g *scripts) contextFree() Tx {
	s := g.begin()
	g.math(s, false)
	t := Tx{Actions: []types.Action{s.action(g.account, level(g.account, active))}}
	for range 1 + g.Rand.IntN(2) {
		c := newScript(0, 0)
		g.math(c, g.One(8))
		c.call("get_context_free_data", 1, number(g.Rand.Uint64N(3)), pointer(scratchAt), number(g.Rand.Uint64N(60)))
		c.call("get_action", 1, number(g.Rand.Uint64N(2)), number(g.Rand.Uint64N(2)), pointer(scratchAt), number(500))
		c.call("read_transaction", 1, pointer(scratchAt), number(500))
		c.call("mix", -1, pointer(scratchAt), number(500))
		if g.One(8) {
			g.wild(c)
		}
		t.ContextFree = append(t.ContextFree, c.action(g.account))
	}
	for range g.Rand.IntN(3) {
		t.ContextFreeData = append(t.ContextFreeData, g.bytes(100))
	}
	if g.One(4) {
		t.Compression = types.CompressionZlib
	}
	return t
}

func runContextFree(full bool) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		w, err := d.bootScripts(full)
		if err != nil {
			return err
		}
		g := w.scripts(scriptAccounts()[0], full)
		return d.until(until, func() error {
			if err := w.pace(15 * time.Millisecond); err != nil {
				return err
			}
			return d.May(g.contextFree())
		})
	}
}

// modules are contracts' code that is odd: parts of good ones, and good ones with
// bytes changed. Whether they are taken shows in the blocks, because the
// transactions are delayed.
func runModules(full bool) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		w, err := d.bootScripts(full)
		if err != nil {
			return err
		}
		var good [][]byte
		for _, name := range []string{"eosio.token", "eosio.wrap"} {
			wasm, _, err := d.Peer.Contract(name)
			if err != nil {
				return err
			}
			good = append(good, wasm)
		}
		return d.until(until, func() error {
			if err := w.pace(15 * time.Millisecond); err != nil {
				return err
			}
			// A producer refuses what is nested deeper while features are few, and
			// then disagrees with itself when it replays the block (Leap:
			// nested_validator is off unless a block is speculative).
			deepest := 1023
			if full {
				deepest = 1100
			}
			b := smallModule(d.Rand, deepest).encode()
			if d.One(3) {
				b = slices.Clone(pick(d, good))
			}
			if d.One(2) {
				mutate(d.Rand, &b)
			}
			u := pick(d, w.users)
			t := Tx{Delay: uint32(1 + d.Rand.IntN(2)), Actions: []types.Action{setCode(u, b)}}
			if d.One(2) {
				t.Actions = append(t.Actions, types.Action{Account: u, Name: types.N("go"),
					Authorization: []types.PermissionLevel{level(u, active)}})
			}
			return d.May(t)
		})
	}
}

// mutate changes some bytes.
func mutate(r *rand.Rand, b *[]byte) {
	for range 1 + r.IntN(3) {
		at := r.IntN(len(*b))
		switch r.IntN(4) {
		case 0:
			(*b)[at] ^= 1 << r.IntN(8)
		case 1:
			(*b)[at] = byte(r.Uint32())
		case 2:
			*b = slices.Delete(*b, at, min(at+1+r.IntN(3), len(*b)))
		case 3:
			*b = slices.Insert(*b, at, byte(r.Uint32()))
		}
		if len(*b) == 0 {
			*b = []byte{0}
		}
	}
}

// smallModule is a module with random parts, most of them valid, that are near the
// limits now and then.
func smallModule(r *rand.Rand, deepest int) *module {
	m := &module{start: -1, pages: uint32(r.IntN(3)), exports: map[string]uint32{}}
	for range r.IntN(3) {
		f := hostFunctions()[r.IntN(60)]
		if f.code == nil {
			m.importIndex(f.name, f.signature)
		}
	}
	for range r.IntN(5) {
		m.globals = append(m.globals, []byte{i32, i64, f32, f64}[r.IntN(4)])
	}
	var c code
	switch r.IntN(8) {
	case 0: // deep
		for range 1 + r.IntN(deepest) {
			c.op(opBlock, noType)
		}
		for range bytesOf(c.b, opBlock) {
			c.op(opEnd)
		}
	case 1:
		c.op(opUnreachable)
	case 2: // dead code of any type
		c.op(opReturn, opAdd32, 0x1a)
	case 3:
		c.i32(int32(r.Uint32()))
		c.at(opLoad64, r.IntN(1<<26))
		c.op(0x1a)
	case 4:
		c.i32(0)
		c.op(opIf, i32)
		c.i32(1)
		if r.IntN(2) == 0 {
			c.op(opElse)
			c.i32(2)
		}
		c.op(opEnd, 0x1a)
	case 5: // table jump
		c.op(opBlock, noType, opBlock, noType)
		c.i32(int32(r.IntN(4)))
		c.op(0x0e, 2, 0, byte(r.IntN(3)), 1, opEnd, opEnd)
	}
	locals := make([]byte, r.IntN(4))
	if r.IntN(6) == 0 {
		locals = make([]byte, 1000+r.IntN(80))
	}
	for i := range locals {
		locals[i] = []byte{i32, i64, f32, f64}[r.IntN(4)]
	}
	m.exports["apply"] = m.function([]string{"lll", "lll", "lll", "lll:i", "ll", "iii"}[r.IntN(6)], locals, c.b)
	if r.IntN(4) == 0 {
		for range r.IntN(1100) {
			m.table = append(m.table, m.exports["apply"])
		}
	}
	if r.IntN(4) == 0 {
		m.data = append(m.data, segment{uint32(r.IntN(140000)), make([]byte, r.IntN(60))})
	}
	if r.IntN(6) == 0 {
		m.start = int(m.function([]string{"", "i", ":i"}[r.IntN(3)], nil, nil))
	}
	return m
}

func bytesOf(b []byte, op byte) (list []byte) {
	for i := 0; i < len(b); i += 2 {
		if b[i] == op {
			list = append(list, op)
		}
	}
	return list
}

// deep sends actions that send actions, as deep as the chain allows and one further,
// each of which returns a value and asks who sent it. The innermost is without
// context, now and then.
func (g *scripts) deep(s *script) {
	a := newScript(uint64(60+g.Rand.IntN(20)), storeRow)
	g.askSender(a)
	at := pick(g.Driver, scriptAccounts())
	act, function := a.action(at, level(g.account, active)), "send_inline"
	if g.One(3) {
		free := newScript(0, 0)
		g.math(free, false)
		act, function = free.action(at), "send_context_free_inline"
	}
	for range g.Rand.IntN(12) {
		b := act.Append(nil)
		if len(b) > 2500 {
			break
		}
		from := pick(g.Driver, scriptAccounts())
		outer := newScript(uint64(60+g.Rand.IntN(20)), storeRow)
		outer.call(function, -1, pointer(outer.data(b)), number(uint64(len(b))))
		g.askSender(outer)
		if g.One(4) {
			outer.call("require_recipient", -1, accountOf(pick(g.Driver, g.users)))
		}
		act, function = outer.action(from, level(g.account, active)), "send_inline"
	}
	b := act.Append(nil)
	s.call(function, -1, pointer(s.data(b)), number(uint64(len(b))))
	g.askSender(s)
}

// askSender asks who sent an action, and returns a value, twice now and then.
func (g *scripts) askSender(s *script) {
	s.call("get_sender", 1)
	for range g.Rand.IntN(3) {
		b := g.bytes(60)
		if g.One(20) {
			b = append(b, make([]byte, 250)...) // more than a value may have
		}
		s.call("set_action_return_value", -1, pointer(s.data(b)), number(uint64(len(b))))
	}
}
