package bench

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/types"
	"tarn/internal/figures"
)

// line is one kept-alive HTTP connection that costs as little as it can.
type line struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(url string) (*line, error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	return &line{c, bufio.NewReaderSize(c, 16<<10)}, nil
}

// request makes a whole POST request.
func request(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// ask sends a request and reads the answer; one that is not of the kind 2xx is an
// error with its text.
func (l *line) ask(request []byte) error {
	if _, err := l.conn.Write(request); err != nil {
		return err
	}
	status, err := l.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(status) < 12 {
		return fmt.Errorf("answer %q", status)
	}
	good, size := status[9] == '2', -1
	for {
		h, err := l.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if h = bytes.TrimSpace(h); len(h) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(h, []byte(":")); bytes.EqualFold(name, []byte("content-length")) {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if size < 0 {
		return fmt.Errorf("an answer without a length")
	}
	if good {
		_, err = l.in.Discard(size)
		return err
	}
	text := make([]byte, min(size, 2000))
	for i := range text {
		if text[i], err = l.in.ReadByte(); err != nil {
			return err
		}
	}
	return fmt.Errorf("refused: %s", text)
}

// over asks over connections at once until next returns nil, and returns how long each
// answer took.
func over(url string, connections int, next func() []byte) (*figures.Latencies, error) {
	var wg sync.WaitGroup
	var failure atomic.Pointer[error]
	took := make([]figures.Latencies, connections)
	for i := range connections {
		l, err := dial(url)
		if err != nil {
			return nil, err
		}
		defer l.conn.Close()
		wg.Go(func() {
			for failure.Load() == nil {
				r := next()
				if r == nil {
					return
				}
				start := time.Now()
				if err := l.ask(r); err != nil {
					failure.Store(&err)
				}
				took[i].Add(time.Since(start))
			}
		})
	}
	wg.Wait()
	if e := failure.Load(); e != nil {
		return nil, *e
	}
	for i := range took[1:] {
		took[0].Merge(&took[i+1])
	}
	return &took[0], nil
}

// pushRequests makes the requests that send transactions.
func pushRequests(all []*types.PackedTransaction) [][]byte {
	requests := make([][]byte, len(all))
	for i, p := range all {
		requests[i] = request("/v1/chain/send_transaction2", fmt.Sprintf(
			`{"return_failure_trace":false,"retry_trx":false,"transaction":{"signatures":["%s"],"compression":"none","packed_context_free_data":"","packed_trx":"%s"}}`,
			p.Signatures[0], hex.EncodeToString(p.PackedTrx)))
	}
	return slices.Clip(requests)
}
