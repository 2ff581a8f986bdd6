// Package logging writes a node's log: in the columns of nodeos (Leap:
// console_appender.cpp), which operators' scripts take apart, or as one JSON object
// on each line; to a Graylog server; and to whom and from which level, as
// logging.json says (Leap: logger_config.cpp).
//
// It owns the form of lines and where they go. The only files that it opens are those
// that logging.json names for the deep-mind log, and what is said is up to those who
// get a [Logs.Logger].
package logging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what a log is made with.
type Options struct {
	Out, Err io.Writer // the streams of the process; the default is Err
	Thread   string    // what stands in the thread's column: the program's name
	JSON     bool      // objects in place of columns

	// Journal puts a syslog priority before each line of columns, as systemd's
	// journal understands it. nodeos does so if JOURNAL_STREAM is set.
	Journal bool
	// ColorOut and ColorErr tell that a stream is a terminal.
	ColorOut, ColorErr bool
}

// Logs are the loggers of a process. All methods may be called from any goroutine.
type Logs struct {
	opt   Options
	rules atomic.Pointer[rules]
	mu    sync.Mutex    // of the streams, and of exchanging the rules
	sent  atomic.Uint64 // messages that servers were sent

	outFailed bool // Out did not take the last line
}

// New returns logs that write from level info to Err, until they are configured.
func New(o Options) *Logs {
	l := &Logs{opt: o}
	l.rules.Store(l.normal())
	return l
}

// Close sends what has not been sent, and ends what [Logs.Configure] began. What is
// said later goes to Err.
func (l *Logs) Close() { l.replace(l.normal()) }

// DeepMind is where the deep-mind log goes: Out, or what logging.json says of the
// logger deep-mind. Writes are whole lines.
func (l *Logs) DeepMind() io.Writer { return deepMind{l} }

type deepMind struct{ logs *Logs }

func (d deepMind) Write(line []byte) (int, error) {
	l := d.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rules.Load().routes[deepMindLogger]
	if r == nil || len(r.deepMind) == 0 && !r.standard {
		return l.opt.Out.Write(line)
	}
	if r.level > slog.LevelDebug {
		return len(line), nil
	}
	if r.standard {
		if n, err := l.opt.Out.Write(line); err != nil {
			return n, err
		}
	}
	for _, w := range r.deepMind {
		if n, err := w.Write(line); err != nil {
			return n, err
		}
	}
	return len(line), nil
}

// Logger returns the logger of a name in logging.json, such as net_plugin_impl; one
// that is not there, or the empty name, is the default logger. It follows
// [Logs.Configure].
func (l *Logs) Logger(name string) *slog.Logger {
	h := &handler{logs: l, name: name}
	if l.opt.JSON {
		h.json = newJSON(&output{l, name}).WithAttrs([]slog.Attr{slog.String("logger", shownName(name))})
	}
	return slog.New(h)
}

// Certain returns the default logger, whose lines are also on Err where logging.json sends
// them to no stream of the process: for what must be seen, such as why the node ends.
func (l *Logs) Certain() *slog.Logger {
	h := l.Logger("").Handler().(*handler)
	h.certain = true
	if l.opt.JSON {
		h.forced = newJSON(&forcedOutput{l})
	}
	return slog.New(h)
}

// newJSON makes what writes objects.
func newJSON(to io.Writer) slog.Handler {
	return slog.NewJSONHandler(to, &slog.HandlerOptions{AddSource: true, Level: slog.LevelDebug - 100,
		ReplaceAttr: replace})
}

func shownName(name string) string {
	if name == "" {
		return defaultLogger
	}
	return name
}

// handler is one logger, with the attributes that it was given.
type handler struct {
	logs   *Logs
	name   string
	attrs  string // " key=value", ready to be written
	prefix string // of keys
	json   slog.Handler

	certain bool         // what no stream of the process gets goes to Err
	forced  slog.Handler // the objects of that; nil for columns
}

var _ slog.Handler = (*handler)(nil)

func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.certain || h.logs.rules.Load().route(h.name).takes(level)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	b := []byte(h.attrs)
	for _, a := range attrs {
		b = appendAttr(b, h.prefix, a)
	}
	n.attrs = string(b)
	if h.json != nil {
		n.json = h.json.WithAttrs(attrs)
	}
	if h.forced != nil {
		n.forced = h.forced.WithAttrs(attrs)
	}
	return &n
}

func (h *handler) WithGroup(name string) slog.Handler {
	n := *h
	if name != "" {
		n.prefix += name + "."
	}
	if h.json != nil {
		n.json = h.json.WithGroup(name)
	}
	if h.forced != nil {
		n.forced = h.forced.WithGroup(name)
	}
	return &n
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	route := h.logs.rules.Load().route(h.name)
	takes := route.takes(r.Level)
	if h.certain && !(takes && len(route.to) > 0) {
		defer h.force(ctx, r)
	}
	if !takes { // the caller has not asked Enabled, or says what is certain
		return nil
	}
	remote := route.gelfs
	if h.json != nil && len(remote) == 0 {
		return h.json.Handle(ctx, r)
	}
	b, columns := h.line(r)
	if len(remote) > 0 {
		e := &event{time: time.Now(), level: syslogLevel(r.Level), text: string(b[columns:]), logger: shownName(h.name),
			thread: h.thread(), callSite: callSiteOf(r.PC)}
		for _, g := range remote {
			g.log(e)
		}
	}
	if h.json != nil {
		return h.json.Handle(ctx, r)
	}
	return h.logs.write(h.name, levelName(r.Level), b)
}

// line is a record in columns, and how much of it stands before the message.
func (h *handler) line(r slog.Record) (b []byte, columns int) {
	b = h.appendColumns(make([]byte, 0, 256), r.Level, callSiteOf(r.PC))
	columns = len(b)
	b = append(b, r.Message...)
	b = append(b, h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.prefix, a)
		return true
	})
	return b, columns
}

// force writes a record to Err, whatever logging.json says.
func (h *handler) force(ctx context.Context, r slog.Record) {
	if h.forced != nil {
		h.forced.Handle(ctx, r) //nolint:errcheck // there is nobody else to tell
		return
	}
	b, _ := h.line(r)
	h.logs.mu.Lock()
	defer h.logs.mu.Unlock()
	h.logs.writeTo(h.logs.errors(), levelName(r.Level), b) //nolint:errcheck // there is nobody else to tell
}

// callSite is where something was said.
type callSite struct {
	file     string
	line     int
	function string
}

func callSiteOf(pc uintptr) callSite {
	if pc == 0 {
		return callSite{}
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return callSite{filepath.Base(f.File), f.Line, shortFunction(f.Function)}
}

// appendColumns appends all that stands before the message: level, time, thread,
// file and line, function.
func (h *handler) appendColumns(b []byte, level slog.Level, from callSite) []byte {
	b = appendFixed(b, 5, levelName(level))
	b = time.Now().UTC().AppendFormat(b, "2006-01-02T15:04:05.000 ")
	b = appendFixed(b, 9, h.thread())
	number := strconv.Itoa(from.line)
	b = appendFixed(b, 29, from.file[:min(len(from.file), 22)]+":"+number[:min(len(number), 6)])
	if from.function != "" {
		b = appendFixed(b, 20, from.function)
	}
	return append(b, "] "...)
}

// thread is the name of the threads that nodeos would have said it from, as far as
// a logger's name tells.
func (h *handler) thread() string {
	switch h.name {
	case "net_plugin_impl":
		return "net"
	case "http_plugin":
		return "http"
	case "state_history":
		return "SHiP"
	}
	return h.logs.opt.Thread
}

// appendFixed appends s cut or padded to a width, and a space.
func appendFixed(b []byte, width int, s string) []byte {
	b = append(b, s[:min(len(s), width)]...)
	for range width - len(s) {
		b = append(b, ' ')
	}
	return append(b, ' ')
}

// shortFunction is a function's name without its package and type; that of a
// function literal is its surrounding's.
func shortFunction(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	parts := strings.Split(name, ".")
	last := len(parts) - 1
	for last > 1 && (strings.HasPrefix(parts[last], "func") || parts[last] == "" || parts[last][0] <= '9') {
		last--
	}
	return strings.TrimSuffix(parts[last], "-fm")
}

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}

// syslogLevel is a level's number there.
func syslogLevel(l slog.Level) int {
	return map[string]int{"debug": 7, "info": 6, "warn": 4, "error": 3}[levelName(l)]
}

// appendAttr appends " key=value"; a group's attributes have its name before their
// keys.
func appendAttr(b []byte, prefix string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, x := range v.Group() {
			b = appendAttr(b, prefix, x)
		}
		return b
	}
	if a.Equal(slog.Attr{}) {
		return b
	}
	b = append(append(append(append(b, ' '), prefix...), a.Key...), '=')
	text := v.String()
	if v.Kind() == slog.KindTime {
		text = v.Time().UTC().Format("2006-01-02T15:04:05.000")
	}
	if text == "" || strings.ContainsAny(text, " \t\r\n\"=") {
		return strconv.AppendQuote(b, text)
	}
	return append(b, text...)
}

// replace gives the fields of objects the names and forms that the columns have.
func replace(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.LevelKey:
		if l, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("level", levelName(l))
		}
	case slog.TimeKey:
		if a.Value.Kind() == slog.KindTime {
			return slog.String("time", a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
		}
	case slog.SourceKey:
		if s, ok := a.Value.Any().(*slog.Source); ok {
			return slog.String("source", fmt.Sprintf("%s:%d", filepath.Base(s.File), s.Line))
		}
	}
	return a
}

// output is where objects are written.
type output struct {
	logs *Logs
	name string
}

func (o *output) Write(b []byte) (int, error) {
	o.logs.mu.Lock()
	defer o.logs.mu.Unlock()
	var err error
	for _, s := range o.logs.rules.Load().route(o.name).to {
		err = errors.Join(err, o.logs.put(s, b))
	}
	return len(b), err
}

// forcedOutput is Err, for objects.
type forcedOutput struct{ logs *Logs }

func (o *forcedOutput) Write(b []byte) (int, error) {
	o.logs.mu.Lock()
	defer o.logs.mu.Unlock()
	return len(b), o.logs.put(o.logs.errors(), b)
}

func (l *Logs) stream(s *sink) io.Writer {
	if s.out {
		return l.opt.Out
	}
	return l.opt.Err
}

// put writes a finished line to a stream. Where the standard output takes nothing, the
// standard error gets the reason, once, until it takes something again. The caller holds mu.
func (l *Logs) put(s *sink, line []byte) error {
	_, err := l.stream(s).Write(line)
	if !s.out {
		return err
	}
	if err != nil && !l.outFailed {
		//nolint:errcheck // there is nobody else to tell
		fmt.Fprintf(l.opt.Err, "the log cannot be written to standard output: %v\n", err)
	}
	l.outFailed = err != nil
	return err
}

// write writes one line of columns to all whom the logger serves.
func (l *Logs) write(name, level string, line []byte) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.rules.Load().route(name).to {
		err = errors.Join(err, l.writeTo(s, level, line))
	}
	return err
}

// writeTo writes one line of columns to a stream. The caller holds mu.
func (l *Logs) writeTo(s *sink, level string, line []byte) error {
	var b []byte
	color := s.out && l.opt.ColorOut || !s.out && l.opt.ColorErr
	if color {
		b = append(b, s.colors[level]...)
	}
	if l.opt.Journal {
		b = append(b, map[string]string{"error": "<3>", "warn": "<4>", "info": "<6>", "debug": "<7>"}[level]...)
	}
	b = append(b, line...)
	if color && s.colors[level] != "" {
		b = append(b, "\x1b[0m"...)
	}
	return l.put(s, append(b, '\n'))
}
