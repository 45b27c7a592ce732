"""The nouns as frozen values. No files, no clock, no network, no printing."""

from upskill.core.nouns.answer import Answer, Files
from upskill.core.nouns.case import (
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
from upskill.core.nouns.evaluation import ArmSummary, Evaluation, JudgeReport, Purchase, StudentReport
from upskill.core.nouns.harness import DEFAULT_HARNESS, HarnessInfo, harness_info
from upskill.core.nouns.lift import Claim, Interval, LabelLift, Lift, Loads, Verdict
from upskill.core.nouns.look import Cap, Outage, RunEnd, StudentEnd
from upskill.core.nouns.plan import Design, PlannedTrial, Price, Student, TrialPlan, Turn
from upskill.core.nouns.skill import Skill, SkillFile
from upskill.core.nouns.text import canonical_json, digest_of, estimate_tokens
from upskill.core.nouns.trial import NOT_RUN, Arm, End, Errored, Fault, Outcome, Scored, SkillUse, Trial, Usage
