"""Cases from the material, before there is a draft: written, tried, written again with the reason, or dropped.

Knows neither how cases are tried nor what a check is: both are handed in. Nothing here is kept or split by chance: the
same replies give the same cases.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from upskill.domain import Case, CheckOffer, Qualification
from upskill.domain.progress import SILENT, Progress
from upskill.models import Ask, Question
from upskill.redaction import Redactor
from upskill.teaching.answers import TeacherUnusable, UnusableAnswer, ask_for_each
from upskill.teaching.case_prompts import Batch, batches_for, first_question, guided, next_question
from upskill.teaching.case_split import CaseCounts, split_cases
from upskill.teaching.duplicate_cases import without_doubles
from upskill.teaching.material import Material
from upskill.teaching.written_case import CheckProblems, Clean, WrittenCase, cleaned, name_of, read_written

REWRITES = 2
"""How often a case that does not qualify goes back to its writer."""

MOST_OF_A_KIND = 40
"""Positive or negative cases that are taken from one answer."""

Examine = Callable[[Sequence[Case]], Sequence[Qualification]]


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenCases:
    """Cases that can tell right from wrong, each with its use; and what was dropped, in a line each."""

    cases: tuple[Case, ...]
    dropped: tuple[str, ...] = ()


def write_cases(
    material: Material,
    ask: Ask,
    *,
    counts: CaseCounts = CaseCounts(),  # noqa: B008 - frozen
    examine: Examine,
    check_problems: CheckProblems,
    offers: tuple[CheckOffer, ...],
    progress: Progress = SILENT,
    clean: Clean | None = None,
    window: int | None = None,
    programs: bool = True,
) -> WrittenCases:
    """Cases for the material. Raises `TeacherUnusable` where not one could be had.

    `examine` says of each case whether it tells right from wrong, among the others. `clean` takes secrets out of what
    comes back. `offers` are the kinds of check that may be used; `programs` says whether checks can run any here.
    `window` is the teacher's, in tokens.
    """
    writing = _Writing(
        ask=guided(ask, offers, programs=programs),
        examine=examine,
        check_problems=check_problems,
        clean=clean or Redactor({}).clean,
        counts=counts,
        desks=[
            _BatchState(batch=batch)
            for batch in batches_for(material, counts, window=window, offers=offers, programs=programs)
        ],
    )
    writing.write()
    for attempt in range(1, REWRITES + 1):
        missing = sum(writing.missing)
        if not missing:
            break
        progress.note(
            f"{missing} of {counts.total} cases are missing or of no use; asked for again ({attempt} of {REWRITES})"
        )
        writing.write_again()
    return writing.result()


@dataclass(slots=True)
class _BatchState:
    """One batch, and where it stands."""

    batch: Batch
    faulty: list[WrittenCase] = field(default_factory=list)
    """What its teacher wrote last and cannot be used, with the reasons."""
    failure: str | None = None
    """Why its last answer could not be read at all."""


@dataclass(slots=True)
class _Writing:
    ask: Ask
    examine: Examine
    check_problems: CheckProblems
    clean: Clean
    counts: CaseCounts
    desks: list[_BatchState]
    good: list[tuple[Case, int]] = field(default_factory=list)
    """Cases that hold, with the desk each is from."""
    items: dict[str, WrittenCase] = field(default_factory=dict)
    """How each was written, by its id."""
    doubles: int = 0

    @property
    def missing(self) -> tuple[int, int]:
        """How many more are needed, positive and negative."""
        negative = sum(case.use == "negative" for case, _ in self.good)
        return (
            max(0, self.counts.positive - (len(self.good) - negative)),
            max(0, self.counts.negative - negative),
        )

    def write(self) -> None:
        """The first round."""
        self._hear({number: first_question(desk.batch) for number, desk in enumerate(self.desks)})
        if not self.good and not any(desk.faulty for desk in self.desks):
            reason = next((desk.failure for desk in self.desks if desk.failure), "it wrote no case")
            raise TeacherUnusable(
                f"the teacher wrote no case that could be read: {reason}",
                hint="a stronger teacher may: choose one with --test-gen-model or --model",
            )

    def write_again(self) -> None:
        """What is faulty goes back to the desk it came from, as far as it is needed; more is asked for to fill up."""
        short = dict(zip((False, True), self.missing, strict=True))
        back: dict[int, list[WrittenCase]] = {}
        for number, desk in enumerate(self.desks):
            for one in desk.faulty:
                if short[one.case.use == "negative"]:
                    short[one.case.use == "negative"] -= 1
                    back.setdefault(number, []).append(one)
        there = [case.prompt for case, _ in self.good]
        questions: dict[int, Question] = {}
        for number, desk in enumerate(self.desks):
            desks_left = len(self.desks) - number
            more = {kind: -(-count // desks_left) for kind, count in short.items()}
            short = {kind: count - more[kind] for kind, count in short.items()}
            if number in back or any(more.values()):
                questions[number] = next_question(
                    desk.batch, back.get(number, ()), positive=more[False], negative=more[True], there=there
                )
        self._hear(questions)

    def _hear(self, questions: dict[int, Question]) -> None:
        answers = ask_for_each(self.ask, list(questions.values()), _items)
        new: list[tuple[WrittenCase, int]] = []
        for number, answer in zip(questions, answers, strict=True):
            desk = self.desks[number]
            if isinstance(answer, UnusableAnswer):
                desk.failure = answer.problems[0] if answer.problems else "no reason"
                continue
            desk.failure = None
            answer = _not_too_many(answer)
            named = {name_of(item) for item in answer}
            # What was written anew replaces what it mends; what was passed over stays faulty.
            desk.faulty = [one for one in desk.faulty if name_of(one.item) not in named]
            batch = desk.batch
            for item in answer:
                written = read_written(
                    cleaned(item, self.clean),
                    check_problems=self.check_problems,
                    offers=batch.offers,
                    wordings=batch.wordings,
                    programs=batch.programs,
                )
                new.append((written, number))
        self._take_in(new)

    def _take_in(self, new: list[tuple[WrittenCase, int]]) -> None:
        """Sort what came: readable or not, new or a double, able to tell right from wrong or not."""
        readable: list[tuple[Case, int]] = []
        taken = {case.id for case, _ in self.good}
        for one, number in new:
            if one.problems:
                self.desks[number].faulty.append(one)
                continue
            name = name_of(one.item) or f"case-{one.case.digest[:12]}"
            case = replace(one.case, id=name if name not in taken else f"{name}-{one.case.digest[:6]}")
            taken.add(case.id)
            self.items[case.id] = one
            readable.append((case, number))
        told = without_doubles((case for case, _ in readable), known=[case for case, _ in self.good])
        for (case, double), (_, number) in zip(told, readable, strict=True):
            if double is None:
                self.good.append((case, number))
            else:
                self.doubles += 1
        self._try([case for case, _ in self.good])

    def _try(self, cases: Sequence[Case]) -> bool:
        """Try cases among each other. What does not hold goes back to its desk. Whether all do."""
        bad = {one.case_id: one for one in (self.examine(cases) if cases else ()) if not _holds(one)}
        for case, number in self.good:
            if (one := bad.get(case.id)) is not None:
                self.desks[number].faulty.append(replace(self.items[case.id], problems=_reasons(one)))
        self.good = [(case, number) for case, number in self.good if case.id not in bad]
        return not bad

    def result(self) -> WrittenCases:
        """The cases that hold, at most as many as were wanted, each with its use."""
        # Whether a case holds depends on the others: what is handed out was tried as it is.
        while not self._try(self._chosen):
            pass
        chosen = self._chosen
        dropped = tuple(self._dropped())
        if all(case.use == "negative" for case in chosen):
            raise TeacherUnusable(
                "none of the teacher's cases can tell right from wrong",
                problems=dropped[:8],
                hint="a stronger teacher may: choose one with --test-gen-model or --model",
            )
        return WrittenCases(cases=split_cases(chosen, self.counts), dropped=dropped)

    @property
    def _chosen(self) -> tuple[Case, ...]:
        cases = [case for case, _ in self.good]
        positive = [case for case in cases if case.use != "negative"]
        negative = [case for case in cases if case.use == "negative"]
        return (*positive[: self.counts.positive], *negative[: self.counts.negative])

    def _dropped(self) -> Iterable[str]:
        for desk in self.desks:
            for one in desk.faulty:
                name = name_of(one.item) or "a case without a name"
                yield f"{name}: {_one_line(one.problems[0])}"
            if desk.failure is not None:
                yield f"an answer could not be read: {_one_line(desk.failure)}"
        if self.doubles:
            are = "case" if self.doubles == 1 else "cases"
            yield f"{self.doubles} {are} that asked what another asks"


def _items(text: str) -> list[dict[str, Any]]:
    """The entries of an answer; that they are objects was seen to before."""
    items: list[dict[str, Any]] = json.loads(text)["cases"]
    return items


def _not_too_many(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Trying a case takes time: of a teacher that does not stop only the first are taken, of each kind."""
    kinds = ([item for item in items if bool(item.get("negative")) is kind] for kind in (False, True))
    return [item for mine in kinds for item in mine[:MOST_OF_A_KIND]]


def _holds(one: Qualification) -> bool:
    """Generated cases must qualify, and must not give their answer away."""
    return one.state == "qualified" and "leaks" not in one.labels


def _reasons(one: Qualification) -> tuple[str, ...]:
    told = [f"{reason.saw}; {reason.change}" if reason.change else reason.saw for reason in one.reasons]
    return tuple(told) or (f"it is {one.state}",)


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else text[:199] + "…"
