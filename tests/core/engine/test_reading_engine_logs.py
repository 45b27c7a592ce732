"""Logs that the engine itself writes are read as recordings."""

from pathlib import Path

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser
from inspect_ai.scorer import Score, Value
from inspect_ai.tool import ToolCall, ToolCallError

from traces.unit.written import done, said
from upskill.traces.readers import read_traces

TASK = "Make the tests pass."


@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_log_that_the_engine_writes_is_read_with_its_scores(tmp_path: Path, form: str) -> None:
    calls = [ToolCall(id="c", function="bash", arguments={"cmd": "make"})]
    sent = [ToolCall(id="s", function="submit", arguments={"answer": "It works."})]
    messages: list[ChatMessage] = [
        ChatMessageUser(content=TASK, source="input"),
        ChatMessageAssistant(content="I build.", tool_calls=calls),
        ChatMessageTool(content="", tool_call_id="c", error=ToolCallError("timeout", "took too long")),
        ChatMessageUser(content="Please go on."),
        ChatMessageAssistant(content="", tool_calls=sent),
        ChatMessageTool(content="It works.", tool_call_id="s"),
    ]
    values: tuple[Value, ...] = ("C", 0, 0.5, {"a": 1})
    samples = [
        EvalSample(id=number, epoch=1, input=TASK, target="", messages=messages, scores={"s": Score(value=value)})
        for number, value in enumerate(values, 1)
    ]
    spec = EvalSpec(
        created="2026-09-01T10:00:00+00:00", task="t", model="m", dataset=EvalDataset(), config=EvalConfig()
    )
    path = tmp_path / f"log.{form}"
    write_eval_log(EvalLog(eval=spec, samples=list(samples), status="success"), str(path))
    traces = read_traces(path).traces
    assert [trace.success for trace in traces] == [True, False, None, None]
    assert said(traces[0], "person") == [TASK]
    assert said(traces[0], "harness") == ["Please go on."]
    assert said(traces[0], "agent") == ["I build.", "It works."]
    assert done(traces[0]) == [("bash", "make", "took too long", True)]
