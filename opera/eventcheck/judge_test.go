package eventcheck

import (
	"crypto/ecdsa"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/internal/refimpl"
	"tarn/opera/inter"
)

var (
	seedFlag   = flag.Uint64("eventcheck.seed", 1, "seed of the random events")
	judgedFlag = flag.Int("eventcheck.judged", 30, "networks of random events, a hundred each, that go-opera checks")
)

const present = inter.Epoch(40_000) // of the events that are checked

// forgiven are epochs for which nobody answers any more, or just so.
var forgiven = []inter.Epoch{present - liable - 1, present - liable}

// planet is a network with random rules, validators and past.
type planet struct {
	random     *rand.Rand
	state      *inter.EpochState
	past       map[inter.Epoch]Beginning
	signatures *Signatures
	keys       map[string]*ecdsa.PrivateKey // by the public key
	parents    []*inter.Payload
}

func newPlanet(t *testing.T, random *rand.Rand) *planet {
	t.Helper()
	p := &planet{random: random, past: map[inter.Epoch]Beginning{}, keys: map[string]*ecdsa.PrivateKey{}}
	profiles := inter.Profiles{}
	for id := inter.ValidatorID(1); id <= 4; id++ {
		profiles[id] = inter.Profile{Weight: big.NewInt(1 + random.Int64N(1<<random.IntN(40))), PublicKey: p.newKey(t)}
	}
	for epoch := present - 5; epoch <= present; epoch++ {
		if random.IntN(3) == 0 {
			profiles = profiles.Copy()
			id := inter.ValidatorID(1 + random.IntN(4))
			profiles[id] = inter.Profile{Weight: profiles[1].Weight, PublicKey: p.newKey(t)}
		}
		if random.IntN(6) > 0 || epoch == present {
			// As they come back from a record: without those whose weight is nothing beside others.
			var recorded inter.Profiles
			if err := rlp.DecodeBytes(encode(t, profiles), &recorded); err != nil {
				t.Fatal(err)
			}
			p.past[epoch] = Beginning{LastBlock: inter.BlockNumber(100 * (epoch - present + 5)), Profiles: recorded}
		}
	}
	profiles = p.past[present].Profiles
	for _, epoch := range forgiven {
		p.past[epoch] = p.past[present]
	}
	validators, err := profiles.Validators()
	if err != nil {
		t.Fatal(err)
	}
	rules := inter.FakeRules()
	rules.Upgrades = inter.Upgrades{Berlin: random.IntN(4) > 0, London: random.IntN(4) > 0, Llr: random.IntN(4) > 0}
	rules.Dag.MaxParents = inter.DefaultRules("", 0).Dag.MaxParents >> random.IntN(4)
	rules.Dag.MaxFreeParents = uint32(random.IntN(4))
	for _, power := range []*inter.GasPowerRules{&rules.Economy.ShortGasPower, &rules.Economy.LongGasPower} {
		*power = inter.GasPowerRules{AllocPerSec: random.Uint64() >> random.IntN(64), MaxAllocPeriod: p.time(),
			StartupAllocPeriod: p.time(), MinStartupGas: random.Uint64N(1e8)}
	}
	p.state = &inter.EpochState{Epoch: present, EpochStart: 1000 * second, Validators: validators,
		Profiles: profiles, Rules: rules}
	for range validators.Len() {
		v := inter.ValidatorEpochState{GasRefund: random.Uint64N(1e7)}
		if random.IntN(2) == 0 {
			v.PrevEpochEvent = inter.EventInfo{ID: inter.EventID{1},
				GasPowerLeft: inter.GasPower{Gas: [2]uint64{random.Uint64N(1e9), random.Uint64N(1e9)}},
				Time:         990*second + p.time()%(20*second)}
		}
		p.state.ValidatorStates = append(p.state.ValidatorStates, v)
	}
	p.signatures = &Signatures{
		Epoch: present, Profiles: profiles, Signer: types.NewLondonSigner(new(big.Int).SetUint64(rules.NetworkID)),
		Past: func(e inter.Epoch) (Beginning, bool) { b, ok := p.past[e]; return b, ok },
	}
	for i := range 3 {
		parent := &inter.Payload{Event: inter.Event{
			Version: 1, Epoch: present, Seq: inter.Seq(3 + random.IntN(2)), Frame: 1,
			Lamport: inter.Lamport(5 + random.IntN(3)), Creator: inter.ValidatorID(1 + i), CreationTime: 1010*second +
				inter.Timestamp(i), MedianTime: 1009 * second,
			GasPowerLeft: inter.GasPower{Gas: [2]uint64{random.Uint64N(1e8), random.Uint64N(1e8)}},
		}}
		if err := parent.Seal(); err != nil {
			t.Fatal(err)
		}
		p.parents = append(p.parents, parent)
	}
	return p
}

func (p *planet) time() inter.Timestamp {
	return inter.Timestamp(p.random.Uint64() >> (10 + p.random.IntN(54)))
}

// newKey returns a key, rarely one of a form that is of no use.
func (p *planet) newKey(t *testing.T) inter.PublicKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte{byte(p.random.Uint32()), byte(p.random.Uint32())}))
	if err != nil {
		t.Fatal(err)
	}
	public := inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)}
	switch p.random.IntN(30) {
	case 0:
		public.Type = 1
	case 1:
		public.Raw = crypto.CompressPubkey(&key.PublicKey)
	case 2:
		public.Raw[0] = 6 + public.Raw[64]&1
	case 3:
		public.Raw[9]++
	case 4:
		public.Raw = []byte{}
	}
	p.keys[public.String()] = key
	return public
}

// questions tell the judge of the network.
func (p *planet) questions(t *testing.T) []string {
	q := []string{"past 0", fmt.Sprintf("state %x", encode(t, p.state))}
	for epoch, b := range p.past {
		q = append(q, fmt.Sprintf("past %d %d %x", epoch, b.LastBlock, encode(t, b.Profiles)))
	}
	return q
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// transaction returns a random one, mostly right.
func (p *planet) transaction(t *testing.T) *types.Transaction {
	r := p.random
	chain, price, gas := new(big.Int).Set(p.signatures.Signer.ChainID()), big.NewInt(1e9+r.Int64N(1e9)), uint64(21_000+
		r.IntN(60_000))
	if r.IntN(20) == 0 {
		chain.SetInt64(1 + int64(r.IntN(3)))
	}
	if r.IntN(20) == 0 {
		price.SetInt64(1e9 - int64(r.IntN(2)))
	}
	to, data := &common.Address{}, make([]byte, r.IntN(8)*r.IntN(100))
	if r.IntN(6) == 0 {
		to = nil
	}
	for i := range data {
		data[i] = byte(r.IntN(3))
	}
	list := types.AccessList{{Address: common.Address{1}, StorageKeys: make([]common.Hash, r.IntN(3))}}[:r.IntN(2)]
	var inner types.TxData
	switch r.IntN(3) {
	case 0:
		inner = &types.LegacyTx{GasPrice: price, Gas: gas, To: to, Data: data}
	case 1:
		inner = &types.AccessListTx{ChainID: chain, GasPrice: price, Gas: gas, To: to, Data: data, AccessList: list}
	case 2:
		inner = &types.DynamicFeeTx{ChainID: chain, GasTipCap: big.NewInt(r.Int64N(12e8)), GasFeeCap: price, Gas: gas,
			To: to, Data: data, AccessList: list}
	}
	if r.IntN(10) == 0 {
		return types.NewTx(inner)
	}
	var signer types.Signer = types.NewLondonSigner(chain)
	if r.IntN(5) == 0 {
		signer = types.NewEIP155Signer(chain)
	}
	if _, plain := inner.(*types.LegacyTx); plain && r.IntN(3) == 0 {
		signer = types.HomesteadSigner{}
	}
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("sender")))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := types.SignNewTx(key, signer, inner)
	if err != nil {
		return types.NewTx(inner)
	}
	return tx
}

// sign signs an event with the key that its creator had in an epoch.
func (p *planet) sign(t *testing.T, e *inter.Payload, epoch inter.Epoch) {
	if err := e.Seal(); err != nil {
		return // it cannot be encoded either
	}
	key := p.keys[p.past[epoch].Profiles[e.Creator].PublicKey.String()]
	if key == nil {
		return
	}
	hash := e.SigningHash()
	sig, err := crypto.Sign(hash[:], key)
	if err != nil {
		t.Fatal(err)
	}
	copy(e.Signature[:], sig)
	if p.random.IntN(40) == 0 {
		// The other one of the two that fit.
		s := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(sig[32:64]))
		s.FillBytes(e.Signature[32:])
	}
}

// voter returns an event of the past with votes, signed with the key of an epoch.
func (p *planet) voter(t *testing.T, creator inter.ValidatorID, epoch inter.Epoch) *inter.Payload {
	r := p.random
	e := &inter.Payload{Event: inter.Event{
		Version: 1, Epoch: present - inter.Epoch(r.IntN(3)), Seq: 3, Frame: 1, Lamport: 9, Creator: creator,
		Extra: []byte{byte(r.IntN(3))},
	}}
	e.EpochVote = inter.EpochVote{Epoch: epoch + 1, Vote: [32]byte{byte(1 + r.IntN(2))}}
	e.BlockVotes = inter.BlockVotes{Start: p.past[epoch].LastBlock + 1 + inter.BlockNumber(r.IntN(3)), Epoch: epoch,
		Votes: [][32]byte{{byte(1 + r.IntN(2))}, {3}, {4}}}
	if r.IntN(8) == 0 {
		e.BlockVotes.Start = p.past[epoch].LastBlock + votable - 4 + inter.BlockNumber(r.IntN(4))
	}
	p.sign(t, e, epoch)
	return e
}

// proof returns a random proof that is right now and then.
func (p *planet) proof(t *testing.T) (m inter.MisbehaviourProof) {
	r := p.random
	epoch := present - inter.Epoch(r.IntN(4))
	if r.IntN(6) == 0 {
		epoch = forgiven[r.IntN(2)]
	}
	a := inter.ValidatorID(1 + r.IntN(4))
	kind := r.IntN(5)
	b := a
	if kind == 2 || kind == 4 {
		b = 1 + a%4
	}
	x, y := p.voter(t, a, epoch), p.voter(t, b, epoch)
	block := x.BlockVotes.Start + inter.BlockNumber(r.IntN(3))
	switch kind {
	case 0:
		x.Epoch, y.Epoch = epoch, epoch
		p.sign(t, x, epoch)
		p.sign(t, y, epoch)
		m.EventsDoublesign = &inter.EventsDoublesign{Pair: [2]inter.SignedLocator{x.Locator(), y.Locator()}}
	case 1:
		m.BlockVoteDoublesign = &inter.BlockVoteDoublesign{Block: block,
			Pair: [2]inter.SignedBlockVotes{x.SignedBlockVotes(), y.SignedBlockVotes()}}
	case 2:
		m.WrongBlockVote = &inter.WrongBlockVote{Block: block, WrongEpoch: r.IntN(2) == 0,
			Pals: [2]inter.SignedBlockVotes{x.SignedBlockVotes(), y.SignedBlockVotes()}}
	case 3:
		m.EpochVoteDoublesign = &inter.EpochVoteDoublesign{Pair: [2]inter.SignedEpochVote{x.SignedEpochVote(),
			y.SignedEpochVote()}}
	case 4:
		m.WrongEpochVote = &inter.WrongEpochVote{Pals: [2]inter.SignedEpochVote{x.SignedEpochVote(),
			y.SignedEpochVote()}}
	}
	return m
}

// event returns a random event, often right, with its parents.
func (p *planet) event(t *testing.T) (*inter.Payload, []*inter.Payload) {
	r := p.random
	parents := append([]*inter.Payload{}, p.parents...)
	r.Shuffle(len(parents), func(i, j int) { parents[i], parents[j] = parents[j], parents[i] })
	parents = parents[:r.IntN(4)]
	e := &inter.Payload{Event: inter.Event{Epoch: present, Seq: 1, Frame: 1, Lamport: 1, Creator: 4,
		CreationTime: 1012 * second, MedianTime: 1008*second + p.time()%(4*second)}}
	if p.state.Rules.Upgrades.Llr {
		e.Version = 1
	}
	if len(parents) > 0 && r.IntN(3) > 0 {
		e.Creator, e.Seq = parents[0].Creator, parents[0].Seq+1
	}
	for _, one := range parents {
		e.Parents = append(e.Parents, one.ID())
		e.Lamport = max(e.Lamport, one.Lamport+1)
	}
	for range r.IntN(4) * r.IntN(2) {
		e.Txs = append(e.Txs, p.transaction(t))
	}
	if e.Version > 0 {
		for range r.IntN(3) * r.IntN(2) {
			e.Proofs = append(e.Proofs, p.proof(t))
		}
		from := p.voter(t, e.Creator, present-inter.Epoch(r.IntN(5)))
		if r.IntN(4) == 0 {
			e.EpochVote = from.EpochVote
		}
		if r.IntN(4) == 0 {
			e.BlockVotes = from.BlockVotes
		}
	}
	var self *inter.Event
	if _, ok := e.SelfParent(); ok {
		self = &parents[0].Event
	}
	p.stretch(e)
	for range r.IntN(3) * r.IntN(2) {
		mutate(r, reflect.ValueOf(e).Elem())
	}
	if r.IntN(8) > 0 {
		e.GasPowerUsed = GasUsed(e, &p.state.Rules)
		if power, err := NewEpoch(p.state).GasPower(&e.Event, self); err == nil {
			e.GasPowerLeft = power.Sub(e.GasPowerUsed)
		}
	}
	p.sign(t, e, present)
	if r.IntN(8) == 0 {
		mutate(r, reflect.ValueOf(e).Elem())
	}
	return e, parents
}

// stretch makes something of an event too long or too many, or just not, now and then.
func (p *planet) stretch(e *inter.Payload) {
	r := p.random
	switch r.IntN(20) {
	case 0:
		e.Extra = make([]byte, 127+r.IntN(3))
	case 1:
		if len(e.BlockVotes.Votes) > 0 {
			e.BlockVotes.Votes = append(e.BlockVotes.Votes, make([][32]byte, 60+r.IntN(3))...)
		}
	case 2:
		if n := len(e.Parents); n > 0 {
			e.Parents[n-1] = e.Parents[0]
		}
	case 3:
		if n := len(e.Proofs); n > 0 {
			e.Proofs[n-1].EventsDoublesign = e.Proofs[0].EventsDoublesign
			e.Proofs[n-1].WrongEpochVote = e.Proofs[0].WrongEpochVote
		}
	}
}

// mutate changes one number, byte or truth somewhere in a value.
func mutate(random *rand.Rand, v reflect.Value) {
	var leaves []reflect.Value
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		case reflect.Array, reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Pointer {
				return // transactions do not change
			}
			for i := range v.Len() {
				walk(v.Index(i))
			}
			if v.Len() > 8 && v.Type().Elem().Kind() == reflect.Uint8 {
				leaves = leaves[:len(leaves)-v.Len()+1] // one byte of a hash will do
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Bool, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			leaves = append(leaves, v)
		}
	}
	walk(v)
	leaf := leaves[random.IntN(len(leaves))]
	if leaf.Kind() == reflect.Bool {
		leaf.SetBool(!leaf.Bool())
		return
	}
	numbers := []uint64{
		0, 0, 1, leaf.Uint() - 1, leaf.Uint() + 1, leaf.Uint() + 1, inter.MaxNumber - 1, inter.MaxNumber, 1<<32 - 1,
		1<<62 - 2, 1<<62 - 1, 1<<63 - 3, 1<<63 - 2, 1<<64 - 1, leaf.Uint() + votable,
		leaf.Uint() - liable, leaf.Uint() - 1 - liable,
	}
	leaf.SetUint(numbers[random.IntN(len(numbers))] & (1<<leaf.Type().Bits() - 1))
}

// TestGoOperaChecksTheSame lets go-opera check random events, and compares what each of its
// checks says with what ours does.
func TestGoOperaChecksTheSame(t *testing.T) {
	original := refimpl.Start(t, "../../refimpl/opera")
	said := map[string]int{}
	for i := range *judgedFlag {
		seed := *seedFlag + uint64(i)
		p := newPlanet(t, rand.New(rand.NewPCG(seed, 0)))
		questions := p.questions(t)
		known := len(questions)
		var ours []string
		for range 100 {
			e, parents := p.event(t)
			raw, err := e.Encode()
			if err != nil {
				continue
			}
			question := fmt.Sprintf("check %x", raw)
			for _, parent := range parents {
				raw, err := parent.Encode()
				if err != nil {
					t.Fatal(err)
				}
				question += fmt.Sprintf(" %x", raw)
			}
			questions, ours = append(questions, question), append(ours, p.check(raw, parents))
			q, a := p.vote(t)
			questions, ours = append(questions, q), append(ours, a)
		}
		answers := original.Ask(questions)
		for i, want := range answers[known:] {
			if agree(want, ours[i], said) {
				continue
			}
			t.Fatalf(
				"go-opera differs: go test -run %s ./opera/eventcheck -eventcheck.seed=%d "+
					"-eventcheck.judged=1\n%s\n%s\nhere:     %s\ngo-opera: %s",
				t.Name(), seed, strings.Join(questions[:known], "\n"), questions[known+i], ours[i], want)
		}
	}
	for saying, n := range said {
		t.Logf("%6d %s", n, saying)
	}
}

// agree compares what the checks say, as far as an event comes: the first that refuses it
// is the last that counts, and the order of checks is basic, epoch, then the others.
func agree(theirs, ours string, said map[string]int) bool {
	a, b := strings.Split(theirs, "; "), strings.Split(ours, "; ")
	if strings.HasPrefix(theirs, "refused") || strings.HasPrefix(ours, "refused") {
		return strings.HasPrefix(theirs, "refused") == strings.HasPrefix(ours, "refused")
	}
	for i := range a {
		said[a[i]]++
		if a[i] != b[i] {
			return false
		}
		if a[i] != "<nil>" && (i < 2 || len(a) == 2) {
			return true
		}
	}
	return true
}

// check returns what our checks say of an event.
func (p *planet) check(raw []byte, parents []*inter.Payload) string {
	e, err := inter.DecodePayload(raw)
	if err != nil {
		return "refused " + err.Error()
	}
	headers := make([]*inter.Event, len(parents))
	for i := range parents {
		headers[i] = &parents[i].Event
	}
	epoch := NewEpoch(p.state)
	said := []error{Basic(e), epoch.Check(e)}
	if said[0] == nil && said[1] == nil && len(e.Parents) == len(parents) {
		var self *inter.Event
		if _, ok := e.SelfParent(); ok {
			self = headers[0]
		}
		said = append(said, Parents(&e.Event, headers), epoch.CheckGasPower(&e.Event, self), p.signatures.Event(e, Ahead{}))
	}
	words := make([]string, len(said))
	for i := range said {
		words[i] = fmt.Sprint(said[i])
	}
	return strings.Join(words, "; ")
}

// vote returns a question about votes that came alone, and our answer.
func (p *planet) vote(t *testing.T) (question, answer string) {
	from := p.voter(t, inter.ValidatorID(1+p.random.IntN(5)), present-inter.Epoch(p.random.IntN(6)))
	if p.random.IntN(2) == 0 {
		v := from.SignedBlockVotes()
		for range p.random.IntN(3) {
			mutate(p.random, reflect.ValueOf(&v).Elem())
		}
		return fmt.Sprintf("checkbvs %x", encode(t, &v)), fmt.Sprintf("%v; %v",
			BlockVotes(&v), p.signatures.BlockVotes(&v))
	}
	v := from.SignedEpochVote()
	for range p.random.IntN(3) {
		mutate(p.random, reflect.ValueOf(&v).Elem())
	}
	return fmt.Sprintf("checkev %x", encode(t, &v)), fmt.Sprintf("%v; %v", EpochVote(&v), p.signatures.EpochVote(&v))
}
