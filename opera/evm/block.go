package evm

import (
	"fmt"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// Block executes the transactions of a block one after another, or the messages of those
// who ask what would be.
type Block struct {
	header  Header
	state   State
	machine *vm.EVM
	rules   params.Rules
	hooks   *tracing.Hooks // nil: nobody looks on

	precompiles  []common.Address // Ethereum's, which are warm
	writer       writer
	system       system
	price, value uint256.Int // of the message that runs
	pool         uint64      // gas that is left in this step

	gasUsed  uint64
	logs     uint // numbered so far
	given    int  // transactions, with those left out
	txs      types.Transactions
	senders  []common.Address // of txs
	receipts types.Receipts
	skipped  []Skipped
}

// Skipped is a transaction that was left out of the block.
type Skipped struct {
	Index int      // among all that were given to the block
	Err   *Refusal // why
}

// NewBlock begins a block on a state. Close gives its memory back.
func NewBlock(h Header, s State, a *Analyses) *Block {
	b := &Block{header: h, state: s}
	context := vm.BlockContext{
		CanTransfer: b.canTransfer,
		GetHash:     h.blockHash,
		GasLimit:    math.MaxUint64,
		BlockNumber: new(big.Int).SetUint64(uint64(h.Number)),
		Time:        h.Time.Seconds(),
		Difficulty:  big.NewInt(1),
		BaseFee:     h.BaseFee,
	}
	if context.BaseFee == nil {
		context.BaseFee = new(big.Int) // no opcode shows it before London
	}
	b.writer.block, b.system.block = b, b
	context.Transfer = b.writer.transfer
	if h.Shown != nil {
		h.Shown(&context)
	}
	b.machine = vm.NewEVM(context, s, h.Config, vm.Config{})
	b.machine.SetJumpDestCache(a)
	b.rules = b.machine.GetRules()
	b.precompiles = vm.ActivePrecompiles(b.rules)
	b.writer.known = vm.ActivePrecompiledContracts(b.rules)
	b.writer.known[WriterAddress] = &b.writer
	b.machine.SetPrecompiles(b.writer.known)
	b.writer.watch()
	b.system.watch()
	return b
}

// Trace lets hooks see what the machine does, and which transactions and messages it does it
// for. Hooks that tell of changes of the state are called by a state that knows them.
func (b *Block) Trace(hooks *tracing.Hooks) {
	b.hooks = hooks
	b.hook()
}

// begin tells the hooks of a transaction, and returns what tells them of its end.
func (b *Block) begin(tx *types.Transaction, from common.Address) func(*types.Receipt, error) {
	if b.hooks == nil {
		return func(*types.Receipt, error) {}
	}
	if b.hooks.OnTxStart != nil {
		b.hooks.OnTxStart(b.machine.GetVMContext(), tx, from)
	}
	return func(r *types.Receipt, err error) {
		if b.hooks.OnTxEnd != nil {
			b.hooks.OnTxEnd(r, err)
		}
	}
}

// Close gives back what the block used. What it returned stays.
func (b *Block) Close() { b.machine.Release() }

// Execute executes transactions after those of the calls before. Those that cannot be
// are left out. listen, if not nil, gets each log once its transaction was executed; it
// must not change it. The receipts are those of this call, see Receipts. An error is the
// state's: the block is no block then.
func (b *Block) Execute(txs []Tx, listen func(*types.Log)) (types.Receipts, error) {
	b.pool = math.MaxUint64
	first := len(b.receipts)
	room := make([]types.Receipt, len(txs))
	for i := range txs {
		if err := b.execute(&txs[i], &room[i], listen); err != nil {
			return nil, fmt.Errorf("execute transaction %x of block %d: %w", txs[i].Hash(), b.header.Number, err)
		}
	}
	return b.receipts[first:len(b.receipts):len(b.receipts)], nil
}

func (b *Block) execute(tx *Tx, r *types.Receipt, listen func(*types.Log)) error {
	message := tx.message(b.header.BaseFee)
	b.state.SetTxContext(tx.Hash(), len(b.txs), 0)
	end := b.begin(tx.Transaction, tx.From)
	result, refusal := b.apply(&message)
	if err := b.state.Error(); err != nil {
		return err
	}
	index := b.given
	b.given++
	if refusal != nil {
		end(nil, refusal)
		b.skipped = append(b.skipped, Skipped{Index: index, Err: refusal})
		return nil
	}
	b.gasUsed += result.GasUsed
	b.fill(r, tx, &message, &result)
	end(r, nil)
	if listen != nil {
		for _, l := range r.Logs {
			listen(l)
		}
	}
	b.state.Finalise(b.rules)
	b.txs, b.senders = append(b.txs, tx.Transaction), append(b.senders, tx.From)
	b.receipts = append(b.receipts, r)
	return nil
}

// Call executes a message for somebody who asks: no receipt, no place in the block. The
// state is changed as by a transaction; a caller who wants more of the same state takes
// another one. A message that cannot be executed is a *Refusal.
func (b *Block) Call(m *Message) (Result, error) {
	b.pool = math.MaxUint64
	b.state.SetTxContext(common.Hash{}, len(b.txs), 0)
	end := func(*types.Receipt, error) {}
	if b.hooks != nil {
		end = b.begin(m.transaction(), m.From)
	}
	result, refusal := b.apply(m)
	if err := b.state.Error(); err != nil {
		return Result{}, fmt.Errorf("call %v on block %d: %w", m.To, b.header.Number, err)
	}
	if refusal != nil {
		end(nil, refusal)
		return Result{}, refusal
	}
	end(&types.Receipt{GasUsed: result.GasUsed}, nil)
	b.state.Finalise(b.rules)
	return result, nil
}

// Cancel makes what runs stop soon; what it came to is worth nothing. Any goroutine may
// call it.
func (b *Block) Cancel() { b.machine.Cancel() }

// Cancelled tells whether Cancel was called.
func (b *Block) Cancelled() bool { return b.machine.Cancelled() }

// GasUsed returns the gas that all transactions so far used.
func (b *Block) GasUsed() uint64 { return b.gasUsed }

// Txs returns the transactions that were executed so far.
func (b *Block) Txs() types.Transactions { return b.txs }

// Senders returns the senders of Txs.
func (b *Block) Senders() []common.Address { return b.senders }

// Receipts returns the receipts of Txs. Everything is in them but the blooms: these cost
// more than a plain transfer, and nothing that a block commits to needs them. Bloom makes
// them.
func (b *Block) Receipts() types.Receipts { return b.receipts }

// Skipped returns what was left out so far.
func (b *Block) Skipped() []Skipped { return b.skipped }

// transfer moves value. Also nothing is moved: that touches both accounts, and an empty
// one goes away at the transaction's end.
func transfer(s vm.StateDB, from, to common.Address, value *uint256.Int) {
	s.SubBalance(from, value, tracing.BalanceChangeTransfer)
	s.AddBalance(to, value, tracing.BalanceChangeTransfer)
}
