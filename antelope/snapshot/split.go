package snapshot

import (
	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/state"
)

// From version 8 on the tables of contracts have a section, and after it their rows proper and each
// kind of secondary index have one: for each table with such rows a row with its number in the first
// section, a row with how many there are, and these.

// indexSection is the section of a kind of secondary index.
func indexSection(k state.Kind) string {
	return chainPrefix + [state.Kinds]string{
		state.Index64: "index64_object", state.Index128: "index128_object", state.Index256: "index256_object",
		state.IndexDouble: "index_double_object", state.IndexLongDouble: "index_long_double_object",
	}[k]
}

// ordinalRow is the number of a table in its section.
type ordinalRow uint64

func (r *ordinalRow) Append(b []byte) []byte { return serial.AppendUint64(b, uint64(*r)) }

func (r *ordinalRow) Read(s *serial.Reader) { *r = ordinalRow(s.Uint64()) }

func (r *ordinalRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.appendUnsigned(uint64(*r))
	return d.b
}

// tables writes the section of contracts' tables.
func (e *exporter) tables() error {
	var row tableRow
	return e.view.Tables.EachByID(func(t *state.ContractTable) error {
		row.ContractTable = *t
		return e.Row(&row)
	})
}

// contractSections are those of the rows of contracts' tables.
func (e *exporter) contractSections() []written {
	list := []written{{valueSection, func() error {
		return e.eachTable(func(t *state.ContractTable) (countRow, error) {
			counts, err := e.count(t)
			return counts[0], err
		}, e.values)
	}}}
	for k := range state.Kind(state.Kinds) {
		list = append(list, written{indexSection(k), func() error {
			return e.eachTable(func(t *state.ContractTable) (countRow, error) { return e.countIndex(t, k) },
				func(t *state.ContractTable, n countRow) error { return e.indexRows(t, k, n) })
		}})
	}
	return list
}

// eachTable writes a section: count says how many of its rows a table has, and rows writes their
// number and them.
func (e *exporter) eachTable(
	count func(*state.ContractTable) (countRow, error), rows func(*state.ContractTable, countRow) error,
) error {
	next := ordinalRow(0)
	return e.view.Tables.EachByID(func(t *state.ContractTable) error {
		ordinal := next
		next++
		n, err := count(t)
		if err != nil || n == 0 {
			return err
		}
		if err := e.Row(&ordinal); err != nil {
			return err
		}
		return rows(t, n)
	})
}

// tables are the contracts' tables of a snapshot from version 8 on, while their rows are loaded.
type tables struct {
	left []uint32 // rows that are to come, by the number of the table; nil in older versions
	at   *Section // the section of tables, read again beside the rows'
	next uint64   // the number of the table that at reads next
	row  tableRow
}

// contractSections are those of contracts' tables and their rows.
func (l *loader) contractSections() []loaded {
	list := []loaded{{tableSection, l.splitTable}, {valueSection, func(s *Section) error {
		return l.rowsOf(s, func(key state.TableKey) (uint64, error) { return l.values(s, key) })
	}}}
	for k := range state.Kind(state.Kinds) {
		list = append(list, loaded{indexSection(k), func(s *Section) error {
			return l.rowsOf(s, func(key state.TableKey) (uint64, error) { return l.indexRows(s, key, k) })
		}})
	}
	return list
}

// splitTable loads a table without its rows.
func (l *loader) splitTable(s *Section) error {
	var row tableRow
	if err := l.next(s, &row); err != nil {
		return err
	}
	l.tables.left = append(l.tables.left, row.Count)
	_, err := l.s.Tables.Create(row.Key, row.ContractTable)
	return err
}

// rowsOf loads a table's rows of a section. Tables come in ascending order, so that the section that
// names them is read beside it.
func (l *loader) rowsOf(s *Section, rows func(state.TableKey) (uint64, error)) error {
	first := l.nth == 0
	var ordinal ordinalRow
	if err := l.next(s, &ordinal); err != nil {
		return err
	}
	key, err := l.tables.find(l.Reader, uint64(ordinal), first)
	if err != nil {
		return err
	}
	n, err := rows(key)
	if err != nil {
		return err
	}
	left := &l.tables.left[ordinal]
	if n > uint64(*left) {
		return l.wrongTable(key, "more")
	}
	*left -= uint32(n)
	return nil
}

// find is the table of a number, above that of the call before unless it is the first one of a section.
func (t *tables) find(r *Reader, ordinal uint64, first bool) (key state.TableKey, err error) {
	if first {
		t.next = 0
		if t.at, err = r.Section(tableSection); err != nil {
			return key, err
		}
	}
	if ordinal < t.next || ordinal >= uint64(len(t.left)) {
		return key, exception.New(exception.Snapshot, "rows of table ${ordinal} of ${tables} are not in order",
			"ordinal", ordinal, "tables", len(t.left))
	}
	for ; t.next <= ordinal; t.next++ {
		if err := t.at.Next(&t.row); err != nil {
			return key, err
		}
	}
	return t.row.Key, nil
}

// checkTables makes sure that each table has as many rows as it counts.
func (l *loader) checkTables() error {
	for ordinal, left := range l.tables.left {
		if left > 0 {
			key, err := l.tables.find(l.Reader, uint64(ordinal), true)
			if err != nil {
				return err
			}
			return l.wrongTable(key, "fewer")
		}
	}
	return nil
}

func (l *loader) wrongTable(key state.TableKey, than string) error {
	return exception.New(exception.Snapshot, "table ${table} of ${code} in scope ${scope} has "+than+
		" rows than it counts",
		"table", key.Table, "code", key.Code, "scope", key.Scope)
}
