package producer

// expiries is a heap of what expires, soonest first.
type expiries[T expiring[T]] []T

// expiring is what an element of such a heap tells of itself, and is told.
type expiring[T any] interface {
	before(T) bool   // it expires sooner
	setIndex(to int) // its index in the heap
}

func (h expiries[T]) Len() int           { return len(h) }
func (h expiries[T]) Less(i, j int) bool { return h[i].before(h[j]) }
func (h expiries[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].setIndex(i)
	h[j].setIndex(j)
}

// Push is heap.Interface's.
func (h *expiries[T]) Push(v any) {
	e := v.(T)
	e.setIndex(len(*h))
	*h = append(*h, e)
}

// Pop is heap.Interface's.
func (h *expiries[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	clear((*h)[last:])
	*h = (*h)[:last]
	return e
}
