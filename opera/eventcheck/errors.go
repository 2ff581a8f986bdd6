// Package eventcheck says which events and votes a node may accept, before consensus
// looks at them: by what stands in them alone, by the rules of the epoch, by their
// parents, by the gas power of their creator, and by signatures.
//
// It owns the checks, their order within each step, and their errors, which are go-opera's
// and lachesis-base's to the letter, because peers' operators search for them. It never
// reads a store or a clock, keeps nothing, and starts no goroutine: all functions may be
// called by many goroutines at a time.
//
// A node checks an event from a peer with [Basic] and [Epoch.Check] as it arrives, with
// [Signatures.Event] on any processor, and with [Parents] and [Epoch.CheckGasPower] when
// all parents are there. Consensus then checks the frame and the median time (opera/dag).
package eventcheck

import "errors"

// What is wrong with an event by itself (go-opera and lachesis-base,
// eventcheck/basiccheck).
var (
	ErrWrongNetForkID = errors.New("wrong network fork ID")
	ErrHugeValue      = errors.New("too big value")
	ErrNotInited      = errors.New("event field is not initialized")
	ErrNoParents      = errors.New("event has no parents")
	ErrDoubleParents  = errors.New("event has double parents")
	ErrZeroTime       = errors.New("event has zero timestamp")
	ErrNegativeValue  = errors.New("negative value")
	ErrIntrinsicGas   = errors.New("intrinsic gas too low")
	ErrTipAboveFeeCap = errors.New("max priority fee per gas higher than max fee per gas")
	ErrWrongProof     = errors.New("inconsistent misbehaviour proof")
	ErrNoCrime        = errors.New("action in misbehaviour proof isn't a criminal offence")
	ErrWrongAccused   = errors.New("wrong creator in misbehaviour proof")
	ErrProofTooLate   = errors.New("too old misbehaviour proof")
	ErrMalformedProof = errors.New("malformed MP union struct")
	ErrFutureBVs      = errors.New("future block votes epoch")
	ErrFutureEV       = errors.New("future epoch vote")
	ErrMalformedBVs   = errors.New("malformed BVs")
	ErrMalformedEV    = errors.New("malformed EV")
	ErrTooManyBVs     = errors.New("too many BVs")
	ErrEmptyEV        = errors.New("empty EV")
	ErrEmptyBVs       = errors.New("empty BVs")
)

// What is wrong with an event in its epoch (eventcheck/epochcheck).
var (
	ErrNotRelevant       = errors.New("event is too old or too new")
	ErrAuth              = errors.New("event creator isn't a validator")
	ErrTooManyParents    = errors.New("event has too many parents")
	ErrTooBigExtra       = errors.New("event extra data is too large")
	ErrTooBigGasUsed     = errors.New("event uses too much gas power")
	ErrWrongGasUsed      = errors.New("event has incorrect gas power")
	ErrUnsupportedTxType = errors.New("unsupported tx type")
	ErrUnderpriced       = errors.New("event transaction underpriced")
	ErrWrongVersion      = errors.New("event has wrong version")
)

// What is wrong with an event beside its parents (eventcheck/parentscheck,
// eventcheck/gaspowercheck).
var (
	ErrWrongSeq          = errors.New("event has wrong sequence time")
	ErrWrongLamport      = errors.New("event has wrong Lamport time")
	ErrWrongSelfParent   = errors.New("event is missing self-parent")
	ErrPastTime          = errors.New("event has lower claimed time than self-parent")
	ErrWrongGasPowerLeft = errors.New("event has wrong GasPowerLeft")
)

// What is wrong with signatures and what they sign (eventcheck/heavycheck).
var (
	ErrWrongEventSig       = errors.New("event has wrong signature")
	ErrMalformedTxSig      = errors.New("tx has wrong signature")
	ErrWrongPayloadHash    = errors.New("event has wrong payload hash")
	ErrPubkeyChanged       = errors.New("validator pubkey has changed, cannot create BVs/EV for older epochs")
	ErrUnknownEpochLocator = errors.New("event locator has unknown epoch")
	ErrImpossibleBVsEpoch  = errors.New("BVs have an impossible epoch")
	ErrUnknownEpochBVs     = errors.New("BVs are unprocessable yet")
	ErrUnknownEpochEV      = errors.New("EV is unprocessable yet")
)

// What is wrong with neither the event nor its sender (go-opera, eventcheck/ban.go;
// lachesis-base, eventcheck).
var (
	ErrAlreadyConnected    = errors.New("event is connected already")
	ErrSpilled             = errors.New("event is spilled")
	ErrDuplicate           = errors.New("event is duplicated")
	ErrAlreadyProcessedBVs = errors.New("BVs is processed already")
	ErrAlreadyProcessedBR  = errors.New("BR is processed already")
	ErrAlreadyProcessedEV  = errors.New("EV is processed already")
	ErrAlreadyProcessedER  = errors.New("ER is processed already")
	ErrUndecidedBR         = errors.New("BR is unprocessable yet")
	ErrUndecidedER         = errors.New("ER is unprocessable yet")
)

// Bans tells whether a peer that caused this error is of no use: an error that an honest
// and well-informed peer may cause is not its fault.
func Bans(err error) bool {
	for _, harmless := range []error{
		ErrNotRelevant, ErrAlreadyConnected, ErrSpilled, ErrDuplicate, ErrAlreadyProcessedBVs, ErrAlreadyProcessedBR,
		ErrAlreadyProcessedEV, ErrAlreadyProcessedER, ErrUnknownEpochBVs, ErrUnknownEpochEV, ErrUndecidedBR,
		ErrUndecidedER,
	} {
		if errors.Is(err, harmless) {
			return false
		}
	}
	return err != nil
}
