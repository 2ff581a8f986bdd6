package bench

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestALoopCountsGoodAnswersAndEndsAtABadOne(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked.Add(1)
		_, _ = w.Write([]byte(strings.Repeat(string(body), 3000))) // too long for a length in the header
	}))
	defer server.Close()
	bad := errors.New("bad")
	l := loop{address: strings.TrimPrefix(server.URL, "http://"), connections: 4, questions: [][]byte{[]byte("a"), []byte("b")}, good: func(answer []byte) error {
		if len(answer) != 3000 || answer[0] != 'a' && answer[0] != 'b' {
			return bad
		}
		return nil
	}}
	a, err := l.run(t.Context(), 100*time.Millisecond)
	if err != nil || a.count == 0 || int64(a.count) != asked.Load() || int(a.latencies.Count) != a.count {
		t.Errorf("%+v of %d, %v", a, asked.Load(), err)
	}
	l.questions = append(l.questions, []byte("c"))
	if _, err := l.run(t.Context(), time.Minute); !errors.Is(err, bad) || !strings.Contains(err.Error(), "ccc") {
		t.Error(err)
	}
}
