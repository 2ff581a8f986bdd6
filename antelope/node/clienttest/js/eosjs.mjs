// A round of eosjs, with its own calls of the API.
import { readFileSync } from 'node:fs'
import eosjs from 'eosjs'
import signatures from 'eosjs/dist/eosjs-jssig.js'
import serialize from 'eosjs/dist/eosjs-serialize.js'
import { EOSIO_KEY, EXHIBIT, NODE_URL, TOKEN, USER_KEY, USER_PUBLIC, fails, queries, raw, rows, step, wrongQueries } from './steps.mjs'

const { Api, JsonRpc } = eosjs
const rpc = new JsonRpc(NODE_URL, { fetch })
const apiWith = (...keys) => new Api({ rpc, signatureProvider: new signatures.JsSignatureProvider(keys), textDecoder: new TextDecoder(), textEncoder: new TextEncoder() })
const api = apiWith(EOSIO_KEY, USER_KEY)
const tapos = { blocksBehind: 3, expireSeconds: 60 }

const [alice, bob, poor, token, exhibit] = ['eosjsalice', 'eosjsbob', 'eosjspoor', 'eosjstoken', 'eosjsexhibit']
const act = (account, name, data, ...actors) => ({ account, name, data, authorization: actors.map((a) => { const [actor, permission = 'active'] = a.split('@'); return { actor, permission } }) })
const transact = (...actions) => api.transact({ actions }, tapos)
const owner = { threshold: 1, keys: [{ key: USER_PUBLIC, weight: 1 }], accounts: [], waits: [] }
const create = (name, bytes) => [
  act('eosio', 'newaccount', { creator: 'eosio', name, owner, active: owner }, 'eosio'),
  act('eosio', 'buyrambytes', { payer: 'eosio', receiver: name, bytes }, 'eosio'),
  act('eosio', 'delegatebw', { from: 'eosio', receiver: name, stake_net_quantity: '100.0000 SYS', stake_cpu_quantity: '100.0000 SYS', transfer: false }, 'eosio'),
]
const setcode = (account, path) => act('eosio', 'setcode', { account, vmtype: 0, vmversion: 0, code: readFileSync(`${path}.wasm`).toString('hex') }, account)
function setabi(account, path) {
  const buffer = new serialize.SerialBuffer({ textEncoder: new TextEncoder(), textDecoder: new TextDecoder() })
  const definition = JSON.parse(readFileSync(`${path}.abi`, 'utf8'))
  for (const f of ['types', 'structs', 'actions', 'tables', 'ricardian_clauses', 'error_messages', 'abi_extensions', 'variants', 'action_results', 'kv_tables']) definition[f] ??= f === 'kv_tables' ? {} : []
  api.abiTypes.get('abi_def').serialize(buffer, definition)
  return act('eosio', 'setabi', { account, abi: Buffer.from(buffer.asUint8Array()).toString('hex') }, account)
}

await step('info', () => rpc.get_info())
for (const name of [alice, bob, token, exhibit]) await step(`create ${name}`, () => transact(...create(name, 400000)))
await step(`create ${poor}`, () => transact(...create(poor, 2200)))
await step('set token', () => transact(setcode(token, TOKEN), setabi(token, TOKEN)))
await step('set exhibit', () => transact(setcode(exhibit, EXHIBIT), setabi(exhibit, EXHIBIT)))
await fails('set the same code', 'set_exact_code', () => transact(setcode(exhibit, EXHIBIT)))

await step('create token', () => transact(act(token, 'create', { issuer: alice, maximum_supply: '1000000.000 JS' }, token)))
await step('issue', () => transact(act(token, 'issue', { to: alice, quantity: '1000.000 JS', memo: 'all mine' }, alice)))
await step('transfer', () => transact(act(token, 'transfer', { from: alice, to: bob, quantity: '10.500 JS', memo: 'ünïcode ☃ "quoted" \\ \n\t' }, alice)))
await step('transfer, compressed', () => api.transact({ actions: [act(token, 'transfer', { from: alice, to: bob, quantity: '0.001 JS', memo: 'x'.repeat(200) }, alice)] }, { ...tapos, compression: true }))
await step('transfer, irreversible block', () => api.transact({ actions: [act(token, 'transfer', { from: bob, to: alice, quantity: '0.001 JS', memo: '' }, bob)] }, { useLastIrreversible: true, expireSeconds: 60 }))
await step('two actors', () => transact(act(token, 'transfer', { from: alice, to: bob, quantity: '0.001 JS', memo: '1' }, alice), act(token, 'transfer', { from: bob, to: alice, quantity: '0.002 JS', memo: '2' }, bob, alice)))
await step('context-free', () => api.transact({ context_free_actions: [act(exhibit, 'nothing', {})], context_free_data: ['00ff'], actions: [act(exhibit, 'say', { text: 'hello' }, alice)] }, tapos))
await step('say', () => transact(act(exhibit, 'say', { text: 'hello, world' }, alice)))
await step('notify', () => transact(act(exhibit, 'notify', { account: bob }, alice)))
for (const [i, row] of rows.entries()) await step(`row ${i}`, () => transact(act(exhibit, 'add', { ...row, payer: exhibit }, exhibit)))
await step('permission', () => transact(act('eosio', 'updateauth', { account: alice, permission: 'spend', parent: 'active', auth: owner }, alice),
  act('eosio', 'linkauth', { account: alice, code: token, type: 'transfer', requirement: 'spend' }, alice)))
await step('by permission', () => transact(act(token, 'transfer', { from: alice, to: bob, quantity: '0.003 JS', memo: '' }, `${alice}@spend`)))
await step('read-only', () => api.transact({ actions: [act(exhibit, 'say', { text: 'read' })] }, { ...tapos, readOnlyTrx: true, returnFailureTraces: true }).catch((e) => ({ refused: e.message })))

await fails('assertion', 'eosio_assert_message_exception', () => transact(act(exhibit, 'fail', { text: 'no, "never"' }, alice)))
await fails('odd assertion', 'eosio_assert_message_exception', () => transact(act(exhibit, 'fail', { text: 'a\tb\nc\u0001d\u007f \\ ☃ {"x":"${y}"}' }, alice)))
await fails('long assertion', 'eosio_assert_message_exception', () => transact(act(exhibit, 'fail', { text: 'long '.repeat(300) }, alice)))
await fails('assertion of almost all that is shown', 'eosio_assert_message_exception', () => transact(act(exhibit, 'fail', { text: 'x'.repeat(989) }, alice)))
await fails('assertion by code', 'eosio_assert_code_exception', () => transact(act(exhibit, 'failcode', { code: 7 }, alice)))
await fails('big assertion code', 'restricted_error_code_exception', () => transact(act(exhibit, 'failcode', { code: '10000000000000000000' }, alice)))
await fails('overdrawn', 'eosio_assert_message_exception', () => transact(act(token, 'transfer', { from: bob, to: alice, quantity: '999.000 JS', memo: '' }, bob)))
await fails('primary key taken', 'N5boost10wrapexceptISt11logic_errorEE', () => transact(act(exhibit, 'add', { ...rows[0], payer: exhibit }, exhibit)))
await fails('missing authority', 'missing_auth_exception', () => transact(act(token, 'transfer', { from: alice, to: bob, quantity: '1.000 JS', memo: '' }, bob)))
await fails('existing account', 'account_name_exists_exception', () => transact(create(alice, 1)[0]))
await fails('no key for it', 'unsatisfied_authorization', () => apiWith(EOSIO_KEY).transact({ actions: [act(token, 'transfer', { from: alice, to: bob, quantity: '1.000 JS', memo: '' }, alice)] }, tapos))
await fails('another key', 'unsatisfied_authorization', () => apiWith(EOSIO_KEY).transact({ actions: [act(token, 'transfer', { from: alice, to: bob, quantity: '1.000 JS', memo: '' }, alice)] }, { ...tapos, requiredKeys: [api.signatureProvider.availableKeys[0]] }))
await fails('a key too many', 'tx_irrelevant_sig', () => api.transact({ actions: [act(token, 'transfer', { from: alice, to: bob, quantity: '1.000 JS', memo: '' }, alice)] }, { ...tapos, requiredKeys: api.signatureProvider.availableKeys }))
await fails('unknown actor', 'unsatisfied_authorization', () => transact(act(token, 'open', { owner: 'nobodyatall', symbol: '3,JS', ram_payer: 'nobodyatall' }, 'nobodyatall')))
await fails('unknown permission', 'unsatisfied_authorization', () => transact(act(token, 'transfer', { from: alice, to: bob, quantity: '1.000 JS', memo: '' }, `${alice}@nosuch`)))
await fails('not linked', 'irrelevant_auth_exception', () => transact(act(exhibit, 'say', { text: '' }, `${alice}@spend`)))
await fails('RAM', 'ram_usage_exceeded', () => transact(act(exhibit, 'add', { ...rows[0], key: 100, payer: poor }, poor)))
await fails('net', 'tx_net_usage_exceeded', () => api.transact({ max_net_usage_words: 1, actions: [act(exhibit, 'say', { text: 'x'.repeat(100) }, alice)] }, tapos))
await fails('CPU', 'tx_cpu_usage_exceeded', () => api.transact({ max_cpu_usage_ms: 5, actions: [act(exhibit, 'spin', {}, alice)] }, tapos))
await fails('CPU of the chain', 'tx_cpu_usage_exceeded', () => transact(act(exhibit, 'spin', {}, alice)))
await fails('unknown action of a contract', 'eosio_assert_code_exception', () => api.transact({ actions: [{ ...act(exhibit, 'nosuch', '', alice), data: '' }] }, tapos))

const say = { actions: [act(exhibit, 'say', { text: 'again' }, alice)] }
await step('duplicate', async () => {
  const signed = await api.transact(say, { ...tapos, broadcast: false })
  await api.pushSignedTransaction(signed)
  return api.pushSignedTransaction(signed).catch((e) => e.json)
})
const header = async (more) => {
  const info = await rpc.get_info()
  const block = await rpc.get_block_info(info.head_block_num)
  const time = (s) => new Date(Date.parse(info.head_block_time + 'Z') + s * 1000).toISOString().slice(0, 19)
  return { expiration: time(60), ref_block_num: block.block_num & 0xffff, ref_block_prefix: block.ref_block_prefix, ...more(time) }
}
await fails('expired', 'expired_tx_exception', async () => api.transact({ ...say, ...(await header((time) => ({ expiration: time(-60) }))) }))
await fails('expires too late', 'tx_exp_too_far_exception', async () => api.transact({ ...say, ...(await header((time) => ({ expiration: time(100000) }))) }))
await fails('another reference block', 'invalid_ref_block_exception', async () => api.transact({ ...say, ...(await header(() => ({ ref_block_prefix: 1 }))) }))

await step('block', async () => rpc.get_block(2))
await step('block info', async () => rpc.get_block_info(2))
// The blocks that the head step shows have to be ones without transactions.
await new Promise((done) => setTimeout(done, 3000))
await step('head', async () => { const { head_block_num: n } = await rpc.get_info(); return [await rpc.get_block(n - 1), await rpc.get_block_info(n - 1), await rpc.get_block_header_state(n)] })
await fails('no such block', 'unknown_block_exception', () => rpc.get_block(99999999))
await step('account', () => rpc.get_account(alice))
await step('accounts', async () => [await rpc.get_account('eosio'), await rpc.get_account(exhibit), await rpc.get_account(poor), await rpc.get_account('eosio.token')])
await fails('no such account', 'account_query_exception', () => rpc.get_account('nobodyatall'))
await step('code', async () => [await rpc.get_abi(exhibit), await rpc.get_raw_abi(exhibit), await rpc.get_code_hash(exhibit), await rpc.get_raw_code_and_abi(exhibit), await rpc.get_abi(bob), await rpc.get_code_hash(bob), await rpc.get_raw_code_and_abi(bob)])
await step('balance', async () => [await rpc.get_currency_balance(token, alice), await rpc.get_currency_balance(token, alice, 'JS'), await rpc.get_currency_balance(token, poor, 'JS'), await rpc.get_currency_stats(token, 'JS'), await rpc.get_currency_stats(token, 'NO')])
await step('lists', async () => [await rpc.get_producers(true, '', 2), await rpc.get_producers(false), await rpc.get_producer_schedule(), await rpc.get_scheduled_transactions(true, '', 5), await rpc.get_activated_protocol_features({ limit: 3, reverse: true })])
await step('scopes', async () => [await rpc.get_table_by_scope({ code: token }), await rpc.get_table_by_scope({ code: token, table: 'accounts', limit: 1 }), await rpc.get_table_by_scope({ code: exhibit })])
for (const q of queries) await step(`rows ${JSON.stringify(q)}`, () => rpc.get_table_rows({ code: exhibit, scope: exhibit, table: 'rows', ...q }).catch((e) => e.json))
for (const q of wrongQueries) await step(`wrong rows ${JSON.stringify(q)}`, () => rpc.get_table_rows({ code: exhibit, scope: exhibit, table: 'rows', ...q }).catch((e) => e.json))
await step('all pages', async () => {
  const list = []
  for (let more = true, key = ''; more;) {
    const page = await rpc.get_table_rows({ code: exhibit, scope: exhibit, table: 'rows', limit: 2, lower_bound: key })
    list.push(...page.rows);
    ({ more, next_key: key } = page)
  }
  return list
})
await step('unknown calls', async () => [await rpc.history_get_actions(alice).catch((e) => e.json), await rpc.get_kv_table_rows({ code: exhibit, table: 'rows', index_name: 'x' }).catch((e) => e.json), await rpc.trace_get_block(2).catch((e) => e.json)])
await step('conversions', async () => [await rpc.abi_json_to_bin(exhibit, 'say', { text: 'x' }).catch((e) => e.json), await rpc.abi_bin_to_json(exhibit, 'say', '0178').catch((e) => e.json)])

const text = 'text/plain;charset=UTF-8'
await raw('what no library sends', [
  ['POST', '/v1/chain/get_account', '{', text], ['POST', '/v1/chain/get_account', '', text], ['POST', '/v1/chain/get_account', '[]', text], ['POST', '/v1/chain/get_account', '"alice"', text],
  ['POST', '/v1/chain/get_account', '{"account_name":7}', text], ['POST', '/v1/chain/get_account', '{"account_name":""}', text], ['POST', '/v1/chain/get_account', '{"account_name":"Wrong!"}', text],
  ['GET', '/v1/chain/get_account'], ['GET', '/v1/chain/get_info'], ['POST', '/v1/chain/get_info', '{"a":1}', text], ['POST', '/v1/chain/get_info', 'nonsense', text],
  ['GET', '/v1/chain/nosuch'], ['POST', '/v1/nosuch', '{}', text], ['GET', '/'], ['PUT', '/v1/chain/get_info', '{}', text], ['OPTIONS', '/v1/chain/get_info'], ['DELETE', '/v1/chain/get_info'],
  ['POST', '/v1/chain/get_block', '{}', text], ['POST', '/v1/chain/get_block', '{"block_num_or_id":null}', text], ['POST', '/v1/chain/get_block', '{"block_num_or_id":1.5}', text], ['POST', '/v1/chain/get_block', '{"block_num_or_id":-1}', text],
  ['POST', '/v1/chain/get_block_info', '{"block_num":"2"}', text], ['POST', '/v1/chain/get_block_info', '{}', text], ['POST', '/v1/chain/get_table_rows', '{}', text], ['POST', '/v1/chain/get_table_rows', '{"code":"eosio"}', text],
  ['POST', '/v1/chain/push_transaction', '{}', text], ['POST', '/v1/chain/push_transaction', '[]', text], ['POST', '/v1/chain/send_transaction', '{"signatures":[],"compression":"none","packed_trx":"zz","packed_context_free_data":""}', text],
  ['POST', '/v1/chain/send_transaction2', '{}', text], ['POST', '/v1/chain/compute_transaction', '{}', text], ['POST', '/v1/chain/get_currency_stats', '{"code":"eosio.token","symbol":""}', text],
  ['POST', '/v1/chain/get_currency_balance', '{"code":"eosio.token","account":"eosio","symbol":"sys"}', text], ['POST', '/v1/chain/get_required_keys', '{}', text],
  ['POST', '/v1/chain/get_abi', '{"account_name":"nobodyatall"}', text], ['POST', '/v1/chain/get_code', `{"account_name":"${exhibit}"}`, text], ['POST', '/v1/chain/get_raw_abi', '{"account_name":"nobodyatall"}', text],
  ['POST', '/v1/node/get_supported_apis', '', text], ['POST', '/v1/net/status', '"nowhere:1"', text], ['POST', '/v1/net/connections', '', text],
])
