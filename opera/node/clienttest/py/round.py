"""A round of web3.py."""

import asyncio
import json
import os
import sys
import time
import urllib.parse
import urllib.request

from eth_account import Account
from eth_account.messages import encode_defunct
from web3 import AsyncWeb3, Web3, WebSocketProvider
from web3.datastructures import AttributeDict
from web3.logs import DISCARD

URL, WS, RICH = (os.environ[n] for n in ("NODE_URL", "WS_URL", "RICH_KEY"))
with open(os.environ["EXHIBIT"], encoding="utf8") as f:
    CONTRACT = json.load(f)
w3 = Web3(Web3.HTTPProvider(URL))
GWEI, COIN = 10**9, 10**18
PRICE = 400 * GWEI
bad = 0


def plain(v):
    if isinstance(v, (bytes, bytearray)):
        return "0x" + bytes(v).hex()
    if isinstance(v, (AttributeDict, dict)):
        return {str(k): plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, (set, frozenset)):
        return sorted(plain(x) for x in v)
    if isinstance(v, (str, int, float, bool)) or v is None:
        return v
    return str(v)


def begin(name):
    urllib.request.urlopen(URL + "/step/" + urllib.parse.quote(name)).read()


def wrong(name, said):
    global bad
    bad = 1
    print(f"{name}: {said}", file=sys.stderr)


def step(name, f):
    begin(name)
    try:
        result = f()
        print(json.dumps({"step": name, "result": plain(result)}))
        return result
    except Exception as e:  # the rest is still compared
        wrong(name, repr(e))


def told(e):
    return {"type": type(e).__name__, "said": str(e), "data": plain(getattr(e, "data", None)), "rpc": plain(getattr(e, "rpc_response", None) and e.rpc_response.get("error"))}


def fails(name, kind, f):
    begin(name)
    try:
        wrong(name, f"it succeeds: {plain(f())}")
    except Exception as e:
        if type(e).__name__ != kind:
            wrong(name, f"{e!r} instead of {kind}")
        print(json.dumps({"step": name, "error": told(e)}))


def either(name, f):
    begin(name)
    try:
        print(json.dumps({"step": name, "result": plain(f())}))
    except Exception as e:
        print(json.dumps({"step": name, "error": told(e)}))


def until(what, holds):
    end = time.time() + 20
    while True:
        v = holds()
        if v:
            return v
        if time.time() > end:
            raise TimeoutError(f"{what} does not come")
        time.sleep(0.05)


def account(name):
    return Account.from_key(Web3.keccak(text=f"web3.py {name}"))


rich = Account.from_key(RICH)
alice, bob, poor = account("alice"), account("bob"), account("poor")


def send(who, tx):
    tx = {"chainId": 4003, "from": who.address, "nonce": w3.eth.get_transaction_count(who.address, "pending"), **tx}
    if "gas" not in tx:
        tx["gas"] = w3.eth.estimate_gas(tx)
    return w3.eth.send_raw_transaction(who.sign_transaction(tx).raw_transaction)


def wait(h):
    return w3.eth.wait_for_transaction_receipt(h, timeout=20, poll_latency=0.1)


def sent(who, tx):
    h = send(who, tx)
    r = wait(h)
    return [r, w3.eth.get_transaction(h)]


step("connected", lambda: [w3.is_connected(), w3.eth.chain_id, w3.net.version, w3.net.listening, w3.net.peer_count, w3.client_version, w3.eth.syncing])
step("prices", lambda: [w3.eth.gas_price, w3.eth.max_priority_fee])
step("fee history", lambda: w3.eth.fee_history(2, "latest", [10, 90]))
step("accounts", lambda: [w3.eth.accounts, w3.eth.get_balance(rich.address) > 0, w3.eth.get_balance(alice.address), w3.eth.get_transaction_count(alice.address)])
step("legacy", lambda: sent(rich, {"to": alice.address, "value": 1000 * COIN, "gasPrice": PRICE}))
step("access list", lambda: sent(rich, {"to": bob.address, "value": 1000 * COIN, "gasPrice": PRICE, "type": 1, "accessList": [{"address": bob.address, "storageKeys": ["0x" + "00" * 32]}]}))
step("dynamic fee", lambda: sent(rich, {"to": bob.address, "value": 1, "maxFeePerGas": PRICE, "maxPriorityFeePerGas": GWEI}))
step("the node signs", lambda: wait(w3.eth.send_transaction({"from": rich.address, "to": bob.address, "value": 2, "gasPrice": PRICE})))
either("the node signs a text", lambda: w3.eth.sign(rich.address, text="hello"))
either("the node signs a transaction", lambda: w3.eth.sign_transaction({"from": rich.address, "to": bob.address, "value": 2, "gasPrice": PRICE, "gas": 21000, "nonce": 1000})["tx"]["nonce"])

factory = w3.eth.contract(abi=CONTRACT["abi"], bytecode=CONTRACT["bytecode"])
made = step("deploy", lambda: sent(alice, factory.constructor(1000 * COIN).build_transaction({"from": alice.address, "value": 7, "gasPrice": PRICE, "nonce": 0, "gas": 3000000})))[0]
exhibit = w3.eth.contract(address=made["contractAddress"], abi=CONTRACT["abi"])
at = exhibit.address
call = exhibit.functions


def do(who, f, **more):
    r, tx = sent(who, f.build_transaction({"from": who.address, "gasPrice": PRICE, "nonce": w3.eth.get_transaction_count(who.address), **more}))
    return r


step("code", lambda: [w3.eth.get_code(at), w3.eth.get_code(bob.address), w3.eth.get_storage_at(at, 0), w3.eth.get_storage_at(at, 77)])
step("read", lambda: [call.name().call(), call.decimals().call(), call.totalSupply().call(), call.balanceOf(alice.address).call(), call.around().call({"from": alice.address, "value": 5})])
first = step("transfer", lambda: do(alice, call.transfer(bob.address, 5 * COIN)))["blockNumber"]
step("note", lambda: do(alice, call.note(7, "ünïcode ☃", [b"\1" * 32, b"\0" * 32])))
step("entry", lambda: call.entry(0).call())
last = step("shower", lambda: do(bob, call.shower(4)))["blockNumber"]
step("receive", lambda: sent(bob, {"to": at, "value": 3, "gasPrice": PRICE}))
step("events of a receipt", lambda: exhibit.events.Transfer().process_receipt(w3.eth.get_transaction_receipt(w3.eth.get_block(last)["transactions"][0]), errors=DISCARD))
step("events", lambda: exhibit.events.Transfer.get_logs(from_block=0))
step("events of some", lambda: exhibit.events.Transfer.get_logs(from_block=first, to_block=last, argument_filters={"to": [bob.address, poor.address]}))
step("logs", lambda: [w3.eth.get_logs({"fromBlock": first, "toBlock": "latest", "address": at}), w3.eth.get_logs({"blockHash": w3.eth.get_block(last)["hash"]}), w3.eth.get_logs({"fromBlock": last, "toBlock": first, "address": at})])


def filters():
    logs, blocks, pending = exhibit.events.Transfer.create_filter(from_block="latest"), w3.eth.filter("latest"), w3.eth.filter("pending")
    do(alice, call.transfer(bob.address, 9))
    found = until("a log", logs.get_new_entries)
    return [found, logs.get_all_entries()[-1:], len(blocks.get_new_entries()) > 0, len(pending.get_new_entries()), w3.eth.uninstall_filter(logs.filter_id)]


step("filters", filters)
fails("no filter", "Web3RPCError", lambda: w3.eth.get_filter_changes("0x12"))
step("blocks", lambda: [w3.eth.get_block(last, True), w3.eth.get_block(last), w3.eth.get_block(w3.eth.get_block(last)["hash"]), w3.eth.get_block_transaction_count(last), w3.eth.get_transaction_by_block(last, 0), w3.eth.get_uncle_count(last), w3.eth.get_block("earliest"), w3.eth.get_block("pending")["number"]])
step("raw", lambda: w3.eth.get_raw_transaction(w3.eth.get_block(last)["transactions"][0]))
either("receipts of a block", lambda: len(w3.eth.get_block_receipts(last)))
either("finalized", lambda: w3.eth.get_block("safe")["number"] > 0)
fails("no block", "BlockNotFound", lambda: w3.eth.get_block(99999999))
fails("no transaction", "TransactionNotFound", lambda: w3.eth.get_transaction("0x" + "00" * 32))
fails("no receipt", "TransactionNotFound", lambda: w3.eth.get_transaction_receipt("0x" + "00" * 32))
step("proof", lambda: w3.eth.get_proof(at, [0, 77], "latest"))
step("estimates", lambda: [call.transfer(bob.address, 1).estimate_gas({"from": alice.address}), w3.eth.estimate_gas({"from": alice.address, "to": bob.address, "value": 1}), factory.constructor(5).estimate_gas({"from": alice.address})])
either("access list of a call", lambda: w3.eth.create_access_list({"from": alice.address, "to": at, "data": call.transfer(bob.address, 1)._encode_transaction_data(), "gasPrice": PRICE}))
step("call of the past", lambda: call.balanceOf(bob.address).call(block_identifier=first))
either("call with an override", lambda: w3.eth.call({"to": bob.address}, "latest", {bob.address: {"code": "0x602a60005260206000f3"}}))


def batch():
    with w3.batch_requests() as b:
        b.add(w3.eth.get_balance(alice.address))
        b.add(w3.eth.get_block(last))
        b.add(call.balanceOf(bob.address))
        return b.execute()


step("batch", batch)
fails("reason", "ContractLogicError", lambda: call.fail('no, "never"').call())
fails("no reason", "ContractLogicError", lambda: call.silent().call())
fails("division by zero", "ContractPanicError", lambda: call.divide(0).call())
fails("own error", "ContractCustomError", lambda: call.transfer(bob.address, 10**30).call({"from": alice.address}))
fails("estimate of what fails", "ContractCustomError", lambda: call.transfer(bob.address, 10**30).estimate_gas({"from": alice.address}))
fails("no function", "BadFunctionCallOutput", lambda: w3.eth.contract(address=bob.address, abi=CONTRACT["abi"]).functions.name().call())
fails("out of gas", "Web3RPCError", lambda: call.spin().call({"gas": 60000}))
step("fails in a block", lambda: do(alice, call.transfer(bob.address, 10**30), gas=100000))
fails("insufficient funds", "Web3RPCError", lambda: send(poor, {"to": bob.address, "value": 1, "gas": 21000, "gasPrice": PRICE}))
fails("insufficient funds for an estimate", "Web3RPCError", lambda: w3.eth.estimate_gas({"from": poor.address, "to": bob.address, "value": 1, "gasPrice": PRICE}))
fails("nonce too low", "Web3RPCError", lambda: send(alice, {"to": bob.address, "value": 1, "gas": 21000, "gasPrice": PRICE, "nonce": 0}))
fails("below the least price", "Web3RPCError", lambda: send(alice, {"to": bob.address, "value": 1, "gas": 21000, "gasPrice": 1}))
fails("a tip above the fee", "Web3RPCError", lambda: send(alice, {"to": bob.address, "value": 1, "gas": 21000, "maxFeePerGas": PRICE, "maxPriorityFeePerGas": PRICE + 1}))
fails("another chain", "Web3RPCError", lambda: send(alice, {"to": bob.address, "value": 1, "gas": 21000, "gasPrice": PRICE, "chainId": 1}))
fails("no transaction at all", "Web3RPCError", lambda: w3.eth.send_raw_transaction("0xc0"))
fails("somebody unknown", "Web3RPCError", lambda: w3.eth.send_transaction({"from": bob.address, "to": alice.address, "value": 1, "gas": 21000, "gasPrice": PRICE, "nonce": 0}))


def replaced():
    nonce = w3.eth.get_transaction_count(alice.address)
    tx = {"to": bob.address, "value": 1, "gas": 21000, "gasPrice": PRICE, "nonce": nonce + 1}
    send(alice, tx)
    refused = []
    for other in (tx, {**tx, "value": 2}):
        try:
            send(alice, other)
        except Exception as e:
            refused.append(told(e))
    h = send(alice, {**tx, "value": 2, "gasPrice": PRICE * 5 // 4})
    waits = [w3.eth.get_transaction(h), w3.eth.get_transaction_count(alice.address, "pending") - nonce, w3.geth.txpool.status(), w3.geth.txpool.inspect(), w3.geth.txpool.content()]
    send(alice, {**tx, "nonce": nonce})
    return [refused, waits, wait(h)]


step("replaced", replaced)
step("signed texts", lambda: Account.recover_message(encode_defunct(text="x"), signature=alice.sign_message(encode_defunct(text="x")).signature) == alice.address)


async def subscriptions():
    heard = {}
    async with AsyncWeb3(WebSocketProvider(WS)) as ws:
        ids = [await ws.eth.subscribe("logs", {"address": at}), await ws.eth.subscribe("newHeads")]
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, lambda: do(alice, call.transfer(bob.address, 33)))
        async for message in ws.socket.process_subscriptions():
            heard.setdefault(ids.index(message["subscription"]), message["result"])
            if len(heard) == 2:
                break
        for i in ids:
            await ws.eth.unsubscribe(i)
        asked = [await ws.eth.get_balance(bob.address), await ws.eth.chain_id]
    return [[heard[0], heard[1]], asked]


async def pending():
    async with AsyncWeb3(WebSocketProvider(WS)) as ws:
        return await ws.eth.subscribe("newPendingTransactions")


step("subscriptions", lambda: asyncio.run(asyncio.wait_for(subscriptions(), 30)))
# The library has an argument too many for Opera.
fails("subscribe to what waits", "Web3RPCError", lambda: asyncio.run(asyncio.wait_for(pending(), 30)))
sys.exit(bad)
