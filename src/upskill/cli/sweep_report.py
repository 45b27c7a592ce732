"""`upskill sweep report`: the table over all evaluations of a sweep."""

from pathlib import Path

import click

from upskill.cli import options
from upskill.cli.output import console, print_json, print_lines
from upskill.errors import EXIT_DONE, EXIT_FAILED


@click.command("report")
@click.argument("place", metavar="PLACE")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the files are written.  [default: PLACE/report]",
)
@options.JSON
@options.NO_COLOR
def command(place: str, out: Path | None, as_json: bool, no_color: bool) -> int:
    """Show what the sweep at PLACE found so far: skills by models, with intervals.

    Writes report.md, table.csv, table.parquet and answers.parquet. Recomputes every lift from its answers and exits
    with 3 if one differs. Needs the extra `sweep`.
    """
    from upskill.reporting.sweep_files import table_json
    from upskill.reporting.sweep_table import show_sweep
    from upskill.workflows.sweeping.report import report_sweep

    found = report_sweep(place, out=out)
    if as_json:
        print_json(table_json(found.table, problems=found.problems, folder=found.folder))
    else:
        show_sweep(found.table, console(no_color=no_color), folder=found.folder)
    for problem in found.problems:
        print_lines(f"error: {problem}", err=True)
    return EXIT_FAILED if found.problems else EXIT_DONE
