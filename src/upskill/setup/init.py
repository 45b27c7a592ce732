"""Write an example project that needs no key: from a session to a measured skill. Its files are in `example/`."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from upskill.core.new_files import write_new_files


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
    held = files("upskill.setup") / "example"
    write_new_files(folder, {one.path: (held / one.source).read_text(encoding="utf-8") for one in EXAMPLE})
    return EXAMPLE
