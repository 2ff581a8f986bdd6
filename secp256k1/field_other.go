//go:build !amd64

package secp256k1

// multiply sets z to x * y. z may be x or y.
func multiply(z, x, y *element) { multiplyWords(z, x, y) }
