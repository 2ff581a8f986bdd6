package figuretable

import (
	"fmt"
	"io"
	"strings"
)

// Targets are those of a section of a report.
type Targets []Target

// Target is a figure that was set beforehand.
type Target struct {
	What     string
	Measured float64
	Limit    float64
	AtLeast  bool // else at most
	Unit     string
}

// Met tells whether the figure was reached.
func (t Target) Met() bool {
	if t.AtLeast {
		return t.Measured >= t.Limit
	}
	return t.Measured <= t.Limit
}

// AtMost adds a target that was to be at most limit.
func (s *Targets) AtMost(what string, measured, limit float64, unit string) {
	*s = append(*s, Target{What: what, Measured: measured, Limit: limit, Unit: unit})
}

// AtLeast adds a target that was to be at least limit.
func (s *Targets) AtLeast(what string, measured, limit float64, unit string) {
	*s = append(*s, Target{What: what, Measured: measured, Limit: limit, AtLeast: true, Unit: unit})
}

// Write writes a table of targets, if there are any.
func (s Targets) Write(w io.Writer) error {
	if len(s) == 0 {
		return nil
	}
	t := Table{Head: []string{"target", "asked", "measured", "reached"}}
	for _, g := range s {
		sign, reached := "≤ ", "yes"
		if g.AtLeast {
			sign = "≥ "
		}
		if !g.Met() {
			reached = fmt.Sprintf("no: %s times", Significant(g.Measured/g.Limit))
		}
		t.Add(g.What, strings.TrimSpace(sign+Significant(g.Limit)+" "+g.Unit),
			strings.TrimSpace(Significant(g.Measured)+" "+g.Unit), reached)
	}
	return t.Write(w)
}
