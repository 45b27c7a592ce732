"""Run by another user with the system's Python and nothing installed: the whole suite, as JSON on stdout."""

import json
import sys

sys.path.insert(0, sys.argv[1])

from sandbox.escapes.suite import run_probes
from upskill.sandbox import describe_sandbox, open_sandbox

found = [
    {"id": result.id, "held": result.held, "what": result.what, "saw": result.saw}
    for result in run_probes(open_sandbox)
]
sys.stdout.write(json.dumps({"memory_by": describe_sandbox().memory_by, "probes": found}))
