package inter

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/internal/refimpl"
	"tarn/opera/inter/cser"
)

var (
	seedFlag   = flag.Uint64("inter.seed", 1, "seed of the random values")
	judgedFlag = flag.Int("inter.judged", 1000, "random and damaged values of each kind that go-opera judges")
)

// answers say what we make of an encoding, in the words of refimpl/opera.
var answers = map[string]func(raw []byte) (string, error){
	"event": func(raw []byte) (string, error) {
		p, err := DecodePayload(raw)
		if err != nil {
			return "", err
		}
		bvs, ev := p.SignedBlockVotes(), p.SignedEpochVote()
		id := p.ID()
		return fmt.Sprintf("%x %x %x %x %s %s %s", id[:], p.SigningHash(), p.Locator().Locator.BaseHash,
			p.HashPayload(), sum(p.Encode()), again(&bvs), again(&ev)), nil
	},
	"proofs": func(raw []byte) (string, error) {
		var v []MisbehaviourProof
		err := rlp.DecodeBytes(raw, &v)
		return again(v), err
	},
	"bvs": func(raw []byte) (string, error) {
		var v SignedBlockVotes
		err := rlp.DecodeBytes(raw, &v)
		id := v.Signed.Locator.ID()
		return fmt.Sprintf("%s %x %x", again(&v), v.HashPayload(), id[:]), err
	},
	"ev": func(raw []byte) (string, error) {
		var v SignedEpochVote
		err := rlp.DecodeBytes(raw, &v)
		return fmt.Sprintf("%s %x %x", again(&v), v.HashPayload(), v.Signed.Locator.Hash()), err
	},
	"block": func(raw []byte) (string, error) {
		var v BlockRecord
		if err := rlp.DecodeBytes(raw, &v); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %x", again(&v), v.Block.Hash()), nil
	},
	"epoch": func(raw []byte) (string, error) {
		var v EpochRecord
		if err := rlp.DecodeBytes(raw, &v); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %x", again(&v), v.State.Hash()), nil
	},
	"pack": func(raw []byte) (string, error) {
		var v EpochPack
		err := rlp.DecodeBytes(raw, &v)
		return again(&v), err
	},
	"rules": func(raw []byte) (string, error) {
		var v struct{ Rules Rules }
		err := rlp.DecodeBytes(raw, &v)
		return fmt.Sprintf("%s %s", again(&v.Rules), sum([]byte(v.Rules.String()), nil)), err
	},
	"heights": func(raw []byte) (string, error) {
		var v []UpgradeHeight
		err := rlp.DecodeBytes(raw, &v)
		return again(v), err
	},
}

// sum returns the SHA-256 of bytes, "-" if they could not be made.
func sum(b []byte, err error) string {
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

func again(v any) string { return sum(rlp.EncodeToBytes(v)) }

// TestGoOperaAgrees makes random values of each kind, damages their encodings, and compares
// what go-opera and this package make of them: whether they are accepted, and all hashes.
func TestGoOperaAgrees(t *testing.T) {
	original := refimpl.Start(t, "../../refimpl/opera")
	for _, kind := range []string{"event", "proofs", "bvs", "ev", "block", "epoch", "pack", "rules", "heights"} {
		t.Run(kind, func(t *testing.T) {
			random := rand.New(rand.NewPCG(*seedFlag, uint64(len(kind))))
			var questions []string
			for range *judgedFlag {
				questions = append(questions, kind+" "+hex.EncodeToString(sample(t, random, kind)))
			}
			accepted := 0
			for i, want := range original.Ask(questions) {
				raw, _ := hex.DecodeString(questions[i][len(kind)+1:])
				got, err := answers[kind](raw)
				if err == nil {
					accepted++
				}
				if difference := compare(kind, want, got, err); difference != "" {
					t.Fatalf(
						"go-opera differs: go test -run '%s' ./opera/inter -inter.seed=%d "+
							"-inter.judged=%d\n%s\n%s\nhere:     %s, %v\ngo-opera: %s",
						t.Name(), *seedFlag, *judgedFlag, difference, questions[i], got, err, want)
				}
			}
			if least := len(questions) / 10; accepted < least || len(questions)-accepted < least {
				t.Errorf("%d of %d are accepted: one side is hardly tested", accepted, len(questions))
			}
			t.Logf("seed %d: %d of %d are accepted", *seedFlag, accepted, len(questions))
		})
	}
}

// TestGoOperaMergesTheSameChanges compares rules after random changes.
func TestGoOperaMergesTheSameChanges(t *testing.T) {
	original := refimpl.Start(t, "../../refimpl/opera")
	random := rand.New(rand.NewPCG(*seedFlag, 0))
	var questions []string
	var rules []Rules
	var changes []string
	for range *judgedFlag {
		r, c := randomRules(random), randomChanges(random, 0)
		rules, changes = append(rules, r), append(changes, c)
		questions = append(questions, fmt.Sprintf("json %x %x", encode(t, &struct{ Rules Rules }{r}), c))
	}
	accepted := 0
	for i, want := range original.Ask(questions) {
		updated, err := rules[i].Update([]byte(changes[i]))
		got := again(&updated)
		bad := strings.HasPrefix(want, "refused") || want == "-" || strings.Contains(changes[i], `null`) && err != nil
		if bad != (err != nil) || !bad && got != want {
			t.Errorf("seed %d: %s changed by %s becomes %s, %v; go-opera: %s",
				*seedFlag, &rules[i], changes[i], &updated, err, want)
		}
		if err == nil {
			accepted++
		}
	}
	t.Logf("seed %d: %d of %d are accepted", *seedFlag, accepted, len(questions))
}

// randomChanges returns a JSON object with names of rules at some depth.
func randomChanges(random *rand.Rand, depth int) string {
	names := [][]string{
		{"Name", "NetworkID", "Dag", "Epochs", "Blocks", "Economy", "economy", "Upgrades", "Other"},
		{
			"MaxParents", "MaxFreeParents", "MaxExtraData", "MaxEpochGas", "MaxEpochDuration", "MaxBlockGas",
			"MaxEmptyBlockSkipPeriod", "BlockMissedSlack", "Gas", "MinGasPrice", "ShortGasPower", "LongGasPower",
			"Berlin", "London", "Llr", "LLR", "minGasPrice",
		},
		{"MaxEventGas", "EventGas", "EpochVoteGas", "MisbehaviourProofGas", "AllocPerSec", "MaxAllocPeriod",
			"StartupAllocPeriod", "MinStartupGas"},
	}
	var members []string
	for range random.IntN(5) {
		name, value := names[depth][random.IntN(len(names[depth]))], "{}"
		switch k := random.IntN(24); {
		case k < 16 && depth < 2 && (depth == 0 || strings.HasPrefix(name, "Gas") || strings.HasSuffix(name, "Power")):
			value = randomChanges(random, depth+1)
		case name == "Berlin" || name == "London" || strings.EqualFold(name, "Llr"):
			value = []string{"true", "false"}[random.IntN(2)]
		case name == "Name":
			value = `"x"`
		case k == 17:
			value = []string{"null", "-1", "1.5", "1e3", `"7"`, "[]", "4294967296",
				"18446744073709551616"}[random.IntN(8)]
		default:
			value = fmt.Sprint(random.Uint32() >> random.IntN(32))
		}
		members = append(members, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// compare says how our answer differs from go-opera's beyond what should.
func compare(kind, want, got string, err error) string {
	reason, refused := strings.CutPrefix(want, "refused ")
	switch {
	case strings.HasPrefix(want, "panic"):
		// It would end there.
		if err == nil {
			return "accepted what go-opera cannot bear"
		}
	case refused && err == nil:
		return "accepted what go-opera refuses"
	case refused && kind == "event" && !sameReason(reason, err):
		return "another reason"
	case !refused && kind == "event" && strings.Fields(want)[4] == "-":
		// It accepts some events that it then cannot store, and stops. Of those here only
		// ones with too little gas are accepted, to be refused by the basic checks.
		if err == nil && !strings.Contains(got, " - ") {
			return "encoded what go-opera cannot encode"
		}
	case !refused && err != nil && strings.Contains(err.Error(), "exceeds 256 bits"):
		// go-ethereum's decoder has learned since to refuse such signatures, which no check
		// of a signature lets pass.
	case !refused && err != nil:
		return "refused what go-opera accepts"
	case !refused && got != want:
		return "another value"
	}
	return ""
}

// sameReason compares reasons in the words of events. Those of RLP name types, and differ.
// go-opera's reader takes bytes from behind the stream of bytes, as long as there are any in
// memory, and finds out at the end, or says before what is wrong with these. Nor does it
// look at parents before the end.
func sameReason(reason string, err error) bool {
	if errors.Is(err, cser.ErrMalformed) || errors.Is(err, ErrMalformedEvent) {
		return true
	}
	for _, known := range []error{cser.ErrMalformed, cser.ErrNotCanonical, cser.ErrTooLarge, ErrTooLowEpoch,
		ErrUnknownVersion, ErrUnknownTxType} {
		if reason == known.Error() {
			return errors.Is(err, known)
		}
	}
	return true
}

// sample returns the encoding of a random value of that kind, mostly damaged.
func sample(t *testing.T, random *rand.Rand, kind string) []byte {
	var v any
	switch kind {
	case "event":
		p := randomEvent(random, uint8(random.IntN(2)))
		if err := p.Seal(); err != nil {
			t.Fatal(err)
		}
		raw, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return damageBytes(random, raw)
	case "proofs":
		v = proofs()[:random.IntN(6)]
	case "bvs":
		bvs := signedBlockVotes()
		v = &bvs
	case "ev":
		ev := signedEpochVote()
		v = &ev
	case "block":
		v = randomBlock(random)
	case "epoch":
		v = &EpochRecord{randomStates(t, random), Epoch(random.Uint32())}
	case "pack":
		v = &EpochPack{[]SignedEpochVote{signedEpochVote()}[:random.IntN(2)], EpochRecord{randomStates(t, random), 5}}
	case "rules":
		v = &struct{ Rules Rules }{randomRules(random)}
	case "heights":
		v = []UpgradeHeight{{randomUpgrades(random), BlockNumber(random.Uint64())},
			{randomUpgrades(random), 3}}[:random.IntN(3)]
	}
	raw := encode(t, v)
	if random.IntN(2) == 0 {
		return damageBytes(random, raw)
	}
	tree, rest := parse(raw)
	if len(rest) > 0 {
		t.Fatalf("%x is more than an item", raw)
	}
	for range random.IntN(3) {
		tree.damage(random)
	}
	return tree.encode()
}

// damageBytes changes bytes now and then.
func damageBytes(random *rand.Rand, raw []byte) []byte {
	for range max(0, random.IntN(5)-1) {
		if len(raw) == 0 {
			break
		}
		at := random.IntN(len(raw))
		if random.IntN(3) == 0 {
			at = max(0, len(raw)-1-random.IntN(24)) // where a container has its bits
		}
		switch random.IntN(7) {
		case 0:
			raw = append(raw[:at:at], raw[at+1:]...)
		case 1:
			raw = append(raw[:at:at], append([]byte{byte(random.Uint32())}, raw[at:]...)...)
		case 2:
			raw[at] = byte(random.Uint32())
		case 3:
			raw[at] = 0
		case 4:
			raw[at] += byte(random.IntN(3)) - 1
		default:
			raw[at] ^= 1 << random.IntN(8)
		}
	}
	return raw
}

// item is a string or a list of RLP.
type item struct {
	text []byte
	list []*item
	ends bool // a list
}

// parse reads the first item of right RLP.
func parse(b []byte) (*item, []byte) {
	kind, content, rest, err := rlp.Split(b)
	if err != nil {
		panic(err)
	}
	if kind != rlp.List {
		return &item{text: content}, rest
	}
	it := &item{ends: true}
	for len(content) > 0 {
		var one *item
		one, content = parse(content)
		it.list = append(it.list, one)
	}
	return it, rest
}

func (it *item) encode() []byte {
	if !it.ends {
		b, err := rlp.EncodeToBytes(it.text)
		if err != nil {
			panic(err)
		}
		return b
	}
	raws := []rlp.RawValue{}
	for _, one := range it.list {
		raws = append(raws, one.encode())
	}
	b, err := rlp.EncodeToBytes(raws)
	if err != nil {
		panic(err)
	}
	return b
}

// damage changes something of an item or below it, so that it stays right RLP.
func (it *item) damage(random *rand.Rand) {
	if it.ends && len(it.list) > 0 && random.IntN(6) > 0 {
		it.list[random.IntN(len(it.list))].damage(random)
		return
	}
	if !it.ends {
		switch random.IntN(5) {
		case 0:
			it.text = []byte{byte(random.IntN(4))}
		case 1:
			it.text = nil
		case 2:
			*it = item{ends: true}
		default:
			it.text = damageBytes(random, append([]byte{}, it.text...))
		}
		return
	}
	if len(it.list) == 0 {
		it.list = append(it.list, &item{text: []byte{byte(random.IntN(200))}, ends: random.IntN(3) == 0})
		return
	}
	at := random.IntN(len(it.list))
	switch random.IntN(4) {
	case 0:
		it.list = append(it.list[:at:at], it.list[at+1:]...)
	case 1:
		twin, _ := parse(it.list[at].encode())
		it.list = append(it.list, twin)
	case 2:
		it.list[at] = &item{}
	default:
		it.list[at], it.list[0] = it.list[0], it.list[at]
	}
}

func randomBlock(random *rand.Rand) *BlockRecord {
	b := &BlockRecord{Number: BlockNumber(random.Uint64()),
		Block: BlockContent{Time: Timestamp(random.Uint64()), GasUsed: random.Uint64() >> random.IntN(64)}}
	for _, tx := range samples() {
		if random.IntN(2) == 0 {
			b.Block.Txs = append(b.Block.Txs, tx)
		}
	}
	for range random.IntN(4) {
		r := &types.ReceiptForStorage{Status: uint64(random.IntN(2)),
			CumulativeGasUsed: random.Uint64() >> random.IntN(64)}
		for range random.IntN(3) {
			r.Logs = append(r.Logs, &types.Log{Address: common.Address{byte(random.Uint32())},
				Topics: make([]common.Hash, random.IntN(5)), Data: make([]byte, random.IntN(70))})
		}
		b.Block.Receipts = append(b.Block.Receipts, r)
	}
	return b
}

func randomUpgrades(random *rand.Rand) Upgrades {
	return Upgrades{random.IntN(2) == 0, random.IntN(2) == 0, random.IntN(2) == 0}
}

func randomRules(random *rand.Rand) Rules {
	r := []Rules{DefaultRules("main", MainNetwork), FakeRules()}[random.IntN(2)]
	r.Upgrades = randomUpgrades(random)
	if random.IntN(2) == 0 {
		g := &r.Economy.Gas
		g.BlockVotesBaseGas, g.BlockVoteGas, g.EpochVoteGas, g.MisbehaviourProofGas = 0, 0, 0, random.Uint64N(2)
	}
	r.Economy.MinGasPrice = new(big.Int).Lsh(big.NewInt(random.Int64()), uint(random.IntN(300)))
	return r
}

// randomStates returns states of a few validators.
func randomStates(t *testing.T, random *rand.Rand) EpochContent {
	s := states(t)
	s.EpochState.Rules = randomRules(random)
	if random.IntN(2) == 0 {
		s.BlockState.DirtyRules = nil
	} else {
		rules := randomRules(random)
		s.BlockState.DirtyRules = &rules
	}
	profiles := Profiles{}
	for range random.IntN(5) {
		weight := new(big.Int).Lsh(big.NewInt(random.Int64N(1000)), uint(random.IntN(100)))
		profiles[ValidatorID(random.Uint32N(8))] = Profile{weight,
			PublicKey{uint8(random.Uint32()), make([]byte, random.IntN(70))}}
	}
	s.BlockState.NextProfiles = profiles
	return s
}
