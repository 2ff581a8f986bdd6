package node

import (
	"fmt"
	"testing"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/p2p"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/types"
)

// line makes blocks one after the other, at slots, by those whose turn it is.
type line struct {
	last     *consensus.BlockState
	schedule []types.ProducerAuthority
}

func (l *line) block(slot types.BlockTimestamp) *consensus.BlockState {
	s := &consensus.HeaderState{}
	s.ActiveSchedule = &types.ProducerSchedule{Producers: l.schedule}
	if l.last != nil {
		s.Header.Previous = l.last.ID
		if turn := l.last.ScheduledProducer(slot); turn != nil {
			s.Header.Producer = turn.Producer
		}
	}
	s.Header.Timestamp = slot
	s.ID[0], s.ID[1], s.ID[2], s.ID[3] = byte(slot>>24), byte(slot>>16), byte(slot>>8), byte(slot)
	l.last = &consensus.BlockState{HeaderState: s}
	return l.last
}

func scheduleOf(names ...string) (list []types.ProducerAuthority) {
	for _, n := range names {
		list = append(list, types.ProducerAuthority{Producer: types.N(n)})
	}
	return list
}

func TestMissedAndLateBlocksAreTheirProducers(t *testing.T) {
	m, _ := testMetrics()
	l := line{schedule: scheduleOf("alice", "bob")} // twelve slots each
	const start = 2400                              // alice's first
	on := func(b *consensus.BlockState, age time.Duration) {
		m.producers.countBlock(b, b.Header.Timestamp.TimePoint().Time().Add(age))
	}
	on(l.block(start), time.Hour)              // of old: not late
	on(l.block(start+1), 900*time.Millisecond) // in time
	on(l.block(start+4), 2*time.Second)        // alice missed 2 and was late
	on(l.block(start+14), 0)                   // alice missed 7, bob 2
	other := line{schedule: l.schedule}
	on(other.block(start+20), 0) // of another fork: nothing is known between
	m.producers.hooks().Forked([]*consensus.BlockState{l.last, l.last})
	families := scrape(t, m.append(nil))
	for _, c := range []struct {
		name, producer string
		want           float64
	}{
		{"tarn_producer_missed_blocks_total", "alice", 9}, {"tarn_producer_missed_blocks_total", "bob", 2},
		{"tarn_producer_late_blocks_total", "alice", 1}, {"tarn_producer_late_blocks_total", "bob", 0},
		{"tarn_producer_blocks_total", "bob", 1}, {"tarn_forks_total", "", 1}, {"tarn_forked_blocks_total", "", 2},
	} {
		if got := value(families[c.name], c.producer); got != c.want {
			t.Errorf("%s of %s is %v, want %v", c.name, c.producer, got, c.want)
		}
	}
}

func TestAChainCannotMakeCountingDear(t *testing.T) {
	var p producers
	l := line{schedule: scheduleOf("alice")}
	p.countBlock(l.block(0), time.Now())
	begin := time.Now()
	p.countBlock(l.block(2_000_000_000), time.Now()) // thirty years later
	if took := time.Since(begin); p.of["alice"].missed != maxMissed-1 || took > 10*time.Second {
		t.Errorf("%d missed blocks counted in %v", p.of["alice"].missed, took)
	}
	for i := range 3 * maxProducers {
		l.schedule = []types.ProducerAuthority{{Producer: types.Name(uint64(i+1) << 40)}}
		l.last.ActiveSchedule.Producers = l.schedule
		p.countBlock(l.block(2_000_000_001+types.BlockTimestamp(i)), time.Now())
	}
	if len(p.of) > maxProducers+1 || p.of[otherName].blocks == 0 {
		t.Errorf("%d producers are told apart", len(p.of))
	}
	l.schedule, l.last.ActiveSchedule.Producers = nil, nil // of a damaged chain
	p.countBlock(l.block(2_000_100_000), time.Now())
}

func TestAnswersAreCountedByEndpointAndStatus(t *testing.T) {
	m, _ := testMetrics()
	for i := range 10 {
		m.answers.add(nodeoshttp.Answered{Target: "/v1/chain/get_info", Status: 200, Bytes: 100,
			Took: time.Duration(i) * time.Millisecond})
	}
	m.answers.add(nodeoshttp.Answered{Target: "/v1/chain/get_block", Status: 500, Bytes: 7, Took: 2 * time.Second})
	families := scrape(t, m.append(nil))
	for _, h := range families["tarn_http_request_seconds"].GetMetric() {
		want := map[string]uint64{"/v1/chain/get_info": 10, "/v1/chain/get_block": 1}[h.GetLabel()[0].GetValue()]
		if got := h.GetHistogram().GetSampleCount(); got != want {
			t.Errorf("%v: %d answers, want %d", h.GetLabel(), got, want)
		}
	}
	if value(families["tarn_http_answers_total"], "200") != 10 || value(families["tarn_http_answers_total"],
		"500") != 1 || value(families["tarn_http_answer_bytes_total"], "") != 1007 {
		t.Errorf("%v", families["tarn_http_answers_total"])
	}
	if d := m.answers.takeLongest(); d != 2*time.Second || m.answers.takeLongest() != 0 {
		t.Errorf("the longest took %v", d)
	}
}

// What the page shows follows from the metrics alone.
func TestTheDashboardShowsWhatTheMetricsCount(t *testing.T) {
	m, _ := testMetrics()
	v := &shown{m: m, watch: m.nodeMetrics.Watch()}
	series := map[string]func() float64{}
	for _, p := range v.panels() {
		for _, s := range p.Series {
			series[p.Title+": "+s.Name] = s.Value
		}
	}
	figures := map[string]func() float64{}
	for _, f := range v.figures() {
		figures[f.Title] = f.Value
		if f.Words != nil {
			figures[f.Title] = func() float64 { _ = f.Words(); return 0 }
		}
	}
	v.read()
	for range 20 { // longer than quantiles look back
		m.answers.add(nodeoshttp.Answered{Target: "/x", Status: 503, Took: 20 * time.Millisecond})
		v.read()
		for name, of := range series {
			of()
			_ = name
		}
		for _, of := range figures {
			of()
		}
	}
	for name, want := range map[string][2]float64{
		"Answers: all": {20, 20}, "Answers: errors (500 and above)": {20, 20},
		"Time for an answer: median": {0.01, 0.025}, "Time for an answer: longest": {0.02, 0.02},
		"From and to peers: in": {8, 8}, "Peers: incoming": {3, 3},
		"Longest round trip to a peer: longest":      {0.003, 0.003},
		"Changed since the last checkpoint: changed": {11, 11},
	} {
		of := series[name]
		if of == nil {
			t.Fatalf("there is no %s in %v", name, fmt.Sprint(len(series)))
		}
		if got := of(); got < want[0] || got > want[1] {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := figures["Newest block"](); got != 77 {
		t.Errorf("the newest block is %v", got)
	}
}

// BenchmarkSample is what a sample of the node's numbers costs, with two hundred peers.
func BenchmarkSample(b *testing.B) {
	m, _ := testMetrics()
	one := m.network()
	for len(one.Connections) < 200 {
		one.Connections = append(one.Connections, one.Connections...)
	}
	m.network = func() p2p.Metrics { return one }
	v := &shown{m: m, watch: m.nodeMetrics.Watch()}
	for b.Loop() {
		v.read()
	}
}
