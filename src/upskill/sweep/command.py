"""`upskill sweep`: many skills on many models, with one plan, one cap and one table."""

import os
import re
import time
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, UsageError
from upskill.terminal import options
from upskill.terminal.output import confirm, console, is_interactive, print_json, print_lines

if TYPE_CHECKING:
    from upskill.sweep.engines import Engine
    from upskill.sweep.run import Shard, SweepRun

_LINE_SECONDS = 5.0
"""Progress is a line at most this often."""


class _InOrderOfUse(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("sweep", cls=_InOrderOfUse)
def command() -> None:
    """Measure many skills on many models, on one machine or on many.

    `plan` says what it takes, `run` buys it, `status` says how far it is, `report` shows what was found.
    """


@command.command("plan", short_help="Plan a sweep, and say what it takes.")
@click.argument("manifest", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--at", required=True, metavar="PLACE", help="The folder of the sweep: a path, or a URL such as s3://….")
@click.option(
    "-j",
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Estimate the time for N workers.  [default: one per core]",
)
@options.JSON
def plan(manifest: Path, at: str, workers: int | None, as_json: bool) -> int:
    """Plan the sweep that FILE (sweep.toml) describes, and write the plan to PLACE. No model is asked anything.

    An evaluation is one skill on a group of models, as `upskill eval` makes it. It is named by its content: what has a
    result in PLACE and has not changed is not measured again. Servers are asked once what they serve.

    Exit codes: 0 planned; 2 wrong usage, or no skill can be measured.
    """
    from upskill.sweep import words
    from upskill.sweep.budget import forecast
    from upskill.sweep.files import SweepFolder
    from upskill.sweep.plan import plan_sweep
    from upskill.sweep.run import read_standing
    from upskill.terminal.display import StepProgress

    folder = SweepFolder(at)
    with StepProgress() as steps:
        planned = plan_sweep(manifest, folder, progress=steps)
    standing = read_standing(folder)
    expected = forecast(
        [job for job in standing.jobs if job.id not in standing.results],
        caps=planned.plan.caps,
        charged=standing.charged(standing.jobs),
        limits=planned.plan.limits,
        confirm=planned.plan.confirm,
        workers=workers or os.cpu_count() or 1,
        concurrency=planned.concurrency,
    )
    if as_json:
        print_json(words.plan_json(planned, standing, expected, at=folder.place))
        return EXIT_DONE
    print_lines(*words.plan_lines(planned, standing, expected, place=folder.place))
    if expected.left:
        print_lines(f"next, run it: upskill sweep run {folder.place}", err=True, wrap=False)
    return EXIT_DONE


class _ShardType(click.ParamType["Shard"]):
    """A part of a sweep, as 3/64."""

    name = "shard"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> "Shard":
        from upskill.sweep.run import Shard

        if isinstance(value, Shard):
            return value
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", str(value).strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            self.fail(f"{value!r} is not a part; write I/N with I from 1 to N, e.g. 3/64", param, ctx)
        return Shard(number=int(found[1]), of=int(found[2]))


@command.command("run", short_help="Run the evaluations that have no result yet.")
@click.argument("place", metavar="PLACE")
@click.option(
    "-j",
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Evaluations at the same time.  [default: one per CPU]",
)
@click.option(
    "--shard",
    type=_ShardType(),
    metavar="I/N",
    help="Run part I of N, with an Nth of caps and rate limits; run the others elsewhere.",
)
@click.option(
    "--ray",
    "address",
    metavar="ADDRESS",
    help="Run on a Ray cluster: auto (the one this machine is in), HOST:PORT (of its head), or local (a new one).",
)
@click.option("--again", is_flag=True, help="Also try evaluations that ended three times without a result.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@options.JSON
def run(
    place: str,
    workers: int | None,
    shard: "Shard | None",
    address: str | None,
    again: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Run the evaluations of the sweep at PLACE that have no result yet, and confirm the winners.

    May be ended and run again at any time: what was answered is not bought again.
    """
    from upskill.sweep import words
    from upskill.sweep.files import SweepFolder
    from upskill.sweep.run import Shard, prepare_run, read_standing, run_sweep

    folder = SweepFolder(place)
    at = place if folder.objects.folder is None else str(folder.objects.folder.absolute())
    sweep = prepare_run(read_standing(folder), at=at, shard=shard or Shard(), again=again)
    if sweep.waiting:
        print_lines(*words.before_run_lines(sweep), err=True)
        question = words.price_question(sweep)
        if question is not None and not yes:
            _require_agreement(question)
        run_sweep(sweep, folder, open_engine=lambda: _engine(workers, address), progress=_Lines())
    if as_json:
        print_json(words.run_json(sweep, at=folder.place))
    else:
        print_lines(*words.run_lines(sweep))
        print_lines(_next(sweep, place, address), err=True, wrap=False)
    if sweep.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if sweep.failed or sweep.stopped == "unanswered" else EXIT_DONE


def _require_agreement(question: str) -> None:
    """Raise where there is no terminal, or the person does not agree."""
    if not is_interactive():
        raise UsageError(f"{question} Nothing was run.", hint="add --yes to run without confirmation")
    if not confirm(f"{question} Continue?"):
        raise UsageError("nothing was run and nothing was spent")


def _engine(workers: int | None, address: str | None) -> "Engine":
    """Nothing of an attempt is imported before something is to be run."""
    from upskill.sweep.attempt import run_attempt
    from upskill.sweep.engines import LocalEngine, RayEngine

    if address is not None:
        return RayEngine(run_attempt, address=address, workers=workers)
    return LocalEngine(run_attempt, workers=workers or os.cpu_count() or 1)


class _Lines:
    """Progress as lines on stderr, not more often than somebody reads."""

    def __init__(self) -> None:
        self._last = 0.0
        self._deaths = 0

    def note(self, line: str) -> None:
        print_lines(line, err=True)

    def counted(self, run: "SweepRun") -> None:
        from upskill.sweep.words import charged

        if time.monotonic() - self._last >= _LINE_SECONDS or not run.left or run.deaths > self._deaths:
            self._last, self._deaths = time.monotonic(), run.deaths
            done, planned = run.first_evaluations
            again, winners = run.confirmations
            bar = "█" * (20 * done // max(1, planned))
            confirmed = f", {again:,} of {winners:,} confirmations" if winners else ""
            print_lines(
                f"{bar:░<20} {done:,} of {planned:,} evaluations{confirmed}; charged {charged(run)}; {run.last}",
                err=True,
            )


def _next(run: "SweepRun", place: str, address: str | None) -> str:
    """The command that goes on, or the one that shows what was found."""
    if run.stopped is not None or not run.results:
        on = "" if address is None else f" --ray {quote(address)}"
        return f"next, go on: upskill sweep run {quote(place)}{run.shard.words}{on}"
    return f"next, show what was found: upskill sweep report {quote(place)}"


@command.command("status", short_help="Show what is done, what is left, what was charged.")
@click.argument("place", metavar="PLACE")
@options.JSON
def status(place: str, as_json: bool) -> int:
    """Show what of the sweep at PLACE is done, what is left, and what was charged.

    Exit codes: 0 shown; 2 PLACE has no plan.
    """
    from upskill.sweep import words
    from upskill.sweep.files import SweepFolder
    from upskill.sweep.run import read_standing, sweep_status

    folder = SweepFolder(place)
    standing = read_standing(folder)
    found = sweep_status(standing, folder)
    if as_json:
        print_json(words.status_json(found, at=folder.place))
        return EXIT_DONE
    print_lines(*words.status_lines(found, standing.plan, place=folder.place))
    left = len(standing.jobs) > len(standing.results)
    next_, verb = ("go on", "run") if left else ("see the table", "report")
    print_lines(f"next, {next_}: upskill sweep {verb} {folder.place}", err=True, wrap=False)
    return EXIT_DONE


@command.command("report", short_help="Show what was found: skills by models.")
@click.argument("place", metavar="PLACE")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the files are written.  [default: PLACE/report]",
)
@options.JSON
def report(place: str, out: Path | None, as_json: bool) -> int:
    """Show what the sweep at PLACE found so far: skills by models, with intervals.

    Writes report.html, report.md, table.csv, answers.csv.gz, junit.xml, alerts.json and history.jsonl. Recomputes every
    lift from its answers and exits with 3 if one differs.
    """
    from upskill.sweep.report import report_sweep
    from upskill.sweep.table import MOST_ROWS, chosen, show_sweep, table_json

    found = report_sweep(place, out=out)
    if as_json:
        print_json(table_json(found.table, problems=found.problems, folder=found.folder))
    else:
        show_sweep(found.table, console(), folder=found.folder)
        worst = next((row for row in chosen(found.table.rows, MOST_ROWS) if row.answers), None)
        if worst is not None and Path(place).is_dir():
            read = f"upskill report {quote(f'{place}/{worst.answers}')} --open"
            print_lines(f"next, read answers of {worst.skill} on {worst.model}: {read}", err=True, wrap=False)
    for problem in found.problems:
        print_lines(f"error: {problem}", err=True)
    return EXIT_FAILED if found.problems else EXIT_DONE
