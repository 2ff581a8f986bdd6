package clienttest_test

import (
	"regexp"
	"strings"
)

// castLines are what is typed, with | for spaces between arguments. What begins with an
// exclamation mark is refused; HASH is the transaction that was printed last.
var castLines = strings.Split(strings.TrimSpace(`
chain-id
client
gas-price
base-fee
balance|ALICE
balance|ALICE|--ether
nonce|ALICE
send|ALICE|--value|1000ether|--private-key|RICH|--legacy|--gas-price|400gwei
receipt|HASH
receipt|HASH|gasUsed
tx|HASH
tx|HASH|input
tx|HASH|--raw
send|BOB|--value|1|--private-key|ALICEKEY|--gas-price|400gwei|--priority-gas-price|3gwei
balance|ALICE
send|--private-key|ALICEKEY|--legacy|--gas-price|400gwei|--create|CODE
code|EXHIBIT
codesize|EXHIBIT
codehash|EXHIBIT
storage|EXHIBIT|0
storage|EXHIBIT|77
index|address|ALICE|1
call|EXHIBIT|name()(string)
call|EXHIBIT|totalSupply()(uint256)
call|EXHIBIT|balanceOf(address)(uint256)|ALICE
call|EXHIBIT|around()(uint256,address,uint256,uint256)|--from|ALICE|--value|3
!call|EXHIBIT|balanceOf(address)(uint256)|ALICE|--block|1
estimate|EXHIBIT|transfer(address,uint256)|BOB|5|--from|ALICE
estimate|BOB|--value|1|--from|ALICE
send|EXHIBIT|transfer(address,uint256)|BOB|5|--private-key|ALICEKEY|--legacy|--gas-price|400gwei
receipt|HASH|logs
receipt|HASH|--json
logs|--from-block|1|--address|EXHIBIT
logs|--from-block|1|Transfer(address indexed from, address indexed to, uint256 value)|--address|EXHIBIT
logs|--from-block|1|--address|EXHIBIT|0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef
send|EXHIBIT|note(uint64,string,bytes32[])|5|hello|[0x`+strings.Repeat("01", 32)+`]|--private-key|ALICEKEY|--legacy|--gas-price|400gwei
call|EXHIBIT|entry(uint256)((uint64,string,bytes32[]))|0
!call|EXHIBIT|fail(string)|never
!call|EXHIBIT|silent()
!call|EXHIBIT|divide(uint256)|0
!call|EXHIBIT|transfer(address,uint256)|BOB|1000000|--from|ALICE
!estimate|EXHIBIT|fail(string)|never
!send|EXHIBIT|fail(string)|never|--private-key|ALICEKEY|--legacy|--gas-price|400gwei
send|EXHIBIT|fail(string)|never|--private-key|ALICEKEY|--legacy|--gas-price|400gwei|--gas-limit|100000
!send|BOB|--value|100000ether|--private-key|ALICEKEY|--legacy|--gas-price|400gwei
!send|BOB|--value|1|--private-key|ALICEKEY|--legacy|--gas-price|400gwei|--nonce|0
!send|BOB|--value|1|--private-key|ALICEKEY|--legacy|--gas-price|1
!send|BOB|--value|1|--private-key|ALICEKEY|--legacy|--gas-price|400gwei|--gas-limit|20000
!publish|0x02
access-list|EXHIBIT|transfer(address,uint256)|BOB|5|--from|ALICE|--gas-price|400gwei
proof|EXHIBIT|0x0000000000000000000000000000000000000000000000000000000000000000
block|1
block|earliest
block|latest|-f|gasLimit
block|0|--full
block-number
age|1
tx-pool|status
tx-pool|content
rpc|eth_chainId
rpc|ftm_currentEpoch
!rpc|no_such
rpc|eth_getBlockByNumber|0x1|true
nonce|ALICE
balance|BOB
`), "\n")

// printedMasks are pieces of what is printed that are chance.
var printedMasks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`0x0000000[1-9][0-9a-f]{56}`), "BLOCK-ID"},
	{regexp.MustCompile(`(?m)^(\W*(?:blockNumber|timestamp|number|parentHash|stateRoot|size):?\s+).*$`), "$1 CHANCE"},
	{regexp.MustCompile(`(?m)^ +0x[0-9a-f]{64}$`), "SLOT"}, // of an access list, in a random order
	{regexp.MustCompile(`("blockNumber":)"0x[0-9a-f]+"`), `$1"0x1"`},
}
