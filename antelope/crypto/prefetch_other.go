//go:build !amd64 && !arm64

package crypto

import "github.com/consensys/gnark-crypto/ecc/secp256k1"

func prefetch(*secp256k1.G1Affine) {}
