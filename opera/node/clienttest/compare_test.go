package clienttest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// mask is a member whose value may differ, not its kind and form.
type mask struct {
	path   *regexp.Regexp
	reason string
}

// ends matches paths that end with members that the pattern matches.
func ends(pattern string) *regexp.Regexp { return regexp.MustCompile(`(^|\.)(` + pattern + `)$`) }

// masks are what must differ between two chains that were made one beside the other.
var masks = []mask{
	{ends(`timestamp|timestampNano`), "blocks are made at different times"},
	{ends(`hash|parentHash|blockHash|stateRoot|root`), "ids of blocks hash times"},
	{ends(`number|blockNumber|oldestBlock|block`), "a step may take one block more or less"},
	{ends(`epoch`), "the chains are of different ages"},
	{ends(`(eth|ftm)_blockNumber\.result`), "a step may take one block more or less"},
	{ends(`reward\[\d+\]\[\d+\]`), "rewards are random"},
	{ends(`(told\.params\.result|said\.result\[0\]\[1\])\.extraData`), "of a head that is told it is the block's id"},
	{ends(`eth_\w*[fF]ilter\w*\.result(\[\d+\])?|eth_subscribe\.result|params\.subscription`), "ids of filters and subscriptions are random"},
	{ends(`accountProof\[\d\]`), "the state has the times of epochs"},
	{ends(`accessList\[\d+\]\.storageKeys\[\d+\]`), "slots come in a random order"},
}

// changing are pieces of texts that differ for the masks' reasons.
var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(http|ws)://127\.0\.0\.1:\d+`), "$1://NODE"},
	{regexp.MustCompile(`^go-opera/v1\.1\.3-rc\.5/(tarn/)?`), "go-opera/v1.1.3-rc.5/"}, // it names the program
}

// steady is a text without what changes from run to run.
func steady(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.with)
	}
	return text
}

var (
	anyHash     = regexp.MustCompile(`^(0x)?[0-9a-f]{64}$`)
	anyQuantity = regexp.MustCompile(`^0x(0|[1-9a-f][0-9a-f]*)$`)
	anyNumber   = regexp.MustCompile(`^\d+n?$`)
	anyDigits   = regexp.MustCompile(`\d+`)
)

// form is what two values that may differ have in common.
func form(v any) string {
	switch v := v.(type) {
	case string:
		switch {
		case anyHash.MatchString(v):
			return "hash"
		case anyQuantity.MatchString(v):
			return "quantity"
		case anyNumber.MatchString(v):
			return "number in quotes"
		}
		return "text " + anyDigits.ReplaceAllString(steady(v), "N")
	case nil:
		return "null"
	}
	return fmt.Sprintf("%T", v)
}

// differences lists where a text differs from go-opera's. Paths of both begin with about.
func differences(about, got, want string) []string {
	g, errG := leaves(got)
	w, errW := leaves(want)
	if errG != nil || errW != nil {
		if steady(got) != steady(want) {
			return []string{fmt.Sprintf("%.900s\ngo-opera has %.900s", got, want)}
		}
		return nil
	}
	var list []string
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i].path != w[i].path {
			at := func(l []leaf) string { return fmt.Sprintf("%.300v", l[min(i, len(l)):min(i+1, len(l))]) }
			return append(list, fmt.Sprintf("%s: %s, go-opera has %s\n%.900s\ngo-opera has %.900s",
				about, at(g), at(w), got, want))
		}
		if d := differs(about, g[i], w[i]); d != "" {
			list = append(list, d)
		}
	}
	return list
}

// differs says how a leaf differs from go-opera's, empty if it does not.
func differs(about string, g, w leaf) string {
	a, isText := g.value.(string)
	b, both := w.value.(string)
	if g.value == w.value || isText && both && steady(a) == steady(b) {
		return ""
	}
	path := strings.TrimSuffix(about+"."+g.path, ".")
	said := fmt.Sprintf("%s: %.300v, go-opera has %.300v", path, g.value, w.value)
	for _, m := range masks {
		if !m.path.MatchString(path) {
			continue
		}
		if form(g.value) == form(w.value) {
			return ""
		}
		return said + " (" + m.reason + ", but not its form)"
	}
	return said
}

// asked is a request of a step, with the answers to it and to such as differ from it by chance.
type asked struct {
	step, key string
	polled    bool // how often is chance
	list      []exchange
}

// chance are values that differ between the chains: ids of blocks and transactions, of filters
// and subscriptions.
type chance map[string]bool

var ids = ends(`hash|parentHash|blockHash|transactionHash|transactions\[\d+\]`)

// named are methods that answer with an id.
var named = regexp.MustCompile(`^eth_(sendRawTransaction|sendTransaction|subscribe|new\w*Filter)$`)

// chanceOf finds them in the answers.
func chanceOf(all []exchange) chance {
	c := chance{}
	for _, e := range all {
		list, err := leaves(e.answer)
		if err != nil {
			continue
		}
		for _, l := range list {
			if v, ok := l.value.(string); ok &&
				(ids.MatchString(l.path) || l.path == "result" && named.MatchString(e.method())) {
				c[v] = true
			}
		}
	}
	return c
}

// method is what a call asks for, empty for what is no call.
func (e exchange) method() string {
	var m message
	if json.Unmarshal([]byte(e.request), &m) != nil {
		return ""
	}
	return m.Method
}

var (
	anyID     = regexp.MustCompile(`"0x[0-9a-f]+"`)
	anyBlock  = regexp.MustCompile(`([\[,]|"(?:fromBlock|toBlock)":)"0x[1-9a-f][0-9a-f]{0,7}"`)
	anyIDOf   = regexp.MustCompile(`"id":("[^"]*"|\d+|null)`)
	anyPrice  = regexp.MustCompile(`"(gasPrice|maxFeePerGas|maxPriorityFeePerGas)":"0x[0-9a-f]+"`)
	sends     = regexp.MustCompile(`^eth_send`)
	late      = regexp.MustCompile(`"eth_(uninstallFilter|unsubscribe)"`) // clients do not wait for their answers
	byPolling = regexp.MustCompile(
		`"method":"eth_(blockNumber|getFilterChanges|getTransactionReceipt|getTransactionByHash|getTransactionCount)"`)
)

// key is a request without what is chance in it, and whether how often it is made is chance.
func (c chance) key(e exchange) (key string, polled bool) {
	key = e.request
	if e.whole != nil && e.method() == "" {
		return e.whole.call + " " + key, false
	}
	key = anyID.ReplaceAllStringFunc(key, func(id string) string {
		if c[strings.Trim(id, `"`)] {
			return `"ID"`
		}
		return id
	})
	key = anyIDOf.ReplaceAllString(key, `"id":0`)
	key = anyPrice.ReplaceAllString(key, `"$1":"PRICE"`)
	if e.method() == "eth_sendRawTransaction" {
		key = sentKey(key)
	}
	blocks := anyBlock.ReplaceAllString(key, `$1"BLOCK"`)
	polled = blocks != key || byPolling.MatchString(key) || strings.Contains(key, `"newHeads"`)
	key = e.over + " " + blocks
	if e.told {
		key = "told of " + key
	}
	return key, polled
}

// steps takes a conversation apart: what is asked in each step, in the order in which it is asked
// for the first time.
func steps(all []exchange) (list []*asked) {
	c := chanceOf(all)
	at := map[string]*asked{}
	for _, e := range all {
		key, polled := c.key(e)
		of := at[e.step+"\n"+key]
		if of == nil {
			of = &asked{step: e.step, key: key, polled: polled}
			at[e.step+"\n"+key] = of
			list = append(list, of)
		}
		of.add(e)
	}
	for _, of := range list {
		of.choose()
	}
	return list
}

// add adds an answer. The last one counts of those to the same request.
func (a *asked) add(e exchange) {
	same := func(o exchange) bool {
		return !e.told && anyIDOf.ReplaceAllString(o.request, "") == anyIDOf.ReplaceAllString(e.request, "")
	}
	if i := slices.IndexFunc(a.list, same); i >= 0 {
		if isRefusal(e) || !isRefusal(a.list[i]) {
			a.list[i] = e
		}
		return
	}
	a.list = append(a.list, e)
}

// isRefusal tells whether an answer says something.
func isRefusal(e exchange) bool {
	var m message
	return json.Unmarshal([]byte(e.answer), &m) != nil || string(m.Result) != "null" && string(m.Result) != "[]"
}

// choose leaves of requests that are made again and again those that are answered with something.
func (a *asked) choose() {
	if a.polled && slices.ContainsFunc(a.list, isRefusal) {
		a.list = slices.DeleteFunc(a.list, func(e exchange) bool { return !isRefusal(e) })
	}
}

// compareCalls compares what a client and two nodes said to each other, and returns how many
// answers were compared.
func compareCalls(t *testing.T, got, want []exchange) (compared int) {
	t.Helper()
	sending := map[string]bool{}
	for _, e := range got {
		sending[e.step] = sending[e.step] || sends.MatchString(e.method())
	}
	told := map[string]int{} // a difference is said once
	theirs := map[string]*asked{}
	for _, a := range steps(want) {
		theirs[a.step+"\n"+a.key] = a
	}
	for _, g := range steps(got) {
		w := theirs[g.step+"\n"+g.key]
		delete(theirs, g.step+"\n"+g.key)
		if w == nil && late.MatchString(g.key) {
			continue
		}
		if w == nil {
			t.Errorf("%s: go-opera is not asked %.600s\n%.600s", g.step, g.key, g.list[0].answer)
			continue
		}
		if len(g.list) != len(w.list) && !g.polled {
			t.Errorf("%s: %.600s: %d times, of go-opera %d", g.step, g.key, len(g.list), len(w.list))
		}
		if sending[g.step] && strings.Contains(g.key, `"eth_getBlockBy`) {
			continue // a client that waits looks at blocks; in which a transaction is, is chance
		}
		for i := range min(len(g.list), len(w.list)) {
			compared++
			for _, d := range compareExchange(g.list[i], w.list[i]) {
				if told[d] == 0 {
					t.Errorf("%s\n%s", g.list[i], d)
				}
				told[d]++
			}
		}
	}
	for _, w := range theirs {
		if late.MatchString(w.key) {
			continue
		}
		t.Errorf("%s: only go-opera is asked %.600s\n%.600s", w.step, w.key, w.list[0].answer)
	}
	return compared
}

// inOrder is an answer without its id, and logs in the order of their indexes: within a block
// go-opera has no order for clients to rely on.
func inOrder(e exchange) string {
	answer := anyIDOf.ReplaceAllString(e.answer, `"id":0`)
	var a struct {
		Version string            `json:"jsonrpc"`
		ID      int               `json:"id"`
		Result  []json.RawMessage `json:"result"`
	}
	if e.method() != "eth_getLogs" || json.Unmarshal([]byte(answer), &a) != nil || a.Result == nil {
		return answer
	}
	place := func(raw json.RawMessage) (block, index hexutil.Uint64) {
		var l struct{ BlockNumber, LogIndex hexutil.Uint64 }
		if json.Unmarshal(raw, &l) != nil {
			return 0, 0
		}
		return l.BlockNumber, l.LogIndex
	}
	slices.SortStableFunc(a.Result, func(x, y json.RawMessage) int {
		blockX, indexX := place(x)
		blockY, indexY := place(y)
		return cmp.Or(cmp.Compare(blockX, blockY), cmp.Compare(indexX, indexY))
	})
	text, err := json.Marshal(a)
	if err != nil {
		return answer
	}
	return string(text)
}

func compareExchange(g, w exchange) (list []string) {
	about := g.method()
	if g.told {
		about = "told"
	}
	if better(g.step) == "" {
		list = differences(about, inOrder(g), inOrder(w))
	}
	if g.whole == nil || w.whole == nil {
		return list
	}
	if g.whole.status != w.whole.status {
		list = append(list, fmt.Sprintf("status %d, go-opera has %d", g.whole.status, w.whole.status))
	}
	if a, b := g.whole.headersOf(), w.whole.headersOf(); a != b {
		list = append(list, fmt.Sprintf("headers %q, go-opera has %q", a, b))
	}
	return list
}

// headersOf are those that say something of the answer but its length and time.
func (w *whole) headersOf() string {
	var list []string
	for name, values := range w.headers {
		if name != "Date" && name != "Content-Length" {
			list = append(list, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// newer are steps in which a client uses what go-opera does not have.
var newer = map[string]string{
	"finalized":           "go-opera knows neither finalized nor safe",
	"receipts of a block": "go-opera has no eth_getBlockReceipts",
}

// better says why an answer may be another than go-opera's, empty if it may not.
func better(step string) string { return newer[step] }

// compareWords compares lines that a client said: {"step":NAME, ...}.
func compareWords(t *testing.T, got, want string) {
	t.Helper()
	var of struct{ Step string }
	if err := json.Unmarshal([]byte(want), &of); err == nil && better(of.Step) != "" {
		return
	}
	for _, d := range differences("said", got, want) {
		t.Errorf("the client says %.300s\n%s", got, d)
	}
}
