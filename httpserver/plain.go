package httpserver

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"strings"
)

// Plain answers requests that come in the plainest form of HTTP/1.1, without net/http, whose
// connections cost more than most answers do. What is not plain, or what it does not take, goes
// to the handler of the same address, and so does all that comes on that connection later.
type Plain interface {
	// Answer appends an answer's body to out, and returns the answer. It has not taken a request
	// that the handler shall answer. The request is only valid until it returns; its context ends
	// when the client has gone, and knows the client of the connection, as ClientOf says.
	Answer(ctx context.Context, r *PlainRequest, out []byte) (a PlainAnswer, taken bool)
}

// PlainRequest is a POST with a short body, or a GET with none, and with no header that changes
// what HTTP does.
type PlainRequest struct {
	Path, Host, Type []byte        // as they were sent; Type is that of the content, nil if none was sent
	Gzip             bool          // the client takes answers compressed so
	Crossing         bool          // a page of a browser asks, and says where it comes from (Origin)
	Body             []byte        // empty if none came
	Remote           func() string // the client's address
	Local            net.Addr      // at which the connection came in
	Client           Client        // who asks, also through a proxy
	forwarded        []byte        // as it was sent; nil if it was not
}

// PlainAnswer is the answer to a plain request.
type PlainAnswer struct {
	Status int    // 200 or another one that has a body
	Body   []byte // behind what it was appended to
	// Before and After are lines of the header, each with its end; the line with the body's length
	// comes between them.
	Before, After string
	Dated         bool // a line with the date follows Before
	// Held is how many bytes were counted for the answer (Server.Take), which are given back when
	// the client has it; 0: the server counts a long answer itself.
	Held int64
	Drop bool // no answer: the connection is closed
}

// plainBytes is the longest plain request, its head included.
const plainBytes = 16 << 10

// verdict is what a parser found.
type verdict int

const (
	odd   verdict = iota // it is for net/http
	more                 // its head is not whole yet
	rest                 // its body is not whole yet
	plain                // it is whole
)

// parse reads a request from the beginning of what has come, and returns how many bytes it takes.
// Whatever net/http would refuse, and whatever may mean something to it, is odd.
func (r *PlainRequest) parse(in []byte) (size int, v verdict) {
	method := "POST "
	if len(in) > 0 && in[0] == 'G' {
		method = "GET "
	}
	if n := min(len(in), len(method)); string(in[:n]) != method[:n] {
		return 0, odd
	}
	head := bytes.Index(in, []byte("\r\n\r\n"))
	if head < 0 {
		if len(in) >= plainBytes || bytes.Contains(in, []byte("\n\n")) || bytes.Contains(in, []byte("\n\r\n")) {
			return 0, odd
		}
		return 0, more
	}
	line, lines, _ := bytes.Cut(in[len(method):head+2], []byte("\r\n"))
	path, ok := bytes.CutSuffix(line, []byte(" HTTP/1.1"))
	if !ok || len(path) == 0 || path[0] != '/' || !all(path, pathByte) {
		return 0, odd
	}
	r.Path, r.Host, r.Type, r.Gzip, r.Crossing, r.Body, r.forwarded = path, nil, nil, false, false, nil, nil
	length, ok := r.header(lines)
	if !ok || r.Host == nil || method == "GET " && length > 0 {
		return 0, odd
	}
	size = head + len("\r\n\r\n") + length
	switch {
	case size > plainBytes:
		return 0, odd
	case len(in) < size:
		return 0, rest
	}
	r.Body = in[size-length : size]
	return size, plain
}

// header reads the lines of a header, and returns the length of the body, 0 if none was said.
func (r *PlainRequest) header(lines []byte) (length int, ok bool) {
	encoding, said := false, false
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\r\n"))
		name, value, found := bytes.Cut(line, []byte(":"))
		value = bytes.Trim(value, " \t")
		if !found || len(name) == 0 || !all(name, nameByte) || !all(value, valueByte) {
			return 0, false
		}
		switch {
		case equalsFolded(name, "host"):
			ok = r.Host == nil && len(value) > 0 && all(value, hostByte)
			r.Host = value
		case equalsFolded(name, "content-type"):
			ok = r.Type == nil
			r.Type = value
		case equalsFolded(name, "content-length"):
			n, err := strconv.ParseUint(string(value), 10, 31)
			ok = err == nil && !said
			length, said = int(n), true
		case equalsFolded(name, "accept-encoding"):
			ok = !encoding
			encoding, r.Gzip = true, bytes.Contains(value, []byte("gzip"))
		case equalsFolded(name, "x-forwarded-for"):
			ok = r.forwarded == nil
			r.forwarded = value
		case equalsFolded(name, "origin"):
			ok = !r.Crossing
			r.Crossing = true
		case equalsFolded(name, "connection"):
			ok = equalsFolded(value, "keep-alive")
		default:
			ok = !meaning(name)
		}
		if !ok {
			return 0, false
		}
	}
	return length, true
}

// meaning tells whether a header may change how a request is read or answered.
func meaning(name []byte) bool {
	for _, one := range []string{"transfer-encoding", "expect", "upgrade", "trailer", "te", "content-encoding",
		"proxy-connection", "http2-settings"} {
		if equalsFolded(name, one) {
			return true
		}
	}
	const crossing = "access-control-"
	return len(name) >= len(crossing) && equalsFolded(name[:len(crossing)], crossing)
}

// equalsFolded compares in lower case.
func equalsFolded(name []byte, lower string) bool {
	return len(name) == len(lower) && strings.EqualFold(string(name), lower)
}

func all(text []byte, is func(byte) bool) bool {
	for _, b := range text {
		if !is(b) {
			return false
		}
	}
	return true
}

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' }

func nameByte(b byte) bool  { return letter(b) || b == '-' || b == '_' }
func valueByte(b byte) bool { return b >= ' ' && b < 0x7f || b == '\t' }
func pathByte(b byte) bool  { return nameByte(b) || b == '/' || b == '.' }
func hostByte(b byte) bool  { return nameByte(b) || b == '.' || b == ':' || b == '[' || b == ']' }
