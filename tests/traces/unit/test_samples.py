"""Every sample gives the counts a right reader finds, and holds nothing that was undone or put in by a program."""

from typing import Any

import pytest

from traces.unit.counting import EXPECTED, SAMPLES, counts, everything
from upskill.errors import UsageError
from upskill.traces.readers import detect, read_traces, readers
from upskill.traces.recording import Recording

READ = {name: expected for name, expected in EXPECTED.items() if expected.get("traces")}


def test_every_format_of_the_samples_has_a_reader() -> None:
    assert {expected["format"] for expected in EXPECTED.values()} - {None, "text"} == readers().keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_the_format_is_told_by_content(name: str) -> None:
    if EXPECTED[name].get("refused"):
        with pytest.raises(UsageError):
            detect(Recording(SAMPLES / name))
    else:
        assert detect(Recording(SAMPLES / name)) == EXPECTED[name]["format"]


@pytest.mark.parametrize("name", READ)
def test_the_counts_come_out(name: str) -> None:
    expected = READ[name]
    reading = read_traces(SAMPLES / name)
    assert reading.recorder == expected["format"]
    assert reading.bad_lines == expected.get("bad_lines", 0)
    assert [_known(counts(trace), of) for trace, of in zip(reading.traces, expected["traces"], strict=True)] == [
        {key: value for key, value in of.items() if value is not None} for of in expected["traces"]
    ]
    subtraces = [part for trace in reading.traces for part in trace.subtraces]
    assert [
        _known(counts(part.trace), of) for part, of in zip(subtraces, expected.get("sub", ()), strict=True)
    ] == list(expected.get("sub", ()))
    assert [trace.success for trace in reading.traces] == expected.get("success", [None] * len(reading.traces))
    assert [trace.commands for trace in reading.traces] == expected.get("commands", [0] * len(reading.traces))


@pytest.mark.parametrize("name", READ)
def test_what_must_be_absent_is_absent_and_turns_are_the_persons_words(name: str) -> None:
    expected = READ[name]
    traces = read_traces(SAMPLES / name).traces
    whole = "\n".join(everything(trace) for trace in traces)
    assert [text for text in expected.get("absent", ()) if text in whole] == []
    said = [step.text for trace in traces for step in trace.steps if step.source == "person"]
    if "user_texts" in expected:
        assert [found.startswith(begins) for found, begins in zip(said, expected["user_texts"], strict=True)] == [
            True
        ] * len(said)


def _known(found: dict[str, int], expected: dict[str, Any]) -> dict[str, int]:
    return {key: value for key, value in found.items() if expected.get(key) is not None}
