// Package grafana reads what deploy/ has for Prometheus and Grafana: which metrics the
// expressions of boards and alerts name. It is for tests that hold them against what a node
// tells. It does not evaluate expressions; promtool checks their form.
package grafana

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Board is a board of Grafana in its classic form, as far as tests look at it.
type Board struct {
	UID           string  `json:"uid"`
	Title         string  `json:"title"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []Panel `json:"panels"`
	Templating    struct {
		List []Variable `json:"list"`
	} `json:"templating"`
}

// Panel is a picture, or a row's title.
type Panel struct {
	ID         int        `json:"id"`
	Type       string     `json:"type"`
	Title      string     `json:"title"`
	Datasource Datasource `json:"datasource"`
	GridPos    struct{ H, W, X, Y int }
	Targets    []struct {
		Expr       string     `json:"expr"`
		Datasource Datasource `json:"datasource"`
	} `json:"targets"`
}

// Datasource is where numbers come from.
type Datasource struct{ Type, UID string }

// Variable is a choice that a viewer has.
type Variable struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Definition string `json:"definition"`
}

// Read reads a board.
func Read(path string) (*Board, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a board: %w", err)
	}
	b := new(Board)
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("read the board %s: %w", path, err)
	}
	return b, nil
}

// Metrics are the metrics that a board's expressions, and its choices, name.
func (b *Board) Metrics() []string {
	var all []string
	for _, p := range b.Panels {
		for _, t := range p.Targets {
			all = append(all, Metrics(t.Expr)...)
		}
	}
	for _, v := range b.Templating.List {
		if inside, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
			metric, _, _ := strings.Cut(inside, ",")
			all = append(all, metric)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var (
	group      = regexp.MustCompile(`^  - name: (\w+)$`)
	expression = regexp.MustCompile(`^        expr: (.+)$`)
)

// Alerts are the metrics that the alerts of a file name, by their groups. The file has each
// expression in one line.
func Alerts(path string) (map[string][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	all, in := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if m := group.FindStringSubmatch(line); m != nil {
			in = m[1]
		} else if m := expression.FindStringSubmatch(line); m != nil {
			all[in] = append(all[in], Metrics(m[1])...)
		}
	}
	return all, nil
}

var (
	literal  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	selector = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`)
	labels   = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	word     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
	number   = regexp.MustCompile(`\b[0-9][0-9.]*(?:e[+-]?[0-9]+|ms|[smhdwy])?\b`) // or a duration
)

// Metrics are the metrics that an expression names: its words that are no functions, labels,
// operators or numbers.
func Metrics(expr string) (names []string) {
	for _, drop := range []*regexp.Regexp{literal, selector, labels, number} {
		expr = drop.ReplaceAllString(expr, " ")
	}
	for _, w := range word.FindAllString(expr, -1) {
		name := strings.TrimSpace(w)
		if strings.HasSuffix(name, "(") ||
			slices.Contains([]string{"and", "or", "unless", "bool", "offset", "atan2"}, name) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// Family is the name under which a metric is told: that of its histogram if it is a part of
// one. told says whether there is one of a name, and of which type.
func Family(metric string, told func(name string) (kind string, ok bool)) (string, bool) {
	if _, ok := told(metric); ok {
		return metric, true
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(metric, part); ok {
			if kind, ok := told(base); ok && (kind == "HISTOGRAM" || kind == "SUMMARY") {
				return base, true
			}
		}
	}
	return "", false
}
