"""The labels `leaks` and `recall` of a case, from its prompt, its checks and the skill."""

import unicodedata

import regex

from upskill.checks import KINDS
from upskill.checks.contains import find_token
from upskill.domain import Case, Skill

_REGEX_SECONDS = 0.5


def leaked_values(case: Case) -> list[str]:
    """The expected values that the prompt contains, whatever their case, also as the beginning of a longer word.

    "feature" gives away `feat`, and "README" gives away `readme`: repeating the task gives them.
    """
    return [value for value in expected_values(case) if _gives_away(case.prompt, value)]


def leaks(case: Case) -> bool:
    """Whether the prompt contains all that is expected, and the checks look at words only."""
    if not _only_words(case):
        # Words alone do not pass a check on a file or on a program.
        return False
    values = expected_values(case)
    patterns = _patterns(case)
    if not values and not patterns:
        return False
    if len(leaked_values(case)) != len(values):
        return False
    try:
        return all(_matched(pattern, case.prompt) for pattern in patterns)
    except TimeoutError:
        return False


def recalls(case: Case, skill: Skill) -> bool:
    """Whether the skill contains the answer, word for word."""
    said = _plain(f"{skill.description}\n{skill.body}")
    values = [_plain(value) for value in expected_values(case)]
    if case.reference is not None:
        try:
            matched = [_matched(pattern, case.reference.text) for pattern in _patterns(case)]
        except TimeoutError:
            return False
        values += [_plain(found) for found in matched if found]
        values += [_plain(data.decode("utf-8", "replace")) for data in case.reference.files.values()]
    if not values or not (_only_words(case) or case.reference is not None):
        return False
    return all(value and find_token(value, said) is not None for value in values)


def expected_values(case: Case) -> list[str]:
    """The words that an answer must hold."""
    return [value.strip() for check in case.checks for value in KINDS[check.kind].expected(check.spec) if value.strip()]


def _only_words(case: Case) -> bool:
    return all(KINDS[check.kind].only_words for check in case.checks)


def _patterns(case: Case) -> list[str]:
    found = (KINDS[check.kind].pattern(check.spec) for check in case.checks)
    return [pattern for pattern in found if pattern is not None]


def _gives_away(prompt: str, value: str) -> bool:
    """Whether a text holds a value as whole tokens, or as the beginning of a word. A number must be whole."""
    prompt, value = _folded(prompt), _folded(value)
    if find_token(value, prompt) is not None:
        return True
    if len(value) < 3 or not value[-1].isalpha():
        return False
    start = prompt.find(value)
    while start >= 0:
        if start == 0 or not (prompt[start - 1].isalnum() or prompt[start - 1] == "_"):
            return True
        start = prompt.find(value, start + 1)
    return False


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _plain(text: str) -> str:
    """The text in NFC form, without marks of Markdown, and with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).replace("`", " ").replace("**", " ").split())


def _matched(pattern: str, text: str) -> str | None:
    """What a pattern matched. Raises `TimeoutError` where it takes too long: others would take as long again."""
    try:
        found = regex.search(pattern, text, timeout=_REGEX_SECONDS)
    except regex.error:
        return None
    return found.group(0) if found else None
