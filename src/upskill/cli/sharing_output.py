"""What `install` and `publish` print and ask before they write: the files, the findings, and whether to go on."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from upskill.cli.output import confirm, is_interactive
from upskill.domain.text import count
from upskill.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from upskill.domain.finding import Finding
    from upskill.storage.folder_changes import NewFile


def agree(question: str, *, yes: bool, nothing: str) -> None:
    """Ask the person on stderr, unless they agreed before. Raises where they do not, or are not there."""
    if yes:
        return
    if not is_interactive():
        raise UsageError(f"{nothing}: there is no terminal to confirm on", hint="add --yes")
    if not confirm(question):
        raise UsageError(nothing)


def file_lines(files: "Mapping[str, NewFile]") -> list[str]:
    """Every file with its size; programs are named as such."""
    width = max(map(len, files))
    return [
        f"  {path:<{width}}  {len(file.data):>9,} bytes{', a program' if file.executable else ''}"
        for path, file in sorted(files.items())
    ]


def finding_lines(findings: "Sequence[Finding]") -> list[str]:
    """What a person should read before agreeing. Cautions are only counted."""
    shown = [one.line_for_people for one in findings if one.severity != "caution"]
    if cautions := sum(one.severity == "caution" for one in findings):
        shown.append(f"{count(cautions, 'caution')}: see `upskill lint`")
    return shown or ["findings: none, which does not mean that it is safe"]


def findings_json(findings: "Sequence[Finding]") -> list[dict[str, object]]:
    """The findings of a skill that may be shared: a person accepted its dangers, or it has none."""
    return [asdict(replace(one, accepted=one.severity == "danger")) for one in findings]
