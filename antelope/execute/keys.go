package execute

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

// Keys finds out with which keys transactions are signed. Any goroutine may use it.
type Keys struct {
	chain   types.Checksum256
	signers *crypto.Signers
	signed  sync.Pool // of *[]crypto.Signed
	spring  atomic.Bool
}

// NewKeys makes one that keeps so many bytes of keys that are prepared to be checked;
// 0 is the default.
func NewKeys(bytes int64) *Keys {
	return &Keys{signers: crypto.NewSigners(bytes), signed: sync.Pool{New: func() any { return new([]crypto.Signed) }}}
}

// SignFor says which chain transactions are signed for. It is called once, before
// others use k.
func (k *Keys) SignFor(chain types.Checksum256) { k.chain = chain }

// FollowSpring says whether signatures are read as Spring does it, which some WebAuthn
// signatures, that no authenticator makes, show: [crypto.RecoverSpring]. The writer says it.
func (k *Keys) FollowSpring(on bool) { k.spring.Store(on) }

// Recover finds out with which keys transactions are signed (Leap:
// transaction::get_signature_keys), on up to so many goroutines. One whose keys take
// longer than limit fails with exception.TxCPUUsageExceeded. It returns an error or nil
// for each transaction, or nil if none failed. Any goroutine may call it, before others
// see the transactions.
func (k *Keys) Recover(limit time.Duration, goroutines int, list []*Candidate) []error {
	errs := make([]error, len(list))
	spread(goroutines, len(list), func(from, to int) bool {
		k.recover(limit, list[from:to], errs[from:to])
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

// recover is Recover on one goroutine.
func (k *Keys) recover(limit time.Duration, list []*Candidate, errs []error) {
	for len(list) > 0 {
		n, signatures := 1, len(list[0].Packed.Signatures)
		for n < len(list) && signatures+len(list[n].Packed.Signatures) <= crypto.Together {
			signatures += len(list[n].Packed.Signatures)
			n++
		}
		k.recoverTogether(limit, signatures, list[:n], errs[:n])
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

func (k *Keys) recoverTogether(limit time.Duration, signatures int, list []*Candidate, errs []error) {
	memory := k.signed.Get().(*[]crypto.Signed)
	defer k.signed.Put(memory)
	signed, start := (*memory)[:0], time.Now()
	for _, x := range list {
		signed = x.appendSigned(signed, k.chain)
	}
	for spring, i := k.spring.Load(), 0; i < len(signed); i++ {
		signed[i].Spring = spring
	}
	found, spent := 0, time.Since(start)
	hashing := spent / time.Duration(len(list))
	for found < signatures && (limit < 0 || spent < limit) {
		next := signed[found:min(found+crypto.Together, signatures)]
		k.signers.Recover(next)
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
			errs[i] = tooLong(start, spent, limit)
			continue
		}
		x.KeyTime = (hashing + timeOf(signed[:n])).Microseconds()
		x.Keys, errs[i] = keysOf(signed[:n])
		signed, found = signed[n:], found-n
	}
}

// tooLong is what a transaction fails with whose keys took too long to find.
func tooLong(start time.Time, spent, limit time.Duration) error {
	from := types.TimePoint(start.UnixMicro())
	return exception.New(exception.TxCPUUsageExceeded,
		"transaction signature verification executed for too long ${time}us",
		"time", spent.Microseconds(), "now", from+types.TimePoint(spent.Microseconds()),
		"deadline", from+types.TimePoint(limit.Microseconds()), "start", from).With("")
}

// timeOf is what finding the keys of signatures took.
func timeOf(signed []crypto.Signed) (sum time.Duration) {
	for i := range signed {
		sum += signed[i].Took
	}
	return sum
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
				"transaction includes more than one signature signed using the same key associated with public "+
					"key: ${key}", "key", s.Key).With("")
		}
		if found != nil {
			found[s.Key] = true
		}
		keys = append(keys, s.Key)
	}
	slices.SortFunc(keys, types.PublicKey.Compare)
	return keys, nil
}

// Unpack is the function Unpack, and finds the transactions' keys, on up to so many
// goroutines. known returns what is known of a transaction, nil for nothing: keys that
// were found for the same signatures are not found again; it may be nil. A transaction is
// left without keys whose keys depend on the rules at its block. Any goroutine may call it.
func (k *Keys) Unpack(
	b *types.SignedBlock, known func(id types.Checksum256) *Candidate, goroutines int,
) ([]*Candidate, error) {
	list := make([]*Candidate, len(b.Transactions))
	errs := make([]error, len(list))
	room := newAhead(b)
	spread(goroutines, len(list), func(from, to int) bool {
		unknown := make([]*Candidate, 0, to-from)
		for i := from; i < to; i++ {
			if list[i], errs[i] = room.unpack(b.Transactions[i].Packed); errs[i] != nil {
				return false
			}
			if list[i] != nil && !list[i].dependsOnRules() && !list[i].takeKeys(known) {
				unknown = append(unknown, list[i])
			}
		}
		k.recover(Unlimited, unknown, errs[from:])
		return firstError(errs[from:to]) == nil
	})
	return list, firstError(errs)
}
