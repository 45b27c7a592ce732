"""Steps of agents out of the engine's logs: in their order, within bounds, and nothing where a log cannot be read."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from upskill.core.nouns.answer import AgentStep, AgentSteps, ToolCall, Trajectory
from upskill.core.runs import engine_logs
from upskill.core.runs.engine_logs import MOST_CHARACTERS, LogSamples, StepReader

LOG, SAMPLE = "2026_thing-1_abc.eval", "000001-port-offered-1"


def said(text: object, *calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    made = [{"id": name, "function": tool, "arguments": arguments} for name, tool, arguments in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(name: str, content: object, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": content, **more}


def write(folder: Path, *messages: dict[str, Any], **more: Any) -> None:
    sample = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, *messages], **more}
    with zipfile.ZipFile(folder / LOG, "w") as log:
        log.writestr(f"samples/{SAMPLE}_epoch_1.json", json.dumps(sample))


def read(folder: Path, most: int = 40) -> AgentSteps | None:
    with StepReader(folder, most_steps=most) as reader:
        return reader.read(LOG, SAMPLE)


def test_words_and_calls_come_in_their_order_with_what_came_back(tmp_path: Path) -> None:
    write(
        tmp_path,
        said("I look.", ("a", "shell", {"command": "ls"}), ("b", "write_file", {"path": "x", "content": "y\n"})),
        result("a", "notes.txt"),
        result("b", "", error={"type": "permission", "message": "not here"}),
        said([{"type": "reasoning", "reasoning": "hidden"}, {"type": "text", "text": "Done."}]),
        events=[{"event": "tool", "id": "a", "working_time": 0.25}, {"event": "model"}],
    )
    assert read(tmp_path) == AgentSteps(
        first=(
            AgentStep(kind="says", text="I look."),
            AgentStep(kind="tool", tool="shell", arguments="ls", output="notes.txt", seconds=0.25),
            AgentStep(
                kind="tool", tool="write_file", arguments="path: x\ncontent: y\n", output="not here", failed=True
            ),
            AgentStep(kind="says", text="Done."),
        )
    )


def test_a_text_that_the_engine_keeps_elsewhere_is_found(tmp_path: Path) -> None:
    write(
        tmp_path,
        said("", ("a", "shell", {"command": "attachment://1"})),
        result("a", "attachment://2"),
        attachments={"1": "echo", "2": "out"},
    )
    steps = read(tmp_path)
    assert steps is not None
    assert [(step.arguments, step.output) for step in steps.first] == [("echo", "out")]


def test_of_many_steps_the_first_and_last_are_read_and_the_rest_counted(tmp_path: Path) -> None:
    write(tmp_path, *(said(f"{number}") for number in range(100)))
    steps = read(tmp_path, most=6)
    assert steps is not None
    assert [step.text for step in steps.first] == ["0", "1", "2", "3"]
    assert [step.text for step in steps.last] == ["98", "99"]
    assert steps.left_out == 94


def test_a_long_text_is_cut(tmp_path: Path) -> None:
    write(tmp_path, said("x" * 50_000))
    steps = read(tmp_path)
    assert steps is not None
    assert len(steps.first[0].text) == MOST_CHARACTERS


@pytest.mark.parametrize("sample", ["[]", '{"messages": 1}', '{"messages": [{}]}', '{"messages": ["x"]}', "{", "1"])
def test_a_sample_of_another_shape_has_no_steps(tmp_path: Path, sample: str) -> None:
    with zipfile.ZipFile(tmp_path / LOG, "w") as log:
        log.writestr(f"samples/{SAMPLE}_epoch_1.json", sample)
    assert read(tmp_path) is None


@pytest.mark.parametrize("sample", ["[" * 200_000, '{"messages": [{"role": "assistant", "content": 1e999}]}', "\0"])
def test_json_that_no_engine_writes_has_no_steps(tmp_path: Path, sample: str) -> None:
    with zipfile.ZipFile(tmp_path / LOG, "w") as log:
        log.writestr(f"samples/{SAMPLE}_epoch_1.json", sample)
    steps = read(tmp_path)
    assert steps is None or not steps.first


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 10**400])
def test_a_time_that_is_none_is_left_out(tmp_path: Path, seconds: float) -> None:
    write(tmp_path, said("", ("a", "shell", {})), events=[{"event": "tool", "id": "a", "working_time": seconds}])
    steps = read(tmp_path)
    assert steps is None or [step.seconds for step in steps.first] == [None]


def test_a_log_in_a_packing_that_engines_do_not_use_is_not_unpacked(tmp_path: Path) -> None:
    write(tmp_path, said("x"))
    with zipfile.ZipFile(tmp_path / LOG) as log:
        whole = log.read(f"samples/{SAMPLE}_epoch_1.json")
    with zipfile.ZipFile(tmp_path / LOG, "w", zipfile.ZIP_BZIP2) as log:
        log.writestr(f"samples/{SAMPLE}_epoch_1.json", whole)
    assert read(tmp_path) is None


def test_a_log_with_a_flipped_byte_has_no_steps(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / LOG, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr(f"samples/{SAMPLE}_epoch_1.json", json.dumps({"messages": [said("x" * 99)] * 9}))
    data = bytearray((tmp_path / LOG).read_bytes())
    data[85] ^= 0xFF
    (tmp_path / LOG).write_bytes(bytes(data))
    assert read(tmp_path) is None


def test_neither_a_link_nor_a_pipe_is_read_as_a_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write(tmp_path, said("somebody else's"))
    (tmp_path / "logs" / LOG).symlink_to(tmp_path / LOG)
    assert read(tmp_path / "logs") is None
    assert LogSamples(tmp_path / "logs", ["port"]).find(1, "port", "offered", 1) is None
    (tmp_path / "logs" / LOG).unlink()
    os.mkfifo(tmp_path / "logs" / LOG)
    assert read(tmp_path / "logs") is None
    assert LogSamples(tmp_path / "logs", ["port"]).find(1, "port", "offered", 1) is None


def test_a_log_that_is_cut_or_gone_has_no_steps(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    (tmp_path / LOG).write_bytes(b"PK\x03\x04 cut")
    assert read(tmp_path) is None


def test_where_no_steps_are_wanted_no_log_is_opened(tmp_path: Path) -> None:
    write(tmp_path, said("x"))
    reader = StepReader(tmp_path, most_steps=0)
    assert reader.read(LOG, SAMPLE) is None
    assert reader._open == {}


def test_when_much_was_read_the_rest_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, said("x" * 500))
    monkeypatch.setattr(engine_logs, "MOST_STEP_BYTES", 1_000)
    with StepReader(tmp_path, most_steps=9) as reader:
        assert reader.read(LOG, SAMPLE) is not None
        assert reader.read(LOG, SAMPLE) is None


def test_every_text_of_a_step_is_cleaned() -> None:
    step = AgentStep(kind="tool", text="key", tool="key", arguments="key", output="key")
    cleaned = AgentSteps(first=(step,), last=(step,)).cleaned(lambda text: text.replace("key", "[redacted]"))
    assert "key" not in str(cleaned)


def recorded(*calls: tuple[str, str, bool]) -> Trajectory:
    return Trajectory(
        calls=tuple(ToolCall(turn=1, tool=tool, arguments=said, failed=failed) for tool, said, failed in calls)
    )


def test_the_steps_are_the_recorded_calls_with_what_the_log_has_of_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        said("I look.", ("a", "shell", {"command": "ls"}), ("b", "shell", {"command": "rm x"})),
        result("a", "notes.txt"),
        said("I write.", ("c", "write_file", {"path": "x", "content": "y"})),
        said("Done."),
    )
    trajectory = recorded(("shell", "ls", False), ("web", "http://x", True), ("write_file", "x", False))
    with StepReader(tmp_path, most_steps=40) as reader:
        joined = reader.read(LOG, SAMPLE, trajectory)
        alone = reader.read(None, None, trajectory)
        nothing = reader.read(None, None, Trajectory())
    assert joined == AgentSteps(
        first=(
            AgentStep(kind="says", text="I look."),
            AgentStep(kind="tool", tool="shell", arguments="ls", output="notes.txt"),
            AgentStep(kind="tool", tool="web", arguments="http://x", failed=True),
            AgentStep(kind="says", text="I write."),
            AgentStep(kind="tool", tool="write_file", arguments="path: x\ncontent: y"),
            AgentStep(kind="says", text="Done."),
        )
    ), "what no check saw is not shown"
    assert alone is not None
    assert [(step.tool, step.arguments) for step in alone.first] == [
        ("shell", "ls"),
        ("web", "http://x"),
        ("write_file", "x"),
    ]
    assert nothing is None
