package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/difftest"
)

// volatile are members of answers that no two nodes have alike: times, ids, and what
// follows from them; and the places in nodeos' source that errors name.
var volatile = regexp.MustCompile(
	`(?i)(time|date|_id$|^id$|digest|checksum|signature|mroot|expiration|ref_block|previous|elapsed|usage|block_num|` +
		`producer_block|server_|cpu_limit|net_limit|_weight|earliest|last_irr|last_code|created|^used$|available|` +
		`max$|current_used|_sequence$|^stack$|^file$|^line_number$|^method$)`)

// changing are texts that change from run to run, such as what cleos says if it had no time to
// say it all, and, the last ones, the places in nodeos' source that errors name, which ours do
// not.
var changing = []struct{ pattern, with string }{
	{`[0-9a-f]{64}`, "ID"}, {`\d{4}-\d\d-\d\dT[0-9:.]+`, "TIME"}, {`\b\d+ us\b`, "N us"}, {`\b\d+ bytes\b`, "N bytes"},
	{`SIG_K1_\w+`, "SIG"}, {`127\.0\.0\.1:\d+`, "ADDRESS"}, {`(used|available|limit): +[0-9.]+ \S+`, "$1: N"},
	{`"?(elapsed|cpu_usage_us|block_num|ref_block_num|ref_block_prefix)"?: \d+`, "$1: N"},
	{`(?m)^ *<- timeout exception in to_detail_string: .*\n`, ""},
	{`(?m)^ +\{.*\}\n +\S* *\S*:\d+ \S*\n`, ""}, {`(?m)^(\S+ <= \S+ )?pending console output: ?\n`, ""},
	{`(?m)^ +$`, ""}, {`\n+`, "\n"},
}

func steady(text string) string {
	for _, c := range changing {
		text = regexp.MustCompile(c.pattern).ReplaceAllString(text, c.with)
	}
	return text
}

// differences lists the members in which two values differ.
func differences(path string, a, b any) (list []string) {
	say := func() []string {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return []string{fmt.Sprintf("%s: %.300s, nodeos has %.300s", path, x, y)}
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return say()
		}
		for k := range a {
			if _, ok := b[k]; !ok {
				list = append(list, fmt.Sprintf("%s.%s: nodeos has none", path, k))
			} else if !volatile.MatchString(k) {
				list = append(list, differences(path+"."+k, a[k], b[k])...)
			} else if fmt.Sprintf("%T", a[k]) != fmt.Sprintf("%T", b[k]) {
				list = append(list, differences(path+"."+k, a[k], b[k])...)
			}
		}
		for k := range b {
			if _, ok := a[k]; !ok {
				list = append(list, fmt.Sprintf("%s.%s: only nodeos has it", path, k))
			}
		}
		return list
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return say()
		}
		for i := range a {
			list = append(list, differences(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])...)
		}
		return list
	case string:
		if s, ok := b.(string); ok && steady(a) == steady(s) {
			return nil
		}
		return say()
	}
	if a != b {
		return say()
	}
	return nil
}

// orderOf is the order of the members of a JSON text, level by level.
func orderOf(text string) string {
	var keys []string
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(text, -1) {
		keys = append(keys, m[1])
	}
	return strings.Join(keys, " ")
}

func compareAnswers(t *testing.T, what, got, want string, gotErr, wantErr error) {
	t.Helper()
	if (gotErr == nil) != (wantErr == nil) {
		t.Errorf("%s: %v, nodeos: %v\n%s\n%s", what, gotErr, wantErr, got, want)
		return
	}
	var a, b any
	if json.Unmarshal([]byte(got), &a) == nil && json.Unmarshal([]byte(want), &b) == nil {
		list := differences("", a, b)
		slices.Sort(list)
		for _, d := range list {
			t.Errorf("%s: %s", what, d)
		}
		if len(list) == 0 && orderOf(got) != orderOf(want) {
			t.Errorf("%s: members in another order:\n%s\n%s", what, orderOf(got), orderOf(want))
		}
		return
	}
	if steady(got) != steady(want) {
		t.Errorf("%s:\n%s\nnodeos:\n%s", what, steady(got), steady(want))
	}
}

// The package's own cleos, on a chain of ours and on one of nodeos.
func TestCleosGetsTheAnswersOfNodeos(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p := findPeer(t, ctx)
	w, seed := workload(t, "bios"), uint64(7)
	g, keys := difftest.Genesis(w, seed)
	var private []string
	for _, k := range keys {
		private = append(private, k.Text())
	}
	user := difftest.NewKey(seed, "user")
	client, err := p.StartWallet(ctx, t.TempDir(), append(private, user.Text())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Stop)
	ours := startTarn(t, &g, keys)
	real := startNodeos(t, ctx, p, &g, keys)
	for _, n := range []*difftest.Node{ours, real} {
		if _, _, err := p.Drive(ctx, n, w, seed, g.ChainID(), 0, t.Output()); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("failures", func(t *testing.T) {
		compareFailures(t, failures(t, ctx, p, ours, seed, g.ChainID()), failures(t, ctx, p, real, seed, g.ChainID()))
	})
	dir := p.ContractDir("eosio.token")
	pub := user.Public().String()
	for _, line := range cleosLines {
		args := strings.Split(strings.NewReplacer("KEY", pub, "DIR", dir, "CHAIN", g.ChainID().String()).Replace(line),
			"|")
		got, gotErr := client.Cleos(ctx, ours.URL(), args...)
		want, wantErr := client.Cleos(ctx, real.URL(), args...)
		compareAnswers(t, strings.Join(args, " "), got, want, gotErr, wantErr)
		if os.Getenv("TARN_CLEOS_SHOW") != "" {
			t.Logf("%s: %v\n%s", line, wantErr, want)
		}
		if gotErr == nil && slices.Contains([]string{"create", "set", "push", "transfer"}, args[0]) {
			nextBlock(t, ctx, ours, real)
		}
	}
}

// nextBlock waits until all nodes have one more block: nodeos' answers show the block
// that it is making, ours the newest finished one.
func nextBlock(t *testing.T, ctx context.Context, nodes ...*difftest.Node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.Blocks(ctx, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// cleosLines are what is typed, with | for spaces between arguments.
var cleosLines = strings.Split(strings.TrimSpace(`
get|info
create|account|eosio|eosio.token|KEY
create|account|eosio|alice|KEY|KEY
create|account|eosio|bob|KEY
create|account|eosio|alice|KEY
create|account|nobody|carol|KEY
create|account|eosio|Wrong|KEY
set|contract|eosio.token|DIR
set|contract|eosio.token|DIR
push|action|eosio.token|create|["eosio","1000000.0000 SYS"]|-p|eosio.token
push|action|eosio.token|issue|["eosio","1000.0000 SYS","memo"]|-p|eosio
push|action|eosio.token|issue|["eosio","9999999.0000 SYS","memo"]|-p|eosio
transfer|eosio|alice|10.0000 SYS|hello
transfer|alice|bob|3.0000 SYS|memo|-j
transfer|alice|bob|1.0000 SYS|memo|--dry-run
transfer|alice|bob|1.0000 SYS|memo|--return-packed|-d
transfer|alice|bob|1.0000 SYS|memo|-s|-d
transfer|alice|bob|500.0000 SYS|too much
transfer|alice|nobody|1.0000 SYS|to nobody
transfer|alice|bob|1.00 SYS|other precision
transfer|alice|bob|1.0000 XYZ|other token
transfer|alice|bob|1.0000 SYS|memo|-p|bob
transfer|alice|bob|1.0000 SYS|read|--read-only
push|action|eosio.token|nosuch|{}|-p|alice
push|action|nobody|transfer|{}|-p|alice
push|action|eosio.token|transfer|{"from":"alice"}|-p|alice
set|account|permission|alice|extra|{"threshold":1,"keys":[{"key":"KEY","weight":1}],"accounts":[],"waits":[]}|active
set|account|permission|alice|code|{"threshold":1,"keys":[],"accounts":[{"permission":{"actor":"alice","permission":"eosio.code"},"weight":1}],"waits":[]}|active
set|action|permission|alice|eosio.token|transfer|extra
transfer|alice|bob|0.5000 SYS|by extra|-p|alice@extra
set|account|permission|alice|extra|NULL|active
set|action|permission|alice|eosio.token|transfer|NULL
set|account|permission|alice|extra|NULL|active
transfer|bob|alice|0.1000 SYS|later|--delay-sec|0
get|account|alice
get|account|alice|-j
get|account|eosio|-j
get|account|nobody
get|account|eosio.token|SYS|-j
get|code|eosio.token
get|code|alice
get|abi|eosio.token
get|abi|alice
get|table|eosio.token|alice|accounts
get|table|eosio.token|SYS|stat
get|table|eosio.token|SYS|stat|--show-payer
get|table|eosio.token|alice|nosuch
get|table|eosio.token|alice|accounts|-b
get|table|eosio|eosio|abihash|--limit|2
get|scope|eosio.token
get|scope|eosio.token|-t|accounts|-l|1
get|currency|balance|eosio.token|alice
get|currency|balance|eosio.token|alice|SYS
get|currency|balance|eosio.token|nobody|SYS
get|currency|stats|eosio.token|SYS
get|schedule
get|schedule|-j
get|block|1
get|block|2|--header-state
get|block|3
get|block|3|--info
get|block|3|--raw
get|block|99999
get|block|nonsense
get|transaction-status|0000000000000000000000000000000000000000000000000000000000000000
get|consensus_parameters
get|accounts|KEY
get|raw-code-and-abi|eosio.token
net|peers
net|status|localhost:1
net|connect|localhost:1
net|disconnect|localhost:1
system|listproducers
validate|signatures|--chain-id|CHAIN|{"signatures":[]}
push|transaction|{"actions":[{"account":"eosio.token","name":"transfer","authorization":[{"actor":"alice","permission":"active"}],"data":{"from":"alice","to":"bob","quantity":"0.0001 SYS","memo":"x"}}]}
push|transactions|[]
set|code|alice|--clear
set|abi|alice|--clear
multisig|review|alice|prop
`), "\n")
