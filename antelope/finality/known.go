package finality

import (
	"sync"
	weakref "weak"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// maxSignerSets is how many sets of finalizers are remembered: those of one block, each alone as it votes and
// together in a certificate, of networks with twice as many finalizers as any has.
const maxSignerSets = 64

// maxMessages is how many messages are remembered as points: more than there are blocks whose votes and certificates
// come at one time.
const maxMessages = 64

// known remembers what verifications of votes and certificates have in common: the sums of the keys of finalizers who
// sign together, which the same ones do block after block, and messages as points, as a certificate signs what the
// votes before it did. All states that follow a state share it. Any goroutine may use it; nil remembers nothing.
type known struct {
	mu       sync.Mutex
	sums     map[signerSet]crypto.BLSKeySum
	messages map[message]func() crypto.BLSMessage
	order    []message // of messages, oldest first
}

// message is what finalizers sign, by a block's digest.
type message struct {
	block  types.Checksum256
	strong bool
}

// text is what is signed.
func (m *message) text() []byte {
	if m.strong {
		return m.block[:]
	}
	return WeakMessage(m.block)
}

// message is a message as a point. Who asks first makes it, and others wait for that.
func (k *known) message(m message) crypto.BLSMessage {
	if k == nil {
		return crypto.NewBLSMessage(m.text())
	}
	return k.promise(m)()
}

// promise remembers a message that is about to be made, and forgets the oldest one if there are too many.
func (k *known) promise(m message) func() crypto.BLSMessage {
	k.mu.Lock()
	defer k.mu.Unlock()
	if made, ok := k.messages[m]; ok {
		return made
	}
	if k.messages == nil {
		k.messages = make(map[message]func() crypto.BLSMessage, maxMessages)
	}
	if len(k.order) == maxMessages {
		delete(k.messages, k.order[0])
		k.order = append(k.order[:0], k.order[1:]...)
	}
	made := sync.OnceValue(func() crypto.BLSMessage { return crypto.NewBLSMessage(m.text()) })
	k.messages[m], k.order = made, append(k.order, m)
	return made
}

// signerSet are finalizers of a policy. It keeps no policy in memory: a block that nobody builds on may propose one
// of megabytes.
type signerSet struct {
	policy weakref.Pointer[types.FinalizerPolicy]
	bits   types.Checksum256
}

// sum is that of the keys whose bits are set; false as [crypto.SumBLSKeys] tells it.
func (k *known) sum(p *types.FinalizerPolicy, bits *types.Bitset) (crypto.BLSKeySum, bool) {
	if k == nil {
		return crypto.SumBLSKeys(keysOf(p, bits))
	}
	set := signerSet{weakref.Make(p), bits.Digest()}
	if sum, ok := k.find(set); ok {
		return sum, true
	}
	sum, ok := crypto.SumBLSKeys(keysOf(p, bits))
	if ok {
		k.remember(set, sum)
	}
	return sum, ok
}

func (k *known) find(set signerSet) (sum crypto.BLSKeySum, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	sum, ok = k.sums[set]
	return sum, ok
}

// remember forgets another set, any of them, if there are too many.
func (k *known) remember(set signerSet, sum crypto.BLSKeySum) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sums == nil {
		k.sums = make(map[signerSet]crypto.BLSKeySum, maxSignerSets)
	}
	for other := range k.sums {
		if len(k.sums) < maxSignerSets {
			break
		}
		delete(k.sums, other)
	}
	k.sums[set] = sum
}

// keysOf are the keys whose bits are set.
func keysOf(p *types.FinalizerPolicy, b *types.Bitset) []types.BLSPublicKey {
	keys := make([]types.BLSPublicKey, 0, b.Count())
	for i := range p.Finalizers {
		if b.Has(i) {
			keys = append(keys, p.Finalizers[i].Key)
		}
	}
	return keys
}
