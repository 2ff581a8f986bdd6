package nodeoshttp

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"tarn/httpserver"
)

// lines are the header of each answer, as net/http writes it: what stands before its length, and
// what stands behind it.
type lines struct{ before, json, text string }

// lines makes the header of answers.
func (s *Server) lines() (l lines, err error) {
	type part struct {
		to   *string
		with func(h http.Header)
	}
	server := func(contentType []string) func(http.Header) {
		return func(h http.Header) {
			h["Content-Type"] = contentType
			if s.opt.Server != "" {
				h.Set("Server", s.opt.Server)
			}
		}
	}
	for _, p := range []part{{&l.before, s.allowOrigins}, {&l.json, server(jsonType)}, {&l.text, server(textType)}} {
		h, text := http.Header{}, new(strings.Builder)
		p.with(h)
		if err := h.Write(text); err != nil {
			return l, err
		}
		*p.to = text.String()
	}
	return l, nil
}

// Answer implements httpserver.Plain: it lets endpoints answer without net/http, as ServeHTTP does with
// it. What is to be refused before its body is read is for ServeHTTP.
func (l *listener) Answer(ctx context.Context, r *httpserver.PlainRequest, out []byte) (a httpserver.PlainAnswer, taken bool) {
	s := l.s
	e := s.endpoints[string(r.Path)]
	if e == nil || e.Category&l.categories == 0 || int64(len(r.Body)) > s.opt.MaxBody ||
		!e.AnyHost && !l.allows(string(r.Host), r.Local) {
		return a, false
	}
	if r.Client != httpserver.ClientOf(ctx) {
		ctx = httpserver.Asking(ctx, r.Client)
	}
	a = httpserver.PlainAnswer{Before: l.lines.before, After: l.lines.json}
	status, body, err := l.plain(ctx, e, r, out)
	if err == nil {
		err = s.edge.Take(r.Client, int64(len(body)-len(out)))
	}
	busy := new(httpserver.Busy)
	switch {
	case errors.As(err, &busy):
		a.Status, a.Body = s.faults(out, TooManyBytes, busy.Bytes)
	case err != nil:
		a.Drop = true
	default:
		a.Status, a.Body, a.Held = status, body, int64(len(body)-len(out))
		if e.Text {
			a.After = l.lines.text
		}
	}
	return a, true
}

// errGone means that a client has gone before it was its turn.
var errGone = errors.New("the client has gone")

// plain lets an endpoint answer while the body is in flight. The error is of type [*httpserver.Busy] if
// there is no room for the body.
func (l *listener) plain(
	ctx context.Context, e *Endpoint, r *httpserver.PlainRequest, out []byte,
) (status int, answer []byte, err error) {
	s, size := l.s, int64(len(r.Body))
	if err := s.edge.Take(r.Client, size); err != nil {
		return 0, nil, err
	}
	defer s.edge.Give(r.Client, size)
	status, answer, ok := s.handle(e,
		&Request{Context: ctx, Target: e.Path, Body: string(r.Body), Categories: l.categories, server: s}, out)
	if !ok {
		return 0, nil, errGone
	}
	return status, answer, nil
}
