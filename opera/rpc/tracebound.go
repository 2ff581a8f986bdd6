package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/eth/tracers/native"
)

// What a trace may take in memory: what go-ethereum's tracers copy costs next to no gas, and a
// program in JavaScript takes what it likes.

// frame is what a call takes in an answer besides what it passes.
const frame = 256

// remembering are the tracers that keep what is hashed.
var remembering = map[string]bool{"keccak256PreimageTracer": true, "erc7562Tracer": true}

// several is the tracer that is several others at once, each of which copies.
const several = "muxTracer"

// habits are what a tracer does with memory.
type habits struct {
	copies  int  // it makes so many of what it sees
	hashed  bool // it keeps what is hashed
	program bool // it is a program in JavaScript, or has one
}

// named is a tracer with its name.
type named struct {
	name string
	*tracers.Tracer
	habits
}

// newSeveral returns the tracer that is several others, as go-ethereum's package does; but each is
// made as if it were alone, and can be stopped. It copies at most so often: that is looked at before what the
// others are made of is read, because each of those that are within another holds that of all within it.
func (s *Service) newSeveral(
	ctx context.Context, about *tracers.Context, config json.RawMessage, v *view, most int,
) (*named, error) {
	tooMany := fmt.Errorf("%s takes %d tracers at most", several, maxCopies)
	if most < 1 {
		return nil, tooMany
	}
	of := map[string]json.RawMessage{}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &of); err != nil {
			return nil, err
		}
	}
	all := &named{name: several, habits: habits{copies: 1}}
	var names []string
	var list []*tracers.Tracer
	for _, name := range slices.Sorted(maps.Keys(of)) {
		one, err := s.newNamed(ctx, name, about, of[name], v, most-all.copies)
		if err != nil {
			return nil, err
		}
		all.copies += one.copies
		all.hashed, all.program = all.hashed || one.hashed, all.program || one.program
		if all.copies > most {
			return nil, tooMany
		}
		names, list = append(names, name), append(list, one.Tracer)
	}
	var err error
	all.Tracer, err = native.NewMuxTracer(names, list)
	return all, err
}

// newNative returns a tracer of go-ethereum's that can be stopped: not all of them can.
func newNative(name string, about *tracers.Context, config json.RawMessage, v *view) (*named, error) {
	of, err := tracers.DefaultDirectory.New(name, about, config, v.Config())
	if err != nil {
		return nil, err
	}
	if of.Stop == nil {
		of.Stop = func(error) {}
	}
	return &named{name, of, habits{copies: 1, hashed: remembering[name]}}, nil
}

// bound counts the bytes that a tracer copies: what calls pass and return, what they log and hash,
// and codes. It shows the tracer nothing beyond the room for a trace.
func (t *tracer) bound() {
	of := t.Hooks
	hooks := *of
	if of.OnEnter != nil || of.OnEnterV2 != nil {
		hooks.OnEnterV2 = func(depth int, kind byte, from, to common.Address, input []byte, gas tracing.Gas,
			value *big.Int) {
			of.EmitEnter(depth, kind, from, to, t.visibleBytes(input, frame), gas, value)
		}
	}
	if exit := of.OnExit; exit != nil {
		hooks.OnExit = func(depth int, output []byte, used uint64, err error, reverted bool) {
			exit(depth, t.visibleBytes(output, 0), used, err, reverted)
		}
	}
	if exit := of.OnExitV2; exit != nil {
		hooks.OnExitV2 = func(depth int, output []byte, left tracing.Gas, err error, reverted bool) {
			exit(depth, t.visibleBytes(output, 0), left, err, reverted)
		}
	}
	if log := of.OnLog; log != nil {
		hooks.OnLog = func(l *types.Log) {
			if t.fits(len(l.Data) + frame/2) {
				log(l)
			}
		}
	}
	if start := of.OnTxStart; start != nil {
		hooks.OnTxStart = func(env *tracing.VMContext, tx *types.Transaction, from common.Address) {
			counted := *env
			counted.StateDB = codesCounted{env.StateDB, t}
			start(&counted, tx, from)
		}
	}
	if t.hashed {
		t.countHashed(of, &hooks)
	}
	t.Hooks = &hooks
}

// countHashed counts what is hashed, and shows no more of it than fits.
func (t *tracer) countHashed(of, hooks *tracing.Hooks) {
	fits := func(op byte, scope tracing.OpContext) bool {
		if vm.OpCode(op) != vm.KECCAK256 {
			return true
		}
		stack := scope.StackData()
		if len(stack) < 2 {
			return true
		}
		size := stack[len(stack)-2]
		return size.IsUint64() && size.Uint64() < mostHashed && t.fits(int(size.Uint64()))
	}
	if step := of.OnOpcode; step != nil {
		hooks.OnOpcode = func(pc uint64, op byte, gas, cost uint64, scope tracing.OpContext, data []byte,
			depth int, err error) {
			if fits(op, scope) {
				step(pc, op, gas, cost, scope, data, depth, err)
			}
		}
	}
	if step := of.OnOpcodeV2; step != nil {
		hooks.OnOpcodeV2 = func(pc uint64, op byte, gas, cost tracing.Gas, scope tracing.OpContext, data []byte,
			depth int, err error) {
			if fits(op, scope) {
				step(pc, op, gas, cost, scope, data, depth, err)
			}
		}
	}
}

// codesCounted is a state of which the codes count that a tracer reads.
type codesCounted struct {
	tracing.StateDB
	t *tracer
}

// GetCode implements tracing.StateDB.
func (c codesCounted) GetCode(of common.Address) []byte {
	return c.t.visibleBytes(c.StateDB.GetCode(of), 0)
}

// visibleBytes is what a tracer sees of some bytes: nothing once they, and so much besides, do not fit.
func (t *tracer) visibleBytes(bytes []byte, besides int) []byte {
	if t.room -= t.copies * besides; !t.fits(len(bytes)) {
		return nil
	}
	return bytes
}

// fits counts bytes that a tracer copies, of which each is two in an answer.
func (t *tracer) fits(bytes int) bool {
	if t.room -= 2 * t.copies * bytes; t.room < 0 && !t.over {
		t.over = true
		t.Stop(errTraceSize)
		t.stop()
	}
	return !t.over
}

var errTraceMemory = errors.New("the tracer takes too much memory")

// heap is the memory of the process: what was in use when garbage was last looked for, and that
// with the garbage of today.
type heap struct{ live, all uint64 }

func heapNow() heap {
	of := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(of)
	return heap{of[0].Value.Uint64(), of[1].Value.Uint64()}
}

// beyond tells whether more is in use than a bound. Garbage is looked for when it matters.
func beyond(most uint64) bool {
	now := heapNow()
	if now.live <= most && now.all > most {
		runtime.GC()
		now = heapNow()
	}
	return now.live > most
}

// limitGrowth stops a program in JavaScript when the process takes so many bytes of memory more than
// before it, and tells then what is the matter. The function that is returned ends that.
func limitGrowth(of *tracers.Tracer, growth uint64) (end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	most := heapNow().all + growth
	go func() {
		tick := time.NewTicker(growthEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if beyond(most) {
					of.Stop(errTraceMemory)
					ended <- errTraceMemory
					return
				}
			case <-ctx.Done():
				ended <- nil
				return
			}
		}
	}()
	return func() error {
		cancel()
		err := <-ended
		ended <- err // it may be asked twice
		return err
	}
}
