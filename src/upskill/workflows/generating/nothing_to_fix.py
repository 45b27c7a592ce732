"""Whether a skill that is to be improved passes every learn case already, so that there is nothing to learn from.

That is asked before any lesson, draft or revision of it is bought from a teacher.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from upskill.domain import Case, Draft, Scored
from upskill.domain.text import count
from upskill.storage.run_folders import RUN_FILE
from upskill.storage.teaching_runs import TeachingFolder
from upskill.workflows.generating.measure import OLD_VERSION, StageMeasurer
from upskill.workflows.generating.plan import GenerateInputs
from upskill.workflows.generating.resuming import resume_command
from upskill.workflows.generating.shown_path import shown_path


@dataclass(frozen=True, kw_only=True, slots=True)
class NothingToFix:
    """A skill that passes every learn case with every student."""

    old: Draft
    reason: str
    """Why it stays, for a person."""
    advice: str
    """What would give the teacher something to learn from, with the commands."""


def nothing_to_fix(
    inputs: GenerateInputs, cases: Sequence[Case], measure: StageMeasurer, folder: TeachingFolder
) -> NothingToFix | None:
    """Ask every student each learn case once, with the skill as it is; `None` where something fails.

    Nobody is asked where a person said what to change, commented on answers or typed `--anyway`, nor in a run that went
    further before it was resumed.
    """
    learn = [case for case in cases if case.use == "learn"]
    old, gathered = inputs.old, inputs.gathered
    asked_for = gathered.wish is not None or bool(gathered.material.comments)
    went_on = (folder.stage("learn-1").path / RUN_FILE).exists()
    if old is None or not learn or asked_for or went_on or inputs.order.anyway:
        return None
    outcomes = [trial.outcome for trial in measure.with_skill(OLD_VERSION, old, learn).trials]
    passed = sum(isinstance(outcome, Scored) and outcome.passed for outcome in outcomes)
    if passed < len(learn) * len(inputs.roles.students):
        return None
    reason = (
        f"it passes {'all ' if len(learn) > 1 else ''}{count(len(learn), 'practice case')}, so nothing is left to fix"
    )
    return NothingToFix(old=old, reason=reason, advice=_advice(inputs, folder.path))


def _advice(inputs: GenerateInputs, run: Path) -> str:
    skill = quote(shown_path(inputs.gathered.skill_folder or Path()))
    ways = [
        f"harder cases (`upskill cases write {skill} -o harder.json`, then `-t harder.json`)",
        "a weaker model (`--eval-model`)",
        f'your own words (`upskill generate "what to change" --from {skill}`)',
        "comments on answers (`--feedback`)",
    ]
    if inputs.drafts:
        ways.append(f"a draft from the new material anyway (`{resume_command(Path(shown_path(run)), '--anyway')}`)")
    return "to continue, try: " + ", ".join(ways)
