//go:build !amd64

package secp256k1

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

// wide tells whether the processor multiplies eight numbers of 52 bits at once.
const wide = false

// group is for processors that are wide.
type group struct{}

func (*group) load([]Search, []fr.Element, *Multiples)   {}
func (*group) sum(*Recoverer)                            {}
func (*group) appendEnds(list []end, first, n int) []end { return list }
