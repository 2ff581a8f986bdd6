package state_test

import (
	"errors"
	"reflect"
	"testing"

	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store/engine"
)

func TestUndoOfABlockKeepsWhatWasThereBefore(t *testing.T) {
	d := databases[0].open(t)
	s := d.state()
	d.must(s.Initialise(state.Singletons{Dynamic: state.DynamicGlobal{ActionSequence: 5}}))
	_, err := s.Accounts.Create(1, state.Account{Name: 1, Created: 7})
	d.must(err)
	d.must(s.Begin()) // nothing was flushed
	a, err := s.Accounts.Edit(1)
	d.must(err)
	a.Created = 8
	d.must(s.Undo())
	s = d.reopen()
	got, err := s.Accounts.Get(1)
	d.must(err)
	if want := (state.Account{Name: 1, Created: 7}); got == nil || *got != want {
		t.Errorf("the account is %+v, want %+v", got, want)
	}
	if g, err := s.Dynamic.Get(); err != nil || g.ActionSequence != 5 {
		t.Errorf("the global action sequence is %+v, %v", g, err)
	}
}

func TestAnotherStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	st, err := engine.Open(dir, databases[0].opts)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	about, err := st.CreateTable("about")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Put(about, []byte("format"), []byte{2, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Open(st); !errors.Is(err, state.ErrFormat) {
		t.Errorf("a state of version 2 was opened: %v", err)
	}
}

func TestAnEmptyStateSaysSo(t *testing.T) {
	s := databases[0].open(t).state()
	if empty, err := s.Empty(); err != nil || !empty {
		t.Errorf("empty %v, %v", empty, err)
	}
	if _, err := s.Global.Get(); !errors.Is(err, state.ErrFormat) {
		t.Errorf("global properties of an empty state: %v", err)
	}
}

// every is one row of each table that has rows, with no field at zero.
func every(d *database, s *state.State) {
	usage := state.Usage{LastOrdinal: 1, ValueEx: 2, Consumed: 3}
	limit := state.ElasticLimit{Target: 1, Max: 2, Periods: 3, MaxMultiplier: 4,
		Contract: state.Ratio{Numerator: 5, Denominator: 6}, Expand: state.Ratio{Numerator: 7, Denominator: 8}}
	d.must(s.Initialise(singletons(usage, limit)))
	for n := range types.Name(2) {
		_, err := s.Accounts.Create(n, state.Account{Name: n, Created: 9})
		d.must(err)
		_, err = s.Metadata.Create(n, state.AccountMetadata{Name: n, RecvSequence: 1, AuthSequence: 2, CodeSequence: 3,
			ABISequence: 4,
			CodeHash:    types.Checksum256{5}, LastCodeUpdate: 6, Flags: 7, VMType: 8, VMVersion: 9})
		d.must(err)
		_, err = s.RAMCorrections.Create(n, state.RAMCorrection{Name: n, Correction: 10})
		d.must(err)
		k := state.CodeKey{Hash: types.Checksum256{1}, VMType: 2, VMVersion: byte(n)}
		_, err = s.Codes.Create(k, state.Code{Key: k, RefCount: 4, FirstBlockUsed: 5})
		d.must(err)
		tk := state.TableKey{Code: n, Scope: 2, Table: 3}
		_, err = s.Tables.Create(tk, state.ContractTable{Key: tk, Payer: 4, Count: 5})
		d.must(err)
		pk := state.PermissionKey{Owner: n, Name: 2}
		_, err = s.Permissions.Create(pk, state.Permission{Key: pk, Parent: 3, LastUpdated: 4, LastUsed: 5,
			Authority: types.Authority{
				Threshold: 6, Keys: []types.KeyWeight{
					{Key: types.PublicKey{Type: types.WebAuthn, UserPresence: 1, RPID: "a"}, Weight: 7}},
				Accounts: []types.PermissionLevelWeight{
					{Permission: types.PermissionLevel{Actor: 8, Permission: 9}, Weight: 10}},
				Waits: []types.WaitWeight{{WaitSec: 11, Weight: 12}},
			}})
		d.must(err)
		lk := state.LinkKey{Account: n, Code: 2, Action: 3}
		_, err = s.Links.Create(lk, state.PermissionLink{Key: lk, Required: 4})
		d.must(err)
		_, err = s.Limits.Create(n, state.ResourceLimits{Owner: n, NetWeight: -1, CPUWeight: 2, RAMBytes: 3})
		d.must(err)
		_, err = s.Usages.Create(n, state.ResourceUsage{Owner: n, Net: usage,
			CPU: state.Usage{LastOrdinal: 4, ValueEx: 5, Consumed: 6}, RAM: 7})
		d.must(err)
	}
}

func singletons(usage state.Usage, limit state.ElasticLimit) state.Singletons {
	other := limit
	other.Target = 99
	return state.Singletons{
		Global: state.GlobalProperty{
			ProposedScheduleBlock: new(uint32(1)), ChainID: types.Checksum256{1},
			KV:            state.KVConfig{MaxKeySize: 1, MaxValueSize: 2, MaxIterators: 3},
			Configuration: types.ChainConfig{MaxBlockNetUsage: 1, MaxActionReturnValueSize: 18},
			Wasm:          types.WasmConfig{MaxMutableGlobalBytes: 1, MaxCallDepth: 2},
		},
		Protocol: state.ProtocolState{
			Activated:    []state.ActivatedFeature{{Digest: types.Checksum256{1}, Block: 2}},
			Preactivated: []types.Checksum256{{3}}, Intrinsics: []string{"a", "b"}, KeyTypes: 2,
		},
		Dynamic:        state.DynamicGlobal{ActionSequence: 1},
		ResourceConfig: state.ResourceConfig{CPU: limit, Net: other, AccountCPUWindow: 1, AccountNetWindow: 2},
		ResourceState: state.ResourceState{AverageBlockNet: usage,
			AverageBlockCPU: state.Usage{LastOrdinal: 9, ValueEx: 8, Consumed: 7}, PendingNet: 1, PendingCPU: 2,
			TotalNetWeight: 3, TotalCPUWeight: 4, TotalRAM: 5, VirtualNet: 6, VirtualCPU: 7},
	}
}

type image struct {
	singles     state.Singletons
	accounts    []state.Account
	metadata    []state.AccountMetadata
	corrections []state.RAMCorrection
	codes       []state.Code
	tables      []state.ContractTable
	permissions []state.Permission
	links       []state.PermissionLink
	limits      []state.ResourceLimits
	usages      []state.ResourceUsage
}

func imageOf(d *database, s *state.State) (i image) {
	d.must(s.Flush())
	d.must(d.store.Publish())
	v, err := s.View()
	d.must(err)
	defer v.Close()
	m := &model{t: d.t}
	i.singles, err = v.Singletons()
	d.must(err)
	i.accounts, i.metadata, i.corrections = byID(m, v.Accounts), byID(m, v.Metadata), byID(m, v.RAMCorrections)
	i.codes, i.tables, i.permissions, i.links = byID(m, v.Codes), byID(m, v.Tables), byID(m, v.Permissions), byID(m,
		v.Links)
	i.limits, i.usages = byID(m, v.Limits), byID(m, v.Usages)
	return i
}

func TestEveryFieldOfEveryTableIsStored(t *testing.T) {
	d := databases[0].open(t)
	every(d, d.state())
	one, err := d.state().Permissions.Get(state.PermissionKey{Owner: 1, Name: 2})
	d.must(err)
	want := *one
	s := d.reopen()
	got := imageOf(d, s)
	if !reflect.DeepEqual(got.permissions[1], want) {
		t.Errorf("permission %+v, want %+v", got.permissions[1], want)
	}
	usage, limit := got.usages[0].Net, got.singles.ResourceConfig.CPU
	if w := singletons(usage, limit); !reflect.DeepEqual(got.singles.ResourceConfig, w.ResourceConfig) ||
		!reflect.DeepEqual(got.singles.ResourceState, w.ResourceState) ||
		!reflect.DeepEqual(got.singles.Protocol, w.Protocol) ||
		!reflect.DeepEqual(got.singles.Global.Configuration, w.Global.Configuration) ||
		*got.singles.Global.ProposedScheduleBlock != 1 {
		t.Errorf("singletons %+v, want %+v", got.singles, w)
	}
	e := databases[0].open(t)
	every(e, e.state())
	if fresh := imageOf(e, e.state()); !reflect.DeepEqual(got, fresh) {
		t.Errorf("after a reopen %+v, want %+v", got, fresh)
	}
	if m := got.metadata[1]; m != (state.AccountMetadata{ID: 1, Name: 1, RecvSequence: 1, AuthSequence: 2,
		CodeSequence: 3, ABISequence: 4,
		CodeHash: types.Checksum256{5}, LastCodeUpdate: 6, Flags: 7, VMType: 8, VMVersion: 9}) {
		t.Errorf("metadata %+v", m)
	}
	if c := got.codes[1]; c != (state.Code{ID: 1,
		Key: state.CodeKey{Hash: types.Checksum256{1}, VMType: 2, VMVersion: 1}, RefCount: 4, FirstBlockUsed: 5}) {
		t.Errorf("code %+v", c)
	}
	if l := got.limits[1]; l != (state.ResourceLimits{ID: 1, Owner: 1, NetWeight: -1, CPUWeight: 2, RAMBytes: 3}) {
		t.Errorf("limits %+v", l)
	}
	if u := got.usages[1]; u.CPU != (state.Usage{LastOrdinal: 4, ValueEx: 5, Consumed: 6}) ||
		u.Net != (state.Usage{LastOrdinal: 1, ValueEx: 2, Consumed: 3}) || u.RAM != 7 {
		t.Errorf("usage %+v", u)
	}
	if k := got.tables[1]; k != (state.ContractTable{ID: 1, Key: state.TableKey{Code: 1, Scope: 2, Table: 3},
		Payer: 4, Count: 5}) {
		t.Errorf("contract table %+v", k)
	}
}

// FuzzSingletons feeds rows as snapshots bring them to their decoders: nothing
// breaks, and what is accepted encodes to what decodes to the same.
func FuzzSingletons(f *testing.F) {
	one := singletons(state.Usage{LastOrdinal: 1}, state.ElasticLimit{Periods: 2})
	f.Add(byte(0), one.Global.Append(nil))
	f.Add(byte(1), one.Protocol.Append(nil))
	f.Add(byte(2), one.ResourceConfig.Append(nil))
	f.Add(byte(3), one.ResourceState.Append(nil))
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		read := [](func(*serial.Reader) []byte){
			func(r *serial.Reader) []byte { var v state.GlobalProperty; v.Read(r); return v.Append(nil) },
			func(r *serial.Reader) []byte { var v state.ProtocolState; v.Read(r); return v.Append(nil) },
			func(r *serial.Reader) []byte { var v state.ResourceConfig; v.Read(r); return v.Append(nil) },
			func(r *serial.Reader) []byte { var v state.ResourceState; v.Read(r); return v.Append(nil) },
		}[which%4]
		r := serial.NewReader(b)
		again := read(r)
		if r.End() != nil {
			return
		}
		q := serial.NewReader(again)
		if third := read(q); q.End() != nil || string(third) != string(again) {
			t.Errorf("% x became % x, then % x: %v", b, again, third, q.Err())
		}
	})
}
