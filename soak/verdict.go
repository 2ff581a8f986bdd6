package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// outcome is how a turn ended.
type outcome string

const (
	passed   outcome = "passed"
	skipped  outcome = "skipped" // nothing was tried
	failed   outcome = "failed"
	panicked outcome = "panic"
	racy     outcome = "data race"
	hung     outcome = "hang"
	killed   outcome = "killed by a signal"
	unbuilt  outcome = "not built"
	stopped  outcome = "stopped" // by who called soak
)

// bad tells whether an outcome is a finding.
func (o outcome) bad() bool { return o != passed && o != skipped && o != stopped }

// verdict is what is remembered of a turn's end.
type verdict struct {
	Outcome outcome           `json:"outcome,omitempty"`
	Count   int               `json:"count,omitempty"`
	Failed  []string          `json:"failed,omitempty"`  // tests, with the parts of them
	Skipped map[string]string `json:"skipped,omitempty"` // likewise, and why
	Text    string            `json:"text,omitempty"`    // what is wrong, in short
}

// reading makes a verdict of what a test program says, line by line. It keeps the first and
// the last of the text, bounded whatever the program says.
type reading struct {
	count   *regexp.Regexp
	last    bool // the last count stands for all
	verdict verdict
	tests   map[string]bool   // that came to an end, and whether others are parts of them
	running string            // whose text it is
	said    map[string]string // last, by tests that run
	none    bool
	rest    []byte // of a line
	first   []string
	latest  []string
	bytes   int // of both
}

const (
	mostKept = 4 << 20 // bytes of text, of the first and of the last each
	mostLine = 64 << 10
	mostText = 40 // lines of a finding on the page
)

var (
	ending  = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(`)
	running = regexp.MustCompile(`^=== (?:RUN|CONT|NAME) +(\S+)`)
)

// Write takes more of the text.
func (r *reading) Write(b []byte) (int, error) {
	for _, c := range b {
		if c != '\n' && len(r.rest) < mostLine {
			r.rest = append(r.rest, c)
			continue
		}
		r.line(string(r.rest))
		r.rest = r.rest[:0]
	}
	return len(b), nil
}

// line reads one.
func (r *reading) line(s string) {
	r.keep(s)
	if r.count != nil {
		for _, m := range r.count.FindAllStringSubmatch(s, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				continue // more than any turn has
			}
			if r.last {
				r.verdict.Count = n
			} else {
				r.verdict.Count += n
			}
		}
	}
	v := &r.verdict
	switch m := ending.FindStringSubmatch(s); {
	case m != nil:
		r.noteEnd(m[2], m[1])
	case running.MatchString(s):
		r.running = running.FindStringSubmatch(s)[1]
	case strings.HasPrefix(s, "testing: warning: no tests to run"),
		strings.HasPrefix(s, "testing: warning: no fuzz tests to fuzz"):
		r.none = true
	case strings.HasPrefix(s, "panic: test timed out after "):
		v.Outcome = hung
	case strings.HasPrefix(s, "panic: "), strings.HasPrefix(s, "fatal error: "):
		r.worse(panicked)
	case strings.HasPrefix(s, "WARNING: DATA RACE"):
		r.worse(racy)
	}
	if strings.Contains(s, ".go:") {
		if r.said == nil {
			r.said = map[string]string{}
		}
		r.said[r.running] = s
	}
}

// noteEnd notes how a test ended.
func (r *reading) noteEnd(name, how string) {
	if r.tests == nil {
		r.tests = map[string]bool{}
	}
	if _, known := r.tests[name]; !known { // its parts may have ended before
		r.tests[name] = false
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		r.tests[name[:i]] = true
	}
	switch v := &r.verdict; how {
	case "FAIL":
		v.Failed = append(v.Failed, name)
	case "SKIP":
		if v.Skipped == nil {
			v.Skipped = map[string]string{}
		}
		v.Skipped[name] = reason(r.said[name])
	}
	delete(r.said, name)
}

// triedCount is how many tests without parts were not skipped.
func (r *reading) triedCount() (n int) {
	for name, parts := range r.tests {
		if _, skipped := r.verdict.Skipped[name]; !skipped && !parts {
			n++
		}
	}
	return n
}

// worse is the first thing of a program that was worse than a failed test.
func (r *reading) worse(o outcome) {
	if r.verdict.Outcome == "" {
		r.verdict.Outcome = o
	}
}

// reason is why a test was skipped: what it logged, without its place.
func reason(line string) string {
	line = strings.TrimSpace(line)
	if _, after, ok := strings.Cut(line, ".go:"); ok {
		if _, text, ok := strings.Cut(after, ": "); ok {
			return text
		}
	}
	return line
}

// keep holds on to the first and the last lines.
func (r *reading) keep(s string) {
	if r.bytes < mostKept {
		r.first, r.bytes = append(r.first, s), r.bytes+len(s)+1
		return
	}
	r.latest, r.bytes = append(r.latest, s), r.bytes+len(s)+1
	for r.bytes > 2*mostKept {
		r.bytes -= len(r.latest[0]) + 1
		r.latest = r.latest[1:]
	}
}

// text is what was kept.
func (r *reading) text() string {
	if len(r.rest) > 0 {
		r.line(string(r.rest))
		r.rest = nil
	}
	parts := []string{strings.Join(r.first, "\n")}
	if len(r.latest) > 0 {
		parts = append(parts, "[what was said here is left out]", strings.Join(r.latest, "\n"))
	}
	return strings.Join(parts, "\n") + "\n"
}

// end is the verdict over a program that has ended: well if err is nil.
func (r *reading) end(a *adversary, t turn, err error) verdict {
	text := r.text()
	v := r.verdict
	if a.Whole {
		v.Count = r.triedCount()
	}
	if err == nil {
		v.Outcome = passed
		v.settle(r, a, t)
		return v
	}
	switch {
	case v.Outcome != "":
	case bySignal(err):
		v.Outcome, v.Text = killed, err.Error()
	default:
		v.Outcome = failed
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) { // it was not the program that said so
			v.Text = err.Error()
		}
	}
	slices.Sort(v.Failed)
	v.Text = strings.TrimLeft(v.Text+"\n"+excerpt(text), "\n")
	return v
}

// settle counts what a turn without a fault did, if it did anything.
func (v *verdict) settle(r *reading, a *adversary, t turn) {
	switch {
	case r.none:
		v.Outcome, v.Text = failed, fmt.Sprintf("no test of %s is called %s%s", a.Package, a.Run, a.Fuzz)
	case a.Fuzz == "" && len(r.tests) > 0 && r.triedCount() == 0:
		v.Outcome, v.Count = skipped, 0
		for _, why := range v.Skipped {
			if v.Text == "" || why < v.Text {
				v.Text = why
			}
		}
	case a.Count == nil && !a.Whole:
		v.Count = t.N
	}
}

// excerpt is what a text says is wrong: from the first line that says so, without the frame
// of the tests that pass.
func excerpt(text string) string {
	lines := strings.Split(text, "\n")
	from := slices.IndexFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, "panic: ") || strings.HasPrefix(s, "fatal error: ") ||
			strings.HasPrefix(s, "WARNING: DATA RACE")
	})
	if from < 0 {
		from = blamedLine(lines)
	}
	var kept []string
	for _, s := range lines[max(from, 0):] {
		trimmed := strings.TrimSpace(s)
		if trimmed == "" || strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- PASS") ||
			strings.HasPrefix(trimmed, "--- SKIP") {
			continue
		}
		if len(kept) == mostText {
			kept = append(kept, "...")
			break
		}
		if len(s) > 600 {
			s = s[:600] + "..."
		}
		kept = append(kept, s)
	}
	return strings.Join(kept, "\n")
}

// blamedLine is the line from which on the first test that failed says why: after its beginning,
// or after that of any other that ran when it failed.
func blamedLine(lines []string) int {
	end := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), "--- FAIL") })
	for i := end - 1; i >= 0; i-- {
		s := strings.TrimSpace(lines[i])
		if strings.HasPrefix(s, "=== ") || strings.HasPrefix(s, "--- ") {
			return i + 1
		}
	}
	return 0
}
