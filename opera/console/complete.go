package console

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// complete returns the names that could go on at a place of a line.
func (c *Console) complete(line string, pos int) (head string, words []string, tail string) {
	start := strings.LastIndexFunc(line[:pos], func(r rune) bool {
		return r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) + 1
	if start == pos {
		return "", nil, ""
	}
	c.engine.do(func() { words = c.words(line[start:pos]) })
	return line[:start], words, line[pos:]
}

// words are the properties whose names go on from what was written, with all that is before
// them.
func (c *Console) words(written string) (list []string) {
	parts := strings.Split(written, ".")
	last := len(parts) - 1
	o := c.engine.vm.GlobalObject()
	for _, part := range parts[:last] {
		next, ok := c.printer.get(o, part).(*goja.Object)
		if !ok {
			return nil
		}
		o = next
	}
	before := strings.Join(append(slices.Clone(parts[:last]), ""), ".")
	for at := o; at != nil; at = at.Prototype() {
		for _, name := range c.printer.names(at) {
			if strings.HasPrefix(name, parts[last]) && (parts[last] != "" || !strings.HasPrefix(name, "_")) &&
				name != "constructor" {
				list = append(list, before+name)
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	// What is there whole goes on with a call or a dot.
	if len(list) == 1 && list[0] == written {
		switch (property{value: c.printer.get(o, parts[last])}).isFunction() {
		case true:
			list[0] += "("
		default:
			list[0] += "."
		}
	}
	return list
}
