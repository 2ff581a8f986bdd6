package devnet

import (
	"path/filepath"
	"strings"
)

// fill puts what belongs to this chain into a text.
func fill(text string, o *Options, keys *keyring) string {
	at := func(name string) string { return filepath.Join(o.Dir, name) }
	final := ""
	if keys.finalizer() != nil {
		final = " Finality is Savanna's."
	}
	return o.Fill(text, "{disk}", fullDisk, "{final}", final,
		"{keys}", at(keysFile), "{genesis}", at(genesisFile), "{transfer}", at(transferFile),
		"{eosio.public}", keys.of(producerName).Public,
		"{alice.public}", keys.of(aliceName).Public, "{alice.private}", keys.of(aliceName).Private,
		"{bob.public}", keys.of(bobName).Public, "{bob.private}", keys.of(bobName).Private)
}

// guide is what is said when the chain is served; replicas is about those beside it.
func guide(o *Options, keys *keyring, replicas string) string {
	return strings.Replace(fill(guideText, o, keys), replicasHere, replicas, 1)
}

// replicasHere is where the guide tells of replicas.
const replicasHere = "{replicas}\n"

const guideText = `
A chain of your own makes a block every half second.{final} API: http://{http}
{page}

  alice  {alice.public}  {alice.private}
  bob    {bob.public}  {bob.private}

What bob has (contract eosio.token, symbol SYS):

  curl -s http://{http}/v1/chain/get_currency_balance -d '{"code":"eosio.token","account":"bob","symbol":"SYS"}'

The first transfer, alice to bob, with @wharfkit/antelope; {transfer} is short:

  npm install --prefix {dir} @wharfkit/antelope && node {transfer}

The same with cleos, if you have it:

  cleos wallet create --to-console && cleos wallet import --private-key {alice.private}
  cleos -u http://{http} push action eosio.token transfer '["alice","bob","1.0000 SYS","hello"]' -p alice

A second node that follows this one:

  {tarn} nodeos --config-dir {second} --data-dir {second}/data --genesis-json {genesis} \
    --p2p-peer-address {p2p} --p2p-listen-endpoint 127.0.0.1:9877 \
    --plugin eosio::chain_api_plugin --http-server-address 127.0.0.1:8988 \
    {disk}

{replicas}
All keys are in {keys}, that of eosio too. They are for tests only: never use them for real funds.
{log}Ctrl-C stops it; the next start goes on from there.
`

// transferScript is a first transfer with a wallet library.
func transferScript(o *Options, keys *keyring) string { return fill(scriptText, o, keys) }

const scriptText = `// A transfer from alice to bob: npm install --prefix {dir} @wharfkit/antelope && node {transfer}
import { Action, APIClient, PrivateKey, SignedTransaction, Transaction } from '@wharfkit/antelope'

const { v1: { chain } } = new APIClient({ url: 'http://{http}' })
const key = PrivateKey.from('{alice.private}')

const info = await chain.get_info()
const { abi } = await chain.get_abi('eosio.token')
const action = Action.from({
  account: 'eosio.token',
  name: 'transfer',
  authorization: [{ actor: 'alice', permission: 'active' }],
  data: { from: 'alice', to: 'bob', quantity: '1.0000 SYS', memo: 'hello' },
}, abi)
const transaction = Transaction.from({ ...info.getTransactionHeader(), actions: [action] })
const signature = key.signDigest(transaction.signingDigest(info.chain_id))
const begin = Date.now()
const sent = await chain.send_transaction2(SignedTransaction.from({ ...transaction, signatures: [signature] }))

console.log('transaction', sent.transaction_id, sent.processed.receipt.status)
let final // until its block cannot be replaced any more
do {
  await new Promise((done) => setTimeout(done, 50))
  final = Number((await chain.get_info()).last_irreversible_block_num)
} while (final < Number(sent.processed.block_num))
console.log('final after', Date.now() - begin, 'ms')
console.log('bob has', String(await chain.get_currency_balance('eosio.token', 'bob', 'SYS')))
`
