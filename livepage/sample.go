package livepage

import (
	"math"
	"strconv"
	"sync"
	"time"
)

// samples are the numbers of the last hour and the last day. One goroutine takes them;
// all may read.
type samples struct {
	o     *Options
	began int64 // ms since 1970: tells this process from the one before it

	// The rest of the sampling is the goroutine's that takes samples.
	series   []Series
	raw      []float64 // what the series were last
	rawAt    time.Time // zero before the first sample
	sums     []float64 // over the minute under way
	counts   []int
	minuteAt int64 // which minute that is, since 1970

	mu      sync.Mutex // over what follows
	number  int64      // of the newest sample, from 1; 0 for none
	changed chan struct{}
	seconds ring
	minutes ring
	ended   int64 // minutes so far
	figures []float64
	words   []string
	events  [eventsKept]event
	all     []byte // encoding of everything
	allAt   int64  // number of the sample that it ends with
}

// ring holds the last samples of all series.
type ring struct {
	times  []int64 // ms since 1970, ascending
	values []float64
	width  int // series
	next   int // slot of the next sample
	filled int // slots
}

func newRing(size, width int) ring {
	return ring{times: make([]int64, size), values: make([]float64, size*width), width: width}
}

// add adds a sample, for whose values it returns the place.
func (r *ring) add(at int64) []float64 {
	slot := r.next
	r.next = (slot + 1) % len(r.times)
	r.filled = min(r.filled+1, len(r.times))
	r.times[slot] = at
	return r.values[slot*r.width : (slot+1)*r.width]
}

// slot is where the i-th sample is, the oldest first.
func (r *ring) slot(i int) int { return (r.next - r.filled + i + len(r.times)) % len(r.times) }

// last returns the newest sample.
func (r *ring) last() (at int64, values []float64) {
	slot := r.slot(r.filled - 1)
	return r.times[slot], r.values[slot*r.width : (slot+1)*r.width]
}

func newSamples(o *Options, now time.Time) *samples {
	s := &samples{o: o, began: now.UnixMilli(), changed: make(chan struct{}), figures: make([]float64, len(o.Figures)),
		words: make([]string, len(o.Figures))}
	for _, p := range o.Panels {
		s.series = append(s.series, p.Series...)
	}
	n := len(s.series)
	s.raw, s.sums, s.counts = make([]float64, n), make([]float64, n), make([]int, n)
	s.seconds, s.minutes = newRing(secondsKept, n), newRing(minutesKept, n)
	return s
}

// take takes a sample.
func (s *samples) take(now time.Time) {
	if s.o.Read != nil {
		s.o.Read()
	}
	values := s.values(now)
	figures, words := make([]float64, len(s.figures)), make([]string, len(s.words))
	for i, f := range s.o.Figures {
		if f.Unit == Text {
			words[i] = f.Words()
		} else {
			figures[i] = f.Value()
		}
	}
	at := now.UnixMilli()
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, _ := s.seconds.last(); s.seconds.filled > 0 && at < last {
		// The clock was set back: what is in the rings is of a time to come.
		s.seconds.filled, s.minutes.filled, s.allAt = 0, 0, 0
		s.minuteAt = 0
		s.began++ // viewers begin anew
	}
	copy(s.seconds.add(at), values)
	s.number++
	e := &s.events[s.number%eventsKept]
	*e = event{}
	if s.addMinute(now, values) {
		s.ended++
		e.minute = s.ended
	}
	s.figures, s.words = figures, words
	close(s.changed)
	s.changed = make(chan struct{})
}

// values asks the series.
func (s *samples) values(now time.Time) []float64 {
	values := make([]float64, len(s.series))
	span := now.Sub(s.rawAt).Seconds()
	first := s.rawAt.IsZero()
	for i, series := range s.series {
		v := series.Value()
		values[i] = v
		if series.Rate {
			values[i] = math.NaN()
			if grown := v - s.raw[i]; !first && grown >= 0 && span > 0 {
				values[i] = grown / span
			}
			s.raw[i] = v
		}
		if series.Scale != 0 {
			values[i] *= series.Scale
		}
	}
	s.rawAt = now
	return values
}

// addMinute adds a sample to its minute, and tells whether the one before has ended and is
// in the ring now: it has the mean of what was known in it.
func (s *samples) addMinute(now time.Time, values []float64) (ended bool) {
	const ms = int64(time.Minute / time.Millisecond)
	at := now.UnixMilli() / ms
	if at != s.minuteAt && s.minuteAt != 0 {
		ended = true
		means := s.minutes.add((s.minuteAt + 1) * ms)
		for i := range means {
			means[i] = s.sums[i] / float64(s.counts[i]) // 0/0 is NaN
		}
	}
	if at != s.minuteAt {
		s.minuteAt = at
		clear(s.sums)
		clear(s.counts)
	}
	for i, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.sums[i] += v
			s.counts[i]++
		}
	}
	return ended
}

// eventsKept is how many samples a viewer that comes back may have missed.
const eventsKept = 64

// event is a sample on its way to viewers.
type event struct {
	minute int64  // which one it ended; 0 for none
	text   []byte // nil until somebody wants it
}

// wait returns the newest sample's number and what is closed when there is a newer one.
func (s *samples) wait() (number int64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.number, s.changed
}

// session is what viewers' ids begin with; samples of another session mean nothing.
func (s *samples) session() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}

// event returns the event of a sample, the same bytes to all, and false if it is too old.
// Nobody changes them.
func (s *samples) event(number int64) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed := s.number - number
	if number < 1 || missed < 0 || missed >= min(eventsKept, int64(s.seconds.filled)) {
		return nil, false
	}
	e := &s.events[number%eventsKept]
	if e.text == nil {
		e.text = s.encodeEvent(number, s.seconds.slot(s.seconds.filled-1-int(missed)), e.minute)
	}
	return e.text, true
}

// encodeEvent writes a sample as a server-sent event, with the minute that it ended, or 0.
func (s *samples) encodeEvent(number int64, slot int, minute int64) []byte {
	b := make([]byte, 0, 256+12*(s.seconds.width+len(s.figures)))
	b = append(b, "id: "...)
	b = appendID(b, s.began, number)
	b = append(b, "\ndata: {\"t\":"...)
	b = strconv.AppendInt(b, s.seconds.times[slot], 10)
	b = append(b, `,"v":`...)
	b = appendNumbers(b, s.seconds.values[slot*s.seconds.width:(slot+1)*s.seconds.width])
	if before := s.ended - minute; minute > 0 && before < int64(s.minutes.filled) {
		slot := s.minutes.slot(s.minutes.filled - 1 - int(before))
		b = append(b, `,"mt":`...)
		b = strconv.AppendInt(b, s.minutes.times[slot], 10)
		b = append(b, `,"m":`...)
		b = appendNumbers(b, s.minutes.values[slot*s.minutes.width:(slot+1)*s.minutes.width])
	}
	b = append(b, `,"f":`...)
	b = s.appendFigures(b)
	return append(b, "}\n\n"...)
}
