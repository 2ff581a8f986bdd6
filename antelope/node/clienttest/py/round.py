"""A round of pyntelope: what it can read, a transfer, and what it makes of refusals."""

import json
import os
import urllib.parse
import urllib.request

import pyntelope
from pyntelope import types

URL = os.environ["NODE_URL"]
net = pyntelope.Net(host=URL)


def step(name, what):
    """Does something in new blocks, and prints what came of it."""
    urllib.request.urlopen(f"{URL}/step/{urllib.parse.quote(name)}").read()
    try:
        result = what()
    except pyntelope.exc.ConnectionError as e:
        result = {"refused": "400 Bad Request" in str(e)}
    print(json.dumps({"step": name, "result": result}, default=repr))
    return result


def transfer(quantity, memo, sender="eosio", key=None):
    """Sends tokens of the system."""
    data = [
        pyntelope.Data(name="from", value=types.Name("eosio")),
        pyntelope.Data(name="to", value=types.Name("sysusraaaa")),
        pyntelope.Data(name="quantity", value=types.Asset(quantity)),
        pyntelope.Data(name="memo", value=types.String(memo)),
    ]
    authorization = pyntelope.Authorization(actor=sender, permission="active")
    action = pyntelope.Action(account="eosio.token", name="transfer", data=data, authorization=[authorization])
    transaction = pyntelope.Transaction(actions=[action]).link(net=net)
    return transaction.sign(key=key or os.environ["EOSIO_KEY"]).send()


step("info", net.get_info)
sent = step("transfer", lambda: transfer("1.0000 SYS", "from Python"))
assert "processed" in sent, sent
for name, want, what in [
    ("too much", "eosio_assert_message_exception", lambda: transfer("9999999999.0000 SYS", "")),
    ("another key", "unsatisfied_authorization", lambda: transfer("1.0000 SYS", "", key=os.environ["USER_KEY"])),
    ("missing authority", "missing_auth_exception", lambda: transfer("1.0000 SYS", "", sender="eosio.ram")),
]:
    refused = step(name, what)
    assert name == "missing authority" or refused["error"]["name"] == want, refused
step("block", lambda: net.get_block(block_num_or_id="2"))
step("block info", lambda: net.get_block_info(block_num="2"))
step("no such block", lambda: net.get_block(block_num_or_id="99999999"))
step("account", lambda: net.get_account(account_name="eosio.token"))
step("no such account", lambda: net.get_account(account_name="nobodyatall"))
step("ABI", lambda: net.get_abi(account_name="eosio.token"))
step("no ABI", lambda: net.get_abi(account_name="eosio.ram"))
step("code", lambda: len(net.get_raw_code_and_abi(account_name="eosio.token")["wasm"]))
step("rows", lambda: net.get_table_rows(code="eosio", scope="eosio", table="voters", limit=3, full=True))
step("rows that are not there", lambda: net.get_table_rows(code="eosio", scope="eosio", table="nosuch"))
step("scopes", lambda: net.get_table_by_scope(code="eosio.token", table="accounts", limit=4))
