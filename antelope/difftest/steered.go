package difftest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// steered is the ground of a controller that makes the blocks that it is told to
// make: their times, who produces, what is confirmed, which delayed transactions
// run and in which order, and what other transactions are billed are chosen here, by
// the seed. Its time of work has nothing to do with the clock: it is what pauses
// add up to.
type steered struct {
	*Controller
	rand *rand.Rand
	keys map[types.PublicKey]crypto.PrivateKey // that blocks are signed with

	clock    time.Duration // of work
	ends     time.Duration // when the block that is being made does
	jumps    jumps
	pending  bool
	time     types.TimePoint // of the block that is being made, or of the head
	slot     slot            // whose it is
	late     bool            // whether delayed transactions run at its end
	activity []string        // features of the next block
	head     types.Checksum256
	num, lib uint32
	last     map[types.Name]uint32 // block that each producer made last
	hashes   map[uint32]string     // integrity hash by block
	outcomes map[string]int        // of delayed transactions
}

// jumps are the chances, in a thousand, that some slots, hours, days or months are
// left out before a block.
type jumps struct{ slots, hours, days, months int }

// anyJumps is one of a chain's ways with time, from none at all to months.
func anyJumps(r *rand.Rand, leaps bool) jumps {
	ways := []jumps{{}, {slots: 200}, {slots: 300, hours: 60, days: 10}, {slots: 100, hours: 50, days: 40, months: 15}}
	if leaps {
		ways = ways[2:]
	}
	return ways[r.IntN(len(ways))]
}

// workBlock is the most work time that a block takes.
const workBlock = 160 * time.Millisecond

const slotLength = types.TimePoint(500_000)

// steer opens a new chain with the genesis in the controller's folder.
func (c *Controller) steer(g *types.Genesis, seed uint64, leaps bool) (*steered, error) {
	s := &steered{Controller: c, rand: rand.New(rand.NewPCG(seed, 2)), keys: map[types.PublicKey]crypto.PrivateKey{},
		time: g.InitialTimestamp, num: 1, lib: 1, last: map[types.Name]uint32{}, hashes: map[uint32]string{},
		outcomes: map[string]int{}}
	s.jumps = anyJumps(s.rand, leaps)
	var id string
	if err := s.call(&id, "open", filepath.Join(c.dir, "data"), json.RawMessage(genesisJSON(g)), 1<<30); err != nil {
		return nil, err
	}
	if want := g.ChainID().String(); id != want {
		return nil, fmt.Errorf("the controller's chain is %s, not %s", id, want)
	}
	return s, nil
}

// sign lets blocks be signed with a key.
func (s *steered) sign(k crypto.PrivateKey) { s.keys[k.Public()] = k }

// step is how long after the head's the next block's time is, in slots.
func (s *steered) step() types.TimePoint {
	n := s.rand.IntN(1000)
	for _, j := range []struct {
		chance int
		slots  int64 // that are left out at most
	}{{s.jumps.months, 180 * 86400 * 2}, {s.jumps.days, 30 * 86400 * 2}, {s.jumps.hours, 24 * 3600 * 2},
		{s.jumps.slots, 30}} {
		if n -= j.chance; n < 0 {
			return types.TimePoint(2 + s.rand.Int64N(j.slots))
		}
	}
	return 1
}

// begin starts the next block, so many slots after the head: in the first one from
// there whose producer's keys are known.
func (s *steered) begin(slots types.TimePoint, confirm bool) error {
	at := s.time + slots*slotLength
	for tries := 0; ; tries++ {
		var err error
		if s.slot, err = s.slotAt(at); err != nil {
			return err
		}
		if len(s.signers(true)) > 0 {
			break
		}
		if tries == 5000 {
			return fmt.Errorf("after block %d: no producer's keys are known", s.num)
		}
		at += slotLength
	}
	features := s.activity
	if features == nil {
		features = []string{}
	}
	since := max(s.last[s.slot.Producer], s.lib)
	confirmed := uint32(0)
	if confirm && s.num > since {
		confirmed = min(s.num-since, 65535)
	}
	err := s.call(nil, "start", int64(at)/1000, confirmed, features)
	var refused *Refusal
	if errors.As(err, &refused) && refused.Name == "producer_double_confirm" {
		err = s.call(nil, "start", int64(at)/1000, 0, features)
	}
	if err != nil {
		return fmt.Errorf("block after %d at %s: %w", s.num, at, err)
	}
	s.activity, s.pending, s.time, s.late = nil, true, at, s.rand.IntN(2) == 0
	if !s.late {
		return s.executeDelayed()
	}
	return nil
}

// signers are keys that satisfy the slot's authority, in any number that does; nil if
// they are not known. least takes the first that are enough.
func (s *steered) signers(least bool) (keys []string) {
	var weight uint32
	order := s.rand.Perm(len(s.slot.Authority.Keys))
	for i := range order {
		if least {
			order[i] = i
		}
		w := s.slot.Authority.Keys[order[i]]
		k, ok := s.keys[w.Key]
		if !ok || weight >= s.slot.Authority.Threshold && (least || s.rand.IntN(2) == 0) {
			continue
		}
		keys, weight = append(keys, k.Text()), weight+uint32(w.Weight)
	}
	if weight < s.slot.Authority.Threshold {
		return nil
	}
	return keys
}

// executeDelayed executes generated transactions whose time has come: in any order, and now
// and then only some.
func (s *steered) executeDelayed() error {
	var ids []string
	if err := s.call(&ids, "due", int64(s.time)); err != nil {
		return err
	}
	s.rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:min(len(ids), []int{0, 1, 5, 50, 200, 200}[s.rand.IntN(6)])]
	for _, id := range ids {
		var status string
		err := s.call(&status, "scheduled", id, s.billedTime())
		var refused *Refusal
		switch {
		case errors.As(err, &refused):
			status = refused.Name
		case err != nil:
			return err
		}
		s.outcomes[status]++
	}
	return nil
}

// billedTime is what a transaction is billed: mostly little.
func (s *steered) billedTime() uint32 {
	switch s.rand.IntN(20) {
	case 0:
		return uint32(s.rand.IntN(150)) // the least is 100
	case 1, 2:
		return uint32(100 + s.rand.IntN(5000))
	case 3:
		return uint32(100 + s.rand.IntN(60_000))
	}
	return uint32(100 + s.rand.IntN(400))
}

// end finishes the block, and takes the hash of some.
func (s *steered) end() error {
	if s.late {
		if err := s.executeDelayed(); err != nil {
			return err
		}
	}
	var head [3]json.RawMessage
	if err := s.call(&head, "finish", s.signers(false)); err != nil {
		return fmt.Errorf("block after %d: %w", s.num, err)
	}
	var id string
	if err := errors.Join(json.Unmarshal(head[0], &s.num), json.Unmarshal(head[1], &id),
		json.Unmarshal(head[2], &s.lib)); err != nil {
		return err
	}
	var err error
	if s.head, err = types.ParseChecksum256(id); err != nil {
		return err
	}
	s.pending, s.last[s.slot.Producer] = false, s.num
	if s.rand.IntN(20) == 0 {
		return s.takeHash()
	}
	return nil
}

func (s *steered) takeHash() error {
	var hash string
	if err := s.call(&hash, "hash"); err != nil {
		return err
	}
	s.hashes[s.num] = hash
	return nil
}

// block makes what is left of a block and begins the next.
func (s *steered) block() error {
	if err := s.end(); err != nil {
		return err
	}
	return s.begin(s.step(), s.rand.IntN(12) > 0)
}

// settle notes the head and its hash, and makes blocks until that is irreversible,
// each by another producer.
func (s *steered) settle(ctx context.Context, m *Manifest) error {
	if s.pending {
		if err := s.end(); err != nil {
			return err
		}
	}
	if err := s.takeHash(); err != nil {
		return err
	}
	m.HeadNum, m.HeadID, m.IntegrityHash = s.num, s.head.String(), s.hashes[s.num]
	for head := s.num; s.lib < head; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.num > head+1000 {
			return fmt.Errorf("block %d is not irreversible at block %d: at %d", head, s.num, s.lib)
		}
		if err := s.begin(12, true); err != nil {
			return err
		}
		if err := s.end(); err != nil {
			return err
		}
	}
	return nil
}

// pass lets work time go by, and blocks with it.
func (s *steered) pass(d time.Duration) error {
	for s.clock += d; s.clock >= s.ends; {
		s.ends += time.Duration(s.rand.Int64N(int64(workBlock)))
		if err := s.block(); err != nil {
			return err
		}
	}
	return nil
}

func (s *steered) push(ctx context.Context, p *types.PackedTransaction, billed uint32) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if billed == 0 {
		billed = s.billedTime()
	}
	err := s.call(nil, "push", hex.EncodeToString(p.Append(nil)), billed)
	var refused *Refusal
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	if passed := s.pass(time.Millisecond); passed != nil {
		return nil, passed
	}
	return nil, err
}

func (s *steered) reference(context.Context) (types.Checksum256, error) { return s.head, nil }

func (s *steered) blocks(_ context.Context, n uint32) error {
	for range n {
		if err := s.end(); err != nil {
			return err
		}
		if err := s.begin(1, true); err != nil {
			return err
		}
	}
	return nil
}

func (s *steered) requiredKeys(_ context.Context, t *types.Transaction, keys []string) (list []string, err error) {
	return list, s.call(&list, "required", transactionJSON(t), keys)
}

// features are those that nodeos 4.1 has as standard.
func (s *steered) features(context.Context) ([]Feature, error) {
	set, err := feature.Builtins()
	if err != nil {
		return nil, err
	}
	var list []Feature
	for _, f := range set.All() {
		x := Feature{Digest: f.Digest.String()}
		for _, d := range f.Dependencies {
			x.Dependencies = append(x.Dependencies, d.String())
		}
		x.Specification = append(x.Specification, struct{ Name, Value string }{"builtin_feature_codename",
			f.Codename.String()})
		list = append(list, x)
	}
	return list, nil
}

func (s *steered) activate(_ context.Context, digests ...string) error {
	s.activity = append(s.activity, digests...)
	return nil
}

func (s *steered) now() time.Time              { return time.Unix(0, 0).Add(s.clock) }
func (s *steered) chainTime() time.Time        { return s.time.Time() }
func (s *steered) pause(d time.Duration) error { return s.pass(d) }

func (s *steered) leap(d time.Duration) error {
	if err := s.end(); err != nil {
		return err
	}
	return s.begin(max(1, types.TimePoint(d.Microseconds())/slotLength), true)
}
