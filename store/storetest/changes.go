package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tarn/store"
)

// changedRow is a row of a table, by the table's name.
type changedRow struct{ table, key string }

// collectChanges collects what the store says that its head changed: the value of each row, nil for
// one that is gone.
func collectChanges(s store.Store) (map[changedRow]*string, error) {
	names := make(map[store.Table]string)
	for _, t := range s.Tables() {
		names[t.ID] = t.Name
	}
	rows := make(map[changedRow]*string)
	collect := func(t store.Table, key, value []byte, present bool) error {
		at := changedRow{names[t], string(key)}
		if _, twice := rows[at]; twice {
			return fmt.Errorf("row %s of table %s is told twice", quote(at.key), at.table)
		}
		rows[at] = nil
		if present {
			rows[at] = new(string(value))
		}
		return nil
	}
	for table := range names { // one table at a time tells as much as all at once
		if err := s.Changes(func(t store.Table) bool { return t == table }, collect); err != nil {
			return nil, err
		}
	}
	some := rows
	rows = make(map[changedRow]*string)
	err := s.Changes(nil, collect)
	if err == nil {
		err = sameChanges(some, rows)
	}
	return rows, err
}

// differences are the rows in which a state differs from the one before it.
func differences(before, after state) map[changedRow]*string {
	rows := make(map[changedRow]*string)
	for t, name := range after.names {
		var was []row
		if t < len(before.tables) {
			was = before.tables[t]
		}
		for _, r := range after.tables[t] {
			if i, ok := find(was, r.key); !ok || was[i].value != r.value {
				rows[changedRow{name, r.key}] = new(r.value)
			}
		}
		for _, r := range was {
			if _, ok := find(after.tables[t], r.key); !ok {
				rows[changedRow{name, r.key}] = nil
			}
		}
	}
	return rows
}

func (opChanges) do(r *run) error {
	got, err := collectChanges(r.s)
	switch {
	case r.m.depth() > 0:
		return differ(err, store.ErrSessionOpen)
	case len(r.m.undoable) == 0:
		return differ(err, store.ErrNothingToUndo)
	case err != nil:
		return err
	}
	maps.DeleteFunc(got, func(at changedRow, _ *string) bool { return isInternal(at.table) })
	return sameChanges(got, differences(r.m.undoable[len(r.m.undoable)-1], r.m.state))
}

func sameChanges(got, want map[changedRow]*string) error {
	for at, value := range want {
		told, ok := got[at]
		if !ok || (told == nil) != (value == nil) || told != nil && *told != *value {
			return fmt.Errorf("change of row %s of table %s is told as %s, should be %s",
				quote(at.key), at.table, describe(told, ok), describe(value, true))
		}
	}
	for at, told := range got {
		if _, ok := want[at]; !ok {
			return fmt.Errorf("row %s of table %s did not change, is told as %s",
				quote(at.key), at.table, describe(told, true))
		}
	}
	return nil
}

func describe(value *string, told bool) string {
	switch {
	case !told:
		return "unchanged"
	case value == nil:
		return "gone"
	}
	return quote(*value)
}

func changesTold(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "0")
	x.put("b", "0")
	x.put("c", "0")
	want := func(rows string) {
		t.Helper()
		got, err := collectChanges(x)
		x.must(err)
		var list []string
		for at, value := range got {
			list = append(list, fmt.Sprintf("%s %s %s", at.table, at.key, describe(value, true)))
		}
		slices.Sort(list)
		if s := strings.Join(list, "; "); s != rows {
			t.Fatalf("the head changed %q, should be %q", s, rows)
		}
	}
	_, err := collectChanges(x)
	wantError(t, "changes without a revision", err, store.ErrNothingToUndo)
	x.begin()
	x.put("a", "1") // twice
	x.put("a", "2")
	x.begin() // taken back
	x.del("b")
	x.put("e", "5")
	x.undo()
	x.del("c")
	x.put("d", "4") // and gone again
	x.del("d")
	x.put("b", "0") // as before
	_, err = collectChanges(x)
	wantError(t, "changes in a session", err, store.ErrSessionOpen)
	x.push()
	name := x.name(x.rows)
	want(fmt.Sprintf("%s a %s; %s c gone", name, quote("2"), name))
	x.revision("f", "")
	want(fmt.Sprintf("%s f %s", name, quote("")))
	x.begin() // each row once, which a store may note
	x.put("a", "2")
	x.put("b", "9")
	x.begin() // taken back
	x.put("h", "8")
	x.undo()
	x.begin()
	x.del("f")
	wantError(t, "a row that is not there", x.Delete(x.rows, []byte("x")), store.ErrNotFound)
	x.put("g", "7")
	x.must(x.Squash())
	x.push()
	want(fmt.Sprintf("%s b %s; %s f gone; %s g %s", name, quote("9"), name, name, quote("7")))
	x.undo()
	want(fmt.Sprintf("%s f %s", name, quote("")))
	x.undo()
	want(fmt.Sprintf("%s a %s; %s c gone", name, quote("2"), name))
	x.checkpoint()
	x.commit(1)
	_, err = collectChanges(x)
	wantError(t, "changes of an irreversible revision", err, store.ErrNothingToUndo)
}

// name is a table's.
func (x *subject) name(t store.Table) string {
	for _, i := range x.Tables() {
		if i.ID == t {
			return i.Name
		}
	}
	return ""
}
