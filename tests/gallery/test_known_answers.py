"""The gallery: every reference passes, every wrong answer and every attempt to cheat is rejected by a check.

What runs programs is sampled here: of each case that runs one the reference and a wrong answer in turn, and some of the
attempts to cheat. `make full` grades everything.
"""

from collections import Counter
from itertools import groupby

import pytest
from tools import gallery_page
from tools.gallery import (
    GALLERY,
    KNOWLEDGE,
    Graded,
    KnownAnswer,
    grade_all,
    known_answers,
    levels,
    skill_names,
    summary,
)

from upskill.core.checks import needs
from upskill.share.verify import verify_skill

SKILLS = skill_names()
CASES_SAMPLED = 3
CHEATS_SAMPLED = 2


def _runs_programs(known: KnownAnswer) -> bool:
    return "sandbox" in needs(known.case)


def _sample(skill: str) -> list[KnownAnswer]:
    """Of the first cases, the last and one between them the reference; of these and all others one wrong answer."""
    slow = [known for known in known_answers(skill) if _runs_programs(known)]
    cases = [
        list(answers)
        for _, answers in groupby((one for one in slow if one.sort in {"reference", "wrong"}), lambda one: one.case)
    ]
    step = max(1, len(cases) // CASES_SAMPLED)
    sampled = [one for answers in cases[::step] for one in answers if one.sort == "reference"]
    for at, answers in enumerate(cases[:: max(1, step // 2)]):
        wrong = [one for one in answers if one.sort == "wrong"]
        sampled.append(wrong[at % len(wrong)])
    cheats = [one for one in slow if one.sort == "cheat"]
    return sampled + cheats[:: max(1, len(cheats) // CHEATS_SAMPLED)][:CHEATS_SAMPLED]


def _problems(graded: list[Graded]) -> list[str]:
    return [f"{one.known.name}: {one.rejected_by or 'passed'}: {one.saw}" for one in graded if not one.as_it_must_be]


def test_there_are_six_skills() -> None:
    assert SKILLS == [
        "agent-skills",
        "github-actions",
        "gpu-kernels",
        "python-packaging",
        "sql-migrations",
        "tidy-data",
    ]


@pytest.mark.parametrize("skill", SKILLS)
def test_a_skill_has_enough_cases_and_wrong_answers(skill: str) -> None:
    found = levels(skill)
    knowledge, executable = found[KNOWLEDGE], found["executable"]
    assert len(knowledge) >= 30
    assert len({case.family for case in knowledge}) >= 12
    assert all(len(case.wrong) >= 2 for case in knowledge)
    assert len(executable) >= 10
    assert all(len(case.wrong) >= 5 for level, cases in found.items() if level != KNOWLEDGE for case in cases)
    everything = [case for cases in found.values() for case in cases]
    assert all(case.reference is not None and case.family is not None for case in everything)
    assert max(Counter(case.id for case in everything).values()) == 1
    assert sum(one.sort == "cheat" for one in known_answers(skill)) >= 10


def test_there_are_enough_wrong_answers_in_all() -> None:
    assert sum(one.sort == "wrong" for skill in SKILLS for one in known_answers(skill)) >= 650


@pytest.mark.parametrize("skill", SKILLS)
def test_text_is_graded_as_it_must_be(skill: str) -> None:
    graded = list(grade_all(known for known in known_answers(skill) if not _runs_programs(known)))
    assert graded
    assert _problems(graded) == []


@pytest.mark.parametrize("skill", SKILLS)
def test_programs_are_graded_as_they_must_be(skill: str) -> None:
    graded = list(grade_all(_sample(skill)))
    assert {one.known.sort for one in graded} == {"reference", "wrong", "cheat"}
    assert _problems(graded) == []


@pytest.mark.full
@pytest.mark.parametrize("skill", SKILLS)
def test_all_programs_are_graded_as_they_must_be(skill: str) -> None:
    graded = list(grade_all(known for known in known_answers(skill) if _runs_programs(known)))
    assert _problems(graded) == [], summary(graded)


def test_the_page_shows_the_runs_that_are_kept() -> None:
    assert gallery_page.PAGE.read_text(encoding="utf-8") == gallery_page.page()


@pytest.mark.parametrize("skill", SKILLS)
def test_the_evidence_holds(skill: str) -> None:
    found = verify_skill(GALLERY / skill)
    assert found.results
    assert found.holds
