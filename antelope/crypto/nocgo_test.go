//go:build !cgo

package crypto

// withC tells that [recoverK1] is the library in C.
const withC = false
