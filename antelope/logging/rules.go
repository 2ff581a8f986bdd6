package logging

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
)

const defaultLogger = "default"

// rules say where each logger's lines go.
type rules struct {
	routes map[string]*route
}

// route is one logger's.
type route struct {
	level slog.Level
	to    []*sink
}

// sink is a console appender.
type sink struct {
	out    bool              // stdout, not stderr
	colors map[string]string // by level
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

// normal is what holds without a logging.json.
func (l *Logs) normal() *rules {
	err := &sink{colors: map[string]string{"debug": color("green"), "warn": color("brown"), "error": color("red")}}
	return &rules{routes: map[string]*route{defaultLogger: {level: slog.LevelInfo, to: []*sink{err}}}}
}

// The form of logging.json. Other members mean nothing, there as here.
type (
	document struct {
		Appenders []appender `json:"appenders"`
		Loggers   []logger   `json:"loggers"`
	}
	appender struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Args struct {
			Stream string `json:"stream"`
			Colors []struct {
				Level string `json:"level"`
				Color string `json:"color"`
			} `json:"level_colors"`
		} `json:"args"`
	}
	logger struct {
		Name      string   `json:"name"`
		Level     *string  `json:"level"`
		Appenders []string `json:"appenders"`
	}
)

// Configure makes a logging.json hold from now on, and returns what of it has no
// effect; no text is what holds without one. After an error nothing has changed.
func (l *Logs) Configure(text []byte) (notices []string, err error) {
	if text == nil {
		l.rules.Store(l.normal())
		return nil, nil
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("logging configuration: %w", err)
	}
	sinks := map[string]*sink{}
	for _, a := range d.Appenders {
		if a.Type != "console" {
			if a.Type != "dmlog" {
				notices = append(notices, fmt.Sprintf("appender %s of type %s is not served: its lines go to the console appenders only", a.Name, a.Type))
			}
			continue
		}
		s := &sink{colors: map[string]string{}}
		switch a.Args.Stream {
		case "std_out":
			s.out = true
		case "std_error", "":
		default:
			return nil, fmt.Errorf("logging configuration: appender %s: stream %s is neither std_out nor std_error", a.Name, a.Args.Stream)
		}
		for _, c := range a.Args.Colors {
			s.colors[c.Level] = color(c.Color)
		}
		sinks[a.Name] = s
	}
	r := &rules{routes: map[string]*route{}}
	for _, g := range d.Loggers {
		x := &route{level: slog.LevelWarn}
		if g.Level != nil {
			if x.level, err = parseLevel(*g.Level); err != nil {
				return nil, fmt.Errorf("logging configuration: logger %s: %w", g.Name, err)
			}
		}
		for _, name := range g.Appenders {
			if s := sinks[name]; s != nil {
				x.to = append(x.to, s)
			}
		}
		r.routes[g.Name] = x
	}
	l.rules.Store(r)
	return notices, nil
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
	n, ok := map[string]int{"red": 31, "green": 32, "brown": 33, "blue": 34, "magenta": 35, "cyan": 36, "white": 37}[name]
	if !ok {
		return ""
	}
	return fmt.Sprintf("\x1b[%dm", n)
}
