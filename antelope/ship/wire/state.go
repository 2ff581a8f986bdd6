package wire

import (
	"bufio"
	"io"

	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// WriteState writes all rows of a state, as a block shows them with which a history
// begins: in the order of ids, and contracts' rows, whose ids are not kept, by table and
// key, which is how nodeos numbers them when it loads a snapshot.
func WriteState(w io.Writer, v *state.View) error {
	out := &stateWriter{w: bufio.NewWriterSize(w, 1<<16), v: v}
	tables := out.tables()
	var filled []stateTable
	for _, t := range tables {
		n := 0
		if err := t.rows(func([]byte) error { n++; return nil }); err != nil {
			return err
		}
		if t.count = n; n > 0 {
			filled = append(filled, t)
		}
	}
	b := serial.AppendCount(nil, len(filled))
	for _, t := range filled {
		b = serial.AppendString(version(b, 0), t.name)
		if _, err := out.w.Write(serial.AppendCount(b, t.count)); err != nil {
			return err
		}
		err := t.rows(func(row []byte) error {
			b = serial.AppendBytes(serial.AppendBool(b[:0], true), row)
			_, err := out.w.Write(b)
			return err
		})
		if err != nil {
			return err
		}
		b = b[:0]
	}
	return out.w.Flush()
}

type stateWriter struct {
	w   *bufio.Writer
	v   *state.View
	row []byte // memory of the row that is being encoded
}

// stateTable walks a table's rows, encoded, each good until the next.
type stateTable struct {
	name  string
	count int
	rows  func(each func(row []byte) error) error
}

// tables lists them in nodeos' order.
func (s *stateWriter) tables() []stateTable {
	v := s.v
	list := []stateTable{
		{name: "account", rows: s.accounts},
		{name: "account_metadata", rows: walk(s, v.Metadata, appendMetadata)},
		{name: "code", rows: s.codes},
		{name: "contract_table", rows: walk(s, v.Tables, appendTable)},
		{name: "contract_row", rows: s.contractRows},
	}
	for k := state.Index64; k <= state.IndexLongDouble; k++ {
		list = append(list, stateTable{name: "contract_" + k.String(), rows: s.indexRows(k)})
	}
	single := func(encode func([]byte, *state.Singletons) []byte) func(func([]byte) error) error {
		return func(each func([]byte) error) error {
			all, err := v.Singletons()
			if err != nil {
				return err
			}
			return each(encode(nil, &all))
		}
	}
	return append(list,
		stateTable{name: "global_property", rows: single(func(b []byte, s *state.Singletons) []byte {
			return appendGlobal(b, &s.Global)
		})},
		stateTable{name: "generated_transaction", rows: s.deferred},
		stateTable{name: "protocol_state", rows: single(func(b []byte, s *state.Singletons) []byte {
			return appendProtocol(b, &s.Protocol)
		})},
		stateTable{name: "permission", rows: walk(s, v.Permissions, appendPermission)},
		stateTable{name: "permission_link", rows: walk(s, v.Links, appendLink)},
		stateTable{name: "resource_limits", rows: walk(s, v.Limits, appendLimits)},
		stateTable{name: "resource_usage", rows: walk(s, v.Usages, appendUsage)},
		stateTable{name: "resource_limits_state", rows: single(func(b []byte, s *state.Singletons) []byte {
			return appendResourceState(b, &s.ResourceState)
		})},
		stateTable{name: "resource_limits_config", rows: single(func(b []byte, s *state.Singletons) []byte {
			return appendResourceConfig(b, &s.ResourceConfig)
		})},
	)
}

// walk goes through a table that has ids.
func walk[K comparable, V any](
	s *stateWriter, t state.Table[K, V], encode func([]byte, *V) []byte,
) func(func([]byte) error) error {
	return func(each func([]byte) error) error {
		return t.EachByID(func(v *V) error {
			s.row = encode(s.row[:0], v)
			return each(s.row)
		})
	}
}

func (s *stateWriter) accounts(each func([]byte) error) error {
	return s.v.Accounts.EachByID(func(a *state.Account) error {
		abi, err := s.v.ABI(a.Name)
		if err != nil {
			return err
		}
		s.row = appendAccount(s.row[:0], &state.AccountABI{Account: *a, ABI: abi})
		return each(s.row)
	})
}

func (s *stateWriter) codes(each func([]byte) error) error {
	return s.v.Codes.EachByID(func(c *state.Code) error {
		code, err := s.v.CodeBytes(c.Key)
		if err != nil {
			return err
		}
		s.row = appendCode(s.row[:0], c.Key, code)
		return each(s.row)
	})
}

func (s *stateWriter) contractRows(each func([]byte) error) error {
	return s.v.Tables.EachByID(func(t *state.ContractTable) error {
		return s.v.EachRow(t.Key, func(primary uint64, payer types.Name, value []byte) error {
			s.row = appendRow(s.row[:0], state.RowKey{TableKey: t.Key, Primary: primary},
				&state.ContractRow{Payer: payer, Value: value})
			return each(s.row)
		})
	})
}

func (s *stateWriter) indexRows(k state.Kind) func(func([]byte) error) error {
	return func(each func([]byte) error) error {
		return s.v.Tables.EachByID(func(t *state.ContractTable) error {
			return s.v.EachIndexRow(k, t.Key, func(r state.IndexRow) error {
				s.row = appendIndexRow(s.row[:0], k, t.Key, &r)
				return each(s.row)
			})
		})
	}
}

func (s *stateWriter) deferred(each func([]byte) error) error {
	return s.v.DeferredByID(func(d *state.Deferred) error {
		s.row = appendDeferred(s.row[:0], d)
		return each(s.row)
	})
}
