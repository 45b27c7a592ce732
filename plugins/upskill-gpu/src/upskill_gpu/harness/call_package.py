# mypy: ignore-errors
"""Runs inside the sandbox: imports the package of a kernel project with a Torch of its own that only notes calls.

Standard input names the package, the function and the arguments by label. Prints what was called with which of them.
"""

import importlib
import json
import sys
import types

NOTED = {"calls": [], "fakes": []}


class Tensor:
    """Has a label, and what wrappers usually ask a tensor."""

    def __init__(self, label):
        self.label = label
        self.shape, self.ndim, self.dtype, self.device, self.is_cuda = (2, 4), 2, "float32", "cuda", True

    def contiguous(self):
        return self

    def is_contiguous(self):
        return True

    def size(self, at=None):
        return self.shape if at is None else self.shape[at]

    def dim(self):
        return self.ndim

    def new_empty(self, *_, **__):
        return Tensor("new")


def label(value):
    return value.label if isinstance(value, Tensor) else value


class Operators:
    def __getattr__(self, name):
        def called(*given, **named):
            NOTED["calls"].append({"op": name, "given": [label(one) for one in (*given, *named.values())]})
            return Tensor("result")

        return called


def register_fake(name, function=None, **_):
    def keep(function):
        NOTED["fakes"].append({"name": name, "function": getattr(function, "__name__", None)})
        return function

    return keep if function is None else keep(function)


work = json.load(sys.stdin)
torch = types.ModuleType("torch")
torch.Tensor = Tensor
torch.empty_like = torch.zeros_like = lambda given, **_: Tensor("new")
torch.empty = lambda *_, **__: Tensor("new")
torch.library = types.ModuleType("torch.library")
torch.library.register_fake = register_fake
sys.modules["torch"], sys.modules["torch.library"] = torch, torch.library
operators = types.ModuleType(f"{work['package']}._ops")
operators.ops = Operators()
operators.add_op_namespace_prefix = lambda name: f"{work['prefix']}::{name}"
sys.modules[f"{work['package']}._ops"] = operators
sys.path.insert(0, "torch-ext")
try:
    package = importlib.import_module(work["package"])
    for call in work["calls"]:
        given = [Tensor(one) if isinstance(one, str) else one for one in call]
        NOTED["calls"].append({"returned": label(getattr(package, work["function"])(*given))})
except Exception as error:  # noqa: BLE001 - what the package did, whatever it is, is what was seen
    NOTED["fault"] = f"{type(error).__name__}: {error}"[:300]
sys.stdout.write(json.dumps(NOTED, default=lambda value: type(value).__name__))
