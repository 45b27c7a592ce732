"""`kernel-project`: would the kernel builder build this project, and does it build what the task asks for?

The builder's own parser reads `build.toml` in a sandbox. It lets a lot through, so the rules of `build_rules` follow.
"""

import json
import tomllib
from collections.abc import Mapping

from upskill.core.checks.plugin import Finding, Inspection, Json, Limits, SandboxSpec
from upskill_gpu.build_rules import HEADERS, KernelTable, kernels_of, problems_of
from upskill_gpu.toolchain import HARNESS, PYTHON, toolchain

FILE = "build.toml"
MOST_BYTES = 64_000
SECONDS = 30
LIMITS = Limits(memory_mb=512, address_space_mb=None, cpu_seconds=SECONDS)
ASKED = frozenset({"general", "framework", "values", "kernels", "depends", "torch_src"})


class KernelProject:
    """The plug-in. `with` says what the task asks for; everything in it is optional.

    `general`: keys and values of [general]; `framework`: the table that must be there; `values`: keys and values of it;
    `kernels`: a list of `{"backend", "src", "capabilities", "archs"}`; `depends`: what each kernel must depend on;
    `torch_src`: the sources of [torch].
    """

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`with` holds only what this check knows."""
        if given is None:
            return []
        if not isinstance(given, dict) or set(given) - ASKED:
            return [f"`with` may hold {', '.join(sorted(ASKED))}"]
        kernels = given.get("kernels", [])
        if not isinstance(kernels, list) or not all(isinstance(one, dict) and "backend" in one for one in kernels):
            return ["`kernels` must be a list of objects with a backend"]
        return []

    def __call__(self, inspection: Inspection) -> Finding:
        """Parse inside, judge outside."""
        files = dict(inspection.files)
        if FILE not in files and inspection.only_block is not None:
            files[FILE] = inspection.only_block.encode()
        text = files.get(FILE)
        if text is None:
            return Finding(False, f"there is no {FILE}")
        if len(text) > MOST_BYTES:
            return Finding(False, f"{FILE} has more than {MOST_BYTES} bytes")
        try:
            document = tomllib.loads(text.decode())
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
            return Finding(False, f"{FILE} is not TOML: {error}")
        said = _parsed(inspection, text, document)
        if "refused" in said:
            return Finding(False, f"the builder's parser refuses it: {_without_paths(str(said['refused']))}")
        asked = inspection.given if isinstance(inspection.given, dict) else {}
        found = [*problems_of(document, files, str(said["python_name"])), *_differences(document, asked)]
        return Finding(
            not found, "; ".join(found) or "the builder's parser accepts it, and it is what the task asks for"
        )


def _parsed(inspection: Inspection, text: bytes, document: Mapping[str, object]) -> Mapping[str, object]:
    general = document.get("general")
    name = str(general.get("name")) if isinstance(general, dict) else ""
    spec = SandboxSpec(limits=LIMITS, mounts=(toolchain(), HARNESS))
    with inspection.open_sandbox(spec) as sandbox:
        sandbox.put({FILE: text})
        command = [PYTHON, "-I", "-B", f"{HARNESS.target}/parse_build.py"]
        ran = sandbox.run(command, seconds=SECONDS, stdin=json.dumps({"name": name}).encode())
    if ran.ended != "exit" or ran.exit_code != 0:
        # No program of the answer runs here, so this is a fault of the tools.
        raise RuntimeError(f"the parser of build.toml did not run: {ran.stderr[-300:].decode('utf-8', 'replace')}")
    said = json.loads(ran.stdout)
    assert isinstance(said, dict)
    return said


def _without_paths(refusal: str) -> str:
    return refusal.rpartition("build.toml: ")[2].replace("\n", " ")[:300]


def _differences(document: Mapping[str, object], asked: Mapping[str, Json]) -> list[str]:
    found = [*_other_values(document, "general", asked.get("general"))]
    framework = asked.get("framework")
    if isinstance(framework, str):
        if framework not in document:
            found.append(f"the table [{framework}] is missing")
        found += _other_values(document, framework, asked.get("values"))
    torch = document.get("torch")
    sources = asked.get("torch_src")
    if isinstance(sources, list) and isinstance(torch, dict) and _sources(torch.get("src")) != _sources(sources):
        found.append(f"[torch] has the sources {', '.join(sorted(_sources(torch.get('src'))))}")
    missing = _all(asked.get("depends"))
    tables = document.get("kernel")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if isinstance(table, dict) and not missing <= _all(table.get("depends")):
            found.append(f"kernel.{name} does not depend on {', '.join(sorted(missing))}")
    wanted = asked.get("kernels")
    if isinstance(wanted, list):
        found += _other_kernels(kernels_of(document), [_asked_kernel(one) for one in wanted if isinstance(one, dict)])
    return found


def _other_values(document: Mapping[str, object], table: str, values: Json) -> list[str]:
    held = document.get(table)
    if not isinstance(values, dict) or not isinstance(held, dict):
        return []
    return [
        f"{table}.{key} is {held.get(key)!r}, not {value!r}"
        for key, value in values.items()
        if held.get(key) != value or type(held.get(key)) is not type(value)
    ]


def _other_kernels(found: list[KernelTable], wanted: list[KernelTable]) -> list[str]:
    missing = [f"no kernel is built for {one}" for one in wanted if one not in found]
    more = [f"nobody asked for a kernel for {one}" for one in found if one not in wanted]
    twice = ["a kernel is there twice"] if not missing and not more and len(found) != len(wanted) else []
    return missing + more + twice


def _asked_kernel(one: Mapping[str, Json]) -> KernelTable:
    return KernelTable(
        backend=str(one["backend"]),
        sources=_sources(one.get("src")),
        capabilities=_all(one.get("capabilities")),
        architectures=_all(one.get("archs")),
    )


def _sources(names: object) -> frozenset[str]:
    return frozenset(name for name in _all(names) if not name.endswith(tuple(HEADERS)))


def _all(names: object) -> frozenset[str]:
    return frozenset(str(name) for name in names) if isinstance(names, list) else frozenset()


kernel_project = KernelProject()
