package dbtool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tarn/store"
	"tarn/store/engine"
)

// dumpOptions say which rows are printed and how. Bounds are of keys, from
// inclusive, to exclusive, nil for none.
type dumpOptions struct {
	table    string // "" for all
	from, to []byte
	limit    int64 // rows, 0 for all
	format   string
}

// dump prints rows of the durable state in key order, one a line.
func dump(ctx context.Context, dir string, o dumpOptions, out io.Writer) (err error) {
	e, err := open(dir, engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := e.Publish(e.Recovered().Head); err != nil {
		return err
	}
	v, err := e.View()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	w := bufio.NewWriterSize(out, 64<<10)
	d := &dumper{ctx: ctx, dumpOptions: o, out: w, row: hexRow}
	if o.format == "json" {
		d.row = jsonRow
	}
	found := o.table == ""
	for _, t := range v.Tables() {
		if o.table == "" || t.Name == o.table {
			found = true
			if err := d.dumpTable(v, t); err != nil {
				return errors.Join(fmt.Errorf("table %q: %w", t.Name, err), w.Flush())
			}
		}
	}
	if !found {
		return fmt.Errorf("%s: table %q: %w; `tarn db info` lists them", dir, o.table, store.ErrNoTable)
	}
	return w.Flush()
}

type dumper struct {
	dumpOptions
	ctx  context.Context
	out  *bufio.Writer
	row  func(w io.Writer, table string, key, value []byte) error
	rows int64 // printed
}

func (d *dumper) dumpTable(v store.View, t store.TableInfo) (err error) {
	w, err := walk(v, t.ID, nil, d.from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	for w.next() && (d.to == nil || bytes.Compare(w.key, d.to) < 0) {
		if d.limit > 0 && d.rows == d.limit {
			return nil
		}
		if d.rows%1024 == 0 {
			if err := checkStopped(d.ctx); err != nil {
				return err
			}
		}
		if err := d.row(d.out, t.Name, w.key, w.value); err != nil {
			return err
		}
		d.rows++
	}
	return w.err()
}

// hexRow prints table, key and value, and the two once more as text.
func hexRow(w io.Writer, table string, key, value []byte) error {
	v := hex.EncodeToString(value)
	if v == "" {
		v = "-"
	}
	_, err := fmt.Fprintf(w, "%s %x %s |%s|%s|\n", table, key, v, printable(key), printable(value))
	return err
}

// row is a line of --format json.
type row struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	Value string `json:"value"`
}

func jsonRow(w io.Writer, table string, key, value []byte) error {
	line, err := json.Marshal(row{table, hex.EncodeToString(key), hex.EncodeToString(value)})
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}
