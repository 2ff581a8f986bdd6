package page

import "unsafe"

// prefetch starts to load the front of a page, where the header and the slots
// are, into the processor's cache. It never faults. A leaf of a large store is
// nowhere in the caches, and without this its lines are missed one after another.
//
//go:noescape
func prefetch(page unsafe.Pointer)

// prefetchLine is prefetch for the one line at an address.
//
//go:noescape
func prefetchLine(at unsafe.Pointer)
