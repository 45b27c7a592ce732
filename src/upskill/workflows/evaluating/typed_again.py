"""What the record of a run may ask for: a run folder may be a stranger's, and a record is never an order.

What would confine less, send anything elsewhere, spend more, or read or write outside the run folder and the working
folder counts only where a person typed it again, or where the settings of today say the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from upskill.domain.other_skills import Among
from upskill.domain.text import on_one_line, visible
from upskill.errors import UsageError
from upskill.sandbox import Backend
from upskill.settings import PREFIX, ResolvedSettings, resolve_settings

EVAL_FLAGS: Mapping[str, str] = {
    "base_url": "--base-url",
    "concurrency": "--concurrency",
    "judge": "--judge",
    "ledger": "--ledger",
    "max_calls": "--max-calls",
    "max_cost": "--max-cost",
    "max_time_minutes": "--max-time",
    "max_total_tokens": "--max-total-tokens",
    "max_turns": "--max-turns",
    "models": "--model",
}
GENERATE_FLAGS: Mapping[str, str] = {
    **{name: flag for name, flag in EVAL_FLAGS.items() if name not in ("judge", "ledger")},
    "base_url": "--eval-base-url",
    "models": "--eval-model",
    "teacher": "--model",
    "teacher_base_url": "--base-url",
    "test_gen_model": "--test-gen-model",
}
CAPS = ("max_cost", "max_calls", "max_total_tokens", "max_time_minutes")
_PACE = (
    "concurrency",
    "attempt_timeout_seconds",
    "call_timeout_seconds",
    "max_retries",
    "max_retry_wait_seconds",
)
_TRIAL_LIMITS = ("max_turns", "max_trial_tokens", "max_trial_minutes", "command_seconds")
_TODAYS = ("aliases", "ledger", "runs_dir", "skills_dir")
"""Written to, or what names stand for: never from a record."""
SCRIPTED = "scripted/"


class Word(NamedTuple):
    """One thing to type again, and why."""

    why: str
    name: str
    """Of the setting, or of the keyword of the library."""
    flag: str
    """How it is typed; empty for the skill, which is typed without one. A variable where a setting has no flag."""
    value: object


@dataclass(frozen=True, kw_only=True, slots=True)
class TypedAgain:
    """What a person typed beside the run, and the settings of today."""

    settings: ResolvedSettings
    sandbox: Backend = "bubblewrap"
    skill: Path | None = None
    case_file: Path | None = None
    previous: Path | None = None
    previous_revision: str | None = None
    among: Among = field(default_factory=Among)
    agent_bin: Path | None = None
    accept_findings: bool = False
    accept_changed_cases: bool = False


def nothing_typed() -> TypedAgain:
    """The settings of today, and nothing beside them."""
    return TypedAgain(settings=resolve_settings())


@dataclass(slots=True)
class Demands:
    """Collects what a record asks for and nobody typed. Nothing is followed before `require_typed`."""

    run: Path
    typed: TypedAgain
    flags: Mapping[str, str]
    missing: list[Word]
    lowered: list[Word]

    @classmethod
    def of(cls, run: Path, typed: TypedAgain, flags: Mapping[str, str]) -> "Demands":
        return cls(run, typed, flags, [], [])

    @property
    def notes(self) -> tuple[str, ...]:
        """Which recorded caps do not hold any more."""
        return tuple(word.why for word in self.lowered if word.name in CAPS)

    @property
    def words(self) -> tuple[Word, ...]:
        """All that must be typed for the run to go on as it was begun."""
        return (*self.missing, *self.lowered)

    def misses(self, name: str) -> bool:
        """Whether this must be typed again."""
        return any(word.name == name for word in self.missing)

    def require_typed(self) -> None:
        """Raise, with the options, where something must be typed again. A command to copy would allow it all."""
        if self.missing:
            options = dict.fromkeys(word.flag or "SKILL" for word in self.missing)
            raise UsageError(
                f"{self.run}: a run folder cannot decide this; type what you allow",
                problems=[on_one_line(word.why) for word in self.missing],
                hint=f"check where this run comes from; what you allow is typed with {', '.join(options)}",
            )

    def sandbox(self, recorded: object) -> None:
        """A recorded backend: `none` must be typed, and what was confined stays so."""
        if recorded == "none" and self.typed.sandbox != "none":
            why = "it ran programs of models unconfined, on this machine with your rights"
            self.missing.append(Word(why, "sandbox", "--sandbox", "none"))
        if recorded == "docker" and self.typed.sandbox == "bubblewrap":
            self.missing.append(Word("its programs ran in containers of docker", "sandbox", "--sandbox", "docker"))
        if recorded == "bubblewrap" and self.typed.sandbox == "docker":
            raise UsageError(
                f"{self.run}: this run is confined by bubblewrap and cannot be resumed in containers",
                hint="remove --sandbox docker, or start a new run",
            )
        if recorded not in (None, "none") and self.typed.sandbox == "none":
            raise UsageError(
                f"{self.run}: this run is confined and cannot be resumed unconfined",
                hint="remove --sandbox none, or start a new run",
            )

    def agent(self, recorded: Mapping[str, object] | None) -> None:
        """A recorded coding agent that was named by its path: which program is started must be typed."""
        named = None if recorded is None else recorded.get("named")
        if named is not None and self.typed.agent_bin is None:
            self.missing.append(Word(f"it runs the program {named}", "agent_bin", "--agent-bin", named))

    def path(self, source: str, typed: Path | None, word: Word) -> Path:
        """The path that was typed, else the recorded one, seen from the run folder."""
        if typed is not None:
            return typed
        path = self.run / source
        if not is_inside(self.run, path):
            self.missing.append(word._replace(why=f"{word.why}: {path}", value=f"{word.value}{_absolute(path)}"))
        return path

    def settings(self, recorded: ResolvedSettings, *, urls: Sequence[str]) -> ResolvedSettings:
        """The recorded settings, within those of today; `urls` are the settings that say where something is sent."""
        asked, today = recorded.values, self.typed.settings
        held: dict[str, object] = {name: getattr(today.values, name) for name in _TODAYS}
        held["store"] = asked.store and today.values.store
        held["untyped"] = today.values.untyped  # a recorded URL is used where today's is the same, with today's trust
        if asked.ledger not in (None, today.values.ledger):
            self._miss("ledger", f"it counts looks in {asked.ledger}", asked.ledger)
        for name in (*CAPS, *_PACE):
            mine, most = getattr(asked, name), getattr(today.values, name)
            if is_typed(today, name):
                held[name] = most
            elif most is not None and (mine is None or mine > most):
                held[name] = most
                why = f"`{name}` is {_shown(most)}, from your settings; the run was started with {_shown(mine)}"
                self.lowered += [] if mine is None else [self._word(name, why, mine)]
        for name in _TRIAL_LIMITS:
            mine, most = getattr(asked, name), getattr(today.values, name)
            if mine > most:
                self._miss(name, f"its `{name}` is {_shown(mine)}, above the {_shown(most)} of your settings", mine)
        for name in ("base_url", "teacher_base_url"):
            if name not in urls:
                held[name] = getattr(today.values, name)
            elif _url(url := getattr(asked, name)) != _url(getattr(today.values, name)):
                self._url(name, url)
        self._scripts(recorded)
        taken = {name: today.origins[name] for name in held if is_typed(today, name)}
        return ResolvedSettings(values=replace(asked, **held), origins={**recorded.origins, **taken})  # type: ignore[arg-type]

    def _url(self, name: str, url: str | None) -> None:
        if url is not None:
            self._miss(name, f"it sends requests to {url}", url)
        elif is_typed(self.typed.settings, name):
            raise UsageError(f"{self.run}: was started without {self.flags[name]}", hint=f"remove {self.flags[name]}")

    def _scripts(self, recorded: ResolvedSettings) -> None:
        """Scripts are files: one that lies elsewhere must be named today. Other models than the run's are refused."""
        today = self.typed.settings
        for name in ("models", "judge", *(("teacher", "test_gen_model") if "teacher" in self.flags else ())):
            asked, now = _names(getattr(recorded.values, name)), _names(getattr(today.values, name))
            if is_typed(today, name) and (others := [one for one in now if one not in asked]):
                raise UsageError(
                    f"{self.run}: was started with {', '.join(asked) or 'none'}, not with {', '.join(others)}",
                    hint="remove it, or start a new run",
                )
            for one in asked:
                file = one.strip().removeprefix(SCRIPTED)
                if file != one.strip() and one not in now and not is_inside(self.run, Path(file)):
                    self._miss(name, f"it reads the script {file}", one)

    def _miss(self, name: str, why: str, value: object) -> None:
        self.missing.append(self._word(name, why, value))

    def _word(self, name: str, why: str, value: object) -> Word:
        return Word(why, name, self.flags.get(name, f"{PREFIX}{name.upper()}"), value)


def is_typed(settings: ResolvedSettings, name: str) -> bool:
    """Whether a setting was typed now: as a flag, or as an argument of a function."""
    origin = settings.origins.get(name, "default")
    return origin.startswith("--") or origin.endswith("()")


def is_inside(run: Path, path: Path) -> bool:
    """Whether a recorded path, with its links followed, leads into the run folder or into the working folder."""
    try:
        return any(path.resolve().is_relative_to(place.resolve()) for place in (run, Path.cwd()))
    except (OSError, ValueError, RuntimeError):
        return False


def typed_command(command: Sequence[str], words: Iterable[Word]) -> str:
    """A command with words added, quoted for a shell."""
    given = list(words)
    variables = [f"{word.flag}={quote(_shown(word.value))}" for word in given if word.flag.startswith(PREFIX)]
    flags = [f"{word.flag} {quote(_shown(word.value))}" for word in given if word.flag.startswith("-")]
    bare = [quote(_shown(word.value)) for word in given if not word.flag]
    return visible(" ".join([*variables, "upskill", *map(quote, command), *bare, *flags]))  # never cut: it is copied


def keywords(words: Iterable[Word]) -> str:
    """The same as arguments of a function of the library."""
    given: dict[str, list[object]] = {}
    for word in words:
        value = word.value.removeprefix("previous:") if isinstance(word.value, str) else word.value
        given.setdefault(word.name, []).append(value)
    return "".join(f", {name}={(values[0] if len(values) == 1 else values)!r}" for name, values in given.items())


def _absolute(path: Path) -> str:
    try:
        return str(path.resolve())
    except (OSError, ValueError, RuntimeError):
        return str(path)


def _names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def _url(url: str | None) -> str | None:
    return None if url is None else url.strip().rstrip("/")


def _shown(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
