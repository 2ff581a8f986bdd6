package fsnap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/internal/refimpl"
)

var judgedFlag = flag.Int("fsnap.judged", 2000, "random messages of each code that go-opera judges")

// damage changes a byte, or the length.
func damage(r *rand.Rand, raw []byte) []byte {
	raw = bytes.Clone(raw)
	switch r.IntN(4) {
	case 0:
		raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
	case 1:
		raw = raw[:r.IntN(len(raw))]
	case 2:
		raw = append(raw, byte(r.Uint32()))
	}
	return raw
}

// here says what we make of a message, in the words of refimpl/snap.
func here(code uint64, raw []byte) (string, error) {
	m, err := Decode(code, raw)
	if err != nil {
		return "", err
	}
	again, err := rlp.EncodeToBytes(m)
	if err != nil {
		return "", err
	}
	var full []byte
	if accounts, is := m.(*Accounts); is {
		for _, a := range accounts.Accounts {
			body, err := types.FullAccountRLP(a.Body)
			if err != nil {
				return "", err
			}
			full = append(full, body...)
		}
	}
	return fmt.Sprintf("%x %x", sha256.Sum256(again), sha256.Sum256(full)), nil
}

// strict are messages that go-opera decodes and nothing follows from there: it ends the connection
// for the first two, whose proof does not hold either if an account's numbers are none, and the third asks for what
// there is none of.
func strict(raw []byte, code uint64) bool {
	_, err := Decode(code, raw)
	var loose Message
	switch code {
	case CodeAccounts:
		loose = new(Accounts)
	case CodeSlots:
		loose = new(Slots)
	case CodeGetNodes:
		loose = new(GetNodes)
	case CodeGetSlots:
		loose = new(GetSlots)
	default:
		return false
	}
	return err != nil && rlp.DecodeBytes(raw, loose) == nil && sound(loose) != nil
}

// TestGoOperaReadsTheSameMessages makes random messages of each code, damages some of their
// encodings, and compares what go-opera and this package make of them.
func TestGoOperaReadsTheSameMessages(t *testing.T) {
	original := refimpl.Start(t, "../../../refimpl/snap")
	for code := range uint64(Codes) {
		r := rand.New(rand.NewPCG(*seedFlag, code))
		var raws [][]byte
		var questions []string
		for range *judgedFlag {
			raw := damage(r, encode(t, randomMessage(r, code)))
			raws = append(raws, raw)
			word := hex.EncodeToString(raw)
			if word == "" {
				word = "-"
			}
			questions = append(questions, fmt.Sprintf("message %d %s", code, word))
		}
		accepted, stricter := 0, 0
		for i, want := range original.Ask(questions) {
			got, err := here(code, raws[i])
			refused := len(want) > 7 && want[:7] == "refused"
			switch {
			case err == nil && got == want:
				accepted++
			case err != nil && refused:
			case err != nil && strict(raws[i], code):
				stricter++
			default:
				t.Fatalf("go-opera differs: -fsnap.seed=%d\n%s\nhere:     %s, %v\ngo-opera: %s",
					*seedFlag, questions[i], got, err, want)
			}
		}
		if accepted < len(questions)/10 || len(questions)-accepted < len(questions)/10 || stricter > len(questions)/10 {
			t.Errorf("code %d: %d of %d are accepted, %d refused here alone: one side is hardly tested",
				code, accepted, len(questions), stricter)
		}
		t.Logf("code %d, seed %d: %d of %d are accepted, %d refused here alone",
			code, *seedFlag, accepted, len(questions), stricter)
	}
}
