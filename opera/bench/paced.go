package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"tarn/internal/figures"
)

// paced asks a server at fixed times, whether or not what was asked before is answered. The time of
// an answer counts from when its question was due, so that a server that stands for a while is not
// asked less, and all that waits for it counts.
type paced struct {
	url       string
	every     time.Duration
	questions [][]byte // bodies, asked in turn, again and again
	good      func(answer []byte) error
	patience  time.Duration // of a question
}

// told is what paced questions came to.
type told struct {
	mu        sync.Mutex
	asked     int
	failed    int
	why       error // of the first that failed
	longest   time.Duration
	latencies figures.Latencies
}

// add adds what others came to.
func (t *told) add(o *told) {
	t.asked, t.failed, t.longest = t.asked+o.asked, t.failed+o.failed, max(t.longest, o.longest)
	if t.why == nil {
		t.why = o.why
	}
	t.latencies.Merge(&o.latencies)
}

// run asks until the context ends, and waits for the answers to all that was asked.
func (p *paced) run(ctx context.Context) *told {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: p.patience}
	defer client.CloseIdleConnections()
	t := &told{}
	var all sync.WaitGroup
	defer all.Wait()
	due := time.Now()
	for i := 0; ; i++ {
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return t
		}
		if ctx.Err() != nil { // both may be ready
			return t
		}
		body, at := p.questions[i%len(p.questions)], due
		all.Go(func() {
			err := p.ask(client, body)
			took := time.Since(at)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.asked++
			if err != nil {
				t.failed++
				if t.why == nil {
					t.why = err
				}
			}
			t.longest = max(t.longest, took)
			t.latencies.Add(took)
		})
		due = due.Add(p.every)
	}
}

func (p *paced) ask(client *http.Client, body []byte) (err error) {
	res, err := client.Post(p.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	if err == nil {
		err = p.good(answer)
	}
	if err != nil {
		return fmt.Errorf("%.200s is answered %.200s: %w", body, answer, err)
	}
	return nil
}
