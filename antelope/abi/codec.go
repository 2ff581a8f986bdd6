package abi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// MaxDepth limits how deep types may nest (Leap: abi_serializer::max_recursion_depth).
const MaxDepth = 32

// Budget is asked now and then whether work may go on; the error that it returns
// ends the work. See [Deadline]. A nil Budget sets no limit.
type Budget func() error

// Deadline returns a budget that ends with nodeos' exception once expired says so;
// limit is for the text, in microseconds. Expired is called from the goroutine
// that does the work.
func Deadline(limit int64, expired func() bool) Budget {
	return func() error {
		if expired() {
			return exception.New(exception.ABISerializationDeadline, "serialization time limit ${t}us exceeded",
				"t", limit)
		}
		return nil
	}
}

// Codec is a valid ABI that converts. It does not change, so that any number of
// goroutines may use it.
type Codec struct {
	typedefs map[string]string
	structs  map[string]*structType
	variants map[string]*variantType
	nodes    map[string]*node

	actions       map[types.Name]string
	tables        map[types.Name]string
	actionResults map[types.Name]string
	errorMessages map[uint64]string

	decoders sync.Pool // of *decoder
}

type structType struct {
	name   string
	base   string
	fields []field
	parent *structType // of base, once linked
}

type field struct {
	name, typ string
	key       string // the name as JSON, with quotes and colon
	extension bool   // the type ends with "$"
	node      *node
}

type variantType struct {
	name  string
	types []string
	nodes []*node
}

// form is what a type is once it is resolved.
type form uint8

const (
	unknown form = iota
	single       // built-in
	singleArray
	singleOptional
	array
	optional
	choice
	structure
)

// node is a resolved type.
type node struct {
	form    form
	name    string // resolved
	base    string // without the suffix
	builtin *builtin
	elem    *node
	choice  *variantType
	strct   *structType
}

// scope counts the depth of types and asks the budget.
type scope struct {
	depth  int
	visits int
	budget Budget
	growth int // how many bytes more JSON may have than usual for its data
}

// visitsPerCheck is how many types are passed between two questions to a budget.
const visitsPerCheck = 32

func newScope(budget Budget) scope { return scope{depth: 1, budget: budget, growth: mostGrowth} }

func (s *scope) enter() error {
	s.depth++
	if s.depth >= MaxDepth {
		return exception.New(exception.ABIRecursionDepth, "recursive definition, max_recursion_depth ${r} ",
			"r", MaxDepth)
	}
	s.visits++
	if s.budget != nil && s.visits%visitsPerCheck == 1 {
		return s.budget()
	}
	return nil
}

func (s *scope) leave() { s.depth-- }

// New checks an ABI by the rules of nodeos and returns what converts by it. The
// errors are exceptions of the kinds that nodeos throws.
func New(d *Def, budget Budget) (*Codec, error) {
	if !strings.HasPrefix(d.Version, "eosio::abi/1.") {
		return nil, exception.New(exception.UnsupportedABIVersion, "ABI has an unsupported version")
	}
	c := &Codec{
		typedefs: make(map[string]string, len(d.Types)),
		structs:  make(map[string]*structType, len(d.Structs)),
		variants: make(map[string]*variantType, len(d.Variants)),
		nodes:    make(map[string]*node),

		actions:       make(map[types.Name]string, len(d.Actions)),
		tables:        make(map[types.Name]string, len(d.Tables)),
		actionResults: make(map[types.Name]string, len(d.ActionResults)),
		errorMessages: make(map[uint64]string, len(d.ErrorMessages)),
	}
	s := newScope(budget)
	if err := c.fill(d, &s); err != nil {
		return nil, err
	}
	if err := c.validate(&s); err != nil {
		return nil, err
	}
	c.link()
	return c, nil
}

// fill takes the definitions in the order in which nodeos does, on which the type
// check of new names depends, and refuses what is defined twice.
func (c *Codec) fill(d *Def, s *scope) error {
	for i := range d.Structs {
		def := &d.Structs[i]
		st := &structType{name: def.Name, base: def.Base, fields: make([]field, len(def.Fields))}
		for j, f := range def.Fields {
			st.fields[j] = newField(f)
		}
		c.structs[def.Name] = st
	}
	for _, t := range d.Types {
		known, err := c.isType(t.NewTypeName, s)
		if err != nil {
			return err
		}
		if known {
			return exception.New(exception.DuplicateABITypeDef, "type already exists", "new_type_name", t.NewTypeName)
		}
		c.typedefs[t.NewTypeName] = t.Type
	}
	for _, a := range d.Actions {
		c.actions[a.Name] = a.Type
	}
	for _, t := range d.Tables {
		c.tables[t.Name] = t.Type
	}
	for _, e := range d.ErrorMessages {
		c.errorMessages[e.Code] = e.Message
	}
	for i := range d.Variants {
		def := &d.Variants[i]
		c.variants[def.Name] = &variantType{name: def.Name, types: def.Types}
	}
	for _, r := range d.ActionResults {
		c.actionResults[r.Name] = r.ResultType
	}
	for _, count := range []struct {
		got, want int
		kind      *exception.Kind
		what      string
	}{
		{len(c.typedefs), len(d.Types), exception.DuplicateABITypeDef, "type"},
		{len(c.structs), len(d.Structs), exception.DuplicateABIStructDef, "struct"},
		{len(c.actions), len(d.Actions), exception.DuplicateABIActionDef, "action"},
		{len(c.tables), len(d.Tables), exception.DuplicateABITableDef, "table"},
		{len(c.errorMessages), len(d.ErrorMessages), exception.DuplicateABIErrMsgDef, "error message"},
		{len(c.variants), len(d.Variants), exception.DuplicateABIVariantDef, "variant"},
		{len(c.actionResults), len(d.ActionResults), exception.DuplicateABIActionResultsDef, "action results"},
	} {
		if count.got != count.want {
			return exception.New(count.kind, "duplicate "+count.what+" definition detected")
		}
	}
	return nil
}

// fundamental takes one suffix from a type: [], [n] or ?. The second suffix is
// known to the checks only; nodeos 5 converts by no such type.
func fundamental(t string) string {
	switch {
	case strings.HasSuffix(t, "[]"):
		return t[:len(t)-2]
	case isSizedArray(t):
		return t[:strings.LastIndexByte(t, '[')]
	case strings.HasSuffix(t, "?"):
		return t[:len(t)-1]
	}
	return t
}

// isSizedArray tells whether the last brackets have digits between them, and
// something at least; what comes after them is not looked at.
func isSizedArray(t string) bool {
	open, end := strings.LastIndexByte(t, '['), strings.LastIndexByte(t, ']')
	if open < 0 || end < 0 || open+1 == end {
		return false
	}
	for i := open + 1; i < end; i++ {
		if t[i] < '0' || t[i] > '9' {
			return false
		}
	}
	return true
}

func withoutExtension(t string) string { return strings.TrimSuffix(t, "$") }

func (c *Codec) isType(t string, s *scope) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	t = fundamental(t)
	if builtins[t] != nil {
		return true, nil
	}
	if target, ok := c.typedefs[t]; ok {
		return c.isType(target, s)
	}
	return c.structs[t] != nil || c.variants[t] != nil, nil
}

// resolve follows the type's other names.
func (c *Codec) resolve(t string) string {
	target, ok := c.typedefs[t]
	for i := len(c.typedefs); ok && i > 0; i-- { // no more steps than names
		var more bool
		next, more := c.typedefs[target]
		if !more {
			return target
		}
		target = next
	}
	return t
}

// need fails with the type's name if there is no such type.
func (c *Codec) need(t, shown string, s *scope) error {
	ok, err := c.isType(t, s)
	if err == nil && !ok {
		err = exception.New(exception.InvalidTypeInsideABI, "${type}", "type", shown)
	}
	return err
}

// validate checks, in the order of nodeos, that types lead to types, structs to
// structs, without circles.
func (c *Codec) validate(s *scope) error {
	names := slices.Sorted(maps.Keys(c.typedefs))
	ends := make(map[string]bool, len(names))
	for _, name := range names {
		chain := chainOf(name, ends, func(t string) (string, bool) { next, ok := c.typedefs[t]; return next, ok })
		if chain == nil {
			return exception.New(exception.ABICircularDef, "Circular reference in type ${type}", "type", name)
		}
	}
	for _, name := range names {
		if err := c.need(c.typedefs[name], c.typedefs[name], s); err != nil {
			return err
		}
	}
	if err := c.validateStructs(s); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.variants)) {
		for _, t := range c.variants[name].types {
			if err := c.need(t, t, s); err != nil {
				return err
			}
		}
	}
	for _, uses := range []map[types.Name]string{c.actions, c.tables, c.actionResults} {
		for _, name := range slices.Sorted(maps.Keys(uses)) {
			if err := c.need(uses[name], uses[name], s); err != nil {
				return err
			}
		}
	}
	return nil
}

// chainOf follows next from name until there is none, or it comes to a name that
// is known to lead to an end; it returns nil if it goes in a circle. All that it
// passed is known then.
func chainOf(name string, ends map[string]bool, next func(string) (string, bool)) []string {
	chain, seen := []string{name}, map[string]bool{name: true}
	for !ends[name] {
		to, ok := next(name)
		if !ok {
			break
		}
		if seen[to] {
			return nil
		}
		chain, seen[to] = append(chain, to), true
		name = to
	}
	for _, n := range chain {
		ends[n] = true
	}
	return chain
}

func (c *Codec) validateStructs(s *scope) error {
	ends := make(map[string]bool, len(c.structs))
	for _, name := range slices.Sorted(maps.Keys(c.structs)) {
		st, unknown := c.structs[name], ""
		chain := chainOf(name, ends, func(t string) (string, bool) {
			from := c.structs[t]
			if from.base == "" {
				return "", false
			}
			base := c.structs[c.resolve(from.base)]
			if base == nil {
				unknown = from.base
				return "", false
			}
			return base.name, true
		})
		if unknown != "" {
			return exception.New(exception.InvalidTypeInsideABI, "Unknown struct ${type}", "type", unknown)
		}
		if chain == nil {
			return exception.New(exception.ABICircularDef, "Circular reference in struct ${type}", "type", name)
		}
		for _, f := range st.fields {
			if err := c.need(withoutExtension(f.typ), f.typ, s); err != nil {
				return fmt.Errorf("field %s of %s: %w", f.name, name, err)
			}
		}
	}
	return nil
}

// link resolves every type that the ABI mentions.
func (c *Codec) link() {
	for _, st := range c.structs {
		if st.base != "" {
			st.parent = c.structs[c.resolve(st.base)]
		}
		for i := range st.fields {
			st.fields[i].node = c.node(withoutExtension(st.fields[i].typ))
		}
	}
	for _, v := range c.variants {
		v.nodes = make([]*node, len(v.types))
		for i, t := range v.types {
			v.nodes[i] = c.node(t)
		}
	}
	for _, uses := range []map[types.Name]string{c.actions, c.tables, c.actionResults} {
		for _, t := range uses {
			c.node(t)
		}
	}
}

// node returns the resolved type of a name, and keeps it; it is for link.
func (c *Codec) node(t string) *node {
	if n := c.nodes[t]; n != nil {
		return n
	}
	n := new(node)
	c.nodes[t] = n
	c.describe(n, t, c.node)
	return n
}

// lookup returns the resolved type of a name that a caller has.
func (c *Codec) lookup(t string) *node {
	if n := c.nodes[t]; n != nil {
		return n
	}
	n := new(node)
	c.describe(n, t, c.lookup)
	return n
}

// describe fills n. Each element's name is shorter, or another name that leads
// somewhere, so that this ends.
func (c *Codec) describe(n *node, t string, find func(string) *node) {
	n.name = c.resolve(t)
	n.base = fundamental(n.name)
	n.builtin = builtins[n.base]
	isArray, isOptional := strings.HasSuffix(n.name, "[]"), strings.HasSuffix(n.name, "?")
	switch {
	case n.builtin != nil && isArray:
		n.form = singleArray
	case n.builtin != nil && isOptional:
		n.form = singleOptional
	case n.builtin != nil:
		n.form = single
	case isArray:
		n.form, n.elem = array, find(n.base)
	case isOptional:
		n.form, n.elem = optional, find(n.base)
	case c.variants[n.name] != nil:
		n.form, n.choice = choice, c.variants[n.name]
	case c.structs[n.name] != nil:
		n.form, n.strct = structure, c.structs[n.name]
	}
}

// ActionType returns the type of an action's data, "" if it has none.
func (c *Codec) ActionType(action types.Name) string { return c.actions[action] }

// TableType returns the type of a table's rows, "" if there is no such table.
func (c *Codec) TableType(table types.Name) string { return c.tables[table] }

// ActionResultType returns the type of what an action returns, "" if it has none.
func (c *Codec) ActionResultType(action types.Name) string { return c.actionResults[action] }

// ErrorMessage returns the text of an error code.
func (c *Codec) ErrorMessage(code uint64) (string, bool) {
	s, ok := c.errorMessages[code]
	return s, ok
}

// IsType tells whether there is such a type.
func (c *Codec) IsType(t string) bool {
	s := newScope(nil)
	ok, err := c.isType(t, &s)
	return ok && err == nil
}
