package finality

import "sync/atomic"

// spareCapacity is how many places behind a list are free in the memory that lists share: each is the
// continuation of one before. While finality stands still, a list of all reversible blocks grows with
// each of them, and would be copied for each.
type spareCapacity = atomic.Int64

// extend is the list with one value more. It shares memory with the list, unless another one has taken
// the place behind it; both stay as they are. free is the list's, nil for one that shares nothing.
func extend[T any](list []T, v T, free *spareCapacity) ([]T, *spareCapacity) {
	behind := int64(cap(list) - len(list)) // the same for all lists that end at this place
	if free != nil && behind > 0 && free.CompareAndSwap(behind, behind-1) {
		return append(list, v), free
	}
	grown := make([]T, len(list), len(list)+len(list)/2+8)
	copy(grown, list)
	free = new(spareCapacity)
	free.Store(int64(cap(grown) - len(grown) - 1))
	return append(grown, v), free
}
