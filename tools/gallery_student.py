"""Writes the scripted students of the gallery: `gallery/SKILL/evals/student.yaml`, from the known answers of its cases.

    python -m tools.gallery_student            all skills
    python -m tools.gallery_student --check    exit code 1 if a file is not what would be written

The student has tools and writes the files of an answer one by one. With the skill it does the right thing, except in
the last two cases; without it, it writes a known wrong answer, except in the first case. It shows that the cases can be
run from beginning to end; it says nothing about a skill.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from tools.gallery import GALLERY, KNOWLEDGE, levels, skill_names
from upskill.core.nouns import Answer, Case

RIGHT_WITHOUT, WRONG_WITH = 1, 2
"""How many cases it does right without the skill, and wrong with it."""


def student(skill: str) -> str:
    """The script, as YAML."""
    rules: list[dict[str, Any]] = []
    for level, cases in levels(skill).items():
        if level == KNOWLEDGE:
            continue
        for at, case in enumerate(cases):
            assert case.reference is not None
            assert case.wrong
            without = case.reference if at < RIGHT_WITHOUT else case.wrong[at % len(case.wrong)]
            with_skill = case.wrong[0] if at >= len(cases) - WRONG_WITH else case.reference
            rules += _rules(case, without, arm="baseline")
            rules += _rules(case, with_skill, arm=None)
    head = "# A scripted model with tools, for the cases in levels/: written by `python -m tools.gallery_student`.\n"
    return head + yaml.safe_dump({"rules": rules}, sort_keys=False, allow_unicode=True, width=120)


def _rules(case: Case, answer: Answer, *, arm: str | None) -> Iterator[dict[str, Any]]:
    whose: dict[str, Any] = {"prompt": rf"\A{re.escape(case.prompt)}"} | ({"arm": arm} if arm else {})
    for turn, (path, data) in enumerate(answer.files.items(), 1):
        call = {"tool": "write_file", "arguments": {"path": path, "content": data.decode()}}
        yield {**whose, "turn": turn, "replies": [call]}
    yield {**whose, "replies": [{"text": answer.text or "It is done."}]}


def main(words: Sequence[str] | None = None) -> int:
    """Write them, or check what is there."""
    parser = argparse.ArgumentParser(prog="python -m tools.gallery_student")
    parser.add_argument("--check", action="store_true")
    flags = parser.parse_args(words)
    stale = []
    for skill in skill_names():
        path = GALLERY / skill / "evals" / "student.yaml"
        script = student(skill)
        if flags.check:
            stale += [path] if not path.is_file() or path.read_text(encoding="utf-8") != script else []
        else:
            path.write_text(script, encoding="utf-8")
    for path in stale:
        print(f"{path.relative_to(GALLERY.parent)} is not what `python -m tools.gallery_student` writes")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
