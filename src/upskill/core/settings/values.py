"""Every setting with its default, and what a value of it may be."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, get_type_hints

from upskill.core.nouns.harness import harness_choices
from upskill.errors import SettingsError

PREFIX = "UPSKILL_"
PROJECT_FILE = "upskill.toml"
TRUST_VARIABLE = "UPSKILL_TRUST"
NOT_SETTINGS = frozenset({"UPSKILL_ENDPOINT_KEY", "UPSKILL_TEACHER_KEY", TRUST_VARIABLE, "UPSKILL_SANDBOX_IMAGE"})
"""Variables with our prefix that are no settings: keys, the digests of files that are trusted, the sandbox's image."""
URLS = ("base_url", "teacher_base_url")


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a URL or an alias comes from that was not typed with the command."""

    where: str
    """For a person: `base_url in ./upskill.toml`, or the name of a variable."""
    keys: bool = True
    """Whether a key may be sent to the URL."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What can be set once instead of typed each time."""

    models: tuple[str, ...] = ()
    """Models to evaluate when `-m` is not given."""
    judge: str | None = None
    """The model that decides `judge` checks. Without it, cases with such checks are refused."""
    judge_is_student: bool = False
    """Allow a model to judge its own answers. Every result then says so."""
    base_url: str | None = None
    """An OpenAI-compatible endpoint for the models that are measured. Every model name is sent there."""
    teacher: str | None = None
    """The model that writes skills. Default: the strongest model that has a key."""
    teacher_base_url: str | None = None
    """An OpenAI-compatible endpoint for the teacher."""
    test_gen_model: str | None = None
    """The model that writes cases. Default: the teacher."""
    cases: str = "10+32+4"
    """How many cases are written: practice, held-out and unrelated ones."""
    trigger_prompts: str = "12+24"
    """How many trigger prompts of each kind are written: practice and held-out ones."""
    runs_dir: str = "runs"
    """The folder for run folders."""
    skills_dir: str = "skills"
    """The folder that `upskill list` searches and `generate` saves to."""
    concurrency: int = 8
    """Concurrent calls per model."""
    temperature: float | None = None
    """Sampling temperature. Default: the model's own."""
    max_output_tokens: int = 2048
    """Maximum tokens of one answer."""
    seed: int = 0
    """Seed for the order of the cases in each repeat."""
    attempt_timeout_seconds: int = 300
    """Timeout of one request to a model."""
    call_timeout_seconds: int = 900
    """Timeout of one call with all its retries."""
    text_calls: bool = True
    """Read tool calls that a model behind a base URL writes as text."""
    max_retries: int = 4
    """Maximum retries of a request that failed in transport."""
    max_retry_wait_seconds: int = 60
    """Maximum wait between two retries, even if a server asks for more."""
    max_cost: float | None = 5.0
    """Stop at this cost in dollars. It has no effect where the price is unknown."""
    max_calls: int | None = None
    """Stop after this many requests, retries included."""
    max_total_tokens: int | None = None
    """Stop after this many tokens, input and output."""
    max_time_minutes: float | None = None
    """Stop after this many minutes."""
    among: tuple[str, ...] = ()
    """Other skills beside the one whose description `generate --description-only` revises, as `trigger --among` names
    them."""
    wait: bool = True
    """Wait for the answers of a hand-off. Otherwise `generate` writes the questions and exits."""
    anyway: bool = False
    """`generate` continues even if no skill can help these models, or nothing is left to fix."""
    store: bool = True
    """Reuse cached answers to the same request."""
    store_days: float = 7.0
    """Maximum age of a cached answer, in days."""
    ledger: str | None = None
    """The file that counts looks at the same cases; a team can commit it. Default: a file beside the cache."""
    ceiling: bool = False
    """`eval` also measures without the skill but with the passage that each case names."""
    harness: str = "auto"
    """How models work: `chat`, `agent` (with tools), `codex`, `claude-code`, `opencode` or `qwen-code` (in that
    coding agent), or `auto`, which gives tools where cases need them."""
    agent_bin: str | None = None
    """The program of the coding agent that `harness` names. Default: the one on the search path."""
    max_turns: int = 30
    """Maximum turns of a model with tools per answer. A model that needs more has failed."""
    max_trial_tokens: int = 200_000
    """Maximum tokens of a model with tools per answer, input and output. A coding agent has its own instructions in
    every turn; these come on top."""
    max_trial_minutes: float = 10.0
    """Maximum minutes of a model with tools per answer. Waiting for a busy provider does not count."""
    command_seconds: int = 60
    """Maximum seconds of one command that a model with tools runs."""
    report: bool = True
    """Write `report.html` at the end of a run."""
    aliases: Mapping[str, str] | None = None
    """Short names for models, as a table. They override the built-in ones."""
    untyped: Mapping[str, Origin] = field(default_factory=dict, compare=False)
    """Not a setting: where `base_url`, `teacher_base_url` and `aliases` come from, if they were not typed."""


_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_COUNTS = re.compile(r"\d{1,4}(\+\d{1,4}){2}")
_PROMPTS = re.compile(r"\d{1,3}\+0*[1-9]\d{0,2}")
_TYPES: dict[str, Any] = get_type_hints(Settings)
NAMES = tuple(one.name for one in fields(Settings) if one.name != "untyped")


def known_name(name: str, *, where: str) -> str:
    """The name of a setting. Raises, with the nearest one, if there is no such setting."""
    if name in NAMES:
        return name
    near = get_close_matches(name, NAMES, n=1)
    raise SettingsError(
        f"{where}: there is no setting `{name}`",
        hint=f"did you mean `{near[0]}`?" if near else "`upskill settings` lists them all",
    )


def value_from_text(name: str, text: str, *, where: str) -> object:
    """The value that a variable has as text. Raises `SettingsError` where it cannot be one."""
    wanted = _TYPES[name]
    try:
        if wanted == tuple[str, ...]:
            return tuple(part.strip() for part in text.split(",") if part.strip())
        if wanted in (int, int | None):
            return checked_value(name, int(text), where=where)
        if wanted in (float, float | None):
            return checked_value(name, float(text), where=where)
        if wanted is bool:
            return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise SettingsError(f"{where}: `{name}` must be true or false, not {text!r}") from None
    except ValueError:
        raise SettingsError(f"{where}: `{name}` must be a number, not {text!r}") from None
    if name == "aliases":
        raise SettingsError(f"{where}: aliases can only be set in a file", hint=f"set them in {PROJECT_FILE}")
    return checked_value(name, text, where=where)


def checked_value(name: str, value: object, *, where: str) -> object:
    """The value, in the type of its setting. Raises `SettingsError` where it cannot be one."""
    wanted = _TYPES[name]
    if wanted is bool and isinstance(value, bool):
        return value
    if wanted in (int, int | None) and isinstance(value, int) and not isinstance(value, bool):
        least = 0 if name in ("seed", "max_retries") else 1
        if value < least:
            raise SettingsError(f"{where}: `{name}` must be at least {least}, not {value}")
        return value
    if wanted in (float, float | None) and isinstance(value, int | float) and not isinstance(value, bool):
        most = 2.0 if name == "temperature" else math.inf
        if not 0 <= value <= most or math.isinf(value):
            wanted_range = "between 0 and 2" if name == "temperature" else "at least 0"
            raise SettingsError(f"{where}: `{name}` must be {wanted_range}, not {value:g}")
        return float(value)
    if wanted in (str, str | None) and isinstance(value, str):
        if name == "harness" and value not in (choices := harness_choices()):
            raise SettingsError(f"{where}: `{name}` must be one of {', '.join(choices)}, not {value!r}")
        if name == "trigger_prompts" and not _PROMPTS.fullmatch(value.strip()):
            raise SettingsError(f"{where}: `{name}` must be like 12+24, not {without_secrets(repr(value))}")
        if name == "cases" and not _COUNTS.fullmatch(value.strip()):
            raise SettingsError(f"{where}: `{name}` must be like 10+32+4, not {without_secrets(repr(value))}")
        return value
    if wanted == tuple[str, ...] and isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return tuple(value)
    if name == "aliases" and isinstance(value, dict) and all(isinstance(v, str) for v in value.values()):
        return value
    raise SettingsError(f"{where}: `{name}` cannot be {without_secrets(repr(value))}")


def without_secrets(text: str) -> str:
    """The text with passwords and queries of URLs hidden, to be shown or recorded."""
    text = re.sub(r"(^['\"\[]*(?:\w+://)?|://)[^\s'\"]*@", r"\1[hidden]@", text)
    return re.sub(r"(://[^\s'\"?]*\?)[^\s'\"]+", r"\1[hidden]", text)
