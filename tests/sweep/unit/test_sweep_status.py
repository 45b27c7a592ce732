"""How far a sweep is, from objects in its folder alone."""

from pathlib import Path

import pytest

from sweep.unit.test_sweep_plan import MANIFEST, Place, make_skill
from upskill.errors import UsageError
from upskill.sweep.files import SweepFolder, value_text
from upskill.sweep.run import Reason, SweepStatus, read_standing, sweep_status
from upskill.sweep.values import AttemptBegun, AttemptEnd, Caps, JobSpending, PlannedJob


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path / "one")
    for number in range(6):
        make_skill(place.registry / f"s{number}", body=f"The port is 7413. {number}")
    (place.registry / "empty").mkdir()
    place.manifest(MANIFEST + "max_cost = 100\n")
    return place


def _status(folder: SweepFolder) -> SweepStatus:
    return sweep_status(read_standing(folder), folder)


def _try(place: Place, job: PlannedJob, number: int, why: str | None) -> None:
    attempt = f"20261116T120000-{number:08}"
    begun = AttemptBegun(caps=Caps(max_calls=50, max_cost=2.0), host="h", at="2026-01-01T00:00:00+00:00")
    place.folder.objects.create(f"attempts/{job.id}/{attempt}/begun.json", value_text(begun).encode())
    if why is not None:
        spending = JobSpending(calls=3, tokens=30, cost=0.25)
        end = AttemptEnd(id=job.id, attempt=attempt, done=False, spending=spending, why=why)
        place.folder.objects.create(f"attempts/{job.id}/{attempt}/ended.json", value_text(end).encode())


def test_it_counts_results_winners_attempts_and_what_was_charged(place: Place) -> None:
    jobs = place.plan().jobs
    winners = jobs[0], jobs[1]
    for job in winners:
        place.finish(job, "helps")
    place.finish(jobs[2], "undecided")
    place.finish(winners[0].confirmation(winners[0].students, seed=1), "helps")
    _try(place, jobs[3], 1, "too many answers were lost")
    _try(place, jobs[3], 2, None)
    _try(place, jobs[4], 1, "too many answers were lost")
    status = _status(place.folder)
    assert (status.evaluations.planned, status.evaluations.done) == (6, 3)
    assert (status.confirmations.planned, status.confirmations.done) == (2, 1)
    # Two models each.
    assert (status.confirmed, status.found_once, status.to_confirm) == (2, 2, 2)
    assert status.other_verdicts == {"undecided": 2}
    assert status.without_result == (Reason(why="too many answers were lost", evaluations=2),)
    assert status.attempts_without_end == 1
    assert status.refused == 1
    # Four results, two attempts that ended, and all that the third might have spent.
    assert status.charged.cost == pytest.approx(4 * 0.5 + 2 * 0.25 + 2.0)
    assert status.charged.calls == 4 * 10 + 2 * 3 + 50


def test_results_are_read_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for job in place.plan().jobs:
        place.finish(job)
    first = _status(place.folder)
    monkeypatch.setattr(SweepFolder, "_result", lambda *_: pytest.fail("it was read before"))
    assert _status(SweepFolder(str(place.root / "at"))) == first
    assert first.evaluations.done == first.evaluations.planned


def test_a_winner_that_is_not_confirmed_stays_found_once(place: Place) -> None:
    job = place.plan().jobs[0]
    place.finish(job, "helps")
    place.finish(job.confirmation(job.students, seed=1), "undecided")
    status = _status(place.folder)
    assert (status.confirmed, status.found_once, status.to_confirm) == (0, 2, 0)


def test_a_folder_without_a_plan_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not the folder of a sweep"):
        _status(SweepFolder(str(tmp_path)))
