package intrinsic

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

func forkBehaviours() map[string]behaviour {
	return map[string]behaviour{"verify_rsa_sha256_sig": func(h *harness) {
		// The key of 512 bits and exponent 3 whose modulus is the encoding plus two: the
		// signature of exponent one is the encoding itself.
		message := []byte("message")
		encoding := "0001" + strings.Repeat("f", 16) + "003031300d060960864801650304020105000420" +
			"ab530a13e45914982b79f9b7e3fba994cfd1f3fb22f71cea1afbf02b460c6d1d"
		modulus := strings.Repeat("f", len(encoding))
		m, mn := h.put(1001, message)
		s, sn := h.put(2001, []byte(encoding))
		e, en := h.put(3001, []byte("1"))
		n, nn := h.put(4001, []byte(modulus))
		args := []uint64{m, mn, s, sn, e, en, n, nn}
		with := func(at int, v ...uint64) []uint64 {
			changed := slices.Clone(args)
			copy(changed[at:], v)
			return changed
		}
		says := func(text string, args []uint64) {
			h.Helper()
			h.chain.printed = nil
			for _, kept := range []bool{true, false} { // what contracts print; this is said either way
				h.a.Console, h.chain.printed = kept, nil
				h.returns(0, "verify_rsa_sha256_sig", args...)
				if want := "[ERROR] verify_rsa_sha256_sig: " + text + "\n"; string(h.chain.printed) != want {
					h.Errorf("the console says %q, want %q", h.chain.printed, want)
				}
			}
		}
		h.returns(1, "verify_rsa_sha256_sig", args...)
		h.m[1001] ^= 1
		h.returns(0, "verify_rsa_sha256_sig", args...)
		h.m[1001] ^= 1
		h.m[3001] = '0'
		h.returns(0, "verify_rsa_sha256_sig", args...)
		h.m[3001] = '1'
		says("At least 1 param has an invalid length", with(1, 0))
		says("At least 1 param has an invalid length", with(3, sn-1))
		says("Intended encoding message lenght too short", []uint64{m, mn, s, 122, e, en, n, 122})
		h.m[2001] = 'x'
		says("Unexpected content found while parsing character string.", args)
		h.m[4001] = 0 // the modulus ends before its first digit, and is not looked at yet
		says("Unexpected content found while parsing character string.", args)
		h.m[2001] = '0'
		h.fails(exception.WasmExecutionError, "access violation", "verify_rsa_sha256_sig", args...)

		// Work that would end too late is not begun; shorter work looks at the clock.
		size := 65536
		h.m = append(h.m, make([]byte, 3*size)...)
		long := func(at int) uint64 {
			copy(h.m[at:], bytes.Repeat([]byte("e"), size))
			return uint64(at)
		}
		base := len(h.m) - 3*size
		long(base)
		long(base + size)
		h.m[base+size] = 'f'
		h.m[3001] = '3'
		args = []uint64{m, mn, uint64(base), uint64(size), e, en, uint64(base + size), uint64(size)}
		h.fails(exception.Deadline, "time would be up", "verify_rsa_sha256_sig", args...)
		h.chain.timeFor, h.chain.timeLeft = time.Minute, 1000
		h.returns(0, "verify_rsa_sha256_sig", args...)
	}}
}

// A chain allows what its own node's program lists, whatever the genesis file says.
func TestNewChainsOfForksAllowTheirFunctions(t *testing.T) {
	list := func(id string, more ...string) []string {
		t.Helper()
		var chain types.Checksum256
		copy(chain[:], unhex(t, id))
		got := GenesisOf(chain, more)
		if !slices.IsSorted(got) {
			t.Errorf("the list of %s is not ascending", id)
		}
		return got
	}
	const eos = "aca376f206b8fc25a6ed44dbdc66547c36c6c33e3a119ffbeaef943642f0e906"
	leap := slices.Sorted(slices.Values(Genesis()))
	if got := list(eos); !slices.Equal(got, leap) {
		t.Errorf("EOS allows %d functions, want Leap's %d", len(got), len(leap))
	}
	with := slices.Sorted(slices.Values(append(Genesis(), "verify_rsa_sha256_sig")))
	for _, chain := range Forks()[0].Chains {
		if got := list(chain); !slices.Equal(got, with) {
			t.Errorf("%s allows %d functions, want %d", chain, len(got), len(with))
		}
	}
	if got := list(eos, "verify_rsa_sha256_sig", "verify_rsa_sha256_sig", "sha256"); !slices.Equal(got, with) {
		t.Errorf("a private chain allows %d functions, want %d", len(got), len(with))
	}
}

func TestFunctionsThatAreMissingAreNamed(t *testing.T) {
	all := GenesisOf(types.Checksum256{}, []string{"verify_rsa_sha256_sig", "bls_g1_add"})
	if got := Missing(all); len(got) > 0 {
		t.Errorf("missing: %q", got)
	}
	if got := Missing(append(all, "send_response", "eosio_assert_message_code", "send_response")); !slices.Equal(got,
		[]string{"eosio_assert_message_code", "send_response"}) {
		t.Errorf("missing: %q", got)
	}
}
