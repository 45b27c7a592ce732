"""`upskill eval --together`: measure what several skills change in each other, and print the matrix."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from upskill.evaluation.order import EvaluationOrder
from upskill.sandbox import Backend
from upskill.terminal import options
from upskill.terminal.display import TimedProgress
from upskill.terminal.output import ask_to_spend, console, print_json, print_lines
from upskill.together.picture import show_together, together_json
from upskill.together.together import PAGE_FILE, PreparedTogether, measure_together, prepare_together


def measure_skills_together(
    skills: Sequence[Path],
    settings: Mapping[str, object],
    *,
    repeats: int | None,
    sandbox: Backend,
    accept_findings: bool,
    dry_run: bool,
    as_json: bool,
    yes: bool,
    prompts: bool = False,
) -> int:
    """Measure the skills that were named on their cases, or on their trigger `prompts`; print what came out, and give
    the exit code."""
    chosen = options.resolved(settings)
    order = EvaluationOrder(
        skill=skills[0] if skills else Path(),
        repeats=repeats,
        baseline=False,
        sandbox=sandbox,
        accept_findings=accept_findings,
        agent_bin=options.agent_program(chosen.values),
    )
    if dry_run:
        announce = partial(print_lines, err=True)
        planned = prepare_together(skills, order, chosen, prompts=prompts, announce=announce, needs_keys=False)
        _show_plan(planned, as_json=as_json)
        return EXIT_DONE
    with TimedProgress() as progress:
        prepared = prepare_together(
            skills, order, chosen, prompts=prompts, progress=progress, announce=progress.announce
        )
        result = measure_together(
            prepared,
            settings=chosen,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    if as_json:
        print_json(together_json(result))
    else:
        show_together(result, console())
        print_lines(f"saved in {result.run}: {PAGE_FILE} has the matrix with its intervals", err=True)
        if result.stopped:
            print_lines(
                "next, ask for what is missing: the same command; what was bought is not bought again", err=True
            )
    if result.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if any(one.withheld for one in result.rates) else EXIT_DONE


def _show_plan(prepared: PreparedTogether, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "schema": "upskill.together_plan/1",
                "skills": list(prepared.names),
                "models": list(prepared.students),
                "sets": len(prepared.skills[0].sets),
                **prepared.estimate.as_json(),
                "price_unknown_for": list(prepared.estimate.unknown),
            }
        )
        return
    print_lines(*prepared.lines, *(f"note: {note}" for note in prepared.notes))
