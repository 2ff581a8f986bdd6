package console

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// depth is how many objects inside one another are shown.
const depth = 3

// printer shows values as go-opera's console does.
type printer struct {
	vm  *goja.Runtime
	out io.Writer
	own goja.Callable // Object.getOwnPropertyNames
}

func newPrinter(vm *goja.Runtime, out io.Writer) (*printer, error) {
	own, ok := goja.AssertFunction(vm.Get("Object").ToObject(vm).Get("getOwnPropertyNames"))
	if !ok {
		return nil, errors.New("JavaScript has no Object.getOwnPropertyNames")
	}
	return &printer{vm: vm, out: out, own: own}, nil
}

// result shows a value, or why there is none.
func (p *printer) result(v goja.Value, err error) {
	if err == nil {
		p.value(v, 0, false)
	} else {
		p.failure(err)
	}
	fmt.Fprintln(p.out)
}

func (p *printer) failure(err error) {
	text := err.Error()
	if e, ok := err.(*goja.Exception); ok {
		text = e.String() // with where it happened
	}
	fmt.Fprint(p.out, text)
}

// value shows a value inside so many objects. One that an array holds begins on the array's
// line.
func (p *printer) value(v goja.Value, level int, inArray bool) {
	switch {
	case v == nil || goja.IsUndefined(v):
		fmt.Fprint(p.out, "undefined")
		return
	case goja.IsNull(v):
		fmt.Fprint(p.out, "null")
		return
	}
	if o, ok := v.(*goja.Object); ok {
		p.object(o, level, inArray)
		return
	}
	if s, ok := v.Export().(string); ok {
		fmt.Fprint(p.out, strconv.Quote(s))
		return
	}
	fmt.Fprint(p.out, v.String())
}

func (p *printer) object(o *goja.Object, level int, inArray bool) {
	switch class := o.ClassName(); class {
	case "Array", "GoArray":
		p.array(o, level)
	case "Object":
		p.fields(o, level, inArray)
	case "Function":
		head, body, _ := strings.Cut(o.String(), "{")
		if strings.Contains(body, "[native code]") {
			head = "function()" // without names of this program's
		}
		fmt.Fprint(p.out, strings.Replace(strings.TrimSpace(head), " (", "(", 1))
	case "RegExp":
		fmt.Fprint(p.out, o.String())
	default:
		if level > depth {
			fmt.Fprintf(p.out, "<%s>", class)
			return
		}
		fmt.Fprintf(p.out, "<%s %s>", class, o.String())
	}
}

func (p *printer) array(o *goja.Object, level int) {
	n := int(o.Get("length").ToInteger())
	switch {
	case n == 0:
		fmt.Fprint(p.out, "[]")
		return
	case level > depth:
		fmt.Fprint(p.out, "[...]")
		return
	}
	for i := range n {
		fmt.Fprint(p.out, []string{"[", ", "}[min(i, 1)])
		p.value(o.Get(strconv.Itoa(i)), level+1, true)
	}
	fmt.Fprint(p.out, "]")
}

// fields shows an object: first what are values, then the functions, each by name. Large
// numbers are shown as numbers.
func (p *printer) fields(o *goja.Object, level int, inArray bool) {
	if p.number(o) {
		fmt.Fprint(p.out, o.String())
		return
	}
	shown := p.properties(o)
	switch {
	case len(shown) == 0:
		fmt.Fprint(p.out, "{}")
		return
	case level > depth:
		fmt.Fprint(p.out, "{...}")
		return
	}
	fmt.Fprintln(p.out, "{")
	for i, f := range shown {
		fmt.Fprintf(p.out, "%s%s: ", strings.Repeat("  ", level+1), f.name)
		p.value(f.value, level+1, false)
		if i < len(shown)-1 {
			fmt.Fprint(p.out, ",")
		}
		fmt.Fprintln(p.out)
	}
	if inArray {
		level--
	}
	fmt.Fprint(p.out, strings.Repeat("  ", level), "}")
}

// number tells whether an object is one of bignumber.js.
func (p *printer) number(o *goja.Object) bool {
	number := p.vm.Get("BigNumber")
	maker, ok := o.Get("constructor").(*goja.Object)
	return ok && number != nil && maker.SameAs(number)
}

// get reads a property, which may ask the node. What fails is undefined.
func (p *printer) get(o *goja.Object, name string) (v goja.Value) {
	if err := p.vm.Try(func() { v = o.Get(name) }); err != nil {
		return goja.Undefined()
	}
	return v
}

type property struct {
	name  string
	value goja.Value
}

func (f property) isFunction() bool {
	o, ok := f.value.(*goja.Object)
	return ok && o.ClassName() == "Function"
}

// properties are those of an object and of its constructor's prototype, but for names that
// begin with an underscore: first values, then functions.
func (p *printer) properties(o *goja.Object) (shown []property) {
	names := p.names(o)
	if maker, ok := p.get(o, "constructor").(*goja.Object); ok {
		of, plain := p.get(maker, "prototype"), p.vm.Get("Object").ToObject(p.vm).Get("prototype")
		if prototype, ok := of.(*goja.Object); ok && !prototype.SameAs(plain) {
			names = append(names, p.names(prototype)...)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !strings.HasPrefix(name, "_") && name != "constructor" {
			shown = append(shown, property{name, p.get(o, name)})
		}
	}
	slices.SortStableFunc(shown, func(a, b property) int {
		switch {
		case a.isFunction() == b.isFunction():
			return 0
		case b.isFunction():
			return -1
		}
		return 1
	})
	return shown
}

// names are those of an object's own properties.
func (p *printer) names(o *goja.Object) (list []string) {
	v, err := p.own(goja.Undefined(), o)
	if err == nil {
		err = p.vm.ExportTo(v, &list)
	}
	if err != nil {
		return nil // an object that hides them
	}
	return list
}
