package rpc

import (
	"bytes"
	"encoding/json"
)

// envelope is a request without what is odd: names of members in other cases, members besides or
// twice, escapes, and what is not ASCII are for the server. Its parts lie in the body.
type envelope struct {
	id, method []byte
	params     [][]byte
	room       [4][]byte // of params
}

// open reads a request from a body. What params have in them is split, but not looked at: whoever
// reads them must refuse what is no JSON.
func open(body []byte) (e envelope, ok bool) {
	s := scanner{body}
	if !s.take('{') {
		return e, false
	}
	version, given := false, false
	for more := true; more; more = s.take(',') {
		name, found := s.text()
		if !found || !s.take(':') {
			return e, false
		}
		switch string(name) {
		case "jsonrpc":
			text, found := s.text()
			ok = found && !version && string(text) == "2.0"
			version = true
		case "id":
			ok = e.id == nil
			if e.id, found = s.value(); !found || !plainID(e.id) {
				return e, false
			}
		case "method":
			ok = e.method == nil
			if e.method, found = s.text(); !found || e.method == nil {
				return e, false
			}
		case "params":
			ok = !given
			if e.params, found = s.list(e.room[:0]); !found {
				return e, false
			}
			given = true
		default:
			return e, false
		}
		if !ok {
			return e, false
		}
	}
	if !s.take('}') {
		return e, false
	}
	s.space()
	return e, len(s.rest) == 0 && version && e.id != nil && e.method != nil
}

// scanner reads JSON that has nothing odd in it.
type scanner struct{ rest []byte }

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\n' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

// take takes a byte, if it is the next after space.
func (s *scanner) take(b byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != b {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// text takes a text, and returns it without its quotes.
func (s *scanner) text() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	for i, b := range s.rest {
		switch {
		case b == '"':
			text := s.rest[:i:i]
			s.rest = s.rest[i+1:]
			return text, true
		case b < ' ' || b >= 0x7f || b == '\\':
			return nil, false
		}
	}
	return nil, false
}

// value takes a value as it stands. Of one that is no text only where it ends is looked for.
func (s *scanner) value() ([]byte, bool) {
	s.space()
	all := s.rest
	if len(all) > 0 && all[0] == '"' {
		_, ok := s.text()
		return s.since(all), ok
	}
	for depth := 0; len(s.rest) > 0; {
		switch b := s.rest[0]; {
		case depth == 0 && (b == ',' || b == '}' || b == ']' || b == ' ' || b == '\t' || b == '\n' || b == '\r'):
			return s.since(all), len(s.rest) < len(all)
		case b == '"' && depth > 0:
			if _, ok := s.text(); !ok {
				return nil, false
			}
			continue
		case b == '"' || b >= 0x7f || b == '\\':
			return nil, false
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			if depth--; depth == 0 {
				s.rest = s.rest[1:]
				return s.since(all), true
			}
		}
		s.rest = s.rest[1:]
	}
	return nil, false
}

// since returns what was taken of all that there was.
func (s *scanner) since(all []byte) []byte {
	n := len(all) - len(s.rest)
	return all[:n:n]
}

// list takes a list, and appends its elements to some.
func (s *scanner) list(some [][]byte) ([][]byte, bool) {
	if !s.take('[') {
		return nil, false
	}
	if s.take(']') {
		return some, true
	}
	for more := true; more; more = s.take(',') {
		one, ok := s.value()
		if !ok {
			return nil, false
		}
		some = append(some, one)
	}
	return some, s.take(']')
}

// plainArgs reads the arguments of a call that are texts, each at most once and by its very name;
// all else is for the library.
func plainArgs(raw []byte) (a TransactionArgs, ok bool) {
	s := scanner{raw}
	if !s.take('{') {
		return a, false
	}
	for more := true; more; more = s.take(',') {
		name, found := s.text()
		if !found || !s.take(':') {
			return a, false
		}
		value, found := s.value()
		if !found || value[0] != '"' || !a.set(name, value) {
			return a, false
		}
	}
	return a, s.take('}') && len(s.rest) == 0
}

// set reads a member, and tells whether it has.
func (a *TransactionArgs) set(name, value []byte) bool {
	switch string(name) {
	case "from":
		return member(&a.From, value)
	case "to":
		return member(&a.To, value)
	case "data":
		return member(&a.Data, value)
	case "input":
		return member(&a.Input, value)
	case "value":
		return member(&a.Value, value)
	case "gas":
		return member(&a.Gas, value)
	case "gasPrice":
		return member(&a.GasPrice, value)
	}
	return false
}

// member reads a text into a place where nothing is yet.
func member[T any, P interface {
	*T
	json.Unmarshaler
}](to *P, value []byte) bool {
	if *to != nil {
		return false
	}
	*to = new(T)
	return (*to).UnmarshalJSON(value) == nil
}

// plainID tells whether an id is a number without a sign or a fraction, or a text of letters and
// digits: such a one is answered as it is.
func plainID(id []byte) bool {
	if len(id) > 2 && id[0] == '"' && id[len(id)-1] == '"' {
		for _, b := range id[1 : len(id)-1] {
			if (b < '0' || b > '9') && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && b != '-' && b != '_' {
				return false
			}
		}
		return true
	}
	return len(id) > 0 && (id[0] != '0' || len(id) == 1) && len(bytes.Trim(id, "0123456789")) == 0
}
