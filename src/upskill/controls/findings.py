"""What the controls of an evaluation are given, and what their answers show of the skill and of its cases."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from upskill.controls.corrupted import corrupted
from upskill.controls.placebo import placebo
from upskill.core import statistics
from upskill.core.cases.examination import expected_values
from upskill.core.nouns import Arm, Case, Lift, Scored, Skill, Trial, TrialPlan
from upskill.core.nouns.evaluation import ControlFindings
from upskill.core.nouns.text import count
from upskill.core.nouns.trial import CONTROLS


def control_skills(skill: Skill) -> tuple[dict[Arm, Skill], tuple[str, ...]]:
    """What the arms with controls are given under the name of the skill, and a note on what was exchanged.

    A skill without a value to exchange has no corrupted version.
    """
    changed = corrupted(skill.body)
    given: dict[Arm, Skill] = {"placebo": replace(skill, body=placebo(skill))}
    if not changed.exchanged:
        only = "no value of SKILL.md can be exchanged (code spans, numbers, tables, code blocks): placebo only"
        return given, (f"controls: {only}",)
    given["corrupted"] = replace(skill, body=changed.text)
    kept = f"; {changed.kept} could not be" if changed.kept else ""
    return given, (f"controls: {count(len(changed.exchanged), 'value')} of SKILL.md exchanged{kept}",)


def cases_tested(body: str, cases: Iterable[Case]) -> frozenset[str]:
    """The cases of which a check looks for a text that the corrupted body no longer has where the body has it."""
    changed = corrupted(body)
    return frozenset(case.id for case in cases if any(map(changed.lost, expected_values(case))))


def control_findings(
    plan: TrialPlan, counted: Sequence[Trial], *, tested: frozenset[str], level: statistics.Level
) -> ControlFindings | None:
    """What the answers of a student show; `None` without controls. A case passes if most of its answers do."""
    if not set(CONTROLS) & set(plan.arms):
        return None
    skill, broken = _passes(counted, plan.measured), _passes(counted, "corrupted")
    passing = [case_id for case_id in broken if skill.get(case_id)]
    return ControlFindings(
        over_placebo=_lift_over("placebo", plan, counted, level),
        over_corrupted=_lift_over("corrupted", plan, counted, level),
        passing=len(passing),
        noticed=sum(not broken[case_id] for case_id in passing),
        tested=len(tested & broken.keys()),
        untested=len(broken.keys() - tested),
        shows_nothing=tuple(case.id for case in plan.cases if case.id in tested and broken.get(case.id)),
    )


def _lift_over(control: Arm, plan: TrialPlan, counted: Sequence[Trial], level: statistics.Level) -> Lift | None:
    pairing = statistics.pair_trials(counted, arm=plan.measured, against=control, families=plan.families)
    return statistics.measure_lift(statistics.counted_pairs(pairing), level)


def _passes(counted: Iterable[Trial], arm: Arm) -> Mapping[str, bool]:
    """By case: whether more than half of the scored answers passed."""
    ends: defaultdict[str, list[bool]] = defaultdict(list)
    for trial in counted:
        if trial.arm == arm and isinstance(trial.outcome, Scored):
            ends[trial.case_id].append(trial.passed)
    return {case_id: 2 * sum(passed) > len(passed) for case_id, passed in ends.items()}
