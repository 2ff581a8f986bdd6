//go:build !cgo

package crypto

func recoverK1(compact *[65]byte, digest *[32]byte) (full [65]byte, ok bool) {
	return recoverK1Pure(compact, digest)
}
