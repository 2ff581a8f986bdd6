package bench

import (
	"fmt"
	"sync/atomic"
	"time"

	"tarn/internal/figures"
)

// Read is how one call of the API went.
type Read struct {
	Subject, Call string
	Rate          float64       // answers per second
	P50, P99      float64       // nanoseconds
	Node, Client  time.Duration // processor time for each
}

const readConnections = 30

// question is a call that is measured, with the bodies that it is asked with in turn, and
// what is asked of its ratio to nodeos; 0 for nothing.
type question struct {
	name, path string
	bodies     []string
	asked      float64
}

func questions() []question {
	return []question{
		{"get_account", "/v1/chain/get_account", []string{`{"account_name":"sysusrbaaa"}`}, 3},
		{"get_table_rows, 10 rows", "/v1/chain/get_table_rows", []string{`{"json":true,"code":"eosio","scope":"eosio","table":"voters","limit":10}`}, 3},
		{"get_table_rows, index of doubles", "/v1/chain/get_table_rows",
			[]string{`{"json":true,"code":"eosio","scope":"eosio","table":"producers","limit":10,"index_position":2,"key_type":"float64"}`}, 3},
		{"get_info", "/v1/chain/get_info", []string{`{}`}, 0},
	}
}

// requests are those of the question, whole.
func (q question) requests() [][]byte {
	list := make([][]byte, len(q.bodies))
	for i, body := range q.bodies {
		list[i] = request(q.path, body)
	}
	return list
}

func (b *bench) reads() (*Section, error) {
	w, err := workload("system-all")
	if err != nil {
		return nil, err
	}
	c, err := b.record(w)
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for round, subject := range b.turns() {
		b.logf("reads, round %d: %s", round+1, subject)
		err := b.with(plan{subject: subject, snapshot: c.snapshot}, func(n *node) error {
			for _, q := range questions() {
				r, err := b.readOnce(n, q)
				if err != nil {
					return fmt.Errorf("%s: %w", q.name, err)
				}
				s.Reads = append(s.Reads, r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	s.readTable(b, questions(), fmt.Sprintf("The same question over %d kept-alive connections, on a state with the system contract that stands still.", readConnections))
	return s, nil
}

func (b *bench) readOnce(n *node, q question) (r Read, err error) {
	r.Subject, r.Call = n.subject, q.name
	texts := q.requests()
	var next atomic.Uint64
	var took *figures.Latencies
	begin := time.Now()
	r.Node, r.Client, err = charged(n, 1, func() (err error) {
		took, err = over(n.URL(), readConnections, func() []byte {
			if time.Since(begin) > b.config.Reads {
				return nil
			}
			return texts[next.Add(1)%uint64(len(texts))]
		})
		return err
	})
	if err != nil {
		return r, err
	}
	r.Rate = float64(took.Count) / time.Since(begin).Seconds()
	r.P50, r.P99 = took.Quantile(0.5), took.Quantile(0.99)
	r.Node /= time.Duration(took.Count)
	r.Client /= time.Duration(took.Count)
	return r, nil
}

func (s *Section) readTable(b *bench, questions []question, how string) {
	t := figures.Table{Title: "Requests", How: how,
		Head: []string{"call", "node", "answers/s", "to nodeos", "p50 ms", "p99 ms", "node µs each", "client µs each", "spread"}}
	rate := func(r Read) float64 { return r.Rate }
	for _, q := range questions {
		of := func(subject string) []Read {
			return figures.Only(s.Reads, func(r Read) bool { return r.Subject == subject && r.Call == q.name })
		}
		reference := figures.Median(of(nodeos), rate)
		for _, name := range b.subjects(0) {
			all := of(name)
			t.Add(q.name, name, figures.Count(figures.Median(all, rate)), figures.Ratio(figures.Median(all, rate)/reference)+"×",
				figures.Significant(figures.Median(all, func(r Read) float64 { return r.P50 })/1e6),
				figures.Significant(figures.Median(all, func(r Read) float64 { return r.P99 })/1e6),
				figures.Micros(figures.MedianTime(all, func(r Read) time.Duration { return r.Node })),
				figures.Micros(figures.MedianTime(all, func(r Read) time.Duration { return r.Client })), figures.Percent(figures.Spread(all, rate)))
		}
		if q.asked > 0 {
			s.Targets.AtLeast(q.name+", to nodeos", figures.Median(of(tarn), rate)/reference, q.asked, "×")
		}
	}
	s.Tables = append(s.Tables, t)
}
