"""The function of the library that evaluates several skills, as `upskill eval` does."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from upskill.core.skills.git_version import GIT_PREFIX
from upskill.errors import UsageError
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.several import evaluate_skills as evaluating
from upskill.evaluation.several import find_targets, plan_skills
from upskill.library.calling import (
    Interruptible,
    OtherSkillsLike,
    PathLike,
    among_of,
    backend_of,
    call,
    refuse_price,
    resolved,
)
from upskill.library.results import SkillsResult
from upskill.sandbox import Backend


def evaluate_skills(
    skills: PathLike | Sequence[PathLike],
    *,
    models: str | Sequence[str] = (),
    runs: int | Literal["auto"] = "auto",
    previous: str | None = None,
    no_baseline: bool = False,
    ceiling: bool = False,
    min_lift: float | None = None,
    fresh: bool = False,
    sandbox: Backend = "bubblewrap",
    among: OtherSkillsLike | Sequence[OtherSkillsLike] = (),
    agent_bin: PathLike | None = None,
    accept_findings: bool = False,
    accept_changed_cases: bool = False,
    yes: bool = False,
    **settings: object,
) -> SkillsResult:
    """Evaluate several skills one after the other, as `upskill eval` does.

    `skills` are folders of a skill, and folders that hold several.

    The caps hold for all together. A skill that cannot be measured does not stop the others. `previous` is `"git:REF"`:
    a skill that is the same there is not measured, and one that is not there is measured against no skill. The other
    arguments are those of `evaluate`.
    """

    def work() -> SkillsResult:
        chosen = resolved("evaluate_skills()", {**settings, **({"store": False} if fresh else {})}, models=models)
        folders = find_targets(map(Path, [skills] if isinstance(skills, str | os.PathLike) else skills))
        if not folders:
            raise UsageError("no skill was named")
        if previous is not None and not previous.startswith(GIT_PREFIX):
            raise UsageError(f'previous must be "git:REF" for several skills, not {previous!r}')
        order = EvaluationOrder(
            skill=folders[0],
            repeats=None if runs == "auto" else runs,
            baseline=not no_baseline,
            ceiling="beside" if ceiling else None,
            min_lift=min_lift,
            previous_revision=previous,
            fresh=fresh,
            sandbox=backend_of(sandbox),
            among=among_of(among),
            agent_bin=None if agent_bin is None else Path(agent_bin),
            accept_findings=accept_findings,
            accept_changed_cases=accept_changed_cases,
        )
        progress = Interruptible()
        planned = plan_skills(folders, order, settings=chosen.values, progress=progress)
        compared = evaluating(
            planned,
            settings=chosen,
            progress=progress,
            confirm=lambda plan: yes or refuse_price(f"price {plan.price}; {plan.minutes}"),
        )
        if compared.interrupted:
            raise KeyboardInterrupt("every answer so far is saved; call evaluate_skills again, which uses the cache")
        return SkillsResult(compared=compared)

    return call(work)
