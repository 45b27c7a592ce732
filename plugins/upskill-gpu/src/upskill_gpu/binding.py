"""`torch-binding`: does `torch_binding.cpp` register the asked operators the way the kernel builder needs it?

g++ checks in a sandbox that it is C++, against headers that declare just enough of Torch, and preprocesses it, so that
comments and code under `#if 0` are gone. The rules are applied to that text out here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from upskill.core.checks.plugin import Finding, Inspection, Json, Limits, SandboxSpec
from upskill_gpu.toolchain import HARNESS, ToolchainMissing

FILE = "torch-ext/torch_binding.cpp"
SECONDS = 30
LIMITS = Limits(memory_mb=512, address_space_mb=None, cpu_seconds=SECONDS, output_bytes=4_000_000)
COMPILER = ["/usr/bin/g++", "-std=c++17", f"-I{HARNESS.target}/headers", "-Itorch-ext", "-DCUDA_KERNEL"]
PYBIND = re.compile(r"pybind11|PYBIND11_MODULE|torch/extension\.h|torch/python\.h")
NAMED_BY_HAND = re.compile(r"\bTORCH_LIBRARY(?:_FRAGMENT|_IMPL)?\s*\(\s*(?P<name>\w+)")
BLOCK = re.compile(r"\bTORCH_LIBRARY_EXPAND\s*\(\s*(?P<name>\w+)\s*,\s*(?P<module>\w+)\s*\)\s*\{")
IMPL_BLOCK = re.compile(
    r"\bTORCH_LIBRARY_IMPL_EXPAND\s*\(\s*TORCH_EXTENSION_NAME\s*,\s*CUDA\s*,\s*(?P<module>\w+)\s*\)\s*\{"
)
REGISTERED = re.compile(r"\bREGISTER_EXTENSION\s*\(\s*TORCH_EXTENSION_NAME\s*\)")
STRINGS = r'(?:"(?:[^"\\\n]|\\.)*"\s*)+'
CUDA_KEY = r"(?:(?:torch|at|c10)::)?(?:kCUDA|DeviceType::CUDA|DispatchKey::CUDA)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """An operator as its definition declares it: types only, `Tensor!` for what it writes to."""

    takes: tuple[str, ...]
    returns: str


class TorchBinding:
    """The plug-in. `with` holds `ops`: `{"rms_norm": {"takes": ["Tensor!", "Tensor"], "returns": "()"}}`."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`ops` must be there."""
        ops = given.get("ops") if isinstance(given, dict) and set(given) == {"ops"} else None
        if not isinstance(ops, dict) or not all(isinstance(one, dict) and "takes" in one for one in ops.values()):
            return ['`with` must be {"ops": {"name": {"takes": ["Tensor!", …], "returns": "()"}}}']
        return []

    def __call__(self, inspection: Inspection) -> Finding:
        """Compile and preprocess inside, judge outside."""
        given = inspection.given
        assert isinstance(given, dict)
        ops = given["ops"]
        assert isinstance(ops, dict)
        files = dict(inspection.files)
        if FILE not in files and inspection.only_block is not None:
            files[FILE] = inspection.only_block.encode()
        if FILE not in files:
            return Finding(False, f"there is no {FILE}")
        if PYBIND.search(files[FILE].decode("utf-8", "replace")):
            return Finding(False, "it uses pybind11 or torch/extension.h, which the builder cannot compile")
        text, refused = _preprocessed(inspection, files)
        if refused:
            return Finding(False, refused)
        found = [*_convention(text), *_operators(text, ops)]
        return Finding(not found, "; ".join(found) or "the operators are registered as the builder needs it")


def _preprocessed(inspection: Inspection, files: Mapping[str, bytes]) -> tuple[str, str | None]:
    sources = {name: data for name, data in files.items() if name.endswith((".h", ".cpp", ".hpp"))}
    with inspection.open_sandbox(SandboxSpec(limits=LIMITS, mounts=(HARNESS,))) as sandbox:
        sandbox.put(sources)
        checked = sandbox.run([*COMPILER, "-fsyntax-only", FILE], seconds=SECONDS)
        if checked.ended == "gone":
            raise RuntimeError("the sandbox is gone")
        said = checked.stderr.decode("utf-8", "replace")
        if checked.exit_code in (126, 127) and "error:" not in said:
            raise ToolchainMissing("there is no g++ at /usr/bin; install the package g++")
        if checked.ended != "exit" or checked.exit_code != 0:
            error = next((line for line in said.splitlines() if "error" in line), said[-200:])
            return "", f"g++ refuses it: {error[:250]}"
        ran = sandbox.run([*COMPILER, "-DUPSKILL_PREPROCESS", "-E", "-P", FILE], seconds=SECONDS)
    if ran.ended != "exit" or ran.exit_code != 0:
        return "", f"g++ cannot preprocess it: {ran.ended}"
    return ran.stdout.decode("utf-8", "replace"), None


def _convention(text: str) -> Iterator[str]:
    for found in NAMED_BY_HAND.finditer(text):
        yield f"the library is named by hand: {found['name']}"
    blocks = list(BLOCK.finditer(text))
    if len(blocks) != 1:
        yield f"there are {len(blocks)} blocks with TORCH_LIBRARY_EXPAND, not one"
    for block in blocks:
        if block["name"] != "TORCH_EXTENSION_NAME":
            yield f"TORCH_LIBRARY_EXPAND is given {block['name']}, not TORCH_EXTENSION_NAME"
    if not REGISTERED.search(text):
        yield "REGISTER_EXTENSION(TORCH_EXTENSION_NAME) is missing"


def _operators(text: str, asked: Mapping[str, Json]) -> Iterator[str]:
    defined: dict[str, Schema | None] = {}
    registered: set[str] = set()
    for block in BLOCK.finditer(text):
        body, module = _body(text, block.end()), re.escape(block["module"])
        for found in re.finditer(rf"\b{module}\s*\.\s*def\s*\(\s*({STRINGS})", body):
            name, schema = _schema(_joined(found[1]))
            defined[name] = schema
        registered |= set(re.findall(rf'\b{module}\s*\.\s*impl\s*\(\s*"(\w+)"\s*,\s*{CUDA_KEY}\s*,', body))
    for block in IMPL_BLOCK.finditer(text):
        body, module = _body(text, block.end()), re.escape(block["module"])
        registered |= set(re.findall(rf'\b{module}\s*\.\s*impl\s*\(\s*"(\w+)"\s*,', body))
    for name, wanted in asked.items():
        assert isinstance(wanted, dict)
        takes = wanted["takes"]
        assert isinstance(takes, list)
        right = Schema(takes=tuple(str(one) for one in takes), returns=str(wanted.get("returns", "()")))
        if name not in defined:
            yield f"the operator {name} is not defined in the block"
        elif defined[name] != right:
            yield f"the schema of {name} takes {_said(defined[name])}, not {_said(right)}"
        if name not in registered:
            yield f"{name} has no implementation under torch::kCUDA"


def _body(text: str, start: int) -> str:
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


def _joined(strings: str) -> str:
    return "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', strings))


def _schema(text: str) -> tuple[str, Schema | None]:
    name = text.partition("(")[0].strip()
    found = re.fullmatch(r"\s*\w+\s*\((?P<takes>.*)\)\s*->\s*(?P<returns>.+?)\s*", text, flags=re.DOTALL)
    if found is None:
        return name, None
    takes = []
    for one in filter(None, (part.strip() for part in _split(found["takes"]))):
        parts = one.partition("=")[0].split()
        if len(parts) != 2:
            return name, None
        takes.append(re.sub(r"\(\w+!\)", "!", parts[0]))
    return name, Schema(takes=tuple(takes), returns=found["returns"].replace(" ", ""))


def _split(takes: str) -> list[str]:
    return re.split(r",(?![^(\[]*[)\]])", takes)


def _said(schema: Schema | None) -> str:
    return f"({', '.join(schema.takes)}) -> {schema.returns}" if schema else "nothing that can be read"


torch_binding = TorchBinding()
