package clienttest_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	"tarn/antelope/difftest"
)

// cleos runs lines that need a system contract on both nodes; those of a chain without
// one are in the tests of the package above.
func (s *sides) cleos(t *testing.T, ctx context.Context) {
	user := difftest.NewKey(seed, "user")
	w, err := s.peer.StartWallet(ctx, t.TempDir(), difftest.NewKey(seed, "eosio").Text(), user.Text())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	sides := []*recorder{record(t, s.ours), record(t, s.real)}
	// cleos 4.1 knows base64 by the = that nodeos 4.1 adds and 5.0.3 does not: it is
	// added on the way, after the comparison.
	sides[0].pass = func(body string) string { return base64.ReplaceAllString(body, `$1="`) }
	for _, line := range cleosLines {
		want, refused := strings.CutPrefix(line, "!")
		args := strings.Split(strings.NewReplacer("KEY", user.Public().String(), "EXHIBIT", s.exhibit).Replace(want),
			"|")
		var wg sync.WaitGroup
		for i, r := range sides {
			wg.Go(func() {
				if err := r.begin(ctx, line); err != nil {
					t.Error(err)
				}
				if out, err := w.Cleos(ctx, r.URL, args...); (err != nil) != refused {
					t.Errorf("%s: %s: %v: %.600s", []string{"tarn", "nodeos"}[i], line, err, out)
				}
			})
		}
		wg.Wait()
	}
	sides[0].keep(t, "tarn")
	sides[1].keep(t, "nodeos")
	compareCalls(t, sides[0].exchanges(), sides[1].exchanges())
	t.Logf("%d calls of %d lines", len(sides[1].exchanges()), len(cleosLines))
}

var base64 = regexp.MustCompile(`("(?:abi|wasm)":"[A-Za-z0-9+/]+)"`)

// cleosLines are what is typed, with | for spaces between arguments. What begins with
// an exclamation mark is refused.
var cleosLines = strings.Split(strings.TrimSpace(`
system|newaccount|eosio|cleosalice|KEY|--stake-net|100.0000 SYS|--stake-cpu|100.0000 SYS|--buy-ram-kbytes|200
system|newaccount|eosio|cleosbob|KEY|KEY|--stake-net|100.0000 SYS|--stake-cpu|100.0000 SYS|--buy-ram|10.0000 SYS|--transfer
system|newaccount|eosio|cleosexhibit|KEY|--stake-net|100.0000 SYS|--stake-cpu|100.0000 SYS|--buy-ram-bytes|400000
!system|newaccount|eosio|cleosalice|KEY|--stake-net|1.0000 SYS|--stake-cpu|1.0000 SYS|--buy-ram-kbytes|4
!create|account|cleosalice|cleosx|KEY
transfer|eosio|cleosalice|5000.0000 SYS|start
transfer|eosio|cleosbob|5000.0000 SYS|start
system|buyram|cleosalice|cleosbob|10.0000 SYS
system|buyram|cleosalice|cleosbob|2|--kbytes
system|sellram|cleosalice|1000
!system|sellram|cleosalice|100000000
system|delegatebw|cleosalice|cleosbob|10.0000 SYS|20.0000 SYS
system|undelegatebw|cleosalice|cleosbob|5.0000 SYS|5.0000 SYS
!system|refund|cleosalice
system|listbw|cleosalice
system|listproducers|-j
system|regproducer|cleosbob|KEY|http://bob|7
system|voteproducer|prods|cleosalice|cleosbob
!system|voteproducer|prods|cleosalice|nobodyatall
system|regproxy|cleosbob
!system|claimrewards|cleosbob
system|unregprod|cleosbob
system|bidname|cleosalice|cleosn|1.0000 SYS
!system|bidname|cleosbob|cleosn|1.0000 SYS
system|bidnameinfo|cleosn
set|contract|cleosexhibit|EXHIBIT
push|action|cleosexhibit|say|["hello"]|-p|cleosalice
!push|action|cleosexhibit|fail|["no"]|-p|cleosalice
!push|action|cleosexhibit|failcode|[7]|-p|cleosalice
!push|action|cleosexhibit|spin|[]|-p|cleosalice|--max-cpu-usage-ms|5
!push|action|cleosexhibit|say|["hello"]|-p|cleosalice|--max-net-usage|8
!push|action|cleosexhibit|nosuch|[]|-p|cleosalice
push|action|cleosexhibit|add|{"key":1,"word":2,"wide":"3","real":"0.5","precise":"0x00000000000000000000000000000040","hash":"00000000000000000000000000000000000000000000000000000000000000ff","payer":"cleosexhibit"}|-p|cleosexhibit
get|table|cleosexhibit|cleosexhibit|rows
get|table|cleosexhibit|cleosexhibit|rows|--index|2|--key-type|i64|-L|2
get|table|cleosexhibit|cleosexhibit|rows|--index|3|--key-type|i128|-r
get|table|cleosexhibit|cleosexhibit|rows|--index|4|--key-type|sha256
get|table|cleosexhibit|cleosexhibit|rows|--index|5|--key-type|float64|-U|1
get|table|cleosexhibit|cleosexhibit|rows|--index|6|--key-type|float128
get|table|cleosexhibit|cleosexhibit|rows|--index|6|--key-type|float64
get|scope|cleosexhibit|--reverse
multisig|propose|prop|[{"actor":"cleosalice","permission":"active"},{"actor":"cleosbob","permission":"active"}]|[{"actor":"cleosalice","permission":"active"}]|cleosexhibit|say|{"text":"together"}|-p|cleosalice
multisig|review|cleosalice|prop
!multisig|exec|cleosalice|prop|-p|cleosalice
multisig|approve|cleosalice|prop|{"actor":"cleosalice","permission":"active"}|-p|cleosalice
multisig|approve|cleosalice|prop|{"actor":"cleosbob","permission":"active"}|-p|cleosbob
!multisig|approve|cleosalice|prop|{"actor":"cleosbob","permission":"active"}|-p|cleosbob
multisig|review|cleosalice|prop|--show-approvals
multisig|unapprove|cleosalice|prop|{"actor":"cleosbob","permission":"active"}|-p|cleosbob
multisig|cancel|cleosalice|prop|cleosalice|-p|cleosalice
multisig|invalidate|cleosbob
get|account|cleosalice
get|account|cleosbob|-j
get|account|sysusraaaa|-j
get|code|cleosexhibit
get|abi|cleosexhibit
get|table|eosio|eosio|rammarket
get|table|eosio.token|cleosalice|accounts
get|schedule
`), "\n")
