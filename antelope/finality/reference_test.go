package finality

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// told is what Spring's deep-mind log says of a block that has a finality extension.
type told struct {
	block     types.SignedBlock
	extension types.FinalityExtension
	features  []types.Checksum256
	data      finalityData
	packed    []byte // data
	policy    []byte // of the active finalizers
	proposers types.ProposerPolicy
}

// finalityData is what Spring gives to indexers.
type finalityData struct {
	active              uint32
	actions, reversible types.Checksum256
	claimed             uint32
	claimedDigest       types.Checksum256
	claimedTime         types.BlockTimestamp
	base                types.Checksum256
	becamePending       bool
	lastPending         uint32
}

func (d *finalityData) read(t *testing.T, b []byte) {
	t.Helper()
	r := serial.NewReader(b)
	if major, minor := r.Uint32(), r.Uint32(); major != 1 || minor != 0 {
		t.Fatalf("finality data of version %d.%d", major, minor)
	}
	d.active = r.Uint32()
	d.actions.Read(r)
	d.reversible.Read(r)
	d.claimed = r.Uint32()
	d.claimedDigest.Read(r)
	d.claimedTime.Read(r)
	d.base.Read(r)
	if d.becamePending = r.Bool(); d.becamePending {
		r.Uint32()
		r.Uint64()
		for range r.Count(1) {
			_, _, _ = r.String(), r.Uint64(), r.String()
		}
	}
	d.lastPending = r.Uint32()
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
}

// extensions reads what a header says of finality and of features.
func extensions(t *testing.T, h *types.BlockHeader) (e types.FinalityExtension, features []types.Checksum256) {
	t.Helper()
	for _, x := range h.Extensions {
		r := serial.NewReader(x.Data)
		switch x.Type {
		case types.HeaderFinality:
			e.Read(r)
			if !bytes.Equal(e.Append(nil), x.Data) {
				t.Errorf("the finality extension of block %d is encoded otherwise", h.BlockNum())
			}
		case types.HeaderProtocolFeatures:
			features = types.ReadChecksums(r)
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return e, features
}

// before is what counts of a header state of the rules before Savanna.
type before struct {
	ActiveSchedule *types.ProducerSchedule
	Activated      *feature.Active
}

// read reads the whole header state, which package consensus has types for.
func (b *before) read(r *serial.Reader) {
	r.Raw(3 * 4) // numbers of blocks
	b.ActiveSchedule = new(types.ProducerSchedule)
	b.ActiveSchedule.Read(r)
	types.ReadChecksums(r) // of the tree of blocks
	r.Uint64()
	for range 2 { // numbers of blocks by producer
		r.Raw(12 * r.Count(12))
	}
	new(types.BlockSigningAuthority).Read(r)
	r.Bytes() // confirmations
	r.Raw(32)
	new(types.SignedBlockHeader).Read(r)
	r.Raw(4 + 32)
	new(types.ProducerSchedule).Read(r)
	if r.Bool() {
		b.Activated = feature.ReadActive(r)
	}
}

// deepMind reads Spring's log: the header state of the last block before the genesis block, and
// what it says of the blocks from then on.
func deepMind(t *testing.T) (*before, []told) {
	t.Helper()
	var legacy *before
	var list []told
	for line := range strings.Lines(string(refdata.Read(t, "savanna/deep-mind.log.gz"))) {
		f := strings.Fields(line)
		raw := func(i int) []byte {
			b, err := hex.DecodeString(f[i])
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		switch f[1] {
		case "ACCEPTED_BLOCK":
			legacy = new(before)
			if legacy.read(serial.NewReader(raw(3))); len(legacy.ActiveSchedule.Producers) == 0 {
				t.Fatal("a header state without producers")
			}
		case "ACCEPTED_BLOCK_V2":
			var x told
			if err := types.Decode(raw(5), &x.block); err != nil {
				t.Fatal(err)
			}
			x.extension, x.features = extensions(t, &x.block.BlockHeader)
			x.packed, x.policy = raw(6), raw(8)
			x.data.read(t, x.packed)
			if err := types.Decode(raw(7), &x.proposers); err != nil {
				t.Fatal(err)
			}
			list = append(list, x)
		}
	}
	if legacy == nil || len(list) < 30 {
		t.Fatalf("%d blocks", len(list))
	}
	return legacy, list
}

// From the headers alone follow all digests and roots, policies and claims that Spring tells of its
// blocks, the change of rules and a change of producers among them.
func TestHeadersLeadToSpringsDigests(t *testing.T) {
	legacy, list := deepMind(t)
	var s *State
	var v Validation
	for i := range list {
		x := &list[i]
		h := &x.block.BlockHeader
		if i == 0 {
			features, err := legacy.Activated.With(x.features)
			if err != nil {
				t.Fatal(err)
			}
			if s, err = Genesis(h, legacy.ActiveSchedule, &x.extension, State{Activated: features}); err != nil {
				t.Fatal(err)
			}
			v = GenesisValidation(s, x.data.actions)
		} else {
			if root, ok := v.RootFor(s, x.extension.Claim); s.IsProper() && (!ok || root != h.ActionMRoot) {
				t.Errorf("block %d commits to %s, want %s", h.BlockNum(), h.ActionMRoot, root)
			}
			if p := s.ProducerAt(h.Timestamp); p.Producer != h.Producer {
				t.Errorf("block %d is to be made by %s, and is by %s", h.BlockNum(), p.Producer, h.Producer)
			}
			n, err := s.Next(h, &x.extension, x.features)
			if err != nil {
				t.Fatalf("block %d: %v", h.BlockNum(), err)
			}
			v = v.With(s, n, x.data.actions)
			s = n
		}
		claim := s.Core.Claim()
		got := finalityData{
			active: s.Finalizers.Generation, actions: x.data.actions, reversible: s.Core.Reversible(),
			claimed: claim.Block, base: s.Base(), becamePending: i == 0 ||
				s.Pending != nil && s.Pending.Block == s.Num(), lastPending: s.lastPending().Generation,
		}
		if r := s.Core.Ref(claim.Block); r != nil {
			got.claimedDigest, got.claimedTime = r.Finality, r.Time
		}
		if !bytes.Equal(s.AppendData(nil, x.data.actions), x.packed) ||
			!bytes.Equal(AppendPolicyText(s.Finalizers, nil), x.policy) {
			t.Errorf("block %d is told to indexers in another way", h.BlockNum())
		}
		if got != x.data {
			t.Errorf("block %d: %+v, want %+v", s.Num(), got, x.data)
		}
		if s.Proposers.Proposed != x.proposers.Proposed || !s.Proposers.Schedule.Equal(&x.proposers.Schedule) {
			t.Errorf("block %d: producers %+v, want %+v", s.Num(), s.Proposers, x.proposers)
		}
		var again State
		if err := types.Decode(s.Append(nil), &again); err != nil || again.Digest() != s.Digest() ||
			!bytes.Equal(again.Append(nil), s.Append(nil)) {
			t.Errorf("block %d: the state is read as another, %v", s.Num(), err)
		}
	}
	if got := s.Digest().String(); got != "7bfe575530aa678902651d4dfd56655b337ccdcc75262b5ebb57b0a082dc4872" {
		t.Errorf("the last finality digest is %s", got)
	}
	if got := v.Root().String(); got != "46ee1398c435f291421119661037a43da0b1031a0503c9d8628029a31b1b0aa2" {
		t.Errorf("the last validation root is %s", got)
	}
}

// A state whose next producers would be none is no state: whoever asked for the next producer would
// divide by zero.
func TestAStateWithoutProducersToComeIsRefused(t *testing.T) {
	legacy, list := deepMind(t)
	s, err := Genesis(&list[0].block.BlockHeader, legacy.ActiveSchedule, &list[0].extension,
		State{Activated: legacy.Activated})
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(s *State){
		"active":   func(s *State) { s.Proposers = new(types.ProposerPolicy) },
		"proposed": func(s *State) { s.ProposedProposers = new(types.ProposerPolicy) },
		"pending":  func(s *State) { s.PendingProposers = new(types.ProposerPolicy) },
	} {
		bad := *s
		spoil(&bad)
		if err := types.Decode(bad.Append(nil), new(State)); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
	all := types.ListDiff[types.ProducerAuthority]{}
	for i := range s.Proposers.Schedule.Producers {
		all.Removed = append(all.Removed, uint16(i))
	}
	h := list[1].block.BlockHeader
	e := types.FinalityExtension{Claim: s.Core.Claim(), Proposers: &types.ProposerPolicyDiff{Producers: all}}
	if _, err := s.Next(&h, &e, nil); err == nil {
		t.Error("a header takes all producers away")
	}
}
