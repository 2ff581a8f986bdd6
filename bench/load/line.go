package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// line is a kept connection to a server. Asking over it costs less of the processor, which
// client and server share, than asking with a client of net/http.
type line struct {
	net.Conn
	host   string
	in     *bufio.Reader
	out    []byte
	unbind func() bool // from the context that ends the load
}

func (l *line) end() {
	l.unbind()
	_ = l.Close() // nothing is lost: its answers are read
}

// lines are those that are kept. The one that was used last is used first, so that there are
// no more than are needed at once.
type lines struct {
	mu   sync.Mutex
	kept []*line
}

// take returns a kept line to a host, if there is one, or a new one.
func (k *lines) take(ctx context.Context, host string) (_ *line, used bool, err error) {
	if l := k.last(host); l != nil {
		return l, true, nil
	}
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, false, err
	}
	unbind := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return &line{Conn: conn, host: host, in: bufio.NewReaderSize(conn, 16<<10), unbind: unbind}, false, nil
}

func (k *lines) last(host string) *line {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, l := range slices.Backward(k.kept) {
		if l.host == host {
			k.kept = slices.Delete(k.kept, i, i+1)
			return l
		}
	}
	return nil
}

func (k *lines) keep(l *line) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, l)
}

func (k *lines) close() {
	for _, l := range k.kept {
		l.end()
	}
}

// post sends a request, reads the answer into body, and returns its status. A kept line that
// the server closed meanwhile is replaced by another one.
func (k *lines) post(ctx context.Context, r Request, body *bytes.Buffer) (status int, err error) {
	host, path, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), "/")
	for {
		l, used, err := k.take(ctx, host)
		if err != nil {
			return 0, err
		}
		status, again, closes, err := l.post(path, r.Body, body)
		if err == nil && !closes {
			k.keep(l)
			return status, nil
		}
		l.end()
		if err == nil || !again || !used || ctx.Err() != nil {
			return status, err
		}
	}
}

// post is that of one line. It may be sent again if the line was closed before anything of an
// answer came, and none follows if the server closes the line.
func (l *line) post(path string, request []byte, body *bytes.Buffer) (status int, again, closes bool, err error) {
	if err := l.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, false, true, err
	}
	l.out = fmt.Appendf(l.out[:0],
		"POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		path, l.host, len(request))
	_, err = l.Write(append(l.out, request...))
	if err == nil {
		_, err = l.in.Peek(1)
	}
	if err != nil {
		return 0, !errors.Is(err, os.ErrDeadlineExceeded), true, err
	}
	res, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return 0, false, true, err
	}
	body.Reset()
	if _, err := body.ReadFrom(io.LimitReader(res.Body, answerBytes+1)); err != nil {
		return 0, false, true, err
	}
	if body.Len() > answerBytes {
		return 0, false, true, fmt.Errorf("the answer has more than %d bytes", answerBytes)
	}
	return res.StatusCode, false, res.Close, nil
}
