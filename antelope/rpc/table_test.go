package rpc_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/serve"
)

const tableABI = `{"version":"eosio::abi/1.1","structs":[
	{"name":"row","base":"","fields":[{"name":"id","type":"uint64"},{"name":"text","type":"string"}]},
	{"name":"account","base":"","fields":[{"name":"balance","type":"asset"}]},
	{"name":"currency_stats","base":"","fields":[{"name":"supply","type":"asset"},{"name":"max_supply","type":"asset"},{"name":"issuer","type":"name"}]}],
	"tables":[
	{"name":"rows","index_type":"i64","key_names":["id"],"key_types":["uint64"],"type":"row"},
	{"name":"odd","index_type":"i128","key_names":[],"key_types":[],"type":"row"},
	{"name":"accounts","index_type":"i64","key_names":[],"key_types":[],"type":"account"},
	{"name":"stat","index_type":"i64","key_names":[],"key_types":[],"type":"currency_stats"}]}`

// filler writes rows of contracts as if they had been there ever since.
type filler struct {
	t testing.TB
	s *state.State
}

func (f filler) account(name, abi string) {
	f.t.Helper()
	n := types.N(name)
	_, err := f.s.Accounts.Create(n, state.Account{Name: n, Created: 1})
	must(f.t, err)
	_, err = f.s.Metadata.Create(n, state.AccountMetadata{Name: n})
	must(f.t, err)
	if abi != "" {
		must(f.t, f.s.SetABI(n, packedABI(f.t, abi)))
	}
}

func (f filler) table(k state.TableKey, count uint32) {
	f.t.Helper()
	_, err := f.s.Tables.Create(k, state.ContractTable{Key: k, Payer: types.N("payer"), Count: count})
	must(f.t, err)
}

func (f filler) row(k state.TableKey, primary uint64, value []byte) {
	f.t.Helper()
	must(f.t, f.s.PutRow(state.RowKey{TableKey: k, Primary: primary}, types.N("payer"), value))
}

func (f filler) index(kind state.Kind, k state.TableKey, primary uint64, words ...uint64) {
	f.t.Helper()
	r := state.IndexRow{Primary: primary, Payer: types.N("secondpayer")}
	copy(r.Secondary.Words[:], words)
	must(f.t, f.s.PutIndexRow(kind, k, r))
}

func asset(t testing.TB, s string) []byte {
	a, err := types.ParseAsset(s)
	must(t, err)
	return a.Append(nil)
}

// fillTables makes a table of five rows with an index of each kind.
func fillTables(t testing.TB, s *state.State) {
	f := filler{t, s}
	f.account("code", tableABI)
	f.account("noabi", "")
	f.account("payer", "")
	k := table("code", "scope", "rows")
	f.table(k, 5)
	for i := range uint64(5) {
		f.row(k, i*10, serial.AppendString(serial.AppendUint64(nil, i*10), fmt.Sprint("row ", i)))
	}
	at := func(n uint64) state.TableKey { i := k; i.Table |= types.Name(n); return i }
	for n := range uint64(5) {
		if n > 0 {
			f.table(at(n), 5)
		}
		for i := range uint64(5) {
			primary := (4 - i) * 10 // the other way round
			switch n {
			case 0:
				f.index(state.Index64, at(0), primary, i*100)
			case 1:
				f.index(state.Index128, at(1), primary, i, 1)
			case 2:
				f.index(state.Index256, at(2), primary, 0x0202020202020202*i, 0x0101010101010101*i, 0x0404040404040404*i, 0x0303030303030303*i)
			case 3:
				f.index(state.IndexDouble, at(3), primary, math.Float64bits(float64(i)-1.5))
			case 4:
				f.index(state.IndexLongDouble, at(4), primary, 0, (0x3fff+i)<<48)
			}
		}
	}
	accounts := table("code", "payer", "accounts")
	f.table(accounts, 2)
	f.row(accounts, uint64('A'), asset(t, "1.50 A"))
	f.row(accounts, uint64('B'), asset(t, "7 B"))
	stat := state.TableKey{Code: types.N("code"), Scope: types.Name('A'), Table: types.N("stat")}
	f.table(stat, 1)
	f.row(stat, 'A', types.N("payer").Append(append(asset(t, "2.00 A"), asset(t, "100.00 A")...)))
	odd := table("code", "scope", "odd")
	f.table(odd, 1)
	f.row(odd, 1, []byte{1}) // too short for its type
}

func tablesNode(t testing.TB) *node {
	return newNode(t, func(s *state.State) { fillTables(t, s) })
}

// rowsOf asks for rows of the table.
func (n *node) rowsOf(members string) (int, string) {
	n.t.Helper()
	if members != "" {
		members = "," + members
	}
	return n.ask("/v1/chain/get_table_rows", `{"code":"code","scope":"scope","table":"rows"`+members+`}`)
}

func TestRowsOfTablesPrintAsNodeosPrintsThem(t *testing.T) {
	n := tablesNode(t).start(serve.Options{})
	const r = `{"id":%d,"text":"row %d"}`
	row := func(i int) string { return fmt.Sprintf(r, i*10, i) }
	rows := func(more, next string, list ...int) string {
		var s []string
		for _, i := range list {
			s = append(s, row(i))
		}
		return `{"rows":[` + strings.Join(s, ",") + `],"more":` + more + `,"next_key":"` + next + `"}`
	}
	for _, c := range []struct{ members, want string }{
		{``, `{"rows":["000000000000000005726f772030","0a0000000000000005726f772031","140000000000000005726f772032","1e0000000000000005726f772033","280000000000000005726f772034"],"more":false,"next_key":""}`},
		{`"json":true,"show_payer":true,"limit":1`, `{"rows":[{"data":{"id":0,"text":"row 0"},"payer":"payer"}],"more":true,"next_key":"10"}`},
		{`"json":1,"limit":"2"`, rows("true", "20", 0, 1)},
		{`"json":true,"reverse":true,"limit":2`, rows("true", "20", 4, 3)},
		{`"json":true,"lower_bound":10,"upper_bound":"20"`, rows("false", "", 1, 2)},
		{`"json":true,"lower_bound":"11","reverse":true`, rows("false", "", 4, 3, 2)},
		{`"json":true,"upper_bound":"19","reverse":true,"limit":1`, rows("true", "0", 1)},
		{`"json":true,"lower_bound":"30","upper_bound":"20"`, rows("false", "")},
		{`"json":true,"limit":0`, rows("true", "0")},
		{`"json":true,"key_type":"name","upper_bound":"a","limit":1`, rows("true", "10", 0)},
		// eosjs sends all of its defaults.
		{`"json":true,"table_key":"","lower_bound":"","upper_bound":"","index_position":1,"key_type":"","limit":1,"reverse":false,"show_payer":false`, rows("true", "10", 0)},
		{`"json":true,"index_position":"primary","unknown":{"a":[1]},"reverse":null,"time_limit_ms":null,"limit":1`, rows("true", "10", 0)},

		{`"json":true,"index_position":2,"key_type":"i64","limit":2`, rows("true", "200", 4, 3)},
		{`"json":true,"index_position":"secondary","key_type":"i64","lower_bound":"300"`, rows("false", "", 1, 0)},
		{`"json":true,"index_position":"two","key_type":"i64","upper_bound":"199","reverse":true,"limit":1`, rows("true", "0", 3)},
		{`"json":true,"index_position":"2","key_type":"i64","show_payer":true,"upper_bound":"0"`, `{"rows":[{"data":{"id":40,"text":"row 4"},"payer":"secondpayer"}],"more":false,"next_key":""}`},
		{`"json":true,"index_position":"third","key_type":"i128","limit":1`, rows("true", "18446744073709551617", 4)},
		{`"json":true,"index_position":3,"key_type":"i128","lower_bound":"0x10000000000000003"`, rows("false", "", 1, 0)},
		{`"json":true,"index_position":"fourth","key_type":"i256","limit":1`,
			rows("true", "0x0101010101010101020202020202020203030303030303030404040404040404", 4)},
		{`"json":true,"index_position":"4","key_type":"i256","encode_type":"hex","limit":1`,
			rows("true", "0101010101010101020202020202020203030303030303030404040404040404", 4)},
		{`"json":true,"index_position":"4","key_type":"i256","lower_bound":"0x0202020202020202040404040404040406060606060606060808080808080808","limit":1`,
			rows("true", "0x030303030303030306060606060606060909090909090909"+"0c0c0c0c0c0c0c0c", 2)},
		{`"json":true,"index_position":"4","key_type":"sha256","upper_bound":"0101010101010101020202020202020203030303030303030404040404040404","reverse":true,"limit":1`,
			rows("true", strings.Repeat("0", 64), 3)},
		{`"json":true,"index_position":"4","key_type":"ripemd160","lower_bound":"0101010101010101020202020202020203030303","limit":1`,
			rows("true", "0202020202020202040404040404040406060606", 3)},
		{`"json":true,"index_position":"fifth","key_type":"float64","limit":1`, rows("true", "-0.50000000000000000", 4)},
		{`"json":true,"index_position":"5","key_type":"float64","lower_bound":"0.4","upper_bound":1.5`, rows("false", "", 2, 1)},
		{`"json":true,"index_position":"six","key_type":"float128","limit":1`, rows("true", "2.00000000000000000", 4)},
		{`"json":true,"index_position":"6","key_type":"float128","lower_bound":"4"`, rows("false", "", 2, 1, 0)},
		{`"json":true,"index_position":"6","key_type":"float128","encode_type":"hex","lower_bound":"0x40030000000000000000000000000000"`, rows("false", "", 0)},
		{`"json":true,"index_position":"seventh","key_type":"i64"`, rows("false", "")},
	} {
		if code, got := n.rowsOf(c.members); code != 200 || got != c.want {
			t.Errorf("%s\n got %d %s\nwant 200 %s", c.members, code, got, c.want)
		}
	}
	n.expect("/v1/chain/get_table_rows", `{"code":"code","scope":"empty","table":"rows","json":true}`, 200, `{"rows":[],"more":false,"next_key":""}`)
}

func TestScopesAreListedInBothDirections(t *testing.T) {
	n := tablesNode(t).start(serve.Options{})
	const path = "/v1/chain/get_table_by_scope"
	const odd = `{"code":"code","scope":"scope","table":"odd","payer":"payer","count":1}`
	const rows = `{"code":"code","scope":"scope","table":"rows","payer":"payer","count":5}`
	const accounts = `{"code":"code","scope":"payer","table":"accounts","payer":"payer","count":2}`
	n.expect(path, `{"code":"code","limit":3}`, 200, `{"rows":[{"code":"code","scope":"...........41","table":"stat","payer":"payer","count":1},`+accounts+`,`+odd+`],"more":"scope"}`)
	n.expect(path, `{"code":"code","table":"rows"}`, 200, `{"rows":[`+rows+`],"more":""}`)
	n.expect(path, `{"code":"code","table":"accounts","reverse":true}`, 200, `{"rows":[`+accounts+`],"more":""}`)
	n.expect(path, `{"code":"code","lower_bound":"payer","upper_bound":"payer"}`, 200, `{"rows":[`+accounts+`],"more":""}`)
	n.expect(path, `{"code":"code","lower_bound":"scope","upper_bound":"payer"}`, 200, `{"rows":[],"more":""}`)
	n.expect(path, `{"code":"code","limit":1,"reverse":true,"upper_bound":"payer"}`, 200, `{"rows":[`+accounts+`],"more":"...........41"}`)
	n.expect(path, `{"code":"nobody"}`, 200, `{"rows":[],"more":""}`)
}

func TestBalancesAndStatistics(t *testing.T) {
	n := tablesNode(t).start(serve.Options{})
	const balance, stats = "/v1/chain/get_currency_balance", "/v1/chain/get_currency_stats"
	n.expect(balance, `{"code":"code","account":"payer"}`, 200, `["1.50 A","7 B"]`)
	n.expect(balance, `{"code":"code","account":"payer","symbol":"b"}`, 200, `["7 B"]`)
	n.expect(balance, `{"code":"code","account":"payer","symbol":"C"}`, 200, `[]`)
	n.expect(balance, `{"code":"code","account":"code"}`, 200, `[]`)
	n.expect(stats, `{"code":"code","symbol":"a"}`, 200, `{"A":{"supply":"2.00 A","max_supply":"100.00 A","issuer":"payer"}}`)
	n.expect(stats, `{"code":"code","symbol":"B"}`, 200, `{}`)
}

// Whoever asks for more after the time was up gets the rows that are left, each
// once.
func TestPagesAreWholeWhenTheTimeIsUp(t *testing.T) {
	n := tablesNode(t)
	n.config.MaxResponseTime = time.Hour
	n.start(serve.Options{})
	seen, next := 0, "0"
	for next != "" {
		_, got := n.rowsOf(`"time_limit_ms":0,"lower_bound":"` + next + `"`)
		if strings.Count(got, "726f77") != 1 {
			t.Fatalf("from %s: %s", next, got)
		}
		seen++
		_, rest, _ := strings.Cut(got, `"next_key":"`)
		next, _, _ = strings.Cut(rest, `"`)
	}
	if seen != 5 {
		t.Errorf("%d rows", seen)
	}
}
