package logging

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"

	"tarn/antelope/variant"
)

const defaultLogger = "default"

// deepMindLogger is the logger whose appenders of type dmlog take the deep-mind log.
const deepMindLogger = "deep-mind"

// rules say where each logger's lines go.
type rules struct {
	routes map[string]*route
	gelfs  []*gelf
	files  []io.Closer
}

// route is one logger's.
type route struct {
	level    slog.Level
	to       []*sink
	gelfs    []*gelf
	deepMind []io.Writer // without the process's standard output
	standard bool        // the deep-mind log goes to standard output
}

// sink is a console appender.
type sink struct {
	out    bool              // stdout, not stderr
	colors map[string]string // by level
}

// close ends what the rules hold.
func (r *rules) close() {
	for _, g := range r.gelfs {
		g.close()
	}
	for _, f := range r.files {
		f.Close() //nolint:errcheck // every line was written for itself
	}
}

// route is a logger's own, or that of the default logger, or none at all.
func (r *rules) route(name string) *route {
	if x := r.routes[name]; x != nil && name != "" {
		return x
	}
	if x := r.routes[defaultLogger]; x != nil {
		return x
	}
	return &route{}
}

// takes tells whether a line of a level goes anywhere.
func (r *route) takes(level slog.Level) bool {
	return level >= r.level && len(r.to)+len(r.gelfs) > 0
}

// errors is the standard error of the process.
func (l *Logs) errors() *sink {
	return &sink{colors: map[string]string{"debug": color("green"), "warn": color("brown"), "error": color("red")}}
}

// normal is what holds without a logging.json.
func (l *Logs) normal() *rules {
	return &rules{routes: map[string]*route{defaultLogger: {level: slog.LevelInfo, to: []*sink{l.errors()}}}}
}

// The form of logging.json. Other members mean nothing, there as here.
type (
	document struct {
		Appenders []appender `json:"appenders"`
		Loggers   []logger   `json:"loggers"`
	}
	appender struct {
		Name string          `json:"name"`
		Type string          `json:"type"`
		Args json.RawMessage `json:"args"`
	}
	consoleArgs struct {
		Stream string `json:"stream"`
		Colors []struct {
			Level string `json:"level"`
			Color string `json:"color"`
		} `json:"level_colors"`
	}
	logger struct {
		Name      string   `json:"name"`
		Level     *string  `json:"level"`
		Appenders []string `json:"appenders"`
	}
)

// appenders are what a document says, as far as it has been read: by their names,
// what makes them part of a route.
type appenders struct {
	rules   rules
	notices []string
	add     map[string]func(*route)
	left    map[string]bool // those that are named, but have no effect: a notice says why
}

// whole are nodeos' loggers of whole transactions and traces.
var whole = []string{"transaction", "transaction_trace_success", "transaction_trace_failure"}

// Configure makes a logging.json hold from now on, and returns what of it has no
// effect; no text is what holds without one. After an error nothing has changed.
func (l *Logs) Configure(text []byte) (notices []string, err error) {
	if text == nil {
		l.replace(l.normal())
		return nil, nil
	}
	var d document
	if err := variant.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("logging configuration: %w", err)
	}
	a := &appenders{add: map[string]func(*route){}, left: map[string]bool{}}
	if err := l.configure(&d, a); err != nil {
		a.rules.close()
		return nil, fmt.Errorf("logging configuration: %w", err)
	}
	l.replace(&a.rules)
	return a.notices, nil
}

// replace makes rules hold, and ends the old ones.
func (l *Logs) replace(r *rules) {
	l.mu.Lock()
	old := l.rules.Swap(r)
	l.mu.Unlock()
	if old != nil {
		old.close()
	}
}

func (l *Logs) configure(d *document, a *appenders) error {
	for i := range d.Appenders {
		if err := l.addAppender(&d.Appenders[i], a); err != nil {
			return fmt.Errorf("appender %s: %w", d.Appenders[i].Name, err)
		}
	}
	a.rules.routes = map[string]*route{}
	for _, g := range d.Loggers {
		if slices.Contains(whole, g.Name) {
			a.notices = append(a.notices, fmt.Sprintf("logger %s: whole transactions and traces are not logged here; "+
				"transaction_success_tracing and transaction_failure_tracing have a line for each", g.Name))
		}
		x := &route{level: slog.LevelWarn}
		if g.Level != nil {
			var err error
			if x.level, err = parseLevel(*g.Level); err != nil {
				return fmt.Errorf("logger %s: %w", g.Name, err)
			}
		}
		for _, name := range g.Appenders {
			if add := a.add[name]; add != nil {
				add(x)
			} else if !a.left[name] {
				a.notices = append(a.notices, fmt.Sprintf("logger %s: there is no appender %s", g.Name, name))
			}
		}
		a.rules.routes[g.Name] = x
	}
	if x := a.rules.route(""); len(x.to)+len(x.gelfs) == 0 {
		a.notices = append(a.notices,
			"no appender takes the lines of the logger default: nothing is logged but by loggers of their own")
	}
	return nil
}

func (l *Logs) addAppender(from *appender, a *appenders) error {
	switch from.Type {
	case "console":
		s, err := parseConsole(from.Args)
		if err != nil {
			return err
		}
		a.add[from.Name] = func(r *route) { r.to = append(r.to, s) }
	case "gelf":
		return l.addGelf(from, a)
	case "dmlog":
		return addDeepMind(from, a)
	default:
		a.left[from.Name] = true
		a.notices = append(a.notices,
			fmt.Sprintf("appender %s: there is no type %s: its lines go to the other appenders only",
				from.Name, from.Type))
	}
	return nil
}

func parseConsole(args json.RawMessage) (*sink, error) {
	var from consoleArgs
	if len(args) > 0 {
		if err := json.Unmarshal(args, &from); err != nil {
			return nil, err
		}
	}
	s := &sink{colors: map[string]string{}}
	switch from.Stream {
	case "std_out":
		s.out = true
	case "std_error", "":
	default:
		return nil, fmt.Errorf("stream %s is neither std_out nor std_error", from.Stream)
	}
	for _, c := range from.Colors {
		s.colors[c.Level] = color(c.Color)
	}
	return s, nil
}

// addGelf adds an appender that sends to a server. One that cannot be reached is left
// out, as by nodeos.
func (l *Logs) addGelf(from *appender, a *appenders) error {
	g, endpoint, err := parseGelf(from.Args)
	if err != nil {
		return err
	}
	a.left[from.Name] = true
	if endpoint == "" {
		a.notices = append(a.notices, fmt.Sprintf("appender %s: The logging destination is not specified", from.Name))
		return nil
	}
	if err := g.start(endpoint, &l.sent); err != nil {
		a.notices = append(a.notices, fmt.Sprintf("appender %s: error opening GELF socket to endpoint %s: %v",
			from.Name, endpoint, err))
		return nil
	}
	a.rules.gelfs = append(a.rules.gelfs, g)
	a.add[from.Name] = func(r *route) { r.gelfs = append(r.gelfs, g) }
	return nil
}

// addDeepMind adds an appender that takes the deep-mind log.
func addDeepMind(from *appender, a *appenders) error {
	args := struct {
		File string `json:"file"`
	}{"-"}
	if len(from.Args) > 0 {
		if err := json.Unmarshal(from.Args, &args); err != nil {
			return err
		}
	}
	if args.File == "-" {
		a.add[from.Name] = func(r *route) { r.standard = true }
		return nil
	}
	f, err := os.OpenFile(args.File, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("Failed to open deep mind log file %s: %w", args.File, err)
	}
	a.rules.files = append(a.rules.files, f)
	a.add[from.Name] = func(r *route) { r.deepMind = append(r.deepMind, f) }
	return nil
}

func parseLevel(s string) (slog.Level, error) {
	switch s {
	case "all":
		return math.MinInt, nil
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	case "off":
		return math.MaxInt, nil
	}
	return 0, fmt.Errorf("expected 'all|debug|info|warn|error|off', but got '%s'", s)
}

// color is the sequence of a terminal's colour, none for one that is not known.
func color(name string) string {
	n, ok := map[string]int{"red": 31, "green": 32, "brown": 33, "blue": 34, "magenta": 35, "cyan": 36,
		"white": 37}[name]
	if !ok {
		return ""
	}
	return fmt.Sprintf("\x1b[%dm", n)
}
