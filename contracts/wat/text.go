package wat

import (
	"fmt"
	"strconv"
)

// node is an atom, a string or a list.
type node struct {
	line int
	kind byte // 'a', 's' or 'l'
	text string
	list []node
}

// maxDepth bounds how deeply lists are nested.
const maxDepth = 200

// reader cuts a source into nodes.
type reader struct {
	src  string
	at   int
	line int
}

// Error is what is wrong with a source, and where.
type Error struct {
	Line int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

func wrong(line int, format string, args ...any) error {
	return &Error{Line: line, What: fmt.Sprintf(format, args...)}
}

// skip passes over blanks, ;; comments and (; ;) comments, which do not nest here.
func (r *reader) skip() error {
	for r.at < len(r.src) {
		rest := r.src[r.at:]
		switch {
		case rest[0] == '\n':
			r.line++
			r.at++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			r.at++
		case len(rest) > 1 && rest[:2] == ";;":
			for r.at < len(r.src) && r.src[r.at] != '\n' {
				r.at++
			}
		case len(rest) > 1 && rest[:2] == "(;":
			start := r.line
			for r.at += 2; ; r.at++ {
				if r.at+1 >= len(r.src) {
					return wrong(start, "a comment without end")
				}
				if r.src[r.at] == '\n' {
					r.line++
				}
				if r.src[r.at:r.at+2] == ";)" {
					r.at += 2
					break
				}
			}
		default:
			return nil
		}
	}
	return nil
}

// next reads a node.
func (r *reader) next(depth int) (node, error) {
	if err := r.skip(); err != nil {
		return node{}, err
	}
	n := node{line: r.line}
	switch {
	case r.at == len(r.src):
		return n, wrong(r.line, "the source ends too early")
	case depth > maxDepth:
		return n, wrong(r.line, "more than %d lists in each other", maxDepth)
	case r.src[r.at] == ')':
		return n, wrong(r.line, "a ) that closes nothing")
	case r.src[r.at] == '"':
		return r.readQuoted()
	case r.src[r.at] != '(':
		start := r.at
		for r.at < len(r.src) && !delimits(r.src[r.at]) {
			r.at++
		}
		if r.at == start {
			return n, wrong(r.line, "unexpected %q", r.src[r.at])
		}
		n.kind, n.text = 'a', r.src[start:r.at]
		return n, nil
	}
	n.kind = 'l'
	r.at++
	for {
		if err := r.skip(); err != nil {
			return n, err
		}
		if r.at < len(r.src) && r.src[r.at] == ')' {
			r.at++
			return n, nil
		}
		x, err := r.next(depth + 1)
		if err != nil {
			return n, err
		}
		n.list = append(n.list, x)
	}
}

func delimits(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '(', ')', '"', ';':
		return true
	}
	return false
}

// readQuoted reads a string, with \hh for a byte.
func (r *reader) readQuoted() (node, error) {
	n := node{line: r.line, kind: 's'}
	var out []byte
	for r.at++; r.at < len(r.src); r.at++ {
		switch c := r.src[r.at]; c {
		case '"':
			r.at++
			n.text = string(out)
			return n, nil
		case '\n':
			return n, wrong(n.line, "a string without end")
		case '\\':
			if r.at+1 < len(r.src) && (r.src[r.at+1] == '"' || r.src[r.at+1] == '\\') {
				r.at++
				out = append(out, r.src[r.at])
				continue
			}
			if r.at+2 >= len(r.src) {
				return n, wrong(n.line, "a string without end")
			}
			b, err := strconv.ParseUint(r.src[r.at+1:r.at+3], 16, 8)
			if err != nil {
				return n, wrong(n.line, "\\%s in a string", r.src[r.at+1:r.at+3])
			}
			out = append(out, byte(b))
			r.at += 2
		default:
			out = append(out, c)
		}
	}
	return n, wrong(n.line, "a string without end")
}

// head is the first atom of a list, "" for anything else.
func (n *node) head() string {
	if n.kind != 'l' || len(n.list) == 0 || n.list[0].kind != 'a' {
		return ""
	}
	return n.list[0].text
}

// id is an atom that begins with $, "" for anything else.
func (n *node) id() string {
	if n.kind == 'a' && n.text[0] == '$' {
		return n.text
	}
	return ""
}

// integer reads an atom as a number of so many bits, signed or not.
func (n *node) integer(bits int) (int64, error) {
	if n.kind == 'a' {
		if v, err := strconv.ParseInt(n.text, 0, bits); err == nil {
			return v, nil
		}
		if v, err := strconv.ParseUint(n.text, 0, bits); err == nil {
			if bits == 32 {
				return int64(int32(uint32(v))), nil
			}
			return int64(v), nil
		}
	}
	return 0, wrong(n.line, "%q is not a number of %d bits", n.text, bits)
}
