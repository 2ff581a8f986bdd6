package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"

	"tarn/antelope/exception"
)

// Estimates of what a compiled module takes, for the bound of the cache.
const (
	moduleBytes      = 64 << 10
	nativeFactor     = 8 // of the size of the rewritten module
	interpretFactor  = 12
	selectEntryBytes = 4
	failedBytes      = 1 << 10 // a module that cannot be compiled
)

// A module that takes the compiler longer than the first is interpreted while the
// compiler works in the background, and one that takes longer than the second is
// interpreted for good: the compiler cannot be stopped.
const (
	compileAtOnce = 400 * time.Millisecond
	compileAtAll  = 20 * time.Second
)

// build loads, checks, rewrites and compiles a module.
func (c *Cache) build(e *entry, code Code) error {
	if code.Compiling != nil {
		code.Compiling(true)
		defer code.Compiling(false)
	}
	source, err := code.Load(code.Hash)
	if err != nil {
		return fmt.Errorf("loading contract %x: %w", code.Hash, err)
	}
	o := applyOptions()
	m, err := parse(source, &o)
	if err == nil {
		err = c.resolve(m)
	}
	var r *rewritten
	if err == nil {
		r, err = rewrite(m, &o)
	}
	if err != nil {
		return exception.New(exception.WasmExecutionError, "Error building eos-vm interp: ${e}", "e", err.Error())
	}
	e.depth = r.size.need.depth(code.Limits.CallDepth)
	facts := program{
		tables: r.tables, memories: m.memories, pages: m.pages,
		maxPages: m.maxPages, hasMax: m.hasMax, broken: m.broken, stack: r.size.stack(),
		near: r.near,
	}
	for _, d := range m.data {
		facts.data = append(facts.data, dataSegment{offset: d.offset, bytes: slices.Clone(d.bytes)})
	}
	p, err := c.compile(r, facts, r.size.within(compileAtOnce, code.Limits.CallDepth))
	if err != nil {
		return fmt.Errorf("compiling contract %x: %w", code.Hash, err)
	}
	e.program.Store(p)
	c.account(e, c.estimate(r, p))
	if p.runtime != c.native && r.size.within(compileAtAll, code.Limits.CallDepth) {
		c.promote(e, r, facts)
	}
	return nil
}

// resolve checks that the host has all imports.
func (c *Cache) resolve(m *module) error {
	for _, i := range m.imports {
		f := c.functions[string(i.name)]
		if string(i.module) != "env" || f == nil {
			return errors.New("no mapping for imported function " + string(i.name))
		}
		if !f.same(&m.types[i.typ]) {
			return errors.New("wrong type for imported function " + string(i.name))
		}
	}
	return nil
}

func (c *Cache) estimate(r *rewritten, p *program) int64 {
	n := int64(len(r.code)) * nativeFactor
	if p.runtime != c.native {
		n = int64(len(r.code)) * interpretFactor
	}
	for _, t := range r.tables {
		n += int64(len(t)) * selectEntryBytes
	}
	for _, d := range p.data {
		n += int64(len(d.bytes))
	}
	return n + moduleBytes
}

// compile makes a program for the compiler, or else for the interpreter; also if
// the compiler fails.
func (c *Cache) compile(r *rewritten, facts program, native bool) (*program, error) {
	var first error
	if native {
		compiled, err := compileModule(c.native, r.code)
		if err == nil {
			facts.runtime, facts.compiled = c.native, compiled
			return &facts, nil
		}
		first = err
	}
	compiled, err := compileModule(c.interpreter, r.code)
	if err != nil {
		return nil, errors.Join(first, err)
	}
	facts.runtime, facts.compiled = c.interpreter, compiled
	return &facts, nil
}

// compileModule compiles; a panic of the compiler is an error.
func compileModule(r wazero.Runtime, code []byte) (m wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
	}()
	return r.CompileModule(context.Background(), code)
}

// promote compiles a module that is interpreted, in the background, and puts the
// result in its place.
func (c *Cache) promote(e *entry, r *rewritten, facts program) {
	go func() {
		select {
		case c.slots <- struct{}{}:
		case <-c.done.Done():
			return
		}
		defer func() { <-c.slots }()
		if e.dropped.Load() || c.done.Err() != nil {
			return
		}
		compiled, err := compileModule(c.native, r.code)
		if err != nil || c.done.Err() != nil {
			return // it stays interpreted
		}
		facts.runtime, facts.compiled = c.native, compiled
		interpreted := c.estimate(r, e.program.Load())
		c.replace(e, &facts)
		c.account(e, c.estimate(r, &facts)-interpreted)
	}()
}

// replace puts a program in the place of the one that an entry has.
func (c *Cache) replace(e *entry, p *program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := e.program.Swap(p)
	if old != nil {
		_ = old.compiled.Close(context.Background())
	}
	if e.dropped.Load() {
		_ = p.compiled.Close(context.Background())
	}
}
