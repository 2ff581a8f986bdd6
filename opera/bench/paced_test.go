package bench

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What is asked at fixed times does not wait for answers; all that a server keeps waiting counts,
// from when it was due, and so does what has no good answer.
func TestPacedQuestionsDoNotWaitForAnswers(t *testing.T) {
	const wanted = 4
	var came atomic.Int64
	free := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if came.Add(1) == wanted {
			close(free)
			cancel()
		}
		<-free
		_, _ = w.Write(body)
	}))
	defer server.Close()
	p := paced{url: server.URL, every: 10 * time.Millisecond, questions: [][]byte{[]byte("good"), []byte("bad")}, patience: time.Minute,
		good: func(answer []byte) error {
			if string(answer) == "bad" {
				return errors.New("it is bad")
			}
			return nil
		}}
	begun := time.Now()
	got := p.run(ctx)
	// Nothing is answered before so many were asked.
	if took := time.Since(begun); got.asked < wanted || got.longest < (wanted-1)*p.every || got.longest > took {
		t.Errorf("%d asked, the longest took %v of %v", got.asked, got.longest, took)
	}
	if got.failed != got.asked/2 || got.why == nil || !strings.Contains(got.why.Error(), "it is bad") {
		t.Errorf("%d of %d failed: %v", got.failed, got.asked, got.why)
	}
	if int(got.latencies.Count) != got.asked {
		t.Errorf("%d latencies of %d", got.latencies.Count, got.asked)
	}
	sum := &told{}
	sum.add(got)
	sum.add(got)
	if sum.asked != 2*got.asked || sum.failed != 2*got.failed || sum.longest != got.longest {
		t.Errorf("twice the same is %d asked, %d failed, %v", sum.asked, sum.failed, sum.longest)
	}
}
