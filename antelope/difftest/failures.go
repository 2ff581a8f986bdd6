package difftest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"tarn/antelope/types"
)

// Failure is what a node answered to a transaction that fails: for each of [FailureCalls] the
// status and the body.
type Failure struct {
	Name   string
	Status [3]int
	Body   [3]json.RawMessage
}

// FailureCalls are the calls that transactions are sent with which fail. The first and the last
// answer with the trace.
var FailureCalls = [3]string{"/v1/chain/send_transaction2", "/v1/chain/send_transaction",
	"/v1/chain/compute_transaction"}

// failing is a transaction that fails.
type failing struct {
	name string
	tx   Tx
}

// Failures makes a node that produces a chain with the genesis of the seed fail transactions in
// as many ways as can be provoked, and returns its answers.
func (p *Peer) Failures(ctx context.Context, n *Node, seed uint64, chain types.Checksum256) ([]Failure, error) {
	d := &Driver{Node: n, ground: &live{Node: n}, Rand: rand.New(rand.NewPCG(seed, 1)), Seed: seed, Peer: p,
		Say: io.Discard, ctx: ctx, chain: chain,
		keys: map[types.Name]Signer{}, pushes: json.NewEncoder(io.Discard), done: map[string]int{},
		refused: map[string]int{}}
	list, err := d.failures()
	if err != nil {
		return nil, err
	}
	var out []Failure
	for _, f := range list {
		answer := Failure{Name: f.name}
		for i, path := range FailureCalls {
			body, err := d.body(f, i)
			if err == nil {
				answer.Status[i], answer.Body[i], err = d.Ask(ctx, path, body)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
		out = append(out, answer)
	}
	return out, nil
}

// body is the body of the request that sends a transaction with one of the calls.
func (d *Driver) body(f failing, call int) (string, error) {
	p, _, err := d.Pack(f.tx)
	if err != nil {
		return "", err
	}
	signatures := make([]string, len(p.Signatures))
	for i, s := range p.Signatures {
		signatures[i] = s.String()
	}
	var request any = map[string]any{
		"signatures": signatures, "compression": "none",
		"packed_context_free_data": hex.EncodeToString(p.PackedContextFreeData),
		"packed_trx":               hex.EncodeToString(p.PackedTrx),
	}
	switch call {
	case 0:
		request = map[string]any{"return_failure_trace": true, "retry_trx": false, "transaction": request}
	case 2:
		request = map[string]any{"transaction": request}
	}
	b, err := json.Marshal(request)
	return string(b), err
}

// The accounts of transactions that fail: one has the script contract, one has little memory.
var (
	scripted = types.N("scripted")
	poor     = types.N("poor")
)

// failures prepares the chain, and lists what fails on it.
func (d *Driver) failures() ([]failing, error) {
	if err := d.bootAll(); err != nil {
		return nil, err
	}
	if err := d.create(scripted, poor); err != nil {
		return nil, err
	}
	wasm := scriptContract(func(string) bool { return true })
	limits := action(system, "setalimits", system, poor, u64(4000), u64(1), u64(1))
	if err := d.Must(setCode(scripted, wasm), limits); err != nil {
		return nil, err
	}
	if err := d.Blocks(2); err != nil {
		return nil, err
	}
	return append(d.failingScripts(), d.failingTransactions()...), nil
}

// script is the action that runs a script.
func (d *Driver) script(s *script) types.Action {
	return action(scripted, "run", scripted, raw(s.b))
}

// failingScripts are scripts whose host functions fail.
func (d *Driver) failingScripts() []failing {
	var list []failing
	add := func(name string, write func(s *script)) {
		s := newScript(0, 0)
		s.call("prints", -1, pointer(s.data([]byte("said \x01\"before\"\x00"))))
		write(s)
		list = append(list, failing{name, Tx{Actions: []types.Action{d.script(s)}}})
	}
	fails := func(name, function string, operands ...operand) {
		add(name, func(s *script) { s.call(function, -1, operands...) })
	}
	add("assert message", func(s *script) {
		s.call("eosio_assert", -1, number(0), pointer(s.data([]byte("no \"such\" \x02 thing ${s} $5\x00"))))
	})
	add("assert long message", func(s *script) {
		text := make([]byte, 1500)
		for i := range text {
			text[i] = 'a' + byte(i%26)
		}
		s.call("eosio_assert", -1, number(0), pointer(s.data(append(text, 0))))
	})
	fails("assert code", "eosio_assert_code", number(0), number(77))
	fails("assert large code", "eosio_assert_code", number(0), number(1<<40))
	fails("assert reserved code", "eosio_assert_code", number(0), number(8000000000000000000))
	fails("abort", "abort")
	fails("missing authority", "require_auth", accountOf(poor))
	fails("missing permission", "require_auth2", accountOf(poor), nameOperand("claim"))
	fails("unprivileged", "set_privileged", accountOf(poor), number(1))
	fails("bad pointer", "sha256", number(1<<31), number(16), pointer(scratchAt))
	fails("bad iterator", "db_next_i64", number(5), pointer(scratchAt))
	fails("nobody pays", "db_store_i64", nameOperand("s"), nameOperand("t"), number(0), number(1),
		pointer(scratchAt), number(8))
	fails("poor pays", "db_store_i64", nameOperand("s"), nameOperand("t"), accountOf(poor), number(1),
		pointer(scratchAt), number(8))
	fails("context free only", "get_context_free_data", number(0), pointer(scratchAt), number(8))
	fails("beyond the memory", "mix", number(1<<24), number(8))
	fails("divided by 0", "op6e", number(1), number(0))
	fails("too deep", "recurse", number(10000))
	fails("bad hash", "assert_sha256", pointer(scratchAt), number(8), pointer(scratchAt))
	fails("return value", "set_action_return_value", pointer(scratchAt), number(3000))
	fails("secondary NaN", "db_idx_double_store", nameOperand("s"), nameOperand("t"), accountOf(scripted), number(1),
		pointer(registerAt-8))
	fails("wrong size", "db_idx256_store", nameOperand("s"), nameOperand("t"), accountOf(scripted), number(1),
		pointer(scratchAt), number(7))
	fails("no action", "get_action", number(7), number(0), pointer(scratchAt), number(8))
	fails("no code", "send_inline", pointer(scratchAt), number(40))
	fails("short inline", "send_inline", pointer(scratchAt), number(3))
	fails("no permission", "get_permission_last_used", nameOperand("nobody"), nameOperand("active"))
	fails("no account", "get_account_creation_time", nameOperand("nobody"))
	return list
}

// failingTransactions are transactions that fail before a contract runs, or around it.
func (d *Driver) failingTransactions() []failing {
	hello := d.script(newScript(0, 0))
	one := func(name string, a types.Action) failing {
		return failing{name: name, tx: Tx{Actions: []types.Action{a}}}
	}
	edited := func(name string, edit func(*types.Transaction)) failing {
		return failing{name: name, tx: Tx{Actions: []types.Action{hello}, Edit: edit}}
	}
	signed := func(name string, keys ...Signer) failing {
		return failing{name: name, tx: Tx{Actions: []types.Action{hello}, Keys: keys}}
	}
	spin := newScript(0, 0)
	spin.call("spin", -1, number(1<<31-1))
	own := d.Key(scripted)
	weak := types.Authority{Threshold: 3, Keys: []types.KeyWeight{{Key: own.Public(), Weight: 2}}}
	return []failing{
		signed("no signature", []Signer{}...),
		signed("another's signature", d.Key(poor)),
		signed("one signature more", own, d.Key(poor)),
		signed("a signature twice", own, own),
		edited("expired",
			func(t *types.Transaction) { t.Expiration = types.TimePointSec(time.Now().Add(-time.Minute).Unix()) }),
		edited("expires late",
			func(t *types.Transaction) { t.Expiration = types.TimePointSec(time.Now().Add(10 * time.Hour).Unix()) }),
		edited("another fork", func(t *types.Transaction) { t.RefBlockPrefix++ }),
		edited("little net", func(t *types.Transaction) { t.MaxNetUsageWords = 1 }),
		{name: "own cpu limit",
			tx: Tx{Actions: []types.Action{d.script(spin)}, Edit: func(t *types.Transaction) { t.MaxCPUUsageMS = 5 }}},
		{name: "poor",
			tx: Tx{Actions: []types.Action{action(system, "setcode", poor, poor, u8(0), u8(0),
				blob(scriptContract(func(string) bool { return true })))}}},
		one("no code account", action(types.N("nobody"), "run", scripted)),
		one("no actor", with(hello, level(types.N("nobody"), active))),
		one("no permission", with(hello, level(scripted, "missing"))),
		one("empty permission", with(hello, types.PermissionLevel{Actor: scripted})),
		one("no authority", with(hello)),
		one("account exists", newAccount(system, poor, d.simple(poor), d.simple(poor))),
		one("name too long", newAccount(system, types.N("aaaaaaaaaaaaj"), d.simple(poor), d.simple(poor))),
		one("weak authority",
			with(action(system, "updateauth", scripted, scripted, types.N("new"), types.N(active), weak),
				level(scripted, owner))),
		one("own parent",
			with(action(system, "updateauth", scripted, scripted, types.N("new"), types.N("new"), d.simple(poor)),
				level(scripted, owner))),
		one("another's authority",
			action(system, "updateauth", scripted, poor, types.N(active), types.N(owner), d.simple(poor))),
		one("owner by active",
			action(system, "updateauth", scripted, scripted, types.N(owner), types.Name(0), d.simple(poor))),
		one("links nothing", action(system, "linkauth", scripted, scripted, poor, types.N("a"), types.N("nobody"))),
		one("unlinks nothing", action(system, "unlinkauth", scripted, scripted, poor, types.N("a"))),
		one("deletes owner",
			with(action(system, "deleteauth", scripted, scripted, types.N(owner)), level(scripted, owner))),
		one("cancels nothing", action(system, "canceldelay", scripted, level(scripted, active), types.Checksum256{1})),
		one("same code", setCode(scripted, scriptContract(func(string) bool { return true }))),
		one("no module", setCode(poor, []byte("no module"))),
		one("short data", action(system, "newaccount", scripted, scripted)),
		{name: "context free", tx: Tx{Actions: []types.Action{hello}, ContextFree: []types.Action{hello}}},
	}
}
