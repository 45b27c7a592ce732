"""`upskill init`: an example project that needs no key."""

from pathlib import Path

import click

from upskill.terminal.output import print_lines

NEXT = (
    ("upskill trace session.jsonl", "what it shows"),
    ('upskill generate "release with harbour" --from session.jsonl', "make a skill"),
    ("upskill eval skills/harbour", "measure again"),
    ("upskill report --open", "read answers"),
)
"""The commands of the example, with what each is for."""


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=".")
def command(folder: Path) -> None:
    """Write an example project into DIR, by default the current folder: a recorded session, a teacher, a model,
    settings and a CI workflow. Four commands lead from the session to a skill and its report.

    Existing files are never overwritten. Teacher and model of the example are scripts: no key is needed, and no model
    is called.
    """
    from upskill.core.settings import PROJECT_FILE, user_settings_folder
    from upskill.core.settings.trust import trust_own
    from upskill.setup.init import init_project

    written = init_project(folder)
    trust_own(folder / PROJECT_FILE, user_settings_folder())  # it names scripts, and we wrote it
    width = max(len(one.path) for one in written)
    print_lines(f"Wrote {folder}:" if str(folder) != "." else "Wrote:")
    for one in written:
        print_lines(f"  {one.path:<{width}}  {one.about}")
    print_lines("", "Next:")
    if str(folder) != ".":
        print_lines(f"  cd {_quoted(folder)}")
    wide = max(len(typed) for typed, _ in NEXT)
    print_lines(*(f"  {typed:<{wide}}  # {about}" for typed, about in NEXT), wrap=False)
    print_lines(
        "",
        "Teacher and model are scripts: the result says nothing about any model. README.md shows how to use real ones.",
    )


def _quoted(folder: Path) -> str:
    from shlex import quote

    return quote(str(folder))
