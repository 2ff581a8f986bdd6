package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// randomRows puts random rows into a state.
type randomRows struct {
	t   *testing.T
	rng *rand.Rand
	s   *state.State
}

func (f *randomRows) must(err error) {
	f.t.Helper()
	must(f.t, err)
}

func (f *randomRows) name() types.Name { return types.Name(f.rng.Uint64()) }

func (f *randomRows) digest() (c types.Checksum256) {
	copy(c[:], f.bytes(32))
	return c
}

func (f *randomRows) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(f.rng.Uint32())
	}
	return b
}

func (f *randomRows) authority() (a types.Authority) {
	a.Threshold = f.rng.Uint32()
	for range f.rng.IntN(3) {
		k := types.KeyWeight{Weight: 1}
		copy(k.Key.Point[:], f.bytes(33))
		if f.rng.IntN(3) == 0 {
			k.Key.Type, k.Key.RPID = types.WebAuthn, "example.com"
		}
		a.Keys = append(a.Keys, k)
		a.Accounts = append(a.Accounts,
			types.PermissionLevelWeight{Permission: types.PermissionLevel{Actor: f.name(), Permission: f.name()},
				Weight: 2})
		a.Waits = append(a.Waits, types.WaitWeight{WaitSec: f.rng.Uint32(), Weight: 3})
	}
	return a
}

// fill makes a state in which every table has rows.
func (f *randomRows) fill() {
	f.must(f.s.Initialise(state.Singletons{
		Global: state.GlobalProperty{
			ProposedScheduleBlock: new(uint32(7)), ChainID: f.digest(),
			ProposedSchedule: types.ProducerSchedule{Version: 3,
				Producers: []types.ProducerAuthority{{Producer: f.name()}}},
			Configuration: types.DefaultChainConfig(), Wasm: types.DefaultWasmConfig(),
		},
		Protocol: state.ProtocolState{
			Activated:    []state.ActivatedFeature{{Digest: f.digest(), Block: 4}},
			Preactivated: []types.Checksum256{f.digest()},
			Intrinsics:   []string{"abort", "prints"}, KeyTypes: 3,
		},
		Dynamic:       state.DynamicGlobal{ActionSequence: math.MaxUint32 + 1},
		ResourceState: state.ResourceState{TotalRAM: 1 << 40},
	}))
	for range 30 {
		f.account()
	}
	for i := range 10 {
		code := state.Code{Key: state.CodeKey{Hash: f.digest(), VMVersion: uint8(i)}, RefCount: 2, FirstBlockUsed: 9}
		_, err := f.s.Codes.Create(code.Key, code)
		f.must(err)
		f.must(f.s.SetCodeBytes(code.Key, f.bytes(f.rng.IntN(5000))))
		f.must(f.s.CreateDeferred(&state.Deferred{
			TrxID: f.digest(), Sender: f.name(), SenderID: types.Uint128{Lo: f.rng.Uint64(), Hi: f.rng.Uint64()},
			Payer: f.name(), DelayUntil: types.TimePoint(f.rng.Int64()), Expiration: types.TimePoint(f.rng.Int64()),
			Published: 1, Packed: f.bytes(i * 10),
		}))
		f.must(f.s.SetBlockSummary(uint16(f.rng.Uint32()), f.digest()))
		_, err = f.s.RecordTransaction(f.digest(), types.TimePointSec(1_900_000_000+f.rng.Uint32N(1000)))
		f.must(err)
		key := state.LinkKey{Account: f.name(), Code: f.name(), Action: f.name()}
		_, err = f.s.Links.Create(key, state.PermissionLink{Key: key, Required: f.name()})
		f.must(err)
	}
	for range 20 {
		f.table()
	}
}

func (f *randomRows) account() {
	n := f.name()
	_, err := f.s.Accounts.Create(n, state.Account{Name: n, Created: types.BlockTimestamp(f.rng.Uint32())})
	f.must(err)
	f.must(f.s.SetABI(n, f.bytes(f.rng.IntN(100))))
	_, err = f.s.Metadata.Create(n, state.AccountMetadata{Name: n, RecvSequence: f.rng.Uint64(), CodeHash: f.digest(),
		Flags: 1, LastCodeUpdate: 5})
	f.must(err)
	_, err = f.s.RAMCorrections.Create(n, state.RAMCorrection{Name: n, Correction: f.rng.Uint64()})
	f.must(err)
	_, err = f.s.Limits.Create(n, state.ResourceLimits{Owner: n, NetWeight: -1, CPUWeight: f.rng.Int64(),
		RAMBytes: -f.rng.Int64()})
	f.must(err)
	_, err = f.s.Usages.Create(n, state.ResourceUsage{Owner: n,
		Net: state.Usage{LastOrdinal: 1, ValueEx: f.rng.Uint64(), Consumed: 3}, RAM: f.rng.Uint64()})
	f.must(err)
	if first, err := f.s.Permissions.Get(state.PermissionKey{}); err != nil || first == nil {
		_, err = f.s.Permissions.Create(state.PermissionKey{}, state.Permission{})
		f.must(err)
	}
	parent := types.Name(0)
	for range 1 + f.rng.IntN(3) {
		p := state.Permission{Key: state.PermissionKey{Owner: n, Name: f.name()}, Parent: parent, LastUpdated: 7,
			LastUsed: types.TimePoint(f.rng.Int64()), Authority: f.authority()}
		_, err = f.s.Permissions.Create(p.Key, p)
		f.must(err)
		parent = p.Key.Name
	}
}

func (f *randomRows) table() {
	key := state.TableKey{Code: f.name(), Scope: f.name(), Table: f.name()}
	count := f.rng.IntN(20)
	for range count {
		f.must(f.s.PutRow(state.RowKey{TableKey: key, Primary: f.rng.Uint64()}, f.name(), f.bytes(f.rng.IntN(300))))
	}
	for kind := range state.Kind(state.Kinds) {
		if f.rng.IntN(2) == 0 {
			continue
		}
		for range f.rng.IntN(10) {
			row := state.IndexRow{Primary: f.rng.Uint64(), Payer: f.name()}
			for i := range kind.Size() / 8 {
				row.Secondary.Words[i] = f.rng.Uint64() >> 2
			}
			f.must(f.s.PutIndexRow(kind, key, row))
			count++
		}
	}
	_, err := f.s.Tables.Create(key, state.ContractTable{Key: key, Payer: f.name(), Count: uint32(count)})
	f.must(err)
}

// head is a header state, in 2020.
func head() consensus.Head {
	g := types.DefaultGenesis()
	g.InitialTimestamp = 1577836800000000
	return consensus.Head{HeaderState: consensus.Genesis(&g)}
}

func TestARandomStateSurvivesItsSnapshot(t *testing.T) {
	seed := rand.Uint64()
	for round := range uint64(5) {
		d := newDatabase(t)
		f := randomRows{t, rand.New(rand.NewPCG(seed, round)), d.state}
		f.fill()
		view := d.view(t)
		first := write(t, view, head())
		again, h := load(t, first)
		if second := write(t, again, h); !bytes.Equal(first, second) {
			t.Fatalf("seed %d round %d: the second snapshot is another one", seed, round)
		}
		var a, b bytes.Buffer
		must(t, snapshot.Export(snapshot.NewJSON(&a), view, head(), snapshot.Options{}))
		must(t, snapshot.Export(snapshot.NewJSON(&b), again, h, snapshot.Options{}))
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("seed %d round %d: the second JSON is another one", seed, round)
		}
	}
}

// sectionOf returns the rows of a section, by the layout and not by the reader.
func sectionOf(t *testing.T, b []byte, name string) []byte {
	t.Helper()
	for b = b[8:]; ; {
		size := binary.LittleEndian.Uint64(b)
		if size == math.MaxUint64 {
			t.Fatalf("no section %s", name)
		}
		if rows, found := bytes.CutPrefix(b[16:8+size], append([]byte(name), 0)); found {
			return rows
		}
		b = b[8+size:]
	}
}

func TestContractTablesAreLaidOutAsTheOriginalsAre(t *testing.T) {
	d := newDatabase(t)
	must(t, d.state.Initialise(state.Singletons{}))
	key := state.TableKey{Code: 1, Scope: 2, Table: 3}
	_, err := d.state.Tables.Create(key, state.ContractTable{Key: key, Payer: 4, Count: 8})
	must(t, err)
	must(t, d.state.PutRow(state.RowKey{TableKey: key, Primary: 6}, 8, nil))
	must(t, d.state.PutRow(state.RowKey{TableKey: key, Primary: 5}, 7, []byte("ab")))
	for kind := range state.Kind(state.Kinds) {
		words := [4]uint64{11, 12, 13, 14}
		if kind == state.IndexDouble {
			words[0] = math.Float64bits(-2.5)
		}
		must(t, d.state.PutIndexRow(kind, key,
			state.IndexRow{Primary: 9, Payer: 10, Secondary: state.SecondaryKey{Words: words}}))
	}
	must(t, d.state.PutIndexRow(state.Index64, key,
		state.IndexRow{Primary: 8, Payer: 10, Secondary: state.SecondaryKey{Words: [4]uint64{99}}}))

	var want []byte
	words := func(list ...uint64) {
		for _, w := range list {
			want = binary.LittleEndian.AppendUint64(want, w)
		}
	}
	words(1, 2, 3, 4)
	want = append(want, 8, 0, 0, 0, 2)
	words(5, 7)
	want = append(want, 2, 'a', 'b')
	words(6, 8)
	want = append(want, 0, 2)
	words(8, 10, 99, 9, 10, 11)
	want = append(want, 1)
	words(9, 10, 11, 12)
	want = append(want, 1)
	words(9, 10, 11, 12, 13, 14)
	want = append(want, 1)
	words(9, 10, math.Float64bits(-2.5))
	want = append(want, 1)
	words(9, 10, 11, 12)
	view := d.view(t)
	if got := sectionOf(t, write(t, view, head()), "contract_tables"); !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}

	var out strings.Builder
	must(t, snapshot.Export(snapshot.NewJSON(&out), view, head(), snapshot.Options{}))
	_, text, _ := strings.Cut(out.String(), ",\"contract_tables\":{\n")
	text, _, _ = strings.Cut(text, "}\n,\"eosio::chain::permission_object\"")
	if wantText := `"rows":[
{"code":"............1","scope":"............2","table":"............3","payer":"............4","count":8}
,2
,{"primary_key":5,"payer":"............b","value":"YWI="}
,{"primary_key":6,"payer":"............c","value":""}
,2
,{"primary_key":8,"payer":"............e","secondary_key":99}
,{"primary_key":9,"payer":"............e","secondary_key":11}
,1
,{"primary_key":9,"payer":"............e","secondary_key":"221360928884514619403"}
,1
,{"primary_key":9,"payer":"............e","secondary_key":["221360928884514619403","258254417031933722637"]}
,1
,{"primary_key":9,"payer":"............e","secondary_key":"-2.50000000000000000"}
,1
,{"primary_key":9,"payer":"............e","secondary_key":"0x0b000000000000000c00000000000000"}
],
"num_rows":15
`; text != wantText {
		t.Errorf("JSON\n%s\nwant\n%s", text, wantText)
	}
}

func TestExpiredTransactionsAreLeftOut(t *testing.T) {
	d := newDatabase(t)
	must(t, d.state.Initialise(state.Singletons{}))
	h := head()
	now := h.Header.Timestamp.TimePoint().Sec()
	for i, expiration := range []types.TimePointSec{now + 1, now - 1, now} {
		_, err := d.state.RecordTransaction(types.Checksum256{byte(i)}, expiration)
		must(t, err)
	}
	rows := sectionOf(t, write(t, d.view(t), h), "eosio::chain::transaction_object")
	if len(rows) != 2*36 || rows[4] != 0 || rows[36+4] != 2 {
		t.Errorf("rows % x", rows)
	}
}

func TestTheReservedPermissionSharesTheUsageOfTheNextOne(t *testing.T) {
	d := newDatabase(t)
	must(t, d.state.Initialise(state.Singletons{}))
	for i, p := range []state.Permission{{}, {Key: state.PermissionKey{Owner: 1, Name: 2}, LastUsed: 77},
		{Key: state.PermissionKey{Owner: 3, Name: 2}, LastUsed: 88}} {
		_, err := d.state.Permissions.Create(p.Key, p)
		must(t, err)
		rows := sectionOf(t, write(t, d.view(t), head()), "eosio::chain::permission_object")
		used := binary.LittleEndian.Uint64(rows[32:])
		if want := uint64(min(77, 77*i)); used != want {
			t.Errorf("%d permissions: %d, want %d", i+1, used, want)
		}
	}
}

func TestProgressIsReportedAndMayEndTheWork(t *testing.T) {
	b := refdata.Read(t, "leap-snapshots/snap_v6.bin.gz")
	r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	d := newDatabase(t)
	var last snapshot.Progress
	calls := 0
	report := func(p snapshot.Progress) error {
		if calls++; p.Rows < last.Rows || p.Bytes < 0 || p.Bytes > int64(len(b)) || p.Section == "" {
			t.Errorf("progress %+v after %+v", p, last)
		}
		last = p
		return nil
	}
	h, err := snapshot.Load(r, d.state, report)
	must(t, err)
	if calls < 10 || last.Rows < 65536 || last.Size != int64(len(b)) {
		t.Errorf("%d reports, last %+v", calls, last)
	}
	view := d.view(t)
	last, calls = snapshot.Progress{}, 0
	if _, err := snapshot.Hash(view, h, snapshot.Options{Report: report}); err != nil || calls < 10 ||
		last.Rows < 65536 {
		t.Errorf("%d reports, last %+v: %v", calls, last, err)
	}
	stop := errors.New("stop")
	if _, err := snapshot.Hash(view, h,
		snapshot.Options{Report: func(snapshot.Progress) error { return stop }}); !errors.Is(err, stop) {
		t.Errorf("writing that was stopped: %v", err)
	}
	if _, err := snapshot.Load(r, newDatabase(t).state,
		func(snapshot.Progress) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("loading that was stopped: %v", err)
	}
	if _, err := snapshot.Load(r, d.state, nil); !exception.Is(err, exception.Snapshot) {
		t.Errorf("loaded into a state that is not empty: %v", err)
	}
}
