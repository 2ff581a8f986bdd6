package contracts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/abi"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/difftest"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/contracts"
	"tarn/store/page"
	"tarn/store/revision"
)

// network is a chain with boot on eosio and all features active.
type network struct {
	*chaintest.Maker
	t *testing.T
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	rows, err := page.OpenVolatile(256 << 20)
	must(t, err)
	st, err := revision.Open(rows)
	must(t, err)
	t.Cleanup(func() { st.Close() })
	m, err := chaintest.New(st, chain.Options{})
	must(t, err)
	t.Cleanup(func() { m.Chain.Close() })
	n := &network{m, t}
	set := m.Chain.Features()
	must(t, m.ActivatePreactivation(set))
	actions := []types.Action{chaintest.SetCode(types.N("eosio"), contracts.Boot().Code)}
	for _, c := range feature.Codenames() {
		if digest, ok := set.Digest(c); ok && c != feature.PreactivateFeature {
			actions = append(actions, n.action("eosio", "activate", "eosio", digest[:]))
		}
	}
	_, err = m.Block(actions...)
	must(t, err)
	protocol, err := m.Chain.State().Protocol.Get()
	must(t, err)
	must(t, m.StartBlock(slices.Clone(protocol.Preactivated)...))
	_, err = m.EndBlock()
	must(t, err)
	return n
}

// action is one of a contract, authorised by some actors.
func (n *network) action(contract, name, actors string, data []byte) types.Action {
	a := types.Action{Account: types.N(contract), Name: types.N(name), Data: data}
	for _, actor := range strings.Fields(actors) {
		a.Authorization = append(a.Authorization,
			types.PermissionLevel{Actor: types.N(actor), Permission: types.N("active")})
	}
	return a
}

// try makes a block of one action, and tells who was told of it or what went wrong.
func (n *network) try(a types.Action) string {
	n.t.Helper()
	must(n.t, n.StartBlock())
	trace, err := n.Push(a)
	said := ""
	switch e := exception.Of(err); {
	case e != nil && trace != nil && trace.Except != nil && trace.Except.Cause != nil:
		said = trace.Except.Error()
	case e != nil:
		said = e.Error()
	case err != nil:
		n.t.Fatal(err)
	default:
		for _, x := range trace.ActionTraces {
			said += fmt.Sprint(" ", x.Receiver)
			for _, d := range x.AccountRAMDeltas {
				said += fmt.Sprintf(" [%s%+d]", d.Account, d.Delta)
			}
		}
	}
	_, err = n.EndBlock()
	must(n.t, err)
	return strings.TrimSpace(said)
}

// rows are the payers and values of a table.
func (n *network) rows(code, scope uint64, table string) (list []string) {
	n.t.Helper()
	must(n.t, n.Chain.Publish())
	v, err := n.Chain.View()
	must(n.t, err)
	defer v.Close()
	k := state.RowKey{TableKey: state.TableKey{Code: types.Name(code), Scope: types.Name(scope), Table: types.N(table)}}
	must(n.t, v.WalkRows(k, false, func(primary uint64, payer types.Name, value []byte) (bool, error) {
		list = append(list, fmt.Sprintf("%s %#x %s %x", table, primary, payer, value))
		return true, nil
	}))
	return list
}

// arguments is a token action's data: names, assets such as "1.00 TOK", symbols such
// as 2,TOK, the rest as memos in quotes.
func arguments(t *testing.T, text string) (b []byte) {
	t.Helper()
	for _, f := range strings.Split(text, "; ") {
		switch {
		case f == "":
		case f[0] == '\'':
			b = serial.AppendString(b, strings.Trim(f, "'"))
		case f[0] == '$': // an amount and a symbol of any value
			var amount int64
			var symbol uint64
			if _, err := fmt.Sscanf(f, "$%d %v", &amount, &symbol); err != nil {
				t.Fatal(f, err)
			}
			b = serial.AppendUint64(serial.AppendInt64(b, amount), symbol)
		case strings.Contains(f, ","):
			s, err := types.ParseSymbol(f)
			must(t, err)
			b = s.Append(b)
		case strings.Contains(f, " "):
			a, err := types.ParseAsset(f)
			must(t, err)
			b = a.Append(b)
		default:
			b = types.N(f).Append(b)
		}
	}
	return b
}

// steps are what is done with a token contract, and what comes of it.
var steps = []struct{ action, actors, data, want string }{
	{"issue", "issuer", "issuer; 1.00 TOK; ''", "token with symbol does not exist, create token before issue"},
	{"create", "alice", "issuer; 1000.00 TOK", "missing authority of token"},
	{"create", "token", "issuer; $100 0x4b4f5402", "ok token"}, // 1.00 TOK
	{"create", "token", "issuer; 1000.00 TOK", "token with symbol already exists"},
	{"create", "token", "issuer; 0.00 TOZ", "max-supply must be positive"},
	{"create", "token", "issuer; -1.00 TOZ", "max-supply must be positive"},
	{"create", "token", "issuer; $4611686018427387904 0x5a4f5402", "invalid supply"},
	{"create", "token", "issuer; $-4611686018427387904 0x5a4f5402", "invalid supply"},
	{"create", "token", "issuer; $1 0x02", "invalid symbol name"},
	{"create", "token", "issuer; $1 0x7a4f5402", "invalid symbol name"},
	{"create", "token", "issuer; $1 0x5a00005402", "invalid symbol name"},
	{"create", "token", "issuer; $1 0x405402", "invalid symbol name"},
	{"create", "token", "issuer; $1 0x5b5402", "invalid symbol name"},
	{"create", "token", "issuer; $4611686018427387903 0x5a5a5a5a5a5a4100", "ok token"},
	{"create", "token", "issuer; 1000000.0000 SYS", "ok token"},
	{"create", "token", "issuer", "datastream attempted to read past the end"},

	{"issue", "issuer", "alice; 1.0000 SYS; 'x'", "tokens can only be issued to issuer account"},
	{"issue", "alice", "issuer; 1.0000 SYS; 'x'", "missing authority of issuer"},
	{"issue", "issuer", "issuer; 0.0000 SYS; 'x'", "must issue positive quantity"},
	{"issue", "issuer", "issuer; -1.0000 SYS; 'x'", "must issue positive quantity"},
	{"issue", "issuer", "issuer; 1.000 SYS; 'x'", "symbol precision mismatch"},
	{"issue", "issuer", "issuer; $-4611686018427387904 0x53595304; 'x'", "invalid quantity"},
	{"issue", "issuer", "issuer; $1 0x53005304; 'x'", "invalid symbol name"},
	{"issue", "issuer", "issuer; 1000000.0001 SYS; 'x'", "quantity exceeds available supply"},
	{"issue", "issuer", "issuer; 1.0000 SYS; '" + strings.Repeat("m", 257) + "'", "memo has more than 256 bytes"},
	{"issue", "issuer", "issuer; 1.0000 SYS; '" + strings.Repeat("m", 300) + "'", "memo has more than 256 bytes"},
	{"issue", "issuer", "issuer; 500000.0000 SYS; '" + strings.Repeat("m", 256) + "'", "ok token"},
	{"issue", "issuer", "issuer; 500000.0001 SYS; ''", "quantity exceeds available supply"},
	{"issue", "issuer", "issuer; 1.0000 SYS; ''", "ok token"},

	{"transfer", "issuer", "issuer; alice; 100.0000 SYS; 'hello'", "ok token issuer alice"},
	{"transfer", "issuer", "issuer; issuer; 100.0000 SYS; 'hello'", "cannot transfer to self"},
	{"transfer", "alice", "issuer; alice; 100.0000 SYS; 'hello'", "missing authority of issuer"},
	{"transfer", "alice", "alice; nobody; 1.0000 SYS; 'hello'", "to account does not exist"},
	{"transfer", "alice", "alice; bob; 100.0001 SYS; 'hello'", "overdrawn balance"},
	{"transfer", "bob", "bob; alice; 0.0001 SYS; 'hello'", "no balance object found"},
	{"transfer", "alice", "alice; bob; 1.0000 NIX; 'hello'", "unable to find key"},
	{"transfer", "alice", "alice; bob; 0.0000 SYS; 'hello'", "must transfer positive quantity"},
	{"transfer", "alice", "alice; bob; -1.0000 SYS; 'hello'", "must transfer positive quantity"},
	{"transfer", "alice", "alice; bob; $-4611686018427387905 0x53595304; 'hello'", "invalid quantity"},
	{"transfer", "alice", "alice; bob; 1.00 SYS; 'hello'", "symbol precision mismatch"},
	{"transfer", "alice", "alice; bob; 1.0000 SYS; '" + strings.Repeat("m", 257) + "'", "memo has more than 256 bytes"},
	{"transfer", "alice", "alice; bob; 1.0000 SYS; '" + strings.Repeat("m", 100) + "'", "ok token alice bob"}, // alice pays for both rows
	{"transfer", "alice carol", "alice; carol; 1.0000 SYS; ''", "ok token alice carol"},                       // carol pays for hers
	{"transfer", "alice", "alice; bob; 1.0000 SYS; ''", "ok token alice bob"},
	{"transfer", "bob", "bob; alice; 2.0000 SYS; ''", "ok token bob alice"}, // bob's row is his now
	{"transfer", "alice", "alice; bob; 1.0000 SYS", "datastream attempted to read past the end"},

	{"open", "alice", "dave; 4,SYS; alice", "ok token"},
	{"open", "alice", "dave; 4,SYS; alice", "ok token"}, // it is there
	{"open", "alice", "dave; 3,SYS; alice", "symbol precision mismatch"},
	{"open", "alice", "dave; 4,NIX; alice", "symbol does not exist"},
	{"open", "alice", "nobody; 4,SYS; alice", "owner account does not exist"},
	{"open", "alice", "dave; 4,SYS; dave", "missing authority of dave"},
	{"transfer", "alice", "alice; dave; 0.0001 SYS; ''", "ok token alice dave"}, // alice's row stays hers
	{"close", "dave", "dave; 4,SYS", "Cannot close because the balance is not zero."},
	{"transfer", "dave", "dave; alice; 0.0001 SYS; ''", "ok token dave alice"},
	{"close", "alice", "dave; 4,SYS", "missing authority of dave"},
	{"close", "dave", "dave; 4,SYS", "ok token"},
	{"close", "dave", "dave; 4,SYS", "Balance row already deleted or never existed. Action won't have any effect."},

	{"retire", "issuer", "100.0000 SYS; 'gone'", "ok token"},
	{"retire", "issuer", "1000000.0000 SYS; 'gone'", "overdrawn balance"},
	{"retire", "alice", "1.0000 SYS; 'gone'", "missing authority of issuer"},
	{"retire", "issuer", "0.0000 SYS; 'gone'", "must retire positive quantity"},
	{"retire", "issuer", "1.00 SYS; 'gone'", "symbol precision mismatch"},
	{"retire", "issuer", "1.00 NIX; 'gone'", "token with symbol does not exist"},
	{"retire", "issuer", "$1 0x53005304; 'gone'", "invalid symbol name"},
	{"retire", "issuer", "1.0000 SYS; '" + strings.Repeat("m", 257) + "'", "memo has more than 256 bytes"},
	{"nothing", "issuer", "", "assertion failure with error code: 8000000000000000000"},
}

// play does the steps with a contract, and returns what came of each and all rows
// after it.
func play(t *testing.T, code []byte) (results, rows []string) {
	n := newNetwork(t)
	actions := []types.Action{}
	users := []string{"token", "issuer", "alice", "bob", "carol", "dave"}
	for _, u := range users {
		actions = append(actions, n.CreateAccount(types.N(u)))
	}
	_, err := n.Block(append(actions, chaintest.SetCode(types.N("token"), code))...)
	must(t, err)
	for _, s := range steps {
		results = append(results, n.try(n.action("token", s.action, s.actors, arguments(t, s.data))))
		var all []string
		for _, u := range users {
			all = append(all, fmt.Sprint(u, n.rows(uint64(types.N("token")), uint64(types.N(u)), "accounts")))
		}
		for _, symbol := range []uint64{0x4b4f54, 0x535953, 0x5a5a5a5a5a5a41, 0x5a4f54} {
			all = append(all, n.rows(uint64(types.N("token")), symbol, "stat")...)
		}
		rows = append(rows, strings.Join(all, "\n"))
	}
	return results, rows
}

func TestTheTokenDoesWhatItsInterfaceSays(t *testing.T) {
	results, _ := play(t, contracts.Token().Code)
	for i, s := range steps {
		got := results[i]
		if want, ok := strings.CutPrefix(s.want, "ok "); ok {
			var told []string
			for _, f := range strings.Fields(got) {
				if f[0] != '[' {
					told = append(told, f)
				}
			}
			if strings.Join(told, " ") != want {
				t.Errorf("%s by %s of %.60s: %s, want that %s are told", s.action, s.actors, s.data, got, want)
			}
		} else if !strings.Contains(got, s.want) {
			t.Errorf("%s by %s of %.60s: %s, want %s", s.action, s.actors, s.data, got, s.want)
		}
	}
}

// The same steps leave the same rows of the same payers, and the same words.
func TestTheTokenIsLikeTheOriginal(t *testing.T) {
	peer, err := difftest.Find(context.Background())
	if err != nil {
		t.Skip(err)
	}
	code, text, err := peer.Contract("eosio.token")
	must(t, err)
	ours, ourRows := play(t, contracts.Token().Code)
	theirs, theirRows := play(t, code)
	for i, s := range steps {
		short := strings.Contains(ours[i], "past the end") // others say it in other words
		if ours[i] != theirs[i] && !(short && strings.Contains(theirs[i], "assertion failure")) {
			t.Errorf("%s by %s of %.60s:\n ours  %s\n theirs %s", s.action, s.actors, s.data, ours[i], theirs[i])
		}
		if ourRows[i] != theirRows[i] {
			t.Errorf("after %s by %s of %.60s:\n ours\n%s\n theirs\n%s", s.action, s.actors, s.data,
				ourRows[i], theirRows[i])
		}
	}
	original, err := abi.Parse(string(text))
	must(t, err)
	own, err := abi.Parse(contracts.Token().ABI)
	must(t, err)
	if fmt.Sprint(own.Structs, own.Tables) != fmt.Sprint(original.Structs, original.Tables) {
		t.Errorf("the ABIs differ:\n%+v\n%+v", own, original)
	}
}
