package consensus

import (
	"slices"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

func key(t *testing.T, n byte) (crypto.PrivateKey, types.PublicKey) {
	t.Helper()
	private, err := crypto.NewPrivateKey(types.K1, [32]byte{31: n})
	if err != nil {
		t.Fatal(err)
	}
	return private, private.Public()
}

// weightedSchedule is a schedule of one producer that signs with two of three keys.
func weightedSchedule(t *testing.T, version uint32) *types.ProducerSchedule {
	t.Helper()
	var a types.BlockSigningAuthority
	a.Threshold = 3
	for i, weight := range []uint16{2, 1, 1} {
		_, public := key(t, byte(i+1))
		a.Keys = append(a.Keys, types.KeyWeight{Key: public, Weight: weight})
	}
	return &types.ProducerSchedule{Version: version,
		Producers: []types.ProducerAuthority{{Producer: types.N("wt"), Authority: a}}}
}

func TestWeightedSignaturesCountOnceTheFeatureIsActive(t *testing.T) {
	n := newNode(t)
	n.produceMany(3)
	n.proposal, n.proposedIn = weightedSchedule(t, 1), 1
	p, err := n.head.Next(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Header(&Content{Schedule: n.proposal}, n.set); !exception.Is(err, exception.ProducerSchedule) {
		t.Fatalf("a weighted schedule without the feature: %v", err)
	}
	proposal := n.proposal
	n.proposal = nil
	wtmsig, _ := n.set.Digest(feature.WTMSIGBlockSignatures)
	sender, _ := n.set.Digest(feature.GetSender)
	n.produce(1, wtmsig, sender)
	if got := n.head.Activations(); len(got) != 2 || got[0] != wtmsig {
		t.Fatalf("activations %v", got)
	}
	if !n.head.IsActive(n.set, feature.WTMSIGBlockSignatures) || !n.head.IsActive(n.set, feature.GetSender) {
		t.Fatal("the features are not active")
	}
	n.proposal = proposal
	n.produce(1)
	if h := n.head.Header; h.NewProducers != nil || len(h.Extensions) != 1 ||
		h.Extensions[0].Type != types.HeaderScheduleChange {
		t.Fatalf("header %+v", h)
	}
	if n.head.Pending.Hash != proposal.Hash() {
		t.Error("hash of the pending schedule")
	}
	for n.head.ActiveSchedule.Version != 1 {
		n.produce(1)
	}
	legacy := n.head.Header
	legacy.Previous, legacy.Timestamp, legacy.Producer, legacy.ScheduleVersion = n.head.ID, legacy.Timestamp+
		1, types.N("wt"), 1
	legacy.Confirmed, legacy.NewProducers = 0, &types.LegacySchedule{Version: 2}
	if _, err := n.head.Follow(&legacy, nil, n.set, nil); !exception.Is(err, exception.ProducerSchedule) {
		t.Errorf("a legacy schedule after the feature: %v", err)
	}
	signWeighted(t, n)
}

// signWeighted signs a block with what is enough and what is not.
func signWeighted(t *testing.T, n *node) {
	t.Helper()
	one, _ := key(t, 1)
	two, _ := key(t, 2)
	three, _ := key(t, 3)
	foreign, _ := key(t, 4)
	p, err := n.head.Next(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sign Signer
		kind *exception.Kind
		more int
	}{
		"nobody":            {signer(), exception.NoBlockSignatures, 0},
		"two of three":      {signer(two, one), nil, 1},
		"all three":         {signer(three, two, one), nil, 2},
		"not enough weight": {signer(three, two), exception.WrongSigningKey, 0},
		"one key twice":     {signer(one, one), exception.WrongSigningKey, 0},
		"a foreign key":     {signer(one, foreign), exception.WrongSigningKey, 0},
		"one to spare":      {signer(one, two, foreign), exception.WrongSigningKey, 0},
		"too many":          {signer(one, two, three, foreign), exception.WrongSigningKey, 0},
	} {
		b := new(types.SignedBlock)
		if b.SignedBlockHeader, err = p.Header(&Content{}, n.set); err != nil {
			t.Fatal(err)
		}
		s, err := SignBlock(p, b, nil, n.set, c.sign, recoverKey)
		if c.kind != nil {
			if !exception.Is(err, c.kind) {
				t.Errorf("%s: %v, want %s", name, err, c.kind.Name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if more, err := b.ExtractExtensions(); err != nil || len(more.Signatures) != c.more {
			t.Errorf("%s: %d signatures in the extension, want %d: %v", name, len(more.Signatures), c.more, err)
		}
		got, err := NewBlockState(n.head.HeaderState, b, n.set, recoverKey)
		if err != nil || string(got.HeaderState.Append(nil)) != string(s.HeaderState.Append(nil)) {
			t.Errorf("%s: a node that receives the block: %v", name, err)
		}
		var decoded HeaderState
		if err := types.Decode(s.HeaderState.Append(nil), &decoded); err != nil ||
			!slices.Equal(decoded.AdditionalSignatures, s.AdditionalSignatures) {
			t.Errorf("%s: signatures of the encoding: %v", name, err)
		}
		b.Extensions = nil
		if _, err := NewBlockState(n.head.HeaderState, b, n.set, recoverKey); !exception.Is(err,
			exception.WrongSigningKey) {
			t.Errorf("%s: without the further signatures: %v", name, err)
		}
	}
}

func TestASecondSignatureNeedsTheFeature(t *testing.T) {
	n := newNode(t)
	n.produceMany(2)
	p, err := n.head.Next(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	one, first := key(t, 1)
	two, second := key(t, 2)
	p.Authority = &types.BlockSigningAuthority{Threshold: 2,
		Keys: []types.KeyWeight{{Key: first, Weight: 1}, {Key: second, Weight: 1}}}
	h, err := p.Header(&Content{}, n.set)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.FinishSigned(&h, n.set, signer(one, two), recoverKey); !exception.Is(err,
		exception.ProducerSchedule) {
		t.Errorf("two signatures: %v", err)
	}
}
