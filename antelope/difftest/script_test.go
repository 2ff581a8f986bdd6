package difftest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/store/page"
	"tarn/store/revision"
)

// endScripts step back from the ends of tables that were removed, and print the
// iterator and the primary key that they get. Each is a transaction.
func endScripts() (list []*script) {
	type step func(s *script)
	const rows, ends = 10, 20 // registers, by scope
	primary, idx64 := indexKinds()[0], indexKinds()[1]
	store := func(k indexKind, scope int, id uint64) step {
		return func(s *script) {
			operands := []operand{pointer(scope), nameOperand("tab"), register(receiverRegister), number(id),
				pointer(scratchAt + 8)}
			if k == primary {
				operands = append(operands, number(4))
			}
			s.call(k.function("store"), rows+scope, operands...)
		}
	}
	find := func(scope int, id uint64) step {
		return func(s *script) {
			s.call("db_find_i64", rows+scope, register(receiverRegister), pointer(scope),
				nameOperand("tab"), number(id))
		}
	}
	end := func(k indexKind, scope int) step {
		return func(s *script) {
			s.call(k.function("end"), ends+scope, register(receiverRegister), pointer(scope), nameOperand("tab"))
		}
	}
	remove := func(k indexKind, scope int) step {
		return func(s *script) { s.call(k.function("remove"), -1, register(rows+scope)) }
	}
	previous := func(k indexKind, scope int) step {
		return func(s *script) {
			s.call(k.function("previous"), 5, register(ends+scope), pointer(scratchAt))
			s.call("printi", -1, register(5))
			s.call("prints", -1, pointer(s.data([]byte(":\x00"))))
			s.call("printhex", -1, pointer(scratchAt), number(1))
			s.call("prints", -1, pointer(s.data([]byte(" \x00"))))
		}
	}
	for _, steps := range [][]step{
		{store(primary, 1, 1), end(primary, 1), remove(primary, 1), store(primary, 2, 7), previous(primary, 1), remove(primary, 2)},
		{store(primary, 1, 1), end(primary, 1), remove(primary, 1), previous(primary, 1)},
		{store(idx64, 1, 1), end(idx64, 1), remove(idx64, 1), store(idx64, 2, 7), previous(idx64, 1), remove(idx64, 2)},
		// The last removed is the first whose place is taken.
		{
			store(primary, 1, 1), store(primary, 2, 2), end(primary, 1), end(primary, 2), remove(primary, 1),
			remove(primary, 2),
			store(primary, 3, 3), previous(primary, 1), previous(primary, 2), store(primary, 4, 4),
			previous(primary, 1), previous(primary, 2),
		},
		// The table itself, made again.
		{store(primary, 1, 1), end(primary, 1), remove(primary, 1), store(primary, 1, 9), previous(primary, 1), remove(primary, 1)},
		// A table that has no rows in the iterator's index.
		{store(primary, 1, 1), end(primary, 1), remove(primary, 1), store(idx64, 2, 7), previous(primary, 1), remove(idx64, 2)},
		// Tables that are older than the transaction.
		{find(3, 3), end(primary, 3), remove(primary, 3), store(primary, 1, 1), previous(primary, 3), previous(primary, 3), remove(primary, 1)},
		{
			find(4, 4), end(primary, 4), store(primary, 1, 1), end(primary, 1), remove(primary, 1), remove(primary, 4),
			store(primary, 2, 2), previous(primary, 4), previous(primary, 1), remove(primary, 2),
		},
	} {
		s := newScript(0, 0)
		for _, f := range steps {
			f(s)
		}
		list = append(list, s)
	}
	return list
}

// endsPrinted is what nodeos 4.1 prints of them.
const endsPrinted = "1:07; 4294967295:00; 1:07; 4294967295:00 2:03 3:04 2:03; 1:09; 4294967295:00; " +
	"4294967295:00 4294967295:00; 4294967295:00 2:02"

// newMaker makes a chain in memory, until the test ends.
func newMaker(t *testing.T, o chain.Options) *chaintest.Maker {
	t.Helper()
	e, err := page.OpenVolatile(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	st, err := revision.Open(e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := chaintest.New(st, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close(); st.Close() })
	return m
}

func TestTheEndOfARemovedTableIsThatOfTheTableInItsPlace(t *testing.T) {
	m := newMaker(t, chain.Options{Options: execute.Options{Console: true}})
	account := types.N("scripta")
	noFeature := func(string) bool { return false }
	if _, err := m.Block(m.CreateAccount(account), chaintest.SetCode(account, scriptContract(noFeature))); err != nil {
		t.Fatal(err)
	}
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	var printed []string
	for _, s := range endScripts() {
		trace, err := m.Push(s.action(account, level(account, active)))
		if err != nil {
			t.Fatal(err)
		}
		printed = append(printed, strings.TrimSpace(trace.ActionTraces[0].Console))
	}
	if got := strings.Join(printed, "; "); got != endsPrinted {
		t.Errorf("printed\n%s, nodeos\n%s", got, endsPrinted)
	}
}

func TestNodeosPrintsWhatIsExpectedOfTheEndsOfRemovedTables(t *testing.T) {
	t.Parallel()
	var printed []string
	w := Workload{Name: "ends", Run: func(d *Driver, _ time.Time) error {
		if _, err := d.bootScripts(false); err != nil {
			return err
		}
		account := scriptAccounts()[0]
		for _, s := range endScripts() {
			raw, err := d.Send(Tx{Actions: []types.Action{s.action(account, level(account, active))}})
			if err != nil {
				return err
			}
			var answer struct {
				Processed struct {
					Actions []struct{ Console string } `json:"action_traces"`
				}
			}
			if err := json.Unmarshal(raw, &answer); err != nil {
				return err
			}
			printed = append(printed, strings.TrimSpace(answer.Processed.Actions[0].Console))
		}
		return nil
	}}
	if _, err := peer(t).Record(t.Context(), w, 1, time.Second, t.TempDir(), lines{t}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(printed, "; "); got != endsPrinted {
		t.Errorf("nodeos prints\n%s, expected\n%s", got, endsPrinted)
	}
}
