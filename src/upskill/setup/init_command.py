"""`upskill init`: an example project that needs no key."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from upskill import disk
from upskill.errors import UsageError
from upskill.terminal.output import print_lines


def write_new_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write every text under its relative path below `folder`, which may be new.

    Raises `UsageError` if one of the paths exists, or cannot be written. Then the folder is as it was.
    """
    there = [name for name in texts if os.path.lexists(folder / name)]
    if there:
        raise UsageError(
            f"{folder}: nothing was written, because {len(there)} of the files already exist",
            problems=[f"{folder / name} exists" for name in there],
            hint="name a new folder: upskill init DIR",
        )
    if linked := [name for name in texts if not (folder / name).parent.resolve().is_relative_to(folder.resolve())]:
        raise UsageError(
            f"{folder / linked[0]}: a link leads out of {folder}", hint="name a new folder: upskill init DIR"
        )
    written: list[Path] = []
    made: list[Path] = []
    try:
        for name, text in texts.items():
            path = folder / name
            for parent in reversed([one for one in path.parents if not one.exists()]):
                parent.mkdir()
                made.append(parent)
            disk.write_new(path, text)
            written.append(path)
    except OSError as error:
        for path in written:
            disk.remove(path)
        for parent in reversed(made):
            disk.remove_empty(parent)
        raise UsageError(
            f"{folder}: the files cannot be written to it ({error.strerror})", hint="name another folder"
        ) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleFile:
    """A file of the example project."""

    source: str
    path: str
    """Where it is written, relative to the project's folder."""
    about: str


EXAMPLE = (
    ExampleFile(source="README.md", path="README.md", about="what is here, and what to type next"),
    ExampleFile(
        source="session.jsonl", path="session.jsonl", about="a session: a coding agent learns an invented tool"
    ),
    ExampleFile(source="teacher.yaml", path="teacher.yaml", about="a scripted teacher, which writes the skill"),
    ExampleFile(source="small-model.yaml", path="small-model.yaml", about="a scripted model, which is measured"),
    ExampleFile(source="upskill.toml", path="upskill.toml", about="settings: teacher, model and number of cases"),
    ExampleFile(source="local_model.py", path="local_model.py", about="serves a small real model, without a key"),
    ExampleFile(source="skills.yml", path=".github/workflows/skills.yml", about="measures the skill in CI"),
)


def init_project(folder: Path) -> tuple[ExampleFile, ...]:
    """Write the example project into a folder, new or not. Raises `UsageError` rather than touch a file that exists."""
    write_new_files(folder, {one.path: disk.packaged("upskill.setup", f"example/{one.source}") for one in EXAMPLE})
    return EXAMPLE


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
