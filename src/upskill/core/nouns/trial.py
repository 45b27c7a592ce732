"""One answer: one model, one case, one arm, one repeat. It ends scored or errored."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from upskill.core.nouns.answer import Answer, Files, Trajectory
from upskill.core.nouns.case import Grade, by_turns

Arm = Literal["baseline", "previous", "offered", "with_skill", "ceiling", "placebo", "corrupted"]
"""The condition: no skill; an older version of the skill, presented in the same way; the skill offered for the model to
load; the skill given; no skill, but the passage of the case in the prompt; in the skill's place a text about something
else, or the skill with its values exchanged.
"""
ARMS: tuple[Arm, ...] = get_args(Arm)
CONTROLS: tuple[Arm, ...] = ("placebo", "corrupted")
"""Arms that show what a skill that says nothing, or the wrong thing, does."""
BESIDE: frozenset[Arm] = frozenset({"ceiling", *CONTROLS})
"""Arms that are run beside the compared ones, where they decide nothing."""

End = Literal[
    "answered",
    "empty",
    "refused",
    "cut",
    "filtered",
    "overflow",
    "time limit",
    "turn limit",
    "token limit",
    "file limit",
    "memory limit",
    "stopped",
]
"""How a scored answer ended. Only `answered` and `cut` can pass. `stopped`: all that was to be measured was seen, as
`upskill trigger` ends an answer that has loaded the skill."""

ENDS_THAT_CAN_PASS: frozenset[End] = frozenset({"answered", "cut"})
"""The other ends are failures of the model, even if the checks pass on its text."""

Fault = Literal[
    "provider", "rate limit", "transport", "timeout", "sandbox", "agent", "check", "crash", "budget", "cancelled"
]
"""Why an answer errored. None of these is the model's fault."""


NOT_RUN: frozenset[Fault] = frozenset({"cancelled", "budget"})
"""The person or a cap ended the trial: nothing went wrong, and no pair was lost to an error."""
TURNED_AWAY: frozenset[Fault] = frozenset({"provider", "rate limit"})
"""The provider refused to answer, so no answer was lost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What an answer consumed; `None` where the provider did not report it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None

    @property
    def tokens(self) -> int | None:
        """Input and output together."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """The model was measured: it passed, or the failure is its own."""

    end: End
    grade: Grade
    kind: Literal["scored"] = "scored"

    @property
    def passed(self) -> bool:
        """Whether the model gave an answer and every check passed."""
        return self.end in ENDS_THAT_CAN_PASS and self.grade.passed


@dataclass(frozen=True, kw_only=True, slots=True)
class Errored:
    """Nothing was measured, so there is no score in any arm."""

    fault: Fault
    message: str
    kind: Literal["errored"] = "errored"

    @property
    def was_run(self) -> bool:
        """False if a person or a cap cancelled it."""
        return self.fault not in NOT_RUN


Outcome = Scored | Errored
TrialKey = tuple[str, str, Arm, int]
"""Student, case, arm and repeat."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillUse:
    """How a model with tools used the skill."""

    listed: bool
    """Its name and description were in the first request."""
    loaded: bool
    """The model received or read its SKILL.md."""
    files: tuple[str, ...] = ()
    """Its files that were read or run, in the order of first use."""
    turn: int | None = None
    """The turn of the model after which it had been loaded, counted from 1; 0 if it was in the first request. `None`
    where it was not loaded."""
    others: tuple[str, ...] = ()
    """Names of other skills that were loaded, in that order."""
    shortened: bool = False
    """The agent listed its description cut short."""
    others_listed: int | None = None
    """Other skills that were listed with their descriptions: agents cut long lists. `None` without other skills."""

    @property
    def present(self) -> bool:
        """Whether the measured skill could be used at all; false without it, where only other skills were listed."""
        return self.listed or self.loaded


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One answer, with everything that regrading needs."""

    id: str
    """Digest of the model and of everything it saw, without the checks."""
    student: str
    case_id: str
    arm: Arm
    repeat: int
    outcome: Outcome
    answer: str = ""
    """In a conversation, the answer to the last turn of the user that was put."""
    earlier: tuple[str, ...] | None = None
    """The answers to the turns before that; `None` where the user has one turn."""
    kept_digest: str = ""
    """The digest of an answer that is not saved here."""
    files: Files = field(default_factory=dict)
    """New and changed files in the model's working folder."""
    removed: tuple[str, ...] = ()
    """Files of the case that the model removed."""
    outside: tuple[str, ...] = ()
    """Addresses outside of its sandbox that a coding agent, or a program in it, tried to reach; all were refused."""
    skill_use: SkillUse | None = None
    turns: int = 0
    """Turns of the model; 0 without tools."""
    tool_calls: int | None = None
    """Readable tool calls; `None` without tools."""
    text_calls: int | None = None
    """Those of them that the model wrote as text, where it wrote any."""
    unread_call: str | None = None
    """The beginning of an answer that looks like a tool call, and was not read as one."""
    trajectory: Trajectory | None = None
    """What the model did with its tools; `None` without tools."""
    usage: Usage = Usage()
    seconds: float | None = None
    calls: int = 0
    """Requests sent, retries included; 0 for a cached answer."""
    lost: int = 0
    """Requests whose answer was lost after it may have begun (timeouts, broken connections), earlier runs included."""
    refused: int = 0
    """Requests refused before an answer began (rate limits, refused connections, server errors)."""
    served_model: str | None = None
    """The model id that the server reported."""
    finished_at: str | None = None
    stored_at: str | None = None
    """For a cached answer: when it was stored."""

    @property
    def key(self) -> TrialKey:
        """Which answer it is: that of a student to a case, in an arm and a repeat. Tries of one answer share it."""
        return self.student, self.case_id, self.arm, self.repeat

    @property
    def passed(self) -> bool:
        """Whether its answer was scored, and passed."""
        return isinstance(self.outcome, Scored) and self.outcome.passed

    def supersedes(self, earlier: "Trial | None") -> bool:
        """Whether it is shown instead of an earlier try: unless only that one was scored."""
        return earlier is None or isinstance(self.outcome, Scored) or not isinstance(earlier.outcome, Scored)

    @property
    def lost_answers(self) -> int:
        """Answers that were lost, retries included: one for each lost request, however the trial ended.

        A trial that errored without a lost request lost the answer that it had, in a sandbox, an agent or a check. A
        request of it that was refused and then answered explains nothing: it may have had many.
        """
        if self.lost or not isinstance(self.outcome, Errored):
            return self.lost
        return int(self.outcome.was_run and self.outcome.fault not in TURNED_AWAY)

    @property
    def refused_requests(self) -> int:
        """Requests that were refused; at least one where the provider ended the trial, as older versions note it."""
        turned_away = isinstance(self.outcome, Errored) and self.outcome.fault in TURNED_AWAY
        return self.refused or int(turned_away and self.calls > 0 and not self.lost)

    @property
    def full_answer(self) -> Answer:
        """All that checks read: the text, the files, and what the model did."""
        return Answer(
            text=self.answer,
            earlier=self.earlier or (),
            files=self.files,
            removed=self.removed,
            trajectory=self.trajectory,
            turns=self.turns or None,
            tokens=self.usage.tokens,
        )

    @property
    def said(self) -> str:
        """The answer as people read it: in a conversation the answers to all turns, by their numbers."""
        if not self.earlier:
            return self.answer
        return by_turns((*self.earlier, self.answer))

    @property
    def answer_digest(self) -> str:
        """Equal for byte-identical answers that were reached by the same tool calls; empty without an answer."""
        if self.kept_digest or not (self.answer or self.files or self.earlier):
            return self.kept_digest
        digest = hashlib.blake2b(self.answer.encode("utf-8", "surrogatepass"), digest_size=8)
        for text in self.earlier or ():
            digest.update(b"\0\0\0" + text.encode("utf-8", "surrogatepass"))
        for path in sorted(self.files):
            digest.update(f"\0{path}\0".encode("utf-8", "surrogatepass") + self.files[path])
        for call in () if self.trajectory is None else self.trajectory.calls:
            digest.update(f"\0\0{call.tool}\0{call.arguments}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def without_answer(self) -> "Trial":
        """The same trial without what the student left, except its digest."""
        return replace(self, answer="", earlier=None, files={}, trajectory=None, kept_digest=self.answer_digest)

    def cleaned(self, clean: Callable[[str], str]) -> "Trial":
        """The same trial with every text in it cleaned. Its grade does not change."""
        outcome = self.outcome
        if isinstance(outcome, Scored):
            results = tuple(replace(result, saw=clean(result.saw)) for result in outcome.grade.results)
            outcome = replace(outcome, grade=replace(outcome.grade, results=results))
        else:
            outcome = replace(outcome, message=clean(outcome.message))
        # latin-1 decodes any bytes and gives the same bytes back.
        files = {path: clean(data.decode("latin-1")).encode("latin-1", "replace") for path, data in self.files.items()}
        served = None if self.served_model is None else clean(self.served_model)
        trajectory = None if self.trajectory is None else self.trajectory.cleaned(clean)
        return replace(
            self,
            outcome=outcome,
            answer=clean(self.answer),
            earlier=None if self.earlier is None else tuple(map(clean, self.earlier)),
            files=files,
            served_model=served,
            trajectory=trajectory,
            outside=tuple(map(clean, self.outside)),
        )
