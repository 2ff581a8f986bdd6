package rpc

import (
	"encoding/json"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/tracers"
)

// heldAtMost is by how much the objects in memory grow while something happens.
func heldAtMost(what func()) (bytes uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	now := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before := now()
	var most atomic.Uint64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			most.Store(max(most.Load(), now()))
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	what()
	close(end)
	<-ended
	return max(most.Load(), before) - before
}

// Contracts whose calls are cheap and large to tell.
const (
	attacker  = "0x00000000000000000000000000000000000000aa"
	returning = "0x00000000000000000000000000000000000000bb"
)

func coding(text string) object { return object{"code": text} }

// What a tracer copies of outputs, hashed bytes and codes has a bound, for go-ethereum's tracers
// alone and together; a single call of this kind took gigabytes.
func TestTracesOfCheapCallsTakeBoundedMemory(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	outputs := object{
		attacker:  coding("0x5b600060006000600060bb5afa50600056"), // calls the other one for ever
		returning: coding("0x6180006000f3"),                       // returns 32 KiB
	}
	hashes := object{attacker: coding("0x5b5a600052618000600020506000565b")} // hashes 32 KiB, others each time
	for _, of := range []struct {
		name   string
		config any
		state  object
	}{
		{"callTracer", nil, outputs},
		{"flatCallTracer", nil, outputs},
		{several, object{"callTracer": object{}, "flatCallTracer": object{}}, outputs},
		{"keccak256PreimageTracer", nil, hashes},
		{"erc7562Tracer", nil, hashes},
		{several, object{"keccak256PreimageTracer": object{}}, hashes},
	} {
		var any json.RawMessage
		var err error
		began := time.Now()
		grew := heldAtMost(func() {
			err = c.Call(&any, "debug_traceCall", object{"to": attacker, "gas": hexutil.Uint64(50_000_000)}, "latest",
				object{"tracer": of.name, "tracerConfig": of.config, "stateOverrides": of.state})
		})
		t.Logf("%s %v: %d MiB, %v", of.name, of.config, grew>>20, time.Since(began).Round(time.Millisecond))
		fails(t, err, errTraceSize.Error())
		if grew > 256<<20 {
			t.Errorf("%s: %d MiB are held", of.name, grew>>20)
		}
	}
}

// oneCode is a state in which all accounts have the same code.
type oneCode struct{ tracing.StateDB }

func (oneCode) GetCode(common.Address) []byte { return make([]byte, 1000) }

// Codes that a tracer reads count, however many accounts have the same one.
func TestCodesOfATraceCount(t *testing.T) {
	var seen []int
	tr := &tracer{Tracer: &tracers.Tracer{Stop: func(error) {}}, habits: habits{copies: 2}, room: 13_000,
		stop: func() {}}
	tr.Hooks = &tracing.Hooks{OnTxStart: func(env *tracing.VMContext, _ *types.Transaction, _ common.Address) {
		for range 4 {
			seen = append(seen, len(env.StateDB.GetCode(common.Address{})))
		}
	}}
	tr.bound()
	tr.OnTxStart(&tracing.VMContext{StateDB: oneCode{}}, nil, common.Address{})
	if !slices.Equal(seen, []int{1000, 1000, 1000, 0}) || !tr.over {
		t.Errorf("codes of %v bytes are seen of 13,000, which two tracers write as 4,000 each", seen)
	}
}

// Tracers of go-ethereum's that cannot be stopped end with their time, alone and among several, and
// so do programs among several. One of each kind ended the node, or never ended.
func TestTracersThatCannotBeStoppedEndWithTheirTime(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{RequestTime: 200 * time.Millisecond}})
	c := dial(t, w)
	loop := object{attacker: coding("0x5b600056")}
	for name, config := range map[string]any{
		"keccak256PreimageTracer": nil,
		"opcodeCounterTracer":     nil,
		several: object{"keccak256PreimageTracer": object{},
			several: object{"keccak256PreimageTracer": object{}}},
		several + " ": nil,
	} {
		var any json.RawMessage
		err := c.Call(&any, "debug_traceCall", object{"to": attacker, "gas": hexutil.Uint64(50_000_000)}, "latest",
			object{"tracer": strings.TrimSpace(name), "tracerConfig": config, "timeout": "1ms", "stateOverrides": loop})
		if err == nil {
			t.Errorf("%s with %v: %s", name, config, any)
		}
	}
	began := time.Now()
	const fine = `fault: function(){}, result: function(){ return 7 }`
	var text json.RawMessage
	err := c.Call(&text, "debug_traceCall", object{"to": attacker}, "latest", object{"tracer": several,
		"tracerConfig": object{`{x: (function(){ for(;;); })(), ` + fine + `}`: object{}}})
	if err == nil || time.Since(began) > time.Minute {
		t.Errorf("a loop in one of several: %s, %v after %v", text, err, time.Since(began))
	}
	one := `{` + fine + `}`
	if err := c.Call(&text, "debug_traceCall", object{"to": attacker},
		"latest", object{"tracer": several, "tracerConfig": object{one: object{},
			"noopTracer": object{}}}); err != nil || !strings.Contains(string(text), ":7") {
		t.Errorf("a program and another tracer: %s, %v", text, err)
	}
	nested := object{}
	for range maxCopies {
		nested = object{several: nested}
	}
	fails(t, c.Call(&text, "debug_traceCall", object{"to": attacker},
		"latest", object{"tracer": several, "tracerConfig": nested}), "tracers at most")
}

// Tracers that are several others, each within the one before, are refused before what they are made
// of is read: each would hold what all within it are made of, so that a request of a megabyte takes gigabytes.
func TestTracersWithinTracersTakeNoMemory(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	const depth = 2000
	within := `{"` + several + `":`
	config := json.RawMessage(strings.Repeat(within, depth) + `"` + strings.Repeat("x", 100<<10) + `"` +
		strings.Repeat("}", depth))
	var any json.RawMessage
	var err error
	grew := heldAtMost(func() {
		err = c.Call(&any, "debug_traceCall", object{"to": attacker}, "latest",
			object{"tracer": several, "tracerConfig": config})
	})
	fails(t, err, "tracers at most")
	if grew > 32<<20 {
		t.Errorf("%d MiB are held for a request of %d KiB", grew>>20, len(config)>>10)
	}
}

// A program that takes memory step by step is stopped. How much it has by then depends on how often
// the watcher has a processor, so that is told and not judged.
func TestProgramsThatTakeMemoryAreStopped(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	for what, program := range map[string]string{
		"its result":        `{fault: function(){}, result: function(){ var s = "x"; for(;;) s += s }}`,
		"its text":          `(function(){ var s = "x"; for(;;) s += s })()`,
		"of its getters":    `{fault: function(){}, get step(){ var s = "x"; for(;;) s += s }, result: function(){}}`,
		"one among several": ``,
	} {
		config := object{}
		if program == "" {
			program, config = several, object{
				`{fault: function(){}, result: function(){ var s = "x"; for(;;) s += s }}`: object{}}
		}
		var any json.RawMessage
		var err error
		grew := heldAtMost(func() {
			err = c.Call(&any, "debug_traceCall", object{"to": attacker},
				"latest", object{"tracer": program, "tracerConfig": config, "timeout": "20s"})
		})
		t.Logf("%s: %d MiB, %v", what, grew>>20, err)
		fails(t, err, errTraceMemory.Error())
	}
}
