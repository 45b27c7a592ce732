"""Tasks that stand in for an evaluation, so that engines are tested without models. Workers import this module."""

import json
import os
import sys
import time
from pathlib import Path


def work(text: str) -> str:
    """Do what the text says: `{"do": ..., "at": FOLDER, "id": ...}`. Notes the process in a file for each call."""
    order = json.loads(text)
    begun = Path(order["at"], f"{order['id']}-{os.getpid()}-{time.monotonic_ns()}")
    begun.touch()
    sys.stdout.write("a worker prints this on stdout\n")
    match order["do"]:
        case "answer":
            return json.dumps({"id": order["id"], "pid": os.getpid()})
        case "a long answer":
            return "x" * 3_000_000
        case "die":
            os._exit(7)
        case "die once":
            if len(list(begun.parent.glob(f"{order['id']}-*"))) == 1:
                os.kill(os.getpid(), 9)
            return "survived"
        case "wait":
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                Path(order["at"], f"interrupted-{order['id']}").touch()
                return "interrupted"
    sys.exit("not a thing to do")
