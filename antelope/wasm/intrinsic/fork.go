package intrinsic

import (
	"errors"
	"maps"
	"slices"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// Fork is a fork of Leap whose nodes have host functions beyond Leap's.
type Fork struct {
	Version   string   // what its node calls itself
	Functions []string // what it adds to [Genesis]
	Chains    []string // ids of the networks that it was made for, in hexadecimal digits
}

// Forks are those whose functions this program has. Their genesis files do not tell their
// chains from others: the list of new chains is in their programs (WAX:
// genesis_intrinsics.cpp).
func Forks() []Fork {
	return []Fork{
		{"v5.0.3wax01", []string{"verify_rsa_sha256_sig"}, []string{
			"1064487b3cd1a897ce03ae5b6a865651747e2e152090f99c1d19d44e01aea5a4", // WAX
			"f16b1833c747c43682f4386fca9cbb327929334a762755ebec17f6f23c9b8a12", // its test network
		}},
	}
}

// forkEntries are the functions that forks of Leap have besides Leap's own. No protocol
// feature brings them: whether contracts may import one, the state of the chain says.
func forkEntries() []entry {
	return []entry{
		{"verify_rsa_sha256_sig", anywhere, []arg{chars, chars, chars, chars}, wasm.I32,
			price{long, hashing}, verifyRSA},
	}
}

// GenesisOf returns, ascending, what contracts may import on a chain of that id before any
// protocol feature is active: [Genesis], what the chain's own node adds, and more.
func GenesisOf(chain types.Checksum256, more []string) []string {
	list := slices.Concat(genesis[:], more)
	for _, f := range Forks() {
		if slices.Contains(f.Chains, chain.String()) {
			list = append(list, f.Functions...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Forked tells whether a function is a fork's: Leap's nodes do not have it.
func Forked(name string) bool {
	return slices.ContainsFunc(Forks(), func(f Fork) bool { return slices.Contains(f.Functions, name) })
}

// Missing returns, ascending, those of the names that are no functions of this program's.
func Missing(names []string) []string {
	missing := make(map[string]bool, len(names))
	for _, n := range names {
		missing[n] = true
	}
	for _, e := range entries() {
		delete(missing, e.name)
	}
	return slices.Sorted(maps.Keys(missing))
}

// verifyRSA tells whether a signature is the message's. What it refuses is said on the
// contract's console. A modulus of zero is a division by zero in WAX's node, which ends the
// transaction as an access violation does.
func verifyRSA(a *Apply, m []byte, s []uint64) (uint64, error) {
	ok, err := crypto.VerifyRSASHA256(span(m, s, 0), span(m, s, 2), span(m, s, 4), span(m, s, 6), a.check(), a.spend)
	switch {
	case errors.Is(err, crypto.ErrRSAModulus):
		return 0, violation()
	case err != nil: // WAX's node says it whether contracts-console is on or not
		a.Chain.Print([]byte("[ERROR] verify_rsa_sha256_sig: " + err.Error() + "\n"))
	case ok:
		return 1, nil
	}
	return 0, nil
}

// aheadFrom is how long a piece of work must be for the clock to be asked whether it would
// end in time.
const aheadFrom = time.Millisecond

// spend is [Apply.Charge] for a piece of work that nothing can stop, and which takes about
// d: a unit is a nanosecond. Work that would end after the deadline is not begun.
func (a *Apply) spend(d time.Duration) {
	if d < aheadFrom {
		a.Charge(uint64(d))
		return
	}
	if err := a.Chain.CheckTimeFor(d); err != nil {
		a.ender.Abort(err)
	}
}
