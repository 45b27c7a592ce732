"""How a `generate` came to its skill, on the page: material, cases, attempts, held-out test, decision.

Every text may be a stranger's: it is shown as text, and a diff of two is within limits. No content of a held-out case
is among the values.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from markupsafe import Markup

from upskill.core.nouns.finding import Finding
from upskill.core.nouns.text import count, shortened
from upskill.core.runs.skill_copy import SkillText
from upskill.generation.generated import AttemptSummary
from upskill.report.html.figures import Spent
from upskill.report.html.shell import render
from upskill.report.next_step import NextStep

MOST_LINES = 1_200
"""Lines of one text that are compared: the time that it takes may grow with their square."""
MOST_SHOWN = 400
"""Lines of a diff."""
LONGEST_LINE = 600
Mark = Literal["file", "place", "added", "removed", "same"]
_MARKS: dict[str, Mark] = {"+": "added", "-": "removed", "@": "place"}


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffLine:
    """One line of a diff, with its sign in front."""

    mark: Mark
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDiff:
    """What changed, as far as it is shown."""

    lines: tuple[DiffLine, ...]
    left_out: int = 0
    """Further lines, of the diff or of texts that are too long to be compared."""


def text_diff(before: Mapping[str, str], after: Mapping[str, str]) -> TextDiff:
    """The changes from one set of texts to another, by name. No lines where nothing changed."""
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    too_long = 0
    lines: list[DiffLine] = []
    for name in names:
        old, new = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        too_long += sum(max(0, len(one) - MOST_LINES) for one in (old, new))
        if changed := list(_changed(old[:MOST_LINES], new[:MOST_LINES])):
            lines += [DiffLine(mark="file", text=name), *changed]
    return TextDiff(lines=tuple(lines[:MOST_SHOWN]), left_out=too_long + max(0, len(lines) - MOST_SHOWN))


def _changed(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    head = 2  # the names of two files, which are said otherwise
    for line in islice(difflib.unified_diff(old, new, lineterm="", n=2), head, None):
        yield DiffLine(mark=_MARKS.get(line[:1], "same"), text=line[:LONGEST_LINE])


NAMES_SHOWN = 3
STEPS_SHOWN = 4
"""Attempts whose share stands in the overview; of more, the first and the chosen one."""
Outcome = Literal["saved", "stays", "nothing"]
_OUTCOMES: dict[Outcome, str] = {"saved": "Saved", "stays": "The old version stays", "nothing": "Nothing saved"}


@dataclass(frozen=True, kw_only=True, slots=True)
class MaterialItem:
    """One thing that the teacher was given to read."""

    kind: str
    """`recorded work`, `document`, `skill` or `examples`."""
    name: str
    size: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryCases:
    """How many cases there are, by use, and what was written and not used."""

    learn: int
    held_out: int
    negative: int
    own: int = 0
    """Of them, how many were there before, or came from a file."""
    dropped: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Cases of every use."""
        return self.learn + self.held_out + self.negative


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryAttempt:
    """One draft on the learn cases, and what was changed in it."""

    summary: AttemptSummary
    against: str = ""
    """What the change is against, in words: `attempt 1`, `the old version`."""
    change: TextDiff | None = None
    """`None` for a first draft, and where the drafts cannot be read any more."""

    @property
    def is_old(self) -> bool:
        """Whether it is the version that was to be improved."""
        return (self.summary.draft or "").startswith("previous/")

    @property
    def share(self) -> str:
        """`3/5`."""
        return f"{self.summary.passed}/{self.summary.of}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryTest:
    """The held-out test in a figure and a few words."""

    figure: str
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TeachingStory:
    """How a `generate` came to its skill."""

    task: str
    outcome: Outcome
    decision: str
    """One sentence."""
    next_step: NextStep | None = None
    """The command that the decision calls for."""
    teacher: str
    case_writer: str | None = None
    """`None` where nobody wrote cases, or the teacher did."""
    wish: str | None = None
    """What to improve, in the user's words."""
    material: tuple[MaterialItem, ...] = ()
    redacted: int = 0
    """Secrets that were removed from it."""
    cases: StoryCases | None = None
    before: tuple[str, ...] = ()
    """What each model could do without a skill, a line each."""
    attempts: tuple[StoryAttempt, ...] = ()
    stopped: str | None = None
    """Why refining ended."""
    test: StoryTest | None = None
    change: TextDiff | None = None
    """What the chosen draft changes in the old version; `None` for a new skill."""
    findings: tuple[Finding, ...] = ()
    saved: str | None = None
    """The folder that the skill was saved to, as it was typed; `None` where nothing was saved."""
    spent: tuple[Spent, ...] = ()
    """What the run cost as a whole."""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read, a line each."""

    def section(self, skill: SkillText | None) -> Markup:
        """The section "The skill": the way to it, and its text where it can be read."""
        return render("skill.html", skill=skill, story=self, steps=tuple(_steps(self)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of the overview."""

    title: str
    figure: str
    words: str = ""
    reached: bool = True


def _steps(story: TeachingStory) -> Iterator[Step]:
    yield _material(story)
    cases = story.cases
    if cases is None:
        yield Step(title="Cases", figure="none yet", reached=False)
    else:
        unrelated = f", {cases.negative} unrelated" if cases.negative else ""
        figure = count(cases.total, "case")
        words = f"{cases.learn} practice, {cases.held_out} held-out{unrelated}"
        yield Step(title="Cases", figure=figure, words=words)
    yield _attempts(story)
    if story.test is None:
        yield Step(title="Held-out test", figure="not run", reached=False)
    else:
        yield Step(title="Held-out test", figure=story.test.figure, words=story.test.words)
    words = "" if story.saved is None else f"in {story.saved}"
    yield Step(title="Decision", figure=_OUTCOMES[story.outcome], words=words)


def _material(story: TeachingStory) -> Step:
    if not story.material:
        return Step(title="Material", figure="the task alone", words="from the teacher's own knowledge")
    figure = count(len(story.material), "source") if len(story.material) > 1 else story.material[0].kind
    return Step(title="Material", figure=figure, words=_listed([one.name for one in story.material]))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(shortened(name, 40) for name in names[:NAMES_SHOWN]) + more


def _attempts(story: TeachingStory) -> Step:
    attempts = story.attempts
    if not attempts:
        return Step(title="Attempts", figure="not measured", reached=False)
    chosen = next((one for one in attempts if one.summary.chosen), attempts[-1])
    few = len(attempts) <= STEPS_SHOWN
    shares = [one.share for one in attempts] if few else [attempts[0].share, "…", chosen.share]
    what = "attempt 1" if len(attempts) == 1 else f"attempt {chosen.summary.number} of {len(attempts)} was best"
    return Step(title="Attempts", figure=" → ".join(shares), words=f"practice cases passed; {what}")
