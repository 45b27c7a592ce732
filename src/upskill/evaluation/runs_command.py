"""`upskill runs`, `report` and `regrade`: what past runs found, as a list, as a page, and under changed checks."""

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.core.nouns.text import count, size_words
from upskill.errors import EXIT_DONE, EXIT_FAILED, UsageError
from upskill.evaluation.output import show_result
from upskill.report.formats import FORMATS
from upskill.terminal import options
from upskill.terminal.display import StepProgress
from upskill.terminal.output import (
    confirm,
    console,
    is_interactive,
    print_document,
    print_json,
    print_lines,
    write_file,
)

if TYPE_CHECKING:
    from upskill.core.nouns.evaluation import PastRun
    from upskill.evaluation.past_runs import PrunePlan
    from upskill.evaluation.report import Report
    from upskill.report.formats import Format
    from upskill.sandbox import Backend

NEWEST = 10
"""How many runs are listed."""
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


class _Age(click.ParamType[timedelta]):
    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        found = re.fullmatch(r"(\d{1,6})([hdw])", str(value).strip().lower())
        if found is None:
            self.fail(f"{value!r} is not an age; write 30d, 12h or 4w", param, ctx)
        return timedelta(hours=int(found[1]) * _HOURS[found[2]])


@click.command("runs", cls=options.Grouped)
@click.option(
    "-s",
    "--skill",
    "skills",
    multiple=True,
    metavar="NAME",
    help="Only this skill, with its versions; may be repeated.",
)
@options.students("Only this model; may be repeated.")
@click.option("--looks", metavar="SKILL", help="Show every look at this skill (a name or a folder) and its verdict.")
@click.option("--all", "show_all", is_flag=True, help="List every run, not only the newest 10.")
@click.option(
    "--prune", "older_than", type=_Age(), metavar="AGE", help="Remove runs older than AGE, e.g. 30d, 12h or 4w."
)
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    metavar="N",
    help="Remove all but the newest N runs; with --prune, keep these N.",
)
@options.dry_run("Show which runs would be removed; remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
@click.option("-d", "--dir", "runs_dir", metavar="DIR", help="Where run folders are.  [default: runs]")
@click.option("--csv", metavar="FILE", help="Write a CSV file with one row per run and model; - is stdout.")
@options.JSON
def command(
    skills: tuple[str, ...],
    models: tuple[str, ...],
    looks: str | None,
    show_all: bool,
    older_than: timedelta | None,
    keep: int | None,
    dry_run: bool,
    yes: bool,
    runs_dir: str | None,
    csv: str | None,
    as_json: bool,
) -> int:
    """List past runs and their results, newest first, one row per model.

    Runs in progress, runs that cannot be read, and other folders are never removed.
    """
    from upskill.core.runs.run_summaries import only_with, past_runs

    if looks is not None:
        return _show_looks(looks, as_json=as_json)
    where = Path(options.resolved({"runs_dir": runs_dir}, uses=["runs_dir"]).values.runs_dir)
    runs = list(past_runs(where))
    if older_than is not None or keep is not None:
        if csv is not None:
            raise UsageError("--csv cannot be combined with --prune or --keep")
        if models:
            raise UsageError("-m cannot be combined with --prune or --keep, which remove whole runs", hint="remove -m")
        return _prune(runs, older_than, keep, skills=skills, dry_run=dry_run, yes=yes, as_json=as_json)
    if dry_run or yes:
        raise UsageError("--dry-run and --yes need --prune or --keep")
    if skills or models:
        runs = list(only_with(runs, skills=skills, models=models))
    if csv is not None:
        _write_csv(runs, csv)
    if as_json:
        from upskill.report.runs import run_rows

        print_json({"schema": "upskill.runs/1", "runs": run_rows(runs)})
    elif not runs:
        of = f"of {' or '.join(skills)} " if skills else ""
        on = f"on {' or '.join(models)} " if models else ""
        print_lines(f"no runs {of}{on}in {where}", err=True)
    elif csv is None:
        _show(runs, where, versions=len(skills) == 1, show_all=show_all)
    return EXIT_DONE


def _show_looks(skill: str, *, as_json: bool) -> int:
    from upskill.evaluation.past_runs import looks_of
    from upskill.report.runs import look_rows, show_looks

    found = looks_of(skill, options.resolved({}, uses=["ledger"]).values.ledger)
    if as_json:
        print_json(
            {
                "schema": "upskill.looks/1",
                "skill": found.skill,
                "ledger": found.ledger.as_posix(),
                "looks": look_rows(found.looks),
            }
        )
    elif found.looks:
        show_looks(found.looks, console())
    else:
        print_lines(f"no looks at {found.skill} in {found.ledger}", err=True)
    print_lines(*(f"note: {note}" for note in found.notes), err=True)
    return EXIT_DONE


def _show(runs: "list[PastRun]", where: Path, *, versions: bool, show_all: bool) -> None:
    from upskill.report.runs import show_runs

    listed = runs if show_all else runs[:NEWEST]
    show_runs(listed, console(), versions=versions)
    if len(listed) < len(runs):
        print_lines(f"{len(runs) - len(listed)} older runs are not listed; --all shows them")
    print_lines(f"run folders are in {where.as_posix()}; to see one: upskill report {(where / 'RUN').as_posix()}")


def _write_csv(runs: "list[PastRun]", name: str) -> None:
    from upskill.report.runs import runs_csv

    text = runs_csv(runs)
    if name == "-":
        print_document(text)
        return
    write_file(name, text)


def _prune(
    runs: "list[PastRun]",
    older_than: timedelta | None,
    keep: int | None,
    *,
    skills: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    from datetime import UTC, datetime

    from upskill.evaluation.past_runs import choose, prune
    from upskill.terminal.display import StepProgress

    plan = choose(runs, older_than=older_than, keep=keep, skills=skills, now=datetime.now(UTC))
    if not as_json:
        _show_plan(plan)
    if plan.going and not dry_run:
        _ask(plan, yes=yes)
        with StepProgress() as steps:
            plan = prune(plan, progress=steps)
    if as_json:
        removed = [run.folder for run in plan.going]
        result = {"schema": "upskill.prune/1", "dry_run": dry_run, "removed": removed, "bytes": plan.bytes}
        print_json(result)
    else:
        would = "would remove" if dry_run else "removed"
        print_lines(
            f"{would} {len(plan.going)} of {len(runs)} runs, {size_words(plan.bytes)}{'' if dry_run else ' freed'}"
        )
    for problem in plan.problems:
        print_lines(f"error: {problem}", err=True)
    return EXIT_FAILED if plan.problems else EXIT_DONE


def _show_plan(plan: "PrunePlan") -> None:
    """List on stderr what is about to be removed."""
    for run in plan.going[:NEWEST]:
        print_lines(f"  {run.folder}  {run.day}  {run.status}", err=True)
    if len(plan.going) > NEWEST:
        print_lines(f"  and {len(plan.going) - NEWEST} older runs", err=True)
    for run in plan.at_work:
        print_lines(f"note: {run.folder} is running, or was killed within the last hour; it is not removed", err=True)


def _ask(plan: "PrunePlan", *, yes: bool) -> None:
    """Ask the person on stderr. Raises where there is no terminal."""
    if yes:
        return
    question = f"Remove {count(len(plan.going), 'run')}, {size_words(plan.bytes)}?"
    if not is_interactive():
        raise UsageError(
            "nothing was removed: there is no terminal to confirm on", hint="add --yes to remove without confirmation"
        )
    if not confirm(question):
        raise UsageError("nothing was removed")


@click.command("regrade")
@click.argument("run", type=click.Path(path_type=Path))
@options.CASE_FILE
@options.SANDBOX
@options.JSON
def regrade_command(run: Path, case_file: Path | None, sandbox: "Backend", as_json: bool) -> None:
    """Grade the stored answers of RUN, a run folder, with the current checks. Calls no model."""
    from upskill.evaluation.regrade import regrade
    from upskill.report.json_report import evaluation_json

    with StepProgress() as steps:
        evaluation = regrade(run, case_file=case_file, sandbox=sandbox, progress=steps)
    if as_json:
        print_json(evaluation_json(evaluation))
    else:
        show_result(evaluation, case_file=case_file, own=False, rows_noted=steps.rows_noted)


@click.command("report", cls=options.Grouped)
@click.argument("run", type=click.Path(path_type=Path), required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file to write the report to."
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@options.printed_formats()
@click.option("--history", metavar="SKILL", help="Show all measured versions of a skill.")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Compare with another run, answer by answer.",
)
@click.option(
    "--enough",
    type=click.FloatRange(0, 1),
    default=0.8,
    metavar="RATE",
    help="The pass rate at which a model is good enough.  [default: 0.8]",
)
@click.option(
    "--export",
    type=(click.Choice(["trl"]), click.Path(path_type=Path)),
    metavar="trl FILE",
    help="Write practice answers that passed with the skill as rows to fine-tune a model without it.",
)
def report_command(
    run: Path | None,
    output: Path | None,
    open_it: bool,
    history: str | None,
    against: Path | None,
    enough: float,
    export: tuple[str, Path] | None,
    **formats: object,
) -> None:
    """Show RUN, a run folder, by default the newest one: the result and every pair of answers, in one offline page.

    The page is written to report.html in the run folder. With --markdown it is written only if -o is given.
    """
    folder = Path(options.resolved({}, uses=["runs_dir"]).values.runs_dir)
    printed = [format for format in FORMATS if formats.get(format.name)]
    if export is not None:
        if history is not None or against is not None or printed or output is not None or open_it:
            raise UsageError("--export writes rows and no page; remove the other options")
        _export(run or _newest_run(folder, measured=True), export[1])
        return
    if history is not None:
        if run is not None or against is not None or printed:
            flags = ", ".join(f"--{format.name}" for format in printed) or "--markdown"
            raise UsageError(f"--history uses all runs of a skill; remove RUN, --against and {flags}")
        _history(history, folder, output=output, open_it=open_it)
        return
    if against is not None:
        if printed:
            raise UsageError("--against writes a page; remove --markdown")
        _against(run or _newest_run(folder, measured=True), against, output=output, open_it=open_it)
        return
    newest = run or _newest_run(folder, measured=bool(printed))
    _write_report(newest, output=output, open_it=open_it, printed=printed, enough=enough)


def _export(run: Path, target: Path) -> None:
    from upskill.evaluation.training_rows import export_trl

    written = export_trl(run, target)
    print_lines(f"{count(written.rows, 'row')} in {target}; where each comes from: {written.provenance}")
    print_lines(*(f"left out, {reason}: {number}" for reason, number in written.left_out.items()), err=True)


def _write_report(run: Path, *, output: Path | None, open_it: bool, printed: "list[Format]", enough: float) -> None:
    from upskill.evaluation.report import REPORT_FILE, write_page
    from upskill.report.formats import Result, one_skill

    if output is not None or open_it or not printed:
        target = output or run / REPORT_FILE
        write_page(_page(run, enough=enough), target)
        _say(target, open_it=open_it, quiet=bool(printed))
    if not printed:
        return
    report = _measured(run, enough=enough)
    for format in printed:
        day = report.record.started_at[:10]
        result = Result(skills=one_skill(report.evaluation), trials_of=lambda _: (), day=day, glance=report.glance())
        print_document(format.render(result))


def _page(run: Path, *, enough: float) -> str:
    from upskill.evaluation.offers import READ_TEACHING_REPORT
    from upskill.evaluation.report import read_report

    if _is_generate(run):
        return READ_TEACHING_REPORT.load()(run, enough=enough).page()
    return read_report(run, enough=enough).page()


def _measured(run: Path, *, enough: float) -> "Report":
    """The evaluation of a run; of a `generate` the held-out test with its decision. Raises where there is none."""
    from upskill.core.runs.run_folders import evaluation_in
    from upskill.evaluation.offers import READ_TEACHING_REPORT
    from upskill.evaluation.report import read_report

    found: Report | None = None
    if _is_generate(run):
        found = READ_TEACHING_REPORT.load()(run, enough=enough).measured
    return found or read_report(evaluation_in(run), enough=enough)


def _is_generate(run: Path) -> bool:
    from upskill.core.nouns.skill import TEACHING_FILE

    return (run / TEACHING_FILE).is_file()


def _against(run: Path, other: Path, *, output: Path | None, open_it: bool) -> None:
    from upskill.evaluation.past_runs import page_of_two_runs
    from upskill.evaluation.report import write_page

    target = output or run / f"against-{_file_name(other.resolve().name)}.html"
    write_page(page_of_two_runs(run, other), target)
    _say(target, open_it=open_it)


def _history(skill: str, folder: Path, *, output: Path | None, open_it: bool) -> None:
    from upskill.evaluation.past_runs import read_history
    from upskill.evaluation.report import write_page
    from upskill.report.html import history_page
    from upskill.report.side_by_side import history

    found = history(skill, read_history(skill, folder))
    if found is None:
        raise UsageError(f"{skill}: no run in {folder} measured it with and without the skill")
    target = output or folder / f"history-{_file_name(skill)}.html"
    write_page(history_page(found), target)
    _say(target, open_it=open_it)


def _newest_run(folder: Path, *, measured: bool) -> Path:
    """The newest run; with `measured`, not a `generate` that measured nothing on held-out cases."""
    from upskill.core.runs.run_summaries import past_runs

    wanted = (run for run in past_runs(folder) if not measured or run.results or run.sentence is None)
    newest = next((Path(run.folder) for run in wanted), None)
    if newest is None:
        raise UsageError(
            f"{folder}: there is no run", hint="name a run folder, or start a run: upskill eval SKILL -m MODEL"
        )
    return newest


def _say(target: Path, *, open_it: bool, quiet: bool = False) -> None:
    print_lines(str(target), err=quiet, wrap=False)
    if open_it:
        from upskill.processes import open_in_browser

        if not open_in_browser(target.resolve().as_uri()):
            print_lines(
                f"no browser could be opened; open this file yourself: {target.resolve()}", err=True, wrap=False
            )


def _file_name(name: str) -> str:
    import re

    return re.sub(r"[^A-Za-z0-9]+", "-", name)[:40].strip("-") or "skill"
