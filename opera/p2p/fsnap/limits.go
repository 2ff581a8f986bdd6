package fsnap

import (
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// How large messages may be, in bytes, and what lists of them may hold. go-opera asks for at most
// 1,024 accounts, codes or paths at a time, and answers with at most as many codes and nodes. A
// proof of two keys has at most two nodes for each of the 64 nibbles and the leaf.
const (
	MaxAnswer  = 10 << 20
	MaxRequest = 128 << 10
	maxAsked   = 4096
	maxProof   = 2 * 65

	wholeMessage = MaxAnswer / common.HashLength // for lists whose items have 32 bytes and more each
)

// Limits bound an answer. [DefaultLimits] returns values for each.
type Limits struct {
	Bytes   int           // bytes of what is asked for, proofs not counted; a tenth more where slots end
	Lookups int           // of codes, or reads of nodes
	Time    time.Duration // after which an answer ends with what it has
}

// DefaultLimits returns the bounds of an answer, which are go-opera's.
func DefaultLimits() Limits {
	return Limits{Bytes: 2 << 20, Lookups: 1024, Time: 5 * time.Second}
}

// Validate checks all bounds at once: each must be above zero. Its error joins one for each mistake.
func (l *Limits) Validate() error {
	var errs []error
	check := func(value int64, name string) {
		if value <= 0 {
			errs = append(errs, fmt.Errorf("limit State.%s of peers must be greater than 0, not %d", name, value))
		}
	}
	check(int64(l.Bytes), "Bytes")
	check(int64(l.Lookups), "Lookups")
	check(int64(l.Time), "Time")
	return errors.Join(errs...)
}
