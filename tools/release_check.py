"""What a release needs and a working copy may lack: real addresses, and a version that the changelog describes.

`python -m tools.release_check` lists what is still to be filled in. With `--tag v1.2.3` it fails unless that tag can be
released, and with `--notes v1.2.3` it prints what the changelog says about it. Needs the standard library only.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACEHOLDER = "example.invalid/upskill"
"""Every address that only the publisher can know begins with `https://` and this. The domain can never exist."""
EXPLAINED_IN = ("RELEASING.md", "tools/release_check.py", "tests/repository/unit/test_release_check.py")
"""Files that speak about the placeholder and keep it."""
TAKEN_NAME = "upskill"
"""Another distribution has this name on the public index: docs/explanation/decisions.md."""
_SECTION = re.compile(r"^## \[?([^\]\s]+)\]?(?: - (\S+))?\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfilled:
    """A line that has to be changed before a release."""

    path: str
    line: int
    text: str


def unfilled(root: Path, paths: Iterable[str]) -> list[Unfilled]:
    """The placeholders in these files, in order; and the name of the distribution, as long as it is a taken one."""
    found = []
    for path in paths:
        if path in EXPLAINED_IN or not (root / path).is_file():
            continue
        lines = (root / path).read_text(encoding="utf-8", errors="replace").splitlines()
        found += [
            Unfilled(path=path, line=number, text=line.strip())
            for number, line in enumerate(lines, start=1)
            if PLACEHOLDER in line or (path == "pyproject.toml" and line == f'name = "{TAKEN_NAME}"')
        ]
    return found


def tracked(root: Path) -> list[str]:
    """The files that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.split("\0") if path]


def changelog(text: str) -> dict[str, tuple[str | None, str]]:
    """Per section of the changelog, newest first: its date, if it has one, and what it says."""
    return {name: (date or None, body.strip()) for name, date, body in _SECTION.findall(text)}


def problems_of_tag(root: Path, tag: str) -> list[str]:
    """Why this tag is not that of a release: the version, the changelog. Placeholders are not looked at."""
    source = (root / "src" / "upskill" / "__init__.py").read_text(encoding="utf-8")
    version = re.findall(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    sections = changelog((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    problems = []
    if version != [tag.removeprefix("v")] or not tag.startswith("v"):
        problems.append(f"the tag is {tag} and the version in src/upskill/__init__.py is {', '.join(version)}")
    unreleased = sections.pop("Unreleased", (None, ""))[1]
    if unreleased:
        problems.append("CHANGELOG.md has entries under Unreleased: move them into the section of the version")
    newest, (date, body) = next(iter(sections.items()), ("", (None, "")))
    if newest != tag.removeprefix("v") or not body:
        problems.append(f"the newest section of CHANGELOG.md is {newest or 'missing'}, not {tag.removeprefix('v')}")
    elif date is None or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        problems.append(f"the section {newest} of CHANGELOG.md has no date: `## {newest} - YYYY-MM-DD`")
    return problems


def main(arguments: list[str] | None = None, *, root: Path = ROOT) -> int:
    """List, or with a tag decide."""
    parser = argparse.ArgumentParser(prog="python -m tools.release_check", description=__doc__)
    wish = parser.add_mutually_exclusive_group()
    wish.add_argument("--tag", help="fail unless this tag can be released")
    wish.add_argument("--notes", metavar="TAG", help="print the section of the changelog")
    given = parser.parse_args(arguments)
    if given.notes:
        sections = changelog((root / "CHANGELOG.md").read_text(encoding="utf-8"))
        print(sections[given.notes.removeprefix("v")][1])
        return 0
    left = unfilled(root, tracked(root))
    for place in left:
        print(f"{place.path}:{place.line}: {place.text}")
    problems = problems_of_tag(root, given.tag) if given.tag else []
    if left:
        problems.append(f"{len(left)} lines are to be filled in by the publisher: RELEASING.md says with what")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if given.tag and problems else 0


if __name__ == "__main__":
    sys.exit(main())
