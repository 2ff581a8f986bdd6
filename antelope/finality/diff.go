package finality

import (
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// diff returns the changes that headers carry from one list to another. There are shorter ones at
// times; these are those of the protocol, to the bit (Spring: ordered_diff.hpp).
func diff[T any](from, to []T, equal func(a, b T) bool) (d types.ListDiff[T]) {
	remove := func(s int) { d.Removed = append(d.Removed, uint16(s)) }
	insert := func(t int) { d.Inserted = append(d.Inserted, types.Inserted[T]{Index: uint16(t), Value: to[t]}) }
	s, t := 0, 0
	for s < len(from) || t < len(to) {
		switch {
		case s == len(from):
			insert(t)
			t++
		case t == len(to):
			remove(s)
			s++
		case equal(from[s], to[t]):
			s++
			t++
		case s == len(from)-1 && t == len(to)-1, s+1 < len(from) && t+1 < len(to) && equal(from[s+1], to[t+1]):
			remove(s)
			insert(t)
			s++
			t++
		case t+1 < len(to) && equal(from[s], to[t+1]):
			insert(t)
			t++
		default:
			remove(s)
			s++
		}
	}
	return d
}

// apply makes the list that a diff leads to, in time proportional to both. It refuses indexes that
// do not ascend or that are not in the list. Without changes it is the same list.
func apply[T any](list []T, d *types.ListDiff[T]) ([]T, error) {
	if len(d.Removed)+len(d.Inserted) == 0 {
		return list, nil
	}
	kept := make([]T, 0, len(list))
	next := 0
	for i, index := range d.Removed {
		if i > 0 && index <= d.Removed[i-1] || int(index) >= len(list) {
			return nil, exception.New(exception.FCAssert,
				"index ${index} to be removed is not in a list of ${size}, or not in order",
				"index", index, "size", len(list))
		}
		kept = append(kept, list[next:index]...)
		next = int(index) + 1
	}
	kept = append(kept, list[next:]...)
	out := make([]T, 0, len(kept)+len(d.Inserted))
	for i := range d.Inserted {
		index := int(d.Inserted[i].Index)
		if i > 0 && index <= int(d.Inserted[i-1].Index) || index > len(kept)+len(out) {
			return nil, exception.New(exception.FCAssert,
				"index ${index} to be inserted is not in a list of ${size}, or not in order",
				"index", index, "size", len(kept)+len(out))
		}
		n := index - len(out) // an index is that in the list with what was inserted before
		out = append(append(out, kept[:n]...), d.Inserted[i].Value)
		kept = kept[n:]
	}
	return append(out, kept...), nil
}

// DiffFinalizers is what a header says of a policy that follows another.
func DiffFinalizers(from, to *types.FinalizerPolicy) *types.FinalizerPolicyDiff {
	return &types.FinalizerPolicyDiff{
		Generation: to.Generation, Threshold: to.Threshold,
		Finalizers: diff(from.Finalizers, to.Finalizers, func(a, b types.Finalizer) bool { return a == b }),
	}
}

// ApplyFinalizers makes the policy that a header says of.
func ApplyFinalizers(from *types.FinalizerPolicy, d *types.FinalizerPolicyDiff) (*types.FinalizerPolicy, error) {
	list, err := apply(from.Finalizers, &d.Finalizers)
	if err != nil {
		return nil, err
	}
	return &types.FinalizerPolicy{Generation: d.Generation, Threshold: d.Threshold, Finalizers: list}, nil
}

// DiffProposers is what a header says of a policy that follows another.
func DiffProposers(from, to *types.ProposerPolicy) *types.ProposerPolicyDiff {
	return &types.ProposerPolicyDiff{
		Version: to.Schedule.Version, Proposed: to.Proposed,
		Producers: diff(from.Schedule.Producers, to.Schedule.Producers, types.ProducerAuthority.Equal),
	}
}

// ApplyProposers makes the policy that a header says of.
func ApplyProposers(from *types.ProposerPolicy, d *types.ProposerPolicyDiff) (*types.ProposerPolicy, error) {
	list, err := apply(from.Schedule.Producers, &d.Producers)
	if err != nil {
		return nil, err
	}
	return &types.ProposerPolicy{Proposed: d.Proposed,
		Schedule: types.ProducerSchedule{Version: d.Version, Producers: list}}, nil
}
