"""`upskill init`: an example project that works at once."""

from pathlib import Path

import click

from upskill.cli.output import print_lines


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=".")
def command(folder: Path) -> None:
    """Write an example project into DIR, by default the current folder: a skill with test cases, a student, settings
    and a CI workflow.

    Nothing that exists is overwritten. No model is called; the student of the example is a script, so that
    `upskill eval skills/harbour` gives a result in seconds, without a key.
    """
    from upskill.workflows.init import init_project

    written = init_project(folder)
    width = max(len(one.path) for one in written)
    print_lines(f"Wrote {folder}:" if str(folder) != "." else "Wrote:")
    for one in written:
        print_lines(f"  {one.path:<{width}}  {one.about}")
    print_lines("", "Next:")
    if str(folder) != ".":
        print_lines(f"  cd {_quoted(folder)}")
    print_lines("  upskill cases check skills/harbour")
    print_lines("  upskill eval skills/harbour")
    print_lines(
        "", "The student is a script and says nothing about any model. README.md says how to go on with a real one."
    )


def _quoted(folder: Path) -> str:
    from shlex import quote

    return quote(str(folder))
