//go:build !amd64

package page

import "unsafe"

// These are only hints, and there are none for this processor yet.

func prefetch(unsafe.Pointer)     {}
func prefetchLine(unsafe.Pointer) {}
