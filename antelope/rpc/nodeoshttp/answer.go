package nodeoshttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tarn/httpserver"
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
	if n, over := httpserver.Overload(r.Context()); over {
		h.Set("Connection", "close")
		l.refuse(w, TooManyRequests, n)
		return
	}
	if r.RequestURI == "" || r.RequestURI[0] != '/' || strings.Contains(r.RequestURI, "..") {
		l.refuse(w, BadTarget, 0)
		return
	}
	if local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr); !s.endpoints[r.RequestURI].anyHost() &&
		!l.allows(r.Host, local) {
		l.refuse(w, BadHost, 0)
		return
	}
	if l.tooLarge(w, r) {
		return
	}
	s.allowOrigins(h)
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
	l.call(w, r, e, body)
}

// values of headers that are the same in every answer
var jsonType, textType = []string{"application/json"}, []string{"text/plain"}

func (s *Server) allowOrigins(h http.Header) {
	o := &s.opt
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
	l.s.edge.Drop(w)
	return true
}

// firstRead is how many bytes a body has room for at first.
const firstRead = 4 << 10

// body reads the request's body, which counts as in flight as it comes. If it does not come,
// or there is no room for it, the connection has been closed or has got its answer, and ok is
// false.
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
	for {
		n, err := r.Body.Read(b[len(b):cap(b)])
		if busy := new(httpserver.Busy); errors.As(err, &busy) {
			l.refuse(w, TooManyBytes, busy.Bytes)
			return "", false
		}
		b = b[:len(b)+n]
		if int64(len(b)) > s.opt.MaxBody || err != nil && err != io.EOF {
			s.edge.Drop(w)
			return "", false
		}
		if err == io.EOF {
			body = string(b)
			if cap(b) == firstRead {
				s.bodies.Put(&b)
			}
			return body, true
		}
		if len(b) == cap(b) { // what is only announced takes no memory
			b = append(make([]byte, 0, 2*cap(b)), b...)
		}
	}
}

// call lets the endpoint answer a request, whose body is in flight meanwhile.
func (l *listener) call(w http.ResponseWriter, r *http.Request, e *Endpoint, body string) {
	s := l.s
	if e.Text {
		w.Header()["Content-Type"] = textType
	}
	status, answer, ok := s.handle(e, &Request{Context: r.Context(), Target: r.RequestURI, Body: body,
		Categories: l.categories, server: s}, s.buffer())
	if err := r.Body.Close(); err != nil {
		s.opt.Log.Debug("close the body of a request", "error", err)
	}
	if !ok {
		s.edge.Drop(w)
		return
	}
	busy := new(httpserver.Busy)
	of := httpserver.ClientOf(r.Context())
	if err := s.edge.Take(of, int64(len(answer))); errors.As(err, &busy) {
		w.Header()["Content-Type"] = jsonType
		l.refuse(w, TooManyBytes, busy.Bytes)
	} else {
		l.write(w, status, answer)
		s.edge.Give(of, int64(len(answer)))
	}
	s.release(answer)
}

// handle calls the endpoint when it is its turn. What the request takes besides its body is in
// flight meanwhile. ok is false if the client was gone before.
func (s *Server) handle(e *Endpoint, r *Request, b []byte) (status int, answer []byte, ok bool) {
	begin, before := time.Now(), len(b)
	if s.opt.Served != nil {
		s.opt.Served(r.Target)
	}
	defer func() { s.edge.Give(httpserver.ClientOf(r.Context), r.taken) }()
	defer r.EndTurn()
	if len(r.Body) > largeBody && !e.Waits {
		end, err := s.large.Take(r.Context, httpserver.ClientOf(r.Context))
		if err != nil {
			return 0, nil, false
		}
		r.ends = append(r.ends, end)
	}
	if !e.Waits {
		end, ok := s.edge.Turn(r.Context)
		if !ok {
			return 0, nil, false
		}
		r.ends = append(r.ends, end)
	}
	status, answer = e.Handle(r, b)
	if s.opt.Answered != nil {
		s.opt.Answered(Answered{Target: r.Target, Status: status, Bytes: len(answer) - before, Took: time.Since(begin)})
	}
	return status, answer, true
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

// Answer answers a request that came by another way than HTTP, as an address would that serves categories. What it
// takes counts for the context's client. It returns when ctx ends, at the latest.
func (s *Server) Answer(ctx context.Context, target, body string, c Category) (status int, answer []byte) {
	e := s.endpoints[target]
	if e == nil || e.Category&c == 0 {
		return s.faults(nil, NotFound, 0)
	}
	if int64(len(body)) > s.opt.MaxBody {
		return s.faults(nil, TooManyBytes, int64(len(body)))
	}
	status, answer, ok := s.handle(e, &Request{Context: ctx, Target: target, Body: body, Categories: c, server: s}, nil)
	if !ok {
		return s.faults(nil, TooManyRequests, 0)
	}
	return status, answer
}
