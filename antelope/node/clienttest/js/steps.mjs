// What both libraries' scripts share: steps, calls that no library makes, and the rows
// of the contract's table.

export const { NODE_URL, EOSIO_KEY, USER_KEY, USER_PUBLIC, EXHIBIT, TOKEN } = process.env

// text is a value as JSON, and what JSON has no form for in JavaScript's.
const text = (value) => JSON.stringify(value, (_, v) =>
  typeof v === 'bigint' ? `${v}n` : v instanceof Uint8Array ? Buffer.from(v).toString('hex') : v === undefined ? null : v)

async function begin(name) {
  const answer = await fetch(`${NODE_URL}/step/${encodeURIComponent(name)}`)
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`)
}

// wrong says what went otherwise than it has to; the rest is still compared.
function wrong(name, said) {
  console.error(`${name}: ${said}`)
  process.exitCode = 1
}

// step does something that has to succeed, in new blocks, and prints what came of it.
export async function step(name, f) {
  await begin(name)
  try {
    console.log(text({ step: name, result: await f() }))
  } catch (e) {
    wrong(name, `${e.stack} ${text(e.json ?? e.response?.json ?? {})}`)
  }
}

// fails does something that the node has to refuse with that exception, and prints what
// the library made of it. Some lose the exception's name: then its message tells.
export async function fails(name, exception, f) {
  await begin(name)
  try {
    wrong(name, `it succeeds: ${text(await f())}`)
  } catch (e) {
    const found = e.json?.error?.name ?? e.response?.json?.error?.name
    if (exception instanceof RegExp ? !exception.test(e.message) : found !== exception) wrong(name, `${found} instead of ${exception}: ${e.stack} ${text(e.json ?? e.response?.json ?? {})}`)
    console.log(text({ step: name, name: e.name, message: e.message, details: e.details, code: e.code }))
  }
}

// either does what versions of nodeos differ in.
export async function either(name, f) {
  await begin(name)
  const result = await f().catch((e) => e.response.json)
  console.log(text({ step: name, result }))
}

// raw makes calls as no library does. Statuses and bodies are compared by who listens.
export async function raw(name, calls) {
  await begin(name)
  for (const [method, path, body, type] of calls) {
    const answer = await fetch(NODE_URL + path, { method, body, headers: type ? { 'content-type': type } : {} })
    await answer.text()
  }
}

// rows of the contract's table, some keys of which are equal.
export const rows = [
  { key: 1, word: 7, wide: '340282366920938463463374607431768211455', real: '-1.5', precise: '00000000000000000000000000000040', hash: '00'.repeat(31) + '01' },
  { key: 2, word: 7, wide: '18446744073709551616', real: '0', precise: '0000000000000000000000000080ff3f', hash: 'ff' + '00'.repeat(31) },
  { key: 3, word: '18446744073709551615', wide: '5', real: '1e300', precise: '0000000000000000000000000000ffbf', hash: '00'.repeat(15) + '0100' + '00'.repeat(15) },
  { key: '9007199254740993', word: 4294967296, wide: '4294967296', real: '0.1', precise: '000000000000000000000000000000c0', hash: 'ab'.repeat(32) },
  { key: '18446744073709551615', word: 1, wide: '1', real: '3', precise: '00000000000000000000000000000000', hash: '12'.repeat(32) },
]

// queries of the table: index, type of the key, bounds.
export const queries = [
  {}, { limit: 2 }, { limit: 2, reverse: true }, { lower_bound: 2, upper_bound: 3 }, { lower_bound: '9007199254740993' }, { upper_bound: 2, reverse: true },
  { lower_bound: 5, upper_bound: 4 }, { show_payer: true, limit: 1 }, { json: false, limit: 2 }, { json: false, show_payer: true, limit: 1 }, { limit: 0 },
  { key_type: 'name', lower_bound: '............1', limit: 1 }, { key_type: 'i64', lower_bound: '2', limit: 1 }, { key_type: 'uint64', limit: 1 },
  { index_position: 2, key_type: 'i64' }, { index_position: 'secondary', key_type: 'i64', lower_bound: 7, upper_bound: 7 },
  { index_position: 2, key_type: 'i64', limit: 1, lower_bound: 7 }, { index_position: 2, key_type: 'i64', reverse: true, limit: 3 }, { index_position: 2, key_type: 'name', limit: 2 },
  { index_position: 3, key_type: 'i128' }, { index_position: 'third', key_type: 'i128', lower_bound: '18446744073709551616' },
  { index_position: 3, key_type: 'i128', lower_bound: '0x05', limit: 2 }, { index_position: 3, key_type: 'i128', upper_bound: '5', reverse: true, limit: 1 },
  { index_position: 4, key_type: 'i256' }, { index_position: 'fourth', key_type: 'sha256', lower_bound: 'ab'.repeat(32), upper_bound: 'ab'.repeat(32) },
  { index_position: 4, key_type: 'sha256', limit: 1 }, { index_position: 4, key_type: 'i256', limit: 1, reverse: true }, { index_position: 4, key_type: 'ripemd160', limit: 2 },
  { index_position: 5, key_type: 'float64' }, { index_position: 'fifth', key_type: 'float64', lower_bound: '0.1', limit: 1 }, { index_position: 5, key_type: 'float64', upper_bound: '-1', reverse: true },
  { index_position: 6, key_type: 'float128' }, { index_position: 'sixth', key_type: 'float128', lower_bound: '0.5', limit: 1 }, { index_position: 6, key_type: 'float128', limit: 1, reverse: true },
  { index_position: 2, key_type: 'i64', encode_type: 'hex', limit: 1 }, { index_position: 3, key_type: 'i128', encode_type: 'hex', limit: 1 },
  { index_position: 7, key_type: 'i64' },
]

// what is asked wrongly: members of the call for rows.
export const wrongQueries = [
  { table: 'nosuch' }, { code: 'nobodyatall' }, { scope: 'Not A Scope' }, { index_position: 2 }, { index_position: 2, key_type: 'i7' }, { index_position: 'nonsense' },
  { lower_bound: 'Not A Key' }, { index_position: 4, key_type: 'sha256', lower_bound: 'xyz' }, { index_position: 5, key_type: 'float64', lower_bound: 'much' }, { limit: 'some' },
  { code: 'Not_A_Name' }, { index_position: 11, key_type: 'i64' }, { index_position: 3, key_type: 'i128', lower_bound: '-' },
]
