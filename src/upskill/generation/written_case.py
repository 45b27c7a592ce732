"""Reads a case as a teacher wrote it, with everything that is wrong with it in words for the teacher.

Lenient about form, since a comma must not cost a whole answer; strict about what a generated case must have: a
reference, two wrong answers, checks of the kinds that need neither a judge nor a plug-in.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from upskill.core import checks
from upskill.core.cases.family import MOST_FAMILY_CHARACTERS
from upskill.core.cases.split import WORDINGS
from upskill.core.nouns import Answer, Case, Check, Files, estimate_tokens, harness_info
from upskill.core.nouns.case import UserTurn, prompt_of
from upskill.core.nouns.skill import read_files
from upskill.core.nouns.text import shortened
from upskill.generation.draft import Clean
from upskill.generation.student import CountTokens, StudentProfile

LEAST_WRONG = 2
MOST_TURNS = 4
"""Of the user, in a conversation."""
MOST_PROMPT_CHARACTERS = 12_000
_MOST_TOPIC_CHARACTERS = 60
_REDACTED = "[redacted: "


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenCase:
    """One case of an answer: the item as it was written, the case as it was read, and what is wrong with it."""

    item: Mapping[str, Any]
    case: Case
    problems: tuple[str, ...] = ()


def read_written(
    item: Mapping[str, Any],
    *,
    wordings: tuple[str, ...] = WORDINGS,
    programs: bool = True,
    profile: StudentProfile | None = None,
    count: CountTokens = estimate_tokens,
) -> WrittenCase:
    """A case from one entry of an answer.

    `programs` says whether a check may run any; `wordings` were asked for.
    With a `profile`, task and reference must fit the student, as `count` counts their tokens.
    """
    offered = {offer.kind: offer for offer in checks.offers()}
    problems: list[str] = []

    def read_turn(item: Mapping[str, Any], problems: list[str]) -> UserTurn:
        prompt = _prompt(item, problems)
        written = _checks(item, problems)
        for check in written:
            if check.kind not in offered:
                problems.append(f"`{check.kind[:40]}` cannot be used; the kinds of check are {', '.join(offered)}")
            elif offered[check.kind].runs_programs and not programs:
                problems.append(f"`{check.kind}` cannot be run here; check the text or the files of the answer")
            else:
                problems += checks.check_problems(check)
        reference = _reference(item, problems)
        return UserTurn(prompt=prompt, checks=written, reference=reference, wrong=_wrong(item, reference, problems))

    turns = _turns(item.get("turns"), read_turn, problems)
    one = read_turn(item, problems) if not turns else UserTurn(prompt=prompt_of(turns))
    negative = item.get("negative") is True or item.get("use") == "negative"
    case = Case(
        id="",
        prompt=one.prompt,
        checks=tuple(check for turn in turns or (one,) for check in turn.checks),
        turns=turns,
        files=_files(item.get("files"), problems, where="`files`"),
        reference=one.reference,
        wrong=one.wrong,
        use="negative" if negative else None,
        family=slug(item.get("family"), MOST_FAMILY_CHARACTERS) or None,
        extra={"wording": _wording(item, wordings), "topic": _topic(item)},
    )
    for number, part in enumerate(case.parts, 1):
        found = [*_case_problems(part), *(() if profile is None else _size_problems(part, profile, count))]
        problems += [f"turn {number}: {problem}" for problem in found] if turns else found
    if turns and not problems:
        problems += checks.case_problems(replace(case, id=name_of(item)))
    return WrittenCase(item=item, case=case, problems=tuple(dict.fromkeys(problems)))


def cleaned(value: Any, clean: Clean) -> Any:
    """The value with every text in it cleaned: a teacher can repeat, or invent, a secret."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): cleaned(inner, clean) for key, inner in value.items()}
    return [cleaned(inner, clean) for inner in value] if isinstance(value, list) else value


def name_of(item: Mapping[str, Any]) -> str:
    """A short name for a case, as the teacher calls it; empty where it has none that could be used."""
    said = item.get("id", item.get("name"))
    name = slug(said, 40)
    return name if re.search(r"[a-z]", name) else ""


def slug(said: Any, most: int) -> str:
    """Lower-case words and numbers joined by hyphens; empty where nothing is said."""
    return re.sub(r"[^a-z0-9]+", "-", str(said).lower()).strip("-")[:most].strip("-") if said else ""


def _turns(
    listed: Any, read: Callable[[Mapping[str, Any], list[str]], UserTurn], problems: list[str]
) -> tuple[UserTurn, ...]:
    """The user's turns of a conversation, each but the last with or without checks; none where one task is written."""
    turns = []
    entries = listed if isinstance(listed, list) else []
    for number, entry in enumerate(entries, 1):
        found: list[str] = []
        item = entry if isinstance(entry, dict) else {"input": entry}
        bare = number < len(entries) and not item.get("checks")
        turns.append(UserTurn(prompt=_prompt(item, found)) if bare else read(item, found))
        problems += [f"turn {number}: {problem}" for problem in found]
    if entries and not 2 <= len(entries) <= MOST_TURNS:
        problems.append(f"a conversation has 2 to {MOST_TURNS} turns, not {len(entries)}")
    return tuple(turns)


def _prompt(item: Mapping[str, Any], problems: list[str]) -> str:
    prompt = item.get("input", item.get("prompt"))
    if not isinstance(prompt, str) or not prompt.strip():
        problems.append("has no `input`")
        return ""
    if len(prompt) > MOST_PROMPT_CHARACTERS:
        problems.append(f"`input` has {len(prompt):,} characters; {MOST_PROMPT_CHARACTERS:,} are allowed")
    return prompt.strip()


def _checks(item: Mapping[str, Any], problems: list[str]) -> tuple[Check, ...]:
    """`[{"contains": "a"}]`, and what models write instead: one object, or `{"kind": "contains", "value": "a"}`."""
    listed = item.get("checks", item.get("expected"))
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list) or not listed:
        problems.append('has no `checks`; they are a list such as [{"contains": "7413"}]')
        return ()
    found: list[Check] = []
    for number, entry in enumerate(listed, 1):
        if not isinstance(entry, dict) or not entry:
            problems.append(f'check {number} must be an object with one key, its kind, as {{"contains": "7413"}}')
        elif isinstance(kind := entry.get("kind"), str):
            rest = {key: value for key, value in entry.items() if key != "kind"}
            found.append(Check(kind=kind, spec=_spec(kind, rest)))
        else:
            # Constrained by a schema, some models fill in every kind and leave empty what they do not mean.
            meant = {kind: spec for kind, spec in entry.items() if spec not in (None, "", [], {})} or entry
            found += (Check(kind=str(kind), spec=_tidy(spec)) for kind, spec in meant.items())
    return tuple(found)


def _spec(kind: str, rest: dict[str, Any]) -> Any:
    """The spec from the keys beside `kind`: its only value, or the keys themselves."""
    if len(rest) == 1 and (alone := next(iter(rest))) in ("spec", "value", "text", "pattern", kind):
        return _tidy(rest[alone])
    return _tidy(rest)


def _tidy(spec: Any) -> Any:
    """A spec without empty values, with its files by path, and with the document that is written as JSON in a text."""
    if not isinstance(spec, dict):
        return spec
    meant = {key: value for key, value in spec.items() if key == "equals" or value not in (None, "", [], {}, False)}
    if "equals" in meant and "at" not in meant:
        meant["equals"] = _document(meant["equals"])
    return {**meant, "files": _by_path(meant["files"])} if "files" in meant else meant


def _document(value: Any) -> Any:
    """The object or the list that a text holds as JSON; else the value. Schemas cannot describe any object."""
    try:
        read = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return read if isinstance(read, dict | list) else value


def _by_path(listed: Any) -> Any:
    """`[{"path": "a", "text": "b"}]` as `{"a": "b"}`: what a schema can describe, as what we store."""
    if not isinstance(listed, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("path"), str) for entry in listed
    ):
        return listed
    return {entry["path"]: entry.get("text", entry.get("content", "")) for entry in listed}


def _files(value: Any, problems: list[str], *, where: str) -> Mapping[str, bytes]:
    return {} if value in (None, [], {}) else read_files(_by_path(value), problems, where=where)


def _reference(item: Mapping[str, Any], problems: list[str]) -> Answer | None:
    if item.get("reference") in (None, "", {}):
        problems.append("has no `reference`, an answer that is right")
        return None
    return _answer(item["reference"], problems, where="`reference`")


def _wrong(item: Mapping[str, Any], reference: Answer | None, problems: list[str]) -> tuple[Answer, ...]:
    listed = item.get("wrong")
    found: list[Answer] = []
    for number, entry in enumerate(listed if isinstance(listed, list) else [], 1):
        where = f"`wrong` {number}"
        if isinstance(entry, dict) and "replace" in entry:
            answer = None if reference is None else _edited(entry, reference, problems, where)
        else:
            answer = _answer(entry, problems, where=where)
        if answer is not None and answer not in found:
            found.append(answer)
    if len(found) < LEAST_WRONG:
        problems.append(f"has {len(found)} `wrong` answers that differ; at least {LEAST_WRONG} are needed")
    return tuple(found)


def _edited(edit: Mapping[str, Any], reference: Answer, problems: list[str], where: str) -> Answer | None:
    """The reference with one text replaced wherever it stands: in the file that is named, else in its text, else in the
    only file that has it."""
    old, new, path = edit["replace"], edit.get("by", ""), edit.get("file") or None
    if not isinstance(old, str) or not isinstance(new, str) or not old or old == new:
        problems.append(f"{where}: `replace` and `by` must be two texts that differ")
        return None
    texts = {name: data.decode("utf-8", "replace") for name, data in reference.files.items()}
    if path is None and old in reference.text:
        return replace(reference, text=reference.text.replace(old, new))
    places = [name for name, text in texts.items() if old in text and path in (None, name)]
    if len(places) != 1:
        found = f"is in {', '.join(places)}; name one in `file`" if places else "is not there, letter by letter"
        problems.append(
            f"{where}: {shortened(old, 60)!r} in {path or 'the `reference`'} cannot be replaced: it {found}"
        )
        return None
    return replace(reference, files={**reference.files, places[0]: texts[places[0]].replace(old, new).encode()})


def _answer(value: Any, problems: list[str], *, where: str) -> Answer | None:
    if isinstance(value, bool | int | float):
        value = str(value)
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict) or not isinstance(value.get("text") or "", str):
        problems.append(f"{where} must be a text, or an object with `text` and `files`")
        return None
    text = value.get("text") or ""
    files = _files(value.get("files"), problems, where=f"{where}: `files`")
    if not text.strip() and not files:
        problems.append(f"{where} is empty")
        return None
    return Answer(text=text, files=files)


def _wording(item: Mapping[str, Any], wordings: tuple[str, ...]) -> str:
    said = str(item.get("wording", "")).strip().casefold()
    return said if said in wordings else wordings[0]


def _topic(item: Mapping[str, Any]) -> str:
    said = item.get("topic", "")
    return " ".join(said.casefold().split())[:_MOST_TOPIC_CHARACTERS] if isinstance(said, str) else ""


def _case_problems(case: Case) -> list[str]:
    problems = []
    if case.reference is not None and case.reference in case.wrong:
        problems.append("its `reference` is also among the `wrong` answers")
    if case.reference is not None and _gives_away(case.reference, case.prompt):
        problems.append("its answer stands in `input`; ask without giving it away")
    if any(_REDACTED in text for text in _texts(case)):
        problems.append("uses a place where a secret was taken out; use an invented value that is no secret")
    return problems


def _size_problems(case: Case, profile: StudentProfile, count: CountTokens) -> list[str]:
    """What does not fit the student: its window is shared by the skill, the task and the answer."""
    problems = []
    shown = {} if harness_info(profile.harness).with_tools else case.files
    asked = count(_fenced(case.prompt, shown))
    if profile.case_tokens is not None and asked > profile.case_tokens:
        what = "`input` with `files`" if shown else "`input`"
        problems.append(f"{what} has {asked:,} tokens; this student can take {profile.case_tokens:,}: make it shorter")
    answered = 0 if case.reference is None else count(_fenced(case.reference.text, case.reference.files))
    if profile.output_tokens is not None and answered > profile.output_tokens:
        problems.append(
            f"`reference` has {answered:,} tokens; this student's answers are cut at {profile.output_tokens:,}: "
            "ask for less"
        )
    return problems


def _fenced(text: str, files: Files) -> str:
    """A text and files in the form in which a student without tools reads and writes them."""
    blocks = (f"{path}\n```\n{data.decode('utf-8', 'replace')}\n```" for path, data in files.items())
    return "\n\n".join(part for part in (text, *blocks) if part)


def _gives_away(reference: Answer, prompt: str) -> bool:
    """Whether a prompt gives its whole answer away. A single digit or letter is in every prompt."""
    if reference.files:
        return False
    wanted, asked = (" ".join(text.casefold().split()) for text in (reference.text, prompt))
    return len(wanted) >= 3 and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", asked) is not None


def _texts(case: Case) -> list[str]:
    answers = case.wrong if case.reference is None else (*case.wrong, case.reference)
    files = [data for files in (case.files, *(answer.files for answer in answers)) for data in files.values()]
    words = [case.prompt, *(str(check.spec) for check in case.checks), *(answer.text for answer in answers)]
    return words + [data.decode("utf-8", "replace") for data in files]
