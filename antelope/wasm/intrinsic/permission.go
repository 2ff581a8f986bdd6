package intrinsic

import (
	"math"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// permissionEntries are the functions that ask about authority (Leap:
// webassembly/permission.cpp).
func permissionEntries() []entry {
	return []entry{
		{"check_transaction_authorization", aware, []arg{chars, chars, chars}, wasm.I32, price{sending, writing},
			checkTransactionAuthorization},
		{"check_permission_authorization", aware, []arg{u64, u64, chars, chars, u64}, wasm.I32, price{sending, writing},
			checkPermissionAuthorization},
		{"get_permission_last_used", aware, []arg{u64, u64}, wasm.I64, price{looking, 1}, getPermissionLastUsed},
		{"get_account_creation_time", aware, []arg{u64}, wasm.I64, price{looking, 1}, getAccountCreationTime},
	}
}

// answerCheck turns the outcome of a check into what the contract sees: a lack of
// authority is an answer, anything else ends the action.
func answerCheck(err error) (uint64, error) {
	if exception.Is(err, exception.Authorization) {
		return 0, nil
	}
	return truth(err == nil), err
}

func checkTransactionAuthorization(a *Apply, m []byte, s []uint64) (uint64, error) {
	var trx types.Transaction
	if err := a.unpack(span(m, s, 0), &trx); err != nil {
		return 0, err
	}
	keys, levels, err := a.readProvided(span(m, s, 2), span(m, s, 4))
	if err != nil {
		return 0, err
	}
	return answerCheck(a.Chain.CheckTransactionAuthorization(trx.Actions, keys, levels, int64(trx.DelaySec)*1_000_000))
}

func checkPermissionAuthorization(a *Apply, m []byte, s []uint64) (uint64, error) {
	delay := s[6]
	if delay > math.MaxInt64 {
		return 0, exception.New(exception.ActionValidate, "provided delay is too large")
	}
	keys, levels, err := a.readProvided(span(m, s, 2), span(m, s, 4))
	if err != nil {
		return 0, err
	}
	return answerCheck(a.Chain.CheckPermissionAuthorization(types.Name(s[0]), types.Name(s[1]), keys, levels,
		int64(delay)))
}

// readProvided reads what the contract says is there to satisfy an authority: sets, each
// of them none if there is not a byte of it.
func (a *Apply) readProvided(packedKeys, packedLevels []byte) ([]types.PublicKey, []types.PermissionLevel, error) {
	keys, err := unpackSet(a, packedKeys, 34, (*types.PublicKey).Read, types.PublicKey.Compare)
	if err != nil {
		return nil, nil, err
	}
	levels, err := unpackSet(a, packedLevels, 16, (*types.PermissionLevel).Read, types.PermissionLevel.Compare)
	return keys, levels, err
}

// unpackSet reads a set whose elements take at least least bytes; they come back
// ascending and without duplicates, however they were written.
func unpackSet[T comparable](
	a *Apply, b []byte, least int, read func(*T, *serial.Reader), compare func(a, b T) int,
) ([]T, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := a.reader(b)
	set := make([]T, r.Count(least))
	for i := range set {
		a.Charge(floating)
		read(&set[i], r)
	}
	if err := unpackError(r, len(b)); err != nil {
		return nil, err
	}
	slices.SortFunc(set, func(x, y T) int {
		a.Charge(light)
		return compare(x, y)
	})
	return slices.Compact(set), nil
}

func getPermissionLastUsed(a *Apply, _ []byte, s []uint64) (uint64, error) {
	t, err := a.Chain.PermissionLastUsed(types.Name(s[0]), types.Name(s[1]))
	return uint64(t), err
}

func getAccountCreationTime(a *Apply, _ []byte, s []uint64) (uint64, error) {
	account := types.Name(s[0])
	t, ok, err := a.Chain.AccountCreation(account)
	if err == nil && !ok {
		err = exception.New(exception.ActionValidate, "account '${account}' does not exist", "account", account)
	}
	return uint64(t), err
}
