package wat

import "strings"

// operation is an instruction: its code, and what stands behind it.
type operation struct {
	code      byte
	immediate immediate
	align     byte // of a load or store: the logarithm of its width
}

// immediate is what an instruction has besides what it works on.
type immediate byte

const (
	nothing immediate = iota
	functionName
	localName
	globalName
	labelName
	labelNames // of a table
	address    // offset=n, optional
	number32
	number64
	zero // of the memory
)

func operationOf(name string) (operation, bool) {
	switch name {
	case "unreachable":
		return operation{code: 0x00}, true
	case "br":
		return operation{code: 0x0c, immediate: labelName}, true
	case "br_if":
		return operation{code: 0x0d, immediate: labelName}, true
	case "br_table":
		return operation{code: 0x0e, immediate: labelNames}, true
	case "return":
		return operation{code: 0x0f}, true
	case "call":
		return operation{code: 0x10, immediate: functionName}, true
	case "drop":
		return operation{code: 0x1a}, true
	case "select":
		return operation{code: 0x1b}, true
	case "local.get", "local.set", "local.tee":
		return operation{code: map[byte]byte{'g': 0x20, 's': 0x21, 't': 0x22}[name[6]], immediate: localName}, true
	case "global.get":
		return operation{code: 0x23, immediate: globalName}, true
	case "global.set":
		return operation{code: 0x24, immediate: globalName}, true
	case "memory.size":
		return operation{code: 0x3f, immediate: zero}, true
	case "memory.grow":
		return operation{code: 0x40, immediate: zero}, true
	case "i32.const":
		return operation{code: 0x41, immediate: number32}, true
	case "i64.const":
		return operation{code: 0x42, immediate: number64}, true
	case "i32.wrap_i64":
		return operation{code: 0xa7}, true
	case "i64.extend_i32_s":
		return operation{code: 0xac}, true
	case "i64.extend_i32_u":
		return operation{code: 0xad}, true
	case "f32.reinterpret_i32":
		return operation{code: 0xbe}, true
	case "f64.reinterpret_i64":
		return operation{code: 0xbf}, true
	}
	if o, ok := memoryOperation(name); ok {
		return o, true
	}
	return arithmetic(name)
}

func memoryOperation(name string) (operation, bool) {
	list := []struct {
		name  string
		code  byte
		align byte
	}{
		{"i32.load", 0x28, 2}, {"i64.load", 0x29, 3},
		{"i32.load8_s", 0x2c, 0}, {"i32.load8_u", 0x2d, 0}, {"i32.load16_s", 0x2e, 1}, {"i32.load16_u", 0x2f, 1},
		{"i64.load8_s", 0x30, 0}, {"i64.load8_u", 0x31, 0}, {"i64.load16_s", 0x32, 1}, {"i64.load16_u", 0x33, 1},
		{"i64.load32_s", 0x34, 2}, {"i64.load32_u", 0x35, 2},
		{"i32.store", 0x36, 2}, {"i64.store", 0x37, 3}, {"i32.store8", 0x3a, 0}, {"i32.store16", 0x3b, 1},
		{"i64.store8", 0x3c, 0}, {"i64.store16", 0x3d, 1}, {"i64.store32", 0x3e, 2},
	}
	for _, x := range list {
		if x.name == name {
			return operation{code: x.code, immediate: address, align: x.align}, true
		}
	}
	return operation{}, false
}

// arithmetic finds the instructions that both integer types have in one order.
func arithmetic(name string) (operation, bool) {
	kind, rest, _ := strings.Cut(name, ".")
	if kind != "i32" && kind != "i64" {
		return operation{}, false
	}
	wide := kind == "i64"
	tests := []string{"eqz", "eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u"}
	for i, x := range tests {
		if x == rest {
			return operation{code: base(wide, 0x45, 0x50) + byte(i)}, true
		}
	}
	sums := []string{"clz", "ctz", "popcnt", "add", "sub", "mul", "div_s", "div_u", "rem_s", "rem_u",
		"and", "or", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr"}
	for i, x := range sums {
		if x == rest {
			return operation{code: base(wide, 0x67, 0x79) + byte(i)}, true
		}
	}
	return operation{}, false
}

func base(wide bool, narrowly, widely byte) byte {
	if wide {
		return widely
	}
	return narrowly
}

// function encodes a body.
func (m *module) function(b *body) error {
	if err := m.instructions(b, b.fields); err != nil {
		return err
	}
	var runs []byte // of locals of one type
	count := uint64(0)
	for locals := b.types[b.params:]; len(locals) > 0; count++ {
		n := 1
		for n < len(locals) && locals[n] == locals[0] {
			n++
		}
		runs = append(appendUnsigned(runs, uint64(n)), locals[0])
		locals = locals[n:]
	}
	code := append(append(appendUnsigned(nil, count), runs...), b.out...)
	code = append(code, 0x0b)
	m.code.bytes = appendString(m.code.bytes, string(code))
	m.code.count++
	return nil
}

func (m *module) instructions(b *body, list []node) error {
	for i := range list {
		if err := m.instruction(b, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// instruction encodes one, after what it works on.
func (m *module) instruction(b *body, n *node) error {
	switch n.head() {
	case "block", "loop":
		return m.block(b, n)
	case "if":
		return m.choice(b, n)
	case "":
		return wrong(n.line, "an instruction stands in parentheses")
	}
	o, ok := operationOf(n.head())
	if !ok {
		return wrong(n.line, "no instruction %q", n.head())
	}
	operands := n.list[1:]
	immediate, operands, err := m.immediate(b, n, o, operands)
	if err != nil {
		return err
	}
	if err := m.instructions(b, operands); err != nil {
		return err
	}
	b.out = append(append(b.out, o.code), immediate...)
	return nil
}

// immediate encodes what stands between an instruction's name and its operands.
func (m *module) immediate(b *body, n *node, o operation, operands []node) ([]byte, []node, error) {
	switch o.immediate {
	case nothing:
		return nil, operands, nil
	case zero:
		return []byte{0}, operands, nil
	case address:
		var offset int64
		if len(operands) > 0 && strings.HasPrefix(operands[0].text, "offset=") {
			x := operands[0]
			x.text = strings.TrimPrefix(x.text, "offset=")
			var err error
			if offset, err = x.integer(32); err != nil || offset < 0 {
				return nil, nil, wrong(n.line, "an offset of %s", x.text)
			}
			operands = operands[1:]
		}
		return appendUnsigned([]byte{o.align}, uint64(offset)), operands, nil
	case labelNames:
		return b.table(n, operands)
	}
	if len(operands) == 0 || operands[0].kind != 'a' {
		return nil, nil, wrong(n.line, "%s of what?", n.head())
	}
	x, operands := &operands[0], operands[1:]
	switch o.immediate {
	case number32, number64:
		bits := 32
		if o.immediate == number64 {
			bits = 64
		}
		v, err := x.integer(bits)
		return appendSigned(nil, v), operands, err
	case labelName:
		depth, err := b.depth(n, x)
		return appendUnsigned(nil, depth), operands, err
	}
	names := map[immediate]map[string]int{functionName: m.functions, localName: b.locals,
		globalName: m.globals}[o.immediate]
	number, ok := names[x.text]
	if !ok {
		return nil, nil, wrong(n.line, "%s of %s, which is not there", n.head(), x.text)
	}
	return appendUnsigned(nil, uint64(number)), operands, nil
}

// depth is how many blocks lie between an instruction and the one with that label.
func (b *body) depth(n, label *node) (uint64, error) {
	for depth := range b.labels {
		if b.labels[len(b.labels)-1-depth] == label.text {
			return uint64(depth), nil
		}
	}
	return 0, wrong(n.line, "no label %s around", label.text)
}

// table encodes the labels of a br_table, of which the last is for all other numbers.
func (b *body) table(n *node, operands []node) ([]byte, []node, error) {
	var depths []byte
	count := uint64(0)
	for ; len(operands) > 0 && operands[0].kind == 'a'; operands = operands[1:] {
		depth, err := b.depth(n, &operands[0])
		if err != nil {
			return nil, nil, err
		}
		depths = appendUnsigned(depths, depth)
		count++
	}
	if count == 0 {
		return nil, nil, wrong(n.line, "br_table of what?")
	}
	return append(appendUnsigned(nil, count-1), depths...), operands, nil
}

// open begins a block with a label and a result, which may both be missing.
func (b *body) open(list []node) (result byte, rest []node, err error) {
	result = 0x40
	label := ""
	if len(list) > 0 && list[0].id() != "" {
		label, list = list[0].id(), list[1:]
	}
	if len(list) > 0 && list[0].head() == "result" {
		if len(list[0].list) != 2 {
			return 0, nil, wrong(list[0].line, "a block has one result at most")
		}
		if result, err = valueType(&list[0].list[1]); err != nil {
			return 0, nil, err
		}
		list = list[1:]
	}
	b.labels = append(b.labels, label)
	return result, list, nil
}

func (b *body) close() {
	b.labels = b.labels[:len(b.labels)-1]
	b.out = append(b.out, 0x0b)
}

// block encodes (block $label ...) or (loop $label ...).
func (m *module) block(b *body, n *node) error {
	code := byte(0x02)
	if n.head() == "loop" {
		code = 0x03
	}
	result, list, err := b.open(n.list[1:])
	if err != nil {
		return err
	}
	b.out = append(b.out, code, result)
	if err := m.instructions(b, list); err != nil {
		return err
	}
	b.close()
	return nil
}

// choice encodes (if condition (then ...) (else ...)).
func (m *module) choice(b *body, n *node) error {
	result, list, err := b.open(n.list[1:])
	if err != nil {
		return err
	}
	label := b.labels[len(b.labels)-1]
	b.labels = b.labels[:len(b.labels)-1] // not around the condition
	for len(list) > 0 && list[0].head() != "then" {
		if err := m.instruction(b, &list[0]); err != nil {
			return err
		}
		list = list[1:]
	}
	if len(list) == 0 || len(list) > 2 || len(list) == 2 && list[1].head() != "else" {
		return wrong(n.line, "an if is (if condition (then ...) (else ...))")
	}
	b.labels = append(b.labels, label)
	b.out = append(b.out, 0x04, result)
	if err := m.instructions(b, list[0].list[1:]); err != nil {
		return err
	}
	if len(list) == 2 {
		b.out = append(b.out, 0x05)
		if err := m.instructions(b, list[1].list[1:]); err != nil {
			return err
		}
	}
	b.close()
	return nil
}
