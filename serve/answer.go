package serve

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP answers a request.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := l.s
	h := w.Header()
	h["Date"] = nil
	h["Content-Type"] = jsonType
	if s.opt.Server != "" {
		h.Set("Server", s.opt.Server)
	}
	if n, over := r.Context().Value(overload{}).(int64); over {
		h.Set("Connection", "close")
		l.refuse(w, TooManyRequests, n)
		return
	}
	if r.RequestURI == "" || r.RequestURI[0] != '/' || strings.Contains(r.RequestURI, "..") {
		l.refuse(w, BadTarget, 0)
		return
	}
	if !l.allows(r) {
		l.refuse(w, BadHost, 0)
		return
	}
	body, ok := l.body(w, r)
	if !ok {
		return
	}
	l.allowOrigins(h)
	if r.Method == http.MethodOptions {
		l.write(w, http.StatusOK, []byte("{}"))
		return
	}
	e := s.endpoints[r.RequestURI]
	if e == nil || e.Category&l.categories == 0 {
		l.refuse(w, NotFound, 0)
		return
	}
	if s.opt.Served != nil {
		s.opt.Served(r.RequestURI)
	}
	l.call(w, r, e, body)
}

// values of headers that are the same in every answer
var jsonType, textType = []string{"application/json"}, []string{"text/plain"}

func (l *listener) allowOrigins(h http.Header) {
	o := &l.s.opt
	if o.AllowOrigin != "" {
		h.Set("Access-Control-Allow-Origin", o.AllowOrigin)
	}
	if o.AllowHeaders != "" {
		h.Set("Access-Control-Allow-Headers", o.AllowHeaders)
	}
	if o.MaxAge != "" {
		h.Set("Access-Control-Max-Age", o.MaxAge)
	}
	if o.AllowCredentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
}

// body reads the request's body. If it is too large or does not come, the
// connection has been closed, or will be, and ok is false.
func (l *listener) body(w http.ResponseWriter, r *http.Request) (string, bool) {
	if r.ContentLength == 0 {
		return "", true
	}
	limit := l.s.opt.MaxBody
	if r.ContentLength > limit {
		if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
			h := w.Header()
			h.Set("Connection", "close")
			delete(h, "Content-Type")
			w.WriteHeader(http.StatusUnauthorized)
			return "", false
		}
		l.drop(w)
		return "", false
	}
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(l.s.opt.BodyTimeout)); err != nil {
		l.drop(w)
		return "", false
	}
	b, ok := l.s.bodies.Get().(*bytes.Buffer)
	if !ok {
		b = new(bytes.Buffer)
	}
	b.Reset()
	// What is only announced takes no memory.
	b.Grow(int(min(max(r.ContentLength, 0), 16<<10)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(r.Body, limit+1))
	if err != nil || n > limit || rc.SetReadDeadline(time.Time{}) != nil {
		l.drop(w)
		return "", false
	}
	body := b.String()
	if b.Cap() <= maxBuffer {
		l.s.bodies.Put(b)
	}
	return body, true
}

// drop closes the connection without an answer.
func (l *listener) drop(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		l.s.opt.Log.Debug("close an HTTP connection", "error", err)
	}
}

// call lets the endpoint answer.
func (l *listener) call(w http.ResponseWriter, r *http.Request, e *Endpoint, body string) {
	s := l.s
	if n, ok := s.take(int64(len(body))); !ok {
		l.refuse(w, TooManyBytes, n)
		return
	}
	if e.Text {
		w.Header()["Content-Type"] = textType
	}
	status, answer, ok := s.handle(e, &Request{Context: r.Context(), Target: r.RequestURI, Body: body, Categories: l.categories})
	if !ok {
		l.drop(w)
		return
	}
	if n, ok := s.take(int64(len(answer))); ok {
		l.write(w, status, answer)
		s.bytes.Add(-int64(len(answer)))
	} else {
		w.Header()["Content-Type"] = jsonType
		l.refuse(w, TooManyBytes, n)
	}
	s.release(answer)
}

// handle calls the endpoint when it is its turn, with the request's body counted as in
// flight. ok is false if the client was gone before.
func (s *Server) handle(e *Endpoint, r *Request) (status int, answer []byte, ok bool) {
	defer s.bytes.Add(-int64(len(r.Body)))
	if !e.Waits {
		if !s.begin(r) {
			return 0, nil, false
		}
		defer func() { <-s.working }()
	}
	status, answer = e.Handle(r, s.buffer())
	return status, answer, true
}

// begin waits until there is room for one more request to work on, or until its client
// is gone. Where there is room it makes no difference that a client has closed its half
// of the connection.
func (s *Server) begin(r *Request) bool {
	select {
	case s.working <- struct{}{}:
		return true
	default:
	}
	select {
	case s.working <- struct{}{}:
		return true
	case <-r.Context.Done():
		return false
	}
}

// take counts n more bytes as in flight, unless they are too many; it returns how
// many there would be.
func (s *Server) take(n int64) (int64, bool) {
	total := s.bytes.Add(n)
	if s.opt.MaxBytesInFlight >= 0 && total > s.opt.MaxBytesInFlight {
		s.bytes.Add(-n)
		return total, false
	}
	return total, true
}

func (l *listener) refuse(w http.ResponseWriter, why Refusal, n int64) {
	b := l.s.buffer()
	status, b := l.s.faults(b, why, n)
	l.write(w, status, b)
	l.s.release(b)
}

func (l *listener) write(w http.ResponseWriter, status int, body []byte) {
	rc := http.NewResponseController(w)
	err := rc.SetWriteDeadline(time.Now().Add(l.s.opt.WriteTimeout))
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	if err == nil {
		_, err = w.Write(body)
	}
	if err != nil {
		l.s.opt.Log.Debug("write an HTTP answer", "error", err)
	}
}
