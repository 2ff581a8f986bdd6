package crypto

import (
	"slices"
	"sync"
	"time"

	"tarn/antelope/types"
	"tarn/secp256k1"
)

// Signers finds the keys that made signatures, many together where the processor can, and
// remembers who signs often: most of a chain's transactions are signed with few keys, and whether
// a signature is of a certain key takes half the time of finding the key, or less, if the key was
// prepared. What it remembers never changes what it finds, only how fast. Any goroutine may use
// it.
type Signers struct {
	mu         sync.Mutex
	young, old map[Signer]*signingKey
	keys       map[[33]byte]*signingKey // those of young, and the prepared
	prepared   []*signingKey
	most       int    // of them
	clock      uint64 // counts signatures
	swept      uint64 // when there was no room the last time

	queue     queue
	wide      bool // whether eight keys can be found in the time of one
	rest      bool // whether those that no prepared key made are found in less time than by the library
	generator func() *secp256k1.Multiples
	matchings sync.Pool
}

// Signer is who is said to have made a signature: an authorisation of a transaction,
// and which of its signatures it is. The zero Signer is nobody.
type Signer struct {
	types.PermissionLevel
	Place int
}

// Signed is a signature whose key is wanted.
type Signed struct {
	Signature *types.Signature
	Digest    types.Checksum256
	By        Signer
	Spring    bool            // [RecoverSpring] is meant
	Key       types.PublicKey // the answer, or
	Err       error           // as [Recover] has it, with canonical set
	// Took is its share of the time that those which were looked at together took; no
	// time that it waited for others is in it, for it is billed.
	Took time.Duration
}

// signingKey is a key that was found.
type signingKey struct {
	point     [33]byte
	seen      int
	used      uint64               // by the clock
	multiples *secp256k1.Multiples // nil if it is not prepared
}

// Anybody can sign with any number of keys, so all that is remembered is bounded: keys
// and signers, of some megabytes, in two generations, and prepared keys of 156 MiB. To
// prepare a key takes as long as to find three, and saves half of one each time, so
// it must have been found four times. A prepared one stays as long as it is used once in a
// while: if more keys come in turn than there is room for, those that are there are worth
// more than new ones.
const (
	maxSigners    = 16_384
	maxPrepared   = 6144
	preparedBytes = 26 << 10 // of a key
	oftenSeen     = 4
	longUnused    = 16 * maxPrepared // signatures ago
)

// Together is how many signatures [Signers.Recover] looks at together, which takes less
// time than one after the other.
const Together = secp256k1.Together

// few signatures wait for others.
const few = 4

// wideFrom is how many signatures eight lanes find the keys of in less time than it takes to
// check them one by one for prepared keys.
const wideFrom = 4

// NewSigners returns one that knows nobody. Prepared keys take memory of so many bytes at
// the most, or 156 MiB if that is less or bytes is 0.
func NewSigners(bytes int64) *Signers {
	room := maxPrepared
	if bytes > 0 {
		room = int(min(bytes/preparedBytes, maxPrepared))
	}
	return &Signers{
		most: room, wide: secp256k1.Wide(), rest: secp256k1.Least() == 1,
		young: make(map[Signer]*signingKey), keys: make(map[[33]byte]*signingKey),
		matchings: sync.Pool{New: func() any { return new(matching) }},
		generator: sync.OnceValue(secp256k1.NewGenerator),
	}
}

// matching is the memory for signatures that are looked at together.
type matching struct {
	secp256k1.Matcher
	list     []*Signed
	claims   []secp256k1.Claim
	searches []secp256k1.Search
	of       []int // in list, by claim or search
	keys     []*signingKey
	finder   *secp256k1.Recoverer // nil until it is needed
}

// Recover finds the key of each signature. Few signatures may be looked at together with
// those of other goroutines.
func (s *Signers) Recover(list []Signed) {
	if len(list) == 0 {
		return
	}
	if len(list) <= few {
		s.queue.recover(s, list)
		return
	}
	for len(list) > 0 {
		n := min(Together, len(list))
		s.recoverNow(list[:n])
		list = list[n:]
	}
}

// recoverNow looks at one group or more together.
func (s *Signers) recoverNow(groups ...[]Signed) {
	m := s.matchings.Get().(*matching)
	defer s.matchings.Put(m)
	m.list = m.list[:0]
	for _, g := range groups {
		for i := range g {
			m.list = append(m.list, &g[i])
		}
	}
	many := s.wide && len(m.list) >= wideFrom
	if m.finder == nil && (many || s.rest) {
		m.finder = secp256k1.NewRecoverer(s.generator()) // before anybody is billed
	}
	var start time.Time
	if many {
		start = time.Now()
		s.search(m, false)
	} else if start = s.match(m); s.rest {
		s.search(m, true)
	}
	for _, x := range m.list {
		if x == nil {
			continue
		}
		find := Recover
		if x.Spring {
			find = RecoverSpring
		}
		if x.Key, x.Err = find(*x.Signature, x.Digest, true); x.Err == nil && x.Key.Type == types.K1 {
			s.note(x.By, x.Key.Point)
		}
	}
	took := time.Since(start) / time.Duration(max(len(m.list), 1))
	for _, g := range groups {
		for i := range g {
			g[i].Took = took
		}
	}
	clear(m.list)
	clear(m.claims)
	clear(m.keys)
}

// match takes out of the list those that are of the keys with which their signers signed last.
// It tells when that began: nobody is billed for the generator's multiples, which the first
// makes for all.
func (s *Signers) match(m *matching) (start time.Time) {
	var generator *secp256k1.Multiples
	if s.guess(m); len(m.claims) > 0 {
		generator = s.generator()
	}
	start = time.Now()
	m.Match(m.claims, generator)
	for i, at := range m.of {
		if m.claims[i].Right {
			m.addKey(at, m.keys[i].point)
		}
	}
	return start
}

// search takes out of the list those whose keys are found without the library, and remembers who signed
// if note says so.
func (s *Signers) search(m *matching, note bool) {
	m.searches, m.of = m.searches[:0], m.of[:0]
	for i, x := range m.list {
		var g secp256k1.Search
		if x != nil && mayBeKnown(x, &g.Signature) {
			m.searches, m.of = append(m.searches, g), append(m.of, i)
		}
	}
	m.finder.Recover(m.searches)
	for i, at := range m.of {
		g := &m.searches[i]
		if !g.Found {
			continue
		}
		by, point := m.list[at].By, compressPoint(&g.Key)
		if m.addKey(at, point); note {
			s.note(by, point)
		}
	}
}

// addKey writes a key down, and takes its signature out of the list.
func (m *matching) addKey(at int, point [33]byte) {
	x := m.list[at]
	x.Key, x.Err = types.PublicKey{Type: types.K1, Point: point}, nil
	m.list[at] = nil
}

// compressPoint is a point with the parity of y instead of y.
func compressPoint(key *[64]byte) (point [33]byte) {
	point[0] = 2 | key[63]&1
	copy(point[1:], key[:32])
	return point
}

// mayBeKnown reads a signature whose key can be found otherwise than by the library, with the
// same result.
func mayBeKnown(x *Signed, g *secp256k1.Signature) bool {
	return x.Signature.Type == types.K1 && IsCanonical(&x.Signature.Compact) &&
		setSignature(g, &x.Signature.Compact, x.Digest)
}

// guess claims that signatures are of the keys with which their signers signed last, if
// those are prepared.
func (s *Signers) guess(m *matching) {
	m.claims, m.of, m.keys = m.claims[:0], m.of[:0], m.keys[:0]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock += uint64(len(m.list))
	for i, x := range m.list {
		k := s.last(x.By)
		if k == nil || k.multiples == nil {
			continue
		}
		c := secp256k1.Claim{Key: k.multiples}
		if !mayBeKnown(x, &c.Signature) {
			continue
		}
		k.used = s.clock
		m.claims = append(m.claims, c)
		m.of, m.keys = append(m.of, i), append(m.keys, k)
	}
}

// setSignature reads a compact signature. It fails for those whose point's x is above the
// order, which nobody meets.
func setSignature(g *secp256k1.Signature, compact *[65]byte, digest [32]byte) bool {
	id := (compact[0] - 27) & 3
	g.R, g.S, g.Odd, g.Digest = [32]byte(compact[1:33]), [32]byte(compact[33:]), id, digest
	return headerOK(compact[0]) && id <= 1
}

// last returns the key with which somebody signed last, nil if it is not known.
func (s *Signers) last(by Signer) *signingKey {
	if k := s.young[by]; k != nil {
		return k
	}
	k := s.old[by]
	if k != nil {
		s.remember(by, k)
	}
	return k
}

func (s *Signers) remember(by Signer, k *signingKey) {
	if len(s.young) >= maxSigners || len(s.keys) >= maxSigners {
		s.young, s.old = make(map[Signer]*signingKey), s.young
		s.keys = make(map[[33]byte]*signingKey)
		for _, p := range s.prepared {
			s.keys[p.point] = p
		}
	}
	s.young[by], s.keys[k.point] = k, k
}

// note remembers with what somebody signed.
func (s *Signers) note(by Signer, point [33]byte) {
	if by == (Signer{}) {
		return
	}
	s.mu.Lock()
	k := s.keys[point]
	if k == nil {
		k = &signingKey{point: point}
	}
	s.remember(by, k)
	k.seen++
	prepare := k.seen%oftenSeen == 0 && k.multiples == nil
	s.mu.Unlock()
	if prepare {
		s.prepare(k)
	}
}

// prepare makes a key's multiples, if there is room for them.
func (s *Signers) prepare(k *signingKey) {
	if !s.room() {
		return
	}
	m, ok := secp256k1.Prepare(&k.point)
	if !ok {
		return
	}
	s.mu.Lock()
	k.used, k.multiples = s.clock, m
	s.prepared = append(s.prepared, k)
	s.mu.Unlock()
}

// room tells whether another key may be prepared, after forgetting those that were not
// used for long.
func (s *Signers) room() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.prepared) < s.most {
		return true
	}
	if s.clock < s.swept+longUnused/16 {
		return false
	}
	s.swept = s.clock
	s.prepared = slices.DeleteFunc(s.prepared, func(k *signingKey) bool {
		if s.clock-k.used < longUnused {
			return false
		}
		k.multiples, k.seen = nil, 0
		return true
	})
	return len(s.prepared) < s.most
}
