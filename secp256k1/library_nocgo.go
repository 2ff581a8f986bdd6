//go:build !cgo

package secp256k1

// libraryInC tells whether go-ethereum has libsecp256k1 in this build, or decred's library in Go, which
// takes three times as long.
const libraryInC = false
