"""Evidence in words: the card `evidence.md` beside a skill, as Markdown, and one line for a person who
installs or publishes it.

Both follow from the evidence alone, so that anybody can write them again and compare.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from upskill.core.nouns import Verdict
from upskill.core.nouns.case import LABEL_MEANINGS, Label
from upskill.core.nouns.harness import harness_info
from upskill.core.nouns.lift import scope, with_scope
from upskill.core.nouns.skill import CARD_FILE, EVIDENCE_FILE
from upskill.core.nouns.text import count, on_one_line, points, points_range, shortened
from upskill.core.skills.skill_files import read_plain, write_text
from upskill.errors import EngineError, UsageError
from upskill.redaction import redactor_from
from upskill.report.dumbbell import UNICODE, drawn
from upskill.report.glance import GlanceRow, answer, counted_cases, row_of
from upskill.report.markdown import markdown_text
from upskill.report.wording import USUAL, confidence, unique_names
from upskill.share.evidence import (
    FROM_WORST,
    MOST_EVIDENCE_BYTES,
    Evidence,
    EvidenceInvalid,
    EvidenceResult,
    evidence_text,
    read_evidence,
)

_BAR = 21
_SHORT = 12
_USES = {"held-out": "held-out", "learn": "practice", "negative": "unrelated"}
_SCRIPT = "A script answered, not a model, so this shows nothing about any model."


def card_text(evidence: Evidence) -> str:
    """The text of the card. Equal evidence has equal cards."""
    first, *others = headline(evidence)
    blocks = [
        f"# Evidence for {markdown_text(evidence.skill.name)}",
        f"**{markdown_text(first)}**" + "".join(f" {markdown_text(one)}" for one in others),
        *(_table(title, results) for title, results in _comparisons(evidence.results)),
        "## What it rests on",
        _bullets(_rests_on(evidence)),
        "## What it does not show",
        _bullets(_not_shown(evidence)),
        "## Check it",
        "`upskill verify` computes every digest again and says which results still hold for the files that are here:",
        "```sh\nupskill verify .\n```",
        f"Measured version: `{evidence.skill.digest[:_SHORT]}`, {count(len(evidence.skill.files), 'file')}"
        + (f", {evidence.date}" if evidence.date else "")
        + ". Written by `upskill evidence`; the figures are in `evidence.json`.",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def headline(evidence: Evidence) -> tuple[str, ...]:
    """What the evidence says, in one to three sentences: about models before scripts, without a skill before older
    versions."""
    for _, results in _comparisons(evidence.results):
        real = [one for one in results if not one.scripted]
        concluded = [one for one in real if one.verdict != "invalid"]
        subject = "The skill" if results[0].against == "baseline" else "This version"
        return (*_answer(subject, concluded or real or results), *(() if real else (_SCRIPT,)))
    return ("This version was not measured.",)


def _answer(subject: str, results: Sequence[EvidenceResult]) -> list[str]:
    if len({one.model for one in results}) == len(results):
        return answer(subject, _rows(results))
    helped, hurt = (sum(one.verdict == verdict for one in results) for verdict in ("helps", "hurts"))
    harm = f" and hurts in {hurt}" if hurt else ""
    narrow = [one for one in results if one.is_narrow and one.verdict in ("helps", "hurts")]
    which = f"in {len(narrow)} " if len(narrow) < helped + hurt else ""
    here = f", {which}{scope('these cases')} only" if narrow else ""
    return [f"{subject} helps in {helped} of {len(results)} measurements{harm}{here}."]


def _comparisons(results: Sequence[EvidenceResult]) -> list[tuple[str, list[EvidenceResult]]]:
    """The results by what they are compared with, each group with a title."""
    groups: dict[str, list[EvidenceResult]] = {}
    for one in sorted(results, key=lambda one: one.against != "baseline"):
        groups.setdefault(one.against, []).append(one)
    return [
        ("" if against == "baseline" else f"Compared with the older version `{against[:_SHORT]}`:", group)
        for against, group in groups.items()
    ]


def _rows(results: Sequence[EvidenceResult]) -> list[GlanceRow]:
    names = model_names(results)
    cases = [counted_cases(one.report, of=len(one.cases)) for one in results]
    return [row_of(one.report, name=names[one.model], cases=n) for one, n in zip(results, cases, strict=True)]


def model_names(results: Iterable[EvidenceResult]) -> dict[str, str]:
    """A short name for each model; results of the same model share it."""
    models = list(dict.fromkeys(one.model for one in results))
    return dict(zip(models, unique_names(models), strict=True))


def _table(title: str, results: Sequence[EvidenceResult]) -> str:
    before, after = ("Without", "With") if results[0].against == "baseline" else ("Older", "This version")
    rows = table_cells(results)
    lines = [
        *([title, ""] if title else []),
        f"| Model | How | 0% to 100% | {before} | {after} | Lift in points ({USUAL}) | Verdict | Cases | Pairs |",
        "|---|---|---|--:|--:|---|---|--:|--:|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        f"{UNICODE.hollow} {before.lower()}, {UNICODE.filled} {after.lower()}"
        + (f", {UNICODE.unclear * 2} not clear" if any(one.verdict == "undecided" for one in results) else ""),
    ]
    return "\n".join(lines)


def table_cells(results: Sequence[EvidenceResult]) -> list[tuple[str, ...]]:
    """Each result in Markdown: model, how, picture, without, with, lift, verdict, cases and pairs."""
    return [_cells(one, row) for one, row in zip(results, _rows(results), strict=True)]


def _cells(one: EvidenceResult, row: GlanceRow) -> tuple[str, ...]:
    cases = f"{row.cases}" if row.cases == len(one.cases) else f"{row.cases} of {len(one.cases)}"
    return (
        markdown_text(row.name) + (" (a script)" if one.scripted else ""),
        markdown_text(how(one)),
        f"`{drawn(row, _BAR)}`",
        row.before_text,
        row.after_text,
        markdown_text(row.figures),
        f"{row.sign} {row.verdict} {row.reach}".rstrip(),
        cases,
        f"{row.pairs}",
    )


def how(one: EvidenceResult) -> str:
    """How the model worked and how the skill reached it: `chat`, or `codex 0.9, skill offered`."""
    info = harness_info(one.report.harness)
    version = "" if one.agent is None else f" {one.agent}"
    return f"{info.name}{version}, {info.arm_name(one.report.compared[0])}" if info.with_tools else info.name


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _rests_on(evidence: Evidence) -> Iterator[str]:
    names = model_names(evidence.results)
    for one in evidence.results:
        yield f"{markdown_text(f'{names[one.model]}, {how(one)}: ' + '; '.join(_basis(one)))}."
    for version in dict.fromkeys(_versions(one) for one in evidence.results):
        yield f"Measured with {markdown_text(version)}."
    if evidence.left_out:
        runs = count(evidence.left_out, "run")
        yield f"{runs} of this version {_were(evidence.left_out)} left out: unfinished, or damaged."
    if missing := evidence.missing_looks:
        looks = f"{count(len(missing), 'more look')} at this version {_were(len(missing))} recorded, without a run here"
        yield f"{looks}: {_counted(Counter(with_scope(one.verdict, one.claim) for one in missing))}."


def _basis(one: EvidenceResult) -> Iterator[str]:
    """What a reader needs to doubt one result, in few words each."""
    if one.against != "baseline":
        yield f"compared with version {one.against[:_SHORT]}"
    yield one.report.student.model + (" at a server of the author's" if one.own_server else "")
    if one.report.answered_by:
        yield f"answered by {', '.join(one.report.answered_by)}"
    uses = ", ".join(f"{number} {_USES.get(use, use)}" for use, number in one.uses.items())
    most = "" if one.design == "fixed" else "up to "
    yield f"{count(len(one.cases), 'case')}{f' ({uses})' if uses else ''}, {most}{count(one.repeats, 'repeat')} of each"
    if one.others is not None:
        yield f"beside {count(one.others, 'other skill')}" + (" and the agent's bundled skills" if one.bundled else "")
    if one.report.loads is not None:
        yield f"loaded in {one.report.loads.rate:.0%} of answers"
    yield from _counts(one)
    if one.look is not None:
        yield f"look {one.look} at this skill with this model"
    if one.other_looks:
        yield f"other looks at the same cases: {_counted(one.other_looks)}"
    if one.judge is not None:
        yield f"judged by {one.judge}"
    if one.sandbox is not None:
        yield f"sandbox: {one.sandbox}"
    yield one.finished_at[:10]


def _versions(one: EvidenceResult) -> str:
    return ", ".join((*(f"{name} {version}" for name, version in one.versions.items()), one.report.harness))


def _counts(one: EvidenceResult) -> Iterator[str]:
    compared = [arm for arm in one.report.arms if arm.arm in one.report.compared]
    for number, what, many in (
        (0 if one.lift is None else one.lift.dropped, "dropped pair", None),
        (sum(arm.errored for arm in compared), "answer that could not be scored", "answers that could not be scored"),
        (sum(arm.lost for arm in compared), "lost answer", None),
    ):
        if number:
            yield count(number, what, many)


def _counted(verdicts: Mapping[Verdict, int] | Mapping[str, int]) -> str:
    return ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))


def _not_shown(evidence: Evidence) -> Iterator[str]:
    yield "Models, coding agents and cases that are not listed above."
    if any(one.is_narrow and one.verdict in ("helps", "hurts") for one in evidence.results):
        yield "Where the verdict is about these cases: anything about new cases of this kind."
    if any(one.scripted for one in evidence.results):
        yield "Where a script answered: anything about any model."
    labels: tuple[Label, ...] = ("recall", "leaks")
    for label in labels:
        labelled = (lift.cases for one in evidence.results for lift in one.report.label_lifts if lift.label == label)
        if number := max(labelled, default=0):
            few = "shows little" if number == 1 else "show little"
            yield f"{count(number, 'case')} {few}: label `{label}` ({LABEL_MEANINGS[label]})."
    if any(one.look is None for one in evidence.results):
        yield "Where no look is given: how often these cases were used before. No ledger recorded it."
    yield "That the figures are true. Its author can invent what is in `evidence.json`; a signature says who that is."


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


NOT_MEASURED = "not measured"
_LONGEST_NAME = 60


def evidence_line(evidence: Evidence | None) -> str:
    """What was found, for which models: `helps qwen3-4b, +31 points (95% CI +12 to +50)`."""
    results = () if evidence is None else evidence.results
    if not results:
        return NOT_MEASURED
    models = [one for one in results if not one.scripted]
    if not models:
        return f"{NOT_MEASURED} on a model: a script answered"
    if len(models) == 1:
        return _single(models[0])
    claims = ((verdict, about) for verdict in reversed(FROM_WORST) for about in ("new cases", "these cases"))
    return "; ".join(words for verdict, about in claims if (words := _several(verdict, about, models)))


def _single(one: EvidenceResult) -> str:
    figures, interval = "", one.report.interval
    if one.lift is not None and interval is not None:
        ends = points_range(interval.low, interval.high)
        figures = f", {points(one.lift.mean)} points ({confidence(one.lift)} {ends})"
    old = "" if one.against == "baseline" else " compared with an older version"
    said = f"{_verdict_words(one.verdict)} {_short_name(one)}"
    return f"{with_scope(said, _about(one), counted_cases(one.report, of=len(one.cases)))}{figures}{old}"


def _about(one: EvidenceResult) -> str:
    """What is claimed of: without a verdict nothing is."""
    return "new cases" if one.lift is None or one.verdict == "invalid" else one.lift.about


def _several(verdict: Verdict, about: str, models: Sequence[EvidenceResult]) -> str:
    found = list(dict.fromkeys(_short_name(one) for one in models if (one.verdict, _about(one)) == (verdict, about)))
    if not found:
        return ""
    named = ", ".join(found) if len(found) <= 3 else count(len(found), "model")
    return with_scope(f"{_verdict_words(verdict)} {named}", about)


def _short_name(one: EvidenceResult) -> str:
    return shortened(one.model, _LONGEST_NAME)


def _verdict_words(verdict: Verdict) -> str:
    """The verdict, so that the name of a model can follow."""
    return verdict if verdict in ("helps", "hurts") else f"{verdict} for"


def read_card(folder: Path) -> str | None:
    """The text of the card beside a skill, with line feeds only; `None` where there is none."""
    try:
        data = read_plain(folder / CARD_FILE, most=MOST_EVIDENCE_BYTES)
    except FileNotFoundError:
        return None
    except EngineError as error:
        raise EvidenceInvalid(on_one_line(error.message)) from None
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def write_evidence(folder: Path, evidence: Evidence, *, dry_run: bool = False) -> tuple[Path, Path]:
    """Write evidence and card beside a skill, and return where they are. Raises, before anything is written, where one
    is there that upskill did not write."""
    paths = folder / EVIDENCE_FILE, folder / CARD_FILE
    try:
        foreign = paths[1] if read_evidence(folder) is None and read_card(folder) is not None else None
    except EvidenceInvalid:
        foreign = paths[0]
    if foreign is not None:
        raise UsageError(
            on_one_line(f"{foreign}: upskill did not write this file, or it was edited since; it was not overwritten"),
            hint="rename or remove it",
        )
    if not dry_run:
        clean = redactor_from(os.environ).clean_own
        for path, text in zip(paths, (evidence_text(evidence), card_text(evidence)), strict=True):
            write_text(path, clean(text))
    return paths
