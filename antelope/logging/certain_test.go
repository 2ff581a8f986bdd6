package logging

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// A logging.json that leads nowhere does not hide why a node ends.
func TestWhatIsCertainReachesStandardError(t *testing.T) {
	const console = `{"name":"c","type":"console","args":{"stream":"std_out"}}`
	for _, c := range []struct {
		name, conf, notice string
		out                bool // a console has it already
	}{
		{"a host that does not resolve", `{"appenders":[{"name":"g","type":"gelf","args":{"endpoint":"no.such.host.invalid:1","host":"h"}}],
			"loggers":[{"name":"default","level":"info","appenders":["g"]}]}`, "appender g: error opening GELF socket", false},
		{"a server that listens", `{"appenders":[{"name":"g","type":"gelf","args":{"endpoint":"127.0.0.1:1","host":"h"}}],
			"loggers":[{"name":"default","level":"info","appenders":["g"]}]}`, "", false},
		{"an appender that nobody knows",
			`{"appenders":[` + console + `],"loggers":[{"name":"default","level":"info","appenders":["nope"]}]}`,
			"logger default: there is no appender nope\nno appender takes the lines of the logger default", false},
		{"off", `{"appenders":[` + console + `],"loggers":[{"name":"default","level":"off","appenders":["c"]}]}`, "", false},
		{"no loggers", `{}`, "no appender takes the lines of the logger default", false},
		{"a console", `{"appenders":[` + console + `],"loggers":[{"name":"default","level":"error","appenders":["c"]}]}`, "", true},
	} {
		for _, objects := range []bool{false, true} {
			var out, err bytes.Buffer
			l := New(Options{Out: &out, Err: &err, JSON: objects})
			notices, e := l.Configure([]byte(c.conf))
			if e != nil || !strings.HasPrefix(strings.Join(notices, "\n"), c.notice) ||
				c.notice == "" && notices != nil {
				t.Errorf("%s: %q, %v", c.name, notices, e)
			}
			l.Logger("").Error("no")
			l.Certain().Error("the end", "why", "so")
			has, hasNot := &err, &out
			if c.out {
				has, hasNot = &out, &err
			}
			if n := strings.Count(has.String(), "the end"); n != 1 || !strings.Contains(has.String(), "so") ||
				strings.Contains(hasNot.String(), "the end") {
				t.Errorf("%s, objects %t: said %d times\n%s%s", c.name, objects, n, &out, &err)
			}
			if strings.Contains(err.String(), `no`+"\n") {
				t.Errorf("%s: the log is not where it was to go: %s", c.name, &err)
			}
			l.Close()
		}
	}
}

type full struct{ io.Writer }

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// A log that standard output does not take is told of on standard error, once.
func TestALogThatCannotBeWrittenIsToldOf(t *testing.T) {
	var err bytes.Buffer
	l := New(Options{Out: full{}, Err: &err})
	if _, e := l.Configure([]byte(`{"appenders":[{"name":"c","type":"console","args":{"stream":"std_out"}}],
		"loggers":[{"name":"default","level":"info","appenders":["c"]}]}`)); e != nil {
		t.Fatal(e)
	}
	l.Logger("").Info("one")
	l.Logger("").Info("two")
	if got := err.String(); got != "the log cannot be written to standard output: the disk is full\n" {
		t.Errorf("%q", got)
	}
}
