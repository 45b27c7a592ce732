"""`upskill drift` on the real engine: what a model on loopback did is noticed, named and explained, and bought once."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drift.engine.nights import CASES, Model, Watcher, write_skill
from upskill.drift.state import read_watch
from upskill.errors import EngineError, UsageError

HISTORY = CASES * (10 + 2)
ALARM = CASES * 2 * 2


@pytest.fixture
def watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watcher]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with Watcher(tmp_path, Model()) as watcher:
        yield watcher


def weaken(broken: int, *, without: Callable[[int], float] = lambda _: 0.5) -> Callable[[int, bool], float]:
    """With the skill, the first so many cases fail always."""
    return lambda case, with_skill: (0.0 if case < broken else 0.95) if with_skill else without(case)


def test_a_history_takes_five_nights_and_then_a_night_takes_twenty_answers(watcher: Watcher) -> None:
    first = watcher.start()
    assert first.event == "history"
    assert (first.watch.mode, watcher.asked) == (None, CASES * 3 + CASES), "2 with the skill and 2 without, of each case"
    again = watcher.night()
    assert (again.event, again.bought.calls) == ("history", 0), "the part of today was bought"
    complete = watcher.nights(4)
    assert complete.watch.mode == "rates"
    assert complete.watch.limit is not None
    assert watcher.asked == HISTORY
    assert {case.answers for case in complete.watch.cases} == {10}
    assert watcher.night().event == "watching", "the first night is tomorrow"
    quiet = watcher.nights(3)
    assert (quiet.event, len(quiet.watch.nights), watcher.asked) == ("night", 3, HISTORY + 60)
    asked = [{*night.passed, *night.failed} for night in quiet.watch.nights]
    assert len(asked[0] | asked[1]) == CASES, "two nights ask every case once"
    assert asked[0] == asked[2]
    same_day = watcher.night()
    assert (same_day.event, same_day.bought.calls) == ("watching", 0)


def test_a_skill_that_stops_helping_is_noticed_and_its_cases_are_named(watcher: Watcher) -> None:
    watcher.start(at_once=True)
    assert watcher.nights(3).event == "night"
    watcher.model.rate = weaken(16)
    before = watcher.asked
    result = watcher.nights(14)
    assert result.event == "alarm"
    alarm = result.watch.alarm
    assert alarm is not None
    assert alarm.limit is not None
    assert alarm.level > alarm.limit
    found = alarm.attribution
    assert found is not None
    assert found.cause == "the skill helps less"
    assert {*found.fell} == {f"c{n}" for n in range(16)}
    assert found.rose == ()
    assert found.skilled.interval.below_zero
    assert not found.baseline.interval.below_zero
    assert (found.regraded, found.now_fail) == (HISTORY, 0)
    nights = (watcher.asked - before - ALARM) / 20
    assert nights == len(result.watch.nights) - 3
    watcher.day += 1
    again = watcher.night()
    assert (again.event, again.bought.calls) == ("alarm", 0), "it stays, and nothing more is bought"
    watcher.day += 1
    assert watcher.night(acknowledge=True).event == "acknowledged"
    going_on = watcher.night()
    assert going_on.event == "night"
    assert len(going_on.watch.past) == 1


def test_a_model_that_fell_is_told_from_a_skill(watcher: Watcher) -> None:
    watcher.model.rate = lambda _, with_skill: 0.95 if with_skill else 0.7
    watcher.start(at_once=True)
    watcher.model.rate = lambda case, with_skill: 0.0 if case < 20 else 0.95 if with_skill else 0.7
    alarm = watcher.nights(14).watch.alarm
    assert alarm is not None
    assert alarm.attribution is not None
    assert alarm.attribution.cause == "the model fell"
    assert alarm.attribution.sure
    assert alarm.attribution.baseline.interval.below_zero


def test_a_skill_that_hurts_now_is_called_so(watcher: Watcher) -> None:
    watcher.start(at_once=True)
    watcher.model.rate = weaken(36)
    alarm = watcher.nights(14).watch.alarm
    assert alarm is not None
    assert alarm.attribution is not None
    assert alarm.attribution.cause == "the skill hurts now"
    assert alarm.attribution.lift_interval.below_zero


def test_checks_that_break_are_found_by_grading_stored_answers_again(
    watcher: Watcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case file is the same: what a check of it relies on has changed."""
    from upskill.core import checks
    from upskill.core.nouns import Case, Grade

    watcher.start(at_once=True)
    real = checks.grade

    def broken(case: Case, *answer: object, **context: object) -> Grade:
        grade: Grade = real(case, *answer, **context)  # type: ignore[arg-type]
        if int(case.id[1:]) < 20:
            failed = tuple(type(one)(kind=one.kind, passed=False, saw="the program is gone") for one in grade.results)
            return type(grade)(results=failed)
        return grade

    monkeypatch.setattr("upskill.core.checks.grade", broken)
    monkeypatch.setattr("upskill.core.trials.judge.grade", broken)
    alarm = watcher.nights(14).watch.alarm
    assert alarm is not None
    assert alarm.attribution is not None
    assert alarm.attribution.cause == "the checks broke"
    assert alarm.attribution.now_fail > 0.3 * alarm.attribution.regraded


def test_an_alarm_survives_an_attribution_that_a_server_or_a_person_ends(watcher: Watcher) -> None:
    watcher.start(at_once=True)
    watcher.model.rate = weaken(30)
    before, nights = watcher.asked, 0
    alarm = None
    while alarm is None:
        watcher.day += 1
        nights += 1
        # A cap ends the attribution: the night takes 20 calls, and 50 more are left.
        result = watcher.night(settings={"max_calls": 70})
        alarm = result.watch.alarm
    assert (result.event, alarm.attribution, result.unfinished) == ("alarm", None, True)
    watcher.day += 1
    with pytest.raises(UsageError, match="is not attributed yet"):
        watcher.start()
    done = watcher.night()
    assert done.event == "alarm"
    assert done.watch.alarm is not None
    assert done.watch.alarm.attribution is not None
    assert watcher.asked == before + 20 * nights + ALARM, "nothing was bought twice"


def test_a_night_without_a_server_does_not_count_and_is_asked_again(watcher: Watcher) -> None:
    watcher.start(at_once=True)
    watcher.day += 1
    watcher.model.down = True
    result = watcher.night()
    assert (result.event, result.unfinished, result.watch.nights) == ("watching", True, ())
    assert "20 of 20 answers are missing" in result.notes[0]
    watcher.model.down = False
    assert watcher.night().event == "night"


def test_copies_are_refused_unless_the_temperature_is_zero_and_then_compared_case_by_case(watcher: Watcher) -> None:
    watcher.model.copies = True
    watcher.model.rate = lambda case, with_skill: float(with_skill and case % 4 > 0)
    with pytest.raises(UsageError, match="copies of one another"):
        watcher.start()
    assert watcher.asked == 2 * CASES, "and no more are bought"
    greedy = {"temperature": 0.0}
    result = watcher.start(settings=greedy)
    assert result.watch.mode == "case by case"
    watcher.model.rate = lambda case, with_skill: float(with_skill and case % 4 > 0 and case != 5)
    for _ in range(4):
        watcher.day += 1
        result = watcher.night(settings=greedy)
    assert result.event == "alarm"
    assert result.watch.alarm is not None
    assert result.watch.alarm.cases == ("c5",)
    assert result.watch.alarm.attribution is not None
    assert result.watch.alarm.attribution.fell == ("c5",)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"temperature": 0.3}, "temperature was None, and is 0.3"), ({"max_output_tokens": 9}, "max_output_tokens was")],
)
def test_other_settings_than_those_of_the_history_are_refused(
    watcher: Watcher, settings: dict[str, object], words: str
) -> None:
    watcher.start(at_once=True)
    watcher.day, before = 1, watcher.asked
    with pytest.raises(UsageError) as refused:
        watcher.night(settings=settings)
    assert any(words in problem for problem in refused.value.problems)
    assert watcher.asked == before


def test_another_text_or_other_cases_are_refused_until_a_new_history_is_bought(
    watcher: Watcher, tmp_path: Path
) -> None:
    watcher.start(at_once=True)
    watcher.day, before = 1, watcher.asked
    text = watcher.skill / "SKILL.md"
    text.write_text(text.read_text() + "Say it twice.\n")
    with pytest.raises(UsageError) as refused:
        watcher.night()
    assert refused.value.problems == ("the text of the skill has changed",)
    write_skill(tmp_path, checks={"contains": "741"})
    with pytest.raises(UsageError) as refused:
        watcher.night()
    assert "40 of the cases are changed" in refused.value.problems[0]
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"id": "x", "input": "Question 1?", "expected": {"contains": "7413"}}]))
    write_skill(tmp_path)
    with pytest.raises(UsageError) as refused:
        watcher.night(case_file=other)
    assert any("1 of the cases is new: x" in problem for problem in refused.value.problems)
    assert watcher.asked == before
    text.write_text(text.read_text() + "Say it twice.\n")
    new = watcher.start(at_once=True)
    assert new.watch.mode == "rates"
    assert watcher.asked == before + HISTORY


def test_a_damaged_state_is_an_error_that_names_the_file(watcher: Watcher) -> None:
    path = watcher.start(at_once=True).path
    whole = json.loads(path.read_text())
    for damage in ({"cases": []}, {"limit": None}, {"watched_from": 7}, {"bought": ["soon"]}, {"format": "other/1"}):
        path.write_text(json.dumps(whole | damage))
        with pytest.raises(EngineError, match=path.name):
            read_watch(path)
    path.write_text("{")
    with pytest.raises(EngineError, match=path.name):
        watcher.night()


@pytest.mark.full
def test_sixty_nights_without_a_change_have_no_alarm(watcher: Watcher) -> None:
    watcher.start()
    result = watcher.nights(64)
    assert (result.event, len(result.watch.nights)) == ("night", 60)


@pytest.mark.full
def test_a_model_that_is_weakened_at_night_thirty_is_noticed_within_fourteen(watcher: Watcher) -> None:
    watcher.start()
    assert watcher.nights(33).event == "night"
    watcher.model.rate = weaken(10)
    result = watcher.nights(14)
    assert result.event == "alarm"
    assert result.watch.alarm is not None
    assert result.watch.alarm.attribution is not None
    assert {*result.watch.alarm.attribution.fell} == {f"c{n}" for n in range(10)}
