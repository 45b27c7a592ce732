"""The nouns as frozen values. No files, no clock, no network, no printing."""

from upskill.domain.answer import Answer, Files
from upskill.domain.case import Case, CaseUse, Check, CheckOffer, CheckResult, Grade
from upskill.domain.digest import canonical_json, digest_of
from upskill.domain.draft import Draft, SectionSource
from upskill.domain.evaluation import ArmSummary, Bought, Evaluation, JudgeReport, StudentReport
from upskill.domain.lesson import Lesson, LessonKind
from upskill.domain.lift import Interval, Lift, Verdict
from upskill.domain.plan import Design, PlannedTrial, TrialPlan, Turn
from upskill.domain.qualification import LABELS, Label, LabelLift, Qualification, Reason, State
from upskill.domain.skill import Skill, SkillFile
from upskill.domain.student import Price, Student
from upskill.domain.tokens import estimate_tokens
from upskill.domain.trace import Call, Observation, Step, Subtrace, Trace
from upskill.domain.trial import (
    NOT_RUN,
    Arm,
    End,
    Errored,
    Fault,
    Outcome,
    Scored,
    SkillUse,
    Trial,
    Usage,
)

__all__ = [
    "LABELS",
    "NOT_RUN",
    "Answer",
    "Arm",
    "ArmSummary",
    "Bought",
    "Call",
    "Case",
    "CaseUse",
    "Check",
    "CheckOffer",
    "CheckResult",
    "Design",
    "Draft",
    "End",
    "Errored",
    "Evaluation",
    "Fault",
    "Files",
    "Grade",
    "Interval",
    "JudgeReport",
    "Label",
    "LabelLift",
    "Lesson",
    "LessonKind",
    "Lift",
    "Observation",
    "Outcome",
    "PlannedTrial",
    "Price",
    "Qualification",
    "Reason",
    "Scored",
    "SectionSource",
    "Skill",
    "SkillFile",
    "SkillUse",
    "State",
    "Step",
    "Student",
    "StudentReport",
    "Subtrace",
    "Trace",
    "Trial",
    "TrialPlan",
    "Turn",
    "Usage",
    "Verdict",
    "canonical_json",
    "digest_of",
    "estimate_tokens",
]
