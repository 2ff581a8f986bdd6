package finality

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// blsKeys are keys of their own for so many finalizers.
func blsKeys(n int) (private []*crypto.BLSPrivateKey, p *types.FinalizerPolicy) {
	p = &types.FinalizerPolicy{Generation: 1, Threshold: uint64(n*2/3 + 1)}
	for i := range n {
		k := crypto.NewBLSPrivateKey([32]byte{byte(i + 1)})
		private = append(private, k)
		p.Finalizers = append(p.Finalizers, types.Finalizer{Weight: 1, Key: k.Public()})
	}
	return private, p
}

// Sums are those of the set that is asked for, whether it is remembered or not.
func TestSumsOfSignersAreThoseOfTheSet(t *testing.T) {
	_, a := blsKeys(7)
	b := &types.FinalizerPolicy{Finalizers: append([]types.Finalizer{}, a.Finalizers[1:]...)}
	sets := new(known)
	for range 2 {
		for _, p := range []*types.FinalizerPolicy{a, b} {
			for word := range 1 << len(b.Finalizers) { // twice as many as are remembered
				var set []int
				var keys []types.BLSPublicKey
				for i := range b.Finalizers {
					if word>>i&1 != 0 {
						set, keys = append(set, i), append(keys, p.Finalizers[i].Key)
					}
				}
				bits := types.NewBitset(len(p.Finalizers), set...)
				want, _ := crypto.SumBLSKeys(keys)
				if got, ok := sets.sum(p, bits); !ok || got != want {
					t.Fatalf("the sum of %b is %v, %t, want %v", word, got, ok, want)
				}
				if got, ok := sets.sum(p, bits); !ok || got != want {
					t.Fatalf("the remembered sum of %b is %v, %t, want %v", word, got, ok, want)
				}
			}
		}
	}
	if n := len(sets.sums); n != maxSignerSets {
		t.Errorf("%d sets are remembered, not %d", n, maxSignerSets)
	}
}

// A set keeps no policy in memory: others may make many large ones.
func TestSetsOfSignersKeepNoPolicy(t *testing.T) {
	sets := new(known)
	gone := make(chan bool)
	func() {
		_, p := blsKeys(3)
		runtime.AddCleanup(p, func(c chan bool) { close(c) }, gone)
		if _, ok := sets.sum(p, types.NewBitset(3, 0, 2)); !ok {
			t.Fatal("no sum")
		}
	}()
	for {
		runtime.GC()
		select {
		case <-gone:
			if len(sets.sums) != 1 {
				t.Error("nothing was remembered")
			}
			return
		default:
		}
	}
}

// Points are those of the message that is asked for, by its digest and by its kind, whoever asks at the same time.
func TestMessagesAreThoseAskedFor(t *testing.T) {
	k := new(known)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 2 * maxMessages {
				m := message{block: types.Checksum256{byte(i / 2)}, strong: i%2 == 0}
				if got := k.message(m); i%16 < 2 && got != crypto.NewBLSMessage(m.text()) {
					t.Errorf("%+v is another message", m)
				}
			}
		})
	}
	all.Wait()
	if len(k.messages) != maxMessages || len(k.order) != maxMessages {
		t.Errorf("%d messages are remembered, in an order of %d", len(k.messages), len(k.order))
	}
	strong, weak := message{strong: true}, message{}
	if string(strong.text())+"WEAK" != string(weak.text()) {
		t.Errorf("%x, %x", strong.text(), weak.text())
	}
}

// Of votes that are verified together the good ones are found, whatever the others are.
func TestGoodVotesAreFoundAmongOthers(t *testing.T) {
	private, policy := blsKeys(6)
	a := &Aggregate{digest: types.Hash([]byte("a block")), active: newVotes(policy), known: new(known)}
	cast := func(i int, strong bool) *Vote {
		m := message{a.digest, strong}
		s, err := private[i].Sign(m.text())
		if err != nil {
			t.Fatal(err)
		}
		return &Vote{Strong: strong, Key: policy.Finalizers[i].Key, Signature: s}
	}
	for range 20 {
		var list, want []*Vote
		for i := range private {
			x := cast(i, rand.IntN(2) == 0)
			switch rand.IntN(4) {
			case 0:
				x.Signature = cast((i+1)%len(private), x.Strong).Signature
			case 1:
				x.Strong = !x.Strong
			default:
				want = append(want, x)
			}
			list = append(list, x)
		}
		got := a.Verify(list)
		for _, x := range list {
			if slices.Contains(got, x) != slices.Contains(want, x) {
				t.Fatalf("%d votes are good, not %d", len(got), len(want))
			}
		}
	}
}

// BenchmarkCertificate verifies those of 21 finalizers, of a block after the other. New tells what it takes if
// no set of signers was seen before; "votes before" if votes for the block were verified, as of a node that gets them.
func BenchmarkCertificate(b *testing.B) {
	private, policy := blsKeys(21)
	qc := &types.QuorumCertificate{Block: 1}
	p := Policies{Finality: types.Hash([]byte("a block")), Active: policy}
	var voters []int
	for i, k := range private {
		s, err := k.Sign(p.Finality[:])
		if err != nil {
			b.Fatal(err)
		}
		qc.Active.Signature, _ = crypto.BLSAdd(qc.Active.Signature, s)
		voters = append(voters, i)
	}
	qc.Active.Strong = types.NewBitset(len(voters), voters...)
	run := func(name string, forget func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				forget()
				if err := p.Verify(qc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("signers=new", func() {})
	p.known = new(known)
	run("signers=as before", func() { p.known.messages, p.known.order = nil, nil })
	run("signers=as before, votes before", func() {})
}
