"""Asks a teacher for cases before there is a draft, examines them, and asks again for those that cannot be used.

Knows neither how cases are examined nor what a check is: the caller passes both. The same replies give the same cases.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from upskill.domain import Case, CheckOffer, Qualification
from upskill.domain.family import with_merged_families
from upskill.domain.progress import SILENT, Progress
from upskill.domain.text import count, shortened
from upskill.models import Ask, Question
from upskill.teaching.answers import TeacherUnusable, UnusableAnswer, ask_for_each
from upskill.teaching.case_prompts import READABLE, Batch, batches_for, first_question, next_question
from upskill.teaching.case_split import CaseCounts, split_cases, without_doubles
from upskill.teaching.draft_rules import Clean, clean_by_patterns
from upskill.teaching.material import Material
from upskill.teaching.written_case import CheckProblems, WrittenCase, cleaned, name_of, read_written

REWRITES = 2
"""How often a case that does not qualify is asked for again."""

MOST_OF_A_KIND = 40
"""Positive or negative cases that are taken from one answer."""

_HINT = "a stronger teacher may: choose one with --test-gen-model or --model"

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
    clean: Clean = clean_by_patterns,
    window: int | None = None,
    programs: bool = True,
) -> WrittenCases:
    """Cases for the material. Raises `TeacherUnusable` where there is not one.

    `examine` qualifies each case among the others. `clean` takes secrets out of the answers. `offers` are the kinds of
    check that may be used; `programs` says whether checks can run any here. `window` is the teacher's, in tokens.
    """
    writing = _CaseWriter(
        ask=ask,
        examine=examine,
        check_problems=check_problems,
        clean=clean,
        counts=counts,
        batches=[
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
    batch: Batch
    faulty: list[WrittenCase] = field(default_factory=list)
    """The cases of its last answer that cannot be used, with the reasons."""
    failure: str | None = None
    """Why its last answer could not be read at all."""


class _GoodCase(NamedTuple):
    case: Case
    written: WrittenCase
    batch: _BatchState
    """The batch that it was written in."""


@dataclass(slots=True)
class _CaseWriter:
    ask: Ask
    examine: Examine
    check_problems: CheckProblems
    clean: Clean
    counts: CaseCounts
    batches: list[_BatchState]
    good: list[_GoodCase] = field(default_factory=list)
    doubles: int = 0

    @property
    def missing(self) -> tuple[int, int]:
        """How many more are needed, positive and negative."""
        negative = sum(one.case.use == "negative" for one in self.good)
        positive = len(self.good) - negative
        return max(0, self.counts.positive - positive), max(0, self.counts.negative - negative)

    def write(self) -> None:
        """Asks for the cases of every batch."""
        self._ask_for([(state, first_question(state.batch)) for state in self.batches])
        if not self.good and not any(state.faulty for state in self.batches):
            reason = next((state.failure for state in self.batches if state.failure), "it wrote no case")
            raise TeacherUnusable(f"the teacher wrote no case that could be read: {reason}", hint=_HINT)

    def write_again(self) -> None:
        """Asks for faulty cases again in their batches, as far as they are needed, and for new ones to fill up."""
        short = dict(zip((False, True), self.missing, strict=True))
        back: list[list[WrittenCase]] = []
        for state in self.batches:
            back.append([])
            for one in state.faulty:
                if short[one.case.use == "negative"]:
                    short[one.case.use == "negative"] -= 1
                    back[-1].append(one)
        there = [one.case.prompt for one in self.good]
        questions: list[tuple[_BatchState, Question]] = []
        for batches_left, state, faulty in zip(range(len(back), 0, -1), self.batches, back, strict=True):
            more = {negative: -(-wanted // batches_left) for negative, wanted in short.items()}
            short = {negative: wanted - more[negative] for negative, wanted in short.items()}
            if faulty or any(more.values()):
                question = next_question(state.batch, faulty, positive=more[False], negative=more[True], there=there)
                questions.append((state, question))
        self._ask_for(questions)

    def _ask_for(self, questions: Sequence[tuple[_BatchState, Question]]) -> None:
        answers = ask_for_each(self.ask, [question for _, question in questions], _items, enough=READABLE)
        new: list[tuple[WrittenCase, _BatchState]] = []
        for (state, _), answer in zip(questions, answers, strict=True):
            if isinstance(answer, UnusableAnswer):
                state.failure = answer.problems[0] if answer.problems else "no reason"
                continue
            state.failure = None
            items = _not_too_many(answer)
            named = {name_of(item) for item in items}
            # A case that was written again replaces the faulty one; one that was passed over stays faulty.
            state.faulty = [one for one in state.faulty if name_of(one.item) not in named]
            batch = state.batch
            for item in items:
                written = read_written(
                    cleaned(item, self.clean),
                    check_problems=self.check_problems,
                    offers=batch.offers,
                    wordings=batch.wordings,
                    programs=batch.programs,
                )
                new.append((written, state))
        self._take(new)

    def _take(self, new: list[tuple[WrittenCase, _BatchState]]) -> None:
        """Keeps new cases that can be read and repeat no other, and examines them all."""
        readable: list[_GoodCase] = []
        taken = {one.case.id for one in self.good}
        for written, state in new:
            if written.problems:
                state.faulty.append(written)
                continue
            digest = written.case.digest
            name = name_of(written.item) or f"case-{digest[:12]}"
            case = replace(written.case, id=name if name not in taken else f"{name}-{digest[:6]}")
            taken.add(case.id)
            readable.append(_GoodCase(case, written, state))
        compared = without_doubles((one.case for one in readable), known=[one.case for one in self.good])
        for one, (_, double) in zip(readable, compared, strict=True):
            if double is None:
                self.good.append(one)
            else:
                self.doubles += 1
        self._examine([one.case for one in self.good])

    def _examine(self, cases: Sequence[Case]) -> bool:
        """Examines cases among each other and returns those that fail to their batches. Whether none failed."""
        bad = {one.case_id: one for one in (self.examine(cases) if cases else ()) if not _holds(one)}
        for one in self.good:
            if (qualification := bad.get(one.case.id)) is not None:
                one.batch.faulty.append(replace(one.written, problems=_reasons(qualification)))
        self.good = [one for one in self.good if one.case.id not in bad]
        return not bad

    def result(self) -> WrittenCases:
        """The cases that hold, at most as many as were wanted, each with its use."""
        # Whether a case holds depends on the others: the cases that are returned were examined together.
        while not self._examine(self._chosen):
            pass
        chosen = self._chosen
        dropped = tuple(self._dropped())
        if all(case.use == "negative" for case in chosen):
            raise TeacherUnusable(
                "none of the teacher's cases can tell right from wrong", problems=dropped[:8], hint=_HINT
            )
        return WrittenCases(cases=split_cases(with_merged_families(chosen), self.counts), dropped=dropped)

    @property
    def _chosen(self) -> tuple[Case, ...]:
        positive = [one.case for one in self.good if one.case.use != "negative"]
        negative = [one.case for one in self.good if one.case.use == "negative"]
        return (*positive[: self.counts.positive], *negative[: self.counts.negative])

    def _dropped(self) -> Iterable[str]:
        for state in self.batches:
            for one in state.faulty:
                yield f"{name_of(one.item) or 'a case without a name'}: {shortened(one.problems[0], 200)}"
            if state.failure is not None:
                yield f"an answer could not be read: {shortened(state.failure, 200)}"
        if self.doubles:
            yield f"{count(self.doubles, 'case')} that asked what another asks"


def _items(text: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(text)["cases"]
    return items


def _not_too_many(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first cases of each kind: examining takes time, and a teacher may not stop."""
    kinds = ([item for item in items if bool(item.get("negative")) is kind] for kind in (False, True))
    return [item for mine in kinds for item in mine[:MOST_OF_A_KIND]]


def _holds(one: Qualification) -> bool:
    """Generated cases must qualify, and must not give their answer away."""
    return one.state == "qualified" and "leaks" not in one.labels


def _reasons(one: Qualification) -> tuple[str, ...]:
    told = [f"{reason.saw}; {reason.change}" if reason.change else reason.saw for reason in one.reasons]
    return tuple(told) or (f"it is {one.state}",)
