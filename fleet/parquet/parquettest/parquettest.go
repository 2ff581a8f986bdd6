// Package parquettest lets tests of ledgers export what their nodes tell, and ask others' programs about the files. It
// makes streams and reads files. It looks into no block, and changes nothing that it was not asked to make.
package parquettest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parquet-go/parquet-go"

	"tarn/fleet"
	"tarn/fleet/natsserver"
	"tarn/fleet/stream"
	"tarn/internal/freeport"
)

// Publish makes a stream of moves, on a server in this process that ends with the test, and returns how to follow it.
func Publish(t testing.TB, list []*fleet.Move) stream.Options {
	t.Helper()
	return stream.Options{Name: "test", InProcess: serve(t, "", list)}
}

// Serve makes a stream of moves, and returns the address of its server. The fleet is called test.
func Serve(t testing.TB, list ...*fleet.Move) string {
	t.Helper()
	return serve(t, freeport.Address(t), list).URL()
}

func serve(t testing.TB, listen string, list []*fleet.Move) *natsserver.Server {
	t.Helper()
	s, err := natsserver.Start(natsserver.Options{Dir: t.TempDir(), Listen: listen})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	const subject = "tarn.test.moves"
	_, err = js.CreateStream(t.Context(),
		jetstream.StreamConfig{Name: "TARN_test_MOVES", Subjects: []string{subject}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	w := fleet.NewWriter(fleet.Header{Line: 1, To: list[0].Base()}, fleet.Limits{})
	for _, m := range list {
		messages, err := w.Write(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range messages {
			if _, err := js.Publish(t.Context(), subject, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// Read reads all rows of a table in a folder of files, in the order of the files' names.
func Read[T any](t testing.TB, dir, table string) (all []T) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, table, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		rows, err := parquet.ReadFile[T](name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, rows...)
	}
	return all
}

// Question is one for DuckDB and ClickHouse. blocks, transactions and rows stand in it between braces for the tables.
type Question struct {
	SQL        string
	ClickHouse string // where ClickHouse needs another text; "" where it does not
	Want       string // the answer: values separated by tabs, a line for each row
}

// ask asks DuckDB and ClickHouse (chdb), and prints their answers.
const ask = `
import json, sys
import duckdb, chdb
for q in json.load(sys.stdin):
    rows = duckdb.sql(q["duckdb"]).fetchall()
    a = "\n".join("\t".join("NULL" if v is None else str(v) for v in row) for row in rows)
    b = str(chdb.query(q["clickhouse"], "TSVRaw")).strip().replace("\\N", "NULL").replace("ᴺᵁᴸᴸ", "NULL")
    print(json.dumps([a, b]))
`

// Python is a Python that has the packages duckdb and chdb, which TARN_DUCKDB names. Without one the test is skipped.
func Python(t *testing.T) string {
	t.Helper()
	python := os.Getenv("TARN_DUCKDB")
	if python == "" {
		t.Skip("set TARN_DUCKDB to a python that has the packages duckdb and chdb, which are asked about the files")
	}
	return python
}

// Ask asks DuckDB and ClickHouse about a folder of files.
func Ask(t *testing.T, dir string, questions []Question) {
	t.Helper()
	python := Python(t)
	var asked []map[string]string
	for _, q := range questions {
		other := q.ClickHouse
		if other == "" {
			other = q.SQL
		}
		asked = append(asked, map[string]string{"duckdb": tables(q.SQL, dir, "read_parquet('", "')"),
			"clickhouse": tables(other, dir, "file('", "', Parquet)")})
	}
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(python, "-c", ask)
	c.Stdin, c.Stderr = strings.NewReader(string(text)), t.Output()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", python, err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	for _, q := range questions {
		var answers [2]string
		if err := d.Decode(&answers); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"DuckDB", "ClickHouse"} {
			if answers[i] != q.Want {
				t.Errorf("%s: %s says\n%s\nand should say\n%s", q.SQL, name, answers[i], q.Want)
			}
		}
	}
}

func tables(sql, dir, before, after string) string {
	for _, table := range []string{"blocks", "transactions", "rows"} {
		sql = strings.ReplaceAll(sql, "{"+table+"}", before+filepath.Join(dir, table, "*.parquet")+after)
	}
	return sql
}
