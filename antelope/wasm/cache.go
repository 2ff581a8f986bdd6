package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Options configure a [Cache].
type Options struct {
	// Functions are all host functions that any contract may import, whether the
	// chain's features have them enabled or not: that is checked when code is set
	// ([Rules.Import]).
	Functions []Function

	// CacheBytes bounds the memory of compiled modules, estimated; the ones least
	// recently used go first. 0 means 256 MiB.
	CacheBytes int64

	// InstanceBytes bounds the memory of the instances that one machine keeps, with
	// the stacks that they may come to have. 0 means 256 MiB.
	InstanceBytes int64

	// Interpreter runs everything on the interpreter, some thirty times slower. The
	// results are the same.
	Interpreter bool
}

const (
	defaultCacheBytes    = 256 << 20
	defaultInstanceBytes = 256 << 20
)

// Cache compiles modules and keeps them, for all machines of a node. It may be used
// by many goroutines at a time.
type Cache struct {
	o           Options
	functions   map[string]*Function
	native      wazero.Runtime
	interpreter wazero.Runtime

	clock   atomic.Uint64
	slots   chan struct{}   // one background compilation at a time
	warming chan struct{}   // and one of Warm's
	tasks   sync.WaitGroup  // what Warm started
	done    context.Context // cancelled by Close
	stop    context.CancelFunc

	mu      sync.Mutex
	entries map[types.Checksum256]*entry
	bytes   int64
}

// entry is a module of the cache.
type entry struct {
	ready   chan struct{} // closed when program or err is set
	err     error         // of the contract; others are not kept
	program atomic.Pointer[program]
	used    atomic.Uint64 // by the cache's clock
	dropped atomic.Bool
	bytes   int64
	depth   uint32 // the most calls that may nest in the program; set before ready is closed
}

// serves tells whether the program is for calls as deep as code's limits allow.
func (e *entry) serves(code *Code) bool {
	return e.err != nil || min(code.Limits.CallDepth, maxDepth) <= e.depth
}

// program is a compiled module.
type program struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	tables   [][]uint32
	data     []dataSegment
	near     uint64 // bytes of the near part of memory; 0: all
	memories int
	pages    uint32
	maxPages uint32
	hasMax   bool
	broken   string
	stack    int64 // that an instance may come to have, bytes
}

// instanceBytes is what an instance takes, estimated.
func (p *program) instanceBytes() int64 {
	const rest = 32 << 10
	return int64(p.pages)*PageSize + min(p.stack, keptStack) + rest
}

// NewCache makes a cache and links the host functions.
func NewCache(o Options) (*Cache, error) {
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.InstanceBytes == 0 {
		o.InstanceBytes = defaultInstanceBytes
	}
	c := &Cache{
		o:         o,
		functions: make(map[string]*Function, len(o.Functions)),
		slots:     make(chan struct{}, 1),
		warming:   make(chan struct{}, 1),
		entries:   map[types.Checksum256]*entry{},
	}
	c.done, c.stop = context.WithCancel(context.Background())
	for i := range o.Functions {
		c.functions[o.Functions[i].Name] = &o.Functions[i]
	}
	// A memory helper stands in for these, whatever the host has.
	for _, name := range []string{"memcpy", "memmove", "memset", "memcmp"} {
		c.functions[name] = &Function{Name: name, Params: []ValueType{I32, I32, I32}, Results: []ValueType{I32},
			Body: func(*Call, []uint64) {}}
	}
	var err error
	if c.interpreter, err = c.runtime(wazero.NewRuntimeConfigInterpreter()); err != nil {
		return nil, err
	}
	c.native = c.interpreter
	if !o.Interpreter {
		if c.native, err = c.runtime(wazero.NewRuntimeConfig()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// runtime makes a virtual machine with the host functions.
func (c *Cache) runtime(config wazero.RuntimeConfig) (wazero.Runtime, error) {
	ctx := context.Background()
	features := api.CoreFeaturesV1 | api.CoreFeatureBulkMemoryOperations
	r := wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(features).WithDebugInfoEnabled(false))
	env := r.NewHostModuleBuilder("env")
	for _, f := range c.functions {
		env.NewFunctionBuilder().WithGoFunction(hostFunction(f.Body), f.Params, f.Results).Export(f.Name)
	}
	if _, err := env.Instantiate(ctx); err != nil {
		return nil, fmt.Errorf("linking the host functions: %w", err)
	}
	own := r.NewHostModuleBuilder(machineModule)
	for _, f := range machineFunctions() {
		var results []ValueType
		if f.result {
			results = []ValueType{I32}
		}
		params := slices.Repeat([]ValueType{I32}, f.params)
		own.NewFunctionBuilder().WithGoFunction(hostFunction(f.body), params, results).Export(f.name)
	}
	if _, err := own.Instantiate(ctx); err != nil {
		return nil, fmt.Errorf("linking the machine's functions: %w", err)
	}
	return r, nil
}

// hostFunction is the body of a host function as the virtual machine calls it.
type hostFunction func(*Call, []uint64)

// Call implements api.GoFunction.
func (f hostFunction) Call(ctx context.Context, stack []uint64) {
	c := ctx.(*Call)
	c.inHost = true
	f(c, stack)
	c.inHost = false
}

// Close frees all compiled modules. Machines of the cache must not run any more. A
// compilation in the background cannot be stopped; its result is thrown away.
func (c *Cache) Close() error {
	c.stop()
	c.tasks.Wait()
	err := c.interpreter.Close(context.Background())
	if c.native != c.interpreter {
		err = errors.Join(err, c.native.Close(context.Background()))
	}
	return err
}

// NewMachine makes a machine whose modules are in the cache.
func (c *Cache) NewMachine() *Machine {
	return &Machine{cache: c, instances: map[types.Checksum256]*instance{}, most: c.o.InstanceBytes}
}

// Warm compiles a module in the background, so that its first action need not wait;
// the results of actions do not depend on it, and an error shows when it is run. While
// it is busy with another it does nothing: who sets code again and again gets no more
// than one processor. The bytes must stay as they are.
func (c *Cache) Warm(hash types.Checksum256, code []byte) {
	select {
	case c.warming <- struct{}{}:
	default:
		return
	}
	c.tasks.Go(func() {
		defer func() { <-c.warming }()
		_, _ = c.entry(Code{
			Hash: hash, Limits: DefaultLimits(), Load: func(types.Checksum256) ([]byte, error) { return code, nil },
		})
	})
}

// entry returns the module with a hash, which it compiles unless it is cached.
func (c *Cache) entry(code Code) (*entry, error) {
	c.mu.Lock()
	e, ok := c.entries[code.Hash]
	if !ok {
		e = &entry{ready: make(chan struct{})}
		c.entries[code.Hash] = e
	}
	e.used.Store(c.clock.Add(1))
	c.mu.Unlock()
	if ok {
		e.await(code.Compiling)
		if !e.serves(&code) {
			c.drop(code.Hash, e)
			return c.entry(code)
		}
		return e, e.err
	}
	defer close(e.ready)
	e.err = c.build(e, code)
	switch {
	case e.err == nil:
	case exception.Is(e.err, exception.WasmExecutionError):
		c.account(e, failedBytes)
	default:
		c.drop(code.Hash, e)
	}
	return e, e.err
}

// await waits until the module is compiled, if somebody else is at it.
func (e *entry) await(compiling func(active bool)) {
	select {
	case <-e.ready:
		return
	default:
	}
	if compiling != nil {
		compiling(true)
		defer compiling(false)
	}
	<-e.ready
}

// drop removes an entry, and keeps what uses it working until it lets go.
func (c *Cache) drop(hash types.Checksum256, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[hash] == e {
		c.remove(hash, e)
	}
}

// remove is drop with the lock held.
func (c *Cache) remove(hash types.Checksum256, e *entry) {
	delete(c.entries, hash)
	c.bytes -= e.bytes
	e.dropped.Store(true)
	if p := e.program.Load(); p != nil {
		// Instances keep the code mapped as long as they exist.
		_ = p.compiled.Close(context.Background())
	}
}

// account adds to the size of an entry, and drops others to make room.
func (c *Cache) account(e *entry, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.dropped.Load() {
		return
	}
	e.bytes += bytes
	c.bytes += bytes
	for c.bytes > c.o.CacheBytes {
		var oldest *entry
		var hash types.Checksum256
		for h, x := range c.entries {
			if x != e && x.bytes > 0 && (oldest == nil || x.used.Load() < oldest.used.Load()) {
				oldest, hash = x, h
			}
		}
		if oldest == nil {
			return
		}
		c.remove(hash, oldest)
	}
}
