"""`upskill slim`: parse flags, call the workflow, print the result."""

from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_NOT_SHOWN
from upskill.terminal import options
from upskill.terminal.display import TimedProgress
from upskill.terminal.output import ask_to_spend, console, print_json, print_lines

if TYPE_CHECKING:
    from upskill.slim.slim import PreparedSlim, Verdict


@click.command("slim", cls=options.Grouped)
@click.argument("skill", type=click.Path(path_type=Path))
@options.students("A model that the text is to serve; may be repeated.")
@options.BASE_URL
@options.CASE_FILE
@click.option("--explain", is_flag=True, help="Print what each line and section is worth; change no skill.")
@click.option("--drop-untested", is_flag=True, help="Also cut lines that no practice case is about.")
@click.option("--per-model", is_flag=True, help="Write one text per model to the run folder; SKILL.md stays.")
@options.max_cost("Stop at this cost.  [default: 5]")
@options.MAX_CALLS
@options.concurrency(per="model")
@options.dry_run("Show the calls and the price; call no model.")
@options.fresh("Use no cached answers, and resume no earlier run.")
@options.JSON
@options.YES
def command(
    skill: Path,
    case_file: Path | None,
    explain: bool,
    drop_untested: bool,
    per_model: bool,
    dry_run: bool,
    as_json: bool,
    yes: bool,
    **settings: object,
) -> int:
    """Find the lines of SKILL that answers need, and cut the others.

    At least 30 practice cases are asked with versions of the skill that lack some lines. The shorter text then replaces
    SKILL.md only if it is shown to lose less than 10 points on at least 30 held-out cases. A line that no practice case
    is about stays; `<!-- keep -->` pins a line. Try --explain first: it changes nothing. The same command again resumes
    a run that did not finish.

    Exit codes: 0 done; 1 a loss of 10 points is not excluded, so SKILL.md stays; 2 wrong usage; 3 failed or stopped;
    130 interrupted.
    """
    from upskill.slim.picture import show_slimming, slim_json
    from upskill.slim.slim import SlimOrder, prepare_slim, slim

    chosen = options.resolved(settings)
    order = SlimOrder(
        skill=skill, case_file=case_file, drop_untested=drop_untested, per_model=per_model, explain=explain
    )
    if dry_run:
        _show_plan(
            prepare_slim(order, chosen, announce=partial(print_lines, err=True), needs_keys=False), as_json=as_json
        )
        return EXIT_DONE
    with TimedProgress() as progress:
        result = slim(
            order,
            settings=chosen,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    if as_json:
        print_json(slim_json(result))
    else:
        show_slimming(result, console())
        print_lines(f"saved in {result.run}: slim.html is the picture", err=True)
        if explain:
            print_lines("next, cut from the same answers, and prove: the same command without --explain", err=True)
        elif result.texts and result.texts[0].file is not None:
            run = quote(result.run)
            difference = f"diff {run}/SKILL.full.md {run}/{result.texts[0].file}"
            print_lines(f"next, see what was cut: {difference}", err=True, wrap=False)
    return _exit_code(result.verdict)


def _exit_code(verdict: "Verdict") -> int:
    if verdict == "stopped":
        return EXIT_FAILED
    return EXIT_NOT_SHOWN if verdict in ("not shown", "changed meanwhile") else EXIT_DONE


def _show_plan(prepared: "PreparedSlim", *, as_json: bool) -> None:
    if as_json:
        practice, held_out = prepared.cases
        print_json(
            {
                "schema": "upskill.slim_plan/1",
                "skill": prepared.skill.name,
                "models": list(prepared.models),
                "lines": len(prepared.document.cuttable),
                "cases": {"practice": len(practice), "held_out": len(held_out)},
                **prepared.estimate.as_json(),
                "price_unknown_for": list(prepared.estimate.unknown),
            }
        )
        return
    print_lines(*prepared.lines, *(f"note: {note}" for note in prepared.notes))
