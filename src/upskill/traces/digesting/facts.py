"""Facts about the environment: versions printed, programs missing, programs and files used."""

import re
from collections import Counter
from collections.abc import Iterator

from upskill.domain.trace_digest import Finding
from upskill.traces.digesting import shell
from upskill.traces.digesting.excerpt import Generalise, one_line, plain
from upskill.traces.digesting.fixes import places
from upskill.traces.digesting.work import Action, Work

_ASKS_VERSION = re.compile(
    r"(?:^|\s)(?:--version|-version|-V|version)(?:\s|$|[;&|])|\buname\b|\bnvidia-smi\b|os-release|\bnode -v\b"
    r"|\blsb_release\b|\b(?:pip|uv pip) (?:show|list|freeze)\b|\brocm-smi\b|\bsw_vers\b|__version__|\bnproc\b|\blscpu\b"
)
_VERSION = re.compile(r"\b[vV]?\d+\.\d+(?:\.\d+)*\b")
_MISSING = (
    re.compile(r"(?:^|[\s:])([\w.+-]{2,40}): (?:command )?not found"),
    re.compile(r"command not found: ([\w.+-]{2,40})"),
    re.compile(r"No module named '?\"?([\w.]{2,60})"),
    re.compile(r"Cannot find module '?\"?([@\w./-]{2,60})"),
    re.compile(r"fatal error: ([\w./+-]{2,60}): No such file"),
    re.compile(r"cannot find -l([\w+-]{2,40})"),
)
_MOST_LINES = 3
_MOST_NAMED = 8


def find_facts(work: Work, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    """What a successor should know about the place where the work was done."""
    yield from _versions(work, trace=trace, generalise=generalise)
    yield from _missing(work, trace=trace)
    yield from _used(work, trace=trace)
    yield from _edited(work, trace=trace, generalise=generalise)


def _versions(work: Work, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    for action in work.actions:
        if action.sort not in {"command", "look"} or action.failed or not action.output:
            continue
        if not _ASKS_VERSION.search(action.call.arguments[:2_000]):
            continue
        rows = [row.strip() for row in plain(action.output[:6_000]).split("\n")]
        said = [row for row in rows if _VERSION.search(row) and len(row) < 160][:_MOST_LINES]
        if said:
            yield Finding(
                kind="fact",
                title="; ".join(generalise(" ".join(row.split())) for row in said),
                key="version " + " ".join(said)[:160].lower(),
                places=places(trace, [action]),
                points=2.0,
            )


def _missing(work: Work, *, trace: int) -> Iterator[Finding]:
    for action in work.actions:
        if not action.failed:
            continue
        for pattern in _MISSING:
            for name in dict.fromkeys(pattern.findall(plain(action.output[:6_000]))):
                if not name.isdigit() and name not in {"line", "bash", "sh", "zsh"}:
                    yield Finding(
                        kind="fact",
                        title=f"`{name}` was not there at first",
                        key=f"missing {name}",
                        places=places(trace, [action]),
                        marked=action.state == "failed",
                        points=2.0,
                    )


def _used(work: Work, *, trace: int) -> Iterator[Finding]:
    """Programs that ran and passed, so they are there."""
    programs: Counter[str] = Counter()
    seen: dict[str, Action] = {}
    for action in work.actions:
        if action.sort != "command" or action.state != "passed":
            continue
        for part in shell.simple_commands(action.call.arguments):
            if not part.only_looks and re.fullmatch(r"[\w.+-]{2,30}", part.program):
                programs[part.program] += 1
                seen.setdefault(part.program, action)
    named = programs.most_common(_MOST_NAMED)
    if named:
        yield Finding(
            kind="fact",
            title="programs that ran: " + ", ".join(name for name, _ in named),
            key="programs " + " ".join(sorted(name for name, _ in named)),
            places=places(trace, [seen[name] for name, _ in named]),
            points=1.0,
        )


def _edited(work: Work, *, trace: int, generalise: Generalise) -> Iterator[Finding]:
    files: Counter[str] = Counter()
    seen: dict[str, Action] = {}
    for action in work.actions:
        if action.sort == "edit" and not action.failed:
            path = action.path
            if path is not None:
                name = one_line(generalise(plain(path)), most=100)
                files[name] += 1
                seen.setdefault(name, action)
    named = files.most_common(_MOST_NAMED)
    if named:
        more = len(files) - len(named)
        yield Finding(
            kind="fact",
            title="files changed: " + ", ".join(name for name, _ in named) + (f" and {more} more" if more > 0 else ""),
            key="files " + " ".join(sorted(name for name, _ in named)),
            places=places(trace, [seen[name] for name, _ in named]),
            points=1.0,
        )
