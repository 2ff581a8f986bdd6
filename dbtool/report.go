package dbtool

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"tarn/store"
	"tarn/store/engine"
)

// The reports are what --json prints; docs/db.md lists their fields for those who
// write scripts, so a field keeps its name and meaning. Sizes are in bytes,
// times in UTC; -1 stands for what the engine does not know.

// Info is the report of `tarn db info`.
type Info struct {
	Path          string      `json:"path"`
	Engine        engine.Kind `json:"engine"`
	InUse         bool        `json:"in_use"`
	Head          uint64      `json:"head"`
	Irreversible  uint64      `json:"irreversible"`
	UndoRevisions int         `json:"undo_revisions"`
	UndoBytes     int64       `json:"undo_bytes"`
	SizeBytes     int64       `json:"size_bytes"`
	UsedBytes     int64       `json:"used_bytes"`
	FreeBytes     int64       `json:"free_bytes"`
	RowBytes      int64       `json:"row_bytes"`
	Fill          float64     `json:"fill"`
	Checkpoint    Checkpoint  `json:"checkpoint"`
	Tables        []Table     `json:"tables"`
}

// Table is one table of a report.
type Table struct {
	ID    store.Table `json:"id"`
	Name  string      `json:"name"`
	Rows  int64       `json:"rows"`
	Bytes int64       `json:"bytes"`
}

// Checkpoint is the last durable one; At is nil if there was none yet.
type Checkpoint struct {
	Head         uint64     `json:"head"`
	Irreversible uint64     `json:"irreversible"`
	At           *time.Time `json:"at"`
	AgeSeconds   float64    `json:"age_seconds"`
	Seconds      float64    `json:"seconds"`
	Bytes        int64      `json:"bytes"`
}

// Age is the report of `tarn db checkpoint`.
type Age struct {
	Path       string      `json:"path"`
	Engine     engine.Kind `json:"engine"`
	InUse      bool        `json:"in_use"`
	Checkpoint Checkpoint  `json:"checkpoint"`
}

// Verification is the report of `tarn db verify`.
type Verification struct {
	Path    string      `json:"path"`
	Engine  engine.Kind `json:"engine"`
	Sound   bool        `json:"sound"`
	Found   int64       `json:"found"` // pieces of damage
	Damage  []Damage    `json:"damage"`
	Rows    int64       `json:"rows"`
	Bytes   int64       `json:"bytes"`
	Seconds float64     `json:"seconds"`

	// Of the history: logs and indexes that were read, their entries, postings and bytes, and
	// what the next start mends.
	Logs         int      `json:"logs"`
	Entries      int64    `json:"entries"`
	Postings     int64    `json:"postings"`
	HistoryBytes int64    `json:"history_bytes"`
	Notices      []string `json:"notices"`
}

// Damage is one finding of a verification. Table, Page and Offset are -1 where
// they do not apply.
type Damage struct {
	Path   string `json:"path"`
	Table  int    `json:"table"`
	Page   int64  `json:"page"`
	Offset int64  `json:"offset"`
	Detail string `json:"detail"`
}

// Conversion is the report of `tarn db convert`.
type Conversion struct {
	Source        string      `json:"source"`
	Destination   string      `json:"destination"`
	From          engine.Kind `json:"from"`
	To            engine.Kind `json:"to"`
	Resumed       bool        `json:"resumed"`
	Head          uint64      `json:"head"`
	Irreversible  uint64      `json:"irreversible"`
	UndoRevisions int         `json:"undo_revisions"`
	Rows          int64       `json:"rows"`
	Bytes         int64       `json:"bytes"`
	Digest        string      `json:"digest"`
	Seconds       float64     `json:"seconds"`
	Tables        []Table     `json:"tables"`
}

func (i Info) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "store\t%s\n", i.Path)
	fmt.Fprintf(t, "engine\t%s\n", i.Engine)
	if i.InUse {
		fmt.Fprintf(t, "in use\tby another process; this is what the last checkpoint's meta page says\n")
	}
	fmt.Fprintf(t, "revision\thead %s, irreversible %s\n", formatGrouped(int64(i.Head)),
		formatGrouped(int64(i.Irreversible)))
	if i.UndoRevisions > 0 {
		fmt.Fprintf(t, "undo\t%d revisions, %s\n", i.UndoRevisions, size(i.UndoBytes))
	}
	fmt.Fprintf(t, "size\t%s", size(i.SizeBytes))
	if i.UsedBytes >= 0 {
		fmt.Fprintf(t, ": %s used, %s free inside", size(i.UsedBytes), size(i.FreeBytes))
	}
	fmt.Fprintln(t)
	if i.Fill > 0 {
		fmt.Fprintf(t, "fill\t%.0f %%: keys and values by space used\n", 100*i.Fill)
	}
	fmt.Fprintf(t, "checkpoint\t%s\n", i.Checkpoint.text())
	t.Flush()
	printTables(w, i.Tables)
}

func (a Age) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "store\t%s\n", a.Path)
	fmt.Fprintf(t, "revision\thead %s, irreversible %s\n", formatGrouped(int64(a.Checkpoint.Head)),
		formatGrouped(int64(a.Checkpoint.Irreversible)))
	fmt.Fprintf(t, "checkpoint\t%s\n", a.Checkpoint.text())
	t.Flush()
}

func (c Checkpoint) text() string {
	if c.At == nil {
		return "none yet"
	}
	s := c.At.Format(time.DateTime) + " UTC, " + ago(c.AgeSeconds)
	if c.Seconds > 0 {
		s += fmt.Sprintf("; took %v", time.Duration(c.Seconds*1e9).Round(10*time.Microsecond))
	}
	if c.Bytes > 0 {
		s += fmt.Sprintf(", wrote %s", size(c.Bytes))
	}
	return s
}

func printTables(w io.Writer, tables []Table) {
	if len(tables) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\ntable\trows\tbytes\t  name\n")
	for _, n := range tables {
		fmt.Fprintf(t, "%d\t%s\t%s\t  %s\n", n.ID, formatKnown(n.Rows), formatKnown(n.Bytes), n.Name)
	}
	t.Flush()
	for _, n := range tables {
		if n.Rows < 0 || n.Bytes < 0 {
			fmt.Fprintln(w, "\n? is what this engine does not count; --count reads every row")
			return
		}
	}
}

// formatKnown writes a number, or ? if it is not known.
func formatKnown(n int64) string {
	if n < 0 {
		return "?"
	}
	return formatGrouped(n)
}

func (v Verification) print(w io.Writer) {
	if v.Logs > 0 {
		fmt.Fprintf(w, "%s, checked in %.1f s\n", v.historyText(), v.Seconds)
	}
	if v.Engine == "" {
		return
	}
	rows := ""
	if v.Rows >= 0 {
		rows = formatGrouped(v.Rows) + " rows, "
	}
	fmt.Fprintf(w, "%s: sound: %s store, %s%s, checked in %.1f s\n", v.Path, v.Engine, rows, size(v.Bytes), v.Seconds)
}

func (c Conversion) print(w io.Writer) {
	verb := "converted"
	if c.Resumed {
		verb = "finished the conversion"
	}
	fmt.Fprintf(w, "%s: %s (%s) to %s (%s) in %.1f s\n", verb, c.Source, c.From, c.Destination, c.To, c.Seconds)
	fmt.Fprintf(w, "revision %d, irreversible %d, undo of %d revisions\n", c.Head, c.Irreversible, c.UndoRevisions)
	fmt.Fprintf(w, "%s rows, %s, every one compared; digest %s\n", formatGrouped(c.Rows), size(c.Bytes), c.Digest)
}
