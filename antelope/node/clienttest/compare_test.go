package clienttest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any // object, []any, string, json.Number, bool or nil
}

func (o object) names() (list []string) {
	for _, m := range o {
		list = append(list, m.name)
	}
	return list
}

// parse reads a JSON text whose numbers stay as they are written.
func parse(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := value(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something after the value: %w", err)
	}
	return v, nil
}

func value(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{name.(string), v})
		}
		_, err := d.Token()
		return o, err
	}
	return t, nil
}

// mask is a member whose value may differ, not its kind and form.
type mask struct {
	path   *regexp.Regexp
	reason string
}

// ends matches paths that end with members that the pattern matches.
func ends(pattern string) *regexp.Regexp { return regexp.MustCompile(`(^|\.)` + pattern + `$`) }

// masks are what must differ between two chains that were made one after the other.
var masks = []mask{
	{ends(
		`(timestamp|time|head_block_time|last_irreversible_block_time|block_time|last_block_time_cpu|expiration|` +
			`created|last_code_update|last_usage_update_time|published|delay_until|last_claim_time|last_updated)`),
		"the chains are made at different times"},
	{ends(
		`(id|block_id|previous|head_block_id|last_irreversible_block_id|fork_db_head_block_id|producer_block_id|` +
			`earliest_tracked_block_id|irreversible_id|block_num_or_id)`), "ids of blocks and transactions hash times"},
	{ends(`(trx_id|transaction_id|sender_id|transaction_mroot|action_mroot|blockroot_merkle\..*)`), "they hash ids and times"},
	{ends(`(packed_trx|raw_ref_block|ref_block_num|ref_block_prefix|prefix)`), "a transaction names a block and a time"},
	{ends(`(signature|signatures\[\d+\]|producer_signature)`), "what is signed differs, and nonces do"},
	{ends(
		`(block_num|activation_block_num|head_block_num|last_irreversible_block_num|fork_db_head_block_num|` +
			`producer_block_num|earliest_tracked_block_num|irreversible_number|dpos_\w+_blocknum|` +
			`confirm_count\[\d+\])`), "steps may take one block more or less"},
	{ends(`(global_sequence)`), "it counts actions of blocks too"},
	{ends(`(elapsed|cpu_usage_us|total_cpu_usage_us|net_usage_us)`), "time that execution took"},
	{ends(`(cpu_limit|net_limit|subjective_cpu_bill_limit)\.\w+`), "limits stretch and usage decays with the blocks"},
	{ends(`virtual_block_(cpu|net)_limit`), "limits stretch with the blocks"},
	{ends(`server_\w*version\w*`), "the programs' own"},
	{ends(`block_(cpu|net)_limit`), "4.1 shows the block that it is making"},
	{ends(`producer_to_last_\w+\[\d+\]\[1\]`), "steps may take one block more or less"},
}

// without are members whose form differs too: places in nodeos' source.
var without = regexp.MustCompile(`(^|\.)(details\[\d+\]\.(file|line_number|method)|stack\[\d+\]\.context\.\w+)$`)

// parsing begins the details, with verbose-http-errors, of bodies that do not parse. Of
// what parsers in nodeos say on their way out we have the first.
var parsing = regexp.MustCompile(`"message":"(Unable to parse valid input from POST body|Invalid packed transaction)"`)

// memoOf is what an entry of an exception's stack says. Ours has said it already, where
// nodeos shows what it is made of.
func memoOf(entry object) string {
	format, _ := entry[1].value.(string)
	data, _ := entry[2].value.(object)
	for _, m := range data {
		with := text(m.value)
		if s, ok := m.value.(string); ok {
			with = s
		}
		format = strings.ReplaceAll(format, "${"+m.name+"}", with)
	}
	return steady(format)
}

// counted tells whether a member hangs on the number of blocks: of a receipt, what
// counts what eosio does, as it does something in every block. The value then only has
// to be there.
func counted(receipt object, i int) bool {
	switch receipt[i].name {
	case "recv_sequence":
		return slices.Contains(receipt, member{"receiver", "eosio"})
	case "_active_nodes": // as many as the block's number has bits set
		return true
	case "auth_sequence":
		return strings.HasPrefix(text(receipt[i].value), `[["eosio",`)
	}
	return false
}

// changing are pieces of texts that differ for the masks' reasons.
var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?`), "TIME"},
	{regexp.MustCompile(`\b\d+ ?us\b`), "N us"},
	{regexp.MustCompile(`\S+ <= \S+::\S+ (pending console output: )`), "$1"}, // 4.1 does not say whose
	{regexp.MustCompile(`^([A-Za-z0-9+/]{16,})=+$`), "$1"},                   // 4.1 ends base64 otherwise
}

// steady is a text without what changes from run to run.
func steady(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.with)
	}
	return text
}

var anyNumber = regexp.MustCompile(`\d+`)
var anyHex = regexp.MustCompile(`^[0-9a-f]{16,}$`)
var anySignature = regexp.MustCompile(`^SIG_K1_\w{94}$`)
var anyVersion = regexp.MustCompile(`^([0-9a-f]{8}|v\d+\.\d+\.\d+.*)$`)
var anyTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}Z?)?$`)

// form is what two values that may differ have in common.
func form(v any) string {
	switch v := v.(type) {
	case json.Number:
		return "number"
	case string:
		switch {
		case anyVersion.MatchString(v):
			return "version"
		case anyTime.MatchString(v):
			return "time" + anyNumber.ReplaceAllString(v, "N")
		case anyHex.MatchString(v):
			if len(v) == 64 {
				return "id"
			}
			return "hex"
		case anySignature.MatchString(v):
			return "signature"
		}
		return "text " + anyNumber.ReplaceAllString(steady(v), "N")
	}
	return fmt.Sprintf("%T", v)
}

// maskOf returns the reason why a member may differ, "" for none.
func maskOf(path string) string {
	for _, m := range masks {
		if m.path.MatchString(path) {
			return m.reason
		}
	}
	return ""
}

// differences lists where got differs from want.
func differences(path string, got, want any) (list []string) {
	say := func() []string {
		return []string{fmt.Sprintf("%s: %.300s, nodeos has %.300s", path, text(got), text(want))}
	}
	switch w := want.(type) {
	case object:
		g, ok := got.(object)
		if !ok {
			return say()
		}
		if !slices.Equal(g.names(), w.names()) {
			return []string{fmt.Sprintf("%s: members %v, nodeos has %v", path, g.names(), w.names())}
		}
		if slices.Equal(w.names(), []string{"context", "format", "data"}) {
			if a, b := memoOf(g), memoOf(w); a != b {
				return []string{fmt.Sprintf("%s: %q, nodeos says %q", path, a, b)}
			}
			return nil
		}
		for i := range w {
			if !counted(w, i) {
				list = append(list, differences(path+"."+w[i].name, g[i].value, w[i].value)...)
			}
		}
		return list
	case []any:
		g, ok := got.([]any)
		if strings.HasSuffix(path, ".details") && len(g) > 0 && len(g) < len(w) && parsing.MatchString(text(w[0])) {
			w = w[:len(g)]
		}
		if !ok || len(g) != len(w) {
			return say()
		}
		for i := range w {
			list = append(list, differences(fmt.Sprintf("%s[%d]", path, i), g[i], w[i])...)
		}
		return list
	}
	if without.MatchString(path) {
		return nil
	}
	if reason := maskOf(path); reason != "" {
		if form(got) != form(want) {
			return []string{say()[0] + " (" + reason + ", but not its form)"}
		}
		return nil
	}
	if g, ok := got.(string); ok {
		if w, ok := want.(string); ok && steady(g) == steady(w) {
			return nil
		}
		return say()
	}
	switch got.(type) {
	case object, []any:
		return say()
	}
	if got != want {
		return say()
	}
	return nil
}

// text is a value as JSON.
func text(v any) string {
	switch v := v.(type) {
	case object:
		var b bytes.Buffer
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%q:%s", m.name, text(m.value))
		}
		return "{" + b.String() + "}"
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, text(x))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	b, _ := json.Marshal(v) // a string, number, bool or nil
	return string(b)
}

// compareTexts compares two texts as JSON, if they are, else as they are.
func compareTexts(got, want string) []string {
	g, errG := parse(got)
	w, errW := parse(want)
	if errG == nil && errW == nil {
		return differences("", g, w)
	}
	if steady(got) != steady(want) {
		return []string{fmt.Sprintf("%.600s\nnodeos has %.600s", got, want)}
	}
	return nil
}

// headersOf are those that say something of the answer but its length, time, and the program.
func headersOf(h http.Header) string {
	var list []string
	for name, values := range h {
		if name != "Date" && name != "Content-Length" && name != "Server" {
			list = append(list, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// compressed are the sizes of transactions that clients compress: ids and times do not
// compress equally.
var compressed = regexp.MustCompile(`\.net_usage(_words)?: \d+, nodeos has \d+$`)

var zlib = regexp.MustCompile(`"compression":(1|"zlib")`)

// newer are steps that 5.0.3 answers otherwise than 4.1.
var newer = map[string]string{
	"read-only":         "a producer of 5.0.3 has no threads for read-only transactions, and takes none",
	"compute a failure": "5.0.3 answers with the trace of the failure",
}

// compareCalls compares what a client and two nodes said to each other.
func compareCalls(t *testing.T, got, want []exchange) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i].step != want[i].step || got[i].call != want[i].call {
			at := func(list []exchange) string {
				if i < len(list) {
					return list[i].String()
				}
				return "nothing"
			}
			t.Errorf("call %d is %s\nof nodeos: %s", i, at(got), at(want))
			return
		}
		g, w := got[i], want[i]
		if newer[g.step] != "" && g.status != w.status {
			continue
		}
		list := slices.DeleteFunc(compareTexts(g.body, w.body), func(d string) bool {
			return zlib.MatchString(g.request) && compressed.MatchString(d)
		})
		if g.status != w.status {
			list = append(list, fmt.Sprintf("status %d, nodeos has %d", g.status, w.status))
		}
		if a, b := headersOf(g.headers), headersOf(w.headers); a != b {
			list = append(list, fmt.Sprintf("headers %q, nodeos has %q", a, b))
		}
		for _, d := range list {
			t.Errorf("%s\n%s", g, d)
		}
	}
}

// compareWords compares lines that a client said: {"step":NAME, ...}.
func compareWords(t *testing.T, got, want string) {
	t.Helper()
	if v, err := parse(want); err == nil {
		if step, _ := v.(object)[0].value.(string); newer[step] != "" {
			return
		}
	}
	for _, d := range compareTexts(got, want) {
		if !compressed.MatchString(d) { // was compared with the calls
			t.Errorf("the client says %.300s\n%s", got, d)
		}
	}
}

func TestDifferencesAreFound(t *testing.T) {
	const id, other = `"00000002aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`,
		`"00000003bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"`
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{`{"a":1,"b":"x"}`, `{"a":1,"b":"x"}`, true},
		{`{"a":1,"b":"x"}`, `{"b":"x","a":1}`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":[1,2]}`, `{"a":[1]}`, false},
		{`{"a":null}`, `{"a":{}}`, false},
		{`{"block_num":5}`, `{"block_num":7}`, true},
		{`{"block_num":5}`, `{"block_num":"7"}`, false},
		{`{"id":` + id + `}`, `{"id":` + other + `}`, true},
		{`{"id":` + id + `}`, `{"id":"no id"}`, false},
		{`{"hash":` + id + `}`, `{"hash":` + id + `}`, true},
		{`{"time":"2020-01-01T00:00:00.500"}`, `{"time":"2021-02-03T04:05:06.000"}`, true},
		{`{"time":"2020-01-01T00:00:00.500"}`, `{"time":"2021-02-03T04:05:06"}`, false},
		{`{"details":[{"message":"a","file":""}]}`, `{"details":[{"message":"a","file":"b.cpp"}]}`, true},
		{`{"details":[{"message":"a","file":""}]}`, `{"details":[{"message":"b","file":""}]}`, false},
		{`{"receiver":"eosio","recv_sequence":5}`, `{"receiver":"eosio","recv_sequence":9}`, true},
		{`{"receiver":"alice","recv_sequence":5}`, `{"receiver":"alice","recv_sequence":9}`, false},
		{`[{"context":{},"format":"no 7","data":{}}]`, `[{"context":{"line":4},"format":"no ${n}","data":{"n":7}}]`, true},
		{`[{"context":{},"format":"no 8","data":{}}]`, `[{"context":{},"format":"no ${n}","data":{"n":7}}]`, false},
		{`words`, `words`, true},
		{`words`, `{}`, false},
	} {
		if list := compareTexts(c.got, c.want); (len(list) == 0) != c.same {
			t.Errorf("%s and %s: %q", c.got, c.want, list)
		}
	}
}
