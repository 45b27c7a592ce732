"""What several attempts bought, read back as one run would have it; and answers that are kept while more come."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from upskill.core.nouns import Errored, Grade, Scored, Trial
from upskill.errors import EngineError
from upskill.sweep import attempt as bought
from upskill.sweep.attempt import AttemptProgress, as_one_run

SCORED = Trial(
    id="1",
    student="any",
    case_id="a",
    arm="baseline",
    repeat=1,
    outcome=Scored(end="answered", grade=Grade(results=())),
    answer="first",
    calls=1,
)
ERRORED = replace(SCORED, outcome=Errored(fault="timeout", message="late"), answer="", lost=1)


def test_the_first_scored_answer_counts_and_what_others_lost_is_not_forgotten() -> None:
    again = replace(SCORED, answer="second", lost=2)
    other = replace(SCORED, repeat=2)
    assert as_one_run([ERRORED, SCORED, again, ERRORED, other]) == [ERRORED, replace(SCORED, lost=3), other]


def test_answers_that_errored_stay_as_on_one_machine() -> None:
    assert as_one_run([ERRORED, ERRORED]) == [ERRORED, ERRORED]


class Kept:
    """What was kept, by number."""

    def __init__(self, *, fails: int = 0) -> None:
        self.lines: dict[int, bytes] = {}
        self.fails = fails
        self.gate = threading.Event()
        self.gate.set()

    def keep(self, number: int, lines: bytes) -> None:
        self.gate.wait()
        if self.fails:
            self.fails -= 1
            raise EngineError("the store is away")
        assert number not in self.lines
        self.lines[number] = lines


def begun(log: Path, kept: Kept) -> AttemptProgress:
    progress = AttemptProgress(log, keep=kept.keep, begin=lambda: None, counts_all=True)
    progress.begin_after_these()
    progress.evaluation_begun(None)  # type: ignore[arg-type]
    return progress


def add(log: Path, line: bytes, progress: AttemptProgress) -> None:
    with log.open("ab") as file:
        file.write(line)
    progress.trial_finished(SCORED)


def test_whole_lines_are_kept_together_while_the_last_ones_are_under_way(tmp_path: Path) -> None:
    log, kept = tmp_path / "trials.jsonl", Kept()
    log.write_bytes(b"known before\n")
    progress = begun(log, kept)
    kept.gate.clear()
    for line in (b"one\n", b"two\n", b"three\nha", b"lf\n", b"unfinished"):
        add(log, line, progress)
    kept.gate.set()
    progress.close()
    assert b"".join(kept.lines[number] for number in sorted(kept.lines)) == b"one\ntwo\nthree\nhalf\n"
    assert sorted(kept.lines) == list(range(1, len(kept.lines) + 1))
    assert len(kept.lines) <= 3
    progress.close()


def test_a_store_that_comes_back_gets_everything_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bought, "PAUSES", (0.01, 0.01))
    log, kept = tmp_path / "trials.jsonl", Kept(fails=2)
    log.touch()
    progress = begun(log, kept)
    add(log, b"one\n", progress)
    progress.close()
    assert kept.lines == {1: b"one\n"}


def test_nothing_more_is_bought_once_a_store_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bought, "PAUSES", (0.001,))
    log, kept = tmp_path / "trials.jsonl", Kept(fails=1_000)
    log.touch()
    progress = begun(log, kept)
    add(log, b"one\n", progress)
    until = time.monotonic() + 20
    while progress.is_at_work and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(EngineError, match="the store is away"):
        progress.trial_finished(SCORED)
    with pytest.raises(EngineError, match="the store is away"):
        progress.close()


def test_an_attempt_that_buys_nothing_keeps_nothing(tmp_path: Path) -> None:
    progress = AttemptProgress(
        tmp_path / "trials.jsonl", keep=Kept().keep, begin=lambda: pytest.fail("bought"), counts_all=True
    )
    progress.close()
