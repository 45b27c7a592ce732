"""kill -9 at every stage of a generate, then going on: nothing that was answered is asked again."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import made_teacher
from forking import Done, Forker
from provider import Behaviour, Provider, ReceivedRequest

THINGS = made_teacher.THINGS[:8]


class Both:
    """A teacher and a student on loopback that count what they answered, and can kill who asks."""

    def __init__(self, forker: Forker) -> None:
        self._forker = forker
        self.answered: list[str] = []
        self.kill_at: int | None = None
        teach = made_teacher.teacher(THINGS, known_at_first=1, negatives=0)
        self.teacher = Provider(lambda asked: self._answer("teacher", asked, teach(asked)))
        self.student = Provider(lambda asked: self._answer("student", asked, made_teacher.student(asked)))

    def _answer(self, who: str, asked: ReceivedRequest, behaviour: Behaviour) -> Behaviour:
        if self.kill_at is not None and len(self.answered) == self.kill_at:
            self.kill_at = None
            assert self._forker.child is not None
            os.kill(self._forker.child, signal.SIGKILL)
            return Behaviour(fault="reset")
        kind = made_teacher.kind_of(asked.prompt) if who == "teacher" else who
        self.answered.append(kind)
        return behaviour

    def generate(self, cwd: Path, *words: str) -> Done:
        one_by_one = {"UPSKILL_CONCURRENCY": "1", "UPSKILL_STORE": "false"}
        # A look in one folder is no earlier look in another.
        return self._forker.run("generate", *words, cwd=cwd, **one_by_one, UPSKILL_LEDGER="looks.jsonl")

    def servers(self) -> tuple[str, ...]:
        """What must be typed again when a run is resumed."""
        return ("--base-url", self.teacher.url, "--eval-base-url", self.student.url)

    def words(self) -> tuple[str, ...]:
        """The whole command, with one call at a time: then everything that was answered has been heard."""
        return (
            *(made_teacher.TASK, "--model", "any", "--eval-model", "any", *self.servers()),
            *("--cases", "2+6+0", "--json"),
        )


@pytest.fixture(scope="module")
def both(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    forker.home = tmp_path_factory.mktemp("home")
    both = Both(forker)
    with both.teacher, both.student:
        yield both


@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.full)], ids=["every third", "every"])
def test_a_generate_that_is_killed_at_any_stage_goes_on_and_buys_nothing_twice(
    both: Both, tmp_path: Path, share: int
) -> None:
    both.answered.clear()
    whole = tmp_path / "whole"
    whole.mkdir()
    done = both.generate(whole, *both.words())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["status"] == "helps", found
    uninterrupted = list(both.answered)
    assert found["spent"]["teacher"]["calls"] + found["spent"]["students"]["calls"] == len(uninterrupted)
    # The first call of every stage, and one in the middle of the longest.
    stages = sorted({uninterrupted.index(kind) for kind in dict.fromkeys(uninterrupted)} | {len(uninterrupted) - 3})
    stages.append(uninterrupted.index("edits") + 1)
    for stage in sorted({*stages}, reverse=True)[::share]:
        both.answered.clear()
        both.kill_at = stage
        cwd = tmp_path / f"killed-{stage}"
        cwd.mkdir()
        killed = both.generate(cwd, *both.words())
        assert killed.returncode == -signal.SIGKILL, f"at {stage}: {killed.stderr}"
        assert not (cwd / "skills").exists(), "nothing half done is saved"
        (run,) = [path for path in (cwd / "runs").iterdir() if path.is_dir()]
        resumed = both.generate(cwd, "--resume", str(run), *both.servers(), "--json")
        assert resumed.returncode == 0, f"at {stage}: {resumed.stderr}"
        again = json.loads(resumed.stdout)
        assert both.answered == uninterrupted, f"killed at call {stage}, {uninterrupted[stage]}"
        assert {**again["spent"]} == {**found["spent"]}, "what was spent before counts"
        assert again["skill"] == found["skill"]
        assert again["status"] == found["status"]
    third = both.generate(cwd, "--resume", str(run), *both.servers(), "--json")
    assert third.returncode == 0
    assert both.answered == uninterrupted, "a finished run that is gone on with buys nothing"
