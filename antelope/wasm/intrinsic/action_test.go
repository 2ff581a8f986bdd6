package intrinsic

import (
	"errors"
	"strings"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

func actionBehaviours() map[string]behaviour {
	return map[string]behaviour{
		"read_action_data": func(h *harness) {
			h.copiesOut([]byte{1, 2, 3, 4, 5}, func(data []byte) { h.a.Data = data }, "read_action_data")
		},
		"action_data_size": func(h *harness) {
			h.returns(0, "action_data_size")
			h.a.Data = make([]byte, 70000)
			h.returns(70000, "action_data_size")
		},
		"current_receiver": func(h *harness) { h.returns(name("receiver"), "current_receiver") },
		"set_action_return_value": func(h *harness) {
			h.chain.config.MaxActionReturnValueSize = 3
			p, n := h.put(100, []byte("abcd"))
			h.call("set_action_return_value", p, n-1)
			h.checkAsked("SetReturnValue(616263)")
			h.fails(exception.ActionReturnValue, "action return value size must be less or equal to 3 bytes",
				"set_action_return_value", p, n)
			h.a.ReadOnly = true // its result is not part of the chain
			h.call("set_action_return_value", p, n)
			h.checkAsked("SetReturnValue(61626364)")
		},
		"require_auth": func(h *harness) {
			h.call("require_auth", name("alice"))
			h.checkAsked("RequireAuth(alice)")
			h.forwards("require_auth", 1)
		},
		"require_auth2": func(h *harness) {
			h.call("require_auth2", name("alice"), name("active"))
			h.checkAsked("RequireAuth2(alice,active)")
			h.forwards("require_auth2", 1, 2)
		},
		"has_auth": func(h *harness) {
			h.returns(0, "has_auth", name("alice"))
			h.chain.yes = true
			h.returns(1, "has_auth", name("bob"))
			h.checkAsked("HasAuth(alice)", "HasAuth(bob)")
		},
		"require_recipient": func(h *harness) {
			h.call("require_recipient", name("alice"))
			h.checkAsked("RequireRecipient(alice)")
			h.forwards("require_recipient", 1)
		},
		"is_account": func(h *harness) {
			h.returns(0, "is_account", name("alice"))
			h.chain.yes = true
			h.returns(1, "is_account", name("bob"))
			h.checkAsked("IsAccount(alice)", "IsAccount(bob)")
			h.forwards("is_account", 1)
		},
		"get_code_hash": func(h *harness) {
			h.chain.code = Code{Sequence: 0x0102, Hash: types.Checksum256{0xaa, 31: 0xbb}, VMType: 7, VMVersion: 9}
			h.returns(43, "get_code_hash", name("alice"), 0, 100, 42)
			h.holds(100, make([]byte, 43))
			h.returns(43, "get_code_hash", name("alice"), 5, 100, 43)
			want := append([]byte{0, 2, 1, 0, 0, 0, 0, 0, 0, 0xaa}, make([]byte, 30)...)
			h.holds(100, append(want, 0xbb, 7, 9, 0, 0))
			h.checkAsked("CodeOf(alice)", "CodeOf(alice)")
			h.forwards("get_code_hash", 1, 0, 100, 43)
		},
		"current_time": func(h *harness) {
			h.chain.time = -5
			h.returns(^uint64(4), "current_time")
		},
		"publication_time": func(h *harness) {
			h.chain.time = 1_700_000_000_000_000
			h.returns(1_700_000_000_000_000, "publication_time")
		},
		"is_feature_activated": func(h *harness) {
			h.put(101, []byte{0x12, 31: 0x34})
			h.returns(0, "is_feature_activated", 101)
			h.chain.yes = true
			h.returns(1, "is_feature_activated", 101)
			want := "FeatureActivated(12" + strings.Repeat("00", 30) + "34)"
			h.checkAsked(want, want)
		},
		"get_sender": func(h *harness) {
			h.returns(0, "get_sender")
			h.chain.name = types.N("alice")
			h.returns(name("alice"), "get_sender")
		},
		"get_block_num": func(h *harness) {
			h.chain.number = 0xfffffff0
			h.returns(0xfffffff0, "get_block_num")
		},
		"get_active_producers": func(h *harness) {
			h.chain.producers = []types.Name{1, 2, 3}
			h.returns(24, "get_active_producers", 104, 0)
			h.returns(4, "get_active_producers", 104, 4) // elements are counted as bytes
			h.holds(104, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0})
			h.returns(10, "get_active_producers", 105, 10)
			h.holds(105, []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0})
			h.returns(24, "get_active_producers", 104, 100)
			h.holds(104, []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0})
		},
		"abort": func(h *harness) { h.fails(exception.AbortCalled, "abort() called", "abort") },
		"eosio_assert": func(h *harness) {
			h.put(100, []byte("no\x01\xff way\x00more"))
			h.call("eosio_assert", 1, 100)
			h.call("eosio_assert", 1<<31, 100)
			h.fails(exception.EosioAssertMessage, "assertion failure with message: no\\u0001 way",
				"eosio_assert", 0, 100)
			h.put(100, []byte(strings.Repeat("y", 2000)))
			h.fails(exception.EosioAssertMessage, "assertion failure with message: "+strings.Repeat("y", 1024),
				"eosio_assert", 0, 100)
		},
		"eosio_assert_message": func(h *harness) {
			p, n := h.put(100, []byte("no\x00 way"))
			h.call("eosio_assert_message", 1, p, n)
			h.fails(exception.EosioAssertMessage, "assertion failure with message: no\\u0000 way",
				"eosio_assert_message", 0, p, n)
			p, n = h.put(100, []byte(strings.Repeat("y", 1025)))
			h.fails(exception.EosioAssertMessage, "assertion failure with message: "+strings.Repeat("y", 1024),
				"eosio_assert_message", 0, p, n)
			h.fails(exception.EosioAssertMessage, "assertion failure with message: ", "eosio_assert_message", 0, 0, 0)
		},
		"eosio_assert_code": assertCode,
		"eosio_exit": func(h *harness) {
			if _, err := h.try("eosio_exit", 5); err != errExit {
				h.Errorf("%v, want the end of the action", err)
			}
		},
	}
}

func assertCode(h *harness) {
	h.call("eosio_assert_code", 1, 5)
	h.call("eosio_assert_code", 1, ^uint64(0))
	for _, c := range []struct {
		code, shown uint64
		kind        *exception.Kind
		message     string
	}{
		{0, 0, exception.EosioAssertCode, "assertion failure with error code: 0"},
		{9_999_999_999_999_999_999, 9_999_999_999_999_999_999, exception.EosioAssertCode, "assertion failure with error code: 9999999999999999999"},
		{10_000_000_000_000_000_000, RestrictedErrorCode, exception.RestrictedErrorCode,
			"eosio_assert_code called with reserved error code: 10000000000000000000"},
		{^uint64(0), RestrictedErrorCode, exception.RestrictedErrorCode, "eosio_assert_code called with reserved error code: 18446744073709551615"},
	} {
		h.fails(c.kind, c.message, "eosio_assert_code", 0, c.code)
		_, err := h.try("eosio_assert_code", 0, c.code)
		var coded *CodedError
		if !errors.As(err, &coded) || coded.Code != c.shown {
			h.Errorf("code %d: the trace shows %v", c.code, err)
		}
	}
}

// copiesOut tests a function that copies data into a span, its last two parameters.
func (h *harness) copiesOut(data []byte, set func([]byte), fn string, before ...uint64) {
	h.Helper()
	call := func(want, p, n uint64) {
		h.Helper()
		h.returns(want, fn, append(append([]uint64(nil), before...), p, n)...)
	}
	all := uint64(len(data))
	set(data)
	call(all, 103, 0)
	h.holds(103, make([]byte, len(data)))
	call(all-1, 103, all-1)
	h.holds(103, append(append([]byte(nil), data[:all-1]...), 0))
	call(all, 103, all)
	h.holds(103, append(append([]byte(nil), data...), 0))
	call(all, uint64(len(h.m))-all-1, all+1)
	set(nil)
	call(0, 103, 8)
	call(0, 103, 0)
	set(data)
}

func TestChecksOfAnActionThatFailedAreNotItsAnswer(t *testing.T) {
	for _, c := range []struct {
		err  error
		want uint64
		ends bool
	}{
		{nil, 1, false},
		{exception.New(exception.MissingAuth, "x"), 0, false},
		{exception.New(exception.UnsatisfiedAuthorization, "x"), 0, false},
		{exception.New(exception.Deadline, "x"), 0, true},
		{exception.New(exception.PermissionQuery, "x"), 0, true},
		{errors.New("broken disk"), 0, true},
	} {
		v, err := answerCheck(c.err)
		if v != c.want || (err != nil) != c.ends || c.ends && err != c.err {
			t.Errorf("%v: %d, %v", c.err, v, err)
		}
	}
}
