"""`kernel-package`: does `torch-ext/PACKAGE/__init__.py` call the operator the way a kernel project must?

Its syntax tree is read first: imports that break when the kernel is loaded from elsewhere are refused. Then it is
called in a sandbox with a Torch that only notes what is called, and the notes are compared out here.
"""

import ast
import json
from collections.abc import Iterator, Mapping

from upskill.core.checks.plugin import Finding, Inspection, Json, Limits, SandboxSpec
from upskill_gpu.toolchain import HARNESS, PYTHON, toolchain

SECONDS = 20
LIMITS = Limits(memory_mb=512, cpu_seconds=SECONDS)
MOST_BYTES = 20_000
PREFIX = "_upskill_unique_7413"
IMPORTS = frozenset({"torch", "typing", "math", "__future__"})
ASKED = frozenset({"package", "function", "calls", "notes", "fakes"})
HOST = frozenset({"exec", "eval", "compile", "open", "globals", "locals", "getattr", "setattr", "vars"})


class KernelPackage:
    """The plug-in. `with`: `package`, `function`, `calls` (arguments; texts are tensors), `notes` (what must be noted).

    `fakes` has the names of the operators for which a fake must be registered.
    """

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """All but `fakes` must be there."""
        if not isinstance(given, dict) or set(given) - ASKED or not ASKED - {"fakes"} <= set(given):
            return [f"`with` must hold {', '.join(sorted(ASKED - {'fakes'}))}, and may hold fakes"]
        return []

    def __call__(self, inspection: Inspection) -> Finding:
        """Read, call, compare."""
        given = inspection.given
        assert isinstance(given, dict)
        package = str(given["package"])
        path = f"torch-ext/{package}/__init__.py"
        source = inspection.files.get(path)
        if source is None and inspection.only_block is not None:
            source = inspection.only_block.encode()
        if source is None:
            return Finding(False, f"there is no {path}")
        if len(source) > MOST_BYTES:
            return Finding(False, f"{path} has more than {MOST_BYTES} bytes")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Finding(False, f"{path} is not Python: {error}")
        found = list(_refused(tree, package))
        if found:
            return Finding(False, "; ".join(found))
        found = list(_differences(_noted(inspection, path, source, given), given))
        return Finding(not found, "; ".join(found) or "the operator is called as the task asks")


def _refused(tree: ast.Module, package: str) -> Iterator[str]:
    from_ops = False
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for one in names:
                    if one.name.partition(".")[0] == package:
                        yield f"import {one.name} is absolute: it fails when the kernel is loaded from another folder"
                    elif one.name.partition(".")[0] not in IMPORTS:
                        yield f"import {one.name} is a dependency that the project does not have"
            case ast.ImportFrom(module=module, level=0):
                top = (module or "").partition(".")[0]
                if top == package:
                    yield f"from {module} is absolute: it fails when the kernel is loaded from another folder"
                elif top not in IMPORTS:
                    yield f"from {module} is a dependency that the project does not have"
            case ast.ImportFrom(module="_ops", level=1, names=names):
                from_ops = from_ops or any(one.name == "ops" for one in names)
            case ast.ImportFrom(module=module):
                yield f"from .{module or ''} imports what the project does not have"
            case ast.Attribute(value=ast.Name(id="torch"), attr="ops"):
                yield "torch.ops.NAME is not where the builder registers the operators"
            case ast.Name(id=name) if name in HOST or (name.startswith("__") and name != "__all__"):
                yield f"{name} does not belong in a wrapper"
            case ast.Attribute(attr=name) if name.startswith("__"):
                yield f"{name} does not belong in a wrapper"
    if not from_ops:
        yield "it does not have from ._ops import ops"


def _noted(inspection: Inspection, path: str, source: bytes, given: Mapping[str, Json]) -> object:
    work = {key: given[key] for key in ("package", "function", "calls")} | {"prefix": PREFIX}
    with inspection.open_sandbox(SandboxSpec(limits=LIMITS, mounts=(toolchain(), HARNESS))) as sandbox:
        sandbox.put({path: source})
        command = [PYTHON, "-I", "-B", f"{HARNESS.target}/call_package.py"]
        ran = sandbox.run(command, seconds=SECONDS, stdin=json.dumps(work).encode())
    if ran.ended == "gone":
        raise RuntimeError("the sandbox is gone")
    if ran.ended != "exit" or ran.exit_code != 0:
        return {"fault": f"the call ended with {ran.ended} {ran.exit_code}"}
    try:
        return json.loads(ran.stdout)
    except (ValueError, RecursionError):
        return {"fault": "the package printed something"}


def _differences(noted: object, given: Mapping[str, Json]) -> Iterator[str]:
    if not isinstance(noted, dict) or "fault" in noted:
        yield str(noted.get("fault") if isinstance(noted, dict) else noted)[:300]
        return
    calls, notes = noted.get("calls"), given["notes"]
    if calls != notes:
        yield f"{given['function']} did {json.dumps(calls)[:300]}, not {json.dumps(notes)[:300]}"
    wanted, fakes = given.get("fakes"), noted.get("fakes")
    for name in wanted if isinstance(wanted, list) else ():
        registered = [one.get("name") for one in fakes if isinstance(one, dict)] if isinstance(fakes, list) else []
        if f"{PREFIX}::{name}" not in registered:
            yield f"no fake is registered for {name} under the name of add_op_namespace_prefix, only {registered}"


kernel_package = KernelPackage()
