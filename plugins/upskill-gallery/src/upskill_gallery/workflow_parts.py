"""Small parts of a workflow run that need no sandbox: the files of a step, the order of jobs, a matrix, shells."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from upskill.core.checks.plugin import Json
from upskill_gallery.workflow_expressions import Scope, as_text, interpolate

MOST_COMBINATIONS = 8
Outcome = Literal["success", "failure", "cancelled", "skipped"]
_SHELLS = {
    "": ("/bin/bash", "-e", "{0}"),
    "bash": ("/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "{0}"),
    "sh": ("/bin/sh", "-e", "{0}"),
    "python": ("/usr/bin/python3", "{0}"),
}
_PROGRAMS = {"bash": "/bin/bash", "sh": "/bin/sh", "python": "/usr/bin/python3", "python3": "/usr/bin/python3"}


class RunnerStopped(Exception):
    """The runner would refuse to go on with this workflow; says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of a workflow: what happened, and what the actions of others leave behind."""

    github: Mapping[str, Json] = field(default_factory=dict)
    inputs: Mapping[str, Json] = field(default_factory=dict)
    secrets: Mapping[str, Json] = field(default_factory=dict)
    files: Mapping[str, Json] = field(default_factory=dict)
    """Laid over the files of the repository."""
    actions: Mapping[str, Json] = field(default_factory=dict)
    """By the name of an action: its `outputs`, the `files` it leaves, or `fails`."""
    cancel_after: str | None = None
    """The run is cancelled when the step with this id has ended."""
    marker: str | None = None
    """Part of every value that a stranger chose in this run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """How a step went."""

    outcome: Outcome
    outputs: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    """`with`, for an action."""
    uses: str | None = None
    """The name of the action, without its version."""
    output_text: str = ""
    summary: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobResult:
    """How a job went; a job with a matrix is the sum of its combinations."""

    result: Outcome
    outputs: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[str, StepResult] = field(default_factory=dict)
    combinations: tuple[Json, ...] = ()
    folders: tuple[str, ...] = ()
    """Where its files are, per combination."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowResult:
    """How a run went."""

    jobs: Mapping[str, JobResult]
    outputs: Mapping[str, str]
    injected: tuple[str, ...]
    """The steps whose script contained text that a stranger chose."""
    exposed: tuple[str, ...]
    """The steps that could read a secret of the repository, in order."""
    artifacts: Mapping[str, Mapping[str, str]]
    """By name: the files that were uploaded, with their text."""


def mapping(value: Json, name: str) -> Mapping[str, Json]:
    """A mapping of the file; nothing is an empty one. Raises `RunnerStopped` for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RunnerStopped(f"{name} is not a mapping of keys to values")
    return value


def steps_of(holder: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The steps of a job or of a composite action."""
    steps = holder.get("steps")
    if not isinstance(steps, list) or not steps:
        raise RunnerStopped("steps is not a list of steps")
    return [mapping(step, "a step") for step in steps]


def needed(job: Json) -> list[str]:
    """The jobs that a job needs."""
    needs = mapping(job, "a job").get("needs")
    return [needs] if isinstance(needs, str) else [as_text(one) for one in needs] if isinstance(needs, list) else []


def in_order(jobs: Mapping[str, Json]) -> list[str]:
    """The jobs, each after those that it needs."""
    done: list[str] = []
    waiting = list(jobs)
    while waiting:
        ready = [one for one in waiting if set(needed(jobs[one])) <= set(done)]
        if not ready:
            raise RunnerStopped(f"the job {waiting[0]} needs a job that never ends or does not exist")
        done += ready
        waiting = [one for one in waiting if one not in ready]
    return done


def combinations_of(matrix: Json) -> list[Json]:
    """The combinations of a matrix; one without values for a job that has none."""
    if matrix is None:
        return [None]
    if not isinstance(matrix, dict):
        raise RunnerStopped("strategy.matrix is not a mapping of keys to lists")
    axes = {key: value for key, value in matrix.items() if key not in ("include", "exclude")}
    for key, values in axes.items():
        if not isinstance(values, list):
            raise RunnerStopped(f"strategy.matrix: {key} is not a list but {json.dumps(values)[:60]}")
    lists = [values for values in axes.values() if isinstance(values, list)]
    found: list[Json] = [dict(zip(axes, values, strict=True)) for values in product(*lists)]
    if len(found) > MOST_COMBINATIONS:
        raise RunnerStopped(f"the matrix has {len(found)} combinations, more than this check carries out")
    return found


def run_defaults(holder: Mapping[str, Json]) -> dict[str, str]:
    """`defaults.run` of a workflow or a job."""
    run = mapping(mapping(holder.get("defaults"), "defaults").get("run"), "run")
    return {key: as_text(value) for key, value in run.items()}


def status_functions(status: Outcome, *, cancelled: bool) -> dict[str, bool]:
    """What `success()` and its kind return."""
    return {
        "success": status == "success" and not cancelled,
        "failure": status == "failure" and not cancelled,
        "cancelled": cancelled,
        "always": True,
    }


def shell_words(shell: str) -> tuple[str, ...]:
    """How the runner starts a script; `{0}` stands for it. Programs have absolute names: a step cannot replace them."""
    if shell in _SHELLS:
        return _SHELLS[shell]
    try:
        words = shlex.split(shell)
    except ValueError:
        words = []
    if "{0}" not in " ".join(words):
        raise RunnerStopped(f"there is no shell {shell[:60]!r} on the runner")
    return (_PROGRAMS.get(words[0], words[0]), *words[1:])


def read_assignments(text: str) -> tuple[dict[str, str], bool]:
    """What a step wrote into one of its files, `name=value` or `name<<delimiter` and lines; whether all is valid."""
    found: dict[str, str] = {}
    if "\0" in text:
        return found, False
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].removesuffix("\r")
        at += 1
        if not line:
            continue
        equals, here = line.find("="), line.find("<<")
        if equals > 0 and (here < 0 or equals < here):
            found[line[:equals]] = line[equals + 1 :]
            continue
        name, _, delimiter = line.partition("<<")
        if here <= 0 or equals == 0 or not delimiter or delimiter not in lines[at:]:
            return found, False
        end = lines.index(delimiter, at)
        found[name] = "\n".join(lines[at:end])
        at = end + 1
    return found, True


def has_half_characters(text: str) -> bool:
    """Whether it has surrogates, which YAML can name and no encoding can write."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def default_inputs(declared: Json) -> dict[str, Json]:
    """The inputs of a called workflow that the caller leaves out."""
    empty: dict[str, Json] = {"boolean": False, "number": 0}
    found = {key: mapping(item, key) for key, item in mapping(declared, "inputs").items()}
    return {key: item.get("default", empty.get(as_text(item.get("type")), "")) for key, item in found.items()}


def output_values(declared: Json, name: str, scope: Scope) -> dict[str, str]:
    """Outputs that are declared with a `value`."""
    return {
        key: interpolate(as_text(mapping(item, key).get("value")), scope)
        for key, item in mapping(declared, name).items()
    }
