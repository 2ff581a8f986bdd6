package authority

import (
	"math"
	"slices"

	"tarn/antelope/types"
)

// Forever is a delay that satisfies every wait, in us.
const Forever = math.MaxInt64

// Find returns the authority of a permission, nil if there is no such permission.
type Find func(types.PermissionLevel) (*types.Authority, error)

// Checker tells whether keys, permissions that are taken for granted, and a delay
// satisfy authorities. It remembers over several questions which of the keys were
// needed. It is for one goroutine at a time.
type Checker struct {
	find     Find
	maxDepth int
	keys     []types.PublicKey
	provided []types.PermissionLevel
	delay    int64

	used   []bool // of keys
	marked []int  // keys, in the order in which they came into use

	known   statuses // of the question that is being answered
	factors []uint64 // stack of the authorities that are being evaluated
}

// NewChecker returns a Checker. Keys and provided permissions are in ascending
// order without duplicates; a provided permission with an empty name stands for
// all of its account. Permissions that lead deeper than maxDepth are not followed.
func NewChecker(find Find, maxDepth uint16, keys []types.PublicKey, provided []types.PermissionLevel) *Checker {
	c := &Checker{find: find}
	c.reset(maxDepth, keys, provided)
	return c
}

func (c *Checker) reset(maxDepth uint16, keys []types.PublicKey, provided []types.PermissionLevel) {
	c.maxDepth, c.keys, c.provided = int(maxDepth), keys, provided
	c.used = slices.Grow(c.used[:0], len(keys))[:len(keys)]
	clear(c.used)
	c.marked = c.marked[:0]
	c.factors = c.factors[:0]
}

// Satisfied tells whether a permission is satisfied under a delay, in us.
func (c *Checker) Satisfied(l types.PermissionLevel, delay int64) (bool, error) {
	c.delay = delay
	c.known.clear()
	return c.permission(l, 0)
}

// AllKeysUsed tells whether every key was needed.
func (c *Checker) AllKeysUsed() bool { return len(c.marked) == len(c.keys) }

// UsedKeys returns the keys that were needed, in ascending order.
func (c *Checker) UsedKeys() []types.PublicKey { return c.filter(true) }

// UnusedKeys returns the others.
func (c *Checker) UnusedKeys() []types.PublicKey { return c.filter(false) }

func (c *Checker) filter(used bool) []types.PublicKey {
	var keys []types.PublicKey
	for i := range c.keys {
		if c.used[i] == used {
			keys = append(keys, c.keys[i])
		}
	}
	return keys
}

// permission tells whether a permission counts, depth permissions below the one
// that was asked for. A permission that is being evaluated does not count, so that
// circles end; one that does not exist, or lies too deep, does not count either.
func (c *Checker) permission(l types.PermissionLevel, depth int) (bool, error) {
	if s, ok := c.known.get(l); ok {
		return s == satisfied, nil
	}
	if c.isProvided(l) {
		return true, nil
	}
	if depth >= c.maxDepth {
		return false, nil
	}
	a, err := c.find(l)
	if err != nil || a == nil {
		return false, err
	}
	c.known.set(l, evaluating)
	ok, err := c.authority(a, depth+1)
	if ok {
		c.known.set(l, satisfied)
	} else {
		c.known.set(l, unsatisfied)
	}
	return ok, err
}

func (c *Checker) isProvided(l types.PermissionLevel) bool {
	if len(c.provided) == 0 {
		return false
	}
	if _, found := slices.BinarySearchFunc(c.provided, l, types.PermissionLevel.Compare); found {
		return true
	}
	_, found := slices.BinarySearchFunc(c.provided, types.PermissionLevel{Actor: l.Actor},
		types.PermissionLevel.Compare)
	return found
}

// The kinds of factors, by their order among factors of one weight: waits first.
const (
	wait = iota
	key
	account
)

// factor is one of an authority's conditions, as a number that sorts in the order
// of evaluation: by weight, highest first, then by kind, then as they are listed.
func factor(weight uint16, kind, index int) uint64 {
	return uint64(^weight)<<40 | uint64(kind)<<32 | uint64(index)
}

// authority tells whether an authority is satisfied. Keys that came into use for
// one that is not are given back.
func (c *Checker) authority(a *types.Authority, depth int) (bool, error) {
	base, mark := len(c.factors), len(c.marked)
	for i := range a.Waits {
		c.factors = append(c.factors, factor(a.Waits[i].Weight, wait, i))
	}
	for i := range a.Keys {
		c.factors = append(c.factors, factor(a.Keys[i].Weight, key, i))
	}
	for i := range a.Accounts {
		c.factors = append(c.factors, factor(a.Accounts[i].Weight, account, i))
	}
	slices.Sort(c.factors[base:])
	ok, err := c.tally(a, base, depth)
	c.factors = c.factors[:base]
	if !ok {
		for _, i := range c.marked[mark:] {
			c.used[i] = false
		}
		c.marked = c.marked[:mark]
	}
	return ok, err
}

// tally adds up weights until they reach the threshold.
func (c *Checker) tally(a *types.Authority, base, depth int) (bool, error) {
	total, end := uint32(0), len(c.factors)
	for at := base; at < end; at++ {
		f := c.factors[at]
		counts, i := false, int(uint32(f))
		switch uint8(f >> 32) {
		case wait:
			counts = c.delay >= int64(a.Waits[i].WaitSec)*1_000_000
		case key:
			counts = c.use(&a.Keys[i].Key)
		case account:
			var err error
			if counts, err = c.permission(a.Accounts[i].Permission, depth); err != nil {
				return false, err
			}
		}
		if counts {
			total += uint32(^uint16(f >> 40))
		}
		if total >= a.Threshold {
			return true, nil
		}
	}
	return false, nil
}

// use tells whether a key is there, and marks it used.
func (c *Checker) use(k *types.PublicKey) bool {
	i := c.index(k)
	if i < 0 {
		return false
	}
	if !c.used[i] {
		c.used[i] = true
		c.marked = append(c.marked, i)
	}
	return true
}

// linear is the number of keys up to which comparing with each is the fastest.
const linear = 8

func (c *Checker) index(k *types.PublicKey) int {
	if len(c.keys) > linear {
		if i, found := slices.BinarySearchFunc(c.keys, *k, types.PublicKey.Compare); found {
			return i
		}
		return -1
	}
	for i := range c.keys {
		if c.keys[i] == *k {
			return i
		}
	}
	return -1
}

// status is what is known of a permission.
type status uint8

const (
	evaluating status = iota
	unsatisfied
	satisfied
)

// statuses is a map that is cheap while it is small.
type statuses struct {
	few  []knownStatus
	many map[types.PermissionLevel]status
}

type knownStatus struct {
	level  types.PermissionLevel
	status status
}

const maxFew = 16

func (s *statuses) clear() {
	s.few = s.few[:0]
	s.many = nil
}

func (s *statuses) get(l types.PermissionLevel) (status, bool) {
	if s.many != nil {
		v, ok := s.many[l]
		return v, ok
	}
	for i := range s.few {
		if s.few[i].level == l {
			return s.few[i].status, true
		}
	}
	return 0, false
}

func (s *statuses) set(l types.PermissionLevel, v status) {
	if s.many != nil {
		s.many[l] = v
		return
	}
	for i := range s.few {
		if s.few[i].level == l {
			s.few[i].status = v
			return
		}
	}
	if len(s.few) < maxFew {
		s.few = append(s.few, knownStatus{l, v})
		return
	}
	s.many = make(map[types.PermissionLevel]status, 4*maxFew)
	for _, e := range s.few {
		s.many[e.level] = e.status
	}
	s.many[l] = v
}
