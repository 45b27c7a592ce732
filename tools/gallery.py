"""Grades the known answers of the gallery: references and other right answers must pass, wrong answers and attempts to
cheat must fail.

    python -m tools.gallery                     all skills, everything; a table and the share that `contains` passes
    python -m tools.gallery sql-migrations -v   one skill; each answer with what the checks saw

Needs `make gallery`. Exit code 1 if an answer was graded otherwise than it must be, or could not be graded.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tools.page_parts import with_part
from upskill.core.cases.files import read_case_file
from upskill.core.checks import GradingContext, check_problems, grade
from upskill.core.checks.contains import find_token
from upskill.core.checks.kind import strings_of
from upskill.core.nouns import Answer, Case, Check
from upskill.sandbox import open_sandbox

ROOT = Path(__file__).parent.parent
GALLERY = ROOT / "gallery"
KNOWLEDGE = "knowledge"
"""The level whose cases are in `evals/evals.json`; every other level is a case file in `evals/levels/`."""
GRADED = "<!-- Graded by `python -m tools.gallery --write`; do not edit. -->"
CONTEXT = GradingContext(open_sandbox=open_sandbox)

Sort = Literal["reference", "right", "wrong", "cheat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownAnswer:
    """An answer to a case of the gallery of which it is known whether it must pass."""

    skill: str
    level: str
    case: Case
    sort: Sort
    what: str
    answer: Answer
    literals: tuple[str, ...]
    """What a `contains` check in place of these checks would look for."""

    @property
    def name(self) -> str:
        return f"{self.skill}/{self.level}/{self.case.id}: {self.what}"

    @property
    def contains_passes(self) -> bool:
        """Whether a `contains` check, by its own rule of whole tokens, would have accepted it."""
        said = "\n".join([self.answer.text, *(data.decode("utf-8", "replace") for data in self.answer.files.values())])
        return all(find_token(literal, said) is not None for literal in self.literals)


@dataclass(frozen=True, kw_only=True, slots=True)
class Graded:
    """What the checks said of a known answer."""

    known: KnownAnswer
    rejected_by: str | None
    """The first check that failed; `None` if all passed."""
    saw: str
    errored: bool = False

    @property
    def as_it_must_be(self) -> bool:
        return not self.errored and (self.rejected_by is None) == (self.known.sort in {"reference", "right"})


def skill_names() -> list[str]:
    """The skills of the gallery."""
    return sorted(found.parent.name for found in GALLERY.glob("*/SKILL.md"))


def level_files(skill: str) -> dict[str, Path]:
    """The case files of a skill, by level."""
    folder = GALLERY / skill / "evals"
    return {KNOWLEDGE: folder / "evals.json", **{path.stem: path for path in sorted(folder.glob("levels/*.json"))}}


def levels(skill: str) -> dict[str, tuple[Case, ...]]:
    """The cases of a skill, by level."""
    return {
        level: read_case_file(path, check_problems=check_problems).cases for level, path in level_files(skill).items()
    }


def known_answers(skill: str) -> Iterator[KnownAnswer]:
    """Every reference, wrong answer, attempt to cheat and other right answer of a skill."""
    searched = _literals(skill)
    by_id: dict[str, tuple[str, Case]] = {}
    for level, cases in levels(skill).items():
        for case in cases:
            by_id[case.id] = (level, case)
            literals = searched.get(case.id) or _expected(case)
            answers: list[tuple[Sort, str, Answer]] = []
            if case.reference is not None:
                answers.append(("reference", "the reference", case.reference))
            answers += [("wrong", f"wrong answer {at}", answer) for at, answer in enumerate(case.wrong, 1)]
            for sort, what, answer in answers:
                yield KnownAnswer(
                    skill=skill, level=level, case=case, sort=sort, what=what, answer=answer, literals=literals
                )
    others: list[tuple[Sort, Any]] = [("cheat", one) for one in _read(skill, "cheats.json").get("cheats", [])]
    others += [("right", one) for one in _read(skill, "also-right.json").get("answers", [])]
    for sort, other in others:
        level, case = by_id[other["case"]]
        files = {path: text.encode() for path, text in other.get("files", {}).items()}
        yield KnownAnswer(
            skill=skill,
            level=level,
            case=case,
            sort=sort,
            what=other["what"],
            answer=Answer(text=other.get("text", ""), files=files),
            literals=searched.get(case.id) or _expected(case),
        )


def grade_known(known: KnownAnswer) -> Graded:
    """Grade one answer, in a fresh sandbox where its checks need one."""
    try:
        results = grade(known.case, known.answer, context=CONTEXT).results
    except Exception as error:  # noqa: BLE001 - a check is foreign code; what it raises is an errored answer
        return Graded(known=known, rejected_by=None, saw=f"{type(error).__name__}: {error}", errored=True)
    failed = next(((check, one) for check, one in zip(known.case.checks, results, strict=True) if not one.passed), None)
    if failed is None:
        return Graded(known=known, rejected_by=None, saw="; ".join(one.saw for one in results))
    check, result = failed
    return Graded(known=known, rejected_by=_check_name(check), saw=result.saw)


def grade_all(answers: Iterable[KnownAnswer]) -> Iterator[Graded]:
    """Grade answers on all processors, in their order."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        yield from pool.map(grade_known, answers)


def table(graded: Sequence[Graded]) -> str:
    """The figures per skill and level, as a table in Markdown."""
    lines = [
        "| skill | level | cases | families | references pass | wrong answers rejected | by | `contains` would pass |",
        "|---|---|---|---|---|---|---|---|",
    ]
    keys = list(dict.fromkeys((one.known.skill, one.known.level) for one in graded))
    for skill, level in keys:
        here = [one for one in graded if (one.known.skill, one.known.level) == (skill, level)]
        references = [one for one in here if one.known.sort == "reference"]
        wrong = [one for one in here if one.known.sort == "wrong"]
        rejected = [one for one in wrong if one.as_it_must_be]
        by = Counter(str(one.rejected_by) for one in rejected)
        lines.append(
            f"| {skill} | {level} | {len({one.known.case.id for one in here})} "
            f"| {len({one.known.case.family for one in here})} "
            f"| {sum(one.as_it_must_be for one in references)} of {len(references)} | {len(rejected)} of {len(wrong)} "
            f"| {', '.join(f'{name} {times}' for name, times in by.most_common())} "
            f"| {sum(one.known.contains_passes for one in wrong)} |"
        )
    return "\n".join(lines)


def summary(graded: Sequence[Graded]) -> str:
    """The figures of all skills together, in sentences."""
    wrong = [one for one in graded if one.known.sort == "wrong"]
    cheats = [one for one in graded if one.known.sort == "cheat"]
    references = [one for one in graded if one.known.sort == "reference"]
    right = [one for one in graded if one.known.sort == "right"]
    also = f"{sum(one.as_it_must_be for one in right)} of {len(right)} other right answers pass. " if right else ""
    passed = sum(one.known.contains_passes for one in wrong)
    share = f", {100 * passed / len(wrong):.0f}%" if wrong else ""
    return (
        f"{sum(one.as_it_must_be for one in references)} of {len(references)} references pass. {also}"
        f"{sum(one.as_it_must_be for one in wrong)} of {len(wrong)} wrong answers are rejected; "
        f"`contains` would have passed {passed} of them{share}. "
        f"{sum(one.as_it_must_be for one in cheats)} of {len(cheats)} attempts to cheat are rejected."
    )


def main(words: Sequence[str] | None = None) -> int:
    """Grade, print."""
    parser = argparse.ArgumentParser(prog="python -m tools.gallery")
    parser.add_argument("skills", nargs="*", help="default: all of them")
    parser.add_argument("--write", type=Path, default=None, help="write the table into this page")
    parser.add_argument("-v", "--verbose", action="store_true", help="each answer, with what the checks saw")
    flags = parser.parse_args(words)
    graded = list(grade_all([known for name in flags.skills or skill_names() for known in known_answers(name)]))
    for one in graded:
        if flags.verbose or not one.as_it_must_be:
            state = "errored" if one.errored else f"fails {one.rejected_by}" if one.rejected_by else "passes"
            print(f"{'ok ' if one.as_it_must_be else 'BAD'} {one.known.name}: {state}: {one.saw[:300]}")
    shown = f"{table(graded)}\n\n{summary(graded)}"
    print(shown)
    if flags.write is not None:
        page = flags.write.read_text(encoding="utf-8")
        flags.write.write_text(with_part(page, GRADED, shown), encoding="utf-8")
    return 0 if graded and all(one.as_it_must_be for one in graded) else 1


def _literals(skill: str) -> dict[str, tuple[str, ...]]:
    found = _read(skill, "literals.json")
    return {case: (value,) if isinstance(value, str) else tuple(value) for case, value in found.items()}


def _expected(case: Case) -> tuple[str, ...]:
    """The words that the `contains` checks of a case ask for, or the text of its reference."""
    words = [text for check in case.checks if check.kind == "contains" for text in strings_of(check.spec)]
    assert words or (case.reference and case.reference.text), f"{case.id}: literals.json does not name its literals"
    return tuple(words) or (case.reference.text,) if case.reference else tuple(words)


def _check_name(check: Check) -> str:
    if check.kind != "python":
        return check.kind
    return str(check.spec["name"]) if isinstance(check.spec, dict) else str(check.spec)


def _read(skill: str, name: str) -> dict[str, Any]:
    path = GALLERY / skill / "evals" / name
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


if __name__ == "__main__":
    sys.exit(main())
