package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// callDepth is how many calls may be inside one another. Without a bound a script takes all
// memory, also that of a node beside it.
const callDepth = 1 << 14

var errStack = errors.New("RangeError: Maximum call stack size exceeded")

// engine runs JavaScript on a goroutine of its own, and timers between what it is told to do.
type engine struct {
	vm     *goja.Runtime
	out    io.Writer
	jobs   chan func()
	stop   chan struct{} // closed to end it at once
	ending sync.Once
	done   chan struct{} // closed when it has ended

	// Of its goroutine:
	timers   map[*timer]bool
	draining bool // it ends with the last timer
}

// timer is what setTimeout and setInterval return.
type timer struct {
	alarm  *time.Timer
	period time.Duration // 0 for once
	call   goja.Callable
	args   []goja.Value
}

func newEngine(out io.Writer) *engine {
	e := &engine{
		vm: goja.New(), out: out, jobs: make(chan func()), stop: make(chan struct{}), done: make(chan struct{}),
		timers: map[*timer]bool{},
	}
	e.vm.SetMaxCallStackSize(callDepth)
	go e.run()
	return e
}

func (e *engine) run() {
	defer close(e.done)
	for !e.draining || len(e.timers) > 0 {
		select {
		case job := <-e.jobs:
			job()
		case <-e.stop:
			return
		}
	}
}

// script runs a text on the engine's goroutine. The name is for errors.
func (e *engine) script(name, text string) (goja.Value, error) {
	// Files that a text names as its source maps are not opened.
	tree, err := goja.Parse(name, text, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, err
	}
	program, err := goja.CompileAST(tree, false)
	if err != nil {
		return nil, err
	}
	v, err := e.vm.RunProgram(program)
	if _, ok := errors.AsType[*goja.StackOverflowError](err); ok {
		err = errStack // its own text says nothing
	}
	return v, err
}

// do has work done on the engine's goroutine, and waits for it. After the end nothing is
// done.
func (e *engine) do(work func()) {
	finished := make(chan struct{})
	select {
	case e.jobs <- func() { defer close(finished); work() }:
		<-finished
	case <-e.done:
	}
}

// drain waits until no timer is left, and ends the engine; at once if the context is done.
func (e *engine) drain(ctx context.Context) {
	defer context.AfterFunc(ctx, e.end)()
	e.do(func() { e.draining = true })
	<-e.done
}

// end ends the engine at once, whatever it is at.
func (e *engine) end() {
	e.ending.Do(func() {
		e.vm.Interrupt("the console ends")
		close(e.stop)
	})
	<-e.done
}

// setTimer is setTimeout and setInterval: a function, milliseconds, the function's arguments.
func (e *engine) setTimer(again bool) func(args ...goja.Value) (*timer, error) {
	return func(args ...goja.Value) (*timer, error) {
		if len(args) == 0 {
			return nil, errors.New("a timer needs a function")
		}
		call, ok := goja.AssertFunction(args[0])
		if !ok {
			return nil, fmt.Errorf("%v is no function", args[0])
		}
		delay := time.Millisecond
		if len(args) > 1 {
			delay = max(delay, time.Duration(args[1].ToInteger())*time.Millisecond)
		}
		t := &timer{call: call}
		if len(args) > 2 {
			t.args = args[2:]
		}
		if again {
			t.period = delay
		}
		e.timers[t] = true
		t.alarm = time.AfterFunc(delay, func() {
			select {
			case e.jobs <- func() { e.fire(t) }:
			case <-e.done:
			}
		})
		return t, nil
	}
}

// fire calls a timer's function, unless it was cleared.
func (e *engine) fire(t *timer) {
	if !e.timers[t] {
		return
	}
	if t.period == 0 {
		delete(e.timers, t)
	}
	if _, err := t.call(goja.Undefined(), t.args...); err != nil {
		fmt.Fprintln(e.out, "js error:", err)
	}
	if t.period != 0 {
		t.alarm.Reset(t.period)
	}
}

// clearTimer is clearTimeout and clearInterval.
func (e *engine) clearTimer(t *timer) {
	if t == nil || !e.timers[t] {
		return
	}
	delete(e.timers, t)
	t.alarm.Stop()
}
