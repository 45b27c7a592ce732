"""The answer that a reader takes from a result at a glance: sentences, a row for each model, the next command.

Made here once, and drawn on the page, on the terminal, in Markdown and in the docs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from upskill.core.nouns import Arm, Evaluation, StudentReport
from upskill.core.nouns.lift import scope
from upskill.core.nouns.plan import NOTHING_MORE, Again
from upskill.core.nouns.text import count
from upskill.report.next_step import NextStep, next_step
from upskill.report.wording import (
    UNREAD,
    USUAL,
    arm_name,
    arm_percents,
    between,
    compared_titles,
    confidence,
    counted_by_arm,
    fault_words,
    is_scripted,
    loading_sentence,
    loading_sentences,
    points,
    unique_names,
)

Clarity = Literal["clear", "unclear", "none"]
"""Whether there is a verdict (`clear`), an undecided one (`unclear`), or nothing to conclude from (`none`)."""

SIGNS = {"helps": "▲", "hurts": "▼", "breaks": "▼", "no difference": "=", "cheaper": "◆", "undecided": "?"}
"""A sign for each verdict, so that none rests on colour alone."""
NO_SIGN = "–"
MOST_NAMED = 3
ASCII_SIGNS = {"▲": "+", "▼": "-", "=": "=", "◆": "$", "?": "?", NO_SIGN: "!"}
IN_ASCII = str.maketrans({"→": "->", "−": "-", "–": "-", "…": "~", "·": ",", "†": "^"})
"""What stands for our other signs on a terminal that cannot show them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GlanceRow:
    """One model, or one version of a skill."""

    model: str
    """The full name, as it was typed."""
    name: str
    """A short name that no other row has."""
    before: float | None = None
    """The pass rate without the skill, over the pairs of the lift; `None` where it says nothing."""
    after: float | None
    before_text: str = "–"
    after_text: str
    """In whole percent. The difference of the two is the lift as it is shown."""
    lift: str | None = None
    ends: str | None = None
    """Ends of the interval that the verdict rests on: `+35 to +100`."""
    confidence: str = USUAL
    supposes: str | None = None
    """What the interval supposes of lost answers, where these decide."""
    low: float | None = None
    high: float | None = None
    """The same ends as numbers."""
    reach: str = ""
    """Empty where the interval is for new cases of this kind; otherwise `on these 12 cases`."""
    verdict: str
    """That of the report; `breaks` where a gate found cases that a version broke."""
    broken: tuple[str, ...] = ()
    """The ids of these cases."""
    among: str | None = None
    """Whether the verdict stays where several models were tested; `None` where that is no question."""
    sign: str
    clarity: Clarity
    pairs: int
    cases: int
    """Those that the pairs are of."""
    tokens: str | None
    why: str | None = None
    """Why nothing can be concluded; `None` where something is."""

    @property
    def interval(self) -> str | None:
        """The ends, and before them the confidence where that is not the usual one."""
        return self.ends if self.ends is None or self.confidence == USUAL else f"{self.confidence} {self.ends}"

    @property
    def figures(self) -> str:
        """The lift with its interval, `+89 (+35 to +100)`; what is said instead where there is none."""
        if self.lift is None:
            return "–"
        return self.lift if self.interval is None else f"{self.lift} ({self.interval})"

    @property
    def rates(self) -> str:
        """Both pass rates: `0% → 89%`."""
        return f"{self.before_text} → {self.after_text}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Glance:
    """A whole result: the answer in words, a row for each model, and the one command to type next."""

    skill: str
    sentences: tuple[str, ...]
    """The answer first."""
    rows: tuple[GlanceRow, ...]
    before: str = "without the skill"
    after: str = "with the skill"
    """What the two dots of a row stand for."""
    scripted: bool
    """Whether scripts answered in place of models."""
    next_step: NextStep | None
    rows_are: str = "model"
    """What a row stands for."""


_NOT_ARRIVED = ("transport", "provider", "rate limit", "timeout")


def rows_of(evaluation: Evaluation) -> tuple[GlanceRow, ...]:
    """A row for each student, in the order of the evaluation."""
    names = unique_names([report.student.name for report in evaluation.students])
    return tuple(
        replace(
            row_of(report, name=name, cases=counted_cases(report, of=evaluation.cases)),
            among=_among(report, len(evaluation.students)),
        )
        for report, name in zip(evaluation.students, names, strict=True)
    )


def counted_cases(report: StudentReport, *, of: int) -> int:
    """The cases that the lift is made of."""
    return report.lifts[0].cases if report.lifts else of


def _among(report: StudentReport, models: int) -> str | None:
    """Each verdict is of one model by itself; among several, one may help by chance."""
    if report.holds_among is None or models < 2 or report.verdict != "helps":
        return None
    if report.holds_among:
        return f"also after correction for testing {models} models"
    return f"but not after correction for testing {models} models"


def row_of(report: StudentReport, *, name: str, cases: int) -> GlanceRow:
    """One student. Where there is no verdict there are no figures either, and the row says why."""
    lift = report.lifts[0] if report.lifts else None
    clarity = _clarity(report)
    if clarity == "none":
        return _empty(report, name=name, cases=cases)
    shown = arm_percents(report)
    measured, against = report.compared
    interval = report.interval
    return GlanceRow(
        model=report.student.name,
        name=name,
        before=report.rate(against),
        after=report.rate(measured),
        before_text=shown.get(against, "–"),
        after_text=shown.get(measured, "–"),
        lift=None if lift is None else points(lift.mean),
        ends=None if interval is None else between(interval),
        confidence=USUAL if lift is None else confidence(lift),
        supposes=None if lift is None else lift.supposes,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        reach=scope(None if lift is None else lift.about, cases),
        verdict=(verdict := "breaks" if report.broken else report.verdict or "not compared"),
        broken=tuple(one.case_id for one in report.broken),
        sign=SIGNS.get(verdict, NO_SIGN),
        clarity=clarity,
        pairs=0 if lift is None else lift.pairs,
        cases=cases,
        tokens=_tokens(report),
    )


def _empty(report: StudentReport, *, name: str, cases: int) -> GlanceRow:
    """A student without a verdict. Only what was not compared keeps the one rate that it has."""
    compared = report.verdict is not None
    after = None if compared else report.rate(report.compared[0])
    return GlanceRow(
        model=report.student.name,
        name=name,
        after=after,
        after_text="–" if after is None else arm_percents(report)[report.compared[0]],
        verdict="no verdict" if compared else "not compared",
        sign=NO_SIGN,
        clarity="none",
        pairs=report.lifts[0].pairs if report.lifts else 0,
        cases=cases,
        tokens=None if compared else _tokens(report),
        why=why_none(report),
    )


def why_none(report: StudentReport) -> str:
    """Why there is no verdict, from what was counted."""
    if report.verdict is None:
        return "there are no answers without the skill"
    if report.verdict == "undecided":
        return "no pair was complete"
    if report.unread_call is not None:
        return f"{UNREAD}, such as: {report.unread_call}"
    asked = sum(arm.trials + arm.errored for arm in report.arms)
    errored = sum(arm.errored for arm in report.arms)
    if report.end == "endpoint down":
        return f"the server stopped answering after {count(asked - errored, 'answer')}"
    if errored:
        return f"{errored:,} of {count(asked, 'answer')} {_fault(report)}"
    for what, counts in (
        ("answers were lost", [arm.lost for arm in report.arms]),
        ("requests were refused", [arm.refused for arm in report.arms]),
    ):
        if any(counts):
            names = [arm_name(arm.arm, report.harness) for arm in report.arms]
            return f"{what}: {counted_by_arm(zip(names, counts, strict=True))}"
    return "no pair was complete" if not report.lifts else "too few pairs were complete"


def _fault(report: StudentReport) -> str:
    """What became of the answers that errored, and of what the most of them did."""
    faults = [fault for arm in report.arms for fault in arm.faults]
    if not faults:
        return "could not be counted"
    name = max(faults, key=lambda fault: fault[1])[0]
    became = "did not arrive" if name in _NOT_ARRIVED else "could not be counted"
    return f"{became}: {fault_words(name)}"


def _clarity(report: StudentReport) -> Clarity:
    if report.verdict in (None, "invalid") or not report.lifts:
        return "none"
    return "unclear" if report.verdict == "undecided" else "clear"


def _tokens(report: StudentReport) -> str | None:
    """Mean tokens per answer, from the arm measured against to the measured one; `None` where one is unknown."""
    arms = [report.arm(arm) for arm in reversed(report.compared)]
    known = [arm.tokens for arm in arms if arm is not None]
    if not known or None in known:
        return None
    return " → ".join(f"{tokens:,.0f}" for tokens in known if tokens is not None)


_SUBJECTS: dict[Arm, str] = {"ceiling": "The passage"}


def sentences_of(evaluation: Evaluation, rows: Sequence[GlanceRow], *, decision: str | None = None) -> tuple[str, ...]:
    """The answer first. Undecided and without a verdict are said at the beginning of their sentence.

    A decision stands in place of the first sentence, whose figures it has.
    """
    if not rows:
        return (decision or "Nothing was measured.",)
    found = answer(_subject(evaluation), rows)
    interrupted = ["The run was interrupted, so this is not final."] if evaluation.interrupted else []
    found += [*_warning(evaluation, rows), *_loading(evaluation, rows)]
    return (*interrupted, *found) if decision is None else (decision, *interrupted, *found[1:])


def answer(subject: str, rows: Sequence[GlanceRow]) -> list[str]:
    """What was found, in one or two sentences about the subject. There is at least one row."""
    return [_one(subject, rows[0])] if len(rows) == 1 else _several(subject, rows)


def _warning(evaluation: Evaluation, rows: Sequence[GlanceRow]) -> list[str]:
    """With which models the skill should not be used: it costs tokens and changes nothing."""
    against = [row for row, one in zip(rows, evaluation.students, strict=True) if _is_no_use(one)]
    if not against:
        return []
    if len(rows) > 1:
        return [f"Do not use it with {_listed(against)}: it costs tokens and changes nothing there."]
    return [f"Do not use it with this model: it costs tokens ({rows[0].tokens} per answer) and changes nothing."]


def _is_no_use(report: StudentReport) -> bool:
    measured, against = (report.arm(arm) for arm in report.compared)
    if report.compared[1] != "baseline" or report.compared[0] == "ceiling" or measured is None or against is None:
        return False
    dearer = measured.tokens is not None and against.tokens is not None and measured.tokens > against.tokens
    return report.verdict == "no difference" and dearer


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
        case "breaks":
            change = f"from {row.before_text} to {row.after_text}, {lift_words(row)}"
            return f"{subject} {broken_words(row)} for {row.name}: {change}."
        case "helps" | "hurts":
            return f"{subject} {row.verdict} {row.name}{here}: {change}."
        case "no difference":
            return f"{subject} makes no difference for {row.name}{here}: {change}."
        case "cheaper":
            tokens = "fewer tokens in a typical case" + ("" if row.tokens is None else f" (mean {row.tokens})")
            return f"{subject} makes {row.name} cheaper and no worse{here}: {tokens}, {change}."
        case "undecided" if row.clarity == "unclear":
            because = " because of lost answers" if row.supposes else ""
            return f"Undecided{because}{here}: {row.name} goes {change}."
        case "not compared":
            return f"Not compared: {row.name} passes {row.after_text} of {count(row.cases, 'case')}; {row.why}."
        case _:
            return f"No verdict: {row.why}."


def broken_words(row: GlanceRow) -> str:
    """How many of the cases are broken, and which."""
    named = ", ".join(row.broken[:MOST_NAMED])
    more = f" and {len(row.broken) - MOST_NAMED} more" if len(row.broken) > MOST_NAMED else ""
    return f"breaks {len(row.broken)} of {count(row.cases, 'case')} ({named}{more})"


def lift_words(row: GlanceRow) -> str:
    """The lift and its interval as words: `+89 points (95% CI +35 to +100)`."""
    unit = "point" if row.lift in ("+1", "−1") else "points"
    supposed = f" if {row.supposes}" if row.supposes else ""
    return f"{row.lift} {unit}" + (f" ({row.confidence} {row.ends}{supposed})" if row.ends else "")


def _several(subject: str, rows: Sequence[GlanceRow]) -> list[str]:
    said = [f"{_counted(subject, rows)}{_only_here(rows)}."]
    if (helped := _with(rows, "helps")) and (best := _best(helped)) is not None:
        of = count(best.cases, "case")
        said.append(f"Best: {best.name} goes from {best.before_text} to {best.after_text} of {of}.")
    missing = [row for row in rows if row.clarity == "none" and row.verdict == "no verdict"]
    if missing and len(missing) < len(rows):
        said.append(f"No verdict for {_listed(missing)}: {missing[0].why}.")
    if lossy := [row for row in rows if row.supposes]:
        said.append(f"Lost answers decide for {_listed(lossy)}: its interval is as if {lossy[0].supposes}.")
    return said


def _best(rows: Sequence[GlanceRow]) -> GlanceRow | None:
    known = [row for row in rows if row.before is not None and row.after is not None]
    return max(known, key=lambda row: (row.after or 0) - (row.before or 0), default=None)


def _counted(subject: str, rows: Sequence[GlanceRow]) -> str:
    """How many are helped and how many are hurt; where that is nobody, what else was found."""
    all_of, helped, hurt = len(rows), len(_with(rows, "helps")), len(_with(rows, "hurts"))
    if broken := _with(rows, "breaks"):
        ids = len({case_id for row in broken for case_id in row.broken})
        return f"{subject} breaks {count(ids, 'case')} for {len(broken)} of {all_of} models"
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


def glance(
    evaluation: Evaluation,
    *,
    skill: str | None = None,
    tests: str | None = None,
    resume: str | None = None,
    again: Again | None = NOTHING_MORE,
    decision: str | None = None,
) -> Glance:
    """What an evaluation found. `decision` is a sentence of a `generate` that comes before everything else.

    `skill` is the folder as it was typed, `tests` the file of the cases where they are not the skill's own, `resume`
    the command that resumes the run, where they are known, and `again` what else was typed for it.
    """
    rows = rows_of(evaluation)
    before, after = compared_titles(evaluation)
    return Glance(
        skill=evaluation.skill.name,
        sentences=sentences_of(evaluation, rows, decision=decision),
        rows=rows,
        before=before,
        after=after,
        scripted=bool(rows) and all(is_scripted(report.student.model) for report in evaluation.students),
        next_step=next_step(evaluation, skill=skill, tests=tests, resume=resume, again=again),
    )


def glance_of_nothing(skill: str, decision: str, next_step: NextStep | None) -> Glance:
    """A `generate` that measured nothing: its decision, and no rows."""
    return Glance(
        skill=skill,
        sentences=(decision,),
        rows=(),
        scripted=False,
        next_step=next_step,
    )
