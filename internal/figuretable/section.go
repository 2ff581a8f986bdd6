package figuretable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Choose checks the names of a report's sections against all that there are, each
// with a line of what it is; no names are all of them.
func Choose(sections [][2]string, names []string) ([]string, error) {
	var all []string
	for _, s := range sections {
		all = append(all, s[0])
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, fmt.Errorf("no section is called %q; there are %s", n, strings.Join(all, ", "))
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return names, nil
}

// Help is a line for each section, for the help of a command.
func Help(sections [][2]string) string {
	longest := 0
	for _, s := range sections {
		longest = max(longest, len(s[0]))
	}
	var b strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&b, "  %-*s %s\n", longest+1, s[0], s[1])
	}
	return b.String()
}

// Watch begins to watch some processors. What it returns tells which share of them was busy
// since then with what is neither this process nor its children.
func Watch(processors int) (others func() float64) {
	start := time.Now()
	busy, own := processorTime()
	return func() float64 {
		busyAfter, ownAfter := processorTime()
		return max((busyAfter-busy)-(ownAfter-own), 0) / time.Since(start).Seconds() / float64(max(processors, 1))
	}
}

// WriteSection writes for people what a section of a report has come to. Of one that took
// less than a second, nobody is told how long it took.
func WriteSection(w io.Writer, name string, took time.Duration, others float64, tables []Table, targets Targets) error {
	for _, t := range tables {
		if err := t.Write(w); err != nil {
			return err
		}
	}
	if took > time.Second {
		if _, err := fmt.Fprintf(w, "Section `%s` took %s; others used %s of the processors meanwhile.\n\n",
			name, took.Round(time.Second), Percent(others)); err != nil {
			return err
		}
	}
	return targets.Write(w)
}

// Publish writes a report for people, and to a file as JSON if one is named.
func Publish(report interface{ WriteMarkdown(io.Writer) error }, out io.Writer, file string) error {
	err := report.WriteMarkdown(out)
	if file != "" {
		text, jsonErr := json.MarshalIndent(report, "", "\t")
		err = errors.Join(err, jsonErr, os.WriteFile(file, append(text, '\n'), 0o644))
	}
	return err
}
