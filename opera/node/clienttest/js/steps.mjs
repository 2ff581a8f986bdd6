// What the libraries' scripts share: steps, and calls that no library makes.
import { readFileSync } from 'node:fs'

export const { NODE_URL, WS_URL, RICH_KEY, EXHIBIT } = process.env
export const { abi, bytecode } = JSON.parse(readFileSync(EXHIBIT, 'utf8'))
export const gwei = 10n ** 9n
export const coin = 10n ** 18n

// text is a value as JSON, and what JSON has no form for in JavaScript's.
export const text = (value) => JSON.stringify(value, (_, v) =>
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

const pause = (ms) => new Promise((done) => setTimeout(done, ms))

// step does something that has to succeed, and prints what came of it. It returns that.
export async function step(name, f) {
  await begin(name)
  try {
    const result = await f()
    console.log(text({ step: name, result }))
    return result
  } catch (e) {
    wrong(name, e.stack)
  }
}

// fails does something that the node has to refuse, and prints what the library made of it:
// told picks that from the error. The pattern is what it has to say.
export async function fails(name, pattern, told, f) {
  await begin(name)
  try {
    wrong(name, `it succeeds: ${text(await f())}`)
  } catch (e) {
    const error = text(told(e))
    if (!pattern.test(error)) wrong(name, `${error} does not say ${pattern}: ${e.stack}`)
    console.log(`{"step":${text(name)},"error":${error}}`)
  }
}

// either does what may fail, on both nodes in the same way.
export async function either(name, told, f) {
  await begin(name)
  try {
    console.log(text({ step: name, result: await f() }))
  } catch (e) {
    console.log(text({ step: name, error: told(e) }))
  }
}

// until waits until a condition holds.
export async function until(what, holds) {
  for (const end = Date.now() + 20000; !(await holds()); await pause(50)) if (Date.now() > end) throw new Error(`${what} does not come`)
}

// raw makes calls as no library does. Statuses, headers and bodies are compared by who listens.
export async function raw(name, calls) {
  await begin(name)
  for (const { method = 'POST', path = '/', body, headers = { 'content-type': 'application/json' } } of calls) {
    const answer = await fetch(NODE_URL + path, { method, body: typeof body === 'object' ? JSON.stringify(body) : body, headers })
    await answer.text()
  }
}
