package evm

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// system gives calls by Ethereum's system address what today's machine leaves out of them,
// under every upgrade: the check of the balance, and the transfer. In Opera that address
// is one like others. The machine asks nobody about such a call, but tells of its
// beginning and its end.
type system struct {
	block  *Block
	needed bool // something calls by that address
	poor   bool // the message itself was one that its sender could not pay
	calls  []systemCall
}

// systemCall is a call by the system address that has not ended.
type systemCall struct {
	depth   int
	before  int // snapshot of the state
	refused bool
	to      common.Address
	known   vm.PrecompiledContract // what was at to before it was refused, or nil
}

// watch looks whether there is code at that address. Only the driver can put some there, by
// EvmWriter, and after that it is called again.
func (s *system) watch() {
	if s.block.state.GetCodeSize(params.SystemAddress) > 0 {
		s.need()
	}
}

// begin begins a message.
func (s *system) begin(from common.Address) {
	if from == params.SystemAddress {
		s.need()
	}
}

func (s *system) need() {
	if !s.needed {
		s.needed = true
		s.block.hook()
	}
}

// enter moves the value of a call as the machine does for others. What the caller lacks, a
// contract in the callee's place refuses: like the machine it gives all gas back.
func (s *system) enter(depth int, kind byte, from, to common.Address, amount *big.Int) {
	if from != params.SystemAddress || vm.OpCode(kind) != vm.CALL || depth > int(params.CallCreateDepth) {
		return // too deep a call ends before it moves anything
	}
	state, value := s.block.state, uint256.MustFromBig(amount)
	c := systemCall{depth: depth, before: state.Snapshot(), to: to, known: s.block.writer.known[to]}
	switch {
	case !value.IsZero() && !affords(state, from, value):
		c.refused = true
		s.block.writer.known[to] = refusal{}
		s.poor = s.poor || depth == 0
	case state.Exist(to):
		s.block.writer.transfer(state, from, to, value, &s.block.rules)
	case c.known != nil || !value.IsZero():
		state.CreateAccount(to)
		s.block.writer.transfer(state, from, to, value, &s.block.rules)
	}
	s.calls = append(s.calls, c)
}

// exit ends the call that began at a depth, and takes its transfer back if it failed. It
// tells whether the call was refused.
func (s *system) exit(depth int, failed bool) (refused bool) {
	last := len(s.calls) - 1
	if last < 0 || s.calls[last].depth != depth {
		return false
	}
	c := s.calls[last]
	s.calls = s.calls[:last]
	switch known := s.block.writer.known; {
	case c.refused && c.known == nil:
		delete(known, c.to)
	case c.refused:
		known[c.to] = c.known
	}
	if failed {
		s.block.state.RevertToSnapshot(c.before)
	}
	return c.refused
}

// refusal is a contract that takes everything back and leaves the gas.
type refusal struct{}

var _ vm.PrecompiledContract = refusal{}

// Name implements vm.PrecompiledContract.
func (refusal) Name() string { return "refusal" }

// RequiredGas implements vm.PrecompiledContract.
func (refusal) RequiredGas([]byte) uint64 { return 0 }

// Run implements vm.PrecompiledContract.
func (refusal) Run([]byte) ([]byte, error) { return nil, vm.ErrExecutionReverted }
