"""Asks a teacher for cases before there is a draft, examines them, and asks again for those that cannot be used.

With a plan of facts, calls are made one after the other, each with the tasks of the earlier ones in view; without one,
all at once, each with its own slice of the material. The same replies give the same cases.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from upskill.core.cases.family import near_duplicate, with_merged_families
from upskill.core.cases.split import CaseCounts, split_cases, without_doubles
from upskill.core.models import Ask, Question
from upskill.core.models.teacher_answers import TeacherUnusable, UnusableAnswer, ask_for_each
from upskill.core.nouns import Case, Qualification, Skill, estimate_tokens
from upskill.core.nouns.text import count as counted
from upskill.core.nouns.text import shortened
from upskill.core.progress import SILENT, Progress
from upskill.evaluation.cases import qualify_within, slow_cases_note
from upskill.generation.case_questions import READABLE, Batch, batches_for, first_question, next_question
from upskill.generation.draft import Clean, clean_by_patterns
from upskill.generation.facts import FactPlan, Slot, slots_for, with_fact
from upskill.generation.material import Material
from upskill.generation.student import CountTokens, StudentProfile
from upskill.generation.written_case import WrittenCase, cleaned, name_of, read_written
from upskill.sandbox import Backend, SandboxUnavailable, require_sandbox

REWRITES = 2
"""How often a case that does not qualify is asked for again."""

MOST_OF_A_KIND = 40
"""Positive or negative cases that are taken from one answer."""

_HINT = "choose a stronger teacher with --model, or set UPSKILL_TEST_GEN_MODEL"

Examine = Callable[[Sequence[Case]], Sequence[Qualification]]


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenCases:
    """Cases that can tell right from wrong, each with its use; and what was dropped, in a line each."""

    cases: tuple[Case, ...]
    dropped: tuple[str, ...] = ()


_NO_SKILL = Skill(name="", description="", body="", digest="")
"""Cases are written before there is a skill, so they are checked against an empty one."""


def examining(skill: Skill | None, *, backend: Backend | None, progress: Progress) -> tuple[Examine, bool]:
    """How cases for a skill are qualified here, and whether checks run programs: only in a sandbox that confines."""
    confined = backend if backend == "bubblewrap" else None
    noted: set[str] = set()
    try:
        if confined is not None:
            require_sandbox(confined)
    except SandboxUnavailable as error:
        progress.note(f"{error.message}; cases are written without checks that run programs")
        confined = None

    def examine(cases: Sequence[Case]) -> tuple[Qualification, ...]:
        note = slow_cases_note(cases)
        if confined is not None and note is not None and note not in noted:
            noted.add(note)
            progress.note(note)
        return qualify_within(cases, skill or _NO_SKILL, backend=confined)

    return examine, confined is not None


def write_cases(
    material: Material,
    ask: Ask,
    *,
    counts: CaseCounts = CaseCounts(),  # noqa: B008 - frozen
    examine: Examine,
    progress: Progress = SILENT,
    clean: Clean = clean_by_patterns,
    window: int | None = None,
    programs: bool = True,
    plan: FactPlan | None = None,
    profile: StudentProfile | None = None,
    count: CountTokens = estimate_tokens,
    known: Sequence[Case] = (),
) -> WrittenCases:
    """Cases for the material. Raises `TeacherUnusable` where there is not one.

    `examine` qualifies each case among the others. `clean` takes secrets out of the answers. `programs` says whether
    checks can run any here. `window` is the teacher's, in tokens. Cases must fit the student of `profile`, as `count`
    counts tokens, and ask nothing that those of `known` ask.
    """
    slots = () if plan is None else slots_for(plan, counts, material, profile=profile, count=count)
    writing = _CaseWriter(
        ask=ask,
        examine=examine,
        clean=clean,
        read=partial(read_written, programs=programs, profile=profile, count=count),
        counts=counts,
        known=known,
        slots=Counter(slot.fact.id for slot in slots),
        batches=batches_for(material, counts, window=window, programs=programs, slots=slots, profile=profile),
    )
    if slots and len(slots) < counts.positive:
        progress.note(f"the plan has facts for only {len(slots)} of {counts.positive} cases")
    writing.write()
    if not sum(writing.missing):
        progress.note(f"all {len(writing.good)} cases qualified at the first try")
    for attempt in range(1, REWRITES + 1):
        missing = sum(writing.missing)
        if not missing:
            break
        progress.note(
            f"{missing} of {counts.total} cases {'was' if missing == 1 else 'were'} unusable; asking again "
            f"({attempt} of {REWRITES})"
        )
        writing.write_again()
    return writing.result()


def possible_counts(material: Material, counts: CaseCounts) -> CaseCounts:
    """These counts, without held-out cases where a habit was mined that has too few later sessions for them."""
    too_few = material.later is not None and not material.later
    return replace(counts, held_out=0) if too_few else counts


def write_earlier_and_later(
    write: Callable[..., WrittenCases],
    material: Material,
    later: Mapping[str, Material],
    counts: CaseCounts,
    by_hand: Sequence[Case],
) -> WrittenCases:
    """Practice and unrelated cases from the earlier sessions of a habit, held-out ones from each of the later ones.

    No session is on both sides. Facts may be: that they recur is what a habit is. What one session shows is one draw
    from all such sessions, however many cases are written from it, so its cases are a family.
    """
    counts_of_practice = replace(counts, held_out=0)
    earlier = (
        write(material, counts=counts_of_practice, known=by_hand)
        if counts_of_practice.total
        else WrittenCases(cases=())
    )
    written = [case if case.use == "negative" else replace(case, use="learn") for case in earlier.cases]
    dropped = [*earlier.dropped]
    failure: TeacherUnusable | None = None
    for place, (session, seen) in enumerate(later.items()):
        share = counts.held_out // len(later) + (place < counts.held_out % len(later))
        if not share:
            break
        known = (*by_hand, *written)
        try:
            found = write(seen, counts=CaseCounts(learn=0, held_out=share, negative=0), known=known)
        except TeacherUnusable as error:
            failure = error
            dropped.append(f"{session}: {error.message}")
            continue
        taken = {case.id for case in known}
        written += (
            replace(
                case,
                id=f"{case.id}-{case.digest[:6]}" if case.id in taken else case.id,
                use="held-out",
                family=session,
            )
            for case in found.cases
        )
        dropped += found.dropped
    if failure is not None and not any(case.use == "held-out" for case in written):
        raise failure
    return WrittenCases(cases=tuple(written), dropped=tuple(dropped))


_Request = tuple[Batch, Callable[..., Question]]
"""A batch to ask for again, and the question, once the tasks that are there are known."""


class _GoodCase(NamedTuple):
    case: Case
    written: WrittenCase
    batch: Batch
    """The one that it was written in."""


@dataclass(slots=True)
class _CaseWriter:
    ask: Ask
    examine: Examine
    clean: Clean
    read: Callable[..., WrittenCase]
    counts: CaseCounts
    known: Sequence[Case]
    slots: Counter[str]
    """How many cases each fact is asked for, with a plan."""
    batches: list[Batch]
    good: list[_GoodCase] = field(default_factory=list)
    doubles: int = 0
    unasked: int = 0

    @property
    def missing(self) -> tuple[int, int]:
        """How many more are needed, positive and negative."""
        negative = sum(one.case.use == "negative" for one in self.good)
        positive = len(self.good) - negative
        wanted = self.slots.total() or self.counts.positive
        return max(0, wanted - positive), max(0, self.counts.negative - negative)

    def write(self) -> None:
        """Asks for the cases of every batch."""
        self._ask_all([(batch, partial(first_question, batch)) for batch in self.batches])
        if not self.good and not any(batch.faulty for batch in self.batches):
            reason = next((batch.failure for batch in self.batches if batch.failure), "it wrote no case")
            raise TeacherUnusable(f"the teacher wrote no readable case: {reason}", hint=_HINT)

    def write_again(self) -> None:
        """Asks for faulty cases again in their batches, as far as they are needed, and for new ones to fill up."""
        self._ask_all(self._open_slots() if self.slots else self._open_counts())

    def _open_counts(self) -> list[_Request]:
        """What is missing in all, shared out among the batches."""
        short = dict(zip((False, True), self.missing, strict=True))
        back: list[list[WrittenCase]] = []
        for batch in self.batches:
            back.append([])
            for one in batch.faulty:
                if short[one.case.use == "negative"]:
                    short[one.case.use == "negative"] -= 1
                    back[-1].append(one)
        requests: list[_Request] = []
        for batches_left, batch, faulty in zip(range(len(back), 0, -1), self.batches, back, strict=True):
            more = {negative: -(-wanted // batches_left) for negative, wanted in short.items()}
            short = {negative: wanted - more[negative] for negative, wanted in short.items()}
            if faulty or any(more.values()):
                ask = partial(next_question, batch, faulty, positive=more[False], negative=more[True])
                requests.append((batch, ask))
        return requests

    def _open_slots(self) -> list[_Request]:
        """What is missing of the facts and the negative cases of each batch."""
        filled = self._filled
        requests: list[_Request] = []
        for batch in self.batches:
            wanted: list[Slot] = []
            for slot in batch.slots:
                filled[slot.fact.id] -= 1
                if filled[slot.fact.id] < 0:
                    wanted.append(slot)
            negative = batch.negative - sum(one.batch is batch and one.case.use == "negative" for one in self.good)
            faulty: list[WrittenCase] = []
            for one in batch.faulty:
                fact = one.case.extra.get("fact")
                if fact is None and one.case.use is None and wanted:
                    free = wanted.pop(0)
                    instead = f"write it for the fact `{free.fact.id}`, on the rung `{free.rung}`"
                    faulty.append(replace(one, problems=(*one.problems, instead)))
                elif (mine := next((slot for slot in wanted if slot.fact.id == fact), None)) is not None:
                    wanted.remove(mine)
                    faulty.append(one)
                elif one.case.use == "negative" and negative > 0:
                    negative -= 1
                    faulty.append(one)
            if faulty or wanted or negative > 0:
                ask = partial(next_question, batch, faulty, positive=len(wanted), negative=max(0, negative))
                requests.append((batch, partial(ask, slots=wanted)))
        return requests

    @property
    def _filled(self) -> Counter[str]:
        return Counter(str(one.case.extra["fact"]) for one in self.good if "fact" in one.case.extra)

    def _ask_all(self, requests: Sequence[_Request]) -> None:
        """Asks, one after the other with a plan, else at once, and examines all cases when they are there."""
        for some in [[request] for request in requests] if self.slots else [requests]:
            self._ask_for([(batch, ask(there=self._there(batch))) for batch, ask in some])
        self._examine([one.case for one in self.good])

    def _there(self, asked: Batch) -> list[str]:
        """The tasks that a batch must not repeat, with a plan those about its own facts and about none. Those of its
        own that it writes again are none of them."""
        others = [batch for batch in self.batches if batch is not asked] if self.slots else []
        faulty = [one.case for batch in others for one in batch.faulty]
        there = (*self.known, *(one.case for one in self.good), *faulty)
        mine = {None, *(slot.fact.id for slot in asked.slots)}
        return [case.prompt for case in there if not self.slots or case.extra.get("fact") in mine]

    def _ask_for(self, questions: Sequence[tuple[Batch, Question]]) -> None:
        answers = ask_for_each(
            self.ask,
            [question for _, question in questions],
            _items,
            enough=READABLE,
            told=lambda number, items: self._tried(questions[number][0], items),
        )
        new: list[tuple[WrittenCase, Batch]] = []
        for (batch, _), answer in zip(questions, answers, strict=True):
            if isinstance(answer, UnusableAnswer):
                batch.failure = answer.problems[0] if answer.problems else "no reason"
                continue
            batch.failure = None
            new += self._received(batch, answer)
        self._take(new)

    def _received(self, batch: Batch, answer: list[dict[str, Any]]) -> list[tuple[WrittenCase, Batch]]:
        items = _not_too_many(answer)
        named = {name_of(item) for item in items}
        # A case that was written again replaces the faulty one; one that was passed over stays faulty.
        batch.faulty = [one for one in batch.faulty if name_of(one.item) not in named]
        written = [self.read(cleaned(item, self.clean), wordings=batch.wordings) for item in items]
        return [(with_fact(one, batch.slots) if batch.rungs else one, batch) for one in written]

    def _tried(self, batch: Batch, items: list[dict[str, Any]]) -> tuple[str, ...]:
        """What would become of an answer: everything is done to a copy that would be done to it. Raises
        `UnusableAnswer` with the reasons of each case that would not hold."""
        batch = replace(batch, faulty=[])
        good = [one._replace(batch=batch) for one in self.good]
        copy = replace(self, batches=[batch], good=good, doubles=0, unasked=0)
        copy._take(copy._received(batch, items))
        copy._examine([one.case for one in copy.good])
        bad = [f"{name_of(one.item)}: {problem}" for one in batch.faulty for problem in one.problems]
        if copy.doubles:
            bad.append(f"{counted(copy.doubles, 'case')} that repeat another case")
        if copy.unasked:
            bad.append(f"{counted(copy.unasked, 'case')} about facts that have enough cases")
        if bad:
            raise UnusableAnswer(bad)
        return (f"{counted(len(copy.good) - len(self.good), 'case')} would be used: each passed its trials",)

    def _take(self, new: list[tuple[WrittenCase, Batch]]) -> None:
        """Keeps new cases that can be read, were asked for and repeat no other."""
        readable: list[_GoodCase] = []
        taken = {one.case.id for one in self.good}
        for written, batch in new:
            if written.problems:
                batch.faulty.append(written)
                continue
            digest = written.case.digest
            name = name_of(written.item) or f"case-{digest[:12]}"
            case = replace(written.case, id=name if name not in taken else f"{name}-{digest[:6]}")
            taken.add(case.id)
            readable.append(_GoodCase(case, written, batch))
        before = [*self.known, *(one.case for one in self.good)]
        compared = without_doubles((one.case for one in readable), known=before)
        for one, (_, double) in zip(readable, compared, strict=True):
            fact = str(one.case.extra.get("fact", ""))
            if double is not None:
                self.doubles += 1
            elif fact and self._filled[fact] >= self.slots[fact]:
                self.unasked += 1
            elif (like := self._given_away_by(one.case)) is not None:
                problem = f"is another case with other names or numbers in it; ask something else than: {like.prompt}"
                one.batch.faulty.append(replace(one.written, problems=(shortened(problem, 400),)))
            else:
                self.good.append(one)

    def _given_away_by(self, case: Case) -> Case | None:
        """A near-duplicate that is, or may come to be, on another side: families and facts are never on both."""
        if not self.slots:
            return None  # sides are drawn when all cases are there
        good = (one.case for one in self.good)
        return near_duplicate(
            case, (*self.known, *(one for one in good if (one.use == "learn") != (case.use == "learn")))
        )

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
                "none of the teacher's cases can tell right answers from wrong ones", problems=dropped[:8], hint=_HINT
            )
        return WrittenCases(cases=split_cases(with_merged_families(chosen), self.counts), dropped=dropped)

    @property
    def _chosen(self) -> tuple[Case, ...]:
        positive = [one.case for one in self.good if one.case.use != "negative"]
        negative = [one.case for one in self.good if one.case.use == "negative"]
        return (*positive[: self.counts.positive], *negative[: self.counts.negative])

    def _dropped(self) -> Iterable[str]:
        unasked = self.unasked
        for batch in self.batches:
            for one in batch.faulty:
                if batch.rungs and one.case.use is None:
                    unasked += 1
                else:
                    yield f"{name_of(one.item) or 'a case without a name'}: {shortened(one.problems[0], 200)}"
            if batch.failure is not None:
                yield f"an answer could not be read: {shortened(batch.failure, 200)}"
        if self.doubles:
            yield f"{counted(self.doubles, 'case')} that repeat another case"
        if unasked and any(self.missing):
            yield f"{counted(unasked, 'case')} about facts that were not asked for"


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
