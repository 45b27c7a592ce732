"""Damaged and hostile recordings of every format: a message or a shorter trace, never a traceback, never a hang."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.unit.counting import EXPECTED, SAMPLES, everything
from traces.unit.damage import damaged
from upskill.errors import UpskillError
from upskill.traces.readers import read_traces, readers
from upskill.traces.trace import Trace

SAMPLES_OF = {
    form: [name for name, expected in EXPECTED.items() if expected["format"] == form] for form in sorted(readers())
}
LONGEST_SECONDS = 10
CONTENT = "__shfl_down"
"""In every sample, and never to be seen in a message or a note."""


@pytest.mark.parametrize("form", SAMPLES_OF)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_recording_gives_a_message_or_a_shorter_trace(
    form: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = SAMPLES_OF[form][seed % len(SAMPLES_OF[form])]
    path = _beside_its_folder(tmp_path_factory.getbasetemp() / "damaged", name)
    path.write_bytes(damaged((SAMPLES / name).read_bytes(), seed))
    started = time.process_time()
    try:
        reading = read_traces(path)
    except UpskillError as error:
        said = [error.message, error.hint or ""]
    else:
        said = list(reading.notes)
        for trace in reading.traces:
            _must_be_sound(trace)
    assert time.process_time() - started < LONGEST_SECONDS
    assert not [text for text in said if CONTENT in text]
    assert all(text.encode("utf-8") for text in said if text)


def _beside_its_folder(folder: Path, name: str) -> Path:
    """Where to write it: under its own name, with the subagents' files that belong to it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = (SAMPLES / name).with_suffix("")
    if parts.is_dir() and not path.with_suffix("").exists():
        shutil.copytree(parts, path.with_suffix(""))
    return path


def _must_be_sound(trace: Trace) -> None:
    """A trace that can be written and walked, whatever it was read from."""
    everything(trace).encode("utf-8")
    for one in _all(trace):
        assert [step.number for step in one.steps] == list(range(1, len(one.steps) + 1))
        calls = [call.id for step in one.steps for call in step.calls]
        assert len(calls) == len(set(calls))
        for step in one.steps:
            own = {call.id for call in step.calls}
            assert all(output.call_id in own for output in step.observations)
            "".join([*own, *(call.name for call in step.calls)]).encode("utf-8")


def _all(trace: Trace) -> Iterator[Trace]:
    waiting = [trace]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(part.trace for part in one.subtraces)
