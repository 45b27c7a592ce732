"""Trigger prompts beside the cases of a skill: `evals/triggers.json`, which no measured model ever sees.

The community's form, a list of `{"query": …, "should_trigger": …}`, is read as well.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import get_args

from upskill import disk
from upskill.core.cases.family import family_problem
from upskill.core.foreign_json import read_json
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.nouns.text import count, on_one_line, whole_characters
from upskill.core.nouns.trigger import TriggerPrompt, TriggerUse
from upskill.core.skills.skill_files import require_inside, skill_invalid
from upskill.errors import EngineError, UsageError

TRIGGERS_FORMAT = "upskill.triggers/1"
TRIGGERS_FILE = "evals/triggers.json"
_FILE_KEYS = ("format", "prompts", "written_by")
_KEYS = ("id", "prompt", "query", "should_load", "should_trigger", "use", "family", "why")
_USES: tuple[TriggerUse, ...] = get_args(TriggerUse)
_MOST_ID_CHARACTERS = 100
_EXAMPLE = 'a prompt looks like {"prompt": "…", "should_load": true}; see docs/how-to/check-when-a-skill-loads.md'


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerFile:
    """The trigger prompts of one file, and where they came from."""

    path: Path
    prompts: tuple[TriggerPrompt, ...]
    written_by: Mapping[str, Json] = field(default_factory=dict)
    """Which model wrote them, when and for which version of the skill; empty for prompts of a person."""


def triggers_path(skill: Path) -> Path:
    """Where the trigger prompts of a skill lie."""
    return (skill.parent if skill.name == SKILL_FILE else skill) / TRIGGERS_FILE


def read_skill_triggers(skill: Path) -> TriggerFile | None:
    """The trigger prompts that travel with a skill; `None` where there are none."""
    path = triggers_path(skill)
    if not path.is_file():
        return None
    require_inside(path.parent.parent, path)
    return read_trigger_file(path)


def read_trigger_file(path: Path) -> TriggerFile:
    """Read a file of trigger prompts. Raises `SkillInvalid` with every problem found."""
    try:
        is_file = path.is_file()
    except OSError:  # a name no file system could hold
        is_file = False
    if not is_file:
        raise UsageError(f"{on_one_line(str(path))}: no such file", hint=_EXAMPLE)
    try:
        value = read_json(disk.named(path))
    except ValueError as error:
        raise skill_invalid(f"{path}: the trigger prompts cannot be read", [str(error)]) from None
    problems: list[str] = []
    written_by: Mapping[str, Json] = {}
    items = value
    if isinstance(value, dict):
        items = value.get("prompts")
        problems += [_unknown(key, _FILE_KEYS) for key in value if key not in _FILE_KEYS]
        if value.get("format", TRIGGERS_FORMAT) != TRIGGERS_FORMAT:
            problems.append(f"has the format {value['format']!r}; this version reads {TRIGGERS_FORMAT}")
        by = value.get("written_by")
        written_by = by if isinstance(by, dict) else {}
    if not isinstance(items, list):
        problems.append('must be a list of prompts, or {"prompts": […]}')
        items = []
    elif not items:
        problems.append("it has no prompts")
    prompts = [_prompt(item, f"prompt {number}", problems) for number, item in enumerate(items, 1)]
    read = _named([prompt for prompt in prompts if prompt is not None], problems)
    if problems:
        where = f"{path}: {count(len(problems), 'problem')} in the trigger prompts"
        raise skill_invalid(where, problems, hint=_EXAMPLE)
    return TriggerFile(path=path, prompts=read, written_by=written_by)


def _named(prompts: list[TriggerPrompt], problems: list[str]) -> tuple[TriggerPrompt, ...]:
    """Each with an id. One without is named by its content, so that the name survives reordering the file."""
    named = [prompt if prompt.id else replace(prompt, id=f"prompt-{prompt.digest[:12]}") for prompt in prompts]
    ids = [prompt.id for prompt in named]
    twice = {name for name in ids if ids.count(name) > 1}
    problems += [f"two prompts have the id `{name[:40]}`" for name in dict.fromkeys(ids) if name in twice]
    asked: dict[str, str] = {}
    for prompt in named:
        # A copy is no further evidence, not right under both labels, and not held out if the other is practice.
        other = asked.setdefault(" ".join(prompt.prompt.split()), prompt.id)
        if other != prompt.id:
            problems.append(f"`{other[:40]}` and `{prompt.id[:40]}` are the same prompt")
    return tuple(named)


def _prompt(item: Json, where: str, problems: list[str]) -> TriggerPrompt | None:
    if not isinstance(item, dict):
        problems.append(f"{where}: must be an object with `prompt` and `should_load`")
        return None
    mine = [_unknown(key, _KEYS) for key in item if key not in _KEYS]
    text = item.get("prompt", item.get("query"))
    should = item.get("should_load", item.get("should_trigger"))
    name, use, family, why = (item.get(key) for key in ("id", "use", "family", "why"))
    if not isinstance(text, str) or not text.strip():
        mine.append("`prompt` must be a text" if text is not None else "has no `prompt`")
    elif whole_characters(text) != text:
        mine.append("contains a lone surrogate (half a character), which cannot be sent to a model")
    if not isinstance(should, bool):
        mine.append("`should_load` must be true or false" if should is not None else "has no `should_load`")
    if name is not None and (isinstance(name, bool) or not isinstance(name, str | int)):
        mine.append("`id` must be a string or a whole number")
    elif name is not None and (len(str(name)) > _MOST_ID_CHARACTERS or not str(name).isprintable()):
        mine.append(f"the id must be at most {_MOST_ID_CHARACTERS} printable characters")
    if use is not None and use not in _USES:
        mine.append(f"`use` must be one of {', '.join(_USES)}")
    if family is not None and (problem := family_problem(family)) is not None:
        mine.append(problem)
    problems += [f"{where}: {problem}" for problem in mine]
    if mine:
        return None
    return TriggerPrompt(
        id="" if name is None else str(name),
        prompt=str(text),
        should_load=bool(should),
        use=next((known for known in _USES if known == use), None),
        family=str(family).strip() if family is not None else None,
        why=why if isinstance(why, str) else "",
    )


def _unknown(key: str, known: Iterable[str]) -> str:
    near = get_close_matches(key, list(known), n=1)
    return f"`{key[:40]}` is not a known key" + (f"; did you mean `{near[0]}`?" if near else "")


def triggers_text(prompts: Iterable[TriggerPrompt], *, written_by: Mapping[str, Json] | None = None) -> str:
    """Trigger prompts as they stand in a file."""
    items = [
        {
            "id": prompt.id,
            "prompt": prompt.prompt,
            "should_load": prompt.should_load,
            **({} if prompt.use is None else {"use": prompt.use}),
            **({} if prompt.family is None else {"family": prompt.family}),
            **({"why": prompt.why} if prompt.why else {}),
        }
        for prompt in prompts
    ]
    value = {"format": TRIGGERS_FORMAT, **({"written_by": dict(written_by)} if written_by else {}), "prompts": items}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_trigger_file(
    path: Path, prompts: Iterable[TriggerPrompt], *, written_by: Mapping[str, Json] | None = None
) -> None:
    """Write trigger prompts, whole or not at all."""
    text = triggers_text(prompts, written_by=written_by)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write(path, text)
    except OSError as error:
        raise EngineError(f"{path}: the trigger prompts cannot be written to it ({error.strerror})") from error
