package epoch

import (
	"math/big"
	"slices"
	"testing"

	"tarn/opera/inter"
)

const (
	start  = inter.Timestamp(1000e9) // of the epoch
	second = inter.Timestamp(1e9)
)

// validators are 5, 3 and 8, with the indexes 0, 1, 2.
func states(t testing.TB) (*inter.BlockState, *inter.EpochState) {
	t.Helper()
	profiles := inter.Profiles{
		5: {Weight: big.NewInt(30), PublicKey: inter.PublicKey{Type: inter.Secp256k1Key, Raw: []byte{5}}},
		3: {Weight: big.NewInt(20), PublicKey: inter.PublicKey{Type: inter.Secp256k1Key, Raw: []byte{3}}},
		8: {Weight: big.NewInt(10), PublicKey: inter.PublicKey{Type: inter.Secp256k1Key, Raw: []byte{8}}},
	}
	set, err := profiles.Validators()
	if err != nil {
		t.Fatal(err)
	}
	bs := &inter.BlockState{
		LastBlock:          inter.BlockInfo{Number: 100, Time: start + 10*second, Atropos: inter.EventID{9}},
		FinalizedStateRoot: [32]byte{7},
		NextProfiles:       profiles,
	}
	for range set.Len() {
		bs.ValidatorStates = append(bs.ValidatorStates, inter.ValidatorBlockState{
			LastBlock: 100, LastOnlineTime: start + 5*second, Uptime: 5 * second, Originated: big.NewInt(1000),
		})
	}
	return bs, &inter.EpochState{
		Epoch: 6, EpochStart: start, PrevEpochStart: start - 100*second, Validators: set,
		ValidatorStates: make([]inter.ValidatorEpochState, set.Len()), Profiles: profiles.Copy(),
		Rules: inter.FakeRules(),
	}
}

// atropos is an event with transactions, after the last block.
func atropos(creator inter.ValidatorID) Event {
	return Event{
		ID: inter.EventID{1, byte(creator)}, Creator: creator, Seq: 7, MedianTime: start + 12*second,
		GasPowerUsed: 50, GasPowerLeft: inter.GasPower{Gas: [2]uint64{11, 12}}, HasTxs: true,
	}
}

func begin(t testing.TB, bs *inter.BlockState, es *inter.EpochState, a Event, cheaters ...inter.ValidatorID) *Block {
	t.Helper()
	b := Begin(bs, es, a.ID, cheaters)
	b.Confirm(a)
	return b
}

func TestConfirmedEventsMakeValidatorsOnline(t *testing.T) {
	bs, es := states(t)
	before := bs.Hash()
	a := atropos(5)
	b := begin(t, bs, es, a)
	b.Confirm(Event{ID: inter.EventID{2}, Creator: 5, Seq: 6, MedianTime: start + 11*second, GasPowerUsed: 1})
	if b.Decide() {
		t.Error("skipped")
	}
	if want := (inter.BlockInfo{Number: 101, Time: a.MedianTime, Atropos: a.ID}); b.Info != want {
		t.Errorf("block %v, want %v", b.Info, want)
	}
	if b.State.EpochGas != 51 {
		t.Errorf("gas of the epoch: %d", b.State.EpochGas)
	}
	v := b.State.ValidatorStates[0]
	want := inter.EventInfo{ID: a.ID, GasPowerLeft: a.GasPowerLeft, Time: a.MedianTime}
	if v.LastEvent != want || v.LastBlock != 101 || v.LastOnlineTime != a.MedianTime ||
		v.LastGasPowerLeft != a.GasPowerLeft || v.Uptime != 12*second {
		t.Errorf("%+v", v)
	}
	if other := b.State.ValidatorStates[1]; other.LastBlock != 100 || other.Uptime != 5*second {
		t.Errorf("a validator without events: %+v", other)
	}
	if bs.Hash() != before {
		t.Error("the state before the block has changed")
	}
}

func TestUptimeNeedsTheSlackAndBeginsWithTheEpochSinceBerlin(t *testing.T) {
	for _, c := range []struct {
		what   string
		last   inter.BlockNumber
		online inter.Timestamp
		berlin bool
		want   inter.Timestamp
	}{
		{"just within the slack", 51, start + 5*second, true, 12 * second},
		{"a block beyond the slack", 50, start + 5*second, true, 5 * second},
		{"online before the epoch, Berlin", 100, start - 8*second, true, 17 * second},
		{"online before the epoch, before Berlin", 100, start - 8*second, false, 25 * second},
		{"later than the event", 100, start + 13*second, true, 5 * second},
	} {
		bs, es := states(t)
		es.Rules.Upgrades.Berlin = c.berlin
		bs.ValidatorStates[0].LastBlock, bs.ValidatorStates[0].LastOnlineTime = c.last, c.online
		b := begin(t, bs, es, atropos(5))
		b.Decide()
		v := b.State.ValidatorStates[0]
		if v.Uptime != c.want || v.LastOnlineTime != start+12*second || v.LastBlock != 101 {
			t.Errorf("%s: uptime %d, want %d; %+v", c.what, v.Uptime, c.want, v)
		}
	}
}

func TestBlocksAreSkipped(t *testing.T) {
	idle := atropos(5)
	idle.HasTxs = false
	late := idle
	late.MedianTime = start + 13*second // three seconds after the last block
	for _, c := range []struct {
		what    string
		event   Event
		applied bool
		found   []inter.ValidatorID
		prepare func(*inter.BlockState)
		want    bool
	}{
		{what: "transactions", event: atropos(5), applied: true},
		{what: "nothing", event: idle, applied: true, want: true},
		{what: "nothing, but it is time", event: late, applied: true},
		{what: "a cheater in this block", event: idle, applied: true, found: []inter.ValidatorID{3}},
		{what: "a cheater of a block before", event: idle, applied: true, want: true,
			prepare: func(s *inter.BlockState) { s.EpochCheaters = []inter.ValidatorID{3} }},
		{what: "a seal is due", event: idle, applied: true, want: true,
			prepare: func(s *inter.BlockState) { s.AdvanceEpochs = 2 }},
		{what: "an Atropos that was confirmed before", event: atropos(5), want: true},
	} {
		bs, es := states(t)
		if c.prepare != nil {
			c.prepare(bs)
		}
		b := Begin(bs, es, idle.ID, c.found)
		if !c.applied {
			c.event.ID = inter.EventID{77}
		}
		b.Confirm(c.event)
		if got := b.Decide(); got != c.want {
			t.Errorf("%s: skipped %v", c.what, got)
		}
		if b.State.EpochGas != 50 || b.State.LastBlock != bs.LastBlock {
			t.Errorf("%s: gas %d, last block %v", c.what, b.State.EpochGas, b.State.LastBlock)
		}
	}
}

func TestTimeAlwaysGoesOn(t *testing.T) {
	bs, es := states(t)
	last := bs.LastBlock.Time
	for _, median := range []inter.Timestamp{last - 1, last, last + 1} {
		a := atropos(5)
		a.MedianTime = median
		b := begin(t, bs, es, a)
		b.Decide()
		if b.Info.Time != last+1 {
			t.Errorf("an Atropos of %d after a block of %d gives %d", median, last, b.Info.Time)
		}
	}
	b := Begin(bs, es, inter.EventID{1}, nil)
	b.Confirm(Event{ID: inter.EventID{2}, Creator: 5, MedianTime: last + 500})
	if b.Decide(); b.Info.Time != last+1 {
		t.Errorf("without its Atropos a block of %d", b.Info.Time)
	}
}

func TestCheatersAreMergedInTheirOrderAndCountForNothing(t *testing.T) {
	bs, es := states(t)
	bs.EpochCheaters = []inter.ValidatorID{8}
	b := begin(t, bs, es, atropos(5), 3, 8)
	b.Confirm(Event{ID: inter.EventID{2}, Creator: 3, Seq: 1, MedianTime: start + 12*second})
	b.Accuse(9)
	b.Accuse(5)
	b.Accuse(9)
	b.Accuse(3)
	if b.Decide() || !b.Sealing() {
		t.Error("a block with a cheater is skipped, or seals nothing")
	}
	if want := []inter.ValidatorID{8, 3, 5, 9}; !slices.Equal(b.State.EpochCheaters, want) {
		t.Errorf("cheaters %v, want %v", b.State.EpochCheaters, want)
	}
	// Who is convicted by a proof in this block still counts as online in it.
	if b.State.ValidatorStates[0].LastBlock != 101 || b.State.ValidatorStates[1].LastBlock != 100 {
		t.Errorf("last blocks %d, %d", b.State.ValidatorStates[0].LastBlock, b.State.ValidatorStates[1].LastBlock)
	}
}

// go-opera looks a cheater's index up in a map, where one that is no validator any
// more has 0.
func TestAFormerValidatorThatCheatedHidesTheFirstValidator(t *testing.T) {
	bs, es := states(t)
	skipped := atropos(8)
	skipped.HasTxs = false
	b := begin(t, bs, es, skipped)
	b.Accuse(77)
	if !b.Decide() || !slices.Equal(b.State.EpochCheaters, []inter.ValidatorID{77}) {
		t.Fatalf("the block is not skipped, or has the cheaters %v", b.State.EpochCheaters)
	}
	b = begin(t, &b.State, es, atropos(5))
	b.Confirm(Event{ID: inter.EventID{2}, Creator: 3, Seq: 1, MedianTime: start + 12*second})
	b.Decide()
	if b.State.ValidatorStates[0].LastBlock != 100 || b.State.ValidatorStates[1].LastBlock != 101 {
		t.Errorf("last blocks %d, %d, want 100, 101",
			b.State.ValidatorStates[0].LastBlock, b.State.ValidatorStates[1].LastBlock)
	}
}

func TestEpochsEnd(t *testing.T) {
	for _, c := range []struct {
		what    string
		prepare func(*inter.BlockState, *inter.EpochState)
		want    bool
	}{
		{"nothing", func(*inter.BlockState, *inter.EpochState) {}, false},
		{"gas, just", func(b *inter.BlockState, e *inter.EpochState) { b.EpochGas = e.Rules.Epochs.MaxEpochGas - 50 }, true},
		{"gas, just not", func(b *inter.BlockState, e *inter.EpochState) { b.EpochGas = e.Rules.Epochs.MaxEpochGas - 51 }, false},
		{"time, just", func(_ *inter.BlockState, e *inter.EpochState) { e.Rules.Epochs.MaxEpochDuration = 12 * second }, true},
		{"time, just not", func(_ *inter.BlockState, e *inter.EpochState) { e.Rules.Epochs.MaxEpochDuration = 12*second + 1 }, false},
		{"asked", func(b *inter.BlockState, _ *inter.EpochState) { b.AdvanceEpochs = 1 }, true},
		{"a cheater", func(b *inter.BlockState, _ *inter.EpochState) { b.EpochCheaters = []inter.ValidatorID{3} }, true},
	} {
		bs, es := states(t)
		c.prepare(bs, es)
		b := begin(t, bs, es, atropos(5))
		b.Decide()
		if b.Sealing() != c.want {
			t.Errorf("%s: sealing %v", c.what, b.Sealing())
		}
	}
}

func TestTheOldestEventsAreSpilled(t *testing.T) {
	for _, c := range []struct {
		used  []uint64
		limit uint64
		want  int
	}{
		{nil, 0, 0}, {[]uint64{5, 5, 5}, 15, 0}, {[]uint64{5, 5, 5}, 14, 1}, {[]uint64{5, 5, 5}, 10, 1},
		{[]uint64{5, 5, 5}, 4, 3},
		// One that does not fit takes all older ones with it.
		{[]uint64{1, 20, 5}, 10, 2},
	} {
		if got := Spill(c.used, c.limit); got != c.want {
			t.Errorf("%v within %d: from %d, want %d", c.used, c.limit, got, c.want)
		}
	}
}
