package exposition

import (
	"bytes"
	"math"
	"testing"

	"github.com/prometheus/common/expfmt"
)

func TestOthersReadWhatIsWritten(t *testing.T) {
	w := To([]byte("# before\n"))
	w.Metric("tarn_test", Gauge, "a \\ and\na line")
	values := map[string]float64{"plain": 1, `quo"te\` + "\nline": -2.5, "bad \xff": 1e300, "ünï": math.Inf(1),
		"big": 1 << 60, "inf": math.Inf(-1), "": 0.1}
	for l, v := range values {
		w.Sample(v, "label", l, "other", "x")
	}
	w.One("tarn_total", Counter, "things", 12345678901)
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(bytes.NewReader(w.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, w.Bytes())
	}
	if v := families["tarn_total"].GetMetric()[0].GetCounter().GetValue(); v != 12345678901 {
		t.Error(v)
	}
	f := families["tarn_test"]
	if f.GetHelp() != "a \\ and\na line" || len(f.GetMetric()) != len(values) {
		t.Errorf("%v", f)
	}
	for _, m := range f.GetMetric() {
		l := m.GetLabel()[0].GetValue()
		if l == "bad \uFFFD" {
			l = "bad \xff"
		}
		if want, ok := values[l]; !ok || m.GetGauge().GetValue() != want {
			t.Errorf("%q is %v, want %v", l, m.GetGauge().GetValue(), want)
		}
	}
}

func TestOthersReadSummaries(t *testing.T) {
	w := To(nil)
	w.Summary("took", "how long", []Quantile{{0.5, 7}, {0.999, 1.5}}, 3, 21)
	w.One("after", Gauge, "", 1)
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(bytes.NewReader(w.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, w.Bytes())
	}
	s := families["took"].GetMetric()[0].GetSummary()
	if q := s.GetQuantile(); len(q) != 2 || q[1].GetQuantile() != 0.999 || q[1].GetValue() != 1.5 ||
		s.GetSampleCount() != 3 || s.GetSampleSum() != 21 || families["after"] == nil {
		t.Errorf("%v", families)
	}
}
