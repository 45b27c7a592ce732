"""Grades known good and bad answers to one case, no more often than it must: a sandbox costs time."""

import re
import time
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from threading import Event

import regex

from upskill.core.cases.mutants import content_key
from upskill.core.checks import KINDS, GradingContext, grade
from upskill.core.checks.contains import find_token
from upskill.core.nouns import Answer, Case, Check, CheckResult, Skill
from upskill.errors import UpskillError

GRADINGS = 3
"""How often one answer is graded to see whether the checks are deterministic."""
GRADINGS_BY_CHANCE = 12
"""The same where the check or the reference mentions chance, time or sets: three equal results prove little."""

MOST_CRASHES = 3
"""After this many a check is assumed to break on every answer."""
MOST_SECONDS = 5.0
"""Processor time for all gradings of a case, without its programs. One slow pattern or schema ends it earlier."""
LEAST_SECONDS = 1.0
"""What a mutant's program may take beside three times what the reference's took."""

_MENTIONS_CHANCE = re.compile(
    r"(?i)rand|shuf|choice|sample|uuid|time|date|clock|\bnow\b|sleep|\bset\(|hash|thread|async|\bpid\b|\$\$|tempfile|mktemp"
)
_FENCE = re.compile(r"```|~~~")


class CheckCrashed(Exception):
    """A check broke on an answer: nothing was measured. Says on which, and how."""


class CheckTooSlow(Exception):
    """A pattern or a schema ran out of time on a known answer, or all of them together did. Ends the examination."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Disagreement:
    """A check that gave different results for one answer."""

    kind: str
    passed: int
    gradings: int


class Examination:
    """Grades answers to one case, remembering those it has seen."""

    def __init__(self, case: Case, *, context: GradingContext, stop: Event | None = None) -> None:
        """Once `stop` is set nothing more is graded."""
        self.case = case
        self.crash: CheckCrashed | None = None
        """What a check broke on last."""
        self._crashes = 0
        self._stop = stop or Event()
        self.missing = _missing(case.checks, context)
        """What a check needs and the grading context lacks; such checks are left out."""
        there = tuple(check for check in case.checks if not _missing((check,), context) and not _is_of_the_way(check))
        self._quick = replace(case, checks=tuple(check for check in there if not _is_slow(check)))
        self._quick_ones = tuple(replace(case, checks=(check,)) for check in self._quick.checks)
        self._of_the_way = tuple(replace(case, checks=(check,)) for check in case.checks if _is_of_the_way(check))
        """Checks of what was done. A reference does not show that, so only answers with a trajectory get them."""
        self._slow = replace(case, checks=tuple(check for check in there if _is_slow(check)))
        self._reads_text = any(KINDS[check.kind].reads_words(check.spec) for check in there)
        self._context = context
        self._seen: dict[object, bool] = {}
        self._longest = 0.0
        self._seconds = 0.0
        self.gradings = 0

    @property
    def can_grade(self) -> bool:
        """Whether there is any check of a reference to run here."""
        return bool(self._quick.checks or self._slow.checks)

    @property
    def asks_for_the_way(self) -> bool:
        """Whether a check looks at what was done, which no reference shows."""
        return bool(self._of_the_way)

    @property
    def is_slow(self) -> bool:
        """Whether a grading starts a program."""
        return bool(self._slow.checks)

    def passes(self, answer: Answer, *, hurry: bool = False) -> bool:
        """Whether an answer passes every check that can be run here. The slow ones run only if the quick ones pass.

        In a hurry a program has only a few times as long as the reference took: a mutant that runs for ever is wrong.
        An answer on which a check crashes has not passed; `crash` has the error.
        """
        answer = self._as_seen(answer)
        key = content_key(answer)
        if key not in self._seen:
            try:
                self._seen[key] = all(result.passed for result in self._grade(answer, hurry=hurry))
            except CheckCrashed:
                return False
        return self._seen[key]

    def failures(self, answer: Answer) -> list[str]:
        """What the checks that an answer fails saw."""
        return [result.saw for result in self._grade(answer) if not result.passed]

    def disagreement(self, answer: Answer) -> Disagreement | None:
        """Grade an answer several times; the first check whose results differ, if there is one."""
        times = GRADINGS
        if self._slow.checks and self._mentions_chance(answer):
            times = GRADINGS_BY_CHANCE
        opinions: list[list[bool]] = []
        for _ in range(times):
            started = time.perf_counter()
            opinions.append([result.passed for result in self._grade(answer, all_checks=True)])
            self._longest = max(self._longest, time.perf_counter() - started)
            for check, seen in zip(self._checks, zip(*opinions, strict=True), strict=True):
                if len(set(seen)) > 1:
                    return Disagreement(kind=check.kind, passed=sum(seen), gradings=len(seen))
        self._seen[content_key(self._as_seen(answer))] = all(opinions[0])
        return None

    @property
    def _checks(self) -> tuple[Check, ...]:
        return self._quick.checks + self._slow.checks

    def _grade(self, answer: Answer, *, hurry: bool = False, all_checks: bool = False) -> tuple[CheckResult, ...]:
        if self.crash is not None and self._crashes >= MOST_CRASHES:
            raise self.crash
        if self._stop.is_set():
            raise CheckCrashed("stopped")
        self.gradings += 1
        try:
            quick = self._grade_quick(answer)
            if not self._slow.checks or not (all_checks or all(result.passed for result in quick)):
                return quick
            slow = self._with_time_limit(LEAST_SECONDS + 3 * self._longest) if hurry else self._slow
            return quick + grade(slow, answer, context=self._context).results
        except (UpskillError, CheckTooSlow):
            raise
        except Exception as error:  # a check may be foreign code; as in a trial, its crash measures nothing
            self._crashes += 1
            self.crash = CheckCrashed(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
            raise self.crash from error

    def _grade_quick(self, answer: Answer) -> tuple[CheckResult, ...]:
        results: list[CheckResult] = []
        of_the_way = () if answer.trajectory is None else self._of_the_way
        for one in (*of_the_way, *self._quick_ones):
            began = time.thread_time()
            try:
                results += grade(one, answer, context=self._context).results
            except TimeoutError as error:
                raise CheckTooSlow(f"`{one.checks[0].kind}` takes too long: {error}") from error
            self._seconds += time.thread_time() - began
            if self._seconds > MOST_SECONDS:
                raise CheckTooSlow(f"its checks take more than {MOST_SECONDS:g} s for {self.gradings} known answers")
        return tuple(results)

    def _with_time_limit(self, seconds: float) -> Case:
        limited = (
            replace(check, spec=KINDS[check.kind].with_time_limit(check.spec, seconds)) for check in self._slow.checks
        )
        return replace(self._slow, checks=tuple(limited))

    def _as_seen(self, answer: Answer) -> Answer:
        """Words that no check reads make no difference; blocks in them are files."""
        if self._reads_text or (not answer.files and _FENCE.search(answer.text)):
            return answer
        return replace(answer, text="")

    def _mentions_chance(self, answer: Answer) -> bool:
        said = [str(check.spec) for check in self._slow.checks]
        said += [data.decode("utf-8", "replace") for data in answer.files.values()]
        return any(_MENTIONS_CHANCE.search(text) for text in said)


def _needs(check: Check) -> Iterable[str]:
    return KINDS[check.kind].needs(check.spec)


def _is_of_the_way(check: Check) -> bool:
    return KINDS[check.kind].of_the_way


def _is_slow(check: Check) -> bool:
    return bool({"sandbox", "judge"}.intersection(_needs(check)))


def _missing(checks: Iterable[Check], context: GradingContext) -> tuple[str, ...]:
    needs = {need for check in checks for need in _needs(check)}
    there = {"sandbox": context.open_sandbox is not None, "judge": context.ask is not None}
    return tuple(need for need in there if need in needs and not there[need])


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
