"""The answer in one or two sentences: first what was found, then the best of several models, or why nothing was."""

from collections.abc import Sequence

from upskill.domain import Arm, Evaluation
from upskill.domain.text import count
from upskill.reporting.glance.values import GlanceRow
from upskill.reporting.loading import loading_sentence, loading_sentences

_SUBJECTS: dict[Arm, str] = {"ceiling": "The passage"}


def sentences_of(evaluation: Evaluation, rows: Sequence[GlanceRow], *, decision: str | None = None) -> tuple[str, ...]:
    """The answer first. Undecided and without a verdict are said at the beginning of their sentence.

    A decision stands in place of the first sentence, whose figures it has.
    """
    if not rows:
        return (decision or "Nothing was measured.",)
    found = answer(_subject(evaluation), rows)
    interrupted = ["The run was interrupted, so this is not final."] if evaluation.interrupted else []
    found += _loading(evaluation, rows)
    return (*interrupted, *found) if decision is None else (decision, *interrupted, *found[1:])


def answer(subject: str, rows: Sequence[GlanceRow]) -> list[str]:
    """What was found, in one or two sentences about the subject. There is at least one row."""
    return [_one(subject, rows[0])] if len(rows) == 1 else _several(subject, rows)


def _loading(evaluation: Evaluation, rows: Sequence[GlanceRow]) -> list[str]:
    """What the loads of an offered skill say about the answer, where they say something."""
    reports = evaluation.students
    if len(rows) == 1:
        sentence = loading_sentence(reports[0])
        return [] if sentence is None else [sentence]
    return list(loading_sentences(reports, [row.name for row in rows]))


def _subject(evaluation: Evaluation) -> str:
    measured, against = evaluation.students[0].compared
    return "The new version" if against == "previous" else _SUBJECTS.get(measured, "The skill")


def _one(subject: str, row: GlanceRow) -> str:
    of, here = ("", f" {row.reach}") if row.reach else (f" of {count(row.cases, 'case')}", "")
    change = f"from {row.before_text} to {row.after_text}{of}, {lift_words(row)}"
    match row.verdict:
        case "helps" | "hurts":
            return f"{subject} {row.verdict} {row.name}{here}: {change}."
        case "no difference":
            return f"{subject} makes no difference for {row.name}{here}: {change}."
        case "cheaper":
            tokens = "fewer tokens in a typical case" + ("" if row.tokens is None else f" (mean {row.tokens})")
            return f"{subject} makes {row.name} cheaper and no worse{here}: {tokens}, {change}."
        case "undecided" if row.clarity == "unclear":
            return f"Undecided{here}: {row.name} goes {change}."
        case "not compared":
            return f"Not compared: {row.name} passes {row.after_text} of {count(row.cases, 'case')}; {row.why}."
        case _:
            return f"No verdict: {row.why}."


def lift_words(row: GlanceRow) -> str:
    """The lift and its interval as words: `+89 points (95% CI +35 to +100)`."""
    unit = "point" if row.lift in ("+1", "−1") else "points"
    return f"{row.lift} {unit}" + (f" ({row.confidence} {row.ends})" if row.ends else "")


def _several(subject: str, rows: Sequence[GlanceRow]) -> list[str]:
    said = [f"{_counted(subject, rows)}{_only_here(rows)}."]
    if (helped := _with(rows, "helps")) and (best := _best(helped)) is not None:
        of = count(best.cases, "case")
        said.append(f"Best: {best.name} goes from {best.before_text} to {best.after_text} of {of}.")
    missing = [row for row in rows if row.clarity == "none" and row.verdict == "no verdict"]
    if missing and len(missing) < len(rows):
        said.append(f"No verdict for {_listed(missing)}: {missing[0].why}.")
    return said


def _best(rows: Sequence[GlanceRow]) -> GlanceRow | None:
    known = [row for row in rows if row.before is not None and row.after is not None]
    return max(known, key=lambda row: (row.after or 0) - (row.before or 0), default=None)


def _counted(subject: str, rows: Sequence[GlanceRow]) -> str:
    """How many are helped and how many are hurt; where that is nobody, what else was found."""
    all_of, helped, hurt = len(rows), len(_with(rows, "helps")), len(_with(rows, "hurts"))
    if helped and hurt:
        return f"{subject} helps {helped} of {all_of} models and hurts {hurt}"
    if helped or hurt:
        acts, number = ("helps", helped) if helped else ("hurts", hurt)
        return f"{subject} {acts} {f'all {all_of}' if number == all_of else f'{number} of {all_of}'} models"
    for verdict, said in (("undecided", "Undecided"), ("no verdict", "No verdict"), ("not compared", "Not compared")):
        if len(_with(rows, verdict)) == all_of:
            why = f": {rows[0].why}" if rows[0].why else ""
            return f"{said} for all {all_of} models{why}"
    others = ("undecided", "no difference", "no verdict", "not compared")
    counts = ", ".join(f"{len(found)} {verdict}" for verdict in others if (found := _with(rows, verdict)))
    if cheaper := len(_with(rows, "cheaper")):
        rest = f"; {counts}" if counts else ""
        return f"{subject} makes {cheaper} of {all_of} models cheaper and no worse{rest}"
    return f"No effect shown on {all_of} models: {counts}"


def _only_here(rows: Sequence[GlanceRow]) -> str:
    """For which models an effect is shown on these cases only; empty where that is none."""
    effects = [row for row in rows if row.verdict in ("helps", "hurts", "cheaper")]
    narrow = [row for row in effects if row.reach]
    if not narrow:
        return ""
    reach = narrow[0].reach if len({row.reach for row in narrow}) == 1 else "on these cases"
    return f" {reach}" if len(narrow) == len(effects) else f"; for {_listed(narrow)} only {reach}"


def _with(rows: Sequence[GlanceRow], verdict: str) -> list[GlanceRow]:
    return [row for row in rows if row.verdict == verdict]


def _listed(rows: Sequence[GlanceRow]) -> str:
    names = [row.name for row in rows[:3]] + ([f"{len(rows) - 3} more"] if len(rows) > 3 else [])
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
