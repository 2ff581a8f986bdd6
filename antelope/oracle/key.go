package oracle

import (
	"crypto/sha256"
	"encoding/binary"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// NewKey makes a key of a seed and a label, always the same. It is of type R1 if
// the label begins with "r1", else K1.
func NewKey(seed uint64, label string) crypto.PrivateKey {
	kind := types.K1
	if len(label) >= 2 && label[:2] == "r1" {
		kind = types.R1
	}
	for h := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), label...)); ; h = sha256.Sum256(h[:]) {
		// One in 2^32 or less is not a key.
		if k, err := crypto.NewPrivateKey(kind, h); err == nil {
			return k
		}
	}
}
