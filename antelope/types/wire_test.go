package types_test

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// wire is what every type of the protocol can do, by its pointer.
type wire interface {
	Append(b []byte) []byte
	Read(r *serial.Reader)
}

// wires are the types that a fuzzer decodes; what decodes must come back.
func wires() map[string]func() wire {
	return map[string]func() wire{
		"authority":       func() wire { return new(types.Authority) },
		"action":          func() wire { return new(types.Action) },
		"transaction":     func() wire { return new(types.Transaction) },
		"packed":          func() wire { return new(types.PackedTransaction) },
		"receipt":         func() wire { return new(types.TransactionReceipt) },
		"block":           func() wire { return new(types.SignedBlock) },
		"schedule":        func() wire { return new(types.ProducerSchedule) },
		"legacy schedule": func() wire { return new(types.LegacySchedule) },
		"genesis":         func() wire { return new(types.Genesis) },
		"action receipt":  func() wire { return new(types.ActionReceipt) },
		"asset":           func() wire { return new(types.ExtendedAsset) },
		"key":             func() wire { return new(types.PublicKey) },
		"signature":       func() wire { return new(types.Signature) },
		"action trace":    func() wire { return new(types.ActionTrace) },
		"trace":           func() wire { return new(types.TransactionTrace) },
		"generation":      func() wire { return new(types.GenerationContext) },
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(types.DefaultGenesis().Append(nil))
	trx := types.Transaction{ContextFreeActions: []types.Action{{Data: []byte{1}}},
		Actions:    []types.Action{{Authorization: make([]types.PermissionLevel, 2)}},
		Extensions: types.Extensions{{Type: 1}}}
	f.Add(trx.Append(nil))
	packed, err := types.Pack(&trx, []types.Signature{{Type: types.WebAuthn, AuthData: "a", ClientJSON: "{}"}},
		[][]byte{{1}, nil}, types.CompressionZlib)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed.Append(nil))
	block := types.SignedBlock{Transactions: []types.TransactionReceipt{{}, {Packed: packed}}}
	block.NewProducers = &types.LegacySchedule{Version: 1, Producers: []types.LegacyProducerKey{{}}}
	f.Add(block.Append(nil))
	f.Add(types.Authority{Threshold: 1,
		Keys:     []types.KeyWeight{{}, {Key: types.PublicKey{Type: types.WebAuthn, RPID: "x"}}},
		Accounts: make([]types.PermissionLevelWeight, 1), Waits: make([]types.WaitWeight, 1)}.Append(nil))
	code := uint64(5)
	trace := &types.TransactionTrace{Receipt: &types.TransactionReceiptHeader{},
		ActionTraces: []types.ActionTrace{{Receipt: &types.ActionReceipt{AuthSequence: make([]types.AuthSequence, 1)},
			Except: exception.New(exception.TxDuplicate, ""), ErrorCode: &code,
			AccountRAMDeltas: make([]types.AccountDelta, 1)}}, FailedDeferred: &types.TransactionTrace{},
		AccountRAMDelta: &types.AccountDelta{}}
	f.Add(trace.Append(nil))
	f.Add((&types.TransactionTrace{ActionTraces: make([]types.ActionTrace, 1)}).Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, make := range wires() {
			v := make()
			r := serial.NewReader(data)
			if v.Read(r); r.Err() != nil {
				continue
			}
			once := v.Append(nil)
			again := make()
			if err := types.Decode(once, again); err != nil {
				t.Fatalf("%s %x: %v", name, once, err)
			}
			if got := again.Append(nil); !bytes.Equal(got, once) {
				t.Fatalf("%s %x came back as %x", name, once, got)
			}
			switch v := v.(type) {
			case *types.PackedTransaction:
				_, _, _ = v.Unpack()
			case *types.SignedBlock:
				_, _ = v.ExtractExtensions()
				_, _ = v.BlockHeader.ExtractExtensions()
				v.AppendJSON(nil)
			case *types.PublicKey:
				if back, err := types.ParsePublicKey(v.String()); len(v.RPID) < 1<<12 && (err != nil || back != *v) {
					t.Fatalf("%s: %v", v, err)
				}
			}
		}
	})
}

func FuzzTexts(f *testing.F) {
	for _, s := range []string{types.DefaultGenesisKey, "SIG_K1_111", "PUB_WA_1", "1.0000 SYS", "4,SYS",
		"2020-01-01T00:00:00.000", "20200101T000000", "-0x10", "eosio.token",
		`{"initial_timestamp":"2020-01-01T00:00:00"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := types.ParsePublicKey(s); err == nil {
			if back, err := types.ParsePublicKey(k.String()); err != nil || back != k {
				t.Fatalf("key %q is %s, %v", s, k, err)
			}
		}
		if v, err := types.ParseSignature(s); err == nil {
			if back, err := types.ParseSignature(v.String()); err != nil || back != v {
				t.Fatalf("signature %q is %s, %v", s, v, err)
			}
		}
		if a, err := types.ParseAsset(s); err == nil {
			if back, err := types.ParseAsset(a.String()); err != nil && a.Symbol.Code() != 0 ||
				err == nil && back != a {
				t.Fatalf("asset %q is %s, %v", s, a, err)
			}
		}
		if n, err := types.ParseName(s); err == nil && n.String() != s {
			t.Fatalf("name %q is %s", s, n)
		}
		if u, err := types.ParseUint128(s); err == nil {
			if back, err := types.ParseUint128(u.String()); err != nil || back != u {
				t.Fatalf("number %q is %s, %v", s, u, err)
			}
		}
		_, _ = types.ParseTimePoint(s)
		_, _ = types.ParseTimePointSec(s)
		_, _ = types.ParseGenesis(s)
	})
}

func TestReadValuesShareNothingWithWhatWasRead(t *testing.T) {
	trx := types.Transaction{Actions: []types.Action{{Data: []byte{1, 2, 3}}},
		Extensions: types.Extensions{{Data: []byte{4}}}}
	packed, err := types.Pack(&trx, nil, [][]byte{{5}}, types.CompressionNone)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []wire{&trx, packed, &types.TransactionReceipt{Packed: packed},
		&types.ActionTrace{ReturnValue: []byte{1}, Console: "x"}} {
		raw := v.Append(nil)
		want := bytes.Clone(raw)
		r := serial.NewReader(raw)
		if v.Read(r); r.End() != nil {
			t.Fatal(r.Err())
		}
		for i := range raw {
			raw[i] = 0xee
		}
		if got := v.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("%T changed to %x", v, got)
		}
	}
}

// The least that an element may take bounds what a count may be.
func TestListsOfTheShortestElementsAreRead(t *testing.T) {
	const n = 50
	for _, v := range []wire{
		&types.TransactionTrace{ActionTraces: make([]types.ActionTrace, n)},
		&types.Transaction{Actions: make([]types.Action, n), Extensions: make(types.Extensions, n)},
		&types.SignedBlock{Transactions: slices.Repeat([]types.TransactionReceipt{{Packed: &types.PackedTransaction{}}},
			n)},
		&types.ProducerSchedule{Producers: make([]types.ProducerAuthority, n)},
		&types.LegacySchedule{Producers: make([]types.LegacyProducerKey, n)},
		&types.Authority{Waits: make([]types.WaitWeight, n)},
		&types.Authority{Accounts: make([]types.PermissionLevelWeight, n)},
		&types.Authority{Keys: make([]types.KeyWeight, n)},
		&types.PackedTransaction{Signatures: make([]types.Signature, n)},
		&types.ActionReceipt{AuthSequence: make([]types.AuthSequence, n)},
	} {
		raw := v.Append(nil)
		if err := types.Decode(raw, v); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}

func TestAFailedDeferredTraceHasNoneItself(t *testing.T) {
	inner := &types.TransactionTrace{FailedDeferred: &types.TransactionTrace{}}
	if err := types.Decode((&types.TransactionTrace{FailedDeferred: &types.TransactionTrace{}}).Append(nil),
		new(types.TransactionTrace)); err != nil {
		t.Error(err)
	}
	if err := types.Decode((&types.TransactionTrace{FailedDeferred: inner}).Append(nil),
		new(types.TransactionTrace)); err == nil {
		t.Error("traces nest without end")
	}
}

func TestReferenceTracesDecodeAndEncodeToTheSameBytes(t *testing.T) {
	log := refdata.Read(t, "deep-mind.log")
	traces, actions := 0, 0
	for _, line := range strings.Split(string(log), "\n") {
		words := strings.Fields(line)
		if len(words) != 4 || words[1] != "APPLIED_TRANSACTION" {
			continue
		}
		raw, err := hex.DecodeString(words[3])
		if err != nil {
			t.Fatal(err)
		}
		var trace types.TransactionTrace
		if err := types.Decode(raw, &trace); err != nil {
			t.Errorf("trace %d: %v", traces, err)
		}
		if got := trace.Append(nil); !bytes.Equal(got, raw) {
			t.Errorf("trace %d came back as %x, want %x", traces, got, raw)
		}
		for i := range trace.ActionTraces {
			a := &trace.ActionTraces[i]
			actions++
			if a.Receipt == nil || a.TransactionID != trace.ID || a.Ordinal != uint32(i+1) {
				t.Errorf("trace %d: action %d is %v", traces, i, a)
				continue
			}
			if d := a.Receipt.ActDigest; d != a.Action.Digest() && d != a.Action.DigestWithReturn(a.ReturnValue) {
				t.Errorf("trace %d: action %d has digest %s", traces, i, d)
			}
		}
		traces++
	}
	if traces != 31 || actions < traces {
		t.Errorf("%d traces of %d actions", traces, actions)
	}
}

func TestReferenceTransactionsHaveTheirIDs(t *testing.T) {
	log := refdata.Read(t, "deep-mind.log")
	found := 0
	for _, line := range strings.Split(string(log), "\n") {
		words := strings.Fields(line)
		if len(words) != 6 || words[1] != "TRX_OP" {
			continue
		}
		raw, err := hex.DecodeString(words[5])
		if err != nil {
			t.Fatal(err)
		}
		var trx types.Transaction
		r := serial.NewReader(raw)
		trx.Read(r)
		signatures, data := types.ReadSignatures(r), types.ReadByteSlices(r)
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		if got := trx.ID().String(); got != words[4] {
			t.Errorf("id %s, want %s", got, words[4])
		}
		if got := types.AppendByteSlices(types.AppendSignatures(trx.Append(nil), signatures),
			data); !bytes.Equal(got, raw) {
			t.Errorf("%s came back as %x", words[5], got)
		}
		found++
	}
	if found != 4 {
		t.Errorf("%d transactions", found)
	}
}
