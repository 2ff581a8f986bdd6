package crypto

import (
	"crypto/sha1" // what contracts ask for
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"hash"

	//lint:ignore SA1019 the protocol has no other
	"golang.org/x/crypto/ripemd160"
	legacysha3 "golang.org/x/crypto/sha3"

	"tarn/antelope/types"
)

// hashBlock is after how many bytes a hash looks at the clock (Leap:
// hashing_checktime_block_size).
const hashBlock = 10 * 1024

func write(h hash.Hash, data []byte, check func()) {
	for len(data) > hashBlock {
		h.Write(data[:hashBlock])
		data = data[hashBlock:]
		if check != nil {
			check()
		}
	}
	h.Write(data)
}

// SHA1 hashes data; see the package's comment for check.
func SHA1(data []byte, check func()) (sum types.Checksum160) {
	h := sha1.New()
	write(h, data, check)
	h.Sum(sum[:0])
	return sum
}

// SHA256 hashes data; see the package's comment for check.
func SHA256(data []byte, check func()) (sum types.Checksum256) {
	if len(data) <= hashBlock {
		return sha256.Sum256(data)
	}
	h := sha256.New()
	write(h, data, check)
	h.Sum(sum[:0])
	return sum
}

// SHA512 hashes data; see the package's comment for check.
func SHA512(data []byte, check func()) (sum types.Checksum512) {
	h := sha512.New()
	write(h, data, check)
	h.Sum(sum[:0])
	return sum
}

// RIPEMD160 hashes data; see the package's comment for check.
func RIPEMD160(data []byte, check func()) (sum types.Checksum160) {
	h := ripemd160.New()
	write(h, data, check)
	h.Sum(sum[:0])
	return sum
}

// SHA3 is sha3: it writes as much of the 256-bit digest as dst has room for, that of
// Keccak before it was standardised if keccak is 1, of SHA-3 for any other number.
func SHA3(dst, data []byte, keccak int32, check func()) {
	var h hash.Hash = sha3.New256()
	if keccak == 1 {
		h = legacysha3.NewLegacyKeccak256()
	}
	write(h, data, check)
	copy(dst, h.Sum(nil))
}
