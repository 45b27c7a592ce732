"""The files of a case as part of a prompt, for a student without tools."""

import re

from upskill.domain import Case


def with_files(case: Case) -> str:
    """The prompt, and after it every file in a fence with its path; the prompt alone where there are no files."""
    if not case.files:
        return case.prompt
    return "\n\n".join([case.prompt, *(_fenced(path, data) for path, data in sorted(case.files.items()))])


def _fenced(path: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"The file {path} holds {len(data):,} bytes that are no text."
    # A fence that is longer than any in the text cannot be closed by it.
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{path}:\n{fence}\n{text.removesuffix(chr(10))}\n{fence}"
