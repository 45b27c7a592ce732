# mypy: ignore-errors
"""Runs inside the sandbox: reads `build.toml` of the working folder with the kernel builder's own parser.

Only the compiled parser is loaded, not the whole package `kernels`. Standard input has the kernel's name, for which the
name of the Python package is asked. Prints what the parser says as JSON.
"""

import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path

(path,) = Path(sys.prefix).glob("lib/python3*/site-packages/kernels/_rust*.so")
loader = importlib.machinery.ExtensionFileLoader("kernels._rust", str(path))
parser = importlib.util.module_from_spec(importlib.util.spec_from_loader("kernels._rust", loader))
loader.exec_module(parser)
work = json.load(sys.stdin)
try:
    parser.Build.open(".")
    package = parser.KernelName(work["name"]).python_name
except ValueError as error:
    said = {"refused": str(error)}
else:
    said = {"python_name": package}
sys.stdout.write(json.dumps(said))
