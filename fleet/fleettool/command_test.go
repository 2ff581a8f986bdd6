package fleettool

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"tarn/fleet"
	"tarn/fleet/stream"
	"tarn/internal/freeport"
)

func survey() *stream.Survey {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	return &stream.Survey{
		Fleet: "mainnet",
		Publisher: &stream.Publishing{Node: "aa", Line: 1, Head: fleet.Point{Revision: 100, ID: fleet.ID{1}},
			Final: fleet.Point{Revision: 90, ID: fleet.ID{2}}},
		Moves: stream.Kept{Messages: 3, Bytes: 4000, First: at.Add(-time.Hour), Last: at, Copies: 3, Leader: "n1",
			Missing: []string{"n3"}},
		Snapshots: stream.Kept{Copies: 3}, Missing: []string{"n2", "n3"},
		Newest: &stream.Snapshot{Point: fleet.Point{Revision: 80, ID: fleet.ID{3}}, Bytes: 1000,
			RowsSum: fleet.RowsSum{Rows: 10}, Made: at.Add(-time.Minute)},
		Members: []stream.Member{
			{Role: "node", Node: "aa", Host: "one", Process: 7, Since: at, Publishing: true, Head: fleet.Point{Revision: 101}},
			{Role: "node", Node: "bb", Host: "two", Process: 8, Since: at, Head: fleet.Point{Revision: 100}},
			{Role: "replica", Node: "cc", Host: "two", Process: 9, Since: at, Head: fleet.Point{Revision: 98}},
		},
	}
}

func TestText(t *testing.T) {
	id := func(b string) string { return b + strings.Repeat("0", 62) }
	want := `fleet            mainnet
published by     aa, process 7 on one
head             block 100 (` + id("01") + `)
irreversible     block 90 (` + id("02") + `)
moves            3 messages, 4000 bytes, from 1h0m0s ago to 0s ago; copies: 3, led by n1, missing or behind: n3
snapshots        0 messages, 0 bytes; copies: 3
newest snapshot  block 80 (` + id("03") + `), 1000 bytes, 10 rows, made 1m0s ago
incomplete       n2, n3, missing or behind: end no other server before they have all

member            host  process  since                block  behind
node (publishes)  one   7        2026-11-28 12:00:00  101    0
node (stands by)  two   8        2026-11-28 12:00:00  100    0
replica           two   9        2026-11-28 12:00:00  98     2
`
	var got bytes.Buffer
	if err := writeText(&got, survey(), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("printed:\n%s\nwanted:\n%s", &got, want)
	}
}

func TestTextOfNobody(t *testing.T) {
	var got bytes.Buffer
	if err := writeText(&got, &stream.Survey{Fleet: "x"}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"published by     nobody", "newest snapshot  none", "none answers"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &got)
		}
	}
}

// A replica that differs is named with its tables, one that has not told with why.
func TestComparison(t *testing.T) {
	rows := func(b byte) fleet.RowsSum {
		return fleet.RowsSum{Rows: 3, Hash: fleet.ID{b},
			Tables: []fleet.TableSum{{Name: "accounts", Rows: 1}, {Name: "rows", Rows: 2, Hash: fleet.ID{b}}}}
	}
	member := func(role string, process int) stream.Member {
		return stream.Member{Role: role, Host: "one", Process: process}
	}
	c := &stream.Comparison{
		Node: stream.Verdict{Member: member("node", 7), Block: fleet.Point{Revision: 100, ID: fleet.ID{1}},
			RowsSum: rows(1)},
		Replicas: []stream.Verdict{
			{Member: member("replica", 8), RowsSum: rows(1)},
			{Member: member("replica", 9), RowsSum: rows(2)},
			{Member: member("replica", 10), Failure: "it has not answered"},
		},
	}
	want := `block 100 (01` + strings.Repeat("0", 62) + `)
3 rows in 2 tables, hash 01` + strings.Repeat("0", 62) + `

member   host  process  rows
node     one   7        3
replica  one   8        the same
replica  one   9        DIFFERENT in rows
replica  one   10       not compared: it has not answered
`
	var got bytes.Buffer
	if err := writeComparison(&got, c); err != nil {
		t.Fatal(err)
	}
	if got.String() != want || c.Equal() {
		t.Errorf("printed:\n%s\nwanted:\n%s", &got, want)
	}
}

// Scripts read what is printed as it was.
func TestJSON(t *testing.T) {
	var text bytes.Buffer
	if err := writeJSON(&text, survey()); err != nil {
		t.Fatal(err)
	}
	var got stream.Survey
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatalf("%v:\n%s", err, &text)
	}
	if got.Publisher.Head != survey().Publisher.Head || len(got.Members) != 3 {
		t.Errorf("read again: %+v", got)
	}
}

// Where no server answers the command ends with its code.
func TestExitCode(t *testing.T) {
	for _, name := range []string{"status", "verify"} {
		c := Command()
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs([]string{name, "--fleet-server", "nats://" + freeport.Address(t)})
		var code interface{ ExitCode() int }
		if err := c.ExecuteContext(t.Context()); !errors.As(err, &code) || code.ExitCode() != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{
		{"status"}, {"verify"}, {"status", "--fleet-server", "nats://127.0.0.1:1", "--fleet-name", "a b"},
	} {
		c := Command()
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(args)
		if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "usage: ") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
