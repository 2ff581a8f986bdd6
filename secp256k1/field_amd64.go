package secp256k1

import "golang.org/x/sys/cpu"

// multiplyADX is [multiplyWords] with the instructions of processors since 2014.
//
//go:noescape
func multiplyADX(z, x, y *element)

// adx tells whether the processor has them.
var adx = cpu.X86.HasADX && cpu.X86.HasBMI2

// multiply sets z to x * y. z may be x or y.
func multiply(z, x, y *element) {
	if adx {
		multiplyADX(z, x, y)
		return
	}
	multiplyWords(z, x, y)
}
