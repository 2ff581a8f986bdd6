package intrinsic

import (
	"reflect"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

func sampleAction(data ...byte) types.Action {
	return types.Action{
		Account: types.N("token"), Name: types.N("transfer"),
		Authorization: []types.PermissionLevel{{Actor: types.N("alice"), Permission: types.N("active")}},
		Data:          data,
	}
}

func sampleTransaction() types.Transaction {
	t := types.Transaction{
		ContextFreeActions: []types.Action{sampleAction(1)},
		Actions:            []types.Action{sampleAction(2, 3), sampleAction(4)},
	}
	t.Expiration, t.RefBlockNum, t.RefBlockPrefix, t.DelaySec = 0xfffffff1, 0xfff2, 0xfffffff3, 7
	return t
}

func transactionBehaviours() map[string]behaviour {
	return map[string]behaviour{
		"send_inline":              func(h *harness) { h.sendsInline("send_inline", "SendInline") },
		"send_context_free_inline": func(h *harness) { h.sendsInline("send_context_free_inline", "SendContextFreeInline") },
		"send_deferred": func(h *harness) {
			trx := sampleTransaction()
			id := h.putWord(201, 7, 1)
			p, n := h.put(301, append(packValue(trx), 9, 9)) // what follows is ignored
			h.call("send_deferred", id, name("alice"), p, n, 0)
			h.call("send_deferred", id, name("alice"), p, n, 1<<31)
			h.checkAsked("SendDeferred(18446744073709551623,alice,false)",
				"SendDeferred(18446744073709551623,alice,true)")
			clear(h.m)
			if !reflect.DeepEqual(*h.chain.deferred, trx) {
				h.Errorf("sent %v, want %v", *h.chain.deferred, trx)
			}
			h.put(301, packValue(trx))
			h.fails(exception.FCOutOfRange, "", "send_deferred", id, 1, p, 20, 0)
			h.forwards("send_deferred", id, 1, p, n, 0)
		},
		"cancel_deferred": func(h *harness) {
			id := h.putWord(201, 7, 0)
			h.returns(0, "cancel_deferred", id)
			h.chain.yes = true
			h.returns(1, "cancel_deferred", id)
			h.checkAsked("CancelDeferred(7)", "CancelDeferred(7)")
			h.forwards("cancel_deferred", id)
		},
		"read_transaction": func(h *harness) {
			h.chain.trx = sampleTransaction()
			want := packValue(h.chain.trx)
			all := uint64(len(want))
			h.returns(all, "read_transaction", 103, 0)
			h.returns(5, "read_transaction", 103, 5)
			h.holds(103, append(append([]byte(nil), want[:5]...), 0))
			h.returns(all, "read_transaction", 103, all+9)
			h.holds(103, append(want, 0))
		},
		"transaction_size": func(h *harness) {
			h.chain.trx = sampleTransaction()
			h.returns(uint64(len(packValue(h.chain.trx))), "transaction_size")
		},
		"expiration": func(h *harness) {
			h.chain.trx = sampleTransaction()
			h.returns(0xfffffff1, "expiration")
		},
		"tapos_block_num": func(h *harness) {
			h.chain.trx = sampleTransaction()
			h.returns(0xfff2, "tapos_block_num")
		},
		"tapos_block_prefix": func(h *harness) {
			h.chain.trx = sampleTransaction()
			h.returns(0xfffffff3, "tapos_block_prefix")
		},
		"get_action": func(h *harness) {
			h.chain.trx = sampleTransaction()
			want := packValue(h.chain.trx.Actions[1])
			all := uint64(len(want))
			h.returns(all, "get_action", 1, 1, 103, 0)
			h.returns(all, "get_action", 1, 1, 103, all-1)
			h.holds(103, make([]byte, all)) // all or nothing
			h.returns(all, "get_action", 1, 1, 103, all+1)
			h.holds(103, append(want, 0))
			h.returns(all, "get_action", 0, 0, 103, all)
			h.holds(103, packValue(h.chain.trx.ContextFreeActions[0]))
			h.returns(0xffffffff, "get_action", 0, 1, 103, all)
			h.returns(0xffffffff, "get_action", 1, 2, 103, all)
			h.returns(0xffffffff, "get_action", 1, 0xffffffff, 103, all)
			h.fails(exception.ActionNotFound, "action is not found", "get_action", 2, 0, 103, all)
		},
		"get_context_free_data": func(h *harness) {
			h.chain.yes = true
			h.copiesOut([]byte("data"), func(b []byte) { h.chain.data = b }, "get_context_free_data", 3)
			h.chain.calls = nil
			h.chain.yes = false
			h.returns(0xffffffff, "get_context_free_data", 0xfffffffe, 103, 1)
			h.checkAsked("ContextFreeData(4294967294)")
		},
	}
}

func (h *harness) sendsInline(fn, method string) {
	act := sampleAction(1, 2, 3)
	p, n := h.put(101, append(packValue(act), 9, 9)) // what follows is ignored
	h.chain.config.MaxInlineActionSize = uint32(n) + 1
	h.call(fn, p, n)
	h.checkAsked(method)
	clear(h.m)
	if !reflect.DeepEqual(h.chain.actions[0], act) {
		h.Errorf("sent %v, want %v", h.chain.actions[0], act)
	}
	h.put(101, packValue(act))
	h.fails(exception.InlineActionTooBig, "inline action too big", fn, p, n+1)
	h.fails(exception.FCOutOfRange, "", fn, p, 20)
	h.fails(exception.FCOutOfRange, "", fn, p, 0)
	h.put(101+16, []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	h.fails(exception.FCAssert, "", fn, p, n)
	h.put(101, packValue(act))
	h.forwards(fn, p, n)
}

func permissionBehaviours() map[string]behaviour {
	key := func(b byte) types.PublicKey { return types.PublicKey{Type: types.K1, Point: [33]byte{2, b}} }
	level := func(s string) types.PermissionLevel {
		return types.PermissionLevel{Actor: types.N(s), Permission: types.N("active")}
	}
	keys := list([]types.PublicKey{key(9), key(1), key(9), {Type: types.R1, Point: [33]byte{3}}},
		types.PublicKey.Append)
	levels := list([]types.PermissionLevel{level("bob"), level("alice"), level("bob")}, types.PermissionLevel.Append)
	sorted := func(h *harness) {
		h.Helper()
		if want := []types.PublicKey{key(1), key(9),
			{Type: types.R1, Point: [33]byte{3}}}; !reflect.DeepEqual(h.chain.keys, want) {
			h.Errorf("keys %v, want %v", h.chain.keys, want)
		}
		if want := []types.PermissionLevel{level("alice"), level("bob")}; !reflect.DeepEqual(h.chain.levels, want) {
			h.Errorf("levels %v, want %v", h.chain.levels, want)
		}
	}
	return map[string]behaviour{
		"check_transaction_authorization": func(h *harness) {
			const fn = "check_transaction_authorization"
			trx := sampleTransaction()
			p, n := h.put(1000, packValue(trx))
			kp, kn := h.put(2000, keys)
			lp, ln := h.put(3000, levels)
			h.returns(1, fn, p, n, kp, kn, lp, ln)
			h.checkAsked("CheckTransactionAuthorization(7000000)")
			sorted(h)
			if !reflect.DeepEqual(h.chain.actions, trx.Actions) {
				h.Errorf("actions %v, want %v", h.chain.actions, trx.Actions)
			}
			h.returns(1, fn, p, n, kp, 0, lp, 0)
			if h.chain.keys != nil || h.chain.levels != nil {
				h.Errorf("keys %v and levels %v of nothing", h.chain.keys, h.chain.levels)
			}
			h.chain.err = exception.New(exception.UnsatisfiedAuthorization, "x")
			h.returns(0, fn, p, n, kp, kn, lp, ln)
			h.chain.err = nil
			h.fails(exception.FCOutOfRange, "", fn, p, 9, kp, kn, lp, ln)
			h.fails(exception.FCOutOfRange, "", fn, p, n, kp, kn-1, lp, ln)
			h.fails(exception.FCOutOfRange, "", fn, p, n, kp, kn, lp, ln-1)
			h.chain.calls = nil
			h.forwards(fn, p, n, kp, kn, lp, ln)
		},
		"check_permission_authorization": func(h *harness) {
			const fn = "check_permission_authorization"
			alice, active := name("alice"), name("active")
			kp, kn := h.put(2000, keys)
			lp, ln := h.put(3000, levels)
			h.returns(1, fn, alice, active, kp, kn, lp, ln, 1<<63-1)
			h.checkAsked("CheckPermissionAuthorization(alice,active,9223372036854775807)")
			sorted(h)
			h.chain.err = exception.New(exception.IrrelevantAuth, "x")
			h.returns(0, fn, alice, active, kp, kn, lp, ln, 5)
			h.chain.err = nil
			// The delay is looked at before anything is read.
			h.fails(exception.ActionValidate, "provided delay is too large", fn, alice, active, kp, 1, lp, ln, 1<<63)
			h.fails(exception.FCOutOfRange, "", fn, alice, active, kp, 1, lp, ln, 0)
			h.chain.calls = nil
			h.forwards(fn, alice, active, kp, kn, lp, ln, 0)
		},
		"get_permission_last_used": func(h *harness) {
			h.chain.time = 1234567
			h.returns(1234567, "get_permission_last_used", name("alice"), name("active"))
			h.checkAsked("PermissionLastUsed(alice,active)")
			h.forwards("get_permission_last_used", 1, 2)
		},
		"get_account_creation_time": func(h *harness) {
			h.chain.time, h.chain.yes = 1234567, true
			h.returns(1234567, "get_account_creation_time", name("alice"))
			h.checkAsked("AccountCreation(alice)")
			h.forwards("get_account_creation_time", 1)
			h.chain.yes = false
			h.fails(exception.ActionValidate, "account 'alice' does not exist",
				"get_account_creation_time", name("alice"))
		},
	}
}

func FuzzSentTransactions(f *testing.F) {
	f.Add(packValue(sampleTransaction()))
	f.Add(packValue(sampleAction(1, 2)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := newHarness(t)
		p, n := h.put(100, data[:min(len(data), 60000)])
		for fn, args := range map[string][]uint64{
			"send_inline":                     {p, n},
			"send_deferred":                   {p, 1, p, n, 1},
			"check_transaction_authorization": {p, n, p, n, p, n},
			"check_permission_authorization":  {1, 2, p, n, p, n, 1},
			"set_proposed_producers":          {p, n},
			"set_proposed_producers_ex":       {1, p, n},
			"set_finalizers":                  {0, p, n},
			"set_parameters_packed":           {p, n},
			"recover_key":                     {p, p, n, p, n},
		} {
			h.chain.yes = true
			if _, err := h.try(fn, args...); err != nil && exception.Of(err) == nil {
				t.Errorf("%s: %v is no exception", fn, err)
			}
		}
	})
}
