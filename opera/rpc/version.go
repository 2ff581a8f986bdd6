package rpc

import (
	"io"
	"net/http"
	"strings"
)

// allowUnversioned lets requests over HTTP leave out which version of JSON-RPC they are of, as go-opera
// does, whose own examples have none. go-ethereum's server of today answers no such request.
func allowUnversioned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Body != nil {
			r.Body = &versioner{ReadCloser: r.Body}
		}
		next.ServeHTTP(w, r)
	})
}

const (
	versionName   = "jsonrpc"
	versionMember = `,"jsonrpc":"2.0"`
)

// versioner reads a body, and adds the version to the requests in it that have none: before the
// brace that ends one. What is no JSON comes out as it is.
type versioner struct {
	io.ReadCloser
	in      [512]byte
	out     []byte // that waits to be read
	err     error  // of the body, behind out
	depth   int    // of brackets and braces
	level   int    // of requests: 1, or in a batch 2; 0 before the first bracket or brace
	quoted  bool
	escaped bool
	name    []byte // the last text of a request's own, as much as matters
	members bool   // the request has some
	version bool   // and the version is among them
}

// Read implements io.Reader.
func (v *versioner) Read(to []byte) (int, error) {
	for len(v.out) == 0 && v.err == nil {
		var n int
		n, v.err = v.ReadCloser.Read(v.in[:])
		for _, b := range v.in[:n] {
			v.take(b)
		}
	}
	if len(v.out) == 0 {
		return 0, v.err
	}
	n := copy(to, v.out)
	v.out = append(v.out[:0], v.out[n:]...)
	return n, nil
}

// take takes the next byte.
func (v *versioner) take(b byte) {
	switch {
	case v.quoted:
		v.text(b)
	case b == '"':
		v.quoted, v.name = true, v.name[:0]
		v.members = v.members || v.depth == v.level
	case b == ':':
		if v.depth == v.level && strings.EqualFold(string(v.name), versionName) {
			v.version = true
		}
	case b == '{' || b == '[':
		v.open(b)
	case b == '}':
		if v.depth == v.level && v.members && !v.version {
			v.out = append(v.out, versionMember...)
		}
		v.depth--
	case b == ']':
		v.depth--
	}
	v.out = append(v.out, b)
}

// text takes a byte of a text.
func (v *versioner) text(b byte) {
	switch {
	case v.escaped:
		v.escaped = false
	case b == '\\':
		v.escaped = true
	case b == '"':
		v.quoted = false
	}
	if v.quoted && v.depth == v.level && len(v.name) <= len(versionName) {
		v.name = append(v.name, b)
	}
}

// open takes a bracket or brace that opens something.
func (v *versioner) open(b byte) {
	if v.depth++; v.level == 0 {
		if v.level = 1; b == '[' {
			v.level = 2
		}
	}
	if v.depth == v.level {
		v.members, v.version = false, false
	}
}
