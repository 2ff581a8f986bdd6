package eventcheck

import (
	"testing"

	"tarn/internal/plantedfault"
)

func TestPlantedFaultsAreNoticed(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"a prepared key takes the greater of two signatures", "keys.go", "k.half) > 0", "k.half) > 1"},
		{"any x is a key", "keys.go", "	public, err := crypto.UnmarshalPubkey(raw)\n",
			"	if len(raw) != 65 {\n		return nil\n	}\n" +
				"	public, err := crypto.DecompressPubkey(append([]byte{2 + raw[64]&1}, raw[1:33]...))\n"},
		{"what a prepared key does not find is wrong", "keys.go",
			"return k.match(hash, s, key.Raw) || crypto.VerifySignature(key.Raw, hash[:], s[:])",
			"return k.match(hash, s, key.Raw)"},
	}, "-short", "-timeout=2m")
}
