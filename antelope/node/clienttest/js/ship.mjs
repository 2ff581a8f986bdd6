// A client of state history. It asks for the status and then for blocks, as REQUEST says
// in JSON, allows ACK messages more whenever it has taken as many, and writes what it makes
// of each message as a line, until it has the block whose id is UNTIL or whose number is LAST.
// DECODER is who decodes: wharfkit, abieos (Hyperion's), or reader (eosio-ship-reader,
// which speaks to the node itself).
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { ABI, Serializer } from '@wharfkit/antelope'
import WebSocket from 'ws'

const { SHIP_URL, NODE_URL, DECODER } = process.env
// abieos wants the members in the ABI's order.
const request = { start_block_num: 1, end_block_num: 0xffffffff, max_messages_in_flight: 10, have_positions: [], irreversible_only: false,
  fetch_block: true, fetch_traces: true, fetch_deltas: true, ...JSON.parse(process.env.REQUEST ?? '{}') }
const ack = Number(process.env.ACK ?? 1)
const require = createRequire(import.meta.url)

const text = (value) => JSON.stringify(value, (_, v) =>
  typeof v === 'bigint' ? `${v}n` : v instanceof Uint8Array ? Buffer.from(v).toString('hex') : v === undefined ? null : v)
// What it says goes to the fourth file that it is given: libraries write to the others.
const say = (value) => writeFileSync(3, text(value) + '\n')
const isLast = ({ block_num, block_id }) =>
  process.env.UNTIL ? String(block_id).toLowerCase() === process.env.UNTIL : Number(block_num) === Number(process.env.LAST)

function fail(error) {
  console.error(error.stack ?? error)
  process.exit(1)
}
process.on('unhandledRejection', fail)

// wharfkit decodes by the ABI that the node sends.
function wharfkit(abi) {
  const known = ABI.from(JSON.parse(abi))
  return {
    encode: (object) => Serializer.encode({ object, type: 'request', abi: known }).array,
    decode: (type, data) => Serializer.objectify(Serializer.decode({ data: typeof data === 'string' ? data : new Uint8Array(data), type, abi: known })),
    action: () => null,
    row: () => null,
  }
}

// abieos does too, and decodes what contracts' actions and rows say by the ABIs that the
// changes to accounts tell of.
function abieos(abi) {
  const { Abieos } = require('@eosrio/node-abieos')
  const lib = Abieos.getInstance()
  if (!lib.loadAbi('ship', abi)) throw new Error('the ABI is not taken')
  const contracts = new Set()
  const by = (contract, type, data) => {
    try {
      return data === '' ? null : lib.hexToJson(contract, type(), data)
    } catch (e) {
      return `not decoded: ${String(e.message).replace(/^\[[^\]]*\] /, '')}` // the library's own number
    }
  }
  return {
    encode: (object) => Buffer.from(lib.jsonToHex('ship', 'request', object), 'hex'),
    decode: (type, data) => typeof data === 'string' ? lib.hexToJson('ship', type, data) : lib.binToJson('ship', type, data),
    account({ name, abi: told }) {
      if (contracts.delete(name)) lib.deleteContract(name)
      if (told && lib.loadAbiHex(name, told)) contracts.add(name)
    },
    action: ({ account, name, data }) => contracts.has(account) ? by(account, () => lib.getTypeForAction(account, name), data) : null,
    row: ({ code, table, value }) => contracts.has(code) ? by(code, () => lib.getTypeForTable(code, table), value) : null,
  }
}

// whole is a message with all that is in it.
function whole(by, [kind, message]) {
  if (kind !== 'get_blocks_result_v0') throw new Error(`${kind} comes instead of a block`)
  const out = { ...message }
  if (message.block) {
    out.block = by.decode('signed_block', message.block)
    out.transactions = out.block.transactions.map(({ trx: [kind, trx] }) => kind === 'packed_transaction' && trx.compression === 0 ? by.decode('transaction', trx.packed_trx) : trx)
  }
  if (message.deltas) {
    out.deltas = by.decode('table_delta[]', message.deltas).map(([version, { name, rows }]) =>
      [version, name, rows.map(({ present, data }) => ({ present, data: by.decode(name, data) }))])
    for (const [, name, rows] of out.deltas) {
      for (const { data: [, row] } of rows) {
        if (name === 'account') by.account?.(row)
        if (name === 'contract_row') row.decoded = by.row(row)
      }
    }
  }
  if (message.traces) {
    out.traces = by.decode('transaction_trace[]', message.traces)
    for (const [, trace] of out.traces) for (const [, a] of trace.action_traces) a.decoded = by.action(a.act)
  }
  return out
}

async function stream(decoder) {
  const socket = new WebSocket(SHIP_URL)
  let by, status = false, taken = 0
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the node ends the connection')))
  socket.on('message', (data, binary) => {
    try {
      if (!by) {
        if (binary) throw new Error('the ABI is no text')
        by = decoder(data.toString())
        return socket.send(by.encode(['get_status_request_v0', {}]))
      }
      const result = by.decode('result', data)
      if (!status) {
        status = true
        say(result)
        return socket.send(by.encode(['get_blocks_request_v0', request]))
      }
      say(whole(by, result))
      if (++taken % ack === 0) socket.send(by.encode(['get_blocks_ack_request_v0', { num_messages: ack }]))
      if (isLast(result[1].this_block)) {
        socket.removeAllListeners('close')
        socket.close()
      }
    } catch (e) {
      fail(e)
    }
  })
}

// reader is eosio-ship-reader with all tables, and with the contracts that CONTRACTS
// names, whose ABIs it is given as the node tells them.
async function reader() {
  const { createEosioShipReader } = require('@blockmatic/eosio-ship-reader')
  const abis = new Map()
  for (const account_name of process.env.CONTRACTS.split(',').filter(Boolean)) {
    const answer = await (await fetch(`${NODE_URL}/v1/chain/get_abi`, { method: 'POST', body: text({ account_name }) })).json()
    abis.set(account_name, answer.abi)
  }
  const tables = ['account', 'account_metadata', 'code', 'contract_table', 'contract_row', 'contract_index64', 'contract_index128', 'contract_index256',
    'contract_index_double', 'contract_index_long_double', 'global_property', 'generated_transaction', 'protocol_state', 'permission', 'permission_link',
    'resource_limits', 'resource_usage', 'resource_limits_state', 'resource_limits_config']
  const rows = [...abis].flatMap(([code, abi]) => abi.tables.map(({ name: table }) => ({ code, table })))
  const client = await createEosioShipReader({ ws_url: SHIP_URL, rpc_url: NODE_URL, ds_threads: 1, ds_experimental: false, auto_start: false, request,
    delta_whitelist: () => tables, table_rows_whitelist: () => rows, actions_whitelist: () => [...abis.keys()].map((code) => ({ code, action: '*' })),
    contract_abis: () => abis })
  const done = new Promise((end) => client.blocks$.subscribe((block) => {
    say({ block })
    if (isLast(block)) end()
  }))
  for (const name of ['forks$', 'rows$', 'transactions$']) client[name].subscribe((value) => say({ [name]: value }))
  client.errors$.subscribe((e) => fail(e.error ?? new Error(e.message)))
  client.close$.subscribe(() => fail(new Error('the node ends the connection')))
  client.log$.subscribe(({ message }) => { if (/missing|does not contain/.test(message)) say({ message }) })
  client.start()
  await done
  client.stop()
  process.exit()
}

await ({ wharfkit: () => stream(wharfkit), abieos: () => stream(abieos), reader })[DECODER]().catch(fail)
