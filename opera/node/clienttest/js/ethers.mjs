// A round of ethers 6.
import { ethers } from 'ethers'
import { NODE_URL, RICH_KEY, WS_URL, abi, bytecode, coin, either, fails, gwei, raw, step, until } from './steps.mjs'

// Answers are cached for a quarter of a second otherwise: how often it asks would be by chance.
const provider = new ethers.JsonRpcProvider(NODE_URL, undefined, { cacheTimeout: -1, pollingInterval: 100 })
const rich = new ethers.Wallet(RICH_KEY, provider)
const alice = new ethers.Wallet(ethers.id('ethers alice'), provider)
const bob = new ethers.Wallet(ethers.id('ethers bob'), provider)
const poor = new ethers.Wallet(ethers.id('ethers poor'), provider)
const chainId = 4003n
const price = 400n * gwei
const told = (e) => ({ code: e.code, shortMessage: e.shortMessage, reason: e.reason, action: e.action, data: e.data, revert: e.revert, invocation: e.invocation, error: e.info?.error ?? e.error?.error ?? e.error })
const sent = async (tx) => {
  const receipt = await (await tx).wait()
  return { receipt, transaction: await provider.getTransaction(receipt.hash) }
}
// in a block, though it fails there
const failed = async (tx) => {
  const { hash } = await tx
  await until('a receipt', () => provider.getTransactionReceipt(hash))
  return provider.getTransactionReceipt(hash)
}

await step('network', () => provider.getNetwork())
await step('client', () => provider.send('web3_clientVersion', []))
await step('balances', async () => [await provider.getBalance(rich.address), await provider.getBalance(alice.address), await provider.getBalance(alice.address, 'pending')])
await step('nonces', async () => [await provider.getTransactionCount(rich.address), await provider.getTransactionCount(alice.address, 'pending'), await provider.getTransactionCount(alice.address, 0)])
await step('fees', () => provider.getFeeData().then((fees) => ({ ...fees })))
await step('fee history', () => provider.send('eth_feeHistory', ['0x2', 'latest', [10, 50]]))

await step('legacy', () => sent(rich.sendTransaction({ type: 0, to: alice.address, value: 1000n * coin, gasPrice: price })))
await step('access list', () => sent(rich.sendTransaction({ type: 1, to: bob.address, value: 1000n * coin, gasPrice: price, accessList: [{ address: bob.address, storageKeys: [ethers.ZeroHash] }] })))
await step('dynamic fee', () => sent(rich.sendTransaction({ type: 2, to: bob.address, value: 1n, maxFeePerGas: price, maxPriorityFeePerGas: 3n * gwei })))
await step('fees by the library', () => sent(alice.sendTransaction({ to: bob.address, value: 12345n })))
await step('data, two confirmations', async () => {
  const receipt = await (await alice.sendTransaction({ to: bob.address, data: '0x0102030405', gasPrice: price })).wait(2)
  return [receipt, (await receipt.confirmations()) >= 2]
})
await step('balances after', async () => [await provider.getBalance(bob.address), await provider.getTransactionCount(rich.address)])

const factory = new ethers.ContractFactory(abi, bytecode, alice)
let exhibit
await step('deploy', async () => {
  exhibit = await factory.deploy(1000n * coin, { value: 7n, gasPrice: price })
  await exhibit.waitForDeployment()
  return [await exhibit.getAddress(), await exhibit.deploymentTransaction().wait()]
})
const at = await exhibit.getAddress()
await step('code', async () => [await provider.getCode(at), await exhibit.getDeployedCode(), await provider.getCode(bob.address), await provider.getStorage(at, 0), await provider.getStorage(at, 77)])
await step('read', async () => [await exhibit.name(), await exhibit.decimals(), await exhibit.totalSupply(), await exhibit.balanceOf(alice.address), await exhibit.around({ value: 3n, from: alice.address })])
let first, last
await step('transfer', async () => {
  const { receipt } = await sent(exhibit.transfer(bob.address, 5n * coin, { gasPrice: price }))
  first = receipt.blockNumber
  return receipt.logs.map((l) => l.args ?? l)
})
await step('approve and take', async () => {
  await sent(exhibit.approve(bob.address, 100n, { gasPrice: price }))
  return sent(exhibit.connect(bob).transferFrom(alice.address, poor.address, 60n, { gasPrice: price }))
})
await step('note', () => sent(exhibit.note(18446744073709551615n, 'ünïcode ☃ "quoted" \\ \n\t', [ethers.id('a'), ethers.ZeroHash], { gasPrice: price })))
await step('entry', () => exhibit.entry(0).then((e) => e.toObject(true)))
await step('shower', async () => {
  const { receipt } = await sent(exhibit.shower(12, { gasPrice: price }))
  last = receipt.blockNumber
  return receipt.logs.length
})
await step('receive', () => sent(alice.sendTransaction({ to: at, value: 99n, gasPrice: price })))

// go-opera has no order within a block.
const shown = (logs) => logs.sort((a, b) => a.blockNumber - b.blockNumber || a.index - b.index).map((l) => [l.eventName, l.args?.toArray?.(), l.data, l.topics, l.index, l.blockNumber, l.transactionHash])
await step('events', async () => shown(await exhibit.queryFilter('*', 0)))
await step('events by argument', async () => shown(await exhibit.queryFilter(exhibit.filters.Transfer(null, bob.address), first, last)))
await step('events by arguments', async () => shown(await exhibit.queryFilter(exhibit.filters.Transfer(alice.address, [bob.address, poor.address]), first)))
await step('events by a text', async () => shown(await exhibit.queryFilter(exhibit.filters.Noted(null, 'nothing'), 0)))
await step('logs', async () => {
  const block = await provider.getBlock(last)
  return [await provider.getLogs({ blockHash: block.hash }), await provider.getLogs({ address: [at, bob.address], fromBlock: last, toBlock: 'latest' }),
    await provider.getLogs({ topics: [null, ethers.zeroPadValue(alice.address, 32)], fromBlock: first }), await provider.getLogs({ fromBlock: last, toBlock: first, address: at })]
})
await step('filters', async () => {
  const ids = [await provider.send('eth_newFilter', [{ address: at, fromBlock: 'latest' }]), await provider.send('eth_newBlockFilter', []), await provider.send('eth_newPendingTransactionFilter', [])]
  const before = await provider.send('eth_getFilterLogs', [await provider.send('eth_newFilter', [{ address: at, fromBlock: ethers.toQuantity(first), toBlock: ethers.toQuantity(last) }])])
  await sent(exhibit.transfer(bob.address, 11n, { gasPrice: price }))
  const logs = []
  await until('a log', async () => logs.push(...(await provider.send('eth_getFilterChanges', [ids[0]]))) && logs.length > 0)
  const blocks = await provider.send('eth_getFilterChanges', [ids[1]])
  const pending = await provider.send('eth_getFilterChanges', [ids[2]])
  return [before.length, logs, blocks.length > 0, pending.length, await provider.send('eth_uninstallFilter', [ids[0]]), await provider.send('eth_uninstallFilter', [ids[0]])]
})
await fails('changes of no filter', /filter not found/, told, () => provider.send('eth_getFilterChanges', ['0x123']))

await step('blocks', async () => {
  const block = await provider.getBlock(last, true)
  return [block.toJSON(), await block.getTransaction(0), await provider.getBlock(block.hash), await provider.getBlock('pending').then((b) => b.transactions.length), await provider.getBlock('earliest'), await provider.getBlock(0), await provider.getBlock(99999999)]
})
await either('finalized', told, async () => (await provider.getBlock('finalized')).number > 0)
await step('what there is not', async () => [await provider.getTransaction(ethers.id('none')), await provider.getTransactionReceipt(ethers.id('none')), await provider.getBlock(ethers.id('none'))])
await step('proof', () => provider.send('eth_getProof', [at, ['0x0', ethers.ZeroHash, '0x77'], 'latest']))
await step('proof of nobody', () => provider.send('eth_getProof', [ethers.computeAddress(ethers.id('nobody')), ['0x0'], 'latest']))
await step('estimates', async () => [await exhibit.transfer.estimateGas(bob.address, 1n), await exhibit.shower.estimateGas(3), await provider.estimateGas({ to: bob.address, value: 1n, from: alice.address }), await provider.estimateGas({ from: alice.address, data: bytecode + '00'.repeat(32) })])
await either('access list of a call', told, () => provider.send('eth_createAccessList', [{ from: alice.address, to: at, data: exhibit.interface.encodeFunctionData('transfer', [bob.address, 1n]), gasPrice: ethers.toQuantity(price) }, 'latest']))
await step('call of the past', () => exhibit.balanceOf(bob.address, { blockTag: first }))
await either('call with overrides', told, () => provider.send('eth_call', [{ to: bob.address, data: '0x' }, 'latest', { [bob.address]: { code: '0x602a60005260206000f3' } }]))
await step('many at once', () => Promise.all([0, 1, 2, 3, 4, 5].map((i) => [provider.getBalance(alice.address), exhibit.balanceOf(bob.address), provider.getTransactionCount(bob.address)][i % 3])))

await fails('reason', /CALL_EXCEPTION.*never/, told, () => exhibit.fail('no, "never"'))
await fails('no reason', /CALL_EXCEPTION/, told, () => exhibit.silent())
await fails('division by zero', /CALL_EXCEPTION.*DIVIDE_BY_ZERO|Panic/, told, () => exhibit.divide(0))
await fails('own error', /CALL_EXCEPTION.*Insufficient/, told, () => exhibit.transfer.staticCall(bob.address, 10n ** 30n))
await fails('required', /CALL_EXCEPTION.*not so much is allowed/, told, () => exhibit.connect(bob).transferFrom(alice.address, bob.address, 10n ** 30n))
await fails('estimate of what fails', /CALL_EXCEPTION.*unknown custom error/, told, () => exhibit.transfer.estimateGas(bob.address, 10n ** 30n))
await fails('no such function', /CALL_EXCEPTION/, told, () => provider.call({ to: at, data: '0x12345678' }))
await fails('out of gas', /out of gas/, told, () => provider.send('eth_call', [{ to: at, data: exhibit.interface.encodeFunctionData('spin'), gas: '0x10000' }, 'latest']))
await fails('creation that fails', /CALL_EXCEPTION|invalid opcode/, told, () => provider.estimateGas({ from: alice.address, data: '0xfe' }))
await step('fails in a block', () => failed(exhibit.transfer(bob.address, 10n ** 30n, { gasLimit: 100000n, gasPrice: price })))
await step('out of gas in a block', () => failed(exhibit.shower(100, { gasLimit: 50000n, gasPrice: price })))
await fails('waiting for what fails', /CALL_EXCEPTION/, (e) => ({ code: e.code, reason: e.reason, status: e.receipt?.status }), () => sent(exhibit.silent.populateTransaction().then((tx) => alice.sendTransaction({ ...tx, gasLimit: 100000n, gasPrice: price }))))

await fails('insufficient funds', /INSUFFICIENT_FUNDS/, told, () => poor.sendTransaction({ to: bob.address, value: 1n, gasLimit: 21000n, gasPrice: price }))
await fails('insufficient funds for an estimate', /insufficient funds/i, told, () => poor.estimateGas({ to: bob.address, value: 1n, gasPrice: price }))
await fails('nonce too low', /NONCE_EXPIRED/, told, () => alice.sendTransaction({ to: bob.address, value: 1n, nonce: 0, gasLimit: 21000n, gasPrice: price }))
await fails('below the least price', /underpriced/, told, () => alice.sendTransaction({ to: bob.address, value: 1n, gasLimit: 21000n, gasPrice: 1n }))
await fails('too little gas', /intrinsic gas too low/, told, () => alice.sendTransaction({ to: bob.address, value: 1n, gasLimit: 20999n, gasPrice: price }))
await fails('too much gas', /exceeds block gas limit/, told, () => alice.sendTransaction({ to: bob.address, value: 1n, gasLimit: 200000000n, gasPrice: price }))
await fails('a fee beyond the cap', /exceeds the configured cap/, told, () => alice.sendTransaction({ to: bob.address, value: 1n, gasLimit: 9000000n, gasPrice: 100000n * gwei }))
await fails('another chain', /invalid (sender|chain id)/, told, async () => provider.send('eth_sendRawTransaction', [await alice.signTransaction({ type: 2, chainId: 1, to: bob.address, nonce: await alice.getNonce(), gasLimit: 21000n, maxFeePerGas: price, maxPriorityFeePerGas: gwei })]))
await fails('without a chain', /pre-eip-155/, told, async () => {
  const tx = ethers.Transaction.from({ type: 0, to: bob.address, nonce: await alice.getNonce(), gasLimit: 21000n, gasPrice: price, chainId: 0 })
  tx.signature = new ethers.SigningKey(alice.privateKey).sign(tx.unsignedHash)
  return provider.send('eth_sendRawTransaction', [tx.serialized])
})
await step('what waits is replaced', async () => {
  const nonce = await alice.getNonce()
  const tx = { type: 0, to: bob.address, value: 1n, nonce: nonce + 1, gasLimit: 21000n, gasPrice: price, chainId }
  const hash = await provider.send('eth_sendRawTransaction', [await alice.signTransaction(tx)])
  const told = []
  for (const other of [tx, { ...tx, value: 2n }, { ...tx, value: 2n, gasPrice: price + 1n }, { ...tx, value: 3n, gasPrice: price + price / 5n }])
    told.push(await provider.send('eth_sendRawTransaction', [await alice.signTransaction(other)]).catch((e) => e.error ?? e.info?.error ?? e.message))
  const waits = [await provider.getTransaction(hash), await provider.getTransactionCount(alice.address, 'pending') - nonce, await provider.send('txpool_contentFrom', [alice.address]).catch((e) => e.error), await provider.send('txpool_status', []), await provider.send('txpool_inspect', [])]
  const receipts = [(await sent(alice.sendTransaction({ type: 0, to: bob.address, value: 4n, nonce, gasPrice: price }))).receipt]
  await until('the other', async () => (await provider.getTransactionCount(alice.address)) === nonce + 2)
  return [told, waits, receipts, await provider.send('txpool_content', [])]
})

const signer = await provider.getSigner(rich.address)
await step('accounts', async () => [await provider.send('eth_accounts', []), await signer.getAddress()])
await step('the node signs', () => sent(signer.sendTransaction({ to: alice.address, value: 5n, gasPrice: price })))
await either('the node signs a text', told, () => signer.signMessage('hello'))
await either('the node signs a text as before', told, () => signer._legacySignMessage('hello'))
await either('the node signs a structure', told, () => signer.signTypedData({ name: 'x', chainId }, { A: [{ name: 'b', type: 'uint256' }] }, { b: 1 }))
await either('somebody unknown', told, () => provider.send('eth_sendTransaction', [{ from: bob.address, to: alice.address, value: '0x1' }]))
await either('unlock', told, () => signer.unlock('wrong'))

await step('listen by asking', async () => {
  const heard = []
  await exhibit.on('Transfer', (from, to, value) => heard.push([from, to, value]))
  await until('the listener', async () => (await provider.listenerCount()) > 0)
  await sent(exhibit.transfer(bob.address, 21n, { gasPrice: price }))
  await until('an event', () => heard.length > 0)
  await exhibit.off('Transfer')
  return heard
})
await step('listen over WebSocket', async () => {
  const ws = new ethers.WebSocketProvider(WS_URL)
  const heard = [], blocks = [], pending = []
  const over = exhibit.connect(ws)
  await over.on('Transfer', (from, to, value) => heard.push([from, to, value]))
  await over.on('Noted', (number) => heard.push([number]))
  await ws.on('block', (number) => blocks.push(number))
  await ws.on('pending', (hash) => pending.push(hash))
  await ws.getNetwork()
  await ws.send('net_version', []) // answered after the subscriptions
  const { receipt } = await sent(exhibit.transfer(bob.address, 22n, { gasPrice: price }))
  await sent(exhibit.note(5n, 'over', [], { gasPrice: price }))
  await until('events', () => heard.length >= 2 && blocks.length >= 2 && pending.length >= 2)
  const asked = [await ws.getBalance(bob.address), await over.balanceOf(bob.address), await ws.getTransactionReceipt(receipt.hash)]
  await over.removeAllListeners()
  await ws.removeAllListeners()
  await ws.send('net_version', []) // answered after the ends of the subscriptions
  await until('the last answer', () => ws.websocket.bufferedAmount === 0)
  await ws.send('net_version', [])
  await ws.destroy()
  return [heard, asked]
})

const ask = (method, ...params) => ({ jsonrpc: '2.0', id: 1, method, params })
await raw('no library', [
  { body: [ask('eth_chainId'), { ...ask('net_version'), id: 'two' }, ask('eth_getBalance', bob.address, 'latest'), ask('no_such')] },
  { body: [] }, { body: '[1]' }, { body: 'nonsense' }, { body: '' }, { body: ask('eth_chainId'), headers: { 'content-type': 'text/plain' } },
  { body: ask('eth_chainId'), headers: {} }, { body: { ...ask('eth_chainId'), id: null } }, { body: { jsonrpc: '2.0', method: 'eth_chainId' } },
  { method: 'GET' }, { method: 'PUT', body: ask('eth_chainId') }, { method: 'GET', path: '/nowhere' }, { method: 'POST', path: '/nowhere', body: ask('eth_chainId') }, { method: 'DELETE' },
  { method: 'OPTIONS', headers: { origin: 'http://example.com', 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' } },
  { body: ask('eth_chainId'), headers: { 'content-type': 'application/json', origin: 'http://example.com' } }, { body: ask('eth_chainId'), headers: { 'content-type': 'application/json; charset=utf-8' } },
  { body: ask('rpc_modules') }, { body: ask('ftm_currentEpoch') }, { body: ask('eth_protocolVersion') }, { body: ask('eth_syncing') }, { body: ask('eth_mining') }, { body: ask('net_listening') }, { body: ask('net_peerCount') }, { body: ask('web3_sha3', '0x68656c6c6f') },
])
provider.destroy()
