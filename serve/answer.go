package serve

import (
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
	if r.ContentLength != 0 {
		// What of a body nobody asks for is read over by net/http, which does not wait longer.
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyGrace)); err != nil {
			l.drop(w)
			return
		}
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
	if l.tooLarge(w, r) {
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
	body, ok := l.body(w, r)
	if !ok {
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

// tooLarge tells whether a body is announced that is too large, and ends the connection.
func (l *listener) tooLarge(w http.ResponseWriter, r *http.Request) bool {
	if r.ContentLength <= l.s.opt.MaxBody {
		return false
	}
	if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		h := w.Header()
		h.Set("Connection", "close")
		delete(h, "Content-Type")
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	l.drop(w)
	return true
}

// A body that comes too slowly holds what has come of it: after a while it must have come
// at a rate that every line has.
const (
	bodyGrace   = 5 * time.Second
	slowestBody = 16 << 10 // bytes a second
	firstRead   = 4 << 10  // bytes that a body has room for at first
)

// body reads the request's body, and counts it as in flight as it comes. If it does not
// come, or there is no room for it, the connection has been closed or has got its answer,
// and ok is false: then nothing of it is counted any more.
func (l *listener) body(w http.ResponseWriter, r *http.Request) (body string, ok bool) {
	if r.ContentLength == 0 {
		return "", true
	}
	s := l.s
	var b []byte
	if first, pooled := s.bodies.Get().(*[]byte); pooled {
		b = (*first)[:0]
	} else {
		b = make([]byte, 0, firstRead)
	}
	defer func() {
		if !ok {
			s.bytes.Add(-int64(len(b)))
		} else if cap(b) == firstRead {
			s.bodies.Put(&b)
		}
	}()
	rc, begin := http.NewResponseController(w), time.Now()
	for {
		patience := bodyGrace + time.Duration(len(b))*time.Second/slowestBody
		err := rc.SetReadDeadline(begin.Add(min(patience, s.opt.BodyTimeout)))
		n := 0
		if err == nil {
			n, err = r.Body.Read(b[len(b):cap(b)])
		}
		if total, fits := s.take(int64(n)); !fits {
			l.refuse(w, TooManyBytes, total)
			return "", false
		}
		b = b[:len(b)+n]
		if err == io.EOF && int64(len(b)) <= s.opt.MaxBody {
			err = rc.SetReadDeadline(time.Time{})
			if err == nil {
				return string(b), true
			}
		}
		if err != nil || int64(len(b)) > s.opt.MaxBody {
			l.drop(w)
			return "", false
		}
		if len(b) == cap(b) { // what is only announced takes no memory
			b = append(make([]byte, 0, 2*cap(b)), b...)
		}
	}
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

// call lets the endpoint answer a request whose body is counted as in flight.
func (l *listener) call(w http.ResponseWriter, r *http.Request, e *Endpoint, body string) {
	s := l.s
	if e.Text {
		w.Header()["Content-Type"] = textType
	}
	status, answer, ok := s.handle(e, &Request{Context: r.Context(), Target: r.RequestURI, Body: body, Categories: l.categories, server: s})
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
	defer func() { s.bytes.Add(-int64(len(r.Body)) - r.taken) }()
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
