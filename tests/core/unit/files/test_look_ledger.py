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
    claim="cases like these",
    sentence="helps: +100 points",
    report={"model": "any", "lifts": [{"mean": 1.0}]},
)


def test_what_is_appended_is_read_oldest_first(tmp_path: Path) -> None:
    ledger = LookLedger(tmp_path / "new" / "looks.jsonl")
    assert ledger.read() == ()
    older = replace(LOOK, at="2026-01-01T00:00:00+00:00", run="runs/other")
    ledger.append(LOOK)
    ledger.append(older)
    assert ledger.read() == (older, LOOK)
    assert ledger.notes == ()


def test_a_run_that_was_resumed_is_one_look_and_a_line_twice_is_one(tmp_path: Path) -> None:
    ledger = LookLedger(tmp_path / "looks.jsonl")
    later = replace(LOOK, at="2026-01-03T00:00:00+00:00", run="elsewhere/runs/one", verdict="undecided")
    for one in (later, LOOK, later, replace(LOOK, student="other")):
        ledger.append(one)
    assert [(look.student, look.verdict) for look in ledger.read()] == [
        ("other", "helps"),
        ("any", "undecided"),
    ]


def test_of_two_looks_of_a_run_in_one_second_the_later_line_counts(tmp_path: Path) -> None:
    ledger = LookLedger(tmp_path / "looks.jsonl")
    ledger.append(LOOK)
    ledger.append(replace(LOOK, verdict="undecided"))
    assert [look.verdict for look in ledger.read()] == ["undecided"]


def test_damaged_lines_are_told_and_cost_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "looks.jsonl"
    ledger = LookLedger(path)
    ledger.append(LOOK)
    with path.open("ab") as file:
        file.write(b'<<<<<<< ours\n\n\xff\xfe\n{"format":"upskill.look/9"}\n{"format":"upskill.look/1","at":')
    other = replace(LOOK, run="runs/other")
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
    assert [note.split(": ")[-1][:12] for note in ledger.notes] == ["10,571 bytes", "1"]


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


def test_a_line_that_contradicts_itself_spends_its_level_and_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "looks.jsonl"
    kept = replace(LOOK, level=0.0025)
    LookLedger(path).append(kept)
    ledger = LookLedger(path, contradiction=lambda _: "its figures")
    (found,) = ledger.read()
    assert (found.level, found.verdict, found.claim) == (0.0025, "invalid", None)
    assert not found.claims_nothing
    assert found.spoilt
    assert ledger.notes == (f"ledger {path}: line 1 contradicts itself, so only its level counts: its figures",)
