"""`upskill report`: a run as one page, or as a block of Markdown."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.errors import UsageError
from upskill.report.formats import FORMATS
from upskill.terminal import options
from upskill.terminal.output import print_document, print_lines

if TYPE_CHECKING:
    from upskill.evaluation.report import Report
    from upskill.report.formats import Format


@click.command("report")
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
def command(
    run: Path | None,
    output: Path | None,
    open_it: bool,
    history: str | None,
    against: Path | None,
    enough: float,
    **formats: object,
) -> None:
    """Show RUN, a run folder, by default the newest one: the result and every pair of answers, in one offline page.

    The page is written to report.html in the run folder. With --markdown it is written only if -o is given.
    """
    folder = Path(options.resolved({}, uses=["runs_dir"]).values.runs_dir)
    printed = [format for format in FORMATS if formats.get(format.name)]
    if history is not None:
        if run is not None or against is not None or printed:
            flags = ", ".join(f"--{format.name}" for format in printed) or "--markdown"
            raise UsageError(f"--history uses all runs of a skill; remove RUN, --against and {flags}")
        _history(history, folder, output=output, open_it=open_it)
        return
    if against is not None:
        if printed:
            raise UsageError("--against writes a page; remove --markdown")
        _against(run or _newest(folder, measured=True), against, output=output, open_it=open_it)
        return
    newest = run or _newest(folder, measured=bool(printed))
    _report(newest, output=output, open_it=open_it, printed=printed, enough=enough)


def _report(run: Path, *, output: Path | None, open_it: bool, printed: "list[Format]", enough: float) -> None:
    from upskill.evaluation.report import REPORT_FILE, write_page
    from upskill.report.formats import Result

    if output is not None or open_it or not printed:
        target = output or run / REPORT_FILE
        write_page(_page(run, enough=enough), target)
        _say(target, open_it=open_it, quiet=bool(printed))
    if not printed:
        return
    report = _measured(run, enough=enough)
    for format in printed:
        day = report.record.started_at[:10]
        print_document(format.render(Result(evaluation=report.evaluation, day=day, glance=report.glance())))


def _page(run: Path, *, enough: float) -> str:
    from upskill.core.by_name import by_name
    from upskill.evaluation.report import read_report

    read = by_name("read_generate_report") if _is_generate(run) else read_report
    page: str = read(run, enough=enough).page()
    return page


def _measured(run: Path, *, enough: float) -> "Report":
    """The evaluation of a run; of a `generate` the held-out test with its decision. Raises where there is none."""
    from upskill.core.by_name import by_name
    from upskill.core.runs.run_folders import evaluation_in
    from upskill.evaluation.report import read_report

    found: Report | None = None
    if _is_generate(run):
        found = by_name("read_generate_report")(run, enough=enough).measured
    return found or read_report(evaluation_in(run), enough=enough)


def _is_generate(run: Path) -> bool:
    from upskill.core.runs.run_summaries import TEACHING_FILE

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


def _newest(folder: Path, *, measured: bool) -> Path:
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
