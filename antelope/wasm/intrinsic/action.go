package intrinsic

import (
	"encoding/binary"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// actionEntries are the functions about the action and who allowed it, and those
// that end it (Leap: webassembly/action.cpp, authorization.cpp, system.cpp,
// cf_system.cpp, producer.cpp).
func actionEntries() []entry {
	return []entry{
		{"read_action_data", anywhere, []arg{chars}, wasm.I32, price{light, 1}, readActionData},
		{"action_data_size", anywhere, nil, wasm.I32, price{light, 1}, actionDataSize},
		{"current_receiver", anywhere, nil, wasm.I64, price{light, 1}, currentReceiver},
		{"set_action_return_value", aware, []arg{block}, none, price{light, 4}, setActionReturnValue},

		{"require_auth", aware, []arg{u64}, none, price{light, 1}, requireAuth},
		{"require_auth2", aware, []arg{u64, u64}, none, price{light, 1}, requireAuth2},
		{"has_auth", aware, []arg{u64}, wasm.I32, price{light, 1}, hasAuth},
		{"require_recipient", aware, []arg{u64}, none, price{looking, 1}, requireRecipient},
		{"is_account", aware, []arg{u64}, wasm.I32, price{looking, 1}, isAccount},
		{"get_code_hash", aware, []arg{u64, u32, block}, wasm.I32, price{looking, 1}, getCodeHash},

		{"current_time", aware, nil, wasm.I64, price{light, 1}, currentTime},
		{"publication_time", aware, nil, wasm.I64, price{light, 1}, publicationTime},
		{"is_feature_activated", aware, []arg{ref32}, wasm.I32, price{looking, 1}, isFeatureActivated},
		{"get_sender", aware, nil, wasm.I64, price{light, 1}, getSender},
		{"get_block_num", anywhere, nil, wasm.I32, price{light, 1}, getBlockNum},
		{"get_active_producers", aware, []arg{words}, wasm.I32, price{looking, 1}, getActiveProducers},

		{"abort", anywhere, nil, none, price{light, 1}, abort},
		{"eosio_assert", anywhere, []arg{u32, text}, none, price{light, 1}, eosioAssert},
		{"eosio_assert_message", anywhere, []arg{u32, chars}, none, price{light, 1}, eosioAssertMessage},
		{"eosio_assert_code", anywhere, []arg{u32, u64}, none, price{light, 1}, eosioAssertCode},
		{"eosio_exit", anywhere, []arg{u32}, none, price{light, 1}, eosioExit},
	}
}

func readActionData(a *Apply, m []byte, s []uint64) (uint64, error) {
	return copyOut(span(m, s, 0), a.Data), nil
}

// copyOut copies as much of data as fits and tells how much that is, or with no room
// or no data how long the data is.
func copyOut(to, data []byte) uint64 {
	if len(to) == 0 {
		return size(len(data))
	}
	return size(copy(to, data))
}

func actionDataSize(a *Apply, _ []byte, _ []uint64) (uint64, error) { return size(len(a.Data)), nil }

func currentReceiver(a *Apply, _ []byte, _ []uint64) (uint64, error) { return uint64(a.Receiver), nil }

func setActionReturnValue(a *Apply, m []byte, s []uint64) (uint64, error) {
	value := span(m, s, 0)
	if limit := a.Chain.ChainConfig().MaxActionReturnValueSize; !a.ReadOnly && uint64(len(value)) > uint64(limit) {
		return 0, exception.New(exception.ActionReturnValue,
			"action return value size must be less or equal to ${s} bytes", "s", limit)
	}
	a.Chain.SetReturnValue(value)
	return 0, nil
}

func requireAuth(a *Apply, _ []byte, s []uint64) (uint64, error) {
	return 0, a.Chain.RequireAuth(types.Name(s[0]))
}

func requireAuth2(a *Apply, _ []byte, s []uint64) (uint64, error) {
	return 0, a.Chain.RequireAuth2(types.Name(s[0]), types.Name(s[1]))
}

func hasAuth(a *Apply, _ []byte, s []uint64) (uint64, error) {
	return truth(a.Chain.HasAuth(types.Name(s[0]))), nil
}

func requireRecipient(a *Apply, _ []byte, s []uint64) (uint64, error) {
	return 0, a.Chain.RequireRecipient(types.Name(s[0]))
}

func isAccount(a *Apply, _ []byte, s []uint64) (uint64, error) {
	ok, err := a.Chain.IsAccount(types.Name(s[0]))
	return truth(ok), err
}

// getCodeHash writes what it knows only if all of it fits. The version that the
// contract asks for is always the only one there is, 0.
func getCodeHash(a *Apply, m []byte, s []uint64) (uint64, error) {
	code, err := a.Chain.CodeOf(types.Name(s[0]))
	if err != nil {
		return 0, err
	}
	b := serial.AppendUint64(serial.AppendVaruint32(a.scratch[:0], 0), code.Sequence)
	b = append(code.Hash.Append(b), code.VMType, code.VMVersion)
	a.scratch = b
	if to := span(m, s, 2); len(b) <= len(to) {
		copy(to, b)
	}
	return size(len(b)), nil
}

func currentTime(a *Apply, _ []byte, _ []uint64) (uint64, error) {
	return uint64(a.Chain.BlockTime()), nil
}

func publicationTime(a *Apply, _ []byte, _ []uint64) (uint64, error) {
	return uint64(a.Chain.PublicationTime()), nil
}

func isFeatureActivated(a *Apply, m []byte, s []uint64) (uint64, error) {
	return truth(a.Chain.FeatureActivated(types.Checksum256(ref(m, s, 0, 32)))), nil
}

func getSender(a *Apply, _ []byte, _ []uint64) (uint64, error) {
	return uint64(a.Chain.SenderOf()), nil
}

func getBlockNum(a *Apply, _ []byte, _ []uint64) (uint64, error) {
	return uint64(a.Chain.BlockNum()), nil
}

// getActiveProducers copies as many bytes as the buffer has elements: nodeos mixes
// the units up, and contracts see it.
func getActiveProducers(a *Apply, m []byte, s []uint64) (uint64, error) {
	b := a.scratch[:0]
	for _, name := range a.Chain.ActiveProducers() {
		b = binary.LittleEndian.AppendUint64(b, uint64(name))
	}
	a.scratch = b
	return copyOut(span(m, s, 0), b), nil
}

func abort(*Apply, []byte, []uint64) (uint64, error) {
	return 0, exception.New(exception.AbortCalled, "abort() called")
}

// maxAssertMessage is how many bytes of a message are kept.
const maxAssertMessage = 1024

func eosioAssert(_ *Apply, m []byte, s []uint64) (uint64, error) {
	if uint32(s[0]) != 0 {
		return 0, nil
	}
	return 0, failAssertion(cstring(m, s, 1))
}

func eosioAssertMessage(_ *Apply, m []byte, s []uint64) (uint64, error) {
	if uint32(s[0]) != 0 {
		return 0, nil
	}
	return 0, failAssertion(span(m, s, 1))
}

func failAssertion(message []byte) error {
	message = message[:min(len(message), maxAssertMessage)]
	return exception.New(exception.EosioAssertMessage, "assertion failure with message: ${s}", "s", string(message))
}

func eosioAssertCode(_ *Apply, _ []byte, s []uint64) (uint64, error) {
	switch code := s[1]; {
	case uint32(s[0]) != 0:
		return 0, nil
	case code >= GenericErrorCode:
		return 0, &CodedError{RestrictedErrorCode, exception.New(exception.RestrictedErrorCode,
			"eosio_assert_code called with reserved error code: ${error_code}", "error_code", code)}
	default:
		return 0, &CodedError{code, exception.New(exception.EosioAssertCode,
			"assertion failure with error code: ${error_code}", "error_code", code)}
	}
}

func eosioExit(*Apply, []byte, []uint64) (uint64, error) { return 0, errExit }
