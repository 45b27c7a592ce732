"""What a student sees, and the identity of a trial."""

import time
from dataclasses import replace
from typing import Any

import pytest

from upskill.core.nouns import Arm, Case, Check, PlannedTrial, Skill, SkillFile, Student, TrialPlan
from upskill.core.trials.harness import Requests, load_harness
from upskill.core.trials.trial_run import AgentSetup, TrialLimits
from upskill.sandbox import Limits

FRAME = load_harness("chat").frame

CASE = Case(id="port", prompt="Which port?", checks=(Check(kind="contains", spec="7413"),))
SKILL = Skill(name="thing", description="Does a thing.", body="\nThe port is 7413.\n", digest="d1")
STUDENT = Student(name="any", model="openai-api/endpoint/any", endpoint="http://localhost:1/v1", temperature=0.0)
BASELINE = PlannedTrial(case=CASE, arm="baseline", repeat=1)
GIVEN = PlannedTrial(case=CASE, arm="with_skill", repeat=1)


def test_the_skill_is_added_to_the_frame_in_one_marked_place() -> None:
    requests = Requests(SKILL)
    baseline, given = requests.render(CASE, "baseline"), requests.render(CASE, "with_skill")
    assert baseline.system == FRAME
    assert given.system == f'{FRAME}\n\n<skill name="thing">\nThe port is 7413.\n</skill>'
    assert baseline.prompt == given.prompt == CASE.prompt


def test_a_baseline_is_the_same_trial_for_every_skill() -> None:
    other = replace(SKILL, body="Something else.", digest="d2")
    assert Requests(SKILL).trial_id(BASELINE, STUDENT) == Requests(other).trial_id(BASELINE, STUDENT)
    assert Requests(SKILL).trial_id(GIVEN, STUDENT) != Requests(other).trial_id(GIVEN, STUDENT)


def test_changing_a_check_changes_grades_and_not_trials() -> None:
    changed = replace(CASE, checks=(Check(kind="equals", spec="80"),))
    assert changed.digest != CASE.digest
    requests = Requests(SKILL)
    assert requests.trial_id(replace(GIVEN, case=changed), STUDENT) == requests.trial_id(GIVEN, STUDENT)


def test_whatever_could_change_an_answer_makes_another_trial() -> None:
    requests = Requests(SKILL)
    others = [
        requests.trial_id(BASELINE, STUDENT),
        requests.trial_id(replace(GIVEN, repeat=2), STUDENT),
        requests.trial_id(replace(GIVEN, case=replace(CASE, prompt="Which port, please?")), STUDENT),
        requests.trial_id(GIVEN, replace(STUDENT, model="openai-api/endpoint/other")),
        requests.trial_id(GIVEN, replace(STUDENT, endpoint="http://localhost:2/v1")),
        requests.trial_id(GIVEN, replace(STUDENT, temperature=1.0)),
        requests.trial_id(GIVEN, replace(STUDENT, max_output_tokens=10)),
    ]
    assert len({requests.trial_id(GIVEN, STUDENT), *others}) == 8


def test_what_a_person_calls_a_student_or_a_case_does_not_make_another_trial() -> None:
    requests = Requests(SKILL)
    assert requests.trial_id(GIVEN, STUDENT) == requests.trial_id(GIVEN, replace(STUDENT, name="nickname"))
    renamed = replace(GIVEN, case=replace(CASE, id="renamed"))
    assert requests.trial_id(GIVEN, STUDENT) == requests.trial_id(renamed, STUDENT)


def test_a_plan_of_a_hundred_thousand_trials_is_identified_in_seconds() -> None:
    cases = tuple(replace(CASE, id=str(n), prompt=f"Question {n}?") for n in range(10_000))
    plan = TrialPlan(cases=cases, students=(STUDENT,), arms=("baseline", "with_skill"), repeats=5)
    requests = Requests(SKILL)
    started = time.process_time()
    identities = {requests.trial_id(planned, STUDENT) for planned in plan.trials()}
    assert len(identities) == len(plan) == 100_000
    assert time.process_time() - started < 8, "on an idle machine it takes one"


# Students with tools

OFFERED = PlannedTrial(case=CASE, arm="offered", repeat=1)
FILED = replace(
    SKILL,
    files=(
        SkillFile(path="SKILL.md", size=1, sha256="a" * 64),
        SkillFile(path="scripts/run.py", size=1, sha256="b" * 64, executable=True),
    ),
)


def agent(skill: Skill = FILED, **trial_limits: Any) -> Requests:
    return Requests(skill, harness="agent", trial_limits=TrialLimits(**trial_limits))


def test_a_baseline_with_tools_is_the_same_trial_for_every_skill_and_another_than_without() -> None:
    other = replace(FILED, name="other", body="Something else.", files=())
    assert agent().trial_id(BASELINE, STUDENT) == agent(other).trial_id(BASELINE, STUDENT)
    assert agent().trial_id(BASELINE, STUDENT) != Requests(FILED).trial_id(BASELINE, STUDENT)


def test_whatever_a_student_with_tools_could_meet_makes_another_trial() -> None:
    changed = replace(FILED, files=(FILED.files[0], replace(FILED.files[1], sha256="c" * 64)))
    mode = replace(FILED, files=(FILED.files[0], replace(FILED.files[1], executable=False)))
    filed = replace(OFFERED, case=replace(CASE, files={"in.txt": b"1"}))
    identities = [
        agent().trial_id(OFFERED, STUDENT),
        agent().trial_id(GIVEN, STUDENT),
        agent().trial_id(BASELINE, STUDENT),
        agent(changed).trial_id(OFFERED, STUDENT),
        agent(changed).trial_id(GIVEN, STUDENT),
        agent(mode).trial_id(OFFERED, STUDENT),
        agent(replace(FILED, description="Another.")).trial_id(OFFERED, STUDENT),
        agent().trial_id(filed, STUDENT),
        agent().trial_id(replace(filed, case=replace(CASE, files={"in.txt": b"2"})), STUDENT),
        agent().trial_id(replace(filed, case=replace(CASE, files={"on.txt": b"1"})), STUDENT),
        agent(turns=31).trial_id(OFFERED, STUDENT),
        agent(tokens=1).trial_id(OFFERED, STUDENT),
        agent(seconds=1).trial_id(OFFERED, STUDENT),
        agent(command_seconds=1).trial_id(OFFERED, STUDENT),
        agent(confined=False).trial_id(OFFERED, STUDENT),
        agent(place=Limits(memory_mb=1)).trial_id(OFFERED, STUDENT),
    ]
    assert len(set(identities)) == len(identities)


def test_a_changed_file_of_the_skill_leaves_the_baseline_alone() -> None:
    changed = replace(FILED, files=(FILED.files[0], replace(FILED.files[1], sha256="c" * 64)))
    assert agent(changed).trial_id(BASELINE, STUDENT) == agent().trial_id(BASELINE, STUDENT)


def test_an_older_version_is_offered_as_the_newest_was() -> None:
    both = Requests(
        replace(FILED, body="New.", digest="d2"), previous=FILED, harness="agent", trial_limits=TrialLimits()
    )
    previous = PlannedTrial(case=CASE, arm="previous", repeat=1)
    assert both.trial_id(previous, STUDENT) == agent().trial_id(OFFERED, STUDENT)


def test_a_listed_skill_says_its_name_description_and_path_and_nothing_of_its_body() -> None:
    odd = replace(FILED, description="For {curly} braces and <tags>.")
    system = agent(odd).render(CASE, "offered").system
    assert "- thing: For {curly} braces and <tags>. (/skills/thing/SKILL.md)" in system
    assert "7413" not in system
    assert "../skills/thing" in agent(odd, confined=False).render(CASE, "offered").system


def test_who_has_no_tools_is_shown_the_files_in_fences_that_they_cannot_close() -> None:
    case = replace(CASE, files={"b.md": b"```\ncode\n```\n", "a.bin": b"\xff\x00"})
    prompt = Requests(SKILL).render(case, "baseline").prompt
    assert prompt == (
        "Which port?\n\nThe file a.bin holds 2 bytes that are no text.\n\nb.md:\n````\n```\ncode\n```\n````"
    )
    assert agent().render(case, "baseline").prompt == "Which port?"


@pytest.mark.parametrize(
    ("harness", "arm", "expected"),
    [
        ("chat", "baseline", "477caf27 f19d8e3a"),
        ("chat", "with_skill", "e31579a8 5ff62d40"),
        ("chat", "previous", "5d69f6cf 54d1390c"),
        ("agent", "baseline", "15bd08dd bea5fa55"),
        ("agent", "offered", "0d7f2ea6 74c20031"),
        ("agent", "with_skill", "acb1fe83 4701bebf"),
        ("agent", "previous", "0a7fa7b4 2b3ff1ed"),
    ],
)
def test_identities_stay_what_they_are(harness: str, arm: Arm, expected: str) -> None:
    old = replace(FILED, description="Old.", body="Old.", digest="d0")
    requests = Requests(FILED, previous=old, harness=harness, trial_limits=TrialLimits(turns=7))
    planned = PlannedTrial(case=CASE, arm=arm, repeat=2)
    filed = replace(planned, case=replace(CASE, files={"in.txt": b"1"}))
    ids = requests.trial_id(planned, STUDENT)[:8], requests.trial_id(filed, STUDENT)[:8]
    assert " ".join(ids) == expected


@pytest.mark.parametrize("harness", ["chat", "agent"])
def test_a_ceiling_shows_the_passage_and_no_skill(harness: str) -> None:
    case = replace(CASE, passage="\nPorts: {thing} is 7413.\n")
    requests = Requests(SKILL, harness=harness)
    shown = requests.render(case, "ceiling")
    frame, block = load_harness(harness).frame, "<passage>\nPorts: {thing} is 7413.\n</passage>"
    assert shown.system == f"{frame}\n\nYou can use this passage for what the user asks.\n\n{block}"
    assert shown.prompt == requests.render(case, "baseline").prompt
    assert requests.skill_in("ceiling") is None


def test_a_passage_is_part_of_the_ceiling_trial_and_of_no_other() -> None:
    requests, other = Requests(SKILL), Requests(replace(SKILL, body="Something else.", digest="d2"))
    case, changed = replace(CASE, passage="It is 7413."), replace(CASE, passage="It is 80.")
    ceiling = PlannedTrial(case=case, arm="ceiling", repeat=1)
    assert requests.trial_id(ceiling, STUDENT) == other.trial_id(ceiling, STUDENT)
    assert requests.trial_id(replace(ceiling, case=changed), STUDENT) != requests.trial_id(ceiling, STUDENT)
    for planned in (BASELINE, GIVEN):
        assert requests.trial_id(replace(planned, case=case), STUDENT) == requests.trial_id(planned, STUDENT)
        assert requests.trial_id(planned, STUDENT) != requests.trial_id(ceiling, STUDENT)


# Other skills

BEFORE = replace(SKILL, name="a-skill", description="Comes before.", digest="d3")
AFTER = replace(SKILL, name="z-skill", description="Comes after {it}.", digest="d4")
AMONG = AgentSetup(others=(BEFORE, AFTER))


def test_other_skills_are_listed_in_every_arm_and_the_measured_one_adds_one_line_at_its_place_by_name() -> None:
    requests = agent(setup=AMONG)
    baseline, offered = (requests.render(CASE, arm).system.splitlines() for arm in ("baseline", "offered"))
    entries = [line for line in offered if line.startswith("- ")]
    assert entries == [
        "- a-skill: Comes before. (/skills/a-skill/SKILL.md)",
        "- thing: Does a thing. (/skills/thing/SKILL.md)",
        "- z-skill: Comes after {it}. (/skills/z-skill/SKILL.md)",
    ]
    assert [line for line in offered if line != entries[1]] == baseline
    given, alone = requests.render(CASE, "with_skill").system, agent().render(CASE, "with_skill").system
    assert given == "\n".join(baseline) + alone.removeprefix(load_harness("agent").frame)
    ceiling = requests.render(replace(CASE, passage="It is 7413."), "ceiling").system
    assert ceiling.startswith("\n".join(baseline) + "\n\n")


def test_other_skills_make_other_trials_and_none_leaves_every_request_and_id_as_it_was() -> None:
    assert agent(setup=AgentSetup()).trial_id(OFFERED, STUDENT) == agent().trial_id(OFFERED, STUDENT)
    others = [
        agent(setup=setup).trial_id(planned, STUDENT)
        for planned in (OFFERED, BASELINE)
        for setup in (
            AgentSetup(),
            AMONG,
            AgentSetup(others=(BEFORE,)),
            AgentSetup(others=(replace(BEFORE, digest="d5"),)),
            AgentSetup(bundled=True),
        )
    ]
    assert len(set(others)) == 10
    assert agent().render(CASE, "offered").system == (
        f"{load_harness('agent').frame}\n\n<skills>\nThese folders hold instructions for certain kinds of work. If a "
        "description fits what the user asks, you can read the file named after it.\n\n"
        "- thing: Does a thing. (/skills/thing/SKILL.md)\n</skills>"
    )
