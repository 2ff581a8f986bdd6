package rpc

import (
	"math"
	"strconv"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

func appendDecimal(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }

// rowsQuery is the parameters of get_table_rows.
type rowsQuery struct {
	json                       bool
	code, table                types.Name
	scope                      string
	lower, upper               string
	keyType, position, encoded string
	limit                      uint32
	reverse, payer             bool
	timeLimit                  *uint32
}

func (p *params) rows() (r rowsQuery, err error) {
	r.json, r.code, r.scope, r.table = p.boolean("json", false), p.name("code"), p.text("scope", ""), p.name("table")
	p.text("table_key", "")
	r.lower, r.upper, r.limit = p.text("lower_bound", ""), p.text("upper_bound", ""), p.uint32("limit", 10)
	r.keyType, r.position, r.encoded = p.text("key_type", ""), p.text("index_position", ""),
		p.text("encode_type", "dec")
	r.reverse, r.payer = p.flag("reverse"), p.flag("show_payer")
	r.timeLimit = p.optionalUint32("time_limit_ms")
	return r, p.end()
}

// flag is an optional bool.
func (p *params) flag(key string) bool {
	if _, ok := p.optional(key); !ok {
		return false
	}
	return p.boolean(key, false)
}

// ordinals are the beginnings of words for secondary indices, and their numbers.
var ordinals = [...]struct {
	prefix string
	number uint64
}{{"sec", 0}, {"ter", 1}, {"th", 1}, {"fou", 2}, {"fi", 3}, {"six", 4}, {"sev", 5}, {"eig", 6}, {"nin", 7}, {"ten", 8}}

// indexNumber returns which secondary index a query is for, or that it is for the
// primary one (Leap: get_table_index_name).
func (r *rowsQuery) indexNumber() (number uint64, primary bool, err error) {
	if r.table&0xf != 0 {
		return 0, false, exception.New(exception.ContractTableQuery, "Unsupported table name: ${n}", "n", r.table)
	}
	switch r.position {
	case "", "first", "primary", "one":
		return 0, true, nil
	case "two":
		return 0, false, nil
	}
	for _, o := range ordinals {
		if strings.HasPrefix(r.position, o.prefix) {
			return o.number, false, nil
		}
	}
	n, err := variant.Of(r.position).AsUint64()
	if err != nil {
		return 0, false, exception.New(exception.ContractTableQuery, "Invalid index_position: ${p}", "p", r.position)
	}
	if n < 2 {
		return 0, true, nil
	}
	return (n - 2) & 0xf, false, nil
}

func (q tables) getTableRows(b []byte) ([]byte, error) {
	r, err := q.rows()
	if err != nil {
		return b, err
	}
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	e, err := q.api.contractABI(v, r.code)
	if err != nil {
		return b, err
	}
	number, primary, err := r.indexNumber()
	if err != nil {
		return b, err
	}
	w := rowWriter{q: q.query, r: &r, e: e, view: v, b: b, watch: q.timeLimit(r.timeLimit), limit: q.itemLimit(r.limit)}
	if primary {
		err = w.primary()
	} else {
		err = w.secondary(number)
	}
	return w.b, err
}

// rowWriter writes the rows of a query as it walks them.
type rowWriter struct {
	q     *query
	r     *rowsQuery
	e     *codecEntry
	view  *state.View
	b     []byte
	watch stopwatch
	limit uint32

	typ    string // of the rows
	clock  clock
	decode func(b, value []byte) ([]byte, error)
	count  uint32
	next   []byte // the key of the row that was left for later, nil if none was
	over   bool
}

// prepare begins the list; it fails if the ABI cannot convert.
func (w *rowWriter) prepare() error {
	w.b = append(w.b, `{"rows":[`...)
	if w.e.err != nil {
		return w.e.err
	}
	w.typ = w.e.codec.TableType(w.r.table)
	w.clock.limit = w.q.api.ABITime
	budget := w.clock.budget()
	convert := w.e.codec.DecodeShort
	if w.q.api.Verbose {
		convert = w.e.codec.Decode
	}
	w.decode = func(b, value []byte) ([]byte, error) {
		w.clock.restart()
		return convert(b, w.typ, value, budget)
	}
	return nil
}

// row adds a row to the list.
func (w *rowWriter) row(payer types.Name, value []byte) (err error) {
	if w.b[len(w.b)-1] != '[' {
		w.b = append(w.b, ',')
	}
	if w.r.payer {
		w.b = append(w.b, `{"data":`...)
	}
	if w.r.json {
		if w.b, err = w.decode(w.b, value); err != nil {
			return err
		}
	} else {
		w.b = variant.AppendHex(w.b, value)
	}
	if w.r.payer {
		w.b = append(payer.AppendJSON(append(w.b, `,"payer":`...)), '}')
	}
	return nil
}

// full tells whether the row that comes now has to be left for later. Unlike
// nodeos', a walk whose time is up goes on with the row after the last one that it
// gave, so that whoever asks for more gets on.
func (w *rowWriter) full() bool { return w.count >= w.limit || w.over }

// countRow is called after each row that was looked at.
func (w *rowWriter) countRow() {
	w.count++
	w.over = w.watch.over()
}

func (w *rowWriter) end() {
	w.b = variant.AppendBool(append(w.b, `],"more":`...), w.next != nil)
	w.b = append(append(append(w.b, `,"next_key":"`...), w.next...), `"}`...)
}

// primary walks a table by its primary key (Leap: get_table_rows_ex).
func (w *rowWriter) primary() error {
	r := w.r
	table, err := w.e.table(r.table)
	if err != nil {
		return err
	}
	if table.IndexType != "i64" && r.keyType != "i64" && r.keyType != "name" {
		return exception.New(exception.ContractTableQuery, "Invalid table type ${type}", "type", table.IndexType)
	}
	scope, err := toUint64(r.scope, "scope")
	if err != nil {
		return err
	}
	key := state.TableKey{Code: r.code, Scope: types.Name(scope), Table: r.table}
	bounds := [2]uint64{0, math.MaxUint64}
	// Where there is no table nodeos does not look at the bounds.
	if there, err := w.view.Tables.Get(key); err != nil || there == nil {
		return w.empty(err)
	}
	for i, s := range []string{r.lower, r.upper} {
		if s == "" {
			continue
		}
		what := [...]string{"lower_bound", "upper_bound"}[i]
		if r.keyType == "name" {
			n, err := types.ParseName(s)
			if err != nil {
				return err
			}
			bounds[i] = uint64(n)
		} else if bounds[i], err = toUint64(s, what); err != nil {
			return err
		}
	}
	if err := w.prepare(); err != nil {
		return err
	}
	from := bounds[0]
	if r.reverse {
		from = bounds[1]
	}
	err = w.view.WalkRows(state.RowKey{TableKey: key, Primary: from}, r.reverse,
		func(primary uint64, payer types.Name, value []byte) (bool, error) {
			if primary < bounds[0] || primary > bounds[1] {
				return false, nil
			}
			if w.full() {
				w.next = appendDecimal(nil, primary)
				return false, nil
			}
			err := w.row(payer, value)
			w.countRow()
			return true, err
		})
	if err == nil {
		w.end()
	}
	return err
}

// empty writes the answer of a table that isn't there.
func (w *rowWriter) empty(err error) error {
	if err == nil {
		err = w.prepare()
	}
	if err == nil {
		w.end()
	}
	return err
}

// secondary walks a table by a secondary key (Leap: get_table_rows_by_seckey).
func (w *rowWriter) secondary(number uint64) error {
	r := w.r
	if r.keyType == "" {
		return exception.New(exception.ContractTableQuery, "key type required for non-primary index")
	}
	kt, ok := keyTypeOf(r.keyType, r.encoded)
	if !ok {
		return exception.New(exception.ContractTableQuery, "Unsupported secondary index type: ${t}", "t", r.keyType)
	}
	scope, err := toUint64(r.scope, "scope")
	if err != nil {
		return err
	}
	key := state.TableKey{Code: r.code, Scope: types.Name(scope), Table: r.table}
	index := key
	index.Table |= types.Name(number)
	for _, k := range []state.TableKey{key, index} {
		if there, err := w.view.Tables.Get(k); err != nil || there == nil {
			return w.empty(err)
		}
	}
	lower, upper := kt.lowest(), kt.highest()
	if r.lower != "" {
		if lower, err = kt.parse(r.lower, "lower_bound"); err != nil {
			return err
		}
	}
	if r.upper != "" {
		if upper, err = kt.parse(r.upper, "upper_bound"); err != nil {
			return err
		}
	}
	if err := w.prepare(); err != nil {
		return err
	}
	if err := w.walkIndex(kt, key, index, lower, upper); err != nil {
		return err
	}
	w.end()
	return nil
}

func (w *rowWriter) walkIndex(kt keyType, key, index state.TableKey, lower, upper state.SecondaryKey) error {
	at, ok, err := w.firstOfIndex(kt, index, lower, upper)
	for err == nil && ok {
		if w.r.reverse && kt.kind.Compare(at.Secondary, lower) < 0 ||
			!w.r.reverse && kt.kind.Compare(at.Secondary, upper) > 0 {
			return nil
		}
		if w.full() {
			w.next = kt.text(nil, &at.Secondary)
			return nil
		}
		_, value, found, err := w.view.Row(state.RowKey{TableKey: key, Primary: at.Primary})
		if err != nil {
			return err
		}
		if found {
			if err := w.row(at.Payer, value); err != nil {
				return err
			}
		}
		w.countRow()
		if w.r.reverse {
			at, ok, err = w.view.PreviousSecondary(kt.kind, index, at.Secondary, at.Primary)
		} else {
			at, ok, err = w.view.NextSecondary(kt.kind, index, at.Secondary, at.Primary)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// firstOfIndex returns the row that a walk begins with.
func (w *rowWriter) firstOfIndex(
	kt keyType, index state.TableKey, lower, upper state.SecondaryKey,
) (state.IndexRow, bool, error) {
	if !w.r.reverse {
		return w.view.LowerSecondary(kt.kind, index, lower, 0)
	}
	// The last one at or before (upper, the highest primary key).
	at, ok, err := w.view.LowerSecondary(kt.kind, index, upper, math.MaxUint64)
	if err == nil && ok && at.Primary == math.MaxUint64 && kt.kind.Compare(at.Secondary, upper) == 0 {
		return at, true, nil
	}
	if err != nil {
		return at, false, err
	}
	return w.view.PreviousSecondary(kt.kind, index, upper, math.MaxUint64)
}

func (q tables) getTableByScope(b []byte) ([]byte, error) {
	code, table := q.name("code"), q.name("table")
	lower, upper, limit := q.text("lower_bound", ""), q.text("upper_bound", ""), q.uint32("limit", 10)
	reverse, ms := q.flag("reverse"), q.optionalUint32("time_limit_ms")
	if err := q.end(); err != nil {
		return b, err
	}
	low := state.TableKey{Code: code, Table: table}
	high := state.TableKey{Code: code, Scope: math.MaxUint64, Table: math.MaxUint64}
	if table != 0 {
		high.Table = table
	}
	for _, bound := range []struct {
		s, what string
		to      *types.Name
	}{{lower, "lower_bound scope", &low.Scope}, {upper, "upper_bound scope", &high.Scope}} {
		if bound.s == "" {
			continue
		}
		n, err := toUint64(bound.s, bound.what)
		if err != nil {
			return b, err
		}
		*bound.to = types.Name(n)
	}
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	return q.walkScopes(b, v, scopeWalk{low: low, high: high, table: table, reverse: reverse, limit: q.itemLimit(limit),
		watch: q.timeLimit(ms)})
}

// scopeWalk is what get_table_by_scope looks through.
type scopeWalk struct {
	low, high state.TableKey
	table     types.Name // only this one, unless empty
	reverse   bool
	limit     uint32
	watch     stopwatch
}

func (q tables) walkScopes(b []byte, v *state.View, w scopeWalk) ([]byte, error) {
	b = append(b, `{"rows":[`...)
	first, over, count, more := len(b), false, uint32(0), ""
	from := w.low
	if w.reverse {
		from = w.high
	}
	err := v.Tables.Walk(from, w.reverse, func(t *state.ContractTable) (bool, error) {
		if beyond(t.Key, w.high) || beyond(w.low, t.Key) {
			return false, nil
		}
		if over || count >= w.limit {
			more = t.Key.Scope.String()
			return false, nil
		}
		count++
		if w.table != 0 && t.Key.Table != w.table {
			return true, nil
		}
		if len(b) > first {
			b = append(b, ',')
		}
		b = t.Key.Code.AppendJSON(append(b, `{"code":`...))
		b = t.Key.Scope.AppendJSON(append(b, `,"scope":`...))
		b = t.Key.Table.AppendJSON(append(b, `,"table":`...))
		b = t.Payer.AppendJSON(append(b, `,"payer":`...))
		b = append(variant.AppendUint64(append(b, `,"count":`...), uint64(t.Count)), '}')
		over = w.watch.over()
		return true, nil
	})
	return append(variant.AppendString(append(b, `],"more":`...), more), '}'), err
}

// beyond tells whether a comes after b in the order of tables.
func beyond(a, b state.TableKey) bool {
	switch {
	case a.Code != b.Code:
		return a.Code > b.Code
	case a.Scope != b.Scope:
		return a.Scope > b.Scope
	}
	return a.Table > b.Table
}
