package chain

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Unlimited is the limit of those that are in a block.
const Unlimited time.Duration = -1

// RecoverKeys finds out with which keys transactions are signed (Leap:
// transaction::get_signature_keys), on up to so many goroutines. One whose keys take
// longer than limit fails with exception.TxCPUUsageExceeded. It returns an error or nil
// for each transaction, or nil if none failed. Any goroutine may call it, before others
// see the transactions.
func (c *Chain) RecoverKeys(limit time.Duration, goroutines int, list []*Candidate) []error {
	errs := make([]error, len(list))
	spread(goroutines, len(list), func(from, to int) bool {
		c.recoverKeys(limit, list[from:to], errs[from:to])
		return true
	})
	if firstError(errs) == nil {
		return nil
	}
	return errs
}

// spread does n things in pieces on up to so many goroutines, the caller's among them.
// No piece is begun after do returned false.
func spread(goroutines, n int, do func(from, to int) bool) {
	const few = 4 // are not worth a goroutine
	piece := min(crypto.Together, max(few, (n+goroutines-1)/goroutines))
	var next atomic.Int64
	work := func() {
		for {
			to := int(next.Add(int64(piece)))
			if to-piece >= n || !do(to-piece, min(to, n)) {
				next.Store(int64(n))
				return
			}
		}
	}
	var others sync.WaitGroup
	for range min(goroutines, (n+piece-1)/piece) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// recoverKeys is RecoverKeys on one goroutine.
func (c *Chain) recoverKeys(limit time.Duration, list []*Candidate, errs []error) {
	for len(list) > 0 {
		n, signatures := 1, len(list[0].Packed.Signatures)
		for n < len(list) && signatures+len(list[n].Packed.Signatures) <= crypto.Together {
			signatures += len(list[n].Packed.Signatures)
			n++
		}
		c.recoverTogether(limit, signatures, list[:n], errs[:n])
		list, errs = list[n:], errs[n:]
	}
}

// firstError returns what failed first, nil if nothing did.
func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Chain) recoverTogether(limit time.Duration, signatures int, list []*Candidate, errs []error) {
	memory := c.signed.Get().(*[]crypto.Signed)
	defer c.signed.Put(memory)
	signed, start := (*memory)[:0], time.Now()
	for _, x := range list {
		signed = x.appendSigned(signed, c.chainID)
	}
	found, spent := 0, time.Since(start)
	hashing := spent / time.Duration(len(list))
	for found < signatures && (limit < 0 || spent < limit) {
		next := signed[found:min(found+crypto.Together, signatures)]
		c.signers.Recover(next)
		found, spent = found+len(next), spent+timeOf(next)
	}
	if *memory = signed; cap(signed) > 4*crypto.Together {
		*memory = nil // one with thousands of them leaves no mark
	}
	for i, x := range list {
		n := len(x.Packed.Signatures)
		if x.Keys = nil; n == 0 {
			continue
		}
		if found < n {
			errs[i] = exception.New(exception.TxCPUUsageExceeded, "transaction signature verification executed for too long %dus", spent.Microseconds()).With("")
			continue
		}
		x.KeyTime = (hashing + timeOf(signed[:n])).Microseconds()
		x.Keys, errs[i] = keysOf(signed[:n])
		signed, found = signed[n:], found-n
	}
}

// timeOf is what finding the keys of signatures took.
func timeOf(signed []crypto.Signed) (sum time.Duration) {
	for i := range signed {
		sum += signed[i].Took
	}
	return sum
}

// appendSigned appends the signatures of a transaction.
func (x *Candidate) appendSigned(list []crypto.Signed, chain types.Checksum256) []crypto.Signed {
	if len(x.Packed.Signatures) == 0 {
		return list
	}
	digest := x.Trx.SigningDigest(chain, x.CFD)
	var by crypto.Signer
	for i := range x.Trx.Actions {
		if a := x.Trx.Actions[i].Authorization; len(a) > 0 {
			by.PermissionLevel = a[0]
			break
		}
	}
	for i := range x.Packed.Signatures {
		by.Place = i
		list = append(list, crypto.Signed{Signature: &x.Packed.Signatures[i], Digest: digest, By: by})
	}
	return list
}

// keysOf returns the keys of a transaction's signatures, ascending.
func keysOf(signed []crypto.Signed) ([]types.PublicKey, error) {
	keys := make([]types.PublicKey, 0, len(signed))
	var found map[types.PublicKey]bool
	if len(signed) > 1 {
		found = make(map[types.PublicKey]bool)
	}
	for i := range signed {
		s := &signed[i]
		if s.Err != nil {
			return nil, s.Err
		}
		if found[s.Key] {
			return nil, exception.New(exception.TxDuplicateSig,
				"transaction includes more than one signature signed using the same key associated with public key: %s", s.Key).With("")
		}
		if found != nil {
			found[s.Key] = true
		}
		keys = append(keys, s.Key)
	}
	slices.SortFunc(keys, types.PublicKey.Compare)
	return keys, nil
}
