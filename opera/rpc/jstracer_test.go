package rpc

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/httpserver"
)

// A tracer's program ends with its time, wherever it loops, and what it reads is given back.
func TestProgramsOfTracersEndWithTheirTime(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{RequestTime: 200 * time.Millisecond}})
	c, at := dial(t, w), contractOf(t, w)
	const fine = `fault: function(){}, result: function(){ return 1 }`
	for name, program := range map[string]string{
		"the program":  `(function(){ for(;;); })()`,
		"setup":        `{setup: function(){ for(;;); }, ` + fine + `}`,
		"step":         `{step: function(){ for(;;); }, ` + fine + `}`,
		"result":       `{fault: function(){}, result: function(){ for(;;); }}`,
		"a getter":     `{get step(){ for(;;); }, ` + fine + `}`,
		"its own text": `{fault: function(){}, result: function(){ return {toJSON: function(){ for(;;); }} }}`,
	} {
		begin := time.Now()
		var any json.RawMessage
		err := c.Call(&any, "debug_traceCall", deed(at, doCount),
			"latest", object{"tracer": program, "timeout": "200ms"})
		if err == nil || time.Since(begin) > time.Minute {
			t.Errorf("a loop in %s: %s, %v after %v", name, any, err, time.Since(begin))
		}
	}
	until(t, "all turns are given back", func() bool {
		end, err := w.service.pace.executing.Take(t.Context(), w.service.client(t.Context()))
		if err == nil {
			end()
		}
		w.service.latest.mu.Lock()
		defer w.service.latest.mu.Unlock()
		return err == nil && w.service.latest.shown.users == 1
	})
}

// alone makes a tracer as go-ethereum's package does.
func alone(program string, config json.RawMessage, v *view) (t *tracers.Tracer, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("panic")
		}
	}()
	return tracers.DefaultDirectory.New(program, new(tracers.Context), config, v.Config())
}

// Tracers in JavaScript do what go-ethereum's package does with them alone.
func TestProgramsOfTracersAreRunAsTheyAre(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	if _, err := read(w.service, func(v *view) (any, error) {
		for _, program := range []string{
			`{`, `1`, `{}`, `undefined`, `nothing.there`, `{fault: function(){}}`, `{result: function(){ return 1 }}`,
			`}) (`, `1), (2`, `{enter: function(){}, fault: function(){}, result: function(){}}`,
			`{setup: function(c){ throw "no " + c }, fault: function(){}, result: function(){}}`,
			`{setup: function(c){ this.c = JSON.parse(c) }, fault: function(){}, result: function(){ return this.c }}`,
			`{n: 0, get k(){ return 5 }, fault: function(){}, result: function(c){ this.n++; return [this.n, this.k, typeof c, typeof this.result, arguments.length] }}`,
			`(function(){ var hidden = 7; return {fault: function(){}, result: function(){ return hidden }} })()`,
			`{fault: function(){}, result: function(){ throw new Error("at the end") }}`,
			`"use strict", {fault: function(){}, result: function(){ return this === undefined }}`,
		} {
			config := json.RawMessage(`{"a":[1,"\"x"]}`)
			made := func(of *tracers.Tracer, err error) (string, string) {
				if err != nil {
					return "", err.Error()
				}
				text, err := of.GetResult()
				if err != nil {
					return "", err.Error()
				}
				return string(text), ""
			}
			here, err := w.service.newNamed(t.Context(), program, new(tracers.Context), config, v, maxCopies)
			if err != nil {
				here = &named{}
			}
			got, failed := made(here.Tracer, err)
			want, fails := made(alone(program, config, v))
			if fails == "panic" {
				fails = failed
			}
			// Where in a program something is wrong is told otherwise.
			first := func(text string) string { before, _, _ := strings.Cut(text, " at "); return before }
			if got != want || first(failed) != first(fails) {
				t.Errorf("%s\n  here    %s %q\n  without %s %q", program, got, failed, want, fails)
			}
		}
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	c, at := dial(t, w), contractOf(t, w)
	var direct, steps json.RawMessage
	if err := c.Call(&direct, "debug_traceCall", deed(at, doCount),
		"latest",
		object{
			"tracer": `{n:0, step: function(l, db){ this.n++; this.last = l.op.toString(); this.e = ` +
				`db.exists(l.contract.getAddress()) }, fault: function(){}, enter: function(f){ this.f = f.getType() ` +
				`}, exit: function(r){ this.g = r.getGasUsed() }, result: function(ctx, db){ return {n: this.n, ` +
				`last: this.last, e: this.e, type: ctx.type, used: ctx.gasUsed > 0} }}`}); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(&steps, "debug_traceCall", deed(at, doCount),
		"latest",
		object{
			"tracer": `{n:0, step: function(){ this.n++ }, fault: function(){}, result: function(){ return this.n }}`}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(direct), `"n":`+string(steps)+`,`) || !strings.Contains(string(direct), `"e":true`) ||
		!strings.Contains(string(direct), `"used":true`) || string(steps) == "0" {
		t.Errorf("%s, %s", direct, steps)
	}
	l := &w.service.limits
	fails(t, c.Call(&direct, "debug_traceCall", deed(at, doCount),
		"latest", object{"tracer": strings.Repeat("(", l.ScriptBytes+1)}), "the limit is")
	begin := time.Now()
	for _, text := range []string{strings.Repeat("(", l.ScriptBytes), strings.Repeat("(", l.ScriptMarks),
		"function(){" +
			strings.Repeat("a:", l.ScriptMarks-10) + "}", strings.Repeat("a+", l.ScriptBytes/2)} {
		if err := c.Call(&direct, "debug_traceCall", deed(at, doCount), "latest", object{"tracer": text}); err == nil {
			t.Error("what is no program is run")
		}
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("to read programs takes %v", took)
	}
}

// Programs of strangers are not run, however they come; those of local clients are, and a stranger's
// other tracers are too.
func TestProgramsOfStrangersAreNotRun(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	h, err := w.service.Handler(&HTTPOptions{}, &WSOptions{Origins: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const program = `{fault: function(){}, result: function(){ return 7 }}`
	for address, local := range map[string]bool{"": true, "5.5.5.5": false, "2001:db8::1": false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r.WithContext(httpserver.Asking(r.Context(), httpserver.ClientAt(address))))
		}))
		defer server.Close()
		for _, url := range []string{server.URL, "ws" + strings.TrimPrefix(server.URL, "http")} {
			c, err := rpc.Dial(url)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for _, of := range []object{
				{"tracer": program},
				{"tracer": several, "tracerConfig": object{program: object{}}},
				{"tracer": several, "tracerConfig": object{several: object{program: object{}}}},
			} {
				var got json.RawMessage
				inBatch := []rpc.BatchElem{{Method: "debug_traceCall",
					Args: []any{object{"to": attacker}, "latest", of}, Result: &json.RawMessage{}}}
				failed := errors.Join(c.BatchCall(inBatch), inBatch[0].Error)
				alone := c.Call(&got, "debug_traceCall", object{"to": attacker}, "latest", of)
				if local && (alone != nil || failed != nil || !strings.Contains(string(got), "7")) {
					t.Errorf("a local client's %v: %s, %v, %v", of, got, alone, failed)
				} else if !local {
					fails(t, alone, errProgram.Error())
					fails(t, failed, errProgram.Error())
				}
			}
			var got json.RawMessage
			if err := c.Call(&got, "debug_traceCall", object{"to": attacker},
				"latest", object{"tracer": "callTracer"}); err != nil {
				t.Errorf("callTracer of %q over %s: %v", address, url, err)
			}
		}
	}
}
