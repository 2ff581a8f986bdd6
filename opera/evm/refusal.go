package evm

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// Why a message is not executed at all (go-opera, evmcore/error.go). A Refusal wraps one
// of them.
var (
	ErrNonceTooLow       = errors.New("nonce too low")
	ErrNonceTooHigh      = errors.New("nonce too high")
	ErrSenderNoEOA       = errors.New("sender not an eoa")
	ErrInsufficientFunds = errors.New("insufficient funds for gas * price + value")
	ErrGasLimitReached   = errors.New("gas limit reached")
	ErrIntrinsicGas      = errors.New("intrinsic gas too low")
)

// Refusal says why a message was not executed; the state is as it was. Its text is
// made when somebody asks: most of a block's refusals are second copies of
// transactions, which nobody asks about.
type Refusal struct {
	Reason   error // one of the above
	From     common.Address
	Have     *big.Int // of nonce, funds or gas, as the reason says; nil with others
	Want     *big.Int
	CodeHash common.Hash // with ErrSenderNoEOA
}

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Reason }

// Error returns go-opera's text.
func (r *Refusal) Error() string {
	switch r.Reason {
	case ErrNonceTooLow, ErrNonceTooHigh:
		return fmt.Sprintf("%v: address %v, tx: %d state: %d", r.Reason, r.From.Hex(), r.Have, r.Want)
	case ErrSenderNoEOA:
		return fmt.Sprintf("%v: address %v, codehash: %s", r.Reason, r.From.Hex(), r.CodeHash)
	case ErrInsufficientFunds:
		return fmt.Sprintf("%v: address %v have %v want %v", r.Reason, r.From.Hex(), r.Have, r.Want)
	case ErrIntrinsicGas:
		return fmt.Sprintf("%v: have %d, want %d", r.Reason, r.Have, r.Want)
	}
	return r.Reason.Error()
}
