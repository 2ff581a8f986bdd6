package difftest

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"

	"tarn/opera/epoch"
	"tarn/opera/evm"
	"tarn/opera/evm/evmfuzz"
)

// driverAuth is the contract that lets its owner talk to the driver.
var driverAuth = common.HexToAddress("0xd100ae0000000000000000000000000000000000")

func (w *Work) govern(kind string, to common.Address, c *epoch.Call) *Deed {
	return w.deed(kind, w.owner, to, 900_000, nil, c.Encode())
}

func (w *Work) advance() *Deed {
	n := 1 + w.Uint64N(2)
	if w.Virtual && w.IntN(20) == 0 {
		n = 5 + w.Uint64N(20)
	}
	return w.govern("advance epochs", driverAuth, call("advanceEpochs(uint256)").Number(n))
}

func (w *Work) updateRules(kind, diff string) *Deed {
	w.rules++
	return w.govern(kind, driverAuth, call("updateNetworkRules(bytes)").Bytes([]byte(diff)))
}

// changeRules merges a piece of JSON into the rules: one with which the network goes on.
func (w *Work) changeRules() *Deed {
	const alloc = 2_800_000_000
	diffs := []string{
		fmt.Sprintf(`{"Dag":{"MaxParents":%d,"MaxFreeParents":%d}}`, 4+w.IntN(8), 2+w.IntN(3)),
		fmt.Sprintf(`{"dag":{"maxextradata":%d}}`, 64+w.IntN(100)),
		fmt.Sprintf(`{"Epochs":{"MaxEpochGas":%d}}`, 60_000_000+w.IntN(300_000_000)),
		fmt.Sprintf(`{"Epochs":{"MaxEpochDuration":%d}}`, int64(30+w.IntN(600))*1e9),
		fmt.Sprintf(`{"Blocks":{"MaxBlockGas":%d}}`, 11_000_000+w.IntN(12_000_000)),
		fmt.Sprintf(`{"Blocks":{"MaxEmptyBlockSkipPeriod":%d}}`, int64(500+w.IntN(5000))*1e6),
		fmt.Sprintf(`{"Economy":{"BlockMissedSlack":%d}}`, 1+w.IntN(60)),
		fmt.Sprintf(`{"Economy":{"MinGasPrice":%d}}`, 1+w.Int64N(100e9)),
		fmt.Sprintf(`{"Economy":{"Gas":{"EventGas":%d,"ParentGas":%d,"ExtraDataGas":%d}}}`, 20_000+w.IntN(20_000),
			1000+w.IntN(3000), 10+w.IntN(30)),
		fmt.Sprintf(
			`{"Economy":{"Gas":{"BlockVotesBaseGas":%d,"BlockVoteGas":%d,"EpochVoteGas":%d,"MisbehaviourProofGas":%d}}}`,
			1000+w.IntN(100), 500+w.IntN(100), 1500+w.IntN(100), 70_000+w.IntN(3000)),
		`{"Economy":{"Gas":{"BlockVotesBaseGas":0,"BlockVoteGas":0,"EpochVoteGas":0,"MisbehaviourProofGas":0}}}`,
		fmt.Sprintf(`{"Economy":{"ShortGasPower":{"AllocPerSec":%d,"MaxAllocPeriod":%d}}}`, 2*alloc+w.Int64N(alloc),
			int64(30+w.IntN(300))*1e9),
		fmt.Sprintf(`{"Economy":{"LongGasPower":{"AllocPerSec":%d,"StartupAllocPeriod":%d,"MinStartupGas":%d}}}`,
			alloc+w.Int64N(alloc), int64(2500+w.IntN(5000))*1e6, 560_000+w.IntN(100_000)),
		fmt.Sprintf(`{"Name":"other","NetworkID":%d,"Unknown":[1,{"x":null}],"Dag":null}`, w.IntN(9)),
	}
	if w.IntN(6) > 0 {
		return w.updateRules("change rules", diffs[w.IntN(len(diffs))])
	}
	broken := []string{
		``, `{`, `null`, `7`, `{"Dag":5}`, `{"Dag":{"MaxParents":-1}}`, `{"Economy":{"MinGasPrice":"7"}}`,
		`{"Dag":{"MaxParents":1e1}}`, `{"Epochs":{"MaxEpochGas":99999999999999999999}}`,
		`{"Economy":{"MinGasPrice":1.5}}`, "{\"Name\":\"\xff\"}", `{} {}`,
		`{"Economy":{"BlockMissedSlack":20,"Gas":7}}`,
	}
	return w.updateRules("change rules badly", broken[w.IntN(len(broken))])
}

// upgrade switches Berlin and London, and Llr where the network can do without it: its
// events of version 0 have no numbers for epochs below 256. London without Berlin ends
// every go-opera at the next change of storage, with a panic; and one that is behind hears
// of the record of a later epoch, and executes the blocks before it without what that epoch
// has switched off. So nobody is behind where upgrades are switched.
func (w *Work) upgrade() *Deed {
	if !w.Virtual {
		return nil
	}
	diff := []string{`"Berlin":true,"London":true`, `"Berlin":true,"London":false`,
		`"Berlin":false,"London":false`}[w.IntN(3)]
	if w.Epoch > early {
		diff += fmt.Sprintf(`,"Llr":%v`, w.IntN(2) == 0)
	}
	return w.updateRules("switch upgrades", `{"Upgrades":{`+diff+`}}`)
}

// place is where code may be changed: neither an account, which could send nothing with
// code, nor a contract without which there are no epochs.
func (w *Work) place() common.Address {
	for {
		a := w.programs.Someone()
		if w.free(a) {
			return a
		}
		if w.IntN(50) == 0 {
			return common.Address{18: 0x91, 19: byte(w.IntN(5))}
		}
	}
}

func (w *Work) free(a common.Address) bool {
	return a != epoch.Driver() && a != evm.WriterAddress && a != (common.Address{}) &&
		!slices.ContainsFunc(w.accounts, func(o *Account) bool { return o.Address == a })
}

func (w *Work) copyCode() *Deed {
	method := []string{"copyCode(address,address)", "upgradeCode(address,address)"}[w.IntN(2)]
	return w.govern("copy code", driverAuth, call(method).Address(w.place()).Address(w.place()))
}

// raiseNonce raises that of an account that sends nothing.
func (w *Work) raiseNonce() *Deed {
	c := call("incNonce(address,uint256)").Address(common.Address{18: 0xee, 19: byte(w.IntN(5))}).Number(w.Uint64N(260))
	return w.govern("raise a nonce", driverAuth, c)
}

// usurp has somebody call what only others may.
func (w *Work) usurp() *Deed {
	d := []*Deed{w.advance(), w.copyCode(), w.mint(),
		w.govern("", epoch.Driver(), call("advanceEpochs(uint256)").Number(3))}[w.IntN(4)]
	d.Kind, d.From = "usurp", w.anyone()
	return d
}

// batch creates a contract that makes itself the driver's owner, has it do what its
// owners' contract offers to nobody, and gives all back.
func (w *Work) batch() *Deed {
	p := &evmfuzz.Programmer{Rand: w.Rand}
	// migrateTo(this contract): the selector, then the address over the zeros behind it.
	p.Push(common.RightPadBytes(call("migrateTo(address)").Encode(), 32))
	p.Op(vm.PUSH1, 0, vm.MSTORE, vm.ADDRESS, vm.PUSH1, 4, vm.MSTORE)
	send(p, driverAuth, 36)
	for range 1 + w.IntN(5) {
		input(p, epoch.Driver(), w.driverCall())
	}
	input(p, epoch.Driver(), call("setBackend(address)").Address(driverAuth))
	input(p, driverAuth, call("transferOwnership(address)").Address(w.owner.Address))
	d := w.creation("create a batch", w.owner, 2_500_000, returning(p.Code))
	d.made = func(a common.Address) { w.batches = append(w.batches, a) }
	return d
}

// driverCall is something that only the driver's owner may ask it.
func (w *Work) driverCall() *epoch.Call {
	a, b := w.place(), w.place()
	switch w.IntN(7) {
	case 0:
		return call("setBalance(address,uint256)").Address(common.Address{18: 0xba,
			19: byte(w.IntN(4))}).Big(big.NewInt(w.Int64N(1e18)))
	case 1:
		return call("setStorage(address,bytes32,bytes32)").Address(a).Number(w.Uint64N(4)).Number(w.Uint64N(3))
	case 2:
		return call("swapCode(address,address)").Address(a).Address(b)
	case 3:
		return call("copyCode(address,address)").Address(a).Address(b)
	case 4:
		return call("updateNetworkRules(bytes)").Bytes([]byte(`{"Economy":{"BlockMissedSlack":33}}`))
	case 5:
		// More than a number of 256 bits leaves of it counts: the last 24.
		return call("advanceEpochs(uint256)").Big(new(big.Int).SetUint64(w.Uint64()<<24 + 1))
	}
	return call("updateValidatorPubkey(uint256,bytes)").Number(1000 + w.Uint64N(3)).Bytes([]byte{0xc0, 1, 2})
}

// execute has the owner run a batch.
func (w *Work) execute() *Deed {
	if len(w.batches) == 0 {
		return nil
	}
	d := w.govern("execute a batch", driverAuth, call("execute(address)").Address(w.batches[w.IntN(len(w.batches))]))
	d.Gas = 3_000_000
	return d
}

// input has a contract call another with an input.
func input(p *evmfuzz.Programmer, to common.Address, c *epoch.Call) {
	data := c.Encode()
	for at := 0; at < len(data); at += 32 {
		p.Push(common.RightPadBytes(data[at:min(at+32, len(data))], 32))
		p.Op(vm.PUSH2, vm.OpCode(at>>8), vm.OpCode(at), vm.MSTORE)
	}
	send(p, to, len(data))
}

// send has a contract call another with the first bytes of its memory.
func send(p *evmfuzz.Programmer, to common.Address, size int) {
	p.Op(vm.PUSH1, 0, vm.PUSH1, 0, vm.PUSH2, vm.OpCode(size>>8), vm.OpCode(size), vm.PUSH1, 0, vm.PUSH1, 0)
	p.Push(to[:])
	p.Op(vm.GAS, vm.CALL, vm.POP)
}
