package writecounters

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// What a node says of itself, as Prometheus' text.
func TestANodeIsAskedWhatItWritesFor(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != metricsPath {
			http.NotFound(w, r)
			return
		}
		n := asked.Add(1) * 1000
		fmt.Fprintf(w, "# HELP x\ntarn_state_written_bytes_total{cause=\"check point\"} %d\ntarn_state_written_bytes_total{cause=\"growth\"} 7 1700000000\nother{cause=\"x\"} 3\ntarn_state_written_bytes_total{cause=\"empty\"} \ntarn_written_bytes_total{files=\"state\"} %d\ntarn_written_bytes_total{node=\"a\",files=\"block_log\"} %d\n", n, n, 3*n)
	}))
	defer server.Close()
	first, err1 := Read(t.Context(), server.URL)
	second, err2 := Read(t.Context(), server.URL)
	grown, err3 := second.Since(first)
	if err1 != nil || err2 != nil || err3 != nil || len(grown.State) != 2 || grown.State["check point"] != 1000 ||
		grown.State["growth"] != 0 {
		t.Errorf("%v, %v, %v, %v", grown, err1, err2, err3)
	}
	if len(grown.Files) != 1 || grown.Files["block_log"] != 3000 {
		t.Errorf("other files: %v", grown.Files)
	}
	first.State["growth"] = 8
	if _, err := second.Since(first); err == nil || !strings.Contains(err.Error(), "anew") {
		t.Errorf("%v", err)
	}
	if _, err := Read(t.Context(), server.URL+"/other"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
	var many strings.Builder
	for i := range most + 1 {
		fmt.Fprintf(&many, "a_written_bytes_total{cause=\"%d\"} 1\n", i)
	}
	if _, err := parse(strings.NewReader(many.String())); err == nil {
		t.Error("any number of causes is kept")
	}
	if _, err := parse(strings.NewReader("a_written_bytes_total{cause=\"x\"} much")); err == nil {
		t.Error("what is no number is taken")
	}
}

// The time between checkpoints is from the last one before the first answer to the last one
// before the second.
func TestANodeTellsOfItsCheckpoints(t *testing.T) {
	answer := func(n, age, checkpoint, meta float64) Told {
		text := fmt.Sprintf("tarn_checkpoints_total %g\ntarn_checkpoint_age_seconds %g\ntarn_checkpoint_bytes 500\n"+
			"tarn_state_written_bytes_total{cause=\"checkpoint\"} %g\ntarn_state_written_bytes_total{cause=\"meta\"} %g\ntarn_state_written_bytes_total{cause=\"growth\"} 77\n", n, age, checkpoint, meta)
		told, err := parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return told
	}
	first := answer(3, 40, 1000, 10)
	if c, ok := answer(5, 20, 1900, 30).Checkpoints(first, 180); !ok || c.Number != 2 || c.Bytes != 920 ||
		c.Between != 100 {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, ok := answer(3, 220, 1000, 10).Checkpoints(first, 180); !ok || c.Number != 0 || c.Bytes != 500 ||
		c.Between != 220 {
		t.Errorf("none meanwhile: %+v, %v", c, ok)
	}
	if c, ok := (Told{}).Checkpoints(Told{}, 180); ok {
		t.Errorf("a node that does not tell: %+v", c)
	}
	if _, err := parse(strings.NewReader("tarn_checkpoints_total many")); err == nil {
		t.Error("what is no number is taken")
	}
}
