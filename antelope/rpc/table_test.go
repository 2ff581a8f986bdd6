package rpc_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
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
				f.index(state.Index256, at(2), primary, 0x0202020202020202*i, 0x0101010101010101*i,
					0x0404040404040404*i, 0x0303030303030303*i)
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
	tablesNode(t).start(nodeoshttp.Options{}).play("table_rows.txt")
}

func TestScopesAreListedInBothDirections(t *testing.T) {
	tablesNode(t).start(nodeoshttp.Options{}).play("table_scopes.txt")
}

func TestBalancesAndStatistics(t *testing.T) {
	tablesNode(t).start(nodeoshttp.Options{}).play("balances.txt")
}

// Whoever asks for more after the time was up gets the rows that are left, each
// once.
func TestPagesAreWholeWhenTheTimeIsUp(t *testing.T) {
	n := tablesNode(t)
	n.config.MaxResponseTime = time.Hour
	n.start(nodeoshttp.Options{})
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

// manyFound says that very many permissions name whatever is asked for.
type manyFound struct{ read int }

func (m *manyFound) Accounts(
	_ *state.View, _ []types.PermissionLevel, _ []types.PublicKey, more func(int) error,
) ([]rpc.Authorized, error) {
	for {
		m.read++
		if err := more(1); err != nil {
			return nil, err
		}
	}
}

// What nodeos answers with all there is ends when it takes too long, or too much memory before it is there.
func TestAnswersThatHaveNoPartsAreBounded(t *testing.T) {
	const authorizers = `{"accounts":["alice"],"keys":[]}`
	n, found := tablesNode(t), new(manyFound)
	n.config.MaxResponseTime, n.config.WholeTime, n.config.Authorizers = 0, 1, found
	n.start(nodeoshttp.Options{})
	const late = "there is too much to answer with all of it"
	for _, symbol := range []string{"", `,"symbol":"NONE"`} {
		n.contains("/v1/chain/get_currency_balance", `{"code":"code","account":"payer"`+symbol+`}`, 500, late)
	}
	n.contains("/v1/chain/get_currency_stats", `{"code":"code","symbol":"A"}`, 500, late)
	n.contains("/v1/chain/get_accounts_by_authorizers", authorizers, 500, late)
	n, found = tablesNode(t), new(manyFound)
	n.config.Authorizers = found
	n.start(nodeoshttp.Options{MaxBytesInFlight: 1 << 20})
	n.contains("/v1/chain/get_accounts_by_authorizers", authorizers, 503, "bytes in flight")
	if found.read > 1<<13 {
		t.Errorf("%d permissions are found for an answer that may have a MiB", found.read)
	}
}

func TestNumbersOfAllSizesAreReadAlike(t *testing.T) {
	n := tablesNode(t)
	n.start(nodeoshttp.Options{})
	for bound, want := range map[string]int{
		"": 200, "0": 200, "0x": 200, "-": 200, "-1": 200, "017": 200, "-0xff": 200, strings.Repeat("9", 1000): 200,
		"-+5": 500, "+5": 500, "--5": 500, "08": 500, "0xg": 500, "1_0": 500, " 1": 500, strings.Repeat("9", 1001): 500,
	} {
		for position, typ := range map[int]string{3: "i128", 4: "i256"} {
			if got, body := n.rowsOf(fmt.Sprintf(`"index_position":%d,"key_type":%q,"lower_bound":%q`, position, typ,
				bound)); got != want {
				t.Errorf("%s %q: %d %s", typ, bound, got, body)
			}
		}
	}
}
