"""The loop of a sweep: what is handed out, what becomes of a lost job, and what a run says it did not reach."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from made_sweeps import ATTEMPT
from upskill.core.models.retrying import RateLimit
from upskill.sweep.engines import Engine, Lost
from upskill.sweep.files import SweepFolder, result_name, value_from_text, value_text
from upskill.sweep.run import MOST_UNANSWERED, Shard, SweepRun, prepare_run, read_standing, run_sweep, shard_of
from upskill.sweep.values import (
    Assignment,
    AttemptBegun,
    AttemptEnd,
    Caps,
    JobSpending,
    PlannedJob,
    SweepPlan,
    SweepResult,
)

Worker = Callable[[Assignment], AttemptEnd | Lost]


class OneAfterTheOther(Engine):
    """An engine without processes: each assignment is answered by a function when its turn comes."""

    def __init__(self, work: Worker, *, workers: int = 2) -> None:
        super().__init__(workers=workers)
        self.given: list[Assignment] = []
        self._work = work

    def _begin(self, text: str) -> str:
        return text

    def _interrupt(self, one: str) -> None:
        pass

    def _kill(self, one: str) -> None:
        pass

    def _ended(self, running: Mapping[str, str]) -> Iterator[tuple[str, str | Lost]]:
        text = next(iter(running))
        one = value_from_text(Assignment, text, where="here")
        self.given.append(one)
        end = self._work(one)
        yield text, end if isinstance(end, Lost) else value_text(end)


class Silent:
    def note(self, line: str) -> None:
        pass

    def counted(self, run: SweepRun) -> None:
        pass


def _job(number: int, *, calls: int = 8) -> PlannedJob:
    return PlannedJob(
        id=f"{number:032x}",
        skill=f"skills/s{number}",
        name=f"s{number}",
        version=f"v{number}",
        input="i",
        cases=4,
        students=("small", "large"),
        calls_expected=calls // 2,
        calls_at_most=calls,
        cost_expected=None,
        cost_at_most=None,
    )


def _sweep(tmp_path: Path, jobs: int = 6, **plan: object) -> SweepFolder:
    folder = SweepFolder(str(tmp_path))
    folder.write_plan(SweepPlan(groups=(("small", "large"),), **plan), [_job(n) for n in range(jobs)], [])  # type: ignore[arg-type]
    return folder


def _done(folder: SweepFolder, given: Assignment, *, winners: tuple[str, ...] = (), calls: int = 5) -> AttemptEnd:
    """What a worker does: it keeps a result, then it says so."""
    verdicts = {student: "helps" if student in winners else "undecided" for student in given.job.students}
    spending = JobSpending(calls=calls, tokens=10 * calls)
    students = [{"model": student, "verdict": verdict} for student, verdict in verdicts.items()]
    result = SweepResult(
        id=given.job.id,
        skill=given.job.skill,
        name=given.job.name,
        version=given.job.version,
        students=given.job.students,
        attempt="a",
        evaluation={"students": students},
        rows=(),
        spending=spending,
        charged=spending,
        confirms=given.job.confirms,
        finished_at="now",
    )
    folder.objects.create(result_name(given.job.id), value_text(result).encode())
    return AttemptEnd(id=given.job.id, attempt="a", done=True, spending=spending, verdicts=verdicts)


def _run(
    folder: SweepFolder, work: Worker, *, shard: Shard | None = None, again: bool = False
) -> tuple[SweepRun, OneAfterTheOther]:
    run = prepare_run(read_standing(folder), at="place", shard=shard or Shard(), again=again)
    engine = OneAfterTheOther(work)
    run_sweep(run, folder, open_engine=lambda: engine, progress=Silent())
    return run, engine


def test_everything_is_handed_out_once_and_nothing_the_next_time(tmp_path: Path) -> None:
    folder = _sweep(tmp_path)
    run, engine = _run(folder, lambda given: _done(folder, given))
    assert [given.job.name for given in engine.given] == [f"s{n}" for n in range(6)]
    assert (run.done, run.left, run.failed, run.not_reached()) == (6, 0, {}, {})
    assert run.budget.charged.calls == 30
    again, idle = _run(folder, lambda given: _done(folder, given))
    assert idle.given == []
    assert (again.done, again.budget.charged.calls) == (6, 30)


def test_winners_are_measured_again_next_and_alone_and_once(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 4)

    def work(given: Assignment) -> AttemptEnd:
        return _done(folder, given, winners=("large",) if given.job.name == "s0" else ())

    run, engine = _run(folder, work)
    confirmed = [given.job for given in engine.given if given.job.confirms]
    assert [job.students for job in confirmed] == [("large",)]
    assert confirmed[0].confirms == _job(0).id
    assert engine.given.index(next(one for one in engine.given if one.job.confirms)) == 2, "before the rest"
    assert run.done == 5
    assert _run(folder, work)[1].given == []
    (folder.objects.folder or tmp_path).joinpath(result_name(confirmed[0].id)).unlink()
    (tmp_path / "summaries.jsonl").unlink()
    assert [given.job for given in _run(folder, work)[1].given] == confirmed, "found again from the results"


def test_a_plan_without_confirmation_has_none(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 2, confirm=False)
    _, engine = _run(folder, lambda given: _done(folder, given, winners=("small", "large")))
    assert len(engine.given) == 2


def test_a_lost_job_is_charged_in_full_and_handed_out_again_three_times_at_most(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 3)

    def work(given: Assignment) -> AttemptEnd | Lost:
        return Lost(why="signal 9") if given.job.name == "s1" else _done(folder, given)

    run, engine = _run(folder, work)
    assert [given.job.name for given in engine.given] == ["s0", "s1", "s2", "s1", "s1", "s1"]
    assert run.done == 2
    assert list(run.failed.values()) == ["its worker died 4 times; the last time: signal 9"]
    assert run.budget.charged.calls == 10 + 4 * 14, "14 were reserved for each"


def test_a_lost_job_whose_result_was_kept_is_done(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 1)

    def work(given: Assignment) -> Lost:
        _done(folder, given, winners=("small",) if not given.job.confirms else ())
        return Lost(why="on the way home")

    run, engine = _run(folder, work)
    assert len(engine.given) == 2, "and its winner is confirmed"
    assert (run.done, run.failed, run.budget.charged.calls) == (2, {}, 10)


def test_the_cap_holds_with_deaths_and_what_was_not_reached_says_why(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 20, caps=Caps(max_calls=60))
    deaths = iter([False, True, False, False, True] + [False] * 20)

    def work(given: Assignment) -> AttemptEnd | Lost:
        assert given.caps.max_calls == 14
        return Lost(why="killed") if next(deaths) else _done(folder, given)

    run, _ = _run(folder, work)
    assert run.budget.charged.calls <= 60
    assert 60 - run.budget.charged.calls < 14, "less than one evaluation is unused"
    assert run.not_reached() == {"too little is left of the cap of 60 calls": run.left}
    assert run.done + run.left == 20


def test_an_attempt_without_an_end_is_charged_in_full_by_the_next_run(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 2)
    job = _job(0)
    begun = AttemptBegun(caps=Caps(max_calls=14, max_cost=0.5), host="h", at="t")
    folder.objects.create(f"attempts/{job.id}/20261116T120000-00000001/begun.json", value_text(begun).encode())
    ended = AttemptEnd(id=job.id, attempt=ATTEMPT, done=False, spending=JobSpending(calls=3, tokens=30), why="short")
    folder.objects.create(f"attempts/{job.id}/{ATTEMPT}/ended.json", value_text(ended).encode())
    standing = read_standing(folder)
    assert (standing.attempts[job.id].killed, standing.attempts[job.id].ended) == (1, 1)
    run = prepare_run(standing, at="", shard=Shard(), again=False)
    assert (run.budget.charged.calls, run.budget.charged.cost) == (17, 0.5)


def test_three_attempts_without_a_result_are_enough_unless_a_person_asks(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 1)
    tries: list[str] = []

    def work(given: Assignment) -> AttemptEnd:
        tries.append(given.job.id)
        end = AttemptEnd(
            id=given.job.id,
            attempt=f"20261116T120000-{len(tries):08}",
            done=False,
            spending=JobSpending(calls=2, tokens=20),
            why="interrupted" if len(tries) == 1 else "too many answers were lost",
        )
        folder.objects.create(f"attempts/{end.id}/{end.attempt}/ended.json", value_text(end).encode())
        return end

    for _ in range(6):
        run, _ = _run(folder, work)
    assert len(tries) == 4, "an interrupted one does not count"
    (why,) = run.failed.values()
    assert why == "tried 3 times; the last time: too many answers were lost"
    assert run.budget.charged.calls == 8
    _run(folder, work, again=True)
    assert len(tries) == 5


def test_where_nothing_answers_the_rest_is_not_tried(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 50)
    run, engine = _run(
        folder, lambda given: AttemptEnd(id=given.job.id, attempt="a", done=False, why="the server is down")
    )
    assert len(engine.given) <= MOST_UNANSWERED + 2
    assert run.stopped == "unanswered"
    assert sum(run.not_reached().values()) == 50 - len(engine.given)


def test_shards_divide_all_jobs_and_confirm_their_own_winners(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 12, limits={"small": RateLimit(requests_per_minute=120)}, caps=Caps(max_calls=900))
    seen: list[str] = []
    for number in (1, 2, 3):
        run, engine = _run(
            folder,
            lambda given: _done(folder, given, winners=("small",) if not given.job.confirms else ()),
            shard=Shard(number=number, of=3),
        )
        seen += [given.job.id for given in engine.given]
        assert {shard_of(given.job, 3) for given in engine.given} == {number}
        assert run.budget.caps.max_calls == 300
        (rate,) = {given.limits["small"].requests_per_minute for given in engine.given}
        assert rate == pytest.approx(0.9 * 120 / (3 * 2))
    assert len(seen) == len(set(seen)) == 24
    assert _run(folder, lambda given: _done(folder, given))[1].given == []


def test_a_person_who_interrupts_leaves_the_rest_for_later(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 5)
    run = prepare_run(read_standing(folder), at="place", shard=Shard(), again=False)

    def work(given: Assignment) -> AttemptEnd:
        if given.job.name == "s1":
            run.stopped = "interrupt"
            engine.stop()
            return AttemptEnd(id=given.job.id, attempt="a", done=False, why="interrupted")
        return _done(folder, given)

    engine = OneAfterTheOther(work)
    run_sweep(run, folder, open_engine=lambda: engine, progress=Silent())
    assert run.interrupted
    assert run.failed == {}
    assert (run.done, run.not_reached()) == (2, {"interrupted": 3})


def test_no_time_starts_nothing(tmp_path: Path) -> None:
    folder = _sweep(tmp_path, 2, caps=Caps(max_time_minutes=0))
    run, engine = _run(folder, lambda given: _done(folder, given))
    assert engine.given == []
    assert run.not_reached() == {"the time is over": 2}
