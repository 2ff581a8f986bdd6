package eventcheck

import (
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
)

// Bounds of numbers in events.
const (
	maxGas   = 1<<63 - 2
	maxBlock = (1<<63 - 1) / 2
)

// MaxBlockVotes is how many block votes an event may carry.
const MaxBlockVotes = 64

// Basic checks an event by itself.
func Basic(p *inter.Payload) error {
	if p.NetForkID != 0 {
		return ErrWrongNetForkID
	}
	if err := numbers(p); err != nil {
		return err
	}
	if p.CreationTime == 0 || p.MedianTime == 0 {
		return ErrZeroTime
	}
	for _, tx := range p.Txs {
		if err := transaction(tx); err != nil {
			return err
		}
	}
	for i := range p.Proofs {
		if err := proof(p.Epoch, &p.Proofs[i]); err != nil {
			return err
		}
	}
	if err := epochVote(p.Epoch, &p.EpochVote, false); err != nil {
		return err
	}
	return blockVotes(p.Epoch, &p.BlockVotes, false)
}

// numbers checks those by which events are ordered, and of gas.
func numbers(p *inter.Payload) error {
	switch {
	case p.Seq >= inter.MaxNumber || p.Epoch >= inter.MaxNumber || p.Frame >= inter.MaxNumber ||
		p.Lamport >= inter.MaxNumber:
		return ErrHugeValue
	case p.Seq == 0 || p.Epoch == 0 || p.Frame == 0 || p.Lamport == 0:
		return ErrNotInited
	case p.Seq > 1 && len(p.Parents) == 0:
		return ErrNoParents
	case twice(p.Parents):
		return ErrDoubleParents
	case p.GasPowerUsed >= maxGas || p.GasPowerLeft.Max() >= maxGas:
		return ErrHugeValue
	}
	return nil
}

// twice tells whether an id stands twice.
func twice(ids []inter.EventID) bool {
	seen := make(map[inter.EventID]struct{}, len(ids))
	for _, id := range ids {
		seen[id] = struct{}{}
	}
	return len(seen) < len(ids)
}

// transaction checks one that an event carries.
func transaction(tx *types.Transaction) error {
	switch {
	case tx.Value().Sign() < 0 || tx.GasPrice().Sign() < 0:
		return ErrNegativeValue
	case tx.Gas() < inter.IntrinsicGas(tx.Data(), tx.AccessList(), tx.To() == nil):
		return ErrIntrinsicGas
	case tx.GasFeeCapIntCmp(tx.GasTipCap()) < 0:
		return ErrTipAboveFeeCap
	}
	return nil
}

// epochVote checks the vote of an event of that epoch; alone says that the vote came
// without its event, and so must be one.
func epochVote(of inter.Epoch, v *inter.EpochVote, alone bool) error {
	switch {
	case v.Epoch > of:
		return ErrFutureEV
	case (v.Epoch == 0) != (v.Vote == [32]byte{}):
		return ErrMalformedEV
	case v.Epoch >= inter.MaxNumber:
		return ErrHugeValue
	case alone && v.Epoch == 0:
		return ErrEmptyEV
	}
	return nil
}

// blockVotes checks the votes of an event of that epoch.
func blockVotes(of inter.Epoch, v *inter.BlockVotes, alone bool) error {
	none := v.Start == 0
	switch {
	case v.Epoch > of:
		return ErrFutureBVs
	case v.Start >= maxBlock || v.Epoch >= inter.MaxNumber:
		return ErrHugeValue
	case len(v.Votes) > MaxBlockVotes:
		return ErrTooManyBVs
	case none != (len(v.Votes) == 0) || none != (v.Epoch == 0):
		return ErrMalformedBVs
	case alone && v.Epoch == 0:
		return ErrEmptyBVs
	}
	return nil
}

// locator checks what votes and proofs carry instead of an event.
func locator(l *inter.Locator) error {
	switch {
	case l.NetForkID != 0:
		return ErrWrongNetForkID
	case l.Seq >= inter.MaxNumber || l.Epoch >= inter.MaxNumber || l.Lamport >= inter.MaxNumber:
		return ErrHugeValue
	}
	return nil
}

// BlockVotes checks votes that came without their event, by themselves.
func BlockVotes(v *inter.SignedBlockVotes) error {
	if err := locator(&v.Signed.Locator); err != nil {
		return err
	}
	return blockVotes(v.Signed.Locator.Epoch, &v.Val, true)
}

// EpochVote checks a vote that came without its event, by itself.
func EpochVote(v *inter.SignedEpochVote) error {
	if err := locator(&v.Signed.Locator); err != nil {
		return err
	}
	return epochVote(v.Signed.Locator.Epoch, &v.Val, true)
}
