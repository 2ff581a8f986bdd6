//go:build amd64 || arm64

package secp256k1

// prefetch has the memory bring a point, which is one cache line, and does not wait.
//
//go:noescape
func prefetch(p *point)
