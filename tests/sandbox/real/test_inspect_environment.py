"""The sandbox inside a real Inspect evaluation, with Inspect's own tools and a scripted model."""

import inspect as python_inspect
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState, generate, use_tools
from inspect_ai.tool import bash, python
from inspect_ai.util import (
    OutputLimitExceededError,
    SandboxEnvironmentSpec,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandbox,
)
from inspect_ai.util._sandbox import self_check

from upskill.sandbox.inspect_environment import NAME, SandboxConfig, UpskillSandboxEnvironment
from upskill.sandbox.probes import processes_named

# The engine's own waits between attempts use a parameter that its dependency has renamed.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

Check = Callable[[UpskillSandboxEnvironment], Awaitable[None]]

KNOWN_DIFFERENCES = {
    # A file that is put takes the place of what was there, a file without the right to write included.
    "test_write_text_file_without_permissions",
    "test_write_binary_file_without_permissions",
    # There is one user.
    "test_exec_as_user",
}
SLOW = {"test_exec_timeout_kills_process", "test_exec_timeout_kills_child_processes"}
"""They wait for half a minute for what our own tests show at once."""


def counted(output: ModelOutput) -> ModelOutput:
    """With its usage: the engine would count it with a table that it fetches from the network."""
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def call(tool: str, **arguments: str) -> ModelOutput:
    return counted(ModelOutput.for_tool_call("mockllm/model", tool, arguments))


def done() -> ModelOutput:
    return counted(ModelOutput.from_content("mockllm/model", "done"))


@scorer(metrics=[mean()])
def left_behind() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        content = await sandbox().read_file("answer.txt")
        return Score(value=1 if content == target.text else 0, explanation=content)

    return score


def evaluate(tmp_path: Path, outputs: list[ModelOutput], *, time_limit: int | None = None, **config: object) -> EvalLog:
    spec = SandboxEnvironmentSpec(NAME, SandboxConfig(**config) if config else None)  # type: ignore[arg-type]
    task = Task(
        dataset=[Sample(input="Do it.", target="42\n", files={"given.txt": "6"})],
        solver=[use_tools([bash(timeout=20), python(timeout=20)]), generate()],
        scorer=left_behind(),
        sandbox=spec,
        time_limit=time_limit,
    )
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = inspect_eval(task, model=model, display="none", log_dir=str(tmp_path), log_format="json")
    return log


def test_the_engines_own_tools_work_in_it_and_a_scorer_reads_what_they_left(tmp_path: Path) -> None:
    log = evaluate(
        tmp_path,
        [
            call("bash", command="id -u; pwd; cat given.txt; ls /home; curl -s http://127.0.0.1 || echo none"),
            call("python", code="open('answer.txt', 'w').write(str(6 * 7) + chr(10))"),
            done(),
        ],
    )
    assert log.status == "success", log.error
    assert log.samples is not None
    (sample,) = log.samples
    told = [message.text for message in sample.messages if message.role == "tool"]
    assert told[0].split() == ["1000", "/workspace", "6agent", "none"]
    assert sample.scores is not None
    assert sample.scores["left_behind"].value == 1


def test_limits_and_mounts_of_a_task_reach_the_sandbox(tmp_path: Path) -> None:
    toolkit = tmp_path / "toolkit"
    toolkit.mkdir(mode=0o755)
    (toolkit / "word").write_text("42\n")
    log = evaluate(
        tmp_path,
        [call("bash", command="ulimit -n; cp /opt/toolkit/word answer.txt"), done()],
        limits={"open_files": 77, "address_space_mb": None},
        mounts={"/opt/toolkit": toolkit},
    )
    assert log.samples is not None
    (sample,) = log.samples
    assert sample.scores is not None
    assert sample.scores["left_behind"].value == 1
    assert [message.text.strip() for message in sample.messages if message.role == "tool"] == ["77"]


def test_a_sample_whose_time_is_up_leaves_no_process(tmp_path: Path, marker: str) -> None:
    script = f"(setsid sleep {marker} &) ; echo 42 > answer.txt; sleep {marker}"
    log = evaluate(tmp_path, [call("bash", command=script)], time_limit=6)
    assert log.samples is not None
    (sample,) = log.samples
    assert sample.limit is not None
    assert sample.limit.type == "time"
    assert processes_named(marker) == []
    # What was there when the time was up is still scored.
    assert sample.scores is not None
    assert sample.scores["left_behind"].value == 1


def run_checks(*checks: Check) -> dict[str, BaseException | None]:
    """Each in a sandbox of its own, a few at a time."""
    found: dict[str, BaseException | None] = {}

    async def one(check: Check, turn: anyio.Semaphore) -> None:
        async with turn:
            environments = await UpskillSandboxEnvironment.sample_init("task", None, {})
            try:
                await check(environments["default"].as_type(UpskillSandboxEnvironment))
                found[check.__name__] = None
            except Exception as error:  # noqa: BLE001 (a check of the engine fails in any way it likes)
                found[check.__name__] = error
            finally:
                await UpskillSandboxEnvironment.sample_cleanup("task", None, environments, False)

    async def all_of_them() -> None:
        turn = anyio.Semaphore(4)
        async with anyio.create_task_group() as group:
            for check in checks:
                group.start_soon(one, check, turn)

    anyio.run(all_of_them)
    return found


def test_the_engines_checks_of_a_sandbox_pass() -> None:
    checks = [
        check
        for name, check in vars(self_check).items()
        if name.startswith("test_") and python_inspect.iscoroutinefunction(check) and name not in SLOW
    ]
    assert len(checks) > 30
    failed = {name: error for name, error in run_checks(*checks).items() if error is not None}
    assert set(failed) == KNOWN_DIFFERENCES, failed


def test_each_end_has_the_error_the_engine_knows() -> None:
    async def ends(environment: UpskillSandboxEnvironment) -> None:
        with pytest.raises(SandboxUserUnsupportedError):
            await environment.exec(["true"], user="root")
        with pytest.raises(OutputLimitExceededError):
            await environment.exec(["yes"])
        started = anyio.current_time()
        with pytest.raises(TimeoutError):
            await environment.exec(["sh", "-c", "echo x >> tries; sleep 30"], timeout=1)
        assert anyio.current_time() - started < 5
        # One attempt, though the caller allows more.
        assert await environment.read_file("tries") == "x\n"
        await environment.write_file("~/in-home", "h")
        assert await environment.read_file("/home/agent/in-home", text=False) == b"h"
        environment.sandbox.close()
        with pytest.raises(SandboxUnavailableError):
            await environment.exec(["true"])
        with pytest.raises(SandboxUnavailableError):
            await environment.read_file("tries")

    assert run_checks(ends) == {"ends": None}


def test_a_limit_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no such limit: memory"):
        SandboxConfig(limits={"memory": 1}).spec()
