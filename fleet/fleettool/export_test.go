package fleettool

import (
	"errors"
	"strings"
	"testing"

	"tarn/fleet"
	"tarn/fleet/parquet"
	"tarn/fleet/parquet/parquettest"
)

// row is one of a ledger that has none.
type row struct {
	Block uint64 `parquet:"block"`
}

func (row) Size() int64 { return 8 }

// ledgers are one that exports the numbers of blocks.
func ledgers() []Ledger {
	l := parquet.NewLedger("numbers", func(uint8) bool { return false },
		func(b *fleet.Block, block func(row) error, _ func(row) error) error {
			return block(row{b.Revision})
		})
	return []Ledger{{Program: "test", Ledger: l}}
}

func TestWrongUseOfExport(t *testing.T) {
	for want, args := range map[string][]string{
		"no folder":             {"--ledger", "test", "--fleet-server", "nats://127.0.0.1:1"},
		"no ledger":             {"--parquet", t.TempDir(), "--ledger", "other", "--fleet-server", "nats://127.0.0.1:1"},
		"no NATS server":        {"--parquet", t.TempDir(), "--ledger", "test"},
		"must not be negative":  {"--parquet", t.TempDir(), "--ledger", "test", "--fleet-server", "nats://127.0.0.1:1", "--memory-mb", "-1"},
		"the fleet's name \"a ": {"--parquet", t.TempDir(), "--ledger", "test", "--fleet-server", "nats://127.0.0.1:1", "--fleet-name", "a b"},
	} {
		c := Command(ledgers()...)
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(append([]string{"export"}, args...))
		err := c.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "usage: ") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// A gap is an error with its code, and with what to do; then that does it.
func TestExportCommand(t *testing.T) {
	move := func(from, to uint64) *fleet.Move {
		m := &fleet.Move{}
		for n := from; n < to; n++ {
			m.Final = fleet.Point{Revision: n + 1, ID: fleet.ID{1}}
			m.Blocks = append(m.Blocks, fleet.Block{Parent: fleet.Point{Revision: n, ID: fleet.ID{1}}, Point: m.Final})
		}
		return m
	}
	dir := t.TempDir()
	run := func(m *fleet.Move, more ...string) error {
		c := Command(ledgers()...)
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetErr(t.Output())
		c.SetArgs(append([]string{"export", "--parquet", dir, "--ledger", "test",
			"--fleet-server", parquettest.Serve(t, m)}, more...))
		return c.ExecuteContext(t.Context())
	}
	if err := run(move(0, 30), "--until", "25", "--blocks-per-file", "10"); err != nil {
		t.Fatal(err)
	}
	var code interface{ ExitCode() int }
	err := run(move(40, 60))
	if !errors.As(err, &code) || code.ExitCode() != 1 || !strings.Contains(err.Error(), "--from-here") {
		t.Fatal(err)
	}
	if err := run(move(40, 60), "--from-here", "--until", "50"); err != nil {
		t.Fatal(err)
	}
	rows := parquettest.Read[row](t, dir, "blocks")
	if len(rows) != 35 || rows[24].Block != 25 || rows[25].Block != 41 {
		t.Errorf("%d blocks: %v", len(rows), rows)
	}
}
