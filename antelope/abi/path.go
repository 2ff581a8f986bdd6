package abi

import (
	"fmt"
	"strings"
)

// step is an item of the path to the value that is converted.
type step struct {
	strct  *structType  // a field of it, or
	choice *variantType // a choice of it, or an element of an array
	index  int
	hint   string // of an element: what type it is, "ARRAY" for one more array
}

// path is where a conversion is, for messages.
type path struct {
	root  string
	steps []step
	short bool // only the type of the last step, shortened
}

// newPath begins a path, whose steps go into the room that is given.
func newPath(n *node, short bool, steps []step) path {
	p := path{steps: steps, short: short}
	switch n.form {
	case singleArray, array:
		p.root = "ARRAY"
	case structure, choice:
		p.root = n.name
	}
	return p
}

func (p *path) push(s step) { p.steps = append(p.steps, s) }

func (p *path) pop() { p.steps = p.steps[:len(p.steps)-1] }

// hint notes the type of the array's element that is being converted.
func (p *path) hint(s string) {
	if n := len(p.steps); n > 0 && p.steps[n-1].isElement() {
		p.steps[n-1].hint = s
	}
}

func (s *step) isElement() bool { return s.strct == nil && s.choice == nil }

// String returns the path as messages of nodeos show it (Leap: get_path_string).
func (p *path) String() string {
	if p.short {
		return shorten(p.lastType())
	}
	var b strings.Builder
	b.WriteString(p.root)
	for i := range p.steps {
		switch s := &p.steps[i]; {
		case s.isElement():
			fmt.Fprintf(&b, "[%d]", s.index)
		case s.strct != nil:
			b.WriteString("." + s.strct.fields[s.index].name)
		default:
			fmt.Fprintf(&b, ".<variant(%d)=%s>", s.index, s.choice.types[s.index])
		}
	}
	return b.String()
}

func (p *path) lastType() string {
	if len(p.steps) == 0 {
		return p.root
	}
	switch s := &p.steps[len(p.steps)-1]; {
	case s.strct != nil:
		return s.strct.fields[s.index].typ
	case s.choice != nil:
		return s.choice.types[s.index]
	case s.hint != "":
		return s.hint
	}
	return "UNKNOWN"
}

// name returns a name as messages show it.
func (p *path) name(s string) string {
	if p.short {
		return shorten(s)
	}
	return s
}

// shorten cuts a name of more than 64 bytes in its middle.
func shorten(s string) string {
	const most, tail, fill = 64, 6, "..."
	if len(s) <= most {
		return s
	}
	return s[:most-len(fill)-tail] + fill + s[len(s)-tail:]
}
