package parquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"tarn/fleet"
)

// tableOf is a table whose rows are of a type.
type tableOf[T Row] struct {
	file    *parquet.GenericWriter[T]
	batch   []T
	waiting int64 // bytes of the batch
	bytes   int64 // of the row group
	most    int64
}

func (t *tableOf[T]) begin(w io.Writer, rowGroup int64) {
	t.file = parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("tarn", "1", ""))
	t.batch, t.waiting, t.bytes, t.most = t.batch[:0], 0, 0, rowGroup
}

// What waits to become columns: rows, and about their bytes.
const (
	batchRows  = 256
	batchBytes = 1 << 20
)

// add adds a row to the file that was begun.
func (t *tableOf[T]) add(row T) error {
	t.batch = append(t.batch, row)
	t.waiting += row.Size()
	if len(t.batch) < batchRows && t.waiting < batchBytes {
		return nil
	}
	return t.drain()
}

func (t *tableOf[T]) drain() error {
	if len(t.batch) == 0 {
		return nil
	}
	_, err := t.file.Write(t.batch)
	clear(t.batch)
	t.bytes += t.waiting
	t.batch, t.waiting = t.batch[:0], 0
	if err == nil && t.bytes >= t.most {
		t.bytes = 0
		err = t.file.Flush()
	}
	if err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	return nil
}

func (t *tableOf[T]) end() error {
	if err := t.drain(); err != nil {
		return err
	}
	if err := t.file.Close(); err != nil {
		return fmt.Errorf("end the file: %w", err)
	}
	t.file = nil
	return nil
}

// change is a row of the ledger's state that a block has changed. Its value is nil if it is gone. It is a pointer, as
// are all values that may be missing: of others some that are nil become empty (package parquet v0.32.0 loses its place
// in a batch).
type change struct {
	Block uint64  `parquet:"block,delta"`
	Table string  `parquet:"table_name,dict"`
	Key   []byte  `parquet:"key"`
	Value *[]byte `parquet:"value,optional"`
}

// Size implements Row.
func (c change) Size() int64 {
	n := 8 + int64(len(c.Table)+len(c.Key))
	if c.Value != nil {
		n += int64(len(*c.Value))
	}
	return n
}

// changes adds the rows that a block has changed.
func changes(b *fleet.Block, add func(change) error) error {
	return fleet.EachRow(b.Rows, func(table string, key, value []byte, present bool) error {
		row := change{Block: b.Revision, Table: table, Key: key}
		if present {
			row.Value = &value
		}
		return add(row)
	})
}
