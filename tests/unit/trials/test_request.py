"""What a student sees, and the identity of a trial."""

import time
from dataclasses import replace

from upskill.domain import Case, Check, PlannedTrial, Skill, Student, TrialPlan
from upskill.trials import FRAMES, Requests

FRAME = FRAMES["chat"]

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
    assert time.process_time() - started < 4, "on an idle machine it takes one"
