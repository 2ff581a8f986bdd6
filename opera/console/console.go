// Package console is a JavaScript console of an Opera node, as go-opera's: scripts that are
// written for that find here the same objects, and print the same.
//
// It owns the JavaScript engine, what web3.js is extended by, how values are shown, and the
// file of what was typed. It asks a node through a client that it is given, and people
// through a terminal; it knows neither flags nor how a node is started. web3.js itself is
// package web3js'.
//
// An instance belongs to one goroutine; JavaScript runs on one of its own.
package console

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/internal/web3js"
	"tarn/opera/prompt"
)

//go:embed modules.js
var modules string

// Options are what a console asks, and whom.
type Options struct {
	Client *rpc.Client
	Out    io.Writer
	// Terminal returns whom to ask. It is called when there is a question.
	Terminal func() *prompt.Terminal
	// Scripts is the folder of scripts that are named without one.
	Scripts string
	// History is the file of what was typed.
	History string
}

// Console evaluates JavaScript.
type Console struct {
	o       Options
	engine  *engine
	printer *printer
	parse   goja.Callable
	typed   []string

	base, now context.Context // of the console, and of what is evaluated
}

// New connects the console to the node's namespaces. Whatever is evaluated ends with the
// context.
func New(ctx context.Context, o Options) (*Console, error) {
	served, err := o.Client.SupportedModules()
	if err != nil {
		return nil, fmt.Errorf("api modules: %w", err)
	}
	names := make([]string, 0, len(served))
	for name := range served {
		names = append(names, name)
	}
	slices.Sort(names)
	c := &Console{o: o, engine: newEngine(o.Out), base: ctx, now: ctx}
	c.engine.do(func() { err = c.prepare(names) })
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// prepare defines what scripts find.
func (c *Console) prepare(served []string) (err error) {
	vm := c.engine.vm
	if c.printer, err = newPrinter(vm, c.o.Out); err != nil {
		return err
	}
	var ok bool
	if c.parse, ok = goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("parse")); !ok {
		return errors.New("JavaScript has no JSON.parse")
	}
	log := map[string]any{"log": c.log, "error": c.log}
	for name, value := range map[string]any{
		"console": log, "inspect": c.inspect, "loadScript": c.loadScript,
		"setTimeout": c.engine.setTimer(false), "setInterval": c.engine.setTimer(true),
		"clearTimeout": c.engine.clearTimer, "clearInterval": c.engine.clearTimer,
	} {
		if err := vm.Set(name, value); err != nil {
			return fmt.Errorf("define %s: %w", name, err)
		}
	}
	if _, err := c.engine.script("web3.js", web3js.Script()); err != nil {
		return fmt.Errorf("web3.js: %w", err)
	}
	made, err := c.engine.script("modules.js", modules)
	if err != nil {
		return fmt.Errorf("modules.js: %w", err)
	}
	begin, ok := goja.AssertFunction(made)
	if !ok {
		return errors.New("modules.js is no function")
	}
	transport := vm.ToValue(map[string]any{"send": c.send, "sendAsync": c.send})
	host := vm.ToValue(map[string]any{
		"sleep": c.sleep, "clearHistory": c.clearHistory, "tell": func(text string) { fmt.Fprintln(c.o.Out, text) },
		"ask": func(question string) (string, error) { return c.o.Terminal().Password(c.now, question) },
	})
	list := make([]any, len(served))
	for i, name := range served {
		list[i] = name
	}
	if _, err := begin(goja.Undefined(), transport, vm.NewArray(list...), host); err != nil {
		return fmt.Errorf("modules.js: %w", err)
	}
	return nil
}

func (c *Console) log(args ...goja.Value) goja.Value {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.String()
	}
	fmt.Fprintln(c.o.Out, strings.Join(texts, " "))
	return goja.Null()
}

func (c *Console) inspect(args ...goja.Value) {
	for _, a := range args {
		c.printer.value(a, 0, false)
		fmt.Fprintln(c.o.Out)
	}
}

func (c *Console) loadScript(file string) (goja.Value, error) {
	path := c.path(file)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("Could not read file %s: %w", path, err)
	}
	return c.engine.script(path, string(text))
}

// path is where a script lies.
func (c *Console) path(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(c.o.Scripts, file)
}

// evaluate has the engine do something that ends with the context.
func (c *Console) evaluate(ctx context.Context, work func()) {
	interrupted := make(chan struct{})
	interrupt := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		c.engine.vm.Interrupt("interrupted")
	})
	c.engine.do(func() {
		c.now = ctx
		work()
		c.now = c.base
	})
	if !interrupt() {
		<-interrupted // or it would end what comes next
	}
	c.engine.vm.ClearInterrupt()
}

// Evaluate executes a statement and shows its value, or what is wrong with it.
func (c *Console) Evaluate(ctx context.Context, statement string) {
	c.evaluate(ctx, func() { c.printer.result(c.engine.script("", statement)) })
}

// Execute executes the script in a file.
func (c *Console) Execute(ctx context.Context, file string) (err error) {
	text, err := os.ReadFile(c.path(file))
	if err != nil {
		return err
	}
	c.evaluate(ctx, func() { _, err = c.engine.script(file, string(text)) })
	return err
}

// Preload executes the script in a file, before anything else is evaluated. The error says
// where in the script.
func (c *Console) Preload(ctx context.Context, file string) error {
	err := c.Execute(ctx, file)
	if thrown, ok := errors.AsType[*goja.Exception](err); ok {
		return fmt.Errorf("%s: %s", file, thrown.String())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Wait waits until no timer of a script is left.
func (c *Console) Wait(ctx context.Context) { c.engine.drain(ctx) }

// Close ends the engine at once.
func (c *Console) Close() { c.engine.end() }
