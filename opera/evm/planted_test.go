package evm

import (
	"os"
	"testing"

	"tarn/internal/plantedfault"
)

// faults are pieces of the source, each with what it is changed into.
var faults = []plantedfault.Fault{
	{"nothing is burnt", "transition.go", "left -= left / 10", "left -= 0"},
	{"the burn is rounded up", "transition.go", "left -= left / 10", "left -= (left + 9) / 10"},
	{"internal transactions burn", "transition.go", "if m.From != (common.Address{}) {", "if true {"},
	{"transactions that are unchecked do not burn", "transition.go", "if m.From != (common.Address{}) {", "if !m.Unchecked {"},
	{"the refund is of what was used before the burn", "transition.go", "	if m.From != (common.Address{}) {\n		left -= left / 10 // a tenth of what is not used goes as well\n	}\n	left += b.refund(m.Gas - left)",
		"	back := b.refund(m.Gas - left)\n	if m.From != (common.Address{}) {\n		left -= left / 10\n	}\n	left += back"},
	{"the refund is a fifth before London", "transition.go", "if b.rules.IsLondon {\n		most", "if true {\n		most"},
	{"the refund is a half with London", "transition.go", "if b.rules.IsLondon {\n		most", "if false {\n		most"},
	{"the balance must pay the value too", "transition.go", "have.Lt(fee) {", "have.Lt(new(uint256.Int).Add(fee, uint256.MustFromBig(m.Value))) {"},
	{"the balance must pay the greatest price", "message.go", "	return price\n}", "	return most\n}"},
	{"the tip is forgotten", "message.go", "price.Add(price, baseFee).Cmp(most)", "price.Set(baseFee).Cmp(most)"},
	{"a creation's nonce is raised here too", "transition.go", "if m.To != nil {\n		b.state.SetNonce", "if true {\n		b.state.SetNonce"},
	{"a huge value is cut", "transition.go", "if huge {", "if huge && false {"},
	{"a huge price is cut", "transition.go", "huge && m.Gas > 0 || dear", "huge && m.Gas == 0 || dear"},
	{"a fee of more than a word is cut", "transition.go", "|| dear ||", "|| dear && m.Gas == 0 ||"},
	{"contracts may send", "transition.go", "hash != (common.Hash{}) && hash != types.EmptyCodeHash", "hash == types.EmptyCodeHash && false"},
	{"internal transactions are checked", "message.go", "IsInternal(tx.Transaction),", "false,"},
	{"a nonce of the future is good", "transition.go", "m.Nonce != next", "m.Nonce < next"},
	{"storage keys of the list are free", "../inter/gas.go", "uint64(list.StorageKeys())*params.TxAccessListStorageKeyGas", "0*uint64(list.StorageKeys())"},
	{"a zero byte costs as much as another", "../inter/gas.go", "gas += params.TxDataZeroGas", "gas += params.TxDataNonZeroGasEIP2028"},
	{"EvmWriter is warm", "block.go", "vm.ActivePrecompiles(b.rules)", "append(vm.ActivePrecompiles(b.rules), WriterAddress)"},
	{"touched accounts stay", "block.go", "	b.state.Finalise(b.rules)\n	b.txs", "	b.txs"},
	{"transfers of nothing touch nobody", "block.go", "	s.SubBalance(from, value",
		"	if value.IsZero() {\n		return\n	}\n	s.SubBalance(from, value"},
	{"the difficulty is none", "block.go", "big.NewInt(1),", "big.NewInt(0),"},
	{"the gas limit is shown to be less", "block.go", "math.MaxUint64,", "math.MaxInt64,"},
	{"the time is in nanoseconds", "../inter/inter.go", "int64(t) / 1e9", "int64(t) / 1"},
	{"logs are counted anew for each transaction", "receipt.go", "firstLog: b.logs,", ""},
	{"gas is counted anew for each transaction", "receipt.go", "r.CumulativeGasUsed = b.gasUsed", "r.CumulativeGasUsed = result.GasUsed"},
	{"a contract's address is of the next nonce", "receipt.go", "tx.Nonce())", "tx.Nonce()+1)"},
	{"what is left out is not counted", "block.go", "	index := b.given\n	b.given++", "	index := len(b.txs)"},
	{"EvmWriter obeys everybody", "writer.go", "w.caller != DriverAddress || ", ""},
	{"EvmWriter obeys the last who called it", "writer.go", "w.called, w.noted, w.work = w.noted, false, nil", "w.called, w.work = w.noted, nil"},
	{"EvmWriter hears other kinds of calls", "writer.go", "w.called, w.noted, w.work = w.noted, false, nil", "w.called, w.noted, w.work = true, false, nil"},
	{"EvmWriter's refusal leaves the gas", "writer.go", "return nil, errWriterRefused", "return nil, vm.ErrExecutionReverted"},
	{"EvmWriter takes longer inputs", "writer.go", "len(args) == method.size", "len(args) >= method.size"},
	{"the sender's balance can be set", "writer.go", "	if account == w.block.machine.Origin {\n		return setBalanceGas\n	}\n", ""},
	{"the sender's nonce can be raised", "writer.go", "account == w.block.machine.Origin || by.IsZero()", "by.IsZero()"},
	{"a nonce may be raised by 256", "writer.go", "GtUint64(maxNonceGrowth)", "GtUint64(maxNonceGrowth + 1)"},
	{"a nonce may be raised by nothing", "writer.go", "by.IsZero() || ", ""},
	{"a balance can only grow", "writer.go", "s.SubBalance(account, have.Sub(have, balance)", "s.SubBalance(account, new(uint256.Int)"},
	{"code is copied the other way", "writer.go", "w.setCode(to, code)", "w.setCode(from, s.GetCode(to))"},
	{"copied code costs nothing", "writer.go", "copyCodeGas + uint64(len(code))*codeByteGas", "copyCodeGas"},
	{"swapped code costs as much as copied", "writer.go", "uint64(len(otherCode))*codeByteGas)/2", "uint64(len(otherCode))*codeByteGas)"},
	{"half of swapped code is lost", "writer.go", "			w.setCode(other, code)\n", ""},
	{"EvmWriter's own code is never run", "writer.go", "	case WriterAddress:\n		w.watch()\n", "	case WriterAddress:\n"},
	{"messages of the system address are today's", "system.go", "if from == params.SystemAddress {\n		s.need()", "if false {\n		s.need()"},
	{"code of the system address calls as today", "system.go", "s.block.state.GetCodeSize(params.SystemAddress) > 0", "false"},
	{"the system address pays what it lacks", "system.go", "!affords(state, from, value)", "false"},
	{"the system address is left the gas of nobody", "system.go", "return nil, vm.ErrExecutionReverted }", "return nil, vm.ErrInsufficientBalance }"},
	{"who was refused once is refused for ever", "system.go", "		delete(known, c.to)\n", ""},
	{"the system address does not get its value back", "system.go", "	if failed {", "	if false {"},
	{"the last nonce creates nothing", "nonce.go", "if s.GetNonce(from) == math.MaxUint64 {", "if s.GetNonce(from) == math.MaxUint64 && false {"},
	{"the last nonce is forgotten after a call", "nonce.go",
		"	n.machine.StateDB = n.StateDB\n	return n.StateDB.Snapshot()", "	return n.StateDB.Snapshot()"},
	{"what is wrapped stays wrapped", "words.go", "case errors.Is(err, vm.ErrOutOfGas):\n		return vm.ErrOutOfGas", "case false:\n		return nil"},
	{"too large a code that begins with 0xef begins with 0xef", "words.go", "len(ret) > params.MaxCodeSize", "len(ret) > params.MaxCodeSize<<9"},
	{"who looks on hears today's words", "hooks.go", "vm.VMErrorFromErr(operaError(err, output))", "err"},
	{"steps fail in today's words", "hooks.go", "vm.VMErrorFromErr(operaError(err, nil))", "err"},
	{"points that are none are today's", "words.go", "errors.New(\"bn256: malformed point\")\n	case", "err\n	case"},
	{"the modulus is beyond itself", "words.go", "case c == 0:", "case c == 7:"},
	{"London's blocks have no base fee", "header.go", "if !rules.Upgrades.London {\n		return nil", "if true {\n		return nil"},
	{"an upgrade lasts", "header.go", "	case !on:\n		return nil\n", "	case !on:\n		return before\n"},
	{"the first height counts", "header.go", "if i > 0 {", "if i >= 0 {"},
}

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands
// that a test fails, and that none fails without.
func TestPlantedFaultsAreCaught(t *testing.T) {
	if os.Getenv("TARN_PLANTED") != "" {
		processor(t)
	}
	plantedfault.Test(t, faults, "-evm.scenes=400")
}
