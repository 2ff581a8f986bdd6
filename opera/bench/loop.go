package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"tarn/internal/figures"
)

// loop asks a server as fast as it answers, each connection the next question as soon as its last
// is answered. Clients share the machine's processors with the server, so it costs little: requests
// are made beforehand, and an answer is read with no client of a library around it.
type loop struct {
	address     string
	connections int
	questions   [][]byte // bodies, asked in turn, again and again
	good        func(answer []byte) error
}

// answered is what a loop came to.
type answered struct {
	took      time.Duration
	count     int
	latencies figures.Latencies
}

func (a *answered) rate() float64 { return float64(a.count) / a.took.Seconds() }

// wire is a request as it is sent.
func wire(address string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", address, len(body))
	return append(b.Bytes(), body...)
}

// run asks for some time. An answer that is not good ends it.
func (l *loop) run(ctx context.Context, length time.Duration) (*answered, error) {
	requests := make([][]byte, len(l.questions))
	for i, body := range l.questions {
		requests[i] = wire(l.address, body)
	}
	var next atomic.Int64
	lanes := make([]answered, l.connections)
	errs := make(chan error, l.connections)
	begun := time.Now()
	end := begun.Add(length)
	var all sync.WaitGroup
	for i := range lanes {
		all.Go(func() { errs <- l.lane(ctx, &lanes[i], requests, &next, end) })
	}
	all.Wait()
	sum := &answered{took: time.Since(begun)}
	for i := range lanes {
		if err := <-errs; err != nil {
			return nil, err
		}
		sum.count += lanes[i].count
		sum.latencies.Merge(&lanes[i].latencies)
	}
	return sum, ctx.Err()
}

// lane is one connection's part.
func (l *loop) lane(ctx context.Context, a *answered, requests [][]byte, next *atomic.Int64, end time.Time) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	var answer bytes.Buffer
	for ctx.Err() == nil {
		begun := time.Now()
		if begun.After(end) {
			return nil
		}
		i := int(next.Add(1)-1) % len(requests)
		if _, err := conn.Write(requests[i]); err != nil {
			return err
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		answer.Reset()
		if _, err := io.Copy(&answer, res.Body); err != nil {
			return err
		}
		a.latencies.Add(time.Since(begun))
		a.count++
		if err := res.Body.Close(); err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("status %s to %s", res.Status, l.questions[i])
		}
		if err := l.good(answer.Bytes()); err != nil {
			return fmt.Errorf("%w: %.300s to %.300s", err, answer.Bytes(), l.questions[i])
		}
	}
	return ctx.Err()
}
