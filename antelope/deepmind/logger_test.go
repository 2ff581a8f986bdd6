package deepmind

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"iter"
	"strconv"
	"strings"
	"testing"

	"tarn/antelope/consensus"
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// nodeosLog is nodeos' own, a line each.
func nodeosLog(t *testing.T) []string {
	t.Helper()
	return strings.SplitAfter(strings.TrimSuffix(string(refdata.Read(t, "deep-mind.log")), "\n"), "\n")
}

// logOf is the lines that a logger writes.
func logOf(fn func(l *Logger)) string {
	var out bytes.Buffer
	l := New(&out, Options{})
	fn(l)
	return out.String()
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func number(t *testing.T, s string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// again says a line of the reference log once more from the values in it. ok is false
// for kinds whose values are in text.
func again(t *testing.T, l *Logger, f []string, features *feature.Set) (ok bool) {
	t.Helper()
	switch f[0] + " " + f[1] {
	default:
		switch f[0] {
		case "START_BLOCK":
			l.StartBlock(number(t, f[1]))
		case "ACCEPTED_BLOCK":
			r := serial.NewReader(unhex(t, f[2]))
			b := &consensus.BlockState{HeaderState: new(consensus.HeaderState)}
			b.HeaderState.Read(r)
			if r.Bool() {
				b.Block = new(types.SignedBlock)
				b.Block.Read(r)
			}
			valid := r.Bool()
			if err := r.End(); err != nil {
				t.Fatal(err)
			}
			l.AcceptedBlock(b, valid, types.Checksum256{})
		case "APPLIED_TRANSACTION":
			trace := new(types.TransactionTrace)
			if err := types.Decode(unhex(t, f[2]), trace); err != nil {
				t.Fatal(err)
			}
			l.AppliedTransaction(number(t, f[1]), trace)
		default:
			return false
		}
	case "CREATION_OP ROOT":
		l.InputAction()
	case "FEATURE_OP ACTIVATE", "FEATURE_OP PRE_ACTIVATE":
		at := 2
		if f[1] == "PRE_ACTIVATE" {
			at = 3
		}
		found := features.Find(types.Checksum256(unhex(t, f[at])))
		if found == nil {
			t.Fatalf("no feature %s", f[at])
		}
		if at == 2 {
			l.ActivateFeature(found)
		} else {
			l.PreactivateFeature(found)
		}
	case "TRX_OP CREATE":
		var trx types.Transaction
		b := unhex(t, f[4])
		if err := types.Decode(b[:len(b)-2], &trx); err != nil {
			t.Fatal(err)
		}
		l.Onblock(&trx, nil)
	}
	return true
}

// Values are read from each line of nodeos' log that has them in binary, and give the
// same line; each kind of the others is compared below.
func TestLinesAreThoseOfNodeos(t *testing.T) {
	features, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, line := range nodeosLog(t) {
		f := strings.Fields(strings.TrimPrefix(line, "DMLOG "))
		got := logOf(func(l *Logger) {
			if again(t, l, f, features) {
				kinds[f[0]]++
			}
		})
		if got != "" && strings.TrimSuffix(got, "\n") != strings.TrimSuffix(line, "\n") {
			t.Fatalf("instead of\n%swas said\n%s", line, got)
		}
	}
	for kind, n := range map[string]int{"START_BLOCK": 4, "ACCEPTED_BLOCK": 4, "APPLIED_TRANSACTION": 31,
		"CREATION_OP": 31, "FEATURE_OP": 43, "TRX_OP": 4} {
		if kinds[kind] != n {
			t.Errorf("%d lines of kind %s were compared, not %d", kinds[kind], kind, n)
		}
	}
}

func n(s string) types.Name { return types.N(s) }

func key(t *testing.T, s string) types.PublicKey {
	t.Helper()
	k, err := types.ParsePublicKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// said once by nodeos for the first blocks of its test.
func TestObjectsAreWrittenAsNodeosDoes(t *testing.T) {
	log := map[string]bool{}
	var abi []byte
	for _, line := range nodeosLog(t) {
		log[strings.TrimSuffix(line, "\n")] = true
		if s, ok := strings.CutPrefix(line, "DMLOG ABIDUMP ABI eosio "); ok {
			var err error
			if abi, err = base64.StdEncoding.DecodeString(strings.TrimSpace(s)); err != nil {
				t.Fatal(err)
			}
		}
	}
	abis := iter.Seq2[types.Name, []byte](func(yield func(types.Name, []byte) bool) {
		_ = yield(n("nothing"), nil) && yield(n("eosio"), abi)
	})
	rate := func(top, bottom uint64) state.Ratio { return state.Ratio{Numerator: top, Denominator: bottom} }
	config := state.ResourceConfig{
		CPU: state.ElasticLimit{Target: 20000, Max: 200000, Periods: 120, MaxMultiplier: 1000,
			Contract: rate(99, 100), Expand: rate(1000, 999)},
		Net: state.ElasticLimit{Target: 104857, Max: 1048576, Periods: 120, MaxMultiplier: 1000,
			Contract: rate(99, 100), Expand: rate(1000, 999)},
		AccountCPUWindow: 172800, AccountNetWindow: 172800,
	}
	table := state.TableKey{Code: n("eosio"), Scope: n("eosio"), Table: n("abihash")}
	row := state.RowKey{TableKey: table, Primary: uint64(n("eosio"))}
	first := unhex(t, "0000000000ea3055d7abd75d188060de8a01ab2672d1cc2cd768fddc56203181b43685cc11f5ce46")
	second := unhex(t, "0000000000ea3055fc470c7761cfe2530d91ab199fc6326b456e254a57fcc882544eb4c0e488fd39")
	owner := state.Permission{ID: 1, Key: state.PermissionKey{Owner: n("eosio"), Name: n("owner")},
		LastUpdated: 1577836800_000000,
		Authority: types.Authority{Threshold: 1,
			Keys: []types.KeyWeight{{Key: key(t, "EOS5P52UyPoYL7vMiSREPvqxh6WebuMAunCMK4w53J7Gu6zmk4qyN"), Weight: 1}}}}
	minor := state.Permission{ID: 8, Key: state.PermissionKey{Owner: n("eosio.prods"), Name: n("prod.minor")},
		LastUpdated: 1577836800_000000,
		Authority: types.Authority{Threshold: 1, Accounts: []types.PermissionLevelWeight{
			{Permission: types.PermissionLevel{Actor: n("eosio"), Permission: n("active")}, Weight: 1}}}}
	got := logOf(func(l *Logger) {
		l.Startup(1, 0, abis)
		l.InitResourceLimits(&config, &state.ResourceState{VirtualNet: 1048576, VirtualCPU: 200000})
		l.UpdateResourceState(&state.ResourceState{AverageBlockNet: state.Usage{LastOrdinal: 3, ValueEx: 81866667,
			Consumed: 9824},
			AverageBlockCPU: state.Usage{LastOrdinal: 3, ValueEx: 384993056, Consumed: 46101}, PendingNet: 7928,
			PendingCPU: 4100,
			VirtualNet: 1050675, VirtualCPU: 200400})
		l.NewAccountLimits(&state.ResourceLimits{Owner: n("alice"), NetWeight: -1, CPUWeight: -1, RAMBytes: -1},
			&state.ResourceUsage{Owner: n("alice")})
		l.UpdateAccountUsage(&state.ResourceUsage{Owner: n("eosio"),
			Net: state.Usage{LastOrdinal: 1262304002, ValueEx: 47967, Consumed: 8288},
			CPU: state.Usage{LastOrdinal: 1262304002, ValueEx: 128482, Consumed: 22101}, RAM: 180802})
		l.CreatePermission(&owner, 0)
		l.CreatePermission(&minor, 7)
		l.RAMEvent("eosio:eosio:abihash:eosio", "table_row", "add", "primary_index_add")
		l.RAMUsage(n("eosio"), 180802, 152)
		l.RAMEvent("11", "auth", "add", "updateauth_create")
		l.RAMUsage(n("alice"), 3108, 320)
		l.CreateTable(table, n("eosio"))
		l.StoreRow(row, n("eosio"), first)
		l.UpdateRow(row, n("eosio"), n("eosio"), first, second)
	})
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != 17 {
		t.Fatalf("%d lines were said", len(lines))
	}
	for _, line := range lines {
		if !log[line] {
			t.Errorf("nodeos has no line\n%s", line)
		}
	}
}

// What nodeos' test does not say is compared with what its source says.
func TestOtherLines(t *testing.T) {
	id := types.Checksum256{1, 2, 3}
	hexID := hex.EncodeToString(id[:])
	trx := types.Transaction{TransactionHeader: types.TransactionHeader{Expiration: 1577836800}}
	packed := trx.Append(nil)
	trxID := trx.ID()
	signed := &types.PackedTransaction{Signatures: []types.Signature{{Compact: [65]byte{7}}}, PackedTrx: packed}
	d := &state.Deferred{TrxID: id, Sender: n("sender"), SenderID: types.Uint128{Lo: 5, Hi: 1}, Payer: n("payer"),
		Published: 1577836800_000000, DelayUntil: 1577836801_500000, Expiration: 1577837400_000000,
		Packed: []byte{0xab, 0xcd}}
	place := " sender 18446744073709551621 payer 2020-01-01T00:00:00.000 2020-01-01T00:00:01.500 " +
		"2020-01-01T00:10:00.000 " + hexID + " "
	table := state.TableKey{Code: n("code"), Scope: n("scope"), Table: n("table")}
	p := state.Permission{ID: 3, Key: state.PermissionKey{Owner: n("bob"), Name: n("p")}, LastUpdated: 1,
		Authority: types.Authority{Threshold: 2, Waits: []types.WaitWeight{{WaitSec: 10, Weight: 1}}}}
	object := `{"usage_id":2,"parent":1,"owner":"bob","name":"p","last_updated":"1970-01-01T00:00:00.000",` +
		`"auth":{"threshold":2,"keys":[],"accounts":[],"waits":[{"wait_sec":10,"weight":1}]}}`
	for _, c := range []struct {
		want string
		fn   func(l *Logger)
	}{
		{"SWITCH_FORK " + hexID + " " + strings.Repeat("00", 32), func(l *Logger) { l.SwitchForks(id, types.Checksum256{}) }},
		{"TRX_OP CREATE onerror " + hex.EncodeToString(trxID[:]) + " " + hex.EncodeToString(packed) +
			"0000", func(l *Logger) {
			handler := trx
			handler.Actions = []types.Action{{Name: n("onerror")}}
			l.OnError(&handler)
		}},
		{"TRX_OP CREATE onblock " + hex.EncodeToString(trxID[:]) + " " + hex.EncodeToString(packed) + "010007" +
			strings.Repeat("00", 64) + "00",
			func(l *Logger) { l.Onblock(&trx, signed) }},
		{"CREATION_OP NOTIFY 0", func(l *Logger) { l.RequireRecipient() }},
		{"CREATION_OP INLINE 1", func(l *Logger) { l.EndAction(); l.SendInline() }},
		{"CREATION_OP CFA_INLINE 2", func(l *Logger) { l.EndAction(); l.EndAction(); l.SendContextFreeInline() }},
		{"CREATION_OP ROOT 0", func(l *Logger) { l.EndAction(); l.StartTransaction(); l.InputAction() }},
		{"CREATION_OP ROOT 0", func(l *Logger) { l.EndAction(); l.EndTransaction(); l.InputAction() }},
		{"DTRX_OP MODIFY_CANCEL 0" + place + "abcd", func(l *Logger) { l.CancelDeferred("MODIFY_CANCEL", d) }},
		{"DTRX_OP CREATE 0" + place + "abcd", func(l *Logger) { l.CreateDeferred("CREATE", d, nil) }},
		{"DTRX_OP PUSH_CREATE 0" + place + hex.EncodeToString(packed) + "010007" + strings.Repeat("00", 64) + "00",
			func(l *Logger) { l.CreateDeferred("PUSH_CREATE", d, signed) }},
		{"DTRX_OP FAILED 0", func(l *Logger) { l.FailDeferred() }},
		{"RAM_OP 0 generic generic generic generic bob 5000000000 -8", func(l *Logger) { l.RAMUsage(n("bob"), 5000000000, -8) }},
		{"RAM_CORRECTION_OP 0 4 9 bob 20", func(l *Logger) {
			l.RAMEvent("9", "deferred_trx", "correction", "deferred_trx_ram_correction")
			l.RAMCorrection(&state.RAMCorrection{ID: 4, Name: n("bob")}, 20)
		}},
		{"TBL_OP REM 0 code scope table payer", func(l *Logger) { l.RemoveTable(table, n("payer")) }},
		{"DB_OP REM 0 payer code scope table ............1 ff",
			func(l *Logger) { l.RemoveRow(state.RowKey{TableKey: table, Primary: 1}, n("payer"), []byte{0xff}) }},
		{"DB_OP UPD 0 a:b code scope table b :00", func(l *Logger) {
			l.UpdateRow(state.RowKey{TableKey: table, Primary: uint64(n("b"))}, n("a"), n("b"), nil, []byte{0})
		}},
		{`RLIMIT_OP ACCOUNT_LIMITS UPD {"owner":"bob","net_weight":5,"cpu_weight":"-5000000000","ram_bytes":"5000000000"}`,
			func(l *Logger) {
				l.SetAccountLimits(&state.ResourceLimits{Owner: n("bob"), NetWeight: 5, CPUWeight: -5000000000,
					RAMBytes: 5000000000})
			}},
		{"PERM_OP REM 0 3 " + object, func(l *Logger) { l.RemovePermission(&p, 1) }},
		{`PERM_OP UPD 0 3 {"old":` + object + `,"new":` + object + "}", func(l *Logger) { l.ModifyPermission(&p, &p, 1) }},
	} {
		if got := logOf(c.fn); got != "DMLOG "+c.want+"\n" {
			t.Errorf("instead of\nDMLOG %s\nwas said\n%s", c.want, got)
		}
	}
	config := logOf(func(l *Logger) { l.UpdateResourceConfig(&state.ResourceConfig{}) })
	if !strings.HasPrefix(config, `DMLOG RLIMIT_OP CONFIG UPD {"cpu_limit_parameters":{`) {
		t.Error(config)
	}
}

// An event names one change only.
func TestAnEventIsUsedUp(t *testing.T) {
	got := logOf(func(l *Logger) {
		l.RAMEvent("bob", "account", "add", "newaccount")
		l.RAMUsage(n("bob"), 1, 1)
		l.RAMUsage(n("bob"), 2, 1)
	})
	if want := "DMLOG RAM_OP 0 bob account add newaccount bob 1 1\nDMLOG RAM_OP 0 generic generic generic " +
		"generic bob 2 1\n"; got != want {
		t.Errorf("%s", got)
	}
}

func TestTimesAreLeftOutWhereTheyAreNotWanted(t *testing.T) {
	trace := &types.TransactionTrace{Elapsed: 5, ActionTraces: []types.ActionTrace{{Elapsed: 7}}}
	var with, without bytes.Buffer
	New(&with, Options{}).AppliedTransaction(3, trace)
	New(&without, Options{ZeroElapsed: true}).AppliedTransaction(3, trace)
	trace.Elapsed, trace.ActionTraces[0].Elapsed = 0, 0
	var zero bytes.Buffer
	New(&zero, Options{}).AppliedTransaction(3, trace)
	if with.String() == without.String() || without.String() != zero.String() {
		t.Error("times are not what was asked for")
	}
}

type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errors.New("pipe is closed")
	}
	return len(p), nil
}

func TestALogWithAHoleIsNotGoneOnWith(t *testing.T) {
	failures := 0
	w := &broken{left: 2}
	l := New(w, Options{Failed: func(error) { failures++ }})
	for i := range uint32(5) {
		l.StartBlock(i)
	}
	w.left = 10
	l.StartBlock(9)
	if failures != 1 || l.Err() == nil || w.left != 10 {
		t.Errorf("%d failures, error %v", failures, l.Err())
	}
}
