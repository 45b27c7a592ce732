"""A script instead of a model: `-m scripted/<file>`. Ships with the package, so that tests, tutorials and
users' own tests need neither key nor network.

A script is a YAML, TOML or JSON file of rules. The first rule that fits the request answers it, with one of its
replies, drawn by weight from the seed: the same script gives the same answers, in whatever order it is asked.
See docs/reference/scripted.md.
"""

import json
import math
import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

import regex
import yaml

from upskill import disk
from upskill.core.nouns import Arm
from upskill.errors import UsageError

Failure = Literal["rate limit", "server", "reset", "truncated"]
FAILURES: tuple[Failure, ...] = ("rate limit", "server", "reset", "truncated")
STOPS = ("stop", "max_tokens", "content_filter", "model_length")
_SEARCH_SECONDS = 2.0
_GROUP = regex.compile(r"\\(?:g<(?P<name>\w+)>|(?P<number>\d{1,2}))")
"""A group of `reads` in the text of a reply: `\\1` or `\\g<name>`."""
_PLACEHOLDER = regex.compile(r"(?<!\\[pPN])\{([A-Za-z_]\w*)\}")
"""A group of `when` or `prompt` in `reads`: `{name}`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """One thing a script may do."""

    text: str = ""
    weight: float = 1.0
    stall_seconds: float = 0.0
    fail: Failure | None = None
    stop: str = "stop"
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """When to answer, and with which replies."""

    replies: tuple[Reply, ...]
    when: str | None = None
    """Searched in the last message: the prompt at first, then the result of the last tool."""
    prompt: str | None = None
    """Searched in the case's prompt, also when tools have answered since."""
    turn: int | None = None
    """Which answer of the trial it is, from 1 on."""
    arm: str | None = None
    reads: str | None = None
    """Searched in what the model was given beside the prompt. `{name}` is what a group of `when` or `prompt` found."""

    def fit(self, conversation: "Conversation", *, arm: str | None) -> "Fit | None":
        """What the rule found in the conversation; `None` where it does not fit."""
        if self.arm not in (None, arm) or self.turn not in (None, conversation.turn):
            return None
        groups: dict[str, str] = {}
        for pattern, text in ((self.when, conversation.last), (self.prompt, conversation.prompt)):
            if pattern is not None:
                found = regex.search(pattern, text, timeout=_SEARCH_SECONDS)
                if found is None:
                    return None
                groups |= {name: value or "" for name, value in found.groupdict().items()}
        if self.reads is None:
            return Fit()
        reads = _PLACEHOLDER.sub(lambda name: regex.escape(groups[name[1]]), self.reads)
        read = regex.search(reads, conversation.given, timeout=_SEARCH_SECONDS)
        return None if read is None else Fit(read=read)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A rule that fits, with what `reads` found."""

    read: "regex.Match[str] | None" = None

    def filled(self, text: str) -> str:
        """The text of a reply with the groups of `reads` in it. Without `reads`, the text as it is."""
        read = self.read
        if read is None:
            return text
        return _GROUP.sub(lambda group: read[group["name"] or int(group["number"])] or "", text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """A conversation as rules look at it."""

    prompt: str
    last: str
    turn: int = 1
    given: str = ""
    """What the model was given beside the prompt: the system message with skill or passage, and results of tools."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """A whole script."""

    rules: tuple[Rule, ...]
    seed: int = 0

    def reply(
        self,
        request: Sequence[str],
        *,
        arm: str | None,
        repeat: int,
        turn: int,
        conversation: Conversation | None = None,
    ) -> Reply:
        """The reply to a request; `turn` counts requests. Without a `conversation`, its last text is one."""
        if conversation is None:
            last = request[-1] if request else ""
            conversation = Conversation(prompt=last, last=last, given="\n".join(request[:-1]))
        for rule in self.rules:
            fit = rule.fit(conversation, arm=arm)
            if fit is None:
                continue
            draw = random.Random(json.dumps([self.seed, list(request), repeat, turn]))
            reply = draw.choices(rule.replies, weights=[reply.weight for reply in rule.replies])[0]
            return replace(reply, text=fit.filled(reply.text))
        return Reply(text="I do not know.")


def load_script(name: str) -> Script:
    """Read a script. Raises `UsageError` with every problem found."""
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"scripted/{name}: no such file", hint="write scripted/ and then the path of the script")
    problems: list[str] = []
    script = _script(_parse(path), problems)
    if problems or script is None:
        raise UsageError(
            f"{path}: this script cannot be used", problems=problems, hint="see docs/reference/scripted.md"
        )
    return script


def _parse(path: Path) -> object:
    try:
        text = disk.read(disk.named(path)).decode("utf-8")
        if path.suffix == ".toml":
            return tomllib.loads(text)
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        # The words of a parser quote the file: a stranger may have named a file of keys.
        mark, found = getattr(error, "problem_mark", None), re.search(r"line (\d+),? column (\d+)", str(error))
        line, column = (mark.line + 1, mark.column + 1) if mark else found.groups() if found else (None, None)
        where = "" if line is None else f": line {line}, column {column}"
        raise UsageError(f"{path}: cannot be read: it is not {path.suffix[1:].upper() or 'YAML'}{where}") from None


def _script(value: object, problems: list[str]) -> Script | None:
    if not isinstance(value, dict) or not isinstance(value.get("rules"), list) or not value["rules"]:
        problems.append("a script is a table with a list `rules`")
        return None
    _unknown_keys(value, ("seed", "rules"), "the script", problems)
    rules = [_rule(rule, f"rule {number}", problems) for number, rule in enumerate(value["rules"], 1)]
    seed = value.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        problems.append("`seed` must be a whole number")
        seed = 0
    return Script(rules=tuple(rule for rule in rules if rule is not None), seed=seed)


def _rule(value: object, where: str, problems: list[str]) -> Rule | None:
    if not isinstance(value, dict):
        problems.append(f"{where}: must be a table with `replies`")
        return None
    _unknown_keys(value, ("when", "prompt", "reads", "turn", "arm", "replies"), where, problems)
    replies = value.get("replies")
    if not isinstance(replies, list) or not replies:
        problems.append(f"{where}: needs a list `replies`")
        return None
    patterns: dict[str, str | None] = {}
    compiled: dict[str, regex.Pattern[str]] = {}
    for key in ("when", "prompt", "reads"):
        pattern = value.get(key)
        patterns[key] = None if pattern is None else str(pattern)
        try:
            # A placeholder is filled in later, with a text whose special characters are escaped.
            compiled[key] = regex.compile(
                _PLACEHOLDER.sub("x", patterns[key] or "") if key == "reads" else patterns[key] or ""
            )
        except (regex.error, ValueError, RecursionError) as error:
            problems.append(f"{where}: `{key}` does not compile: {error}")
    turn = value.get("turn")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int) or turn < 1):
        problems.append(f"{where}: `turn` must be a whole number of at least 1")
        turn = None
    arm = value.get("arm")
    if arm is not None and arm not in get_args(Arm):
        problems.append(f"{where}: `arm` must be one of {', '.join(get_args(Arm))}")
    parsed = tuple(_reply(reply, f"{where}, reply {n}", problems) for n, reply in enumerate(replies, 1))
    if not any(reply.weight for reply in parsed):
        problems.append(f"{where}: at least one reply needs a weight above 0")
    if patterns["reads"] is not None and len(compiled) == len(patterns):
        known = {*compiled["when"].groupindex, *compiled["prompt"].groupindex}
        for name in dict.fromkeys(_PLACEHOLDER.findall(patterns["reads"])):
            if name not in known:
                problems.append(f"{where}: `reads` uses {{{name}}}, and neither `when` nor `prompt` has a group {name}")
        for number, reply in enumerate(parsed, 1):
            problems += _group_problems(reply.text, compiled["reads"], f"{where}, reply {number}")
    return Rule(replies=parsed, turn=turn, arm=None if arm is None else str(arm), **patterns)


def _group_problems(text: str, reads: "regex.Pattern[str]", where: str) -> list[str]:
    """The groups that a reply uses and `reads` does not have."""
    return [
        f"{where}: `text` uses {group[0]}, and `reads` has no such group"
        for group in _GROUP.finditer(text)
        if (group["name"] not in reads.groupindex if group["name"] else int(group["number"]) > reads.groups)
    ]


def _reply(value: object, where: str, problems: list[str]) -> Reply:
    if isinstance(value, str):
        return Reply(text=value)
    if not isinstance(value, dict):
        problems.append(f"{where}: must be a text or a table")
        return Reply()
    _unknown_keys(value, tuple(_REPLY_KEYS), where, problems)
    given = {key: entry for key, entry in value.items() if key in _REPLY_KEYS}
    for key, (is_valid, wanted) in _REPLY_KEYS.items():
        if key in given and not is_valid(given[key]):
            problems.append(f"{where}: `{key}` must be {wanted}")
            return Reply()
    return Reply(**given)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


_REPLY_KEYS: dict[str, tuple[Callable[[object], bool], str]] = {
    "text": (_is_text, "a text; put it in quotes"),
    "tool": (_is_text, "a text; put it in quotes"),
    "arguments": (lambda value: isinstance(value, dict), "a table"),
    "weight": (_is_amount, "a number of at least 0"),
    "stall_seconds": (_is_amount, "a number of at least 0"),
    "fail": (lambda value: value is None or value in FAILURES, f"one of {', '.join(FAILURES)}"),
    "stop": (lambda value: value in STOPS, f"one of {', '.join(STOPS)}"),
}
"""The keys of a reply, each with its test and what it must be."""


def _unknown_keys(value: Mapping[str, object], known: Sequence[str], where: str, problems: list[str]) -> None:
    for key in value:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            guess = f"; did you mean `{near[0]}`?" if near else ""
            problems.append(f"{where}: `{key}` is not a known key{guess}")
