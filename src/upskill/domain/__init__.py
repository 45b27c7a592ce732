"""The nouns as frozen values. No files, no clock, no network, no printing."""

from upskill.domain.case import Case, Check, CheckResult, Grade
from upskill.domain.digest import canonical_json, digest_of
from upskill.domain.evaluation import ArmSummary, Bought, Evaluation, StudentReport
from upskill.domain.lift import Interval, Lift, Verdict
from upskill.domain.plan import Design, PlannedTrial, TrialPlan, Turn
from upskill.domain.skill import Skill, SkillFile
from upskill.domain.student import Price, Student
from upskill.domain.trial import (
    NOT_RUN,
    Arm,
    End,
    Errored,
    Fault,
    Outcome,
    Scored,
    Trial,
    Usage,
)

__all__ = [
    "NOT_RUN",
    "Arm",
    "ArmSummary",
    "Bought",
    "Case",
    "Check",
    "CheckResult",
    "Design",
    "End",
    "Errored",
    "Evaluation",
    "Fault",
    "Grade",
    "Interval",
    "Lift",
    "Outcome",
    "PlannedTrial",
    "Price",
    "Scored",
    "Skill",
    "SkillFile",
    "Student",
    "StudentReport",
    "Trial",
    "TrialPlan",
    "Turn",
    "Usage",
    "Verdict",
    "canonical_json",
    "digest_of",
]
