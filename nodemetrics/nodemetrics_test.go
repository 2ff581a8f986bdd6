package nodemetrics

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"tarn/httpserver/exposition"
	"tarn/store"
)

// testMeter is of a store that is not there.
func testMeter() (*Meter, *store.Stats) {
	s := &store.Stats{Engine: "page", Mode: "mapped_private", Memory: "transparent huge pages",
		Written: store.Written{Checkpoint: 1000}, DirtyBytes: 11, PrivateBytes: 12, Checkpoints: 3}
	return New(Options{Stats: func() store.Stats { return *s },
		Durable: func() store.Durable { return store.Durable{Head: 60, Irreversible: 55} }}), s
}

func text(m *Meter) []byte {
	w := exposition.To(nil)
	m.Append(w)
	return w.Bytes()
}

// scrape reads metrics as Prometheus does.
func scrape(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return families
}

// value is that of the sample with a label of that value, or the only one.
func value(f *dto.MetricFamily, label string) float64 {
	for _, m := range f.GetMetric() {
		ok := label == ""
		for _, l := range m.GetLabel() {
			ok = ok || l.GetValue() == label
		}
		if ok {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return -1
}

func TestWritesAreProjectedFromWhenServingBegan(t *testing.T) {
	m, s := testMeter()
	s.Written.Checkpoint += 3_600_000 // 1 KB/s
	s.Written.Spill += 7_200_000
	m.begin.at = time.Now().Add(-2 * time.Hour)
	s.LastCheckpoint = store.CheckpointStats{At: time.Now().Add(-time.Hour), Duration: 2 * time.Second}
	families := scrape(t, text(m))
	if got := value(families["tarn_state_written_bytes_per_year"], "checkpoint"); got < 31e9 || got > 32e9 {
		t.Errorf("1 KB/s is %v bytes a year", got)
	}
	if got := value(families["tarn_state_written_bytes_per_year"], "spill"); got < 31e9 || got > 32e9 {
		t.Errorf("1 KB/s outside checkpoints is %v bytes a year", got)
	}
	if got := value(families["tarn_process_disk_written_bytes_per_year"], ""); got < 31e9 {
		t.Errorf("with the checkpoints, %v bytes a year", got)
	}
	if got := value(families["tarn_state_written_bytes_total"], "checkpoint"); got != 3_601_000 {
		t.Errorf("%v bytes", got)
	}
	if got := value(families["tarn_checkpoint_age_seconds"], ""); got < 3599 || got > 3700 {
		t.Errorf("%v s since the checkpoint", got)
	}
	if value(families["tarn_process_memory_bytes"], "anonymous") <= 0 ||
		value(families["process_cpu_seconds_total"], "") <= 0 {
		t.Error("the process is not measured")
	}
}

// A few seconds, or half of an interval between checkpoints, say nothing of a year.
func TestNothingIsProjectedFromAShortTime(t *testing.T) {
	for _, c := range []struct {
		serving, checkpoint  time.Duration // ago; 0 for no checkpoint
		outside, checkpoints bool
	}{
		{serving: 2 * time.Second},
		{serving: 14 * time.Minute, checkpoint: time.Minute},
		{serving: 16 * time.Minute, outside: true},
		{serving: 16 * time.Minute, checkpoint: 5 * time.Minute, outside: true},
		{serving: 40 * time.Minute, checkpoint: 10 * time.Minute, outside: true, checkpoints: true},
	} {
		m, s := testMeter()
		m.begin.at = time.Now().Add(-c.serving)
		s.Written.Checkpoint += 1 << 20
		s.LastCheckpoint = store.CheckpointStats{}
		if c.checkpoint != 0 {
			s.LastCheckpoint.At = time.Now().Add(-c.checkpoint)
		}
		families := scrape(t, text(m))
		causes := map[string]bool{}
		for _, x := range families["tarn_state_written_bytes_per_year"].GetMetric() {
			causes[x.Label[0].GetValue()] = true
		}
		total := families["tarn_process_disk_written_bytes_per_year"] != nil
		if causes["spill"] != c.outside || causes["checkpoint"] != c.checkpoints || total != c.checkpoints {
			t.Errorf("%+v: %v, a total: %v", c, causes, total)
		}
	}
}

// Leap's plugin_http_api_test takes each line apart at spaces, and wants a name and a value.
func TestLinesAreANameAndAValue(t *testing.T) {
	m, s := testMeter()
	s.Memory = "ordinary pages"
	m.o.Files = []Files{{Name: "block log", Written: func() int64 { return 1 }}}
	m.o.Folders = []Folder{{Name: "the state", Path: t.TempDir()}}
	for line := range strings.Lines(string(text(m))) {
		if !strings.HasPrefix(line, "#") && len(strings.Fields(line)) != 2 {
			t.Errorf("%q", line)
		}
	}
}

// Seconds of a start say nothing of a year: the pace of five minutes takes five minutes.
func TestThePaceIsSaidWhenItsTimeIsOver(t *testing.T) {
	w := &Watch{now: &reading{}}
	begin := time.Now()
	for i := range paceOver + 10 {
		at := i % paceOver
		w.written[at], w.taken[at] = int64(i)*1000, begin.Add(time.Duration(i)*time.Second)
		w.samples++
		if v := w.pace(); i < paceOver-1 != math.IsNaN(v) || i >= paceOver-1 && (v < 31.5e9 || v > 31.6e9) {
			t.Fatalf("after %d s: %v", i, v)
		}
	}
}
