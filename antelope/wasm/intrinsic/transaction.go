package intrinsic

import (
	"encoding/binary"

	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// transactionEntries are the functions about the transaction around the action, and
// those that send others (Leap: webassembly/transaction.cpp, cf_transaction.cpp,
// context_free.cpp).
func transactionEntries() []entry {
	return []entry{
		{"send_inline", aware, []arg{chars}, none, price{sending, writing}, sendInline},
		{"send_context_free_inline", aware, []arg{chars}, none, price{sending, writing}, sendContextFreeInline},
		{"send_deferred", aware, []arg{ref16, u64, chars, u32}, none, price{sending, writing}, sendDeferred},
		{"cancel_deferred", aware, []arg{ref16}, wasm.I32, price{sending, 1}, cancelDeferred},

		{"read_transaction", anywhere, []arg{chars}, wasm.I32, price{light, 1}, readTransaction},
		{"transaction_size", anywhere, nil, wasm.I32, price{light, 1}, transactionSize},
		{"expiration", anywhere, nil, wasm.I32, price{light, 1}, expiration},
		{"tapos_block_num", anywhere, nil, wasm.I32, price{light, 1}, taposBlockNum},
		{"tapos_block_prefix", anywhere, nil, wasm.I32, price{light, 1}, taposBlockPrefix},
		{"get_action", anywhere, []arg{u32, u32, chars}, wasm.I32, price{looking, 1}, getAction},
		{"get_context_free_data", free, []arg{u32, chars}, wasm.I32, price{light, 1}, getContextFreeData},
	}
}

func (a *Apply) inline(data []byte) (action types.Action, err error) {
	if uint64(len(data)) >= uint64(a.Chain.ChainConfig().MaxInlineActionSize) {
		return action, exception.New(exception.InlineActionTooBig, "inline action too big")
	}
	return action, a.unpack(data, &action)
}

func sendInline(a *Apply, m []byte, s []uint64) (uint64, error) {
	action, err := a.inline(span(m, s, 0))
	if err != nil {
		return 0, err
	}
	return 0, a.Chain.SendInline(action)
}

func sendContextFreeInline(a *Apply, m []byte, s []uint64) (uint64, error) {
	action, err := a.inline(span(m, s, 0))
	if err != nil {
		return 0, err
	}
	return 0, a.Chain.SendContextFreeInline(action)
}

func uint128(b []byte) types.Uint128 {
	return types.Uint128{Lo: binary.LittleEndian.Uint64(b), Hi: binary.LittleEndian.Uint64(b[8:])}
}

func sendDeferred(a *Apply, m []byte, s []uint64) (uint64, error) {
	trx := new(types.Transaction)
	if err := a.unpack(span(m, s, 2), trx); err != nil {
		return 0, err
	}
	return 0, a.Chain.SendDeferred(uint128(ref(m, s, 0, 16)), types.Name(s[1]), trx, uint32(s[4]) != 0)
}

func cancelDeferred(a *Apply, m []byte, s []uint64) (uint64, error) {
	ok, err := a.Chain.CancelDeferred(uint128(ref(m, s, 0, 16)))
	return truth(ok), err
}

func readTransaction(a *Apply, m []byte, s []uint64) (uint64, error) {
	return copyOut(span(m, s, 0), a.Chain.PackedTransaction()), nil
}

func transactionSize(a *Apply, _ []byte, _ []uint64) (uint64, error) {
	return size(len(a.Chain.PackedTransaction())), nil
}

func expiration(a *Apply, _ []byte, _ []uint64) (uint64, error) {
	return uint64(a.Chain.Transaction().Expiration), nil
}

func taposBlockNum(a *Apply, _ []byte, _ []uint64) (uint64, error) {
	return uint64(a.Chain.Transaction().RefBlockNum), nil
}

func taposBlockPrefix(a *Apply, _ []byte, _ []uint64) (uint64, error) {
	return uint64(a.Chain.Transaction().RefBlockPrefix), nil
}

// getAction packs one of the transaction's own actions, but writes it only if all of
// it fits.
func getAction(a *Apply, m []byte, s []uint64) (uint64, error) {
	var list []types.Action
	switch uint32(s[0]) {
	case 0:
		list = a.Chain.Transaction().ContextFreeActions
	case 1:
		list = a.Chain.Transaction().Actions
	default:
		return 0, exception.New(exception.ActionNotFound, "action is not found")
	}
	index := uint32(s[1])
	if uint64(index) >= uint64(len(list)) {
		return i32(-1), nil
	}
	a.Charge(uint64(list[index].Size()))
	a.scratch = list[index].Append(a.scratch[:0])
	if to := span(m, s, 2); len(a.scratch) <= len(to) {
		copy(to, a.scratch)
	}
	return size(len(a.scratch)), nil
}

func getContextFreeData(a *Apply, m []byte, s []uint64) (uint64, error) {
	data, ok := a.Chain.ContextFreeData(uint32(s[0]))
	if !ok {
		return i32(-1), nil
	}
	return copyOut(span(m, s, 1), data), nil
}
