package bench

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tarn/antelope/oracle"
	"tarn/internal/figures"
)

// With TARN_BENCH every section runs, in its short form, in some four minutes.
func TestEverySectionMeasuresSomething(t *testing.T) {
	if os.Getenv("TARN_BENCH") == "" {
		t.Skip("TARN_BENCH is not set")
	}
	c := Short()
	c.Dir, c.Tarn, c.Log = filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "tarn"), t.Output()
	if out, err := exec.Command("go", "build", "-o", c.Tarn, "tarn/cmd/tarn").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, err := Run(t.Context(), c)
	if errors.Is(err, oracle.ErrNoPeer) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Sections {
		for _, table := range s.Tables {
			if len(table.Rows) == 0 || !strings.Contains(out.String(), table.Title) {
				t.Errorf("section %s: table %q", s.Name, table.Title)
			}
		}
	}
	if len(r.Sections) != len(Sections())-1 { // one only if it is named
		t.Errorf("%d sections of %d", len(r.Sections), len(Sections()))
	}
	if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
		t.Errorf("the nodes' data is still there: %v", err)
	}
}

func TestSectionsAndSizesAreChecked(t *testing.T) {
	if _, err := figures.Choose(Sections(), []string{"push", "nonsense"}); err == nil {
		t.Error("an unknown section is no error")
	}
	if all, err := figures.Choose(Sections(), nil); err != nil || len(all) != len(Sections()) {
		t.Errorf("no name chooses %v, %v", all, err)
	}
	for _, c := range []Config{Default(), Short()} {
		c.Dir, c.Tarn = "x", "y"
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		c.Rounds, c.Transfers = 0, 1
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "no round") || !strings.Contains(err.Error(), "below 1000") {
			t.Errorf("%v", err)
		}
	}
}

// The lines of both versions, written in pieces.
func TestALogIsReadWhileItGrows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	w := &logReader{file: in}
	defer w.close()
	const text = `info  2026-11-21T23:19:48.000 ipyeos    producer_plugin.cpp:2881      produce_block        ] Produced block 1088827239f737d3... #2 11 @ 2026-11-21T23:19:48.500 singer: eosio [trxs: 7, lib: 1, confirmed: 0, net: 0, cpu: 100, elapsed: 837383, time: 837895, now: 2026-11-21T23:19:48.334, transmit: -834 ms]
info  2026-11-21T23:19:48.600 nodeos    report.go:26                  reportProduced       ] Produced block eb0c57da32058007... #3 @ 2026-11-21T23:19:49.000 signed by eosio [trxs: 100, lib: 2, confirmed: 0, net: 0, cpu: 100, elapsed: 35, time: 1120]
info  2026-11-21T23:19:49.000 nodeos    report.go:26                  reportProduced       ] Produced block eb0c57da32058008... #4 @ 2026-11-21T23:19:49.500 signed by eosio [trxs: 3, lib: 3, confirmed: 0, net: 0, cpu: 100, elapsed: 35, time: 1120]
`
	for piece := range strings.SplitAfterSeq(text, "e") {
		if _, err := f.WriteString(piece); err != nil {
			t.Fatal(err)
		}
		if err := w.read(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.blocks) != 3 || w.accepted() != 110 || w.blocks[0].num != 2 {
		t.Errorf("%+v", w.blocks)
	}
	if got := w.full(); got != 200 {
		t.Errorf("%v transactions per second, want 100 in half a second", got)
	}
}

func TestOneConnectionAsksAgainAndAgain(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 5 {
			http.Error(w, "enough", http.StatusTeapot)
			return
		}
		fmt.Fprint(w, strings.Repeat("x", 1000))
	}))
	defer s.Close()
	r := request("/path", `{"a":1}`)
	sent := 0
	took, err := over(s.URL, 1, func() []byte {
		if sent++; sent > 4 {
			return nil
		}
		return r
	})
	if err != nil || took.Count != 4 {
		t.Errorf("%v answers, %v", took, err)
	}
	if _, err := over(s.URL, 1, func() []byte { return r }); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("a refusal: %v", err)
	}
}
