package livepage

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// world is a process with two numbers that tests set.
type world struct {
	level, total float64
	o            Options
}

func newWorld() *world {
	w := &world{}
	w.o = Options{
		Title: "a test", Version: "1",
		Panels: []Panel{
			{Group: "Disk", Title: "Written", Unit: BytesSecond, Stacked: true, Series: []Series{
				{Name: "level", Value: func() float64 { return w.level }},
				{Name: "total", Rate: true, Scale: 8, Value: func() float64 { return w.total }},
			}},
		},
		Figures: []Figure{
			{Group: "Disk", Title: "Level", Unit: Bytes, Value: func() float64 { return w.level }},
			{Group: "Disk", Title: "Name", Unit: Text, Words: func() string { return "a \"b\"</script>\n" }},
		},
	}
	return w
}

type columns struct {
	T []int64
	V [][]*float64
}

type answer struct {
	ID               string
	Figures          []any
	Layout           layout
	Seconds, Minutes columns
}

func everything(t *testing.T, s *samples) (a answer) {
	t.Helper()
	text, err := s.everything()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return a
}

func same(got *float64, want float64) bool {
	if got == nil || math.IsNaN(want) {
		return got == nil && math.IsNaN(want)
	}
	return math.Abs(*got-want) <= math.Abs(want)*1e-4
}

// A model of what is kept: everything, of which the newest is shown.
func TestAnHourOfSecondsAndADayOfMinutesAreKept(t *testing.T) {
	const seed = 3
	random := rand.New(rand.NewPCG(seed, seed))
	w := newWorld()
	now := time.UnixMilli(1_790_000_000_123)
	s := newSamples(&w.o, now)
	type sample struct {
		at     int64
		values [2]float64
	}
	var seconds, minutes []sample
	var inMinute []sample
	before, beforeAt := math.NaN(), now
	for i := range 2*secondsKept + 500 {
		w.level = math.Trunc(random.Float64()*1e6) / 10
		if random.IntN(20) == 0 {
			w.level = math.NaN()
		}
		w.total += float64(random.IntN(5000))
		if random.IntN(200) == 0 {
			w.total = 0 // it began again
		}
		rate := math.NaN()
		if w.total >= before {
			rate = (w.total - before) / now.Sub(beforeAt).Seconds() * 8
		}
		x := sample{now.UnixMilli(), [2]float64{w.level, rate}}
		if len(inMinute) > 0 && inMinute[0].at/60000 != x.at/60000 {
			m := sample{at: (inMinute[0].at/60000 + 1) * 60000}
			for column := range 2 {
				sum, n := 0.0, 0.0
				for _, y := range inMinute {
					if v := y.values[column]; !math.IsNaN(v) {
						sum, n = sum+v, n+1
					}
				}
				m.values[column] = sum / n
			}
			minutes, inMinute = append(minutes, m), nil
		}
		seconds, inMinute = append(seconds, x), append(inMinute, x)
		before, beforeAt = w.total, now
		s.take(now)
		now = now.Add(time.Duration(700+random.IntN(800)) * time.Millisecond)
		if i%1777 != 0 && i != 2*secondsKept+499 {
			continue
		}
		s.allAt = 0 // it is made anew
		a := everything(t, s)
		for _, c := range []struct {
			name string
			got  columns
			want []sample
			kept int
		}{{"seconds", a.Seconds, seconds, secondsKept}, {"minutes", a.Minutes, minutes, minutesKept}} {
			want := c.want[max(0, len(c.want)-c.kept):]
			if len(c.got.T) != len(want) {
				t.Fatalf("seed %d, sample %d: %d %s, want %d", seed, i, len(c.got.T), c.name, len(want))
			}
			for j, x := range want {
				if c.got.T[j] != x.at || !same(c.got.V[0][j], x.values[0]) || !same(c.got.V[1][j], x.values[1]) {
					t.Fatalf("seed %d, sample %d: %s %d is %v %v %v, want %+v",
						seed, i, c.name, j, c.got.T[j], c.got.V[0][j], c.got.V[1][j], x)
				}
			}
		}
	}
	if len(minutes) < 60 {
		t.Fatalf("only %d minutes have ended", len(minutes))
	}
}

func TestSamplingTakesNoMoreMemoryWithTime(t *testing.T) {
	w := newWorld()
	now := time.UnixMilli(1_790_000_000_000)
	s := newSamples(&w.o, now)
	for range 2 * minutesKept { // wraps both rings
		now = now.Add(time.Minute)
		s.take(now)
	}
	if len(s.seconds.times) != secondsKept || len(s.minutes.times) != minutesKept || s.minutes.filled != minutesKept ||
		len(s.seconds.values) != 2*secondsKept || len(s.minutes.values) != 2*minutesKept {
		t.Error("the rings have grown")
	}
	if n := testing.AllocsPerRun(100, func() { now = now.Add(time.Second); s.take(now) }); n > 10 {
		t.Errorf("a sample that nobody looks at makes %v allocations", n)
	}
}

func TestEventsAreTheSamplesThatFollow(t *testing.T) {
	w := newWorld()
	now := time.UnixMilli(1_790_000_000_000)
	s := newSamples(&w.o, now)
	next := func(level float64) {
		now, w.level = now.Add(time.Second), level
		s.take(now)
	}
	for i := range 100 {
		next(float64(i))
	}
	type said struct {
		T  int64
		V  []*float64
		MT int64
		M  []*float64
		F  []any
	}
	minutes, want := 0, 0
	for number := int64(1); number <= 101; number++ {
		text, ok := s.event(number)
		if want := number > 100-eventsKept && number <= 100; ok != want {
			t.Fatalf("event %d of 100: %v, want %v", number, ok, want)
		}
		if !ok {
			continue
		}
		lines := strings.Split(string(text), "\n")
		if len(lines) != 4 || lines[0] != "id: 1790000000000-"+jsonNumber(number) || lines[2] != "" {
			t.Fatalf("%q", text)
		}
		var e said
		if err := json.Unmarshal([]byte(strings.TrimPrefix(lines[1], "data: ")), &e); err != nil {
			t.Fatal(err)
		}
		if e.T != 1_790_000_000_000+1000*number || *e.V[0] != float64(number-1) || e.F[0] != 99.0 ||
			e.F[1] != "a \"b\"</script>\n" {
			t.Fatalf("event %d: %s", number, text)
		}
		if e.T/60000 != (e.T-1000)/60000 {
			want++
		}
		if e.M != nil {
			minutes++
			if e.MT%60000 != 0 || e.T-e.MT >= 1000 || e.M[0] == nil {
				t.Errorf("event %d has the minute %s", number, text)
			}
		}
	}
	if minutes != want || want == 0 {
		t.Errorf("%d minutes in the last %d samples, want %d", minutes, eventsKept, want)
	}
}

func jsonNumber(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// Curves run forward: what a clock that is set back leaves in the rings would be of a time
// to come.
func TestAClockThatIsSetBackBeginsAnew(t *testing.T) {
	w := newWorld()
	now := time.UnixMilli(1_790_000_000_000)
	s := newSamples(&w.o, now)
	for range 200 {
		now = now.Add(time.Second)
		s.take(now)
	}
	session := s.session()
	s.take(now.Add(-time.Hour))
	a := everything(t, s)
	if len(a.Seconds.T) != 1 || len(a.Minutes.T) != 0 || s.session() == session {
		t.Errorf("%d seconds and %d minutes are left, the session is %d after %d",
			len(a.Seconds.T), len(a.Minutes.T), s.session(), session)
	}
	if _, ok := s.event(s.number - 1); ok {
		t.Error("an event of before is sent")
	}
}

func TestOptionsThatMakeNoPageAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no group":     func(o *Options) { o.Panels[0].Group = "" },
		"no series":    func(o *Options) { o.Panels[0].Series = nil },
		"are called":   func(o *Options) { o.Panels = append(o.Panels, o.Panels[0]) },
		"no value":     func(o *Options) { o.Panels[0].Series[0].Value = nil },
		"of its unit":  func(o *Options) { o.Figures[1].Words = nil },
		"are more":     func(o *Options) { o.Panels[0].Series = make([]Series, maxSeries+1) },
		"both values":  func(o *Options) { o.Figures[0].Words = func() string { return "" } },
		"more figures": func(o *Options) { o.Figures = make([]Figure, maxFigures+1) },
	} {
		w := newWorld()
		if err := w.o.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&w.o)
		if err := w.o.Validate(); err == nil ||
			strings.HasPrefix(name, "no ") && !strings.Contains(err.Error(), name[3:]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
