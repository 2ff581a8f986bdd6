package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func good(status int, body []byte) error {
	if status != http.StatusOK {
		return fmt.Errorf("%d: %s", status, body)
	}
	return nil
}

// requests are numbered from first.
func requests(url string, first, count int) (all []Request) {
	for i := range count {
		all = append(all, Request{URL: url, Body: fmt.Append(nil, first+i)})
	}
	return all
}

func TestEachRequestOfAClosedLoopIsSentOnce(t *testing.T) {
	var seen [100]atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		body, _ := io.ReadAll(r.Body)
		if _, err := fmt.Sscan(string(body), &n); err == nil {
			seen[n].Add(1)
		}
		if n == 7 {
			http.Error(w, "not this one", http.StatusTeapot)
		}
	}))
	defer server.Close()
	r, err := Closed(t.Context(), 8, requests(server.URL, 0, len(seen)), good)
	if err != nil || r.Answers != len(seen)-1 || r.Failures != 1 ||
		!strings.Contains(fmt.Sprint(r.Failure), "not this one") {
		t.Errorf("%+v, %v", r, err)
	}
	for i := range seen {
		if n := seen[i].Load(); n != 1 {
			t.Errorf("request %d was sent %d times", i, n)
		}
	}
	if len(r.Windows) == 0 || r.Windows[0].Longest < r.Windows[0].NearAll || r.Windows[0].Longest <= 0 {
		t.Errorf("windows %+v", r.Windows)
	}
}

// A server that stalls for a while answers at once otherwise. What was due meanwhile has
// waited, although nothing was sent that a closed loop would have timed.
func TestAStallDoesNotHideWhatWaited(t *testing.T) {
	const stall, rate, count = 400 * time.Millisecond, 100, 100
	free := make(chan struct{})
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) == 10 {
			time.AfterFunc(stall, func() { close(free) })
		}
		if asked.Load() >= 10 {
			<-free
		}
	}))
	defer server.Close()
	r, err := Open(t.Context(), rate, count*time.Second/rate, Again(requests(server.URL, 0, 3)), good, nil)
	if err != nil || r.Answers != count || r.Failures != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	// 40 requests were due in the stall, so that a quarter of all waited longer than an eighth of it.
	if waited := time.Duration(r.Latencies.Quantile(0.75)); waited < stall/8 {
		t.Errorf("three quarters were answered within %v of when they were due, through a stall of %v", waited, stall)
	}
	if took := r.Took; took < (count-1)*time.Second/rate {
		t.Errorf("%d requests at %d per second took %v", count, rate, took)
	}
	if longest := r.Windows[0].Longest; longest < stall*9/10 {
		t.Errorf("the longest of the window took %v, the stall %v", longest, stall)
	}
}

func TestAnOpenLoopMakesItsRequestsInPortions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	var calls []int
	var goods []time.Duration
	begun := 0
	made := 0
	source := func(_ context.Context, count int, good time.Duration) ([]Request, error) {
		calls, goods = append(calls, count), append(goods, good)
		made += count
		return requests(server.URL, made-count, count), nil
	}
	// A portion of 30 s cannot be waited for: portions of one, whose rate is below one in 30 s,
	// are as many as requests.
	r, err := open(t.Context(), loop{rate: 200, count: 30, portion: 8}, source, good, func() error {
		begun = made
		return nil
	})
	if err != nil || r.Answers != 30 || made != 30 || begun != 8 {
		t.Fatalf("%+v, %v: %d made, %d before it began", r, err, made, begun)
	}
	if fmt.Sprint(calls) != "[8 8 8 6]" {
		t.Errorf("portions of %v", calls)
	}
	for _, g := range goods {
		if g < 2*portion || g > 55*time.Minute {
			t.Errorf("requests are made to be good for %v", g)
		}
	}
	broken := errors.New("no more")
	source = func(_ context.Context, count int, _ time.Duration) ([]Request, error) {
		if count < 8 {
			return nil, broken
		}
		return requests(server.URL, 0, count), nil
	}
	if _, err := open(t.Context(), loop{rate: 500, count: 20, portion: 8}, source, good, nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.Context(), 0, time.Second, source, good, nil); err == nil {
		t.Error("a rate of nothing is taken")
	}
}

func TestALoadThatIsEndedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	if r, err := Open(ctx, 50, time.Hour/2, Again(requests(server.URL, 0, 1)), good, nil); !errors.Is(err,
		context.Canceled) || r.Failures != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := Cycle(ctx, 2, time.Hour, requests(server.URL, 0, 1), good); !errors.Is(err, context.Canceled) ||
		r.Failures != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestACycleTakesItsTime(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	const length = 200 * time.Millisecond
	r, err := Cycle(t.Context(), 3, length, requests(server.URL, 0, 2), good)
	if err != nil || r.Took < length || r.Answers < 3 || int64(r.Answers) != asked.Load() || r.Failures != 0 {
		t.Errorf("%+v of %d, %v", r, asked.Load(), err)
	}
}

// A load that ends before its time does not wait for answers to send; all that a server keeps
// waiting counts, from when it was due, and so does what has no good answer.
func TestALoadThatEndsEarlyWaitsForItsAnswers(t *testing.T) {
	const wanted, rate = 4, 100
	var came atomic.Int64
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if came.Add(1) == wanted {
			close(end)
		}
		<-end
		_, _ = w.Write(body)
	}))
	defer server.Close()
	all := []Request{{server.URL, []byte("good")}, {server.URL, []byte("bad")}}
	judge := func(_ int, body []byte) error {
		if string(body) == "bad" {
			return errors.New("it is bad")
		}
		return nil
	}
	begun := time.Now()
	r, err := Until(t.Context(), end, rate, time.Minute, Again(all), judge, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is answered before so many were asked.
	asked := r.Answers + r.Failures
	if took := time.Since(begun); asked < wanted || asked != int(came.Load()) ||
		r.Longest() < (wanted-1)*time.Second/rate || r.Longest() > took {
		t.Errorf("%d asked, %d came, the longest took %v of %v", asked, came.Load(), r.Longest(), took)
	}
	if r.Failures != asked/2 || r.Failure == nil || !strings.Contains(r.Failure.Error(), "it is bad") {
		t.Errorf("%d of %d failed: %v", r.Failures, asked, r.Failure)
	}
	if int(r.Latencies.Count) != asked {
		t.Errorf("%d latencies of %d", r.Latencies.Count, asked)
	}
	sum := &Result{}
	sum.Add(r)
	sum.Add(r)
	if sum.Answers != 2*r.Answers || sum.Failures != 2*r.Failures || sum.Longest() != r.Longest() ||
		int(sum.Latencies.Count) != 2*asked {
		t.Errorf("twice the same is %d answers, %d failures, %v", sum.Answers, sum.Failures, sum.Longest())
	}
}

func TestALoadThatEndsBetweenPortionsIsWhole(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	const count = 1000
	end := make(chan struct{})
	made := 0
	source := func(_ context.Context, count int, _ time.Duration) ([]Request, error) {
		if made++; made == 3 {
			close(end)
		}
		return requests(server.URL, 0, count), nil
	}
	r, err := open(t.Context(), loop{rate: 500, count: count, portion: 8, end: end}, source, good, nil)
	if err != nil || r.Answers == 0 || r.Answers == count || r.Failures != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// An answer in chunks is read whole; a line that the server says it closes, or that it closed
// without a word, is replaced.
func TestALineThatTheServerClosedIsReplaced(t *testing.T) {
	var asked atomic.Int64
	closes := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if closes {
			w.Header().Set("Connection", "close")
		}
		for _, part := range []string{"one ", r.URL.Path} {
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	kept := &lines{}
	defer kept.close()
	var body bytes.Buffer
	for i, between := range []func(){func() {}, func() {}, server.CloseClientConnections, func() { closes = true },
		func() { closes = false }} {
		between()
		status, err := kept.post(t.Context(), Request{URL: server.URL + "/path"}, &body)
		if err != nil || status != http.StatusOK || body.String() != "one /path" || int(asked.Load()) != i+1 {
			t.Errorf("request %d: %d, %q, %v; %d were asked", i, status, body.String(), err, asked.Load())
		}
		if closes != (len(kept.kept) == 0) {
			t.Errorf("request %d: %d lines are kept", i, len(kept.kept))
		}
	}
}
