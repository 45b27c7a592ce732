"""`upskill drift` on the real engine: what a model on loopback did is noticed, named and explained, and bought once."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from drift.engine.nights import ANSWERS, CASES, Model, Watcher, healthy, write_skill
from provider import Provider
from upskill.drift.state import read_watch
from upskill.errors import EngineError, UsageError

HISTORY = CASES * (ANSWERS + 2)
ALARM = CASES * 2 * 2


class Bought(NamedTuple):
    """A complete history that was bought once, for all tests that begin with one."""

    folder: Path
    provider: Provider
    model: Model


@pytest.fixture(scope="module")
def bought(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bought]:
    folder, model = tmp_path_factory.mktemp("bought"), Model()
    with Provider(model) as provider:
        watcher = Watcher(folder, provider, model)
        assert watcher.start(at_once=True).watch.mode == "rates"
        assert watcher.asked == HISTORY
        yield Bought(folder, provider, model)


@pytest.fixture
def new(bought: Bought, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watcher:
    """A skill that is not watched yet."""
    monkeypatch.chdir(tmp_path)
    bought.model.reset()
    return Watcher(tmp_path, bought.provider, bought.model)


@pytest.fixture
def watcher(bought: Bought, new: Watcher) -> Watcher:
    """A skill with a complete history."""
    for part in ("runs", "kept"):
        shutil.copytree(bought.folder / part, new.folder / part)
    return new


def weaken(broken: int) -> Callable[[int, bool], float]:
    """With the skill, the first so many cases fail always."""
    return lambda case, with_skill: 0.0 if with_skill and case < broken else healthy(case, with_skill)


def test_a_history_takes_five_nights_and_then_a_night_takes_twenty_answers(new: Watcher) -> None:
    first = new.start()
    assert (first.event, first.watch.mode) == ("history", None)
    assert new.asked == 2 * CASES, "one answer with the skill and one without, of each case"
    again = new.night()
    assert (again.event, again.bought.calls) == ("history", 0), "the part of today was bought"
    complete = new.nights(4)
    assert complete.watch.mode == "rates"
    assert complete.watch.limit is not None
    assert new.asked == HISTORY
    assert {case.skilled.answers for case in complete.watch.cases} == {ANSWERS}
    assert new.night().event == "watching", "the first night is tomorrow"
    quiet = new.nights(3)
    assert (quiet.event, len(quiet.watch.nights), new.asked) == ("night", 3, HISTORY + 60)
    asked = Counter(one for night in quiet.watch.nights for one in night.asked)
    assert {*asked.values()} == {60 // CASES}, "every case in turn"
    same_day = new.night()
    assert (same_day.event, same_day.bought.calls) == ("watching", 0)


def test_a_skill_that_stops_helping_is_noticed_and_its_cases_are_named(watcher: Watcher) -> None:
    assert watcher.nights(3).event == "night"
    watcher.model.rate = weaken(4)
    result = watcher.nights(14)
    assert result.event == "alarm"
    alarm = result.watch.alarm
    assert alarm is not None
    assert result.watch.limit is not None
    assert result.watch.level > result.watch.limit
    found = alarm.attribution
    assert found is not None
    assert found.cause == "the skill helps less"
    assert {*found.fell} == {f"c{n}" for n in range(4)}
    assert found.rose == ()
    assert found.skilled.interval.below_zero
    assert not found.baseline.interval.below_zero
    assert (found.regraded, found.now_fail) == (HISTORY, 0)
    assert watcher.asked == 20 * len(result.watch.nights) + ALARM
    watcher.day += 1
    again = watcher.night()
    assert (again.event, again.bought.calls) == ("alarm", 0), "it stays, and nothing more is bought"
    watcher.day += 1
    assert watcher.night("acknowledge").event == "acknowledged"
    going_on = watcher.night()
    assert going_on.event == "night"
    assert len(going_on.watch.counted) == 1, "the chart began again"


def test_a_model_that_fell_is_told_from_a_skill(watcher: Watcher) -> None:
    watcher.model.rate = lambda case, with_skill: 0.0 if case < 8 else healthy(case, with_skill)
    alarm = watcher.nights(14).watch.alarm
    assert alarm is not None
    assert alarm.attribution is not None
    assert alarm.attribution.cause == "the model fell"
    assert alarm.attribution.sure
    assert alarm.attribution.baseline.interval.below_zero


def test_an_alarm_knows_that_the_server_describes_another_model(watcher: Watcher) -> None:
    (state,) = (watcher.folder / "kept").rglob("*.json")
    kept = json.loads(state.read_text())
    state.write_text(json.dumps({**kept, "served": "the model of May"}))
    watcher.model.rate = weaken(4)
    result = watcher.nights(14)
    assert result.watch.alarm is not None
    assert result.watch.alarm.attribution is not None
    assert result.watch.alarm.attribution.other_model
    assert result.notes == ("the server does not describe the model as it did when the history was bought",)


def test_a_skill_that_hurts_now_is_called_so(watcher: Watcher) -> None:
    watcher.model.rate = weaken(12)
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

    real = checks.grade

    def broken(case: Case, *answer: object, **context: object) -> Grade:
        grade: Grade = real(case, *answer, **context)  # type: ignore[arg-type]
        if int(case.id[1:]) < 6:
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
    watcher.model.rate = weaken(9)
    nights = 0
    alarm = None
    while alarm is None:
        watcher.day += 1
        nights += 1
        # A cap ends the attribution: the night takes 20 calls, and 15 more are left.
        result = watcher.night(settings={"max_calls": 35})
        alarm = result.watch.alarm
    assert (result.event, alarm.attribution, result.unfinished) == ("alarm", None, True)
    watcher.day += 1
    with pytest.raises(UsageError, match="is not attributed yet"):
        watcher.start()
    done = watcher.night()
    assert done.event == "alarm"
    assert done.watch.alarm is not None
    assert done.watch.alarm.attribution is not None
    assert watcher.asked == 20 * nights + ALARM, "nothing was bought twice"


def test_a_night_without_a_server_does_not_count_and_is_asked_again(watcher: Watcher) -> None:
    watcher.day += 1
    watcher.model.down = True
    result = watcher.night()
    assert (result.event, result.unfinished, result.watch.nights) == ("watching", True, ())
    assert "20 of 20 answers are missing" in result.notes[0]
    watcher.model.down = False
    assert watcher.night().event == "night"


def test_copies_are_refused_unless_the_temperature_is_zero_and_then_compared_case_by_case(new: Watcher) -> None:
    new.model.copies = True
    new.model.rate = lambda case, with_skill: float(with_skill and case % 4 > 0)
    with pytest.raises(UsageError, match="copies of one another"):
        new.start(answers=10)
    assert new.asked == 2 * CASES, "and no more are bought"
    greedy = {"temperature": 0.0}
    result = new.start(answers=5, at_once=True, settings=greedy)
    assert result.watch.mode == "case by case"
    new.model.rate = lambda case, with_skill: float(with_skill and case % 4 > 0 and case != 5)
    for _ in range(3):
        assert result.event != "alarm", "three nights in a row"
        new.day += 1
        result = new.night(settings=greedy)
    assert result.event == "alarm"
    assert result.watch.alarm is not None
    assert result.watch.alarm.cases == ("c5",)
    found = result.watch.alarm.attribution
    assert found is not None
    assert (found.fell, found.skilled.before, found.skilled.now) == (("c5",), 1.0, 0.0)
    assert found.cause != "not confirmed"


def test_at_temperature_zero_a_case_that_flaps_from_night_to_night_is_no_alarm(new: Watcher) -> None:
    """All answers of a night are the same, and those of some cases change with the night."""
    greedy, failing = {"temperature": 0.0}, {2: {7, 8, 11, 12, 13, 14}, 3: {1, 9, 10, 11, 12}, 4: {6, 8, 10, 12}}
    new.model.copies = True
    new.model.rate = lambda case, with_skill: float(with_skill and new.day not in failing.get(case, ()))
    result = new.start(settings=greedy)
    for _ in range(14):
        new.day += 1
        result = new.night(settings=greedy)
        assert result.event in ("history", "night"), result.watch.alarm
    assert (result.watch.mode, len(result.watch.nights)) == ("case by case", 10)
    asked = Counter(one for night in result.watch.nights for one in night.asked)
    assert {*asked.values()} == {10}, "each case once a night, since answers of one night say the same"
    failing[5] = set(range(15, 30))
    for _ in range(3):
        new.day += 1
        result = new.night(settings=greedy)
    assert result.watch.alarm is not None
    assert result.watch.alarm.cases == ("c5",)


def test_other_settings_than_those_of_the_history_are_refused(watcher: Watcher) -> None:
    watcher.day = 1
    for settings, words in (
        ({"temperature": 0.3}, "temperature was None, and is 0.3"),
        ({"max_output_tokens": 9}, "max_output_tokens was 2048, and is 9"),
    ):
        with pytest.raises(UsageError) as refused:
            watcher.night(settings=settings)
        assert refused.value.problems == (words,)
    assert watcher.asked == 0


def test_another_text_or_other_cases_are_refused_until_a_new_history_is_bought(
    watcher: Watcher, tmp_path: Path
) -> None:
    watcher.day = 1
    text = watcher.skill / "SKILL.md"
    text.write_text(text.read_text() + "Say it twice.\n")
    with pytest.raises(UsageError) as refused:
        watcher.night()
    assert refused.value.problems == ("the text of the skill has changed",)
    write_skill(tmp_path, checks={"contains": "741"})
    with pytest.raises(UsageError) as refused:
        watcher.night()
    assert f"{CASES} cases changed" in refused.value.problems[0]
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"id": "x", "input": "Question 1?", "expected": {"contains": "7413"}}]))
    write_skill(tmp_path)
    with pytest.raises(UsageError) as refused:
        watcher.night(case_file=other)
    assert any("1 case new: x" in problem for problem in refused.value.problems)
    assert watcher.asked == 0
    text.write_text(text.read_text() + "Say it twice.\n")
    new = watcher.start(at_once=True)
    assert new.watch.mode == "rates"
    assert watcher.asked == HISTORY


def test_a_damaged_state_is_an_error_that_names_the_file(watcher: Watcher) -> None:
    path = watcher.night().path
    whole = json.loads(path.read_text())
    damages: tuple[dict[str, object], ...] = (
        {"cases": []},
        {"mode": None, "nights": [{"date": "2026-01-01", "passed": ["c0"], "failed": []}]},
        {"answers": 1},
        {"watched_from": 7},
        {"bought": ["soon"]},
        {"format": "other/1"},
        {"run": "../x"},
    )
    for damage in damages:
        path.write_text(json.dumps(whole | damage))
        with pytest.raises(EngineError, match=path.name):
            read_watch(path)
    path.write_text("{")
    with pytest.raises(EngineError, match=path.name):
        watcher.night()


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watcher]:
    """Forty cases."""
    monkeypatch.chdir(tmp_path)
    model = Model()
    with Provider(model) as provider:
        yield Watcher(tmp_path, provider, model, cases=40)


@pytest.mark.full
def test_sixty_nights_without_a_change_have_no_alarm(large: Watcher) -> None:
    large.start(answers=10)
    result = large.nights(64)
    assert (result.event, len(result.watch.nights)) == ("night", 60)


@pytest.mark.full
def test_a_model_that_is_weakened_at_night_thirty_is_noticed_within_fourteen(large: Watcher) -> None:
    large.start(answers=10)
    assert large.nights(33).event == "night"
    large.model.rate = weaken(10)
    result = large.nights(14)
    assert result.event == "alarm"
    assert result.watch.alarm is not None
    assert result.watch.alarm.attribution is not None
    assert result.watch.alarm.attribution.cause == "the skill helps less"
    fell = {*result.watch.alarm.attribution.fell}
    assert fell >= {f"c{n}" for n in range(10)}
    assert len(fell) <= 12, "each of the thirty others is named by chance in at most 5%"
