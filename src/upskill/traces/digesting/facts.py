"""Facts about the environment: versions printed, programs missing, programs and files used."""

import re
from collections.abc import Iterator

from upskill.domain.trace_digest import Finding
from upskill.traces.digesting.work import Action, Work
from upskill.traces.excerpt import one_line, plain

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


def find_facts(work: Work) -> Iterator[Finding]:
    """What a successor should know about the environment in which the work was done."""
    yield from _versions(work)
    yield from _missing(work)
    yield from _programs(work)
    yield from _files(work)


def _versions(work: Work) -> Iterator[Finding]:
    for action in work.actions:
        if action.kind not in {"command", "look"} or action.failed or not action.output:
            continue
        if not _ASKS_VERSION.search(action.call.arguments[:2_000]):
            continue
        rows = [row.strip() for row in plain(action.output[:6_000]).split("\n")]
        printed = [row for row in rows if _VERSION.search(row) and len(row) < 160][:_MOST_LINES]
        if printed:
            yield Finding(
                kind="fact",
                title="; ".join(work.generalise(" ".join(row.split())) for row in printed),
                key="version " + " ".join(printed)[:160].lower(),
                places=work.places([action]),
                points=2.0,
            )


def _missing(work: Work) -> Iterator[Finding]:
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
                        places=work.places([action]),
                        marked=action.state == "failed",
                        points=2.0,
                    )


def _programs(work: Work) -> Iterator[Finding]:
    """Programs that ran and passed, so they are there."""
    users: dict[str, list[Action]] = {}
    for action in work.actions:
        if action.state == "passed":
            for part in action.simple_commands:
                if not part.only_looks and re.fullmatch(r"[\w.+-]{2,30}", part.program):
                    users.setdefault(part.program, []).append(action)
    yield from _most_used(work, users, title="programs that ran: ", key="programs ")


def _files(work: Work) -> Iterator[Finding]:
    edits: dict[str, list[Action]] = {}
    for action in work.actions:
        if action.kind == "edit" and not action.failed and action.path is not None:
            edits.setdefault(one_line(work.shown(action.path), most=100), []).append(action)
    more = len(edits) - _MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    yield from _most_used(work, edits, title="files changed: ", rest=rest, key="files ")


def _most_used(
    work: Work, users: dict[str, list[Action]], *, title: str, rest: str = "", key: str
) -> Iterator[Finding]:
    names = sorted(users, key=lambda name: -len(users[name]))[:_MOST_NAMED]
    if names:
        yield Finding(
            kind="fact",
            title=title + ", ".join(names) + rest,
            key=key + " ".join(sorted(names)),
            places=work.places([users[name][0] for name in names]),
            points=1.0,
        )
