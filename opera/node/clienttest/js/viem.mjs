// A round of viem.
import { createPublicClient, createWalletClient, decodeErrorResult, encodeFunctionData, formatEther, getAddress, getContract, http, keccak256, parseAbiItem, parseEther, stringToHex, toHex, webSocket, zeroHash } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { NODE_URL, RICH_KEY, WS_URL, abi, bytecode, coin, either, fails, gwei, step, until } from './steps.mjs'

const chain = { id: 4003, name: 'Fakenet', nativeCurrency: { name: 'FTM', symbol: 'FTM', decimals: 18 }, rpcUrls: { default: { http: [NODE_URL], webSocket: [WS_URL] } } }
const transport = http(NODE_URL, { retryCount: 0 })
const client = createPublicClient({ chain, transport, pollingInterval: 100, cacheTime: 0 })
const batched = createPublicClient({ chain, transport: http(NODE_URL, { batch: true, retryCount: 0 }), cacheTime: 0 })
const account = (name) => privateKeyToAccount(keccak256(stringToHex(`viem ${name}`)))
const [rich, alice, bob, poor] = [privateKeyToAccount(RICH_KEY), account('alice'), account('bob'), account('poor')]
const wallet = (account) => createWalletClient({ chain, transport, account })
const price = 400n * gwei
const gasPrice = price
const told = (e) => ({ name: e.name, short: e.shortMessage, details: e.details, causes: causes(e) })
const causes = (e) => { const list = []; for (let c = e.cause; c; c = c.cause) list.push([c.name, c.shortMessage, c.details, c.code, c.data, c.reason, c.raw]); return list }
// go-opera has no order within a block.
const sorted = (logs) => logs.sort((a, b) => Number(a.blockNumber - b.blockNumber) || a.logIndex - b.logIndex)
const wait = (hash, more) => client.waitForTransactionReceipt({ hash, pollingInterval: 100, ...more })
const sent = async (hash) => {
  const receipt = await wait(await hash)
  return { receipt, transaction: await client.getTransaction({ hash: receipt.transactionHash }) }
}

await step('chain', async () => [await client.getChainId(), formatEther(await client.getBalance({ address: bob.address }))])
await step('fees', async () => [await client.getGasPrice(), await client.estimateMaxPriorityFeePerGas(), await client.estimateFeesPerGas()])
await step('fee history', () => client.getFeeHistory({ blockCount: 3, rewardPercentiles: [25, 75] }))
await step('nonces', async () => [await client.getTransactionCount({ address: alice.address }), await client.getTransactionCount({ address: alice.address, blockTag: 'pending' })])
await step('legacy', () => sent(wallet(rich).sendTransaction({ to: alice.address, value: parseEther('1000'), type: 'legacy', gasPrice })))
await step('access list', () => sent(wallet(rich).sendTransaction({ to: bob.address, value: parseEther('1000'), type: 'eip2930', gasPrice, accessList: [{ address: bob.address, storageKeys: [zeroHash] }] })))
await step('dynamic fee', () => sent(wallet(rich).sendTransaction({ to: bob.address, value: 1n, maxFeePerGas: price, maxPriorityFeePerGas: 2n * gwei })))
await step('fees by the library', () => sent(wallet(alice).sendTransaction({ to: bob.address, value: 1n })))
await step('confirmations', async () => {
  const hash = await wallet(alice).sendTransaction({ to: bob.address, value: 3n, gasPrice })
  await wait(hash, { confirmations: 2 })
  return (await client.getTransactionConfirmations({ hash })) >= 2n
})
let at
await step('deploy', async () => {
  const { receipt } = await sent(wallet(alice).deployContract({ abi, bytecode, args: [1000n * coin], value: 7n, gasPrice }))
  at = getAddress(receipt.contractAddress)
  return receipt
})
const exhibit = getContract({ address: at, abi, client: { public: client, wallet: wallet(alice) } })
await step('read', async () => [await exhibit.read.name(), await exhibit.read.decimals(), await exhibit.read.totalSupply(), await exhibit.read.balanceOf([alice.address])])
await step('code', async () => [await client.getCode({ address: at }), await client.getCode({ address: bob.address }), await client.getStorageAt({ address: at, slot: toHex(0) })])
await step('several in batches', () => Promise.all([batched.getBalance({ address: alice.address }), batched.getChainId(), batched.readContract({ address: at, abi, functionName: 'symbol' }), batched.getTransactionCount({ address: bob.address }), batched.getCode({ address: at })]))
let first, last
await step('simulate and transfer', async () => {
  const { request, result } = await client.simulateContract({ address: at, abi, functionName: 'transfer', args: [bob.address, 5n * coin], account: alice, gasPrice })
  const { receipt } = await sent(wallet(alice).writeContract(request))
  first = receipt.blockNumber
  return [result, receipt.logs]
})
await step('note', () => sent(exhibit.write.note([7n, 'ünïcode ☃', [keccak256('0x61'), zeroHash]], { gasPrice })))
await step('shower', async () => {
  const { receipt } = await sent(exhibit.write.shower([5n], { gasPrice }))
  last = receipt.blockNumber
  return receipt.logs.length
})
await step('entry', () => exhibit.read.entry([0n]))
await step('events', () => client.getContractEvents({ address: at, abi, fromBlock: 0n }).then(sorted))
await step('events of some', () => client.getContractEvents({ address: at, abi, eventName: 'Transfer', args: { from: alice.address, to: [bob.address, poor.address] }, fromBlock: first, toBlock: last }))
await step('logs of a block', async () => client.getLogs({ blockHash: (await client.getBlock({ blockNumber: last })).hash }))
await step('logs of an item', () => client.getLogs({ event: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'), fromBlock: last, toBlock: 'latest', strict: true }))
await step('logs of several', () => client.getLogs({ address: at, events: abi.filter((x) => x.type === 'event' && !x.anonymous), fromBlock: first }).then(sorted))
await step('filters', async () => {
  const filter = await client.createContractEventFilter({ address: at, abi, eventName: 'Transfer' })
  const past = await client.createEventFilter({ address: at, fromBlock: first, toBlock: last })
  const pending = await client.createPendingTransactionFilter()
  const { receipt } = await sent(exhibit.write.transfer([bob.address, 9n], { gasPrice }))
  const logs = []
  await until('a log', async () => logs.push(...(await client.getFilterChanges({ filter }))) && logs.length > 0)
  return [logs, await client.getFilterLogs({ filter: past }), (await client.getFilterChanges({ filter: pending })).length, receipt.status, await client.uninstallFilter({ filter })]
})
await step('blocks', async () => [await client.getBlock({ blockNumber: last, includeTransactions: true }), await client.getBlock({ blockNumber: last }), await client.getBlockTransactionCount({ blockNumber: last }), await client.getTransaction({ blockNumber: last, index: 0 }), (await client.getBlock({ blockTag: 'pending' })).nonce])
await either('finalized', told, async () => (await client.getBlock({ blockTag: 'finalized' })).number > 0n)
await fails('no block', /BlockNotFoundError/, told, () => client.getBlock({ blockNumber: 99999999n }))
await fails('no transaction', /TransactionNotFoundError/, told, () => client.getTransaction({ hash: zeroHash }))
await fails('no receipt', /TransactionReceiptNotFoundError/, told, () => client.getTransactionReceipt({ hash: zeroHash }))
await step('proof', () => client.getProof({ address: at, storageKeys: [zeroHash, toHex(2, { size: 32 })] }))
await step('estimates', async () => [await client.estimateContractGas({ address: at, abi, functionName: 'transfer', args: [bob.address, 1n], account: alice }), await client.estimateGas({ account: alice, to: bob.address, value: 1n }), await client.estimateGas({ account: alice.address, data: bytecode + '00'.repeat(32) })])
await either('access list of a call', told, () => client.createAccessList({ account: alice.address, to: at, data: encodeFunctionData({ abi, functionName: 'transfer', args: [bob.address, 1n] }), gasPrice }))
await step('call of the past', () => client.readContract({ address: at, abi, functionName: 'balanceOf', args: [bob.address], blockNumber: first }))
await either('call with an override', told, () => client.call({ to: bob.address, data: '0x', stateOverride: [{ address: bob.address, code: '0x602a60005260206000f3' }] }))
await either('blob fee', told, () => client.getBlobBaseFee())

await fails('reason', /never/, told, () => exhibit.read.fail(['no, "never"']))
await fails('no reason', /revert/, told, () => exhibit.read.silent())
await fails('division by zero', /by zero/, told, () => exhibit.read.divide([0n]))
await fails('own error', /Insufficient/, (e) => ({ ...told(e), args: e.cause?.data?.args, decoded: e.cause?.raw && decodeErrorResult({ abi, data: e.cause.raw }).errorName }), () => exhibit.simulate.transfer([bob.address, 10n ** 30n], { account: alice }))
await fails('estimate of what fails', /Insufficient|revert/, told, () => exhibit.estimateGas.transfer([bob.address, 10n ** 30n], { account: alice }))
await fails('no function', /ContractFunction/, told, () => client.readContract({ address: bob.address, abi, functionName: 'name' }))
await step('fails in a block', () => sent(exhibit.write.transfer([bob.address, 10n ** 30n], { gasPrice, gas: 100000n })))
await fails('insufficient funds', /InsufficientFunds/, told, () => wallet(poor).sendTransaction({ to: bob.address, value: 1n, gas: 21000n, gasPrice, nonce: 0 }))
await fails('insufficient funds, estimated', /insufficient/i, told, () => wallet(poor).sendTransaction({ to: bob.address, value: 1n, gasPrice }))
await fails('nonce too low', /NonceTooLow/, told, () => wallet(alice).sendTransaction({ to: bob.address, value: 1n, gas: 21000n, gasPrice, nonce: 0 }))
await fails('below the least price', /underpriced/, told, () => wallet(alice).sendTransaction({ to: bob.address, value: 1n, gas: 21000n, gasPrice: 1n }))
await fails('too little gas', /IntrinsicGasTooLow/, told, () => wallet(alice).sendTransaction({ to: bob.address, value: 1n, gas: 20999n, gasPrice }))
await step('a fee below the base fee', () => client.call({ account: alice, to: bob.address, maxFeePerGas: 1n, maxPriorityFeePerGas: 0n }))
await fails('no transaction at all', /EOF/, told, () => client.sendRawTransaction({ serializedTransaction: '0x02' }))
await step('replaced', async () => {
  const nonce = await client.getTransactionCount({ address: alice.address })
  const tx = { to: bob.address, value: 1n, gas: 21000n, gasPrice: price, nonce: nonce + 1 }
  await wallet(alice).sendTransaction(tx)
  const refused = []
  for (const other of [tx, { ...tx, value: 2n }]) refused.push(await wallet(alice).sendTransaction(other).catch(told))
  const hash = await wallet(alice).sendTransaction({ ...tx, value: 2n, gasPrice: price + price / 4n })
  await wallet(alice).sendTransaction({ ...tx, nonce })
  return [refused, await wait(hash)]
})

await step('watch by asking', async () => {
  const heard = [], blocks = []
  const ends = [client.watchContractEvent({ address: at, abi, eventName: 'Transfer', poll: true, pollingInterval: 100, onLogs: (logs) => heard.push(...logs.map((l) => l.args)) }), client.watchBlockNumber({ onBlockNumber: (n) => blocks.push(n), pollingInterval: 100 })]
  await until('a block', () => blocks.length > 0)
  await sent(exhibit.write.transfer([bob.address, 31n], { gasPrice }))
  await until('an event', () => heard.length > 0)
  ends.forEach((end) => end())
  return heard
})
await step('watch over WebSocket', async () => {
  const ws = createPublicClient({ chain, transport: webSocket(WS_URL, { retryCount: 0, reconnect: false }), cacheTime: 0 })
  const heard = [], blocks = [], pending = []
  const ends = [ws.watchContractEvent({ address: at, abi, eventName: 'Transfer', onLogs: (logs) => heard.push(...logs.map((l) => l.args)) }), ws.watchBlocks({ onBlock: (b) => blocks.push(b) }), ws.watchPendingTransactions({ onTransactions: (hashes) => pending.push(...hashes) })]
  await ws.getChainId()
  await ws.getBalance({ address: alice.address }) // answered after the subscriptions
  await sent(exhibit.write.transfer([bob.address, 32n], { gasPrice }))
  await until('events', () => heard.length > 0 && blocks.length > 0 && pending.length > 0)
  ends.forEach((end) => end())
  const refused = await ws.request({ method: 'eth_subscribe', params: ['nonsense'] }).catch(told)
  const connection = await ws.transport.getRpcClient()
  connection.close()
  return [heard, refused]
})
