package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func small() *Run {
	return &Run{
		Kind: KindRun, Schema: Schema, Ended: EndWhole, Subjects: []Subject{{Name: "tarn:heap"}},
		Suites: []Suite{{Name: "import", Metrics: []Metric{{Name: "time", Unit: "s"}}}},
		Lives: []Life{
			{Suite: "import", Round: 1, Subject: "tarn:heap", Values: map[string]float64{"time": 1.5},
				Samples: []Sample{{Seconds: 0.1}, {Seconds: 0.2, Written: 4096}}},
			{Suite: "import", Round: 2, Subject: "tarn:heap", Failure: "it ended with 1"},
		},
	}
}

func TestWhatIsSavedIsRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.json")
	want := small()
	if err := Save(name, want); err != nil {
		t.Fatal(err)
	}
	got, watch, err := Load(name)
	if err != nil || watch != nil {
		t.Fatal(watch, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	w := &Watch{Kind: KindWatch, Schema: Schema, PID: 7, Samples: []Sample{{}, {Seconds: 1}}}
	if err := Save(name, w); err != nil {
		t.Fatal(err)
	}
	if run, again, err := Load(name); err != nil || run != nil || !reflect.DeepEqual(again, w) {
		t.Errorf("%v, %+v, %v", run, again, err)
	}
}

func TestWhatIsNoRecordIsRefused(t *testing.T) {
	for text, why := range map[string]string{
		"":                                     "unexpected end",
		"[]":                                   "cannot unmarshal",
		`{"kind":"other"}`:                     `kind is "other"`,
		`{"kind":"tarn-bench-run"}`:            "number 0",
		`{"kind":"tarn-bench-run","schema":5}`: "number 5",
		`{"kind":"tarn-bench-run","schema":8}`: "number 8",
		`{"kind":"tarn-bench-run","schema":6,"nonsense":1}`:                                                                "nonsense",
		`{"kind":"tarn-bench-watch","schema":6}`:                                                                           "no reading",
		`{"kind":"tarn-bench-watch","schema":6,"samples":[{"seconds":2},{"seconds":1}]}`:                                   "before the one before",
		`{"kind":"tarn-bench-run","schema":6,"lives":[{"suite":"x","subject":"y","round":1}]}`:                             `suite "x"`,
		`{"kind":"tarn-bench-run","schema":6,"suites":[{"name":"x"},{"name":"x"}]}`:                                        "twice",
		`{"kind":"tarn-bench-run","schema":6,"suites":[{"name":"x","metrics":[{"name":"b","part":"a"},{"name":"a: b"}]}]}`: `"a: b" twice`,
		`{"kind":"tarn-bench-run","schema":6,"subjects":[{"name":"x"},{"name":"x"}]}`:                                      "twice",
		`{"kind":"tarn-bench-run","schema":6,"lives":[{"values":{"time":"NaN"}}]}`:                                         "cannot unmarshal",
	} {
		name := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Load(name); err == nil || !strings.Contains(err.Error(), why) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want one with %q and the file's name", text, err, why)
		}
	}
	if _, _, err := Load(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a file that is not there is read")
	}
}

func FuzzParse(f *testing.F) {
	text, err := json.Marshal(small())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"kind":"tarn-bench-watch","schema":6,"samples":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		run, watch, err := Parse(text)
		if err != nil {
			return
		}
		if (run == nil) == (watch == nil) {
			t.Fatal("not one of both")
		}
		if run != nil {
			for _, s := range run.Suites {
				for _, a := range run.Subjects {
					for _, m := range s.Metrics {
						Estimated(run.Values(s.Name, a.Name, m.Name))
					}
				}
			}
		}
	})
}

func TestTheMachineIsDescribed(t *testing.T) {
	m := Describe(t.TempDir())
	if m.CPUs < 1 || m.RAM < 1<<20 || m.Kernel == "" || len(m.Settings) < 10 {
		t.Errorf("%+v", m)
	}
	for _, s := range m.Settings {
		if s.Value == "" {
			t.Errorf("%s says nothing", s.Name)
		}
	}
}
