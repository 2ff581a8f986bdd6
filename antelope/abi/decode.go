package abi

import (
	"errors"
	"fmt"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/variant"
)

// decoder turns binary data into JSON. Those that a codec has used are used again.
type decoder struct {
	r     serial.Reader
	scope scope
	path  path
	most  int // bytes of JSON, with what it is appended to
}

// What JSON may become. Names of fields and types are as long as a contract likes, and come again with each
// value. nodeos looks at the time for each of them.
const (
	usualGrowth = 64       // times the bytes of the data: more than it mostly is
	mostGrowth  = 16 << 20 // bytes beyond that, of a value, or of all contents of what is converted
)

// Decode appends the JSON of the value of a type that data begins with. What
// follows it is ignored, as by nodeos.
func (c *Codec) Decode(b []byte, typ string, data []byte, budget Budget) ([]byte, error) {
	out, _, err := c.decode(b, typ, data, newScope(budget), false)
	return out, err
}

// DecodeAll is [Codec.Decode] of data that has the value and nothing behind it.
func (c *Codec) DecodeAll(b []byte, typ string, data []byte, budget Budget) ([]byte, error) {
	out, used, err := c.decode(b, typ, data, newScope(budget), false)
	if err == nil && used < len(data) {
		return b, fmt.Errorf("%d bytes follow the value", len(data)-used)
	}
	return out, err
}

// DecodeShort is [Codec.Decode] with messages that name types, not fields, as
// nodeos has them where contents of a transaction are shown.
func (c *Codec) DecodeShort(b []byte, typ string, data []byte, budget Budget) ([]byte, error) {
	out, _, err := c.decode(b, typ, data, newScope(budget), true)
	return out, err
}

// decode also returns how many bytes the value takes.
func (c *Codec) decode(b []byte, typ string, data []byte, s scope, short bool) (out []byte, used int, err error) {
	n := c.lookup(typ)
	d, ok := c.decoders.Get().(*decoder)
	if !ok {
		d = new(decoder)
	}
	d.r.Reset(data)
	d.scope, d.path = s, newPath(n, short, d.path.steps[:0])
	d.scope.depth++ // the scope of the whole
	start := len(b)
	d.most = start + usualGrowth*len(data) + s.growth
	out, err = d.value(b, n)
	used = d.r.Offset()
	d.r.Reset(nil)
	d.scope.budget = nil
	c.decoders.Put(d)
	if err != nil {
		return b[:start], 0, err
	}
	return out, used, nil
}

// unpackError is err as nodeos passes it on: an exception of the chain is itself,
// another becomes an unpack_exception.
func unpackError(err error, format string, values ...any) error {
	var e *exception.Error
	if errors.As(err, &e) && e.Kind.Is(exception.ChainException) {
		return e.With(format, values...)
	}
	return exception.Wrap(exception.Unpack, err, format, values...)
}

func (d *decoder) value(b []byte, n *node) ([]byte, error) {
	if err := d.scope.enter(); err != nil {
		return b, err
	}
	defer d.scope.leave()
	if len(b) > d.most {
		return b, exception.New(exception.ABISerializationDeadline, "the JSON of a value is too long")
	}
	switch n.form {
	case single, singleArray, singleOptional:
		return d.builtin(b, n)
	case array:
		return d.array(b, n)
	case optional:
		flag := d.r.Uint8()
		if err := d.r.Err(); err != nil {
			return b, unpackError(err, "Unable to unpack presence flag of optional '${p}'", "p", d.path.String())
		}
		if flag == 0 {
			return append(b, "null"...), nil
		}
		return d.value(b, n.elem)
	case choice:
		return d.choice(b, n)
	case structure:
		b, count, err := d.structure(append(b, '{'), n.strct, 0)
		if err == nil && count == 0 {
			err = exception.New(exception.Unpack, "Unable to unpack '${p}' from stream", "p", d.path.String())
		}
		return append(b, '}'), err
	}
	if err := d.scope.enter(); err != nil {
		return b, err
	}
	defer d.scope.leave()
	return b, exception.New(exception.InvalidTypeInsideABI, "Unknown type ${type}", "type", d.path.name(n.name))
}

func (d *decoder) builtin(b []byte, n *node) ([]byte, error) {
	class := "built-in"
	switch n.form {
	case singleArray:
		class = "array of built-in"
		b = append(b, '[')
		for i := range d.r.Count(n.builtin.size) {
			if i > 0 {
				b = append(b, ',')
			}
			if b = n.builtin.decode(&d.r, b); d.r.Err() != nil {
				break
			}
		}
		b = append(b, ']')
	case singleOptional:
		class = "optional of built-in"
		if d.r.Bool() {
			b = n.builtin.decode(&d.r, b)
		} else {
			b = append(b, "null"...)
		}
	default:
		b = n.builtin.decode(&d.r, b)
	}
	if err := d.r.Err(); err != nil {
		return b, unpackError(err, "Unable to unpack ${class} type '${type}' while processing '${p}'",
			"class", class, "type", fmt.Sprint(n.base), "p", d.path.String())
	}
	return b, nil
}

func (d *decoder) array(b []byte, n *node) ([]byte, error) {
	d.path.hint("ARRAY")
	size := d.r.Varuint32()
	if err := d.r.Err(); err != nil {
		return b, unpackError(err, "Unable to unpack size of array '${p}'", "p", d.path.String())
	}
	d.path.push(step{})
	defer d.path.pop()
	b = append(b, '[')
	for i := range size { // ends with the data: every element takes some
		if i > 0 {
			b = append(b, ',')
		}
		d.path.steps[len(d.path.steps)-1].index = int(i)
		var err error
		if b, err = d.value(b, n.elem); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func (d *decoder) choice(b []byte, n *node) ([]byte, error) {
	d.path.hint(n.name)
	tag := d.r.Varuint32()
	if err := d.r.Err(); err != nil {
		return b, unpackError(err, "Unable to unpack tag of variant '${p}'", "p", d.path.String())
	}
	if int64(tag) >= int64(len(n.choice.types)) {
		return b, exception.New(exception.Unpack, "Unpacked invalid tag (${select}) for variant '${p}'",
			"select", tag, "p", d.path.String())
	}
	d.path.push(step{choice: n.choice, index: int(tag)})
	defer d.path.pop()
	b = variant.AppendString(append(b, '['), n.choice.types[tag])
	b, err := d.value(append(b, ','), n.choice.nodes[tag])
	return append(b, ']'), err
}

// structure appends the members of a struct and of those that it is based on, and
// returns how many there are now.
func (d *decoder) structure(b []byte, st *structType, count int) ([]byte, int, error) {
	if err := d.scope.enter(); err != nil {
		return b, count, err
	}
	defer d.scope.leave()
	d.path.hint(st.name)
	if st.parent != nil {
		var err error
		if b, count, err = d.structure(b, st.parent, count); err != nil {
			return b, count, err
		}
	}
	extended := false
	for i := range st.fields {
		f := &st.fields[i]
		extended = extended || f.extension
		if d.r.Len() == 0 {
			if f.extension {
				continue
			}
			if extended {
				return b, count, exception.New(exception.ABI,
					"Encountered field '${f}' without binary extension designation while processing struct '${p}'",
					"f", d.path.name(f.name), "p", d.path.String())
			}
			return b, count, exception.New(exception.Unpack,
				"Stream unexpectedly ended; unable to unpack field '${f}' of struct '${p}'",
				"f", d.path.name(f.name), "p", d.path.String())
		}
		if count > 0 {
			b = append(b, ',')
		}
		count++
		d.path.push(step{strct: st, index: i})
		var err error
		b, err = d.value(append(b, f.key...), f.node)
		d.path.pop()
		if err != nil {
			return b, count, err
		}
	}
	return b, count, nil
}

// newField prepares a field.
func newField(f FieldDef) field {
	out := field{name: f.Name, typ: f.Type}
	out.extension = withoutExtension(f.Type) != f.Type
	out.key = string(append(variant.AppendString(nil, f.Name), ':'))
	return out
}
