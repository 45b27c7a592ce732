"""Logs of Inspect: written by the engine itself, cut, packed in other ways, and made to hurt."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from traces.unit.counting import SAMPLES
from traces.unit.written import said
from upskill.errors import UsageError
from upskill.traces.readers import read_traces
from upskill.traces.recording import LARGEST_DOCUMENT

TASK = "Make the tests pass."
MESSAGES = [{"role": "user", "content": TASK, "source": "input"}, {"role": "assistant", "content": "Done."}]


def log(folder: Path, *samples: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", "{}")
        for number, sample in enumerate(samples, 1):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_log_packed_in_another_way_is_read(tmp_path: Path, method: int) -> None:
    (trace,) = read_traces(log(tmp_path, {"messages": MESSAGES}, method=method)).traces
    assert said(trace, "agent") == ["Done."]


def test_scores_that_disagree_and_a_sample_with_an_error_are_no_label(tmp_path: Path) -> None:
    right, wrong = {"value": "C"}, {"value": "I"}
    path = log(
        tmp_path,
        {"messages": MESSAGES, "scores": {"a": right, "b": wrong}},
        {"messages": MESSAGES, "scores": {"a": right}, "error": {"message": "killed"}},
        {"messages": MESSAGES},
        {"messages": MESSAGES, "scores": {"a": right, "b": right}},
    )
    assert [trace.success for trace in read_traces(path).traces] == [None, None, None, True]


def test_a_long_text_kept_beside_the_messages_is_put_back(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "attachment://abc"}]
    (trace,) = read_traces(log(tmp_path, {"messages": messages, "attachments": {"abc": TASK}})).traces
    assert said(trace, "person") == [TASK]


def test_a_damaged_sample_is_left_out_and_said_so(tmp_path: Path) -> None:
    whole = (SAMPLES / "inspect" / "log.eval").read_bytes()
    with zipfile.ZipFile(SAMPLES / "inspect" / "log.eval") as archive:
        start = archive.getinfo("samples/1_epoch_1.json").header_offset
    path = tmp_path / "log.eval"
    path.write_bytes(whole[: start + 200] + b"\0" * 100 + whole[start + 300 :])
    reading = read_traces(path)
    assert [trace.success for trace in reading.traces] == [False]
    assert reading.notes == ("log.eval: sample 1 is damaged, skipped",)


def test_a_log_cut_in_the_middle_is_refused_with_a_message(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes((SAMPLES / "inspect" / "log.eval").read_bytes()[:1000])
    with pytest.raises(UsageError, match="damaged archive"):
        read_traces(path)


def test_a_sample_that_unpacks_to_anything_is_left_out_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", "{}")
        with archive.open("samples/1_epoch_1.json", "w", force_zip64=True) as entry:
            for _ in range(LARGEST_DOCUMENT // 1_000_000 + 2):
                entry.write(b" " * 1_000_000)
        archive.writestr("samples/2_epoch_1.json", json.dumps({"messages": MESSAGES}))
    reading = read_traces(path)
    assert len(reading.traces) == 1
    assert "skipped" in reading.notes[0]
