package abi

import (
	"slices"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/variant"
)

// maxEncoded limits what a value encodes to: nodeos writes to a buffer of a MiB.
const maxEncoded = 1 << 20

// encoder turns values into binary data.
type encoder struct {
	c          *Codec
	scope      scope
	path       path
	start      int  // of the data in the slice that is appended to
	extensions bool // whether binary extensions may be left out here
}

// Encode appends the binary form of a value of a type. If there is no such type,
// the value must be a string of hex, which is taken as it is.
func (c *Codec) Encode(b []byte, typ string, v variant.Value, budget Budget) ([]byte, error) {
	return c.encode(b, typ, v, newScope(budget), false)
}

// EncodeJSON is [Codec.Encode] of a value that is still to be parsed.
func (c *Codec) EncodeJSON(b []byte, typ, json string, budget Budget) ([]byte, error) {
	v, err := variant.Parse(json)
	if err != nil {
		return b, err
	}
	return c.Encode(b, typ, v, budget)
}

func (c *Codec) encode(b []byte, typ string, v variant.Value, s scope, short bool) ([]byte, error) {
	n := c.lookup(typ)
	e := encoder{c: c, scope: s, path: newPath(n, short, nil), start: len(b), extensions: true}
	e.scope.depth++ // the scope of the whole
	known, err := c.isType(typ, &e.scope)
	if err != nil {
		return b, err
	}
	if !known {
		data, err := bytesFromValue(v)
		return append(b, data...), err
	}
	out, err := e.value(b, n, v)
	if err == nil {
		err = e.checkSize(out)
	}
	if err != nil {
		return b, err
	}
	return out, nil
}

func (e *encoder) checkSize(b []byte) error {
	if len(b)-e.start > maxEncoded {
		return exception.New(exception.FCOutOfRange, "datastream attempted to write past the end")
	}
	return nil
}

// limitExtensions is a scope in which extensions are allowed only if they are around it
// and last is true. What it returns restores what was.
func (e *encoder) limitExtensions(last bool) (restore func()) {
	old := e.extensions
	e.extensions = old && last
	return func() { e.extensions = old }
}

func (e *encoder) value(b []byte, n *node, v variant.Value) ([]byte, error) {
	if err := e.scope.enter(); err != nil {
		return b, err
	}
	defer e.scope.leave()
	if err := e.checkSize(b); err != nil {
		return b, err
	}
	switch n.form {
	case single:
		return n.builtin.encode(b, v)
	case singleArray:
		return e.builtins(b, n, v)
	case singleOptional:
		if v.IsNull() {
			return append(b, 0), nil
		}
		return n.builtin.encode(append(b, 1), v)
	case array:
		return e.array(b, n, v)
	case optional:
		if v.IsNull() {
			return append(b, 0), nil
		}
		return e.value(append(b, 1), n.elem, v)
	case choice:
		return e.choice(b, n, v)
	case structure:
		return e.structure(b, n.strct, v)
	}
	return b, exception.New(exception.InvalidTypeInsideABI, "Unknown type ${type}", "type", e.path.name(n.name))
}

func (e *encoder) builtins(b []byte, n *node, v variant.Value) ([]byte, error) {
	list, err := v.Elements()
	b = serial.AppendCount(b, len(list))
	for i := 0; i < len(list) && err == nil; i++ {
		if err = e.checkSize(b); err == nil {
			b, err = n.builtin.encode(b, list[i])
		}
	}
	return b, err
}

func (e *encoder) array(b []byte, n *node, v variant.Value) ([]byte, error) {
	e.path.hint("ARRAY")
	list, err := v.Elements()
	if err != nil {
		return b, err
	}
	b = serial.AppendCount(b, len(list))
	e.path.push(step{})
	defer e.path.pop()
	defer e.limitExtensions(false)()
	for i := range list {
		e.path.steps[len(e.path.steps)-1].index = i
		if b, err = e.value(b, n.elem, list[i]); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (e *encoder) choice(b []byte, n *node, v variant.Value) ([]byte, error) {
	e.path.hint(n.name)
	list, err := v.Elements()
	if err != nil || len(list) != 2 {
		return b, exception.New(exception.Pack,
			"Expected input to be an array of two items while processing variant '${p}'", "p", e.path.String())
	}
	name, err := list[0].Text()
	if err != nil {
		return b, exception.New(exception.Pack,
			"Encountered non-string as first item of input array while processing variant '${p}'", "p", e.path.String())
	}
	tag := slices.Index(n.choice.types, name)
	if tag < 0 {
		return b, exception.New(exception.Pack,
			"Specified type '${t}' in input array is not valid within the variant '${p}'",
			"t", e.path.name(name), "p", e.path.String())
	}
	e.path.push(step{choice: n.choice, index: tag})
	defer e.path.pop()
	return e.value(serial.AppendCount(b, tag), n.choice.nodes[tag], list[1])
}

func (e *encoder) structure(b []byte, st *structType, v variant.Value) ([]byte, error) {
	e.path.hint(st.name)
	switch v.Kind() {
	case variant.Object:
		return e.members(b, st, v)
	case variant.Array:
		return e.elements(b, st, v)
	}
	return b, exception.New(exception.Pack, "Unexpected input encountered while processing struct '${p}'",
		"p", e.path.String())
}

// base encodes the struct that st is based on, as a value of its own.
func (e *encoder) base(b []byte, st *structType, v variant.Value) ([]byte, error) {
	defer e.limitExtensions(false)()
	if err := e.scope.enter(); err != nil {
		return b, err
	}
	defer e.scope.leave()
	return e.structure(b, st.parent, v)
}

// members encodes a struct from an object.
func (e *encoder) members(b []byte, st *structType, v variant.Value) ([]byte, error) {
	var err error
	if st.parent != nil {
		if b, err = e.base(b, st, v); err != nil {
			return b, err
		}
	}
	ended := false // by an extension that is missing
	for i := range st.fields {
		f := &st.fields[i]
		member, present := v.Find(f.name)
		switch {
		case present || strings.HasSuffix(f.typ, "?"):
			if ended {
				return b, exception.New(exception.Pack,
					"Unexpected field '${f}' found in input object while processing struct '${p}'",
					"f", e.path.name(f.name), "p", e.path.String())
			}
			if b, err = e.field(b, st, i, member); err != nil {
				return b, err
			}
		case f.extension && e.extensions:
			ended = true
		case ended:
			return b, exception.New(exception.ABI,
				"Encountered field '${f}' without binary extension designation while processing struct '${p}'",
				"f", e.path.name(f.name), "p", e.path.String())
		default:
			return b, exception.New(exception.Pack,
				"Missing field '${f}' in input object while processing struct '${p}'",
				"f", e.path.name(f.name), "p", e.path.String())
		}
	}
	return b, nil
}

// elements encodes a struct from an array.
func (e *encoder) elements(b []byte, st *structType, v variant.Value) ([]byte, error) {
	if st.parent != nil {
		return b, exception.New(exception.InvalidTypeInsideABI,
			"Using input array to specify the fields of the derived struct '${p}'; input arrays are currently only "+
				"allowed for structs without a base", "p", e.path.String())
	}
	list, err := v.Elements()
	for i := 0; i < len(st.fields) && err == nil; i++ {
		f := &st.fields[i]
		switch {
		case i < len(list):
			b, err = e.field(b, st, i, list[i])
		case f.extension && e.extensions:
			return b, nil
		default:
			err = exception.New(exception.Pack,
				"Early end to input array specifying the fields of struct '${p}'; require input for field '${f}'",
				"p", e.path.String(), "f", e.path.name(f.name))
		}
	}
	return b, err
}

func (e *encoder) field(b []byte, st *structType, i int, v variant.Value) ([]byte, error) {
	e.path.push(step{strct: st, index: i})
	defer e.path.pop()
	defer e.limitExtensions(i == len(st.fields)-1)()
	return e.value(b, st.fields[i].node, v)
}
