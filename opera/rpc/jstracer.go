package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dop251/goja"
	"github.com/ethereum/go-ethereum/eth/tracers"
)

// plainName is the name of a tracer of go-ethereum's, in JavaScript or not, or of nothing.
var plainName = regexp.MustCompile(`^\w*Tracer\w*$`)

var marks = strings.NewReplacer("(", "", "[", "", "{", "", ":", "", "=>", "=")

var errTraceTime = errors.New("execution timeout")

// errProgram refuses programs of strangers. One call of a function of the language, such as
// "a".repeat(1e12), takes as much memory and time as it likes, and cannot be stopped: a short one
// ends the process. No bound holds but not to run it.
var errProgram = errors.New("tracers in JavaScript are run for local clients and trusted addresses only")

// newNamed returns the tracer of a name, or of a program in JavaScript, whose code ends with the
// context wherever it is. One that is several others copies at most so often.
//
// go-ethereum's package runs such a program while it makes the tracer, and only a tracer that is made
// can be stopped. So it gets a program of ours, which runs nothing: the client's is run when the
// tracer is asked for something. Which functions the client's has must be known before: a first
// tracer, with no other function than the one that is asked for a result, runs it to see. What is
// wrong with the client's program is told there, as it is without us.
func (s *Service) newNamed(
	ctx context.Context, name string, about *tracers.Context, config json.RawMessage, v *view, most int,
) (t *named, err error) {
	defer func() { // go-ethereum's package panics for programs that make nothing
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("make a tracer: %v", p)
		}
	}()
	if name == several {
		return s.newSeveral(ctx, about, config, v, most)
	}
	if !tracers.DefaultDirectory.IsJS(name) || plainName.MatchString(name) {
		return newNative(name, about, config, v)
	}
	if !s.client(ctx).Local() {
		return nil, errProgram
	}
	l := &s.limits
	if len(name) > l.ScriptBytes {
		return nil, fmt.Errorf("the tracer has %d bytes, the limit is %d", len(name), l.ScriptBytes)
	}
	if n := len(name) - len(marks.Replace(name)); n > l.ScriptMarks {
		return nil, fmt.Errorf("the tracer has %d brackets and colons, the limit is %d", n, l.ScriptMarks)
	}
	if _, err := goja.Compile("", "("+name+")", false); err != nil { // as the package runs it
		err = fmt.Errorf("SyntaxError: %w", err)
		return nil, err
	}
	text := quoteJS([]byte("(" + name + ")"))
	if config == nil {
		config = json.RawMessage("{}")
	}
	begin := fmt.Sprintf(`var o = (0, eval)(%s); if (typeof o.setup === "function") o.setup(%s)`, text, quoteJS(config))
	looked, err := tracers.DefaultDirectory.New(fmt.Sprintf(seeing, begin), about, nil, v.Config())
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { looked.Stop(errTraceTime) })()
	grew := limitGrowth(looked, l.ScriptGrowth)
	has, err := looked.GetResult()
	if failed := grew(); failed != nil {
		return nil, failed
	}
	if ctx.Err() != nil {
		return nil, errTraceTime
	}
	if err != nil {
		return nil, errors.New(strings.TrimSuffix(err.Error(), seeingError))
	}
	var functions []string
	if err := json.Unmarshal(has, &functions); err != nil {
		return nil, fmt.Errorf("look at the functions of a tracer: %w", err)
	}
	var methods strings.Builder
	for _, f := range functions {
		fmt.Fprintf(&methods, ", %[1]s: function(a, b) { return of().%[1]s(a, b) }", f)
	}
	made, err := tracers.DefaultDirectory.New(fmt.Sprintf(running, begin, methods.String()), about, nil, v.Config())
	if err != nil {
		return nil, err
	}
	return &named{name, made, habits{copies: 1, program: true}}, nil
}

// seeing returns which functions a program has, running the one that works for its client.
const seeing = `{fault: function() {}, result: function() { %s; return ["step", "enter", "exit", "fault", ` +
	`"result"].filter(function(f) { return typeof o[f] === "function" }) }}`

// seeingError is what go-ethereum's package adds to errors of that function.
const seeingError = "    in server-side tracer function 'result'"

// running has the functions of a program, which runs when the first of them is called.
const running = `(function() { var made; function of() { if (!made) { %s; made = o } return made } return ` +
	`{made: 1%s} })()`

// quoteJS is a text as JavaScript.
func quoteJS(text []byte) []byte {
	q, err := json.Marshal(string(text))
	if err != nil {
		return []byte(`"{}"`) // a string always is JSON
	}
	return q
}

// until stops a tracer when the context ends, whatever of the client's code runs. The function that
// is returned ends that.
func (t *tracer) until(ctx context.Context) (end func()) {
	stop := context.AfterFunc(ctx, func() { t.Stop(errTraceTime) })
	return func() { stop() }
}
