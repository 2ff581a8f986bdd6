package rpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tarn/internal/recordedcalls"
)

// What a real client sent to a nodeos is sent to a node of another chain. It understands each
// question: it answers what nodeos answered as far as that is not of the chain, the status and
// the members in their order, or refuses what only the other chain has in the words for that,
// never as something that cannot be read.
func TestWhatARealClientAsksIsUnderstood(t *testing.T) {
	const path = "testdata/wharfkit.txt.gz"
	list, err := recordedcalls.Read(path)
	must(t, err)
	n := executing(t, nil)
	same, refused := 0, 0
	for _, x := range list {
		method, call, _ := strings.Cut(x.Ask, " ")
		target, body, _ := strings.Cut(call, " ")
		status, got := n.askAs(method, n.base+target, body, "application/json")
		wanted, want, _ := strings.Cut(x.Answers[0], " ")
		if status/100 == 2 {
			// There is no token of the chain here, whose balance an account would have.
			a, b := members(got), strings.Replace(members(want), "core_liquid_balance ", "", 1)
			if wanted[0] == '2' && !strings.HasPrefix(a, b) {
				t.Errorf("%s:%d: %.200s\n got members %s\nwant %s", path, x.Line, x.Ask, a, b)
			}
			same++
			continue
		}
		var fault struct {
			Error struct {
				Code int
				Name string
			}
		}
		if err := json.Unmarshal([]byte(got), &fault); err != nil || fault.Error.Name == "" {
			t.Errorf("%s:%d: %.200s\n got %d %.300s (%v)", path, x.Line, x.Ask, status, got, err)
		}
		switch fault.Error.Name {
		case "invalid_http_request", "parse_error_exception", "packed_transaction_type_exception",
			"transaction_type_exception":
			t.Errorf("%s:%d: it is not understood: %.200s\n got %.300s", path, x.Line, x.Ask, got)
		}
		refused++
	}
	t.Logf("%d answers like nodeos', %d about another chain", same, refused)
	if same == 0 || refused == 0 {
		t.Error("nothing was compared")
	}
}

// members are the names of an object's members in their order, as far as the text goes.
func members(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	var names []string
	depth, key := 0, false
	for {
		token, err := d.Token()
		if err != nil {
			return strings.Join(names, " ")
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			key = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			key = depth == 1
			continue
		}
		if depth == 1 {
			if key {
				names = append(names, token.(string))
			}
			key = !key
		}
	}
}
