"""The state of every case: rejected, unproven or qualified, with the reason and what to change."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from threading import Event

from upskill.core.cases.examination import CheckCrashed, CheckTooSlow, Examination, leaked_values, leaks, recalls
from upskill.core.cases.mutants import (
    ECHO,
    EMPTY,
    MOST_PER_WAY,
    NOTHING_DONE,
    REFUSAL,
    REFUSAL_ABOUT,
    WrongAnswer,
    content_key,
    mutants,
    non_answers,
    truncations,
)
from upskill.core.checks import KINDS, GradingContext
from upskill.core.checks.contains import find_token
from upskill.core.nouns import Answer, Case, Label, Qualification, Reason, Skill, State, digest_of
from upskill.core.nouns.answer import answer_digest
from upskill.core.nouns.case import LABELS, turn_name
from upskill.core.nouns.text import shortened
from upskill.core.progress import SILENT, Progress

VERSION = 1
"""Changes with whatever changes a state or a label."""

LEAST_CAUGHT = 0.8
"""The share of mechanical mutants that must fail."""

_WEAKEST_FIRST: tuple[State, ...] = ("rejected", "unproven", "qualified")
MOST_OTHERS = 100
MOST_OTHERS_IN_SANDBOX = 8
MOST_MUTANTS_PER_WAY_IN_SANDBOX = 4
MOST_TRUNCATIONS_IN_SANDBOX = 6
MOST_WRONG = 20
MOST_TOO_SLOW = 5
"""After so many cases that take too long, the cases after them are rejected without a look."""
MOST_REMEMBERED = 10_000

_remembered: dict[str, Qualification] = {}
"""Results of this process, by the digest of all that they rest on: an evaluation asks again after `cases check`."""


def qualify(
    cases: Sequence[Case],
    skill: Skill,
    *,
    context: GradingContext = GradingContext(),  # noqa: B008 - frozen
    progress: Progress = SILENT,
) -> tuple[Qualification, ...]:
    """What is known of each case, in the order of the cases. Calls no model unless the grading context has a judge.

    Each turn of a conversation that has checks is qualified as a case is; the answers to earlier turns are wrong.
    """
    parts = [part for case in cases for part in case.parts if part.checks or not case.turns]
    known = iter(_qualify_each(parts, skill, context=context, progress=progress))
    return tuple(_of_turns(case, known) if case.turns else next(known) for case in cases)


def _of_turns(case: Case, known: Iterator[Qualification]) -> Qualification:
    """A conversation is what its weakest turn is, and what applies to one turn is said of that turn."""
    turns = {number: next(known) for number, turn in enumerate(case.turns, 1) if turn.checks}
    states = {one.state for one in turns.values()}
    labels = {label for one in turns.values() for label in one.labels}
    if not all("recall" in one.labels for one in turns.values()):
        labels.discard("recall")
    return Qualification(
        case_id=case.id,
        state=next((state for state in _WEAKEST_FIRST if state in states), "unproven"),
        labels=tuple(label for label in LABELS if label in labels),
        reasons=tuple(
            replace(reason, saw=f"{turn_name(number, case.turns)}: {reason.saw}")
            for number, one in turns.items()
            for reason in one.reasons
        ),
        mutants=sum(one.mutants for one in turns.values()),
        slipped=tuple(
            f"{turn_name(number, case.turns)}: {what}" for number, one in turns.items() for what in one.slipped
        ),
    )


def _qualify_each(
    cases: Sequence[Case], skill: Skill, *, context: GradingContext, progress: Progress
) -> tuple[Qualification, ...]:
    keys = _keys(cases, skill, context)
    found = {key: _remembered[key] for key in keys if key in _remembered}
    stop = Event()
    new = {
        key: Examination(case, context=context, stop=stop)
        for key, case in zip(keys, cases, strict=True)
        if key not in found
    }
    too_slow: list[str] = []

    def known_of(key: str) -> Qualification:
        if len(too_slow) >= MOST_TOO_SLOW:
            saw = f"not checked: {MOST_TOO_SLOW} other cases take too long"
            return _rejected(new[key].case, Reason(saw=saw, change="change those first, then check again"))
        try:
            return _qualify(new[key], cases, skill)
        except CheckTooSlow as slow:
            too_slow.append(key)
            change = "simplify the pattern or the schema, or shorten the reference"
            return _rejected(new[key].case, Reason(saw=str(slow), change=change))

    for key, one in new.items():
        if not one.is_slow:
            found[key] = known_of(key)
            progress.step("cases checked", len(found), len(cases))
    if slow := [key for key, one in new.items() if one.is_slow]:
        with ThreadPoolExecutor(max_workers=min(len(slow), os.cpu_count() or 1)) as pool:
            try:
                for key, known in zip(slow, pool.map(known_of, slow), strict=True):
                    found[key] = known
                    progress.step("cases checked", len(found), len(cases))
            except BaseException:
                stop.set()
                raise
    if len(_remembered) + len(new) > MOST_REMEMBERED:
        _remembered.clear()
    if len(too_slow) < MOST_TOO_SLOW:
        _remembered.update(found)
    return tuple(replace(found[key], case_id=case.id) for key, case in zip(keys, cases, strict=True))


def _qualify(examination: Examination, cases: Sequence[Case], skill: Skill) -> Qualification:
    case = examination.case
    # Where programs run, one reason to reject is enough.
    rejections = list(islice(_rejections(examination, cases), 1 if examination.is_slow else None))
    # After that, because patterns that take too long have ended it.
    found: dict[Label, bool] = {"recall": recalls(case, skill), "leaks": leaks(case)}
    labels = tuple(label for label, applies in found.items() if applies)
    if rejections:
        return _rejected(case, *rejections, labels=labels)
    proof = _prove(examination)
    notes = (*_missing_notes(examination), *_leak_notes(case, labels))
    return replace(proof, labels=labels, reasons=(*proof.reasons, *notes))


def _rejected(case: Case, *reasons: Reason, labels: tuple[Label, ...] = ()) -> Qualification:
    return Qualification(case_id=case.id, state="rejected", labels=labels, reasons=reasons)


def _rejections(examination: Examination, cases: Sequence[Case]) -> Iterator[Reason]:
    if not (examination.can_grade or examination.asks_for_the_way):
        return
    if not examination.missing:
        # A check that cannot be run here might be the one that fails them.
        passing = list(_non_answers_that_pass(examination))
        yield from passing
        if passing and examination.passes(NOTHING_DONE):
            # Nothing passes, so anything does.
            return
    if not examination.can_grade:
        return
    yield from _reference_problems(examination)
    if not (examination.missing or examination.asks_for_the_way):
        yield from _others_that_pass(examination, cases)


def _non_answers_that_pass(examination: Examination) -> Iterator[Reason]:
    case = examination.case
    told: set[str] = set()
    for name, answer in non_answers(case):
        # A refusal that repeats the prompt passes with it: once is enough.
        if name in told or (name == REFUSAL_ABOUT and told) or not examination.passes(answer):
            continue
        told.add(name)
        said = f" ({_shown(answer.text)})" if name == REFUSAL else ""
        yield Reason(saw=f"{name} passes{said}", change=_change_for(name, case))
        if name == EMPTY:
            # The other non-answers would only repeat it.
            return


def _change_for(name: str, case: Case) -> str:
    kinds = [KINDS[check.kind] for check in case.checks]
    if name in (ECHO, REFUSAL_ABOUT):
        return "remove the expected text from the prompt, or expect a form that is not in the prompt"
    if name == REFUSAL:
        return "expect what only a right answer contains: a value, a name, a command; not words of a refusal"
    if kinds and all(kind.only_forbids for kind in kinds):
        name = kinds[0].name
        return f"`{name}` alone requires nothing; add a `contains`, `equals` or `regex` that a right answer passes"
    if case.files:
        return "the unchanged folder passes; check what the task changes"
    return next(
        (kind.too_weak for kind in kinds if kind.too_weak is not None), "add a check that only a right answer passes"
    )


def _reference_problems(examination: Examination) -> Iterator[Reason]:
    """A check that crashes or is not deterministic on the reference, or a reference that fails."""
    case = examination.case
    answer = case.reference or Answer()
    name = "the empty answer" if case.reference is None else "the reference"
    try:
        disagreement = examination.disagreement(answer)
    except CheckCrashed as crash:
        yield Reason(saw=f"a check crashes on {name}: {crash}", change="fix the check, or what it needs")
        return
    if disagreement is not None:
        yield Reason(
            saw=f"`{disagreement.kind}` is not deterministic: {name} passed it {disagreement.passed} of "
            f"{disagreement.gradings} times",
            change="make the check deterministic: fix the seed, ignore the clock, sort before comparing, "
            "allow a tolerance",
        )
    elif case.reference is not None and not examination.passes(answer):
        saw = "; ".join(examination.failures(answer)[:3])
        yield Reason(
            saw=f"the reference fails: {saw if len(saw) <= 300 else saw[:299] + '…'}",
            change="correct the check or the reference",
        )


def _others_that_pass(examination: Examination, cases: Sequence[Case]) -> Iterator[Reason]:
    case = examination.case
    most = MOST_OTHERS_IN_SANDBOX if examination.is_slow else MOST_OTHERS
    own = None if case.reference is None else content_key(case.reference)
    others: dict[object, Case] = {}
    for other in cases:
        if other is case or case.goes_on_in(other):  # a later answer may well answer this turn too
            continue
        if other.reference is not None and content_key(other.reference) != own:
            others.setdefault(content_key(other.reference), other)
    tried = list(others.values())[:most]
    passing = [other for other in tried if other.reference is not None and examination.passes(other.reference)]
    # An answer that contains the whole reference is right, whatever else it says. Where most answers do, the reference
    # is a common term and no answer.
    if len(passing) * 2 <= len(tried) or len(passing) == 1:
        passing = [other for other in passing if not _contains(other.reference, case.reference)]
    if passing:
        names = ", ".join(f"`{other.id}`" for other in passing[:3]) + (", …" if len(passing) > 3 else "")
        yield Reason(
            saw=f"the reference of {names} passes",
            change="expect something specific to this case; answers to other cases pass its checks too",
        )


def _contains(other: Answer | None, own: Answer | None) -> bool:
    if other is None or own is None:
        return False
    if own.files:
        return own.files.items() <= other.files.items()
    return find_token(" ".join(own.text.split()), " ".join(other.text.split())) is not None


def _prove(examination: Examination) -> Qualification:
    """Qualified or unproven, for a case that is not rejected."""
    case, reference = examination.case, examination.case.reference
    if reference is None:
        reason = Reason(
            saw="there is no reference, so it is not shown that a right answer passes",
            change="add `reference`, a right answer, and `wrong`, a list of wrong ones",
        )
        return Qualification(case_id=case.id, state="unproven", reasons=(reason,))
    if not examination.can_grade:
        return Qualification(case_id=case.id, state="unproven")
    text = not (reference.files and examination.passes(replace(reference, text="")))
    files = bool(reference.files) and not examination.passes(replace(reference, files={}))
    reasons = list(_wrong_that_pass(examination))
    cuts = truncations(reference, text=text, files=files)
    if examination.is_slow:
        cuts = cuts[:MOST_TRUNCATIONS_IN_SANDBOX]
    if passed := _passing(examination, cuts):
        reasons.append(
            Reason(
                saw="the reference still passes when cut: " + _listed([cut.what for cut in passed]),
                change="shorten the reference to what is asked for, or check the rest of it too",
            )
        )
    per_way = MOST_MUTANTS_PER_WAY_IN_SANDBOX if examination.is_slow else MOST_PER_WAY
    made = mutants(case, reference, text=text, files=files, most_per_way=per_way)
    slipped = _passing(examination, made)
    if len(made) - len(slipped) < LEAST_CAUGHT * len(made):
        reasons.append(
            Reason(
                saw=f"{len(slipped)} of {len(made)} altered copies of the reference pass: "
                + _listed([mutant.what for mutant in slipped]),
                change="check the altered parts, or remove them from the reference",
            )
        )
    if examination.crash is not None:
        reasons.append(Reason(saw=f"a check crashes on wrong answers: {examination.crash}", change="fix the check"))
    state: State = "unproven" if reasons or examination.missing or examination.asks_for_the_way else "qualified"
    return Qualification(
        case_id=case.id,
        state=state,
        reasons=tuple(reasons),
        mutants=len(made),
        slipped=tuple(mutant.what for mutant in slipped),
    )


def _wrong_that_pass(examination: Examination) -> Iterator[Reason]:
    passed = [
        (number, wrong)
        for number, wrong in enumerate(examination.case.wrong[:MOST_WRONG], 1)
        if examination.passes(wrong)
    ]
    for number, wrong in passed[:3]:
        said = _shown(wrong.text) if wrong.text.strip() else ", ".join(wrong.files)
        yield Reason(saw=f"wrong answer {number} passes: {said}", change="add a check that it fails")


def _missing_notes(examination: Examination) -> Iterator[Reason]:
    if examination.asks_for_the_way:
        yield Reason(saw="a check asks what the model did, which no reference shows; only an evaluation can show it")
    if "judge" in examination.missing:
        yield Reason(saw="the judge was not asked here, so only the other checks were run")
    if "sandbox" in examination.missing:
        yield Reason(
            saw="a check runs a program, and there is no sandbox here",
            change="see `upskill doctor`",
        )


def _leak_notes(case: Case, labels: tuple[Label, ...]) -> Iterator[Reason]:
    values = leaked_values(case)
    said = ", ".join(_shown(value) for value in values[:3])
    if "leaks" in labels:
        what = f"the expected text is in the prompt: {said}" if said else "the prompt itself matches the pattern"
        yield Reason(saw=what, change="ask without giving it away")
    elif values:
        yield Reason(saw=f"part of the expected text is in the prompt: {said}")


def _passing(examination: Examination, made: Sequence[WrongAnswer]) -> list[WrongAnswer]:
    return [mutant for mutant in made if examination.passes(mutant.answer, hurry=True)]


def _keys(cases: Sequence[Case], skill: Skill, context: GradingContext) -> list[str]:
    """For each case, a digest of all that its state and its labels rest on."""
    references = ["" if case.reference is None else answer_digest(case.reference) for case in cases]
    shared = [VERSION, sorted(set(references)), skill.digest, context.open_sandbox is not None, context.judge]
    around = digest_of(shared)
    return [
        digest_of([around, case.digest, reference, [answer_digest(wrong) for wrong in case.wrong]])
        for case, reference in zip(cases, references, strict=True)
    ]


def _listed(things: Sequence[str]) -> str:
    return "; ".join(things[:3]) + (f"; and {len(things) - 3} more" if len(things) > 3 else "")


def _shown(text: str) -> str:
    return f"“{shortened(text, 60)}”"
