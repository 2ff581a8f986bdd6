package devnet

import (
	"crypto/ecdsa"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/p2p/enode"

	"tarn/devnetrunner"
)

// keyring is what a chain's users are told of keys.
type keyring struct {
	account, address string // the account's private key and address, in hexadecimal
	node             *ecdsa.PublicKey
}

// chainID is that of every fakenet, 4003.
const chainID = "0xfa3"

// fill puts what belongs to this chain into a text.
func fill(text string, o *devnetrunner.Options, keys *keyring) string {
	at := func(name string) string { return filepath.Join(o.Dir, name) }
	return o.Fill(text, "{follow}", at(followFile), "{transfer}", at(transferFile),
		"{address}", keys.address, "{key}", keys.account, "{url}", url(o, keys))
}

// url is by what other nodes find this one.
func url(o *devnetrunner.Options, keys *keyring) string {
	host, text, err := net.SplitHostPort(devnetrunner.Reachable(o.P2P))
	if err != nil {
		return ""
	}
	ip := net.ParseIP(host)
	if ip == nil { // a name
		ip = net.IPv4(127, 0, 0, 1)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return ""
	}
	return enode.NewV4(keys.node, ip, port, port).URLv4()
}

// guide is what is said when the chain is served; replicas is about those beside it.
func guide(o *devnetrunner.Options, keys *keyring, replicas string) string {
	return strings.Replace(fill(guideText, o, keys), replicasHere, replicas, 1)
}

// replicasHere is where the guide tells of replicas.
const replicasHere = "{replicas}\n"

const guideText = `
An EVM chain of your own makes a block of each transaction within a second.
JSON-RPC: http://{http} and ws://{http}, chain id 4003
{page}

The account that owns all FTM; the node signs for it too:

  address  {address}
  key      {key}

The first transaction, one FTM, with nothing but curl:

  curl -s -H 'Content-Type: application/json' http://{http} -d '{"jsonrpc":"2.0","id":1,"method":"eth_sendTransaction",
    "params":[{"from":"{address}","to":"0x1111111111111111111111111111111111111111","value":"0xde0b6b3a7640000"}]}'

The same with ethers 6, signed by the client; {transfer} is short:

  npm install --prefix {dir} ethers && node {transfer}

MetaMask: "Add a network manually", then "Import account" with the key above:

  Network name     Fakenet
  New RPC URL      http://{http}
  Chain ID         4003
  Currency symbol  FTM

A second node that follows this one:

  {tarn} opera --fakenet 0/1 --datadir {second} --config {follow} --nodiscover \
    --datadir.minfreedisk 0 --http --http.port 18645

{replicas}
The key is that of every fakenet, and everybody knows it. It is for tests only: never use it for real funds.
{log}Ctrl-C stops it; the next start goes on from there.
`

// followText is the configuration of a node that follows.
const followText = `# A node that follows the one of this folder. ` +
	"`tarn devnet opera`" + ` writes this at each start.
[Node.P2P]
ListenAddr = "127.0.0.1:5051"
StaticNodes = ["{url}"]
`

// scriptText is a first transfer with a wallet library.
const scriptText = `// One FTM: npm install --prefix {dir} ethers && node {transfer}
import { ethers } from 'ethers'

const provider = new ethers.JsonRpcProvider('http://{http}')
const wallet = new ethers.Wallet('{key}', provider)
const to = '0x1111111111111111111111111111111111111111'

const sent = await wallet.sendTransaction({ to, value: ethers.parseEther('1') })
const receipt = await sent.wait()
console.log('transaction', receipt.hash, 'is in block', receipt.blockNumber)
console.log(to, 'has', ethers.formatEther(await provider.getBalance(to)), 'FTM')
provider.destroy()
`
