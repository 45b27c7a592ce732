"""`cuda-simulated`: does a kernel in Python compute the right values, on numba's CUDA simulator?

The source is read first: a file that holds anything but a kernel is refused without being run. Then the kernel is
launched in a fresh sandbox, with inputs that are not in the prompt. What is right is computed and compared out here.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from upskill.core.checks.plugin import FileRefused, Finding, Inspection, Json, Limits, Sandbox, SandboxSpec
from upskill_gpu.kernel_source import NotAKernel, require_kernel
from upskill_gpu.launches import Array, Launch
from upskill_gpu.tasks import TASKS, Task
from upskill_gpu.toolchain import HARNESS, PYTHON, toolchain

FILE = "kernel.py"
SECONDS = 300
"""On a machine that does a lot else; what ends a kernel that never ends is the time of the processor."""
LIMITS = Limits(memory_mb=2_048, address_space_mb=None, cpu_seconds=30, processes=256)
MOST_RESULT_BYTES = 2_000_000
UNEVEN = 8
"""How many times its even share the busiest thread may do. The share comes from the sizes of the arguments and not from
the accesses, so that it does not grow when the other threads read for nothing."""
FREE_ELEMENTS = 48
"""How many elements of an argument any thread may use, whatever its share is: fewer than a block of 64 has threads."""


class CudaSimulated:
    """The plug-in. `with` names the task: `{"task": "rms-norm"}`."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`with` must name a task that exists."""
        if not isinstance(given, dict) or set(given) != {"task"} or given["task"] not in TASKS:
            return [f'`with` must be {{"task": …}} with one of {", ".join(TASKS)}']
        return []

    def __call__(self, inspection: Inspection) -> Finding:
        """Read, launch, compare."""
        given = inspection.given
        assert isinstance(given, dict)
        task = TASKS[str(given["task"])]
        source = inspection.files.get(FILE)
        if source is None and inspection.only_block is not None:
            source = inspection.only_block.encode()
        if source is None:
            return Finding(False, f"there is no {FILE}")
        try:
            require_kernel(source, task.kernel, uses=task.uses)
        except NotAKernel as refused:
            return Finding(False, str(refused))
        launches = task.launches()
        spec = SandboxSpec(limits=LIMITS, mounts=(toolchain(), HARNESS))
        with inspection.open_sandbox(spec) as sandbox:
            return _launched(sandbox, source, task, launches)


def _launched(sandbox: Sandbox, source: bytes, task: Task, launches: Sequence[Launch]) -> Finding:
    sandbox.put({FILE: source})
    work: dict[str, Any] = {
        "kernel": task.kernel,
        "launches": [
            {
                "seed": at,
                "grid": launch.grid,
                "block": launch.block,
                "arguments": [one.to_json() for one in launch.arguments],
            }
            for at, launch in enumerate(launches)
        ],
    }
    through_shared = "cuda.shared.array" in task.uses
    if through_shared:
        work["launches"].append({**work["launches"][-1], "disconnected": True})
    command = [PYTHON, "-I", "-B", f"{HARNESS.target}/simulate.py"]
    ran = sandbox.run(command, seconds=SECONDS, stdin=json.dumps(work).encode())
    if ran.ended == "gone":
        raise RuntimeError("the sandbox is gone")
    if ran.ended != "exit":
        return Finding(False, f"the kernel did not finish: {ran.ended}")
    if ran.exit_code != 0:
        return Finding(False, f"the simulator ended with {ran.exit_code}: {_tail(ran.stderr)}")
    try:
        result = json.loads(sandbox.read("result.json", most_bytes=MOST_RESULT_BYTES))
    except (FileNotFoundError, FileRefused, ValueError, RecursionError):
        return Finding(False, "the launches gave no result")
    last = result["launches"].pop() if through_shared and isinstance(result, dict) and result.get("launches") else None
    found = _judged(result, task, launches)
    if found.passed and last is not None and _problem(task, launches[-1], last) is None:
        return Finding(False, "the result does not depend on what is written to shared memory, which the task asks for")
    return found


def _judged(result: object, task: Task, launches: Sequence[Launch]) -> Finding:
    if not isinstance(result, dict) or "fault" in result:
        return Finding(False, f"the kernel cannot be launched: {_fault(result)}")
    done = result.get("launches")
    if not isinstance(done, list) or len(done) != len(launches):
        return Finding(False, "not every launch gave a result")
    for launch, one in zip(launches, done, strict=True):
        problem = _problem(task, launch, one)
        if problem:
            return Finding(False, f"{launch.label}: {problem}")
    return Finding(True, f"{len(launches)} launches with the right values")


def _problem(task: Task, launch: Launch, done: object) -> str | None:
    if not isinstance(done, dict) or "fault" in done:
        return _fault(done)
    arrays = done.get("arrays")
    if not isinstance(arrays, list) or len(arrays) != len(launch.arguments):
        return "the arrays are missing"
    for at, (argument, found) in enumerate(zip(launch.arguments, arrays, strict=True)):
        if not isinstance(argument, Array):
            continue
        if not isinstance(found, list) or len(found) != len(argument.values):
            return f"argument {at + 1} has another size afterwards"
        if at == launch.writes:
            wrong = _first_wrong(launch, found)
            if wrong:
                return wrong
        elif list(argument.values) != found:
            return f"the kernel changed its input, argument {at + 1}"
    return _uneven(task, launch, done.get("accesses")) or _misused(task, launch, done.get("uses"))


def _first_wrong(launch: Launch, found: list[object]) -> str | None:
    for at, (expected, value) in enumerate(zip(launch.expected, found, strict=True)):
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            return f"element {at} is {value}, not {expected:.6g}"
        if abs(value - expected) > launch.absolute + launch.relative * abs(expected):
            return f"element {at} is {value:.6g}, not {expected:.6g}"
    return None


def _uneven(task: Task, launch: Launch, accesses: object) -> str | None:
    if not isinstance(accesses, list) or not all(isinstance(one, int) for one in accesses):
        return "the accesses of each thread were not counted"
    elements = sum(len(one.values) for one in launch.arguments if isinstance(one, Array))
    most = max(accesses, default=0)
    if most > task.combines * math.prod(launch.block) + UNEVEN * elements / launch.threads:
        return f"one thread does {most} of {sum(accesses)} accesses: the threads do not share the work"
    return None


def _misused(task: Task, launch: Launch, uses: object) -> str | None:
    """What is wrong with how the threads use the arguments, one array after the other."""
    if not isinstance(uses, list):
        return "the uses of the arguments were not counted"
    for one in uses:
        size, most = one["size"], one["most"]
        if most > max(FREE_ELEMENTS, UNEVEN * size / launch.threads):
            return f"one thread uses {most} of {size} elements of an argument: the threads do not share the work"
        if task.most_uses is not None and not one["written"] and one["uses"] > task.most_uses * size:
            return f"an input of {size} elements is read {one['uses']} times: its tiles are not in shared memory"
        if task.coalesced and 2 * one["beside"] < one["pairs"]:
            return f"neighbouring threads use neighbouring elements in only {one['beside']} of {one['pairs']} accesses"
    return None


def _fault(result: object) -> str:
    return str(result.get("fault"))[:400] if isinstance(result, dict) else "the result is no object"


def _tail(stream: bytes) -> str:
    return stream[-300:].decode("utf-8", "replace").strip()


cuda_simulated = CudaSimulated()
