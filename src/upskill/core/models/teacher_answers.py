"""Asks a teacher and reads its answers as values. Reports what was wrong, asks again, and then gives up.

Models think aloud, greet, use fences, write YAML instead of JSON, or leave trailing commas. All of that is read.
Nothing is made up: an answer without the value is unusable, with a reason that a teacher can act on. A weak local
teacher must not crash anything: every fault of its answers becomes a value or one line of error."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

import yaml

from upskill.core.models import Ask, Message, Question, Reply
from upskill.core.nouns.answer_schemas import allow_seconds, errors_of, require_time, without_thinking
from upskill.core.skills.markdown import Fence, fence_after
from upskill.errors import UpskillError

MOST_CHARACTERS = 400_000
"""Far more than a skill or a set of cases needs: a model that writes more did not stop."""
MOST_YAML_CHARACTERS = 60_000
MOST_YAML_OPENINGS = 2_000
MOST_FENCES = 5
"""YAML is read slowly, and only where JSON was not found: these bound the time to a few seconds."""
SECONDS_TO_COMPARE = 2.0
"""Time of this thread for one comparison with the schema: a hundred times what a long answer needs."""
MOST_DEPTH = 30
_MOST_STARTS = 60
MOST_PROBLEMS = 8
_TYPE_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "boolean": "true or false",
}


class UnusableAnswer(Exception):
    """An answer that cannot be used, and everything that is wrong with it, in words for its writer."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def value_in(text: str, schema: Mapping[str, Any], *, cut: bool = False) -> dict[str, Any]:
    """The one object of an answer that fits the schema. Raises `UnusableAnswer`.

    Of several that fit, the last: examples and second thoughts come before it. `cut` says that the answer was not
    finished: then only complete JSON is read, because YAML does not show where it is complete.
    """
    if len(text) > MOST_CHARACTERS:
        raise UnusableAnswer([f"it is {len(text):,} characters long; {MOST_CHARACTERS:,} are read"])
    meant = without_thinking(text)
    if not meant:
        raise UnusableAnswer(["it is empty" if not text.strip() else "it holds thoughts only, and no answer"])
    found = list(_json_values(meant)) or (list(_json_values(text)) if meant != text else [])
    try:
        fitting = _fitting(found, schema)
        if fitting is None and not cut:
            fitting = _fitting(list(_yaml_values(meant)), schema)
        problems = [] if fitting is not None else _problems(meant, found, schema)
    except TimeoutError:
        fitting, problems = None, ["it takes too long to compare it with the form asked for; shorten it"]
    if fitting is None:
        raise UnusableAnswer(problems)
    return fitting


def _fitting(found: list[Any], schema: Mapping[str, Any]) -> dict[str, Any] | None:
    allow_seconds(SECONDS_TO_COMPARE)
    for value in reversed(found):
        whole = _fitted(value, schema)
        if isinstance(whole, dict) and not _fit_problems(whole, schema):
            return whole
    return None


def _problems(text: str, found: list[Any], schema: Mapping[str, Any]) -> list[str]:
    """What is wrong with the largest object that could be read, or why none could."""
    objects = [value for value in found if isinstance(value, dict)]
    start = text.find("{")
    if start >= 0:
        try:
            repaired(_DECODER.raw_decode(text, start)[0])
        except json.JSONDecodeError as error:
            line = text.count("\n", 0, error.pos) + 1
            near = " ".join(text[max(0, error.pos - 30) : error.pos + 30].split())
            return [f"it is not valid JSON: {error.msg.lower()} at line {line}, near {near!r}"]
        except (ValueError, RecursionError):
            return ["it is not JSON that can be read: nested too deeply, or a number that is none"]
    if not objects:
        return ["it holds no JSON object"]
    allow_seconds(SECONDS_TO_COMPARE)
    largest = max(objects, key=lambda value: len(repr(value)))
    return _fit_problems(_fitted(largest, schema), schema) or ["it holds no JSON object of the form asked for"]


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
"""Accepts line breaks inside strings, which weak models leave unescaped."""


def _json_values(text: str) -> Iterator[Any]:
    """Every outermost object or list, in order."""
    position = 0
    for _ in range(_MOST_STARTS):
        start = min((at for at in (text.find("{", position), text.find("[", position)) if at >= 0), default=-1)
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
            value = repaired(value)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        position = end
        yield value


def _yaml_values(text: str) -> Iterator[Any]:
    """The text and its code blocks as YAML, which also reads JSON with trailing commas or comments."""
    if len(text) > MOST_YAML_CHARACTERS:
        return
    texts = list(_fenced(text))[:MOST_FENCES]
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        texts.append(text[start : end + 1])
    opened = text.find("---\n")
    if opened >= 0:
        texts.append(text[opened:].split("\n---\n")[0])
    for candidate in (text, *texts):
        if candidate.count("[") + candidate.count("{") + candidate.count("&") > MOST_YAML_OPENINGS:
            continue
        try:
            value = repaired(yaml.load(candidate, Loader=_Yaml))
        except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
            continue
        if isinstance(value, dict | list):
            yield value


def _fenced(text: str) -> Iterator[str]:
    """The content of each code block, in order."""
    fence: Fence | None = None
    inside: list[str] = []
    for line in text.split("\n"):
        before, fence = fence, fence_after(line, fence)
        if before is None:
            inside = []
        elif fence is None:
            yield "\n".join(inside)
        else:
            inside.append(line)


class _Yaml(yaml.SafeLoader):
    """Reads only JSON types: `no` and `2026-01-01` are strings, and aliases are refused."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuses aliases: a few lines of them can expand to gigabytes."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "an alias is not read here", None)
        return super().compose_node(parent, index)


for _tag, _pattern, _first in (
    ("bool", r"(?:true|false)\Z", "tf"),
    ("int", r"-?(?:0|[1-9][0-9]{0,17})\Z", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17}\Z", "-0123456789"),
    ("null", r"(?:null|~|)\Z", ["n", "~", ""]),
):
    _Yaml.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def repaired(value: Any, *, depth: int = MOST_DEPTH) -> Any:
    """The value with whole characters, one kind of line end, and texts as keys. Raises `ValueError` if too deep."""
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return _repaired_text(value)
    if isinstance(value, dict):
        return {_repaired_text(str(key)): repaired(inner, depth=depth - 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [repaired(inner, depth=depth - 1) for inner in value]
    return value if isinstance(value, bool | int | float | None) else str(value)


def _repaired_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return "".join(character for character in text if character >= " " or character in "\n\t")


def _fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value without what is plainly too much: unknown keys, and nulls where nothing is required.

    A bare list becomes an object whose only required key is a list; a number becomes a string where the schema has one;
    a string becomes a list of one where the schema has a list of strings.
    """
    require_time()
    if schema.get("type") == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if schema.get("type") == "array" and isinstance(value, str) and schema.get("items", {}).get("type") == "string":
        return [value] if value.strip() else []
    if isinstance(value, list) and schema.get("type") == "object":
        lists = [key for key, inner in schema.get("properties", {}).items() if inner.get("type") == "array"]
        if len(lists) == 1 and set(schema.get("required", lists)) == set(lists):
            value = {lists[0]: value}
    if isinstance(value, dict) and "properties" in schema:
        known, needed = schema["properties"], schema.get("required", ())
        strict = schema.get("additionalProperties") is False
        return {
            key: _fitted(inner, known.get(key, {}))
            for key, inner in value.items()
            if (key in known or not strict) and (inner is not None or key in needed)
        }
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [_fitted(inner, schema["items"]) for inner in value]
    return value


def _fit_problems(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """The first few problems of a value; empty when it fits the schema."""
    try:
        found = [_in_words(_nearest(error)) for error in islice(errors_of(schema, value), MOST_PROBLEMS)]
    except RecursionError:
        return ["it is nested too deeply"]
    return list(dict.fromkeys(found))


def _nearest(error: Any) -> Any:
    """Where a value may have several forms and has none of them, the problem of the form that comes nearest."""
    deepest = max(error.context or (error,), key=lambda inner: len(inner.absolute_path))
    return _nearest(deepest) if len(deepest.absolute_path) > len(error.absolute_path) else error


def _in_words(error: Any) -> str:
    """The problem without the value itself, which may be a whole skill."""
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(".")
    place = f"`{where}`" if where else "the answer"
    wanted, got = error.validator_value, error.instance
    match error.validator:
        case "required":
            missing = [key for key in wanted if key not in got]
            return f"{place} lacks {', '.join(f'`{key}`' for key in missing)}"
        case "type":
            return f"{place} must be {_TYPE_NAMES.get(wanted, wanted)}, not {_type_name(got)}"
        case "enum":
            return f"{place} must be one of {', '.join(map(str, wanted))}, not {str(got)[:60]!r}"
        case "anyOf":
            forms = (_with_keys(form) or _TYPE_NAMES.get(form.get("type"), str(form.get("type"))) for form in wanted)
            return f"{place} must be one of: {', '.join(forms)}"
        case "maxItems":
            return f"{place} has {len(got):,} items; at most {wanted:,} are allowed"
        case "minItems":
            return f"{place} has {len(got):,} items; at least {wanted:,} are needed"
        case _:
            return f"{place}: {' '.join(str(error.message).split())[:160]}"


def _with_keys(form: Mapping[str, Any]) -> str:
    return " with ".join(f"`{key}`" for key in form.get("required", ()))


def _type_name(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    kinds: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "a text",
        int: "a whole number",
        float: "a number",
    }
    return kinds[type(value)]


REPAIRS = 2
MOST_QUOTED = 60_000
"""Characters of an unusable answer that its writer is shown again: enough to repair it instead of rewriting it."""
MOST_QUOTED_OF_ENDLESS = 2_000
LARGE_ANSWER = 8_192
"""Output tokens from which a window is assumed to be large enough for an answer and another one after it."""
T = TypeVar("T")


class TeacherUnusable(UpskillError):
    """A teacher gave no usable answer in any of its tries. Nothing of what it said was saved."""


def ask_for(
    ask: Ask,
    question: Question,
    read: Callable[[str], T],
    *,
    repairs: int = REPAIRS,
    told: Callable[[T], Sequence[str]] = lambda _: (),
) -> T:
    """The answer to one question, as `read` makes it. Raises `TeacherUnusable` after so many repairs.

    `read` is given the text without thoughts; where the question has a schema, the text is exactly one JSON object
    that fits it, so `json.loads` cannot fail. It raises `UnusableAnswer`, whose problems go to the teacher. `told` are
    lines about an answer for a writer who wants to know before it counts.
    """
    (answer,) = ask_for_each(ask, [question], read, repairs=repairs, told=lambda _, value: told(value))
    if isinstance(answer, UnusableAnswer):
        raise TeacherUnusable(
            f"the teacher gave no usable answer ({question.purpose}, asked {repairs + 1} times): {_told(answer)}",
            hint="choose a stronger teacher with --model",
        )
    return answer


def ask_for_each(
    ask: Ask,
    questions: Sequence[Question],
    read: Callable[[str], T],
    *,
    repairs: int = REPAIRS,
    enough: Mapping[str, Any] | None = None,
    told: Callable[[int, T], Sequence[str]] = lambda *_: (),
) -> list[T | UnusableAnswer]:
    """The answers in the order of the questions, asked at the same time; `UnusableAnswer` where the last try failed.

    Where `enough` is given, an answer that fits it is read: a question may ask for more than its answer must have.
    `told` are lines about an answer before it counts; it raises `UnusableAnswer` where more is wrong than its form.
    """

    def previewed(number: int, question: Question) -> Question:
        def preview(text: str) -> tuple[bool, Sequence[str]]:
            answer = _read(question, Reply(text=text), read, enough)
            try:
                return (False, answer.problems) if isinstance(answer, UnusableAnswer) else (True, told(number, answer))
            except UnusableAnswer as unusable:
                return False, unusable.problems

        return replace(question, preview=preview)

    questions = [previewed(number, question) for number, question in enumerate(questions)]
    answers: dict[int, T | UnusableAnswer] = {}
    open_questions = dict(enumerate(questions))
    for _ in range(repairs + 1):
        if not open_questions:
            break
        replies = ask(tuple(open_questions.values()))
        for number, reply in zip(tuple(open_questions), replies, strict=True):
            answers[number] = answer = _read(questions[number], reply, read, enough)
            if isinstance(answer, UnusableAnswer):
                open_questions[number] = _again(questions[number], reply, answer)
            else:
                del open_questions[number]
    return list(answers.values())


def _read(
    question: Question, reply: Reply, read: Callable[[str], T], enough: Mapping[str, Any] | None
) -> T | UnusableAnswer:
    """The value of the answer, or why there is none. A cut answer is reported as that: it explains what follows."""
    try:
        if question.schema is not None:
            value = value_in(reply.text, enough or question.schema, cut=reply.cut)
            return read(json.dumps(value, ensure_ascii=False))
        text = without_thinking(reply.text)
        if not text:
            raise UnusableAnswer(["it is empty"])
        if reply.cut:
            raise UnusableAnswer([])
        return read(text)
    except UnusableAnswer as unusable:
        if reply.cut:
            return UnusableAnswer([f"it was cut at {question.max_output_tokens:,} tokens: be much shorter"])
        return unusable


def _again(question: Question, reply: Reply, unusable: UnusableAnswer) -> Question:
    """The first question, the last answer and its problems: the conversation does not grow with each try."""
    most = MOST_QUOTED_OF_ENDLESS if reply.cut else _quotable(question)
    said = reply.text.strip() or "(nothing)"
    if len(said) > most:
        said = f"{said[:most]}\n[… {len(said) - most:,} more characters]"
    problems = "\n".join(f"- {problem}" for problem in unusable.problems)
    form = (
        "the whole JSON object, mended, and nothing else" if question.schema is not None else "the whole answer, mended"
    )
    return question.followed_by(
        Message(role="assistant", text=said),
        Message(role="user", text=f"This answer cannot be used:\n{problems}\n\nAnswer again: {form}."),
    )


def _quotable(question: Question) -> int:
    """Characters of an answer that fit into the next question: few where short answers suggest a small window."""
    tokens = question.max_output_tokens
    return min(MOST_QUOTED, 4 * tokens) if tokens >= LARGE_ANSWER else tokens


def _told(unusable: UnusableAnswer) -> str:
    return " ".join(unusable.problems[0].split()) if unusable.problems else "no reason"
