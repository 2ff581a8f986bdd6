package difftest

import (
	"path/filepath"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// replaced is a chain of ours in which a deferred transaction is replaced before
// REPLACE_DEFERRED, so it keeps the id of the one in whose place it is, and runs
// after NO_DUPLICATE_DEFERRED_ID, where it sends one itself. Nodes produce no such
// blocks, but existing chains have them.
type replaced struct {
	*chaintest.Maker
	t       *testing.T
	log     *blocklog.Log
	account types.Name
}

func newReplaced(t *testing.T, dir string) *replaced {
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	m := newMaker(t, chain.Options{Options: execute.Options{Features: set, NoMitigations: true}})
	log, err := blocklog.Open(blocklog.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r := &replaced{m, t, log, types.N("scripta")}
	first := m.Chain.Head()
	if err := log.ResetGenesis(m.Genesis, first.Block.Append(nil)); err != nil {
		t.Fatal(err)
	}
	return r
}

// block makes a block of what body puts into it.
func (r *replaced) block(body func() error, activations ...types.Checksum256) {
	r.t.Helper()
	err := r.StartBlock(activations...)
	if err == nil {
		err = body()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	b, err := r.EndBlock()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.log.Append(b.BlockNum(), r.Chain.Head().ID, b.Append(nil)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replaced) push(actions ...types.Action) func() error {
	return func() error {
		_, err := r.Push(actions...)
		return err
	}
}

// send is the account's call that sends a deferred transaction of actions.
func (r *replaced) send(id, delay uint64, replace uint64, actions ...types.Action) types.Action {
	s := newScript(id, storeRow)
	trx := types.Transaction{TransactionHeader: types.TransactionHeader{DelaySec: uint32(delay)}, Actions: actions}
	raw := trx.Append(nil)
	s.call("send_deferred", -1, pointer(s.words(id, 0)), register(receiverRegister), pointer(s.data(raw)),
		number(uint64(len(raw))), number(replace))
	return s.action(r.account, level(r.account, active))
}

func (r *replaced) deferredOf(id uint64) *state.Deferred {
	r.t.Helper()
	d, err := r.Chain.State().Deferred(state.DeferredKey{Sender: r.account, SenderID: types.Uint128{Lo: id}})
	if err != nil || d == nil {
		r.t.Fatal("no deferred transaction", id, err)
	}
	return d
}

// run makes the chain and returns the transaction that replaced another and the one
// that it sent.
func (r *replaced) run() (sender, sent *state.Deferred) {
	preactivation, _ := r.Chain.Features().Digest(feature.PreactivateFeature)
	replacing, _ := r.Chain.Features().Digest(feature.ReplaceDeferred)
	unique, _ := r.Chain.Features().Digest(feature.NoDuplicateDeferredID)
	only := func(f string) bool { return f == preactivate }
	auth := types.KeyAuthority(r.Key.Public())
	auth.Accounts = []types.PermissionLevelWeight{{Permission: level(r.account, "eosio.code"), Weight: 1}}
	creation := types.NewAccount{Creator: types.N("eosio"), Name: r.account,
		Owner: types.KeyAuthority(r.Key.Public()), Active: auth}
	r.block(r.push(chaintest.Action(creation.Creator, types.N("newaccount"), creation.Creator, creation.Append(nil))),
		preactivation)
	r.block(r.push(chaintest.SetCode(types.N("eosio"), chaintest.SystemCode("preactivate")),
		chaintest.SetCode(r.account, scriptContract(only))))
	nothing := newScript(9, storeRow).action(r.account, level(r.account, active))
	r.block(r.push(r.send(1, 5, 0, nothing)))
	r.block(r.push(r.send(1, 5, 1, r.send(2, 3600, 0, nothing))))
	for _, digest := range []types.Checksum256{replacing, unique} {
		r.block(r.push(chaintest.Action(types.N("eosio"), types.N("preactivate"), types.N("eosio"), digest[:])))
		r.block(r.push(r.CreateAccount(types.Name(digest[0])<<8)), digest)
	}
	sender = r.deferredOf(1)
	for r.Chain.Head().Header.Timestamp.TimePoint() < sender.DelayUntil {
		r.block(r.push(r.CreateAccount(types.Name(r.Chain.Head().BlockNum) << 20)))
	}
	r.block(func() error {
		trace, err := r.Chain.PushScheduled(sender.TrxID, execute.Billing{Explicit: true, CPU: 100})
		if err == nil && trace.Except != nil {
			err = trace.Except
		}
		return err
	})
	return sender, r.deferredOf(2)
}

func TestWhatAReplacedDeferredTransactionSendsNamesItByItsContent(t *testing.T) {
	r := newReplaced(t, t.TempDir())
	defer r.log.Close()
	sender, sent := r.run()
	content := types.Hash(sender.Packed)
	if sender.TrxID == content {
		t.Fatal("the transaction has the id of its content")
	}
	var trx types.Transaction
	if err := types.Decode(sent.Packed, &trx); err != nil {
		t.Fatal(err)
	}
	given, err := trx.ExtractExtensions()
	if err != nil || given == nil {
		t.Fatal("no generation context", err)
	}
	if given.SenderTrxID != content {
		t.Errorf("its sender is %s, want %s", given.SenderTrxID, content)
	}
}

func TestNodeosComesToTheStateOfAChainWithReplacedDeferredTransactions(t *testing.T) {
	t.Parallel()
	p, dir := peer(t), t.TempDir()
	r := newReplaced(t, filepath.Join(dir, "blocks"))
	r.run()
	if err := r.log.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := p.Start(t.Context(), Config{Dir: dir, Extra: []string{"--read-only-threads", "0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	head, hash, err := n.IntegrityHash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ours.bin")
	if err := writeSnapshot(r.Chain, path); err != nil {
		t.Fatal(err)
	}
	ours, err := ReadSnapshot(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := ours.Hash(); head != r.Chain.Head().ID.String() || hash != types.Checksum256(want).String() {
		t.Errorf("nodeos is at %s with %s, we are at %s with %x", head, hash, r.Chain.Head().ID, want)
	}
}
