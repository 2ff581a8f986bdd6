package intrinsic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// fake is a chain that notes what it is asked and answers what it is told to.
type fake struct {
	calls []string

	err                error // of every method that has one
	yes                bool
	itr                int32
	primary            uint64
	key                SecondaryKey
	data               []byte
	code               Code
	limits             [3]int64
	time               types.TimePoint
	name               types.Name
	number             int64
	config             types.ChainConfig
	wasmConfig         types.WasmConfig
	trx                types.Transaction
	producers          []types.Name
	keyTypes           int
	maxSignature       uint32
	printed            []byte
	timeLeft           int           // calls of CheckTime until it fails
	timeFor            time.Duration // the longest work that CheckTimeFor lets begin
	actions            []types.Action
	deferred           *types.Transaction
	keys               []types.PublicKey
	levels             []types.PermissionLevel
	proposed           []types.ProducerAuthority
	finalizers         *types.FinalizerPolicy
	noEmpty, returning bool
	spring             bool
}

func (f *fake) note(format string, args ...any) error {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.err
}

func (f *fake) RequireAuth(a types.Name) error     { return f.note("RequireAuth(%s)", a) }
func (f *fake) RequireAuth2(a, p types.Name) error { return f.note("RequireAuth2(%s,%s)", a, p) }
func (f *fake) HasAuth(a types.Name) bool {
	f.note("HasAuth(%s)", a)
	return f.yes
}
func (f *fake) RequireRecipient(a types.Name) error { return f.note("RequireRecipient(%s)", a) }
func (f *fake) IsAccount(a types.Name) (bool, error) {
	return f.yes, f.note("IsAccount(%s)", a)
}
func (f *fake) CodeOf(a types.Name) (Code, error) { return f.code, f.note("CodeOf(%s)", a) }

func (f *fake) StoreI64(scope, table, payer types.Name, id uint64, data []byte) (int32, error) {
	return f.itr, f.note("StoreI64(%s,%s,%s,%d,%x)", scope, table, payer, id, data)
}
func (f *fake) UpdateI64(itr int32, payer types.Name, data []byte) error {
	return f.note("UpdateI64(%d,%s,%x)", itr, payer, data)
}
func (f *fake) RemoveI64(itr int32) error        { return f.note("RemoveI64(%d)", itr) }
func (f *fake) GetI64(itr int32) ([]byte, error) { return f.data, f.note("GetI64(%d)", itr) }
func (f *fake) NextI64(i int32) (int32, uint64, error) {
	return f.itr, f.primary, f.note("NextI64(%d)", i)
}
func (f *fake) PreviousI64(i int32) (int32, uint64, error) {
	return f.itr, f.primary, f.note("PreviousI64(%d)", i)
}
func (f *fake) FindI64(code, scope, table types.Name, id uint64) (int32, error) {
	return f.itr, f.note("FindI64(%s,%s,%s,%d)", code, scope, table, id)
}
func (f *fake) LowerBoundI64(code, scope, table types.Name, id uint64) (int32, error) {
	return f.itr, f.note("LowerBoundI64(%s,%s,%s,%d)", code, scope, table, id)
}
func (f *fake) UpperBoundI64(code, scope, table types.Name, id uint64) (int32, error) {
	return f.itr, f.note("UpperBoundI64(%s,%s,%s,%d)", code, scope, table, id)
}
func (f *fake) EndI64(code, scope, table types.Name) (int32, error) {
	return f.itr, f.note("EndI64(%s,%s,%s)", code, scope, table)
}

func (f *fake) SecondaryStore(i Index, scope, table, payer types.Name, id uint64, key SecondaryKey) (int32, error) {
	return f.itr, f.note("Store(%d,%s,%s,%s,%d,%x)", i, scope, table, payer, id, key)
}
func (f *fake) SecondaryUpdate(i Index, itr int32, payer types.Name, key SecondaryKey) error {
	return f.note("Update(%d,%d,%s,%x)", i, itr, payer, key)
}
func (f *fake) SecondaryRemove(i Index, itr int32) error { return f.note("Remove(%d,%d)", i, itr) }
func (f *fake) SecondaryNext(i Index, itr int32) (int32, uint64, error) {
	return f.itr, f.primary, f.note("Next(%d,%d)", i, itr)
}
func (f *fake) SecondaryPrevious(i Index, itr int32) (int32, uint64, error) {
	return f.itr, f.primary, f.note("Previous(%d,%d)", i, itr)
}
func (f *fake) SecondaryFind(i Index, code, scope, table types.Name, key SecondaryKey) (int32, uint64, error) {
	return f.itr, f.primary, f.note("Find(%d,%s,%s,%s,%x)", i, code, scope, table, key)
}
func (f *fake) SecondaryFindPrimary(i Index, code, scope, table types.Name, id uint64) (int32, SecondaryKey, error) {
	return f.itr, f.key, f.note("FindPrimary(%d,%s,%s,%s,%d)", i, code, scope, table, id)
}
func (f *fake) SecondaryLowerBound(
	i Index, code, scope, table types.Name, key SecondaryKey,
) (int32, uint64, SecondaryKey, error) {
	return f.itr, f.primary, f.key, f.note("LowerBound(%d,%s,%s,%s,%x)", i, code, scope, table, key)
}
func (f *fake) SecondaryUpperBound(
	i Index, code, scope, table types.Name, key SecondaryKey,
) (int32, uint64, SecondaryKey, error) {
	return f.itr, f.primary, f.key, f.note("UpperBound(%d,%s,%s,%s,%x)", i, code, scope, table, key)
}
func (f *fake) SecondaryEnd(i Index, code, scope, table types.Name) (int32, error) {
	return f.itr, f.note("End(%d,%s,%s,%s)", i, code, scope, table)
}

func (f *fake) SendInline(a types.Action) error {
	f.actions = append(f.actions, a)
	return f.note("SendInline")
}
func (f *fake) SendContextFreeInline(a types.Action) error {
	f.actions = append(f.actions, a)
	return f.note("SendContextFreeInline")
}
func (f *fake) SendDeferred(id types.Uint128, payer types.Name, trx *types.Transaction, replace bool) error {
	f.deferred = trx
	return f.note("SendDeferred(%s,%s,%t)", id, payer, replace)
}
func (f *fake) CancelDeferred(id types.Uint128) (bool, error) {
	return f.yes, f.note("CancelDeferred(%s)", id)
}
func (f *fake) SetReturnValue(v []byte) { f.note("SetReturnValue(%x)", v) }
func (f *fake) SenderOf() types.Name    { return f.name }

func (f *fake) CheckTransactionAuthorization(
	actions []types.Action, keys []types.PublicKey, levels []types.PermissionLevel, delay int64,
) error {
	f.actions, f.keys, f.levels = actions, keys, levels
	return f.note("CheckTransactionAuthorization(%d)", delay)
}
func (f *fake) CheckPermissionAuthorization(
	account, permission types.Name, keys []types.PublicKey, levels []types.PermissionLevel, delay int64,
) error {
	f.keys, f.levels = keys, levels
	return f.note("CheckPermissionAuthorization(%s,%s,%d)", account, permission, delay)
}
func (f *fake) PermissionLastUsed(account, permission types.Name) (types.TimePoint, error) {
	return f.time, f.note("PermissionLastUsed(%s,%s)", account, permission)
}
func (f *fake) AccountCreation(account types.Name) (types.TimePoint, bool, error) {
	return f.time, f.yes, f.note("AccountCreation(%s)", account)
}

func (f *fake) PreactivateFeature(d types.Checksum256) error {
	return f.note("PreactivateFeature(%s)", d)
}
func (f *fake) SetResourceLimits(account types.Name, ram, net, cpu int64) error {
	return f.note("SetResourceLimits(%s,%d,%d,%d)", account, ram, net, cpu)
}
func (f *fake) ResourceLimits(account types.Name) (ram, net, cpu int64, err error) {
	return f.limits[0], f.limits[1], f.limits[2], f.note("ResourceLimits(%s)", account)
}
func (f *fake) SetProposedProducers(p []types.ProducerAuthority) (int64, error) {
	f.proposed = p
	return f.number, f.note("SetProposedProducers")
}
func (f *fake) ChainConfig() *types.ChainConfig { return &f.config }
func (f *fake) SetChainConfig(c types.ChainConfig) error {
	f.config = c
	return f.note("SetChainConfig")
}
func (f *fake) WasmConfig() *types.WasmConfig { return &f.wasmConfig }
func (f *fake) SetWasmConfig(c types.WasmConfig) error {
	f.wasmConfig = c
	return f.note("SetWasmConfig")
}
func (f *fake) IsPrivileged(a types.Name) (bool, error) { return f.yes, f.note("IsPrivileged(%s)", a) }
func (f *fake) SetPrivileged(a types.Name, p bool) error {
	return f.note("SetPrivileged(%s,%t)", a, p)
}
func (f *fake) MostProducers() int                     { return 125 }
func (f *fake) SetFinalizers(p *types.FinalizerPolicy) { f.finalizers = p }
func (f *fake) EmptyScheduleAllowed() bool             { return !f.noEmpty }
func (f *fake) ReturnValueConfigured() bool            { return f.returning }

func (f *fake) Transaction() *types.Transaction { return &f.trx }
func (f *fake) PackedTransaction() []byte       { return f.trx.Append(nil) }
func (f *fake) ContextFreeData(i uint32) ([]byte, bool) {
	f.note("ContextFreeData(%d)", i)
	return f.data, f.yes
}
func (f *fake) BlockTime() types.TimePoint       { return f.time }
func (f *fake) BlockNum() uint32                 { return uint32(f.number) }
func (f *fake) PublicationTime() types.TimePoint { return f.time }
func (f *fake) FeatureActivated(d types.Checksum256) bool {
	f.note("FeatureActivated(%s)", d)
	return f.yes
}
func (f *fake) ActiveProducers() []types.Name { return f.producers }
func (f *fake) KeyTypes() (int, error)        { return f.keyTypes, f.err }
func (f *fake) Spring() bool                  { return f.spring }
func (f *fake) MaxSignatureSize() uint32      { return f.maxSignature }
func (f *fake) CheckTimeFor(work time.Duration) error {
	if work > f.timeFor {
		return exception.New(exception.Deadline, "time would be up")
	}
	return nil
}
func (f *fake) Print(text []byte) { f.printed = append(f.printed, text...) }
func (f *fake) CheckTime() error {
	if f.timeLeft--; f.timeLeft < 0 {
		return exception.New(exception.Deadline, "time is up")
	}
	return nil
}

// harness calls functions on a memory.
type harness struct {
	*testing.T
	a     *Apply
	chain *fake
	m     []byte
	table map[string]*function
}

var prepared = func() map[string]*function {
	table := map[string]*function{}
	for _, e := range entries() {
		table[e.name] = e.prepare()
	}
	return table
}()

// aborted is what a function ends the run with from inside its work.
type aborted struct{ err error }

func (h *harness) Abort(err error) { panic(aborted{err}) }

// answerer answers whatever host functions ask.
type answerer interface {
	Authorizer
	Primary
	Secondary
	Sender
	Permissions
	Privileges
	Surroundings
}

// by lets one answer everything.
func by(a answerer) Context { return Context{a, a, a, a, a, a, a} }

func newHarness(t *testing.T) *harness {
	h := &harness{T: t, m: make([]byte, wasm.PageSize), table: prepared}
	h.chain = &fake{
		keyTypes: 2, timeLeft: 1 << 30, maxSignature: 16384,
		config: types.DefaultChainConfig(), wasmConfig: types.DefaultWasmConfig(),
	}
	h.a = &Apply{Chain: by(h.chain), Receiver: types.N("receiver"), Privileged: true, Console: true}
	h.a.ender, h.a.fuel = h, 1<<60 // what calls cost is tested elsewhere
	return h
}

// try calls a function; the parameters' undefined bits are garbage.
func (h *harness) try(name string, args ...uint64) (result uint64, err error) {
	h.Helper()
	f := h.table[name]
	if f == nil {
		h.Fatalf("there is no function %s", name)
	}
	params := f.link().Params
	if len(params) != len(args) {
		h.Fatalf("%s takes %d values, not %d", name, len(params), len(args))
	}
	s := make([]uint64, max(len(args), 1))
	copy(s, args)
	for i, p := range params {
		if p == wasm.I32 || p == wasm.F32 {
			s[i] = s[i]&0xffffffff | 0xdeadbeef<<32
		}
	}
	defer func() {
		if p := recover(); p != nil {
			a, ok := p.(aborted)
			if !ok {
				panic(p)
			}
			err = a.err
		}
	}()
	before := bytes.Clone(h.m)
	end, err := f.call(h.a, h.m, s)
	if err == nil && !bytes.Equal(before[end:], h.m[end:]) {
		h.Errorf("%s writes to memory beyond %d", name, end)
	}
	if (f.result == wasm.I32 || f.result == wasm.F32) && err == nil && s[0]>>32 != 0 {
		h.Errorf("%s: result %x is not zero-extended", name, s[0])
	}
	return s[0], err
}

// call expects success.
func (h *harness) call(name string, args ...uint64) uint64 {
	h.Helper()
	v, err := h.try(name, args...)
	if err != nil {
		h.Fatalf("%s: %v", name, err)
	}
	return v
}

// returns expects a result.
func (h *harness) returns(want uint64, name string, args ...uint64) {
	h.Helper()
	if v := h.call(name, args...); v != want {
		h.Errorf("%s returns %d, want %d", name, int64(v), int64(want))
	}
}

// fails expects an exception.
func (h *harness) fails(kind *exception.Kind, message, name string, args ...uint64) {
	h.Helper()
	_, err := h.try(name, args...)
	e := exception.Of(err)
	if e == nil || e.Kind != kind || message != "" && e.Message() != message {
		h.Errorf("%s: %v, want %s: %s", name, err, kind.Name, message)
	}
}

// checkAsked expects these calls of the chain since the last time.
func (h *harness) checkAsked(want ...string) {
	h.Helper()
	if len(want)+len(h.chain.calls) > 0 && !reflect.DeepEqual(h.chain.calls, want) {
		h.Errorf("the chain was asked %q, want %q", h.chain.calls, want)
	}
	h.chain.calls = nil
}

// forwards expects an error of the chain to come through as it is.
func (h *harness) forwards(name string, args ...uint64) {
	h.Helper()
	h.chain.err = errors.New("broken disk")
	if _, err := h.try(name, args...); err != h.chain.err {
		h.Errorf("%s: %v, want the chain's error", name, err)
	}
	h.chain.err, h.chain.calls = nil, nil
}

// put writes b at p and returns p and the length.
func (h *harness) put(p int, b []byte) (at, n uint64) {
	copy(h.m[p:], b)
	return uint64(p), uint64(len(b))
}

func (h *harness) putWord(p int, v ...uint64) uint64 {
	for i, w := range v {
		binary.LittleEndian.PutUint64(h.m[p+8*i:], w)
	}
	return uint64(p)
}

func (h *harness) word(p int) uint64 { return binary.LittleEndian.Uint64(h.m[p:]) }

// holds expects bytes at p, and none changed right behind them.
func (h *harness) holds(p int, want []byte) {
	h.Helper()
	if got := h.m[p : p+len(want)]; !bytes.Equal(got, want) {
		h.Errorf("memory at %d is %x, want %x", p, got, want)
	}
}

func name(s string) uint64 { return uint64(types.N(s)) }

func packValue(v interface{ Append([]byte) []byte }) []byte { return v.Append(nil) }

func list[T any](items []T, add func(T, []byte) []byte) []byte {
	b := serial.AppendCount(nil, len(items))
	for _, i := range items {
		b = add(i, b)
	}
	return b
}
