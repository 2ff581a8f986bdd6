package types_test

import (
	"bytes"
	"strings"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

func key(b byte) types.PublicKey { return types.PublicKey{Point: [33]byte{2, b}} }

func TestKeysAreOrderedAsNodeosOrdersThem(t *testing.T) {
	ordered := []types.PublicKey{
		{Type: types.K1, Point: [33]byte{2}},
		{Type: types.K1, Point: [33]byte{0xff}},
		{Type: types.R1, Point: [33]byte{1}},
		{Type: types.WebAuthn, Point: [33]byte{1}, UserPresence: 1, RPID: "zz"},
		{Type: types.WebAuthn, Point: [33]byte{1}, UserPresence: 2, RPID: "a"},
		{Type: types.WebAuthn, Point: [33]byte{1}, UserPresence: 2, RPID: "aa"},
		{Type: types.WebAuthn, Point: [33]byte{1}, UserPresence: 2, RPID: "b"}, // shorter, and still after
		{Type: types.WebAuthn, Point: [33]byte{2}, RPID: "a"},
	}
	for i, k := range ordered {
		for j, o := range ordered {
			want := min(1, max(-1, i-j))
			if got := k.Compare(o); got != want {
				t.Errorf("%d compares with %d as %d, want %d", i, j, got, want)
			}
		}
	}
}

func TestAuthoritiesAreValidByTheRulesOfNodeos(t *testing.T) {
	level := func(actor string) types.PermissionLevel {
		return types.PermissionLevel{Actor: types.N(actor), Permission: types.N("active")}
	}
	for _, v := range []struct {
		name  string
		auth  types.Authority
		valid bool
	}{
		{"one key", types.KeyAuthority(key(1)), true},
		{"nothing", types.Authority{}, false},
		{"threshold 0", types.Authority{Keys: []types.KeyWeight{{Key: key(1), Weight: 1}}}, false},
		{"out of reach", types.Authority{Threshold: 3, Keys: []types.KeyWeight{{Key: key(1), Weight: 1}},
			Waits: []types.WaitWeight{{WaitSec: 1, Weight: 1}}}, false},
		{"all together", types.Authority{Threshold: 3, Keys: []types.KeyWeight{{Key: key(1), Weight: 1}},
			Accounts: []types.PermissionLevelWeight{{Permission: level("a"), Weight: 1}},
			Waits:    []types.WaitWeight{{WaitSec: 1, Weight: 1}}}, true},
		{"keys in order", types.Authority{Threshold: 2, Keys: []types.KeyWeight{{Key: key(1), Weight: 1}, {Key: key(2), Weight: 1}}}, true},
		{"keys out of order", types.Authority{Threshold: 2, Keys: []types.KeyWeight{{Key: key(2), Weight: 1}, {Key: key(1), Weight: 1}}}, false},
		{"key twice", types.Authority{Threshold: 2, Keys: []types.KeyWeight{{Key: key(1), Weight: 1}, {Key: key(1), Weight: 2}}}, false},
		{"account twice", types.Authority{Threshold: 1,
			Accounts: []types.PermissionLevelWeight{{Permission: level("a"), Weight: 1},
				{Permission: level("a"), Weight: 2}}}, false},
		{"accounts out of order",
			types.Authority{Threshold: 1,
				Accounts: []types.PermissionLevelWeight{{Permission: level("b"), Weight: 1},
					{Permission: level("a"), Weight: 2}}}, false},
		{"wait of 0", types.Authority{Threshold: 1, Waits: []types.WaitWeight{{WaitSec: 0, Weight: 1}}}, false},
		{"wait twice", types.Authority{Threshold: 1, Waits: []types.WaitWeight{{WaitSec: 1, Weight: 1}, {WaitSec: 1, Weight: 1}}}, false},
	} {
		if got := v.auth.Valid(); got != v.valid {
			t.Errorf("%s: valid is %v", v.name, got)
		}
		var back types.Authority
		if err := types.Decode(v.auth.Append(nil), &back); err != nil || !back.Equal(v.auth) {
			t.Errorf("%s came back as %v, %v", v.name, back, err)
		}
		back.Sort()
	}
	many := types.Authority{Threshold: 1}
	for i := range 1<<16 + 1 {
		many.Waits = append(many.Waits, types.WaitWeight{WaitSec: uint32(i + 1), Weight: 1})
	}
	if many.Valid() {
		t.Error("65537 waits are valid")
	}
	many.Waits = many.Waits[1:]
	if !many.Valid() {
		t.Error("65536 waits are not valid")
	}
}

func TestAuthoritiesAreBilledByTheirEntries(t *testing.T) {
	wa := func(rpid int) types.KeyWeight {
		return types.KeyWeight{Key: types.PublicKey{Type: types.WebAuthn, RPID: strings.Repeat("r", rpid)}}
	}
	// A WebAuthn key is 33 bytes of point, one of presence, the length of the relying
	// party and its name; all that has a length before it in a permission.
	for _, c := range []struct {
		name string
		auth types.Authority
		want int64
	}{
		{"nothing", types.Authority{}, 0},
		{"a K1 key", types.Authority{Keys: []types.KeyWeight{{Key: key(1)}}}, 16 + 34},
		{"accounts and waits", types.Authority{Accounts: make([]types.PermissionLevelWeight, 2), Waits: make([]types.WaitWeight, 3)}, 2*32 + 3*16},
		{"a WebAuthn key", types.Authority{Keys: []types.KeyWeight{wa(12)}}, 16 + 1 + 1 + 33 + 1 + 1 + 12},
		{"one of 127 bytes", types.Authority{Keys: []types.KeyWeight{wa(92)}}, 16 + 1 + 1 + 127},
		{"one of 128 bytes", types.Authority{Keys: []types.KeyWeight{wa(93)}}, 16 + 1 + 2 + 128},
		{"one of a long name", types.Authority{Keys: []types.KeyWeight{wa(200)}}, 16 + 1 + 2 + 33 + 1 + 2 + 200},
		{"one of 16384 bytes", types.Authority{Keys: []types.KeyWeight{wa(16384 - 37 + 1)}}, 16 + 1 + 3 + 16384},
		{"several", types.Authority{Keys: []types.KeyWeight{{Key: key(1)}, wa(12), wa(93)}}, 3*16 + 34 + 49 + 131},
	} {
		if got := c.auth.BillableSize(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

func TestTransactionIDsAndDigests(t *testing.T) {
	trx := &types.Transaction{}
	trx.Expiration, trx.RefBlockNum, trx.RefBlockPrefix = 5, 6, 7
	trx.Actions = []types.Action{{Account: types.N("a")},
		{Account: types.N("b"), Authorization: []types.PermissionLevel{{Actor: types.N("actor")}}, Data: []byte{1}}}
	if trx.FirstAuthorizer() != types.N("actor") || (&types.Transaction{}).FirstAuthorizer() != 0 {
		t.Errorf("first authorizer %s", trx.FirstAuthorizer())
	}
	raw := trx.Append(nil)
	if trx.ID() != types.Hash(raw) {
		t.Error("the id is not the hash")
	}
	chain := types.Checksum256{9}
	if got, want := trx.SigningDigest(chain, nil), types.Hash(append(append(chain[:], raw...),
		make([]byte, 32)...)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	data := [][]byte{{1, 2}, {}}
	inner := types.Hash([]byte{2, 2, 1, 2, 0})
	if got, want := trx.SigningDigest(chain, data), types.Hash(append(append(chain[:], raw...),
		inner[:]...)); got != want {
		t.Errorf("digest with data %s, want %s", got, want)
	}
	a := &trx.Actions[1]
	if a.Digest() != types.Hash(a.Append(nil)) || a.Size() != len(a.Append(nil)) {
		t.Error("digest or size of an action")
	}
	base, rest := types.Hash(a.Append(nil)[:len(a.Append(nil))-2]), types.Hash([]byte{1, 1, 2, 8, 9})
	if got, want := a.DigestWithReturn([]byte{8, 9}), types.Hash(append(base[:], rest[:]...)); got != want {
		t.Errorf("digest with return value %s, want %s", got, want)
	}
	trx.MaxNetUsageWords = (1<<32 - 1) / 8
	checkError(t, trx.Validate(), exception.Transaction,
		"declared max_net_usage_words overflows when expanded to max net usage")
	trx.MaxNetUsageWords--
	if err := trx.Validate(); err != nil {
		t.Error(err)
	}
	id := types.Checksum256{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	trx.SetRefBlock(id)
	if trx.RefBlockNum != 0x0203 || trx.RefBlockPrefix != 0x0b0a0908 || !trx.VerifyRefBlock(id) ||
		trx.VerifyRefBlock(chain) {
		t.Errorf("reference %x %x", trx.RefBlockNum, trx.RefBlockPrefix)
	}
}

func TestPackedTransactionsUnpackWithinTheirLimits(t *testing.T) {
	trx := &types.Transaction{Actions: []types.Action{{Data: make([]byte, 1000)}}}
	for _, compression := range []types.Compression{types.CompressionNone, types.CompressionZlib} {
		p, err := types.Pack(trx, []types.Signature{{}}, [][]byte{{7}}, compression)
		if err != nil {
			t.Fatal(err)
		}
		got, data, err := p.Unpack()
		if err != nil || got.ID() != trx.ID() || len(data) != 1 || data[0][0] != 7 {
			t.Errorf("compression %s: %v, %v, %v", compression, got, data, err)
		}
		if size, err := p.UnprunableSize(); err != nil || int(size) != 16+len(p.PackedTrx) {
			t.Errorf("unprunable size %d, %v", size, err)
		}
		if size, err := p.PrunableSize(); err != nil || int(size) != 1+66+len(p.PackedContextFreeData) {
			t.Errorf("prunable size %d, %v", size, err)
		}
		prunable := types.Hash(append(append(append([]byte{1}, types.Signature{}.Append(nil)...),
			byte(len(p.PackedContextFreeData))), p.PackedContextFreeData...))
		want := types.Hash(append(serial.AppendBytes([]byte{byte(compression)}, p.PackedTrx), prunable[:]...))
		if got := p.Digest(); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
		p.PackedTrx = append(p.PackedTrx, 0, 1, 2) // ignored by nodeos
		if got, _, err = p.Unpack(); err != nil || got.ID() != trx.ID() {
			t.Errorf("with more behind it: %v", err)
		}
		p.PackedTrx = p.PackedTrx[:len(p.PackedTrx)/2]
		if _, _, err = p.Unpack(); err == nil {
			t.Error("half a transaction unpacks")
		}
	}
	// As eosjs packs it: nothing, deflated.
	p, err := types.Pack(trx, nil, nil, types.CompressionZlib)
	if err != nil {
		t.Fatal(err)
	}
	p.PackedContextFreeData = []byte{0x78, 0xda, 0x03, 0, 0, 0, 0, 1}
	if got, data, err := p.Unpack(); err != nil || got.ID() != trx.ID() || data != nil {
		t.Errorf("with no context-free data, deflated: %v, %v, %v", got, data, err)
	}
	bomb, err := types.Pack(&types.Transaction{Actions: []types.Action{{Data: make([]byte, 1<<20)}}}, nil, nil,
		types.CompressionZlib)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = bomb.Unpack()
	checkError(t, err, exception.TxDecompressionError, "Exceeded maximum decompressed transaction size")
	bomb.Compression = 2
	_, _, err = bomb.Unpack()
	checkError(t, err, exception.UnknownTransactionCompression, "Unknown transaction compression algorithm")
	bomb.Compression, bomb.PackedTrx = types.CompressionZlib, nil
	_, _, err = bomb.Unpack()
	checkError(t, err, exception.FCUnhandled, "internal decompression error")
	_, err = types.Pack(trx, nil, nil, 2)
	checkError(t, err, exception.UnknownTransactionCompression, "Unknown transaction compression algorithm")
}

func TestExtensionsFollowTheirRules(t *testing.T) {
	features := types.AppendChecksums(nil, []types.Checksum256{{1}, {2}})
	schedule := (&types.ProducerSchedule{Version: 3}).Append(nil)
	header := func(x ...types.Extension) *types.BlockHeader { return &types.BlockHeader{Extensions: x} }
	got, err := header(types.Extension{Type: 0, Data: features},
		types.Extension{Type: 1, Data: schedule}).ExtractExtensions()
	if err != nil || len(got.ProtocolFeatures) != 2 || got.ScheduleChange == nil || got.ScheduleChange.Version != 3 {
		t.Errorf("%v, %v", got, err)
	}
	for _, v := range []struct {
		h       *types.BlockHeader
		kind    *exception.Kind
		message string
	}{
		{header(types.Extension{Type: 1, Data: schedule}, types.Extension{Type: 0, Data: features}),
			exception.InvalidBlockHeaderExtension,
			"Block header extensions are not in the correct order (ascending id types required)"},
		{header(types.Extension{Type: 0, Data: features}, types.Extension{Type: 0, Data: features}),
			exception.InvalidBlockHeaderExtension, "Block header extension with id type 0 is not allowed to repeat"},
		{header(types.Extension{Type: 3}), exception.InvalidBlockHeaderExtension,
			"Block header extension with id type 3 is not supported"},
		{header(types.Extension{Type: 0, Data: []byte{0}}), exception.IllFormedProtocolFeatureActivation,
			"Protocol feature activation extension must have at least one protocol feature digest"},
		{header(types.Extension{Type: 0, Data: types.AppendChecksums(nil, []types.Checksum256{{}, {}})}),
			exception.IllFormedProtocolFeatureActivation,
			"Protocol feature digest " + types.Checksum256{}.String() +
				" was repeated in the protocol feature activation extension"},
	} {
		_, err := v.h.ExtractExtensions()
		checkError(t, err, v.kind, v.message)
	}
	sig := types.Signature{}
	block := func(list ...types.Signature) *types.SignedBlock {
		return &types.SignedBlock{Extensions: types.Extensions{{Type: types.BlockMoreSignatures,
			Data: types.AppendSignatures(nil, list)}}}
	}
	if list, err := block(sig).ExtractExtensions(); err != nil || len(list.Signatures) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	_, err = block().ExtractExtensions()
	checkError(t, err, exception.IllFormedAdditionalBlockSignaturesExtension,
		"Additional block signatures extension must contain at least one signature")
	_, err = block(sig, sig).ExtractExtensions()
	checkError(t, err, exception.IllFormedAdditionalBlockSignaturesExtension, "Signature "+sig.String()+
		" was repeated in the additional block signatures extension")
	trx := &types.Transaction{Extensions: types.Extensions{{Data: types.GenerationContext{Sender: 5}.Append(nil)}}}
	if g, err := trx.ExtractExtensions(); err != nil || g == nil || g.Sender != 5 {
		t.Errorf("%v, %v", g, err)
	}
	trx.Extensions[0].Data = types.GenerationContext{}.Append(nil)
	_, err = trx.ExtractExtensions()
	checkError(t, err, exception.IllFormedDeferredTransactionGenerationContext,
		"Deferred transaction generation context extension must have a non-empty sender account")
	var x types.Extensions
	for _, typ := range []uint16{5, 1, 5, 3} {
		x = x.Insert(typ, []byte{byte(len(x))})
	}
	if got := x.Append(nil); !bytes.Equal(got, []byte{4, 1, 0, 1, 1, 3, 0, 1, 3, 5, 0, 1, 0, 5, 0, 1, 2}) {
		t.Errorf("inserted %x", got)
	}
}

func TestBlockSigningAuthoritiesCountKeysOnce(t *testing.T) {
	a := types.BlockSigningAuthority{Threshold: 3,
		Keys: []types.KeyWeight{{Key: key(1), Weight: 2}, {Key: key(2), Weight: 1}, {Key: key(3), Weight: 1}}}
	for _, v := range []struct {
		keys      []types.PublicKey
		satisfied bool
		relevant  int
	}{
		{nil, false, 0},
		{[]types.PublicKey{key(1)}, false, 1},
		{[]types.PublicKey{key(1), key(9)}, false, 1},
		{[]types.PublicKey{key(1), key(3)}, true, 2},
		{[]types.PublicKey{key(1), key(2), key(3)}, true, 3},
		{[]types.PublicKey{key(2), key(3)}, false, 2},
	} {
		if ok, n := a.KeysSatisfyAndRelevant(v.keys); ok != v.satisfied || n != v.relevant {
			t.Errorf("%v: %v, %d", v.keys, ok, n)
		}
	}
	heavy := types.BlockSigningAuthority{Threshold: 1<<32 - 1}
	if ok, _ := heavy.KeysSatisfyAndRelevant([]types.PublicKey{key(1)}); ok {
		t.Error("no key reaches the largest threshold")
	}
}

func TestSchedulesConvert(t *testing.T) {
	old := types.LegacySchedule{Version: 4, Producers: []types.LegacyProducerKey{{Producer: 1, Key: key(1)},
		{Producer: 2, Key: key(2)}}}
	now := old.Upgrade()
	back, ok := now.Legacy()
	if !ok || !back.Equal(&old) || now.Version != 4 || now.Hash() != types.Hash(now.Append(nil)) ||
		old.Hash() != types.Hash(old.Append(nil)) {
		t.Errorf("%v came back as %v", old, back)
	}
	other := old.Upgrade()
	if !now.Equal(&other) {
		t.Error("schedules are not equal to themselves")
	}
	other.Producers[1].Authority.Threshold++
	if now.Equal(&other) {
		t.Error("other schedules are equal")
	}
	now.Producers[0].Authority.Keys = append(now.Producers[0].Authority.Keys, types.KeyWeight{Key: key(3)})
	if _, ok := now.Legacy(); ok {
		t.Error("two keys have a legacy form")
	}
	var read types.ProducerSchedule
	if err := types.Decode(now.Append(nil), &read); err != nil || !read.Equal(&now) {
		t.Errorf("%v, %v", read, err)
	}
	bad := now.Append(nil)
	bad[4+1+8] = 1 // the index of the variant
	if err := types.Decode(bad, &read); err == nil {
		t.Error("an authority of another version is read")
	}
}
