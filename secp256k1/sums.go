package secp256k1

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

// sums are products of scalars with prepared points, one sum of them for each signature, as
// two halves: that of low, and that of high before the endomorphism.
type sums struct {
	terms  [][]term
	points []point
	of     [][]point
	halves int
}

// begin makes room for a number of sums.
func (s *sums) begin(n int) {
	s.halves = 2 * n
	for len(s.terms) < s.halves {
		s.terms = append(s.terms, make([]term, 0, maxTerms))
	}
	for i := range s.terms {
		s.terms[i] = s.terms[i][:0]
	}
}

// product adds a product to a sum: it chooses the points, and the memory, because multiples
// of many keys are in no cache, brings them while others are chosen.
func (s *sums) product(i int, of *Multiples, scalar *fr.Element) {
	s.terms[2*i], s.terms[2*i+1] = of.appendTerms(s.terms[2*i], s.terms[2*i+1], scalar)
}

// lay lays the points of all sums out.
func (s *sums) lay() {
	if need := s.halves * maxTerms; cap(s.points) < need {
		s.points = make([]point, need)
	}
	room := s.points[:cap(s.points)]
	s.of = s.of[:0]
	for _, terms := range s.terms[:s.halves] {
		s.of = append(s.of, appendPoints(room[:0:maxTerms], terms))
		clear(terms) // which may be a key's that is forgotten
		room = room[maxTerms:]
	}
}

// joinHalves makes one sum of each two, which were added: of low, and of high after the
// endomorphism.
func (s *sums) joinHalves() {
	for i := range s.halves / 2 {
		low, high := s.of[2*i], s.of[2*i+1]
		if len(high) == 1 {
			endomorphism(&high[0])
		}
		if len(low) != 1 || len(high) != 1 {
			low, high = low[:0], nil // one of them met what cannot be added, or is nothing
		}
		s.of[i] = append(low, high...)
	}
	s.of = s.of[:s.halves/2]
}
