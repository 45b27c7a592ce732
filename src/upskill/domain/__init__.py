"""The nouns as frozen values. No files, no clock, no network, no printing."""

from upskill.domain.answer import Answer, Files
from upskill.domain.case import (
    LABELS,
    Case,
    CaseUse,
    Check,
    CheckOffer,
    CheckResult,
    Grade,
    Label,
    Qualification,
    Reason,
    State,
)
from upskill.domain.digest import canonical_json, digest_of
from upskill.domain.draft import Draft, Lesson, LessonKind, SectionSource
from upskill.domain.evaluation import ArmSummary, Evaluation, JudgeReport, Purchase, StudentReport
from upskill.domain.harness import DEFAULT_HARNESS, HARNESSES, HarnessInfo, harness_info
from upskill.domain.lift import Interval, LabelLift, Lift, Verdict
from upskill.domain.loads import Estimate, Loads, Withheld
from upskill.domain.plan import Design, PlannedTrial, TrialPlan, Turn
from upskill.domain.run_end import Cap, Outage, RunEnd, StudentEnd
from upskill.domain.skill import Skill, SkillFile
from upskill.domain.student import Price, Student
from upskill.domain.text import estimate_tokens
from upskill.domain.trace import Call, Observation, Step, Subtrace, Trace
from upskill.domain.trial import NOT_RUN, Arm, End, Errored, Fault, Outcome, Scored, SkillUse, Trial, Usage
from upskill.domain.trigger import PromptTally, TriggerPrompt, TriggerRate, TriggerResult, TriggerScore
