"""Asks a teacher for trigger prompts, and has each labelled again without sight of the label that was meant.

A prompt is kept if the rules of its kind hold and both labels agree. The same replies give the same prompts.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from upskill.core.cases.family import COMMON_WORDS, near_duplicate
from upskill.core.cases.split import CaseCounts, split_cases
from upskill.core.models import Ask, Message, Question
from upskill.core.models.teacher_answers import TeacherUnusable, UnusableAnswer, ask_for_each
from upskill.core.nouns import Skill
from upskill.core.nouns.answer_schemas import TEXT, Schema, list_of, object_of
from upskill.core.nouns.text import count, shortened
from upskill.core.nouns.trigger import TriggerPrompt
from upskill.core.progress import SILENT, Progress
from upskill.generation.draft import Clean, clean_by_patterns
from upskill.generation.prompts import prompt, quoted

REWRITES = 2
"""How often prompts are asked for again where too few can be used."""
SHARED_WORDS = 2
"""Distinctive words that a near miss has in common with the skill, at least."""
QUOTED_WORDS = 6
"""So many words of the description in a row are a quotation."""
MOST_CHARACTERS = 4_000
MOST_LABELLED = 40
"""Prompts of one question to who labels them."""
_MOST_BODY = 40_000
_MOST_THERE = 80
_WORD = re.compile(r"[^\W_]+")
_PROMPTS: Schema = object_of(prompts=list_of(object_of(prompt=TEXT, why=TEXT)))
_LABELS: Schema = object_of(labels=list_of(object_of(number={"type": "number"}, needed={"type": "boolean"})))
_KINDS = {True: "should load", False: "near miss"}
_QUESTIONS = {True: "trigger_should", False: "trigger_near"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerCounts:
    """How many prompts are wanted of each kind: of those that should load the skill, and of near misses."""

    learn: int = 12
    held_out: int = 24

    @property
    def of_a_kind(self) -> int:
        """Practice and held-out ones."""
        return self.learn + self.held_out

    def __str__(self) -> str:
        return f"{self.learn}+{self.held_out}"


def read_trigger_counts(text: str) -> TriggerCounts:
    """Counts as the setting `trigger_prompts` has them, `12+24`: practice and held-out prompts of each kind."""
    learn, held_out = map(int, text.split("+"))
    return TriggerCounts(learn=learn, held_out=held_out)


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenPrompts:
    """The prompts that can be used, each with its use, and what was dropped."""

    prompts: tuple[TriggerPrompt, ...]
    disputed: int = 0
    """Prompts that were labelled otherwise than they were meant, or not at all."""
    unusable: int = 0
    """Prompts that broke a rule of their kind, or repeated another."""
    dropped: tuple[str, ...] = ()
    """A line for each of both."""


def write_trigger_prompts(
    skill: Skill,
    ask: Ask,
    *,
    counts: TriggerCounts = TriggerCounts(),  # noqa: B008 - frozen
    progress: Progress = SILENT,
    clean: Clean = clean_by_patterns,
) -> WrittenPrompts:
    """Prompts of both kinds for a skill. Raises `TeacherUnusable` where there is not one of a kind.

    The writer is asked for the labels again, in a question that does not hold the labels meant.
    """
    writer = _PromptWriter(skill=skill, ask=ask, counts=counts, clean=clean)
    for attempt in range(REWRITES + 1):
        missing = sum(writer.missing.values())
        if not missing:
            break
        if attempt:
            of = 2 * counts.of_a_kind
            progress.note(f"{missing} of {of} prompts are missing; asking again ({attempt} of {REWRITES})")
        writer.write()
    return writer.result()


@dataclass(slots=True)
class _PromptWriter:
    skill: Skill
    ask: Ask
    counts: TriggerCounts
    clean: Clean
    good: list[TriggerPrompt] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Texts of prompts that were dropped, which are not to be written again."""
    dropped: list[str] = field(default_factory=list)
    disputed: int = 0
    unusable: int = 0
    failure: str | None = None

    @property
    def missing(self) -> dict[bool, int]:
        """How many more are needed of each kind."""
        return {
            kind: max(0, self.counts.of_a_kind - sum(one.should_load is kind for one in self.good)) for kind in _KINDS
        }

    def write(self) -> None:
        """Asks for what is missing, and keeps what can be used."""
        wanted = {kind: number for kind, number in self.missing.items() if number}
        questions = [self._question(kind, number) for kind, number in wanted.items()]
        answers = ask_for_each(
            self.ask, questions, _items, told=lambda number, items: self._foretold(list(wanted)[number], items)
        )
        new: list[TriggerPrompt] = []
        for (kind, number), answer in zip(wanted.items(), answers, strict=True):
            if isinstance(answer, UnusableAnswer):
                self.failure = answer.problems[0] if answer.problems else "no reason"
                continue
            usable, unusable = self._sorted_out(kind, answer[: 2 * number], new)
            new += usable
            self.unusable += len(unusable)
            for refused, why in unusable:
                self._drop(refused, why)
        self.good += self._agreed(new)

    def _question(self, kind: bool, number: int) -> Question:
        there = [*(one.prompt for one in self.good), *self.refused][-_MOST_THERE:]
        listed = "\n".join(f"- {shortened(text, 200)}" for text in there)
        text = prompt(
            _QUESTIONS[kind],
            skill=skill_text(self.skill),
            number=number,
            there=f"\n\n{prompt('trigger_there', requests=quoted(listed))}" if there else "",
        )
        return Question(
            purpose="triggers",
            system=prompt("trigger_system"),
            messages=(Message(role="user", text=text),),
            schema=_PROMPTS,
        )

    def _sorted_out(
        self, kind: bool, items: Sequence[dict[str, Any]], new: Sequence[TriggerPrompt]
    ) -> tuple[list[TriggerPrompt], list[tuple[TriggerPrompt, str]]]:
        """The prompts that can be used, and the others, each with why it cannot."""
        usable: list[TriggerPrompt] = []
        unusable: list[tuple[TriggerPrompt, str]] = []
        for item in items:
            text, why = (self.clean(str(item[key])).strip() for key in ("prompt", "why"))
            one = TriggerPrompt(id="", prompt=text, should_load=kind, why=why)
            one = replace(one, id=f"{'load' if kind else 'near'}-{one.digest[:8]}")
            problem = prompt_problem(one, self.skill)
            if problem is None:
                known = (other.as_case for other in (*self.good, *new, *usable))
                problem = None if near_duplicate(one.as_case, known) is None else "repeats another prompt"
            if problem is None:
                usable.append(one)
            else:
                unusable.append((one, problem))
        return usable, unusable

    def _foretold(self, kind: bool, items: Sequence[dict[str, Any]]) -> list[str]:
        """What an answer would come to, for who writes it by hand."""
        usable, unusable = self._sorted_out(kind, items, ())
        dropped = [f"dropped: {why}: {shortened(one.prompt, 100)}" for one, why in unusable]
        return [f"{len(usable)} of {count(len(items), 'prompt')} would be used, if the review agrees", *dropped]

    def _agreed(self, new: Sequence[TriggerPrompt]) -> list[TriggerPrompt]:
        """Those that get the label that was meant again without sight of it, in an order that tells nothing."""
        shuffled = sorted(new, key=lambda one: one.digest)
        parts = [shuffled[at : at + MOST_LABELLED] for at in range(0, len(shuffled), MOST_LABELLED)]
        answers = ask_for_each(self.ask, [review_question(self.skill, part) for part in parts], _labels)
        labels: dict[str, bool] = {}
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, UnusableAnswer):
                self.failure = answer.problems[0] if answer.problems else "no reason"
                continue
            labels |= {one.id: answer[number] for number, one in enumerate(part, 1) if number in answer}
        agreed = [one for one in new if labels.get(one.id) is one.should_load]
        for one in new:
            if one not in agreed:
                self.disputed += 1
                said = labels.get(one.id)
                self._drop(one, "was not labelled" if said is None else f"was labelled {_KINDS[said]}")
        return agreed

    def _drop(self, one: TriggerPrompt, why: str) -> None:
        self.refused.append(one.prompt)
        self.dropped.append(f"{_KINDS[one.should_load]}: {why}: {shortened(one.prompt, 100)}")

    def result(self) -> WrittenPrompts:
        """The prompts, at most as many as were wanted, each with its use."""
        kept: list[TriggerPrompt] = []
        for kind, name in _KINDS.items():
            mine = [one for one in self.good if one.should_load is kind][: self.counts.of_a_kind]
            if not mine:
                reason = self.failure or (self.dropped[-1] if self.dropped else "it wrote none")
                raise TeacherUnusable(
                    f"there are no trigger prompts yet, and the teacher wrote no usable one ({name}): {reason}",
                    hint="name a file of prompts with -t FILE, or have another model write them: add --write -m MODEL",
                )
            kept += _split(mine, self.counts)
        return WrittenPrompts(
            prompts=tuple(kept), disputed=self.disputed, unusable=self.unusable, dropped=tuple(self.dropped)
        )


def _split(prompts: Sequence[TriggerPrompt], counts: TriggerCounts) -> list[TriggerPrompt]:
    """Each with its use, which its content decides, as for cases."""
    sides = CaseCounts(learn=counts.learn, held_out=counts.held_out, negative=0)
    uses = {case.id: case.use for case in split_cases([one.as_case for one in prompts], sides)}
    return [replace(one, use="learn" if uses[one.id] == "learn" else "held-out") for one in prompts]


def skill_text(skill: Skill) -> str:
    """A skill as writer and reviewer are shown it."""
    body = skill.body if len(skill.body) <= _MOST_BODY else f"{skill.body[:_MOST_BODY]}\n[…]"
    return prompt("trigger_skill", name=skill.name, description=quoted(skill.description), body=quoted(body))


def review_question(skill: Skill, prompts: Sequence[TriggerPrompt]) -> Question:
    """Asks for the labels of prompts. Nothing in it tells which label was meant."""
    requests = "\n\n".join(f"{number}.\n{quoted(one.prompt)}" for number, one in enumerate(prompts, 1))
    text = prompt("trigger_review", skill=skill_text(skill), requests=requests, number=len(prompts))
    return Question(
        purpose="trigger review",
        system=prompt("trigger_review_system"),
        messages=(Message(role="user", text=text),),
        schema=_LABELS,
    )


def prompt_problem(one: TriggerPrompt, skill: Skill) -> str | None:
    """Why a prompt cannot be used; `None` if it can."""
    if not one.prompt or len(one.prompt) > MOST_CHARACTERS:
        return "is empty" if not one.prompt else f"is longer than {MOST_CHARACTERS:,} characters"
    if _names(one.prompt, skill.name):
        return "names the skill"
    if one.should_load and _quotes(one.prompt, skill.description):
        return "quotes the description"
    shared = shared_words(one.prompt, skill)
    if not one.should_load and len(shared) < SHARED_WORDS:
        return f"shares {count(len(shared), 'word')} with the skill, and a near miss needs {SHARED_WORDS}"
    return None


def _names(text: str, name: str) -> bool:
    """Whether a text names the skill. A single word may be the name of a tool, which people do say."""
    words = re.escape(name)
    pattern = rf"\b{words}\b" if "-" in name else rf"\b{words} skill\b"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _quotes(text: str, description: str) -> bool:
    said, told = (_WORD.findall(part.lower()) for part in (text, description))
    size = min(QUOTED_WORDS, len(told))
    runs = {tuple(told[at : at + size]) for at in range(len(told) - size + 1)}
    return bool(told) and any(tuple(said[at : at + size]) in runs for at in range(len(said) - size + 1))


def shared_words(text: str, skill: Skill) -> frozenset[str]:
    """The distinctive words that a text has in common with a skill; plural and singular are one."""
    return _distinctive(text) & _distinctive(f"{skill.name} {skill.description} {skill.body}")


def _distinctive(text: str) -> frozenset[str]:
    words = (word for word in _WORD.findall(text.lower()) if len(word) > 2 and word not in COMMON_WORDS)
    return frozenset(word.removesuffix("s") if len(word) > 3 else word for word in words)


def _items(text: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(text)["prompts"]
    if not items:
        raise UnusableAnswer(["`prompts` is empty"])
    return items


def _labels(text: str) -> dict[int, bool]:
    return {round(entry["number"]): bool(entry["needed"]) for entry in json.loads(text)["labels"]}
