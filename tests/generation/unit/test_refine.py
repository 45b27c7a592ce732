"""The loop on learn cases: what is kept, when it ends, what the teacher is shown."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tools.simulation.student import SimulatedMeasure, make_cases

from assigned import refine_draft
from generation.unit.teaching.scripted_teacher import Teacher
from upskill.core.cases.skill_meta import Aptitude
from upskill.core.models import NoAnswer, Question, Reply
from upskill.core.nouns import Answer, Case, Errored, Trial
from upskill.errors import EngineError, ProviderError, WindowExceeded
from upskill.generation.draft import Draft
from upskill.generation.measure import Measurement
from upskill.generation.refine import Attempt, Effort, best_of, outcomes
from upskill.generation.student import StudentProfile

DRAFT = Draft(name="tarn", description="Starts tarns.", body="# Tarn\n\nLevel 0.\n")
LEARN = make_cases(10, "learn")


def to_level(level: int) -> str:
    """An edit that brings whichever draft to a level."""
    edit = {"file": "SKILL.md", "action": "insert", "quote": "# Tarn", "heading": None, "text": f"Level {level}."}
    return json.dumps({"cause": "c", "edits": [edit | {"why": "w"}]})


def level(draft: Draft) -> int:
    """The level of the line that stands first."""
    return int(draft.body.split("Level ")[1].split(".")[0])


def by_level(*passes: int) -> Callable[[str, Draft | None, Case], float]:
    """How many of the learn cases a draft of each level passes, always the same."""
    return lambda _, draft, case: 0.0 if draft is None else float(int(case.id[-2:]) <= passes[level(draft)])


def measure(*passes: int, students: Sequence[str] = ("small",)) -> SimulatedMeasure:
    return SimulatedMeasure(by_level(*passes), random.Random(0), students=students)


def test_revises_at_most_three_times_and_keeps_the_best() -> None:
    teacher = Teacher(*(to_level(number) for number in range(1, 9)))
    heard: list[Attempt] = []
    refined = refine_draft(
        DRAFT,
        cases=LEARN,
        measure=measure(2, 5, 4, 7, 9),
        ask=teacher,
        on_attempt=lambda attempt, _: heard.append(attempt),
    )
    assert [attempt.share for attempt in refined.attempts] == ["2 of 10", "5 of 10", "4 of 10", "7 of 10"]
    assert refined.best.number == 4
    assert refined.stopped == "3 revisions made"
    assert tuple(heard) == refined.attempts
    # What was worse was not gone on with: the next revision began from the best.
    assert [attempt.revises for attempt in refined.attempts] == [None, 1, 2, 2]
    shown = [question.messages[0].text for question in teacher.asked]
    assert "4 of 10 passed instead of 5 of 10" in shown[2]
    broke = shown[2].partition("It broke:")[2].partition("# The skill")[0]
    assert [case.prompt in broke for case in LEARN] == [number == 4 for number in range(10)]
    # The teacher is told how the skill does, what the last revision moved, and what must stay.
    assert shown[0].startswith("# How the skill does\n\n2 of 10 practice tasks pass with this skill.\n\nThese pass;")
    assert "Its last revision mended:" not in shown[0]
    assert "5 of 10 practice tasks pass" in shown[1]
    mended = shown[1].partition("Its last revision mended:")[2].partition("These pass;")[0]
    assert [case.prompt in mended for case in LEARN] == [False, False, True, True, True, *[False] * 5]
    assert "broke" not in shown[1]


def test_worse_revision_never_replaces_a_better_one_and_a_tie_goes_to_the_earlier() -> None:
    teacher = Teacher(*(to_level(number) for number in range(1, 4)))
    refined = refine_draft(DRAFT, cases=LEARN, measure=measure(6, 6, 5, 0), ask=teacher)
    assert refined.best.draft == DRAFT
    assert [attempt.passes for attempt in refined.attempts] == [6, 6, 5, 0]


def test_ends_when_nothing_fails() -> None:
    refined = refine_draft(DRAFT, cases=LEARN, measure=measure(10), ask=Teacher("never asked"))
    assert (refined.stopped, len(refined.attempts)) == ("every practice case passes", 1)
    refined = refine_draft(DRAFT, cases=LEARN, measure=measure(3, 10, 10), ask=Teacher(to_level(1), to_level(2)))
    assert (refined.stopped, refined.best.number) == ("every practice case passes", 2)


def test_ends_when_the_teacher_repeats_itself() -> None:
    refined = refine_draft(DRAFT, cases=LEARN, measure=measure(5, 5, 5, 5), ask=Teacher(to_level(1)))
    assert (refined.stopped, len(refined.attempts)) == ("the teacher proposed nothing new", 2)
    none = json.dumps({"cause": "fine as it is", "edits": []})
    assert len(refine_draft(DRAFT, cases=LEARN, measure=measure(5), ask=Teacher(none)).attempts) == 1


def test_unusable_teacher_ends_it_with_what_there_is() -> None:
    refined = refine_draft(
        DRAFT, cases=LEARN, measure=measure(5, 7, 7), ask=Teacher(to_level(1), "prose, prose, prose")
    )
    assert refined.best.number == 2
    assert refined.stopped.startswith("the teacher gave no usable answer (revision, asked 3 times)")


@pytest.mark.parametrize("effort", ["low", "high"])
@pytest.mark.parametrize("error", [ProviderError("down"), NoAnswer("down", fault="transport")])
def test_teacher_that_cannot_be_reached_is_an_error(error: Exception, effort: Effort) -> None:
    def ask(questions: Sequence[Question]) -> tuple[Reply, ...]:
        raise error

    with pytest.raises(type(error), match="down"):
        refine_draft(DRAFT, cases=LEARN, measure=measure(5), ask=ask, effort=effort)


def test_no_revisions_are_made_where_none_are_wanted() -> None:
    refined = refine_draft(DRAFT, cases=LEARN, measure=measure(5), ask=Teacher("never asked"), revisions=0)
    assert (refined.stopped, len(refined.attempts)) == ("0 revisions made", 1)


def test_what_a_person_asks_for_is_tried_even_if_nothing_fails_and_wins_a_tie() -> None:
    teacher = Teacher(to_level(1))
    refined = refine_draft(DRAFT, cases=LEARN, measure=measure(10, 10), ask=teacher, wish="Mind the lamp.")
    assert refined.best.number == 2
    assert "Mind the lamp." in teacher.asked[0].messages[0].text
    worse = refine_draft(
        DRAFT, cases=LEARN, measure=measure(10, 9, 9, 9), ask=Teacher(to_level(1)), wish="Mind the lamp."
    )
    assert worse.best.number == 1


def test_change_that_was_already_drafted_is_the_first_revision() -> None:
    drafted = replace(DRAFT, body="# Tarn\n\nLevel 1.\nLevel 0.\n")
    refined = refine_draft(
        DRAFT, cases=LEARN, measure=measure(5, 5, 6, 7), ask=Teacher(to_level(2), to_level(3)), proposed=drafted
    )
    assert [attempt.passes for attempt in refined.attempts] == [5, 5, 6, 7]
    assert [attempt.revises for attempt in refined.attempts] == [None, 1, 2, 3]
    same = refine_draft(DRAFT, cases=LEARN, measure=measure(10), ask=Teacher(to_level(0)), proposed=DRAFT, revisions=0)
    assert same.best.number == 1


def test_failures_of_all_students_are_shown_and_learn_cases_only() -> None:
    cases = tuple(
        replace(case, reference=Answer(text="THE REFERENCE"), wrong=(Answer(text="A WRONG ONE"),)) for case in LEARN
    )
    teacher = Teacher(to_level(1))

    def rate(student: str, draft: Draft | None, case: Case) -> float:
        return float(draft is None or case.id[-2:] != ("03" if student == "a" else "07"))

    both = SimulatedMeasure(rate, random.Random(0), students=("a", "b"))
    refined = refine_draft(DRAFT, cases=cases, measure=both, ask=teacher, revisions=1)
    assert refined.attempts[0].share == "18 of 20"
    told = teacher.asked[0].messages[0].text
    assert "learn task 3" in told
    assert "learn task 7" in told
    assert told.count("the skill does harm here") == 2
    assert "REFERENCE" not in told
    assert "WRONG ONE" not in told


def test_baseline_is_bought_once() -> None:
    simulated = measure(2, 3, 4, 5)
    refine_draft(DRAFT, cases=LEARN, measure=simulated, ask=Teacher(*(to_level(number) for number in range(1, 4))))
    assert simulated.trials == 10 + 4 * 10
    assert simulated.stages == ["learn-1", "learn-2", "learn-3", "learn-4"]


def test_errored_trial_is_no_failure_and_only_common_cases_are_compared() -> None:
    measured = measure(4)("learn-1", DRAFT, LEARN, repeats=1)
    lost = tuple(
        replace(trial, outcome=Errored(fault="timeout", message="")) if trial.case_id == "learn-09" else trial
        for trial in measured.trials
    )
    passed, failures = outcomes(replace(measured, trials=lost), LEARN)
    assert len(passed) == 9
    assert {failure.case_id for failure in failures} == {f"learn-{number:02}" for number in (5, 6, 7, 8, 10)}

    def attempt(number: int, **marks: bool) -> Attempt:
        return Attempt(number=number, draft=DRAFT, passed={("s", case): mark for case, mark in marks.items()})

    whole, part = attempt(1, a=True, b=True, c=False), attempt(2, a=True)
    assert best_of([whole, part]) is whole
    assert best_of([whole, attempt(2, c=True)]).number == 2
    assert best_of([whole, attempt(2)]) is whole


def test_nothing_is_asked_where_nothing_could_be_measured_or_the_cap_is_reached() -> None:
    dead = measure(4)

    def errors(*args: object, **options: object) -> Measurement:
        found = dead(*args, **options)  # type: ignore[arg-type]
        gone: tuple[Trial, ...] = tuple(
            replace(one, outcome=Errored(fault="transport", message="")) for one in found.trials
        )
        return replace(found, trials=gone)

    refined = refine_draft(DRAFT, cases=LEARN, measure=errors, ask=Teacher("never asked"))
    assert refined.stopped == "nothing could be measured on the practice cases"

    capped = measure(4)

    def cap(*args: object, **options: object) -> Measurement:
        return replace(capped(*args, **options), cut_short="stopped at the cap of $1.00")  # type: ignore[arg-type]

    assert (
        refine_draft(DRAFT, cases=LEARN, measure=cap, ask=Teacher("never asked")).stopped
        == "stopped at the cap of $1.00"
    )


def test_families_are_units_and_the_earlier_wins_a_tie() -> None:
    cases = tuple(replace(case, family="one" if number < 8 else None) for number, case in enumerate(LEARN))

    def attempt(number: int, *passing: int, body: str = "b", **more: Any) -> Attempt:
        passed = {("s", case.id): at in passing for at, case in enumerate(LEARN)}
        return Attempt(number=number, draft=replace(DRAFT, body=body), passed=passed, **more)

    many, few = attempt(1, *range(8)), attempt(2, 8, 9)
    assert best_of([many, few]) is many, "eight cases of ten"
    assert best_of([many, few], cases) is few, "but one family of three"
    assert best_of([many, attempt(2, *range(8), body="")], cases) is many
    table = attempt(2, 8, 9, body="a long one", revises=1, presentation="table")
    short = attempt(3, 8, 9, body="short", revises=1, presentation="questions")
    assert best_of([many, table, short], cases) is short
    assert best_of([many, table, replace(short, draft=replace(DRAFT, body="longer than it"))], cases) is table


# ---------------------------------------------------------------- small students


def profile(*reachable: int, window: int | None = 2_048, measured: bool = True) -> StudentProfile:
    aptitude = Aptitude(
        student="small",
        harness="chat",
        baseline=0.0,
        ceiling=0.5,
        lift=None,
        reachable=tuple(f"learn-{number:02}" for number in reachable),
        trials=20,
    )
    return StudentProfile(
        names=("small",),
        window=window,
        output_tokens=128,
        harness="chat",
        case_tokens=200,
        skill_tokens=300,
        aptitudes=(aptitude,) if measured else (),
    )


def presented(*levels: int) -> str:
    forms = zip(("examples", "questions", "table"), levels, strict=False)
    sections = ((form, [{"heading": "Tarn", "text": f"Level {level}."}]) for form, level in forms)
    return json.dumps({"presentations": [{"form": form, "sections": listed} for form, listed in sections]})


def test_small_student_is_measured_on_other_presentations_and_the_best_is_revised() -> None:
    at_the_end = json.dumps({"edits": [{"file": "SKILL.md", "action": "insert", "text": "More."}]})
    teacher = Teacher(presented(1, 2, 3), at_the_end)
    seen = measure(2, 3, 6, 5)
    refined = refine_draft(DRAFT, cases=LEARN, measure=seen, ask=teacher, profile=profile(), revisions=1)
    assert [(one.presentation, one.passes) for one in refined.attempts] == [
        ("prose", 2),
        ("examples", 3),
        ("questions", 6),
        ("table", 5),
        ("questions", 6),
    ]
    assert refined.attempts[-1].revises == refined.best.number == 3
    assert refined.stopped == "1 revision made"
    assert [question.purpose for question in teacher.asked] == ["presentation", "revision"]


def test_presentations_are_for_small_students_and_for_those_that_do_badly() -> None:
    def purposes(known: StudentProfile | None, passes: int, **more: Any) -> list[str]:
        teacher = Teacher("nothing usable")
        refined = refine_draft(DRAFT, cases=LEARN, measure=measure(passes), ask=teacher, profile=known, **more)
        assert (refined.note is not None) == ("presentation" in {one.purpose for one in teacher.asked})
        return [question.purpose for question in teacher.asked[:1]]

    assert purposes(profile(), 9) == ["presentation"]
    assert purposes(profile(), 10) == []
    assert purposes(profile(), 9, exists=True) == ["revision"]
    assert purposes(None, 1) == ["revision"]
    large = 200_000
    assert purposes(profile(1, 2, 9, 10, window=large), 1) == ["presentation"]
    assert purposes(profile(1, 2, 9, 10, window=large), 2) == ["revision"], "half of what it can reach"
    assert purposes(profile(window=large, measured=False), 1) == ["revision"]


def test_rewrite_is_offered_where_less_than_a_quarter_of_what_is_reachable_passes() -> None:
    def offered(passes: int, *reachable: int) -> bool:
        teacher = Teacher(to_level(1))
        known = profile(*reachable, window=None)
        refine_draft(
            DRAFT, cases=LEARN, measure=measure(passes, 0), ask=teacher, profile=known, exists=True, revisions=1
        )
        return "sections" in str(teacher.asked[0].schema)

    assert offered(2)
    assert not offered(3)
    assert not offered(1, 1, 2, 3, 4)
    assert offered(1, 2, 3, 4, 5)
    assert offered(1, 1, 2, 3), "three that can be reached say nothing: one in ten passes"


def test_draft_that_does_not_fit_the_window_is_cut_and_the_run_goes_on() -> None:
    wide = replace(DRAFT, body="# Tarn\n\nLevel 0.\n" + "Words and words.\n\n" * 40)
    simulated = measure(5)

    def window(stage: str, draft: Draft, *args: object, **options: object) -> Measurement:
        if len(draft.body) > 400:
            raise WindowExceeded("does not fit")
        return simulated(stage, draft, *args, **options)  # type: ignore[arg-type]

    refined = refine_draft(wide, cases=LEARN, measure=window, ask=Teacher("no"))
    assert refined.best.share == "5 of 10"
    assert len(refined.best.draft.body) <= 400
    assert simulated.stages == ["learn-1-cut-2"]
    with pytest.raises(WindowExceeded):
        refine_draft(wide, cases=LEARN, measure=window, ask=Teacher("no"), exists=True)
    edits = json.dumps({"edits": [{"file": "SKILL.md", "action": "insert", "text": "More words. " * 200}]})
    searched = refine_draft(DRAFT, cases=LEARN, measure=window, ask=Teacher(edits), effort="high")
    assert searched.best.draft == DRAFT


# ---------------------------------------------------------------- effort high


def test_search_finds_the_better_draft_within_the_budget(capfd: pytest.CaptureFixture[str]) -> None:
    teacher = Teacher(*(to_level(number) for number in range(1, 9)))
    simulated = measure(2, 1, 6, 5, 9, 9, 9, 9, 9)
    refined = refine_draft(DRAFT, cases=LEARN, measure=simulated, ask=teacher, effort="high")
    assert refined.best.passes > 2
    assert refined.best.passes == max(attempt.passes for attempt in refined.attempts)
    # The baseline and the first draft, then at most what three revisions would have taken.
    assert simulated.trials <= 10 + 10 + 30
    assert len(teacher.asked) <= 12
    assert all(len(attempt.passed) == 10 for attempt in refined.attempts)
    assert capfd.readouterr() == ("", "")


def test_search_is_the_same_every_time() -> None:
    def run() -> list[tuple[str, str]]:
        teacher = Teacher(*(to_level(number) for number in range(1, 9)))
        refined = refine_draft(
            DRAFT, cases=LEARN, measure=measure(2, 3, 4, 5, 6, 7, 8, 9, 9), ask=teacher, effort="high"
        )
        return [(attempt.draft.body, attempt.share) for attempt in refined.attempts]

    assert run() == run()


@pytest.mark.parametrize("reply", [to_level(0), "prose", json.dumps({"cause": "", "edits": []})])
def test_search_ends_where_the_teacher_has_nothing_new(reply: str) -> None:
    teacher = Teacher(reply if reply != to_level(0) else to_level(1))
    refined = refine_draft(DRAFT, cases=LEARN, measure=measure(2, 2), ask=teacher, effort="high")
    assert refined.best.number == 1
    assert "the teacher proposed nothing new" in refined.stopped
    assert len(teacher.asked) <= 12


def test_search_ends_when_everything_passes() -> None:
    refined = refine_draft(DRAFT, cases=LEARN, measure=measure(2, 10), ask=Teacher(to_level(1)), effort="high")
    assert refined.best.passes == 10
    assert refined.stopped == "every practice case passes, after 1 proposal"
    alone = refine_draft(DRAFT, cases=LEARN, measure=measure(10), ask=Teacher("never asked"), effort="high")
    assert alone.stopped == "every practice case passes"


@pytest.mark.parametrize("count", [1, 2, 4])
def test_search_works_with_few_learn_cases(count: int) -> None:
    few = LEARN[:count]
    teacher = Teacher(*(to_level(number) for number in range(1, 9)))
    simulated = measure(0, 0, 0, 4, 4)
    refined = refine_draft(DRAFT, cases=few, measure=simulated, ask=teacher, effort="high")
    assert simulated.trials <= 2 * count + 3 * count
    assert refined.best.passes in (0, count)


@pytest.mark.parametrize("error", [ProviderError("down"), KeyboardInterrupt()])
def test_what_ends_a_measurement_ends_the_search(error: BaseException) -> None:
    simulated = measure(2, 3)
    teacher = Teacher(to_level(1))

    def fails(stage: str, *args: object, **options: object) -> Measurement:
        if stage.startswith("search"):
            raise error
        return simulated(stage, *args, **options)  # type: ignore[arg-type]

    with pytest.raises(type(error)):
        refine_draft(DRAFT, cases=LEARN, measure=fails, ask=teacher, effort="high")
    assert len(teacher.asked) == 1


def test_cap_ends_the_search() -> None:
    simulated = measure(2, 3, 4, 5, 6, 7, 8)

    def cap(stage: str, *args: object, **options: object) -> Measurement:
        found = simulated(stage, *args, **options)  # type: ignore[arg-type]
        return replace(found, cut_short="stopped at the cap of $1.00") if stage == "search-2" else found

    teacher = Teacher(*(to_level(number) for number in range(1, 7)))
    refined = refine_draft(DRAFT, cases=LEARN, measure=cap, ask=teacher, effort="high")
    assert refined.stopped.startswith("stopped at the cap of $1.00, after ")
    assert simulated.stages[-1] == "search-2"


def test_search_over_several_students_pays_for_each() -> None:
    simulated = measure(2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, students=("a", "b"))
    refined = refine_draft(
        DRAFT, cases=LEARN, measure=simulated, ask=Teacher(*(to_level(n) for n in range(1, 14))), effort="high"
    )
    assert simulated.trials <= 2 * (10 + 10 + 30)
    assert all(len(attempt.passed) == 20 for attempt in refined.attempts)


def test_error_of_ours_in_a_proposal_is_not_swallowed() -> None:
    def broken(questions: Sequence[Question]) -> tuple[Reply, ...]:
        raise ZeroDivisionError

    with pytest.raises(EngineError, match="while a revision was made"):
        refine_draft(DRAFT, cases=LEARN, measure=measure(2), ask=broken, effort="high")
