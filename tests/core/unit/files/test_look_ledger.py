"""The ledger of looks: appended to by many, read whatever has become of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from made_looks import LOOK as UNDECIDED
from upskill.core.nouns.look import SeenCase, SeenPair
from upskill.core.runs.look_ledger import LookLedger, default_ledger_path

LOOK = replace(
    UNDECIDED,
    sketch=("a",),
    cases=(SeenCase(key="k", checks="c", pairs=(SeenPair("w", "b", True, False),)),),
    verdict="helps",
    claim="new cases",
    sentence="helps: +100 points",
)


def test_what_is_appended_is_read_oldest_first(tmp_path: Path) -> None:
    ledger = LookLedger(tmp_path / "new" / "looks.jsonl")
    assert ledger.read() == ()
    older = replace(LOOK, at="2026-01-01T00:00:00+00:00", id="other")
    ledger.append(LOOK)
    ledger.append(older)
    assert ledger.read() == (older, LOOK)
    assert ledger.notes == ()


def test_a_look_has_a_line_for_its_opening_and_its_end_in_whatever_order(tmp_path: Path) -> None:
    opened = replace(LOOK, ended_at=None, verdict=None, cases=())
    for number, lines in enumerate(([opened, LOOK], [LOOK, opened], [opened, LOOK, opened], [LOOK, LOOK])):
        ledger = LookLedger(tmp_path / f"{number}.jsonl")
        for line in lines:
            ledger.append(line)
        assert ledger.read() == (LOOK,)
    ledger.append(replace(opened, student="other"))
    assert [(look.student, look.is_open) for look in ledger.read()] == [("any", False), ("other", True)]


def test_of_two_ends_of_a_look_the_later_counts_wherever_its_run_was_moved(tmp_path: Path) -> None:
    ledger = LookLedger(tmp_path / "looks.jsonl")
    later = replace(LOOK, ended_at="2026-01-03T00:00:00+00:00", run="elsewhere/runs/two", verdict="undecided")
    for line in (later, LOOK):
        ledger.append(line)
    assert ledger.read() == (later,)
    ledger.append(replace(later, verdict="hurts"))
    assert [look.verdict for look in ledger.read()] == ["hurts"], "in one second the later line"


def test_damaged_lines_are_told_and_cost_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "looks.jsonl"
    ledger = LookLedger(path)
    ledger.append(LOOK)
    with path.open("ab") as file:
        file.write(b'<<<<<<< ours\n\n\xff\xfe\n{"format":"upskill.look/9"}\n{"format":"upskill.look/2","at":')
    other = replace(LOOK, id="other", at="2026-01-02T00:00:01+00:00")
    ledger.append(other)
    assert ledger.read() == (LOOK, other)
    assert ledger.notes == (f"ledger {path}: 4 lines cannot be read and are not counted: 2, 4, 5 …",)


def test_a_line_without_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upskill.core.runs.look_ledger.MOST_LINE_BYTES", 5_000)
    path = tmp_path / "looks.jsonl"
    path.write_bytes(b"x" * 20_000 + b"\n")
    ledger = LookLedger(path)
    ledger.append(replace(LOOK, sentence="long " * 2_000))
    ledger.append(LOOK)
    assert ledger.read() == (LOOK,)
    assert [note.split(": ")[-1][:12] for note in ledger.notes] == ["10,583 bytes", "1"]


def test_a_ledger_that_cannot_be_used_becomes_a_note(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "looks.jsonl"):
        ledger = LookLedger(path)
        ledger.append(LOOK)
        assert ledger.read() == ()
        assert any("cannot be written" in note for note in ledger.notes)


def test_own_keys_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-my-own-1234567890")
    ledger = LookLedger(tmp_path / "looks.jsonl")
    ledger.append(replace(LOOK, sentence="a-key-of-my-own-1234567890"))
    assert "my-own" not in ledger.path.read_text()
    assert len(ledger.read()) == 1


def test_it_lies_beside_the_trial_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_ledger_path() == tmp_path / "upskill" / "looks.jsonl"


@pytest.mark.parametrize("at", ["yesterday", "2026-01-02T00:00:00", ""])
def test_a_look_without_a_time_that_can_be_compared_is_damaged(tmp_path: Path, at: str) -> None:
    ledger = LookLedger(tmp_path / "looks.jsonl")
    ledger.append(replace(LOOK, at=at))
    assert ledger.read() == ()
    assert "1 line cannot be read" in ledger.notes[0]


@pytest.mark.parametrize("level", [0.0, -1.0, 0.5, 1e300])
def test_a_line_of_no_level_spends_the_first(tmp_path: Path, level: float) -> None:
    ledger = LookLedger(tmp_path / "looks.jsonl")
    ledger.append(replace(LOOK, level=level))
    assert [look.level for look in ledger.read()] == [0.025]
