package rpc

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"

	"tarn/httpserver"
)

// plainly answers what is asked most and comes in the plainest form of HTTP/1.1, as the handler of
// the same address would.
type plainly struct {
	quick   *quick
	hosts   hosts
	zippers *zippers
	prefix  string
	header  string                 // lines of an answer
	last    atomic.Pointer[string] // the host that was named last and is allowed
}

func newPlainly(q *quick, of hosts, z *zippers, o *HTTPOptions) *plainly {
	p := &plainly{quick: q, hosts: of, zippers: z, prefix: o.Prefix, header: "Content-Type: application/json\r\n"}
	if len(o.Origins) > 0 {
		p.header += "Vary: Origin\r\n" // as the library says that tells browsers who may ask
	}
	return p
}

// zipFrom is from which length on answers are compressed for who takes them so: a shorter one is
// one packet in either form.
const zipFrom = 1400

// Answer implements httpserver.Plain.
func (h *Handler) Answer(ctx context.Context, r *httpserver.PlainRequest, out []byte) (a httpserver.PlainAnswer, taken bool) {
	if h.plain == nil {
		return a, false
	}
	return h.plain.answer(ctx, r, out)
}

func (p *plainly) answer(ctx context.Context, r *httpserver.PlainRequest, out []byte) (a httpserver.PlainAnswer, taken bool) {
	if r.Crossing || string(r.Type) != "application/json" || len(r.Body) > quickBytes ||
		!under(string(r.Path), p.prefix) || !p.allowed(r.Host) {
		return a, false
	}
	body, taken := p.quick.answer(ctx, r.Client, r.Body, out, r.Remote)
	if !taken {
		return a, false
	}
	a = httpserver.PlainAnswer{Status: http.StatusOK, Body: body, Before: p.header, Dated: true}
	if text := body[len(out):]; r.Gzip && len(text) >= zipFrom {
		return p.zip(a, len(out))
	}
	return a, true
}

func (p *plainly) allowed(host []byte) bool {
	if last := p.last.Load(); last != nil && *last == string(host) {
		return true
	}
	name := string(host)
	if !p.hosts.allow(name) {
		return false
	}
	p.last.Store(&name)
	return true
}

// zip compresses what an answer's body has from a place on.
func (p *plainly) zip(a httpserver.PlainAnswer, from int) (httpserver.PlainAnswer, bool) {
	to := bytes.NewBuffer(make([]byte, 0, from+len(a.Body)/2))
	to.Write(a.Body[:from])
	z := p.zippers.take(to)
	defer p.zippers.give(z)
	if _, err := z.Write(a.Body[from:]); err != nil || z.Close() != nil {
		return a, false
	}
	a.Body, a.Before = to.Bytes(), p.header+"Content-Encoding: gzip\r\n"
	return a, true
}
