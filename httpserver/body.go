package httpserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A body that comes too slowly holds what has come of it: after a while it must have come
// at a rate that every line has.
const (
	bodyGrace   = 5 * time.Second
	slowestBody = 16 << 10 // bytes a second
)

// Busy means that too many bytes are in flight: so many with what was asked for.
type Busy struct{ Bytes int64 }

// Error implements error.
func (b *Busy) Error() string { return fmt.Sprintf("too many bytes in flight: %d", b.Bytes) }

// Take counts n more bytes as in flight for a client, unless they are too many: then its error is
// of type [*Busy]. Give follows.
func (s *Server) Take(of Client, n int64) error {
	var scarce *Scarce
	if err := s.opt.Bytes.Take(of, n); errors.As(err, &scarce) {
		return &Busy{scarce.Used}
	}
	return nil
}

// Give counts n bytes of a client as in flight no more.
func (s *Server) Give(of Client, n int64) { s.opt.Bytes.Give(of, n) }

// limitBodies is a handler whose requests have bodies that are held to the limits.
func (s *Server) limitBodies(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			h.ServeHTTP(w, r)
			return
		}
		b := &body{s: s, of: ClientOf(r.Context()), rc: http.NewResponseController(w), from: r.Body, begin: time.Now()}
		// What of a body nobody asks for is read over by net/http, which does not wait longer.
		if err := b.rc.SetReadDeadline(b.begin.Add(bodyGrace)); err != nil {
			s.Drop(w)
			return
		}
		defer b.give()
		r.Body = b
		h.ServeHTTP(w, r)
	})
}

// body is a request's body. It must come fast enough, and what has been read of it counts as
// in flight until it is closed, or the request has been answered.
type body struct {
	s     *Server
	of    Client
	rc    *http.ResponseController
	from  io.ReadCloser
	begin time.Time
	read  int64 // in all
	taken int64 // of it in flight
}

// Read implements io.Reader. Its error is of type [*Busy] if there is no room for what came.
func (b *body) Read(p []byte) (int, error) {
	patience := bodyGrace + time.Duration(b.read)*time.Second/slowestBody
	if err := b.rc.SetReadDeadline(b.begin.Add(min(patience, b.s.opt.BodyTimeout))); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	if busy := b.s.Take(b.of, int64(n)); busy != nil {
		return 0, busy
	}
	b.read, b.taken = b.read+int64(n), b.taken+int64(n)
	if err == io.EOF {
		if failed := b.rc.SetReadDeadline(time.Time{}); failed != nil {
			err = failed
		}
	}
	return n, err
}

// Close counts what was read as in flight no more. The server closes what it was read from.
func (b *body) Close() error {
	b.give()
	return nil
}

func (b *body) give() {
	b.s.Give(b.of, b.taken)
	b.taken = 0
}

// Drop closes a request's connection without an answer.
func (s *Server) Drop(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		s.opt.Log.Debug("close an HTTP connection", "error", err)
	}
}
