package txpool

import (
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"tarn/opera/inter"
)

// Why a transaction is refused, in go-opera's words (evmcore/tx_pool.go, evmcore/error.go).
var (
	ErrAlreadyKnown       = errors.New("already known")
	ErrInvalidSender      = errors.New("invalid sender")
	ErrUnderpriced        = errors.New("transaction underpriced")
	ErrOverflow           = errors.New("txpool is full")
	ErrReplaceUnderpriced = errors.New("replacement transaction underpriced")
	ErrGasLimit           = errors.New("exceeds block gas limit")
	ErrNegativeValue      = errors.New("negative value")
	ErrOversizedData      = errors.New("oversized data")
	ErrNonceTooLow        = errors.New("nonce too low")
	ErrInsufficientFunds  = errors.New("insufficient funds for gas * price + value")
	ErrIntrinsicGas       = errors.New("intrinsic gas too low")
	ErrTipAboveFeeCap     = errors.New("max priority fee per gas higher than max fee per gas")
	ErrTipVeryHigh        = errors.New("max priority fee per gas higher than 2^256-1")
	ErrFeeCapVeryHigh     = errors.New("max fee per gas higher than 2^256-1")
)

// checkForm looks at what needs neither the sender nor the state.
func (h *Head) checkForm(tx *types.Transaction) error {
	switch kind := tx.Type(); {
	case kind > types.DynamicFeeTxType, kind != types.LegacyTxType && !h.Berlin,
		kind == types.DynamicFeeTxType && !h.London:
		return types.ErrTxTypeNotSupported
	case tx.Size() > most:
		return ErrOversizedData
	case tx.Value().Sign() < 0:
		return ErrNegativeValue
	case h.MaxGas < tx.Gas():
		return ErrGasLimit
	case tx.GasFeeCap().BitLen() > 256:
		return ErrFeeCapVeryHigh
	case tx.GasTipCap().BitLen() > 256:
		return ErrTipVeryHigh
	case tx.GasFeeCapIntCmp(tx.GasTipCap()) < 0:
		return ErrTipAboveFeeCap
	}
	return nil
}

// checkPrice looks at what is offered. The least tip is the options' for those who are not
// local, and the oracle's for all.
func (p *Pool) checkPrice(tx *types.Transaction, local bool) error {
	h := p.head
	if !local && tx.GasTipCapIntCmp(new(big.Int).SetUint64(p.o.Limits.PriceLimit)) < 0 ||
		tx.GasTipCapIntCmp(h.MinTip) < 0 || tx.GasFeeCapIntCmp(new(big.Int).Add(h.MinTip, h.MinPrice)) < 0 {
		return ErrUnderpriced
	}
	return nil
}

// standing is what the chain says of an account.
type standing struct {
	nonce   uint64
	balance uint256.Int
}

// unreadError is why the chain did not say what it knows of an account.
type unreadError struct{ error }

func (u *unreadError) Unwrap() error { return u.error }

// check looks at a transaction in go-opera's order, and returns it with what the chain says of
// its sender.
func (p *Pool) check(tx *types.Transaction, from common.Address, local bool) (*entry, standing, error) {
	if err := p.head.checkForm(tx); err != nil {
		return nil, standing{}, err
	}
	if err := p.checkPrice(tx, local); err != nil {
		return nil, standing{}, err
	}
	nonce, balance, err := p.head.Account(from)
	if err != nil {
		return nil, standing{}, &unreadError{err}
	}
	if nonce > tx.Nonce() {
		return nil, standing{}, ErrNonceTooLow
	}
	cost, overflow := uint256.FromBig(tx.Cost())
	if overflow || balance.Lt(cost) {
		return nil, standing{}, ErrInsufficientFunds
	}
	if tx.Gas() < inter.IntrinsicGas(tx.Data(), tx.AccessList(), tx.To() == nil) {
		return nil, standing{}, ErrIntrinsicGas
	}
	return &entry{tx: tx, from: from, cost: *cost, slots: int((tx.Size() + slotBytes - 1) / slotBytes),
		local: local}, standing{nonce, balance}, nil
}

// replaces tells whether one transaction offers enough more than another to take its place.
func (w *waiting) replaces(tx, old *types.Transaction) bool {
	if old.GasFeeCapCmp(tx) >= 0 || old.GasTipCapCmp(tx) >= 0 {
		return false
	}
	percent := new(big.Int).SetUint64(w.limits.PriceBump)
	percent.Add(percent, big.NewInt(100))
	more := func(price *big.Int) *big.Int {
		price.Mul(price, percent)
		return price.Div(price, big.NewInt(100))
	}
	return tx.GasFeeCapIntCmp(more(old.GasFeeCap())) >= 0 && tx.GasTipCapIntCmp(more(old.GasTipCap())) >= 0
}
