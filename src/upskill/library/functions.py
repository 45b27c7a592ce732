"""The functions of the library. Each does what one command does.

Other settings come from `UPSKILL_*`, the project's file, the user's file and the defaults, as for the commands. While
an event loop is running, as in a notebook, the work runs in a separate thread.
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from upskill.core.cases.split import read_counts
from upskill.core.hub import fetched
from upskill.core.nouns import Evaluation, Trial
from upskill.core.nouns.evaluation import Required
from upskill.core.skills.git_version import GIT_PREFIX
from upskill.errors import UsageError
from upskill.evaluation import evaluate as evaluating
from upskill.evaluation import regrade as regrading
from upskill.evaluation import resume as resuming
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.resume import TypedAgain
from upskill.evaluation.several import evaluate_skills as measure_skills
from upskill.evaluation.several import find_targets, plan_skills
from upskill.generation import generate as generating
from upskill.generation.generated import GenerateResult
from upskill.library.calling import (
    Interruptible,
    OtherSkillsLike,
    PathLike,
    among_of,
    among_words,
    backend_of,
    call,
    previous_of,
    refuse_price,
    resolved,
)
from upskill.library.results import EvaluationResult, GenerationResult, SkillsResult, TraceResult
from upskill.sandbox import Backend
from upskill.traces import read_trace as reading
from upskill.traces.digest import DEFAULT_BUDGET


def evaluate(
    skill: PathLike,
    *,
    models: str | Sequence[str] = (),
    runs: int | Literal["auto"] = "auto",
    tests: PathLike | None = None,
    previous: PathLike | None = None,
    no_baseline: bool = False,
    ceiling: bool = False,
    controls: bool = False,
    min_lift: float | None = None,
    require: Required | None = None,
    fresh: bool = False,
    sandbox: Backend = "bubblewrap",
    among: OtherSkillsLike | Sequence[OtherSkillsLike] = (),
    agent_bin: PathLike | None = None,
    accept_findings: bool = False,
    accept_changed_cases: bool = False,
    yes: bool = False,
    **settings: object,
) -> EvaluationResult:
    """Measure each model with and without the skill, as `upskill eval` does.

    `tests` is a case file. `previous` is an older version of the skill to compare with instead of no skill: a folder,
    or `"git:REF"` for the skill as it was in a commit of its repository. `ceiling` also asks without the skill but with
    the passage of the case in the prompt, `controls` with a placebo and with the skill corrupted. `require="no-harm"`
    asks again for cases that look broken. `among` are other skills that lie beside this one in every arm: folders of
    skills, a number of those that ship with upskill, `"bundled"`. Answers to the same questions are taken from the
    cache, unless `fresh` is given. `resume` continues an interrupted run.
    `agent_bin` is the program of the coding agent that `harness` names, if it is not on the search path. With
    `sandbox="none"` and tools, a skill with dangerous content is refused without `accept_findings`. Cases that
    `"git:REF"` has are measured as they are there, unless `accept_changed_cases` is given.
    """
    older = previous_of(previous)
    order = EvaluationOrder(
        skill=Path(skill),
        case_file=None if tests is None else Path(tests),
        repeats=None if runs == "auto" else runs,
        baseline=not no_baseline,
        ceiling="beside" if ceiling else None,
        controls=controls,
        min_lift=min_lift,
        required=require,
        previous=older.folder,
        previous_revision=older.revision,
        fresh=fresh,
        sandbox=backend_of(sandbox),
        among=among_of(among),
        agent_bin=None if agent_bin is None else Path(agent_bin),
        accept_findings=accept_findings,
        accept_changed_cases=accept_changed_cases,
    )

    def work() -> EvaluationResult:
        chosen = resolved("evaluate()", {**settings, **({"store": False} if fresh else {})}, models=models)
        return _evaluated(
            evaluating.evaluate(
                order,
                settings=chosen,
                progress=Interruptible(),
                confirm=lambda plan: yes or refuse_price(f"price {plan.price}; {plan.minutes}"),
            )
        )

    return call(work)


def resume(
    run: PathLike,
    *,
    skill: PathLike | None = None,
    tests: PathLike | None = None,
    previous: PathLike | None = None,
    sandbox: Backend = "bubblewrap",
    among: OtherSkillsLike | Sequence[OtherSkillsLike] = (),
    agent_bin: PathLike | None = None,
    accept_findings: bool = False,
    accept_changed_cases: bool = False,
    **settings: object,
) -> EvaluationResult:
    """Resume an interrupted or killed run of `evaluate` with its own settings. No answer is paid for twice.

    Caps and `concurrency` may be others. A run that is not known as your own, was moved or was changed is refused until
    you trust it (`upskill trust`), unless all that it asks for is given again.
    """

    def work() -> EvaluationResult:
        older = previous_of(previous)
        typed = TypedAgain(
            settings=resolved("resume()", dict(settings)),
            sandbox=backend_of(sandbox),
            skill=None if skill is None else Path(skill),
            case_file=None if tests is None else Path(tests),
            previous=older.folder,
            previous_revision=older.revision,
            among=among_of(among),
            agent_bin=None if agent_bin is None else Path(agent_bin),
            accept_findings=accept_findings,
            accept_changed_cases=accept_changed_cases,
        )
        return _evaluated(resuming.resume(Path(run), typed=typed, progress=Interruptible()))

    return call(work)


def regrade(run: PathLike, *, tests: PathLike | None = None, sandbox: Backend = "bubblewrap") -> EvaluationResult:
    """Grade the saved answers of a run with the current checks, as `upskill regrade` does. Calls no model.

    Checks that ran without a sandbox need `sandbox="none"` again.
    """

    def work() -> EvaluationResult:
        regraded: list[Trial] = []
        evaluation = regrading.regrade(
            Path(run),
            case_file=None if tests is None else Path(tests),
            sandbox=backend_of(sandbox),
            progress=Interruptible(),
            graded=regraded.append,
        )
        return EvaluationResult(evaluation=evaluation, run=Path(run).resolve(), _regraded=tuple(regraded))

    return call(work)


def generate(
    task: str | None = None,
    *,
    sources: PathLike | Sequence[PathLike] = (),
    examples: Sequence[str] = (),
    teacher: str | None = None,
    models: str | Sequence[str] = (),
    output: PathLike | None = None,
    cases: str | None = None,
    tests: PathLike | None = None,
    no_eval: bool = False,
    revisions: int = 3,
    effort: Literal["low", "high"] = "low",
    feedback: PathLike | None = None,
    retire: Sequence[str] = (),
    description_only: bool = False,
    among: OtherSkillsLike | Sequence[OtherSkillsLike] = (),
    agent_bin: PathLike | None = None,
    anyway: bool = False,
    accept_findings: bool = False,
    sandbox: Backend = "bubblewrap",
    yes: bool = False,
    **settings: object,
) -> GenerationResult:
    """Make or improve a skill from a task, sessions or documents, and measure it, as `upskill generate` does.

    `sources` are the values of `--from`. `teacher` writes the skill; `models` are measured. `cases` is the number of
    practice, held-out and unrelated cases, such as "10+32+4". `output` is the folder of the skill. `feedback` is a file
    of comments on a run in `sources`; `retire` names held-out cases that become practice cases. `description_only`
    revises nothing but the description of a skill, on its trigger prompts, `among` other skills where they are given;
    `agent_bin` is the program of the coding agent then, if it is not on the search path.

    Without `anyway`, `StudentCannotProfit` is raised if no skill can help these models, and no new draft is made for a
    skill that passes every practice case. Without `accept_findings`, a draft with dangerous content raises
    `FindingsRefused`. `resume_generate` continues an interrupted run.
    """
    if effort not in ("low", "high"):
        raise UsageError(f"effort must be low or high, not {effort!r}")
    named = [sources] if isinstance(sources, str | os.PathLike) else sources

    def work() -> GenerationResult:
        more = {
            "teacher": teacher,
            "among": among_words(among),
            "agent_bin": None if agent_bin is None else os.fspath(agent_bin),
            "anyway": anyway or None,
        }
        chosen = resolved("generate()", {**settings, **more}, models=models)
        order = generating.GenerateOrder(
            task=task,
            examples=tuple(examples),
            sources=tuple(fetched(os.fspath(one)) for one in named),
            output=None if output is None else os.fspath(output),
            counts=read_counts(chosen.values.cases if cases is None else cases),
            case_file=None if tests is None else os.fspath(tests),
            evaluate=not no_eval,
            revisions=revisions,
            effort=effort,
            feedback=None if feedback is None else os.fspath(feedback),
            retire=tuple(retire),
            description_only=description_only,
            sandbox=backend_of(sandbox),
        )
        progress = _GenerateProgress()
        return progress.watch(
            lambda: generating.generate(
                order,
                settings=chosen,
                progress=progress,
                confirm=lambda plan: yes or refuse_price("; ".join(line.strip() for line in plan.shares)),
                accept=lambda _found, _draft: accept_findings,
            )
        )

    return call(work)


def resume_generate(
    run: PathLike,
    *,
    sources: PathLike | None = None,
    output: PathLike | None = None,
    plan: PathLike | None = None,
    among: OtherSkillsLike | Sequence[OtherSkillsLike] = (),
    agent_bin: PathLike | None = None,
    anyway: bool = False,
    accept_findings: bool = False,
    sandbox: Backend = "bubblewrap",
    **settings: object,
) -> GenerationResult:
    """Resume a run of `generate` with its own settings. No answer is paid for twice.

    `max_cost` raises its cap; `anyway` and `accept_findings` are as in `generate`. A run that
    is not known as your own is refused until you trust it, as with `resume`.
    """
    progress = _GenerateProgress()

    def work() -> GenerateResult:
        more = {
            "among": among_words(among),
            "agent_bin": None if agent_bin is None else os.fspath(agent_bin),
            "anyway": anyway or None,
        }
        typed = generating.TypedGenerate(
            settings=resolved("resume_generate()", {**settings, **more}),
            sandbox=backend_of(sandbox),
            skill=None if sources is None else Path(sources),
            output=None if output is None else os.fspath(output),
            plan_file=None if plan is None else os.fspath(plan),
        )
        return generating.resume_generate(
            Path(run),
            typed=typed,
            accept=lambda _found, _draft: accept_findings,
            progress=progress,
        )

    return call(lambda: progress.watch(work))


def read_trace(source: PathLike, *, budget: int | None = None) -> TraceResult:
    """Read a session, a folder of sessions, or `last`, as `upskill trace` does. `budget` limits the digest, in tokens.

    Secrets are removed. Calls no model and writes nothing.
    """

    def work() -> TraceResult:
        return TraceResult(
            source=reading.read_trace(
                fetched(os.fspath(source)),
                budget=DEFAULT_BUDGET if budget is None else budget,
                folder=Path.cwd(),
                environment=os.environ,
                now=time.time(),
            )
        )

    return call(work)


def _evaluated(evaluation: Evaluation) -> EvaluationResult:
    """The result; after an interrupt, raises one that says how to resume."""
    if evaluation.interrupted:
        run = Path(evaluation.run).as_posix()
        raise KeyboardInterrupt(f"every answer so far is saved; resume with upskill.resume({run!r})")
    return EvaluationResult(evaluation=evaluation, run=Path(evaluation.run).resolve())


class _GenerateProgress(Interruptible):
    """Remembers the run folder, to name it in an interrupt."""

    run: Path | None = None

    def run_created(self, run: Path) -> None:
        """Remember what can be resumed."""
        self.run = run

    def watch(self, work: Callable[[], GenerateResult]) -> GenerationResult:
        """The result of the work; an interrupt says how to resume it."""
        try:
            generated = work()
        except KeyboardInterrupt:
            if self.run is None:
                raise
            kept = f"every answer so far is saved; resume with upskill.resume_generate({self.run.as_posix()!r})"
            raise KeyboardInterrupt(kept) from None
        measured = generated.evaluation
        return GenerationResult(
            generated=generated,
            run=Path(generated.run).resolve(),
            saved=None if generated.saved is None else Path(generated.saved).resolve(),
            evaluation=None
            if measured is None
            else EvaluationResult(evaluation=measured, run=Path(measured.run).resolve()),
        )


def evaluate_skills(
    skills: PathLike | Sequence[PathLike],
    *,
    models: str | Sequence[str] = (),
    runs: int | Literal["auto"] = "auto",
    previous: str | None = None,
    no_baseline: bool = False,
    ceiling: bool = False,
    controls: bool = False,
    min_lift: float | None = None,
    require: Required | None = None,
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
            controls=controls,
            min_lift=min_lift,
            required=require,
            previous_revision=previous,
            fresh=fresh,
            sandbox=backend_of(sandbox),
            among=among_of(among),
            agent_bin=None if agent_bin is None else Path(agent_bin),
            accept_findings=accept_findings,
            accept_changed_cases=accept_changed_cases,
        )
        progress = Interruptible()
        planned = plan_skills(folders, order, settings=chosen, progress=progress)
        compared = measure_skills(
            planned,
            progress=progress,
            confirm=lambda plan: yes or refuse_price(f"price {plan.price}; {plan.minutes}"),
        )
        if compared.interrupted:
            raise KeyboardInterrupt("every answer so far is saved; call evaluate_skills again, which uses the cache")
        return SkillsResult(compared=compared)

    return call(work)
