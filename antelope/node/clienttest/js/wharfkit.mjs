// A round of WharfKit: sessions that sign with a key, and its own calls of the API.
import { readFileSync } from 'node:fs'
import { ABI, APIClient, Action, Checksum160, Checksum256, FetchProvider, Float64, Name, PackedTransaction, PrivateKey, Serializer, SignedTransaction, Transaction, UInt128, UInt32, UInt64 } from '@wharfkit/antelope'
import { Session } from '@wharfkit/session'
import { WalletPluginPrivateKey } from '@wharfkit/wallet-plugin-privatekey'
import { EOSIO_KEY, EXHIBIT, NODE_URL, TOKEN, USER_KEY, USER_PUBLIC, either, fails, queries, rows, step } from './steps.mjs'

const client = new APIClient({ provider: new FetchProvider(NODE_URL, { fetch }) })
const { chain } = client.v1
const { chain_id: id } = await chain.get_info()
const session = (actor, key, permission = 'active') => new Session({ chain: { id, url: NODE_URL }, actor, permission, walletPlugin: new WalletPluginPrivateKey(key) }, { fetch })
const [alice, bob, poor, token, exhibit] = ['wharfalice', 'wharfbob', 'wharfpoor', 'wharftoken', 'wharfexhibit']
const system = session('eosio', EOSIO_KEY)
const of = Object.fromEntries([alice, bob, poor, token, exhibit].map((name) => [name, session(name, USER_KEY)]))
const act = (account, name, data, actor, permission = 'active') => ({ account, name, data, authorization: actor ? [{ actor, permission }] : [] })
// transact shows what the session made of an answer.
const transact = async (by, ...actions) => (await by.transact({ actions }, { expireSeconds: 60 })).response
const owner = { threshold: 1, keys: [{ key: USER_PUBLIC, weight: 1 }], accounts: [], waits: [] }
const create = (name, bytes) => [
  act('eosio', 'newaccount', { creator: 'eosio', name, owner, active: owner }, 'eosio'),
  act('eosio', 'buyrambytes', { payer: 'eosio', receiver: name, bytes }, 'eosio'),
  act('eosio', 'delegatebw', { from: 'eosio', receiver: name, stake_net_quantity: '100.0000 SYS', stake_cpu_quantity: '100.0000 SYS', transfer: false }, 'eosio'),
]
const abis = Object.fromEntries([TOKEN, EXHIBIT].map((path) => [path, ABI.from(JSON.parse(readFileSync(`${path}.abi`, 'utf8')))]))
const setcode = (account, path) => act('eosio', 'setcode', { account, vmtype: 0, vmversion: 0, code: readFileSync(`${path}.wasm`).toString('hex') }, account)
const setabi = (account, path) => act('eosio', 'setabi', { account, abi: Serializer.encode({ object: abis[path] }) }, account)

await step('info', () => chain.get_info())
for (const name of [alice, bob, token, exhibit]) await step(`create ${name}`, () => transact(system, ...create(name, 400000)))
await step(`create ${poor}`, () => transact(system, ...create(poor, 2200)))
await step('set token', () => transact(of[token], setcode(token, TOKEN), setabi(token, TOKEN)))
await step('set exhibit', () => transact(of[exhibit], setcode(exhibit, EXHIBIT), setabi(exhibit, EXHIBIT)))
await step('create token', () => transact(of[token], act(token, 'create', { issuer: alice, maximum_supply: '1000000.00000000 WHARF' }, token)))
await step('issue', () => transact(of[alice], act(token, 'issue', { to: alice, quantity: '1000.00000000 WHARF', memo: 'all mine' }, alice)))
await step('transfer', () => transact(of[alice], act(token, 'transfer', { from: alice, to: bob, quantity: '10.50000000 WHARF', memo: 'ünïcode ☃' }, alice)))
await step('say', () => transact(of[alice], act(exhibit, 'say', { text: 'hello, world' }, alice)))
await step('notify', () => transact(of[alice], act(exhibit, 'notify', { account: bob }, alice)))
for (const [i, row] of rows.entries()) await step(`row ${i}`, () => transact(of[exhibit], act(exhibit, 'add', { ...row, payer: exhibit }, exhibit)))

await fails('assertion', /message: never/, () => transact(of[alice], act(exhibit, 'fail', { text: 'never' }, alice)))
await fails('assertion by code', /code: 7/, () => transact(of[alice], act(exhibit, 'failcode', { code: 7 }, alice)))
await fails('missing authority', /missing authority of wharfalice/, () => transact(of[bob], act(token, 'transfer', { from: alice, to: bob, quantity: '1.00000000 WHARF', memo: '' }, bob)))
await fails('another key', /does not have signatures/, () => transact(session(alice, EOSIO_KEY), act(exhibit, 'say', { text: 'x' }, alice)))
await fails('unknown actor', /at least one authorization/, () => transact(session('nobodyatall', USER_KEY), act(exhibit, 'say', { text: 'x' })))
await fails('account that is not there', /authorizing actor 'nobodyatall' does not exist/, () => transact(session('nobodyatall', USER_KEY), act(exhibit, 'say', { text: 'x' }, 'nobodyatall')))
await fails('contract that is not there', 'transaction_exception', async () => chain.send_transaction(await sign({ actions: [Action.from({ ...act('nobodyatall', 'hello', '', alice) })] })))
await fails('RAM', /insufficient ram/, () => transact(of[poor], act(exhibit, 'add', { ...rows[0], key: 100, payer: poor }, poor)))

// sign makes a transaction without a session.
async function sign(fields, ...keys) {
  const info = await chain.get_info()
  const header = info.getTransactionHeader(60)
  const transaction = Transaction.from({ ...header, ...fields })
  const signatures = (keys.length ? keys : [USER_KEY]).map((key) => PrivateKey.from(key).signDigest(transaction.signingDigest(info.chain_id)))
  return SignedTransaction.from({ ...transaction, signatures })
}
const say = (text) => Action.from(act(exhibit, 'say', { text }, alice), abis[EXHIBIT])
const spin = Action.from(act(exhibit, 'spin', {}, alice), abis[EXHIBIT])
const fail = Action.from(act(exhibit, 'fail', { text: 'no' }, alice), abis[EXHIBIT])
const notify = Action.from(act(exhibit, 'notify', { account: bob }, alice), abis[EXHIBIT])

await step('push', async () => chain.push_transaction(await sign({ actions: [say('pushed'), notify] })))
await step('send', async () => chain.send_transaction(await sign({ actions: [say('sent'), notify] })))
await step('send2', async () => chain.send_transaction2(await sign({ actions: [say('sent again'), notify] })))
await step('send2, options', async () => chain.send_transaction2(await sign({ actions: [say('and again')] }), { return_failure_trace: false, retry_trx: false }))
await step('compute', async () => chain.compute_transaction(await sign({ actions: [say('computed'), notify] })))
await either('read-only', async () => chain.send_read_only_transaction(SignedTransaction.from({ ...(await sign({ actions: [Action.from(act(exhibit, 'say', { text: 'read' }), abis[EXHIBIT])] })), signatures: [] })))
await either('compute a failure', async () => chain.compute_transaction(await sign({ actions: [say('first'), fail] })))
await fails('send2 a failure', /eosio_assert_message/, async () => chain.send_transaction2(await sign({ actions: [say('first'), fail] })))
await fails('send2 a failure without its trace', 'eosio_assert_message_exception', async () => chain.send_transaction2(await sign({ actions: [fail] }), { return_failure_trace: false }))
await fails('send a failure', 'eosio_assert_message_exception', async () => chain.send_transaction(await sign({ actions: [fail] })))
await fails('send2 too much CPU', /CPU usage/, async () => chain.send_transaction2(await sign({ max_cpu_usage_ms: 5, actions: [spin] })))
await fails('send too much net', 'tx_net_usage_exceeded', async () => chain.send_transaction(PackedTransaction.fromSigned(await sign({ max_net_usage_words: 1, actions: [say('x')] }), 0)))
await fails('retry', 'unsupported_feature', async () => chain.send_transaction2(await sign({ actions: [say('x')] }), { retry_trx: true }))
await fails('duplicate', 'tx_duplicate', async () => {
  const t = await sign({ actions: [say('twice')] })
  await chain.send_transaction(t)
  return chain.send_transaction(t)
})
await fails('expired', 'expired_tx_exception', async () => chain.send_transaction(await sign({ expiration: '2020-01-01T00:00:00', actions: [say('late')] })))
await fails('expires too late', 'tx_exp_too_far_exception', async () => chain.send_transaction(await sign({ expiration: '2050-01-01T00:00:00', actions: [say('early')] })))
await fails('another reference block', 'invalid_ref_block_exception', async () => chain.send_transaction(await sign({ ref_block_prefix: 1, actions: [say('fork')] })))
await fails('no actions', 'tx_no_auths', async () => chain.send_transaction(await sign({ actions: [] })))
await fails('no signature', 'unsatisfied_authorization', async () => chain.send_transaction(SignedTransaction.from({ ...(await sign({ actions: [say('x')] })), signatures: [] })))
await fails('a signature twice', 'tx_duplicate_sig', async () => { const t = await sign({ actions: [say('x')] }); t.signatures.push(t.signatures[0]); return chain.send_transaction(t) })
await fails('a key too many', 'tx_irrelevant_sig', async () => chain.send_transaction(await sign({ actions: [say('x')] }, USER_KEY, EOSIO_KEY)))

await step('blocks', async () => { const { head_block_num: n } = await chain.get_info(); return [await chain.get_block(2), await chain.get_block_info(2), await chain.get_block(UInt32.from(n.value - 1)), await chain.get_block_header_state(n)] })
await step('block by id', async () => chain.get_block((await chain.get_info()).head_block_id).then((b) => b.producer))
await fails('no such block', 'unknown_block_exception', () => chain.get_block(99999999))
await step('accounts', async () => [await chain.get_account(alice), await chain.get_account(poor), await chain.get_account('eosio'), await chain.get_account('sysusraaaa')])
await fails('no such account', 'account_query_exception', () => chain.get_account('nobodyatall'))
await step('code', async () => [await chain.get_abi(exhibit), await chain.get_raw_abi(exhibit), await chain.get_abi(bob), await chain.get_raw_abi(bob)])
await step('balance', async () => [await chain.get_currency_balance(token, alice), await chain.get_currency_balance(token, alice, 'WHARF'), await chain.get_currency_balance(token, poor), await chain.get_currency_stats(token, 'WHARF')])
await step('lists', async () => [await chain.get_producer_schedule(), await chain.get_activated_protocol_features({ limit: 2 })])
await step('scopes', async () => [await chain.get_table_by_scope({ code: token }), await chain.get_table_by_scope({ code: token, table: 'accounts', limit: 1 }), await chain.get_table_by_scope({ code: token, table: 'accounts', lower_bound: bob, reverse: true })])

const table = { code: exhibit, scope: exhibit, table: 'rows' }
for (const q of queries) await step(`rows ${JSON.stringify(q)}`, () => client.call({ path: '/v1/chain/get_table_rows', params: { json: true, ...table, ...q } }).catch((e) => e.response.json))
await step('rows by keys of types', async () => [
  await chain.get_table_rows({ ...table, lower_bound: UInt64.from(2), upper_bound: UInt64.from(3) }),
  await chain.get_table_rows({ ...table, lower_bound: Name.from('............1'), limit: 1 }),
  await chain.get_table_rows({ ...table, index_position: 'secondary', key_type: 'i64', lower_bound: UInt64.from(7), limit: 1 }),
  await chain.get_table_rows({ ...table, index_position: 'tertiary', key_type: 'i128', lower_bound: UInt128.from(5), limit: 2 }),
  await chain.get_table_rows({ ...table, index_position: 'fourth', key_type: 'sha256', lower_bound: Checksum256.from('ab'.repeat(32)), limit: 1 }),
  await chain.get_table_rows({ ...table, index_position: 'fourth', key_type: 'ripemd160', lower_bound: Checksum160.from('00'.repeat(20)), limit: 2 }),
  await chain.get_table_rows({ ...table, index_position: 'fifth', key_type: 'float64', lower_bound: Float64.from(0.1), limit: 1 }),
  await chain.get_table_rows({ ...table, show_payer: true, limit: 1 }),
  await chain.get_table_rows({ ...table, json: false, limit: 1 }),
])
await step('all pages', async () => {
  const list = []
  for (let lower_bound; ;) {
    const page = await chain.get_table_rows({ ...table, limit: 2, lower_bound })
    list.push(...page.rows)
    if (!page.more) return list
    lower_bound = page.next_key
  }
})
