"""Words that a first-time reader of a page may not know, as docs/reference/glossary.md explains them.

Two labels of cases are here too. A test holds the meanings to those of the glossary.
"""

import re
from dataclasses import dataclass

from markupsafe import Markup

from upskill.domain.case import LABEL_MEANINGS


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """One word, and what of it stands on a page where it is used."""

    name: str
    meaning: str
    seen: str
    """A regular expression, for whole words in any case."""

    @property
    def anchor(self) -> str:
        """Where on the page it is explained."""
        return "word-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower())


def _word(name: str, meaning: str, seen: str = "") -> Word:
    return Word(name=name, meaning=meaning, seen=seen or re.escape(name))


WORDS: tuple[Word, ...] = (
    _word("baseline", "The answers without the skill."),
    _word("cache", "Answers kept for a week, so an unchanged request is not paid for twice."),
    _word("case", "One task for a model, with the checks that decide whether it was done.", "cases?"),
    _word(
        "check",
        "One test of an answer, of its files or of its steps. A case passes when all its checks pass.",
        "checks?",
    ),
    _word(
        "coding agent",
        "Codex, Claude Code or opencode, as you have installed it. upskill runs it in the sandbox with the model that "
        "is measured.",
        "coding agents?",
    ),
    _word(
        "errored",
        "An answer that was lost to a fault outside the model: a dead server, a rate limit, a crashed check. It is "
        "never counted as a failure.",
    ),
    _word(
        "forced",
        "The coding agent is told to load the skill before its model begins. With the harness agent the skill is "
        "given: its text is in the first message.",
    ),
    _word(
        "harness",
        "How the model works: chat (it answers in text), agent (it has files and a shell in a sandbox), or a coding "
        "agent: codex, claude-code, opencode.",
    ),
    _word(
        "held-out case",
        "A case that the teacher does not see while it writes the skill. The verdict on a generated skill comes from "
        "these cases only.",
        "held-out",
    ),
    _word("leaks", f"A label of a case: {LABEL_MEANINGS['leaks']}."),
    _word(
        "lift",
        "The pass rate with the skill minus the pass rate without it, in points. From 20% to 50% is a lift of 30 "
        "points.",
        "lifts?",
    ),
    _word(
        "load",
        "The model got the text of an offered skill into the conversation: it read its SKILL.md, or its coding agent "
        "put it there when the model asked for it.",
        "loads?|loaded|loading",
    ),
    _word(
        "load rate",
        "The share of answers that loaded the offered skill, averaged over cases.",
    ),
    _word(
        "lift if loaded",
        "The lift of the offered skill divided by the load rate. It is shown only where the answers that did not load "
        "the skill match those without it, and loads do not go with easy or hard cases.",
    ),
    _word("no verdict", "Too many answers were lost to errors, so nothing is concluded."),
    _word(
        "other skills",
        "Skills beside the measured one, in every arm. Bundled skills come with a coding agent.",
    ),
    _word(
        "pair",
        "The same model, case and repeat, once without the skill and once with it. If either answer errored, the pair "
        "is dropped.",
        "pairs?",
    ),
    _word("points", "The unit of the difference between two percentages.", "points?"),
    _word("practice case", "A case whose failures the teacher sees while it revises the skill.", "practice"),
    _word("recall", f"A label of a case: {LABEL_MEANINGS['recall']}."),
    _word("repeat", "The same case asked again.", "repeats?"),
    _word(
        "scripted model",
        "A file of fixed answers instead of a model. It needs no key, and shows nothing about any model.",
        "scripted",
    ),
    _word("teacher", "The model that writes the skill and its cases."),
    _word("unrelated case", "A task that the skill must not change. It can only count against the skill.", "unrelated"),
    _word(
        "95% CI",
        "The 95% confidence interval: of many such intervals, 95 in 100 contain the true lift.",
        "95% CI|confidence intervals?",
    ),
)
_BY_NAME = {word.name: word for word in WORDS}


def word_link(name: str, shown: str) -> Markup:
    """The words `shown` as a link to where the word is explained; its meaning is shown where a pointer rests on it."""
    word = _BY_NAME[name]
    return Markup('<a class="word" href="#{}" title="{}">{}</a>').format(word.anchor, word.meaning, shown)


def with_link(text: str, name: str) -> Markup:
    """A text of ours in which the first use of this word is such a link."""
    found = re.search(rf"(?i)\b(?:{_BY_NAME[name].seen})\b", text)
    if found is None:
        return Markup().join([text])
    return Markup().join([text[: found.start()], word_link(name, found[0]), text[found.end() :]])


def words_on(*parts: str) -> list[Word]:
    """The words that are used in these pieces of HTML, in the order of the glossary; not those of files and answers."""
    text = " ".join(re.sub(r"(?s)<(script|pre)\b.*?</\1>|<[^>]*>", " ", str(part)) for part in parts)
    return [word for word in WORDS if re.search(rf"(?i)(?<![\w-])(?:{word.seen})(?![\w-])", text)]
