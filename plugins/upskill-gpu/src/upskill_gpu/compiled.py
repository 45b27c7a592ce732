"""`cuda-compiles`: does a `.cu` file compile for an architecture, and does its machine code show what was asked for?

nvcc compiles it in a sandbox, cuobjdump shows the machine code, and the rules are applied to that out here. Nothing is
run: that needs a GPU. A compilation that takes more than a minute fails, because ptxas is slow where registers spill.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from upskill.core.checks.plugin import CommandResult, Finding, Inspection, Json, Limits, Sandbox, SandboxSpec
from upskill_gpu.toolchain import Compiler, compiler

SECONDS = 60
"""Of the processor, for each program. On a machine that does a lot else it may take five times as long."""
MOST_BYTES = 100_000
MOST_OUTPUT = 16_000_000
LIMITS = Limits(
    memory_mb=2_048,
    address_space_mb=None,
    cpu_seconds=SECONDS,
    output_bytes=MOST_OUTPUT,
    tmp_mb=256,
)
INCLUDE = re.compile(r"^\s*#\s*include\s*(?P<what>.*)$", re.MULTILINE)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
CONDITIONAL = re.compile(r"^\s*#\s*if", re.MULTILINE)
ASKED = frozenset({"file", "arch", "kernel", "at_least", "none", "registers", "static_shared", "asm", "contains"})
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9_.]*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineCode:
    """What was compiled for one kernel."""

    instructions: tuple[str, ...]
    registers: int
    static_shared: int

    def count(self, prefix: str) -> int:
        """How many instructions there are with this name, or with this name and further suffixes."""
        return sum(name == prefix or name.startswith(f"{prefix}.") for name in self.instructions)


class CudaCompiles:
    """The plug-in. `with` names `file`, `arch` and `kernel`, and what its machine code must show.

    `at_least`: instructions and how many of each; `none`: instructions that must not be there; `registers`: the most
    per thread; `static_shared`: the most bytes; `asm`: whether inline assembly is allowed; `contains`: what the source
    must use.
    """

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`file`, `arch` and `kernel` must be there."""
        if not isinstance(given, dict) or set(given) - ASKED or not {"file", "arch", "kernel"} <= set(given):
            return [f"`with` must hold file, arch and kernel, and may hold {', '.join(sorted(ASKED))}"]
        arch = given["arch"]
        if not isinstance(arch, str) or not re.fullmatch(r"sm_\d{2,3}[af]?", arch):
            return ["`arch` must be such as sm_90"]
        return []

    def __call__(self, inspection: Inspection) -> Finding:
        """Compile, disassemble, judge."""
        given = inspection.given
        assert isinstance(given, dict)
        name = str(given["file"])
        source = inspection.files.get(name)
        if source is None and inspection.only_block is not None:
            source = inspection.only_block.encode()
        if source is None:
            return Finding(False, f"there is no {name}")
        refused = _refused_source(source, given)
        if refused:
            return Finding(False, refused)
        tools = compiler()
        with inspection.open_sandbox(SandboxSpec(limits=LIMITS, mounts=(tools.mount,))) as sandbox:
            return _compiled(sandbox, tools, source, given)


def _refused_source(source: bytes, given: Mapping[str, Json]) -> str | None:
    if len(source) > MOST_BYTES:
        return f"the source has more than {MOST_BYTES} bytes"
    text = source.decode("utf-8", "replace")
    for include in INCLUDE.finditer(text):
        if include["what"].strip() not in {"<cuda_runtime.h>", "<cstdint>", "<stdint.h>"}:
            return f"#include {include['what'].strip()[:60]} is not allowed by the task"
    if not given.get("asm") and re.search(r"\b(?:asm|__asm__|__asm)\b", text):
        return "the task does not allow inline assembly"
    return None


def _compiled(sandbox: Sandbox, tools: Compiler, source: bytes, given: Mapping[str, Json]) -> Finding:
    arch, kernel = str(given["arch"]), str(given["kernel"])
    sandbox.put({"work/kernel.cu": source})
    environment = {"PATH": f"{tools.programs}:/usr/bin:/bin"}
    command = [
        f"{tools.programs}/nvcc",
        f"-arch={arch}",
        "-O3",
        "-Xptxas",
        "-v",
        "-cubin",
        "kernel.cu",
        "-o",
        "k.cubin",
    ]
    ran = sandbox.run(command, seconds=5 * SECONDS, environment=environment, folder="/workspace/work")
    ended = _not_ended(ran, "nvcc")
    if ended:
        return Finding(False, ended)
    said = ran.stderr.decode("utf-8", "replace") + ran.stdout.decode("utf-8", "replace")
    if ran.exit_code != 0:
        return Finding(False, f"nvcc refuses it for {arch}: {_first_error(said)}")
    shown = sandbox.run(
        [f"{tools.programs}/cuobjdump", "-sass", "k.cubin"],
        seconds=5 * SECONDS,
        environment=environment,
        folder="/workspace/work",
    )
    ended = _not_ended(shown, "cuobjdump")
    if ended:
        return Finding(False, ended)
    if shown.exit_code != 0:
        raise RuntimeError(f"cuobjdump ended with {shown.exit_code}: {shown.stderr[-200:].decode('utf-8', 'replace')}")
    code = _machine_code(said, shown.stdout.decode("utf-8", "replace"), kernel)
    if code is None:
        return Finding(False, f"there is no __global__ function {kernel}")
    found = [*_problems(code, given), *_missing_in_source(source, given)]
    return Finding(not found, "; ".join(found) or f"compiles for {arch} with {code.registers} registers, as asked")


def _not_ended(ran: CommandResult, program: str) -> str | None:
    if ran.ended == "gone":
        raise RuntimeError("the sandbox is gone")
    if ran.ended == "exit" and ran.exit_code is not None and ran.exit_code >= 0:
        return None
    return f"{program} did not finish within {SECONDS} seconds: {ran.ended}"


def _first_error(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if "error" in line.lower() or "fatal" in line.lower()]
    return re.sub(r"\S*tmpxft\S*", "kernel.ptx", lines[0])[:250] if lines else said.strip()[-250:]


def _machine_code(said: str, shown: str, kernel: str) -> MachineCode | None:
    parts = re.split(r"^\s*Function : (\S+)\s*$", shown, flags=re.MULTILINE)
    functions = dict(zip(parts[1::2], parts[2::2], strict=True))
    name = next((one for one in functions if one == kernel or one.startswith(f"_Z{len(kernel)}{kernel}")), None)
    if name is None:
        return None
    about = re.search(
        rf"Compiling entry function '{re.escape(name)}'.*?Used (\d+) registers([^\n]*)", said, flags=re.DOTALL
    )
    if about is None:
        return None
    shared = re.search(r"(\d+) bytes smem", about[2])
    return MachineCode(
        instructions=tuple(found["name"] for found in INSTRUCTION.finditer(functions[name])),
        registers=int(about[1]),
        static_shared=int(shared[1]) if shared else 0,
    )


def _problems(code: MachineCode, given: Mapping[str, Json]) -> list[str]:
    found = []
    at_least, none = given.get("at_least"), given.get("none")
    for name, least in at_least.items() if isinstance(at_least, dict) else ():
        if code.count(name) < int(str(least)):
            found.append(f"the machine code has {code.count(name)} {name}, not at least {least}")
    found += [
        f"the machine code has {code.count(str(name))} {name}"
        for name in (none if isinstance(none, list) else ())
        if code.count(str(name))
    ]
    registers, shared = given.get("registers"), given.get("static_shared")
    if isinstance(registers, int) and code.registers > registers:
        found.append(f"a thread needs {code.registers} registers, more than {registers}")
    if isinstance(shared, int) and code.static_shared > shared:
        found.append(f"the kernel has {code.static_shared} bytes of static shared memory, more than {shared}")
    return found


def _missing_in_source(source: bytes, given: Mapping[str, Json]) -> list[str]:
    """What of `contains` is not in the code itself: comments and strings do not count; conditions are refused."""
    wanted = given.get("contains")
    if not isinstance(wanted, list):
        return []
    text = COMMENT_OR_STRING.sub(" ", source.decode("utf-8", "replace"))
    if CONDITIONAL.search(text):
        return ["the task does not need conditional compilation, which hides what is compiled"]
    return [f"the source does not use {one}" for one in wanted if str(one) not in text]


cuda_compiles = CudaCompiles()
