"""The frame of every page of ours: escaping, templates, folds, the words that it explains, what may run on it."""

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from upskill import disk
from upskill.core.nouns.case import LABEL_MEANINGS, Json
from upskill.report.dumbbell import DARK, LIGHT, dumbbell_css

if TYPE_CHECKING:
    from jinja2 import Environment

_NOT_SHOWN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
    # Marks that reverse what stands beside them: a failed check could be made to read as a passed one.
    r"\u202a-\u202e\u2066-\u2069]"
)


def plain(text: str) -> str:
    """Text without what cannot be shown, or would show something else than it says."""
    return _NOT_SHOWN.sub("\ufffd", text)


def escaped(text: object) -> str:
    """Text that is only text, in an element or in a quoted attribute."""
    return html.escape(plain(str(text)), quote=True)


def json_in_html(value: Json) -> str:
    """JSON that no parser of HTML can take for anything else: it holds no `<`, `>` or `&`."""
    text = plain(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


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
        "Codex, Claude Code, opencode or Qwen Code, as you have installed it. upskill runs it in the sandbox with the "
        "model that is measured.",
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
        "agent: codex, claude-code, opencode, qwen-code.",
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


def render(template: str, **values: object) -> Markup:
    """The HTML of `templates/TEMPLATE`. A name that the template uses and nobody gave is an error, never a gap."""
    return Markup(_environment().get_template(template).render(values))


def _shown(value: object) -> object:
    """A value without characters that cannot be shown; HTML stays HTML, and a number a number."""
    if isinstance(value, Markup):
        return Markup(plain(value))
    return plain(value) if isinstance(value, str) else value


@cache
def _environment() -> "Environment":
    # Loaded where a page is made: no other command pays for it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("upskill.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(word=word_link, with_link=with_link)
    return environment


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """A title, what is found inside in a few words, and the inside."""

    name: str
    title: str
    finding: str
    body: Markup


def words_fold(*parts: str) -> Fold | None:
    """The words that these pieces of HTML use; `None` where they use none that needs it."""
    words = words_on(*parts)
    if not words:
        return None
    names = [word.name for word in words]
    return Fold(
        name="words", title="Words on this page", finding=", ".join(names), body=render("words.html", words=words)
    )


def words_section(*parts: str) -> Markup:
    """The same where a page has no other folds."""
    fold = words_fold(*parts)
    return render("details.html", folds=[] if fold is None else [fold])


STYLES = ("page.css", "changed.css", "skill.css", "feedback.css")
"""The frame first, then what each section adds."""
SCRIPTS = ("page.js", "changed.js", "feedback.js")
"""One script in this order: the others use what is in the first."""


def shell(title: str, body: Markup, *, script: bool) -> str:
    """A whole page. No style and no script but ours can take effect on it."""
    style, code = _style(), _joined(SCRIPTS) if script else ""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(code)}'" if script else "script-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    page = render("shell.html", title=title, body=body, policy=Markup(policy), style=Markup(style), script=Markup(code))
    return str(page)  # text from here on: what is added to it later is not to be escaped


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _joined(names: tuple[str, ...]) -> str:
    return "\n".join(disk.packaged("upskill.report.html", name) for name in names)


@cache
def _style() -> str:
    """The style sheet, with the colours of the pictures in it: one palette for both."""
    light = "".join(f"--{meaning}:{colour};" for meaning, colour in LIGHT.items())
    dark = "".join(f"--{meaning}:{colour};" for meaning, colour in DARK.items())
    schemes = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return schemes + dumbbell_css() + _joined(STYLES)
