package node

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/rpc/nodeoshttp"
	"tarn/httpserver/exposition"
)

// answers are what the API has answered. Its methods may be called by all goroutines.
type answers struct {
	of      *sync.Map // target -> *exposition.Histogram, of seconds; only endpoints that there are
	codes   *sync.Map // status -> *atomic.Uint64
	all     *exposition.Histogram
	bytes   *atomic.Uint64
	longest *atomic.Int64 // ns, since it was taken last
}

func newAnswers() answers {
	return answers{new(sync.Map), new(sync.Map), exposition.NewHistogram(exposition.Durations()...), new(atomic.Uint64),
		new(atomic.Int64)}
}

// add counts an answer.
func (a *answers) add(d nodeoshttp.Answered) {
	h, ok := a.of.Load(d.Target)
	if !ok {
		h, _ = a.of.LoadOrStore(d.Target, exposition.NewHistogram(exposition.Durations()...))
	}
	h.(*exposition.Histogram).Observe(d.Took.Seconds())
	a.all.Observe(d.Took.Seconds())
	n, ok := a.codes.Load(d.Status)
	if !ok {
		n, _ = a.codes.LoadOrStore(d.Status, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
	a.bytes.Add(uint64(d.Bytes))
	for took := int64(d.Took); ; {
		longest := a.longest.Load()
		if took <= longest || a.longest.CompareAndSwap(longest, took) {
			return
		}
	}
}

// takeLongest returns the longest time since it was called last.
func (a *answers) takeLongest() time.Duration { return time.Duration(a.longest.Swap(0)) }

// byCode are the answers of each status.
func (a *answers) byCode() map[int]uint64 {
	list := map[int]uint64{}
	a.codes.Range(func(code, n any) bool {
		list[code.(int)] = n.(*atomic.Uint64).Load()
		return true
	})
	return list
}

func (a *answers) append(w *exposition.Writer) {
	times := map[string]exposition.Distribution{}
	a.of.Range(func(target, h any) bool {
		times[target.(string)] = h.(*exposition.Histogram).Read()
		return true
	})
	w.Metric("tarn_http_request_seconds",
		exposition.Buckets, "Time until the answer of each endpoint was made, the wait for a turn included")
	for _, target := range slices.Sorted(maps.Keys(times)) {
		w.Distribution(times[target], "handler", target)
	}
	codes := a.byCode()
	w.Metric("tarn_http_answers_total", exposition.Counter, "Answers of endpoints, by their status")
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		w.Sample(float64(codes[code]), "code", strconv.Itoa(code))
	}
	w.Count("tarn_http_answer_bytes_total", "Bytes of those answers, without headers", a.bytes.Load())
}
