// Command testsummary adds up the results of test runs. It reads the events of
// `go test -json` from standard input, passes on what a person wants to see, and
// appends the counts to a file; with -sum it adds the file up and ends with one
// line of totals. It owns no test and runs none.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// result is one run's line in the results file.
type result struct {
	Step    string `json:"step"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped []skip `json:"skipped"`
}

// skip is a test that did not run, and why.
type skip struct {
	Test   string `json:"test"`
	Reason string `json:"reason"`
}

// event is a line of `go test -json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build's output
	Test        string
	Output      string
	FailedBuild string
}

func main() {
	step := flag.String("step", "tests", "name of the run")
	results := flag.String("results", "", "file with a line of counts for each run")
	sum := flag.Bool("sum", false, "add the results file up")
	flag.Parse()
	ok, err := false, errors.New("-results is missing")
	if *results != "" {
		if *sum {
			ok, err = total(*results, os.Stdout)
		} else {
			ok, err = count(*step, *results, os.Stdin, os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// count reads events until the end and appends a line to the results file. It
// reports whether nothing failed.
func count(step, results string, in io.Reader, out io.Writer) (bool, error) {
	c := &counter{out: out, result: result{Step: step}, output: map[string][]string{}, failed: map[string]bool{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			c.line(line)
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return false, fmt.Errorf("read events: %w", err)
		}
	}
	f, err := os.OpenFile(results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return false, err
	}
	return c.Failed == 0, errors.Join(json.NewEncoder(f).Encode(c.result), f.Close())
}

type counter struct {
	result
	out    io.Writer
	output map[string][]string // of what has not ended, by package and test
	failed map[string]bool     // packages with a failed test
}

func (c *counter) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprint(c.out, line) // not an event: somebody wrote to the stream
		return
	}
	id := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		c.output[id] = append(c.output[id], e.Output)
		return
	case "build-output":
		fmt.Fprint(c.out, e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	if e.Test == "" {
		c.packageEnd(e, c.output[id])
	} else {
		c.testEnd(e, c.output[id])
	}
	delete(c.output, id)
}

func (c *counter) testEnd(e event, output []string) {
	switch e.Action {
	case "pass":
		c.Passed++
	case "fail":
		c.Failed++
		c.failed[e.Package] = true
		c.print(output)
	case "skip":
		c.Skipped = append(c.Skipped, skip{Test: e.Package + "." + e.Test, Reason: reason(output)})
	}
}

// packageEnd prints a package's last line, or, if it failed by itself, all of
// its output.
func (c *counter) packageEnd(e event, output []string) {
	switch {
	case e.Action == "fail":
		if !c.failed[e.Package] {
			c.Failed++ // did not build, panicked, or ran out of time
		}
		c.print(output)
	case e.Action == "skip": // no test files
	case len(output) > 0:
		fmt.Fprint(c.out, output[len(output)-1])
	}
}

// print shows output without the lines that only say which test is running.
func (c *counter) print(lines []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(c.out, line)
		}
	}
}

// reason is what a skipped test said, without the place where it said it.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		if _, text, found := strings.Cut(line, ".go:"); found {
			if _, after, found := strings.Cut(text, ": "); found {
				line = after
			}
		}
		said = append(said, line)
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

// total prints every skip with its reason and the sums, and reports whether
// something ran and nothing failed.
func total(results string, out io.Writer) (bool, error) {
	f, err := os.Open(results)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var passed, failed, skipped int
	for dec := json.NewDecoder(f); ; {
		var r result
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return false, fmt.Errorf("%s: %w", results, err)
		}
		passed, failed, skipped = passed+r.Passed, failed+r.Failed, skipped+len(r.Skipped)
		for _, s := range r.Skipped {
			fmt.Fprintf(out, "skipped in %q: %s: %s\n", r.Step, s.Test, s.Reason)
		}
		if r.Failed > 0 {
			fmt.Fprintf(out, "failed in %q: %d\n", r.Step, r.Failed)
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0 && passed > 0, nil
}
