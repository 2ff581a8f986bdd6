package inter

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/rlp"
)

// Weight is a validator's share of the votes of an epoch.
type Weight uint32

// Validator is one of the validators of an epoch.
type Validator struct {
	ID     ValidatorID
	Weight Weight
}

// Validators is the set of an epoch, unchanging. Its order (greater weight first,
// then smaller id) numbers the validators from 0: their index. The zero value is an
// empty set. Any goroutine may use it.
type Validators struct {
	list  []Validator
	index map[ValidatorID]int
	total Weight
}

// maxTotal is what all weights of a set may sum up to (lachesis-base, inter/pos).
const maxTotal = 1<<31 - 1

// NewValidators returns the set of the validators that have a weight. It is an error
// if an id stands twice or the weights sum up to more than 2^31-1.
func NewValidators(list []Validator) (*Validators, error) {
	v := &Validators{index: make(map[ValidatorID]int, len(list))}
	var total uint64
	for _, one := range list {
		if one.Weight == 0 {
			continue
		}
		v.list = append(v.list, one)
		total += uint64(one.Weight)
	}
	if total > maxTotal {
		return nil, fmt.Errorf("the weights of %d validators sum up to %d, above %d", len(v.list), total, maxTotal)
	}
	v.total = Weight(total)
	slices.SortFunc(v.list, func(a, b Validator) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.ID, b.ID))
	})
	for i, one := range v.list {
		if _, twice := v.index[one.ID]; twice {
			return nil, fmt.Errorf("validator %d stands twice in its set", one.ID)
		}
		v.index[one.ID] = i
	}
	return v, nil
}

// ScaledValidators returns the set of the stakes, each shifted right by as many bits
// as bring their sum below 2^31. A stake of which nothing is left is not in the set
// (lachesis-base, inter/pos: ValidatorsBigBuilder).
func ScaledValidators(stakes map[ValidatorID]*big.Int) (*Validators, error) {
	sum := new(big.Int)
	for _, stake := range stakes {
		if stake.Sign() < 0 {
			return nil, errors.New("a validator's stake is negative")
		}
		sum.Add(sum, stake)
	}
	shift := uint(max(0, sum.BitLen()-31))
	list := make([]Validator, 0, len(stakes))
	for id, stake := range stakes {
		list = append(list, Validator{id, Weight(new(big.Int).Rsh(stake, shift).Uint64())})
	}
	return NewValidators(list)
}

// Len returns how many validators there are.
func (v *Validators) Len() int { return len(v.list) }

// At returns the validator with that index.
func (v *Validators) At(index int) Validator { return v.list[index] }

// Index returns the index of a validator, and false if it is not in the set.
func (v *Validators) Index(id ValidatorID) (int, bool) {
	i, ok := v.index[id]
	return i, ok
}

// Weight returns the weight of a validator, 0 if it is not in the set.
func (v *Validators) Weight(id ValidatorID) Weight {
	if i, ok := v.index[id]; ok {
		return v.list[i].Weight
	}
	return 0
}

// Total returns the sum of all weights.
func (v *Validators) Total() Weight { return v.total }

// Quorum returns the least weight that is more than two thirds of all.
func (v *Validators) Quorum() Weight { return v.total*2/3 + 1 }

// EncodeRLP writes the set as a list of [id, weight], in its order.
func (v *Validators) EncodeRLP(w io.Writer) error { return rlp.Encode(w, v.list) }

// DecodeRLP reads what EncodeRLP writes, in any order; of validators that stand twice the
// last one counts (lachesis-base, inter/pos).
func (v *Validators) DecodeRLP(s *rlp.Stream) error {
	var list []Validator
	if err := s.Decode(&list); err != nil {
		return fmt.Errorf("decode a set of validators: %w", err)
	}
	last := make(map[ValidatorID]int, len(list))
	for i, one := range list {
		last[one.ID] = i
	}
	counting := list[:0]
	for i, one := range list {
		if last[one.ID] == i {
			counting = append(counting, one)
		}
	}
	set, err := NewValidators(counting)
	if err != nil {
		return fmt.Errorf("decode a set of validators: %w", err)
	}
	*v = *set
	return nil
}
