"""`upskill trace`: what was understood of recorded work, in a terminal and as JSON. Counts secrets and shows none."""

import itertools
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from upskill.core.nouns.case import Json
from upskill.core.nouns.text import count, printable
from upskill.report.console import show_rows
from upskill.terminal import options
from upskill.terminal.display import StepProgress
from upskill.terminal.output import console, print_document, print_json, print_lines
from upskill.traces.excerpt import one_line
from upskill.traces.trace import Finding, FindingKind, TraceSource, TraceSummary


@click.command("trace")
@click.argument("source", metavar="PATH|last|last:AGENT")
@click.option(
    "--digest",
    "digest_only",
    is_flag=True,
    help="Print only the digest: what a teacher would read of the session, as Markdown.",
)
@options.JSON
@click.option("--budget", type=int, metavar="N", help="At most N tokens in the digest.  [default: 6000]")
def command(source: str, digest_only: bool, as_json: bool, budget: int | None) -> None:
    """Show what a recorded session contains: turns, tools, failures and their fixes, corrections, proofs.

    PATH is a session of any agent, a folder of sessions (read as one), a text file, an hf:// name on the Hugging Face
    Hub, or - for stdin. `last` is the newest session of Claude Code, Codex, Gemini CLI or opencode in this folder;
    `last:codex` names the agent. Secrets are removed before anything is shown. Calls no model and writes nothing.
    """
    from upskill.core.hub import fetched
    from upskill.traces.digest import DEFAULT_BUDGET
    from upskill.traces.read_trace import read_trace

    if digest_only and as_json:
        raise click.UsageError("--digest and --json cannot be combined: the JSON object contains the digest.")
    with StepProgress() as steps:
        steps.step("reading", 0, None)
        read = read_trace(
            fetched(source, steps.note),
            budget=DEFAULT_BUDGET if budget is None else budget,
            folder=Path.cwd(),
            environment=os.environ,
            progress=steps,
            now=time.time(),
            piped=None if sys.stdin.isatty() else sys.stdin.buffer,
        )
    if as_json:
        print_json(trace_json(read))
    elif digest_only:
        print_document(read.digest.text)
        print_lines(*(f"note: {note}" for note in (*read.notes, *read.refused)), err=True)
    else:
        show_trace(read, console())


TRACE_SCHEMA = "upskill.trace/1"
_SHOWN = 8
_INDENT = 11
"""The width of the names before what is said of them."""
_WIDE = 100
_WIDE_ONLY = frozenset({"failed", "corrected", "proofs"})
_NOTES = 12
_SECTIONS: dict[FindingKind, str] = {
    "correction": "Corrections by the person",
    "fix": "Errors and their fixes",
    "proof": "Checks that passed",
    "dead end": "Dead ends",
    "fact": "Environment",
}


def show_trace(source: TraceSource, console: Console) -> None:
    """Print what was understood: one trace in full, several as a list and then as one source."""
    if len(source.traces) == 1:
        _lines(_one(source.traces[0], console.width), console)
    else:
        _rows(source, console)
    _lines(_totals(source), console)
    _lines(_findings(source, console.width), console)
    _lines(_notes(source), console)


def _lines(lines: Iterator[Text], console: Console) -> None:
    """Each line on its own; one that is too long goes on below its beginning, broken at words."""
    for line in lines:
        wrapped = line.wrap(console, max(20, console.width - _INDENT)) if len(line) > console.width else [line]
        for number, part in enumerate(wrapped):
            part.rstrip()
            console.print(Text(" " * (_INDENT if number else 0)).append_text(part), soft_wrap=True)


def _one(trace: TraceSummary, width: int) -> Iterator[Text]:
    yield Text(_plain(trace.name), style="bold")
    about = [trace.title, trace.model, trace.folder]
    yield Text(" · ".join(part for part in about if part), style="dim")
    yield Text()
    if trace.recorder == "text":
        yield _row("text", "plain text without recorded steps; the most useful passages are kept")
        return
    if trace.task is None:
        yield _row("task", "not recorded; name it yourself", style="yellow")
    else:
        yield _row("task", one_line(trace.task, most=max(40, width - _INDENT)))
    corrections = f", {count(trace.corrections, 'correction')}" if trace.corrections else ""
    yield _row("person", f"{count(trace.turns, 'turn')}{corrections}")
    yield _row("agent", f"{count(trace.agent_steps, 'step')}, {count(trace.calls, 'call')}{_tools(trace.tools)}")
    if trace.subagents:
        yield _row("subagents", f"{trace.subagents}, included in the calls")
    yield _row("failures", _failures(trace))
    if trace.success is not None:
        yield _row("outcome", "scored as a success" if trace.success else "scored as a failure")
    branches = f"{count(trace.dropped_branches, 'branch', 'branches')} discarded by the person"
    left_out = [branches] if trace.dropped_branches else []
    left_out += [count(trace.commands, "slash command")] if trace.commands else []
    if left_out:
        yield _row("skipped", ", ".join(left_out))


def _failures(trace: TraceSummary) -> str:
    counts = []
    if trace.marked_failures or not trace.unmarked_failures:
        counts.append(f"{trace.marked_failures} marked as failed")
    if trace.unmarked_failures:
        counts.append(f"{trace.unmarked_failures} recognised by their text")
    return f"{', '.join(counts)}; {count(trace.fixes, 'fix', 'fixes')}, {count(trace.dead_ends, 'dead end')}"


def _tools(tools: Mapping[str, int]) -> str:
    if not tools:
        return ""
    more = f" and {len(tools) - 6} more" if len(tools) > 6 else ""
    return (
        ": "
        + ", ".join(f"{one_line(name, most=30)} {uses}" for name, uses in itertools.islice(tools.items(), 6))
        + more
    )


def _rows(source: TraceSource, console: Console) -> None:
    numbers = {trace.name: number for number, trace in _numbered(source.traces)}
    rows: list[dict[str, object]] = [
        {
            "session": number if trace.same_as is None else f"= {numbers[trace.same_as]}",
            "file": _plain(trace.name),
            "recorder": trace.recorder,
            "turns": trace.turns,
            "calls": trace.calls,
            "failed": trace.marked_failures + trace.unmarked_failures,
            "fixes": trace.fixes,
            "corrected": trace.corrections,
            "proofs": trace.proofs,
        }
        for number, trace in _numbered(source.traces)
    ]
    columns = [name for name in rows[0] if console.width >= _WIDE or name not in _WIDE_ONLY] if rows else []
    show_rows(rows, columns, console, names=2)
    console.print()


def _numbered(traces: Sequence[TraceSummary]) -> Iterator[tuple[int | None, TraceSummary]]:
    """Numbers as findings use them: equal traces are counted once."""
    numbers = itertools.count(1)
    for trace in traces:
        yield (next(numbers) if trace.same_as is None else None), trace


def _totals(source: TraceSource) -> Iterator[Text]:
    digest = source.digest
    if len(source.traces) > 1:
        different = sum(trace.same_as is None for trace in source.traces)
        yield _row("source", f"{count(different, 'session')} read as one")
    yield _row("redacted", _redacted(source.redactions))
    if source.bad_lines:
        yield _row("skipped", f"{count(source.bad_lines, 'line')} that could not be read", style="yellow")
    whole = source.whole_tokens
    if digest.tokens < whole:
        share = f"{digest.tokens / whole:.{1 if digest.tokens * 10 < whole else 0}%}"
        size = f"~{digest.tokens:,} of ~{whole:,} tokens ({share})"
    else:  # a short text grows by the words around it
        size = f"~{digest.tokens:,} tokens (full text ~{whole:,})"
    yield _row("digest", f"{size}, budget {digest.budget:,}")
    if digest.left_out or digest.cut:
        brief = [count(digest.cut, "finding") + " shortened"] if digest.cut else []
        left_out = [f"{len(digest.left_out)} less important ones skipped"] if digest.left_out else []
        yield _row("", f"{len(digest.kept)} findings kept, {', '.join([*brief, *left_out])}")
    else:
        yield _row("", f"{count(len(digest.kept), 'finding')}, all in full")
    yield Text()


def _redacted(redactions: Mapping[str, int]) -> str:
    total = sum(redactions.values())
    if not total:
        return "no secrets found"
    return f"{count(total, 'secret')}: " + ", ".join(f"{kind} {found}" for kind, found in redactions.items())


def _findings(source: TraceSource, width: int) -> Iterator[Text]:
    many = len(source.traces) > 1
    found = [*source.digest.kept, *source.digest.left_out]
    for kind, title in _SECTIONS.items():
        mine = sorted((finding for finding in found if finding.kind == kind), key=lambda finding: finding.position)
        if not mine:
            continue
        yield Text(title, style="bold")
        best = sorted(mine, key=lambda finding: (-finding.support, -finding.points))[:_SHOWN]
        for finding in (each for each in mine if each in best):
            where = _where(finding, many=many)
            room = max(30, width - len(where) - 4)
            yield Text("  ").append(one_line(_headline(finding), most=room)).append(f"  {where}", style="dim")
            if finding.kind == "fix":
                yield Text(f"    {one_line(_fixed_by(finding), most=max(30, width - 4))}", style="green")
        if len(mine) > _SHOWN:
            yield Text(f"  and {len(mine) - _SHOWN} more", style="dim")
        yield Text()


def _headline(finding: Finding) -> str:
    if finding.kind == "correction" and finding.parts:
        words = " ".join(finding.parts[0].text.split())
        return f"{finding.title}: {words}" if finding.title.startswith("refused") else words
    if finding.kind == "proof" and finding.parts and not finding.parts[0].label:
        return f"{finding.title}: {finding.parts[0].text}"
    return finding.title


def _fixed_by(finding: Finding) -> str:
    """What changed, on one line; where the recording shows nothing else, the command that passed."""
    for label in ("changed", "passed", "then"):
        for part in finding.parts:
            if part.label == label:
                text = part.text if label == "changed" else part.text.split("\n")[0]
                return f"{label}: {' '.join(text.split())}"
    return "passed"


def _notes(source: TraceSource) -> Iterator[Text]:
    notes = [f"note: {note}" for note in source.notes]
    notes += [f"not read: {why}" for why in source.refused]
    for note in notes[:_NOTES]:
        yield Text(_plain(note), style="dim")
    if len(notes) > _NOTES:
        yield Text(f"and {len(notes) - _NOTES} more notes; --json shows all", style="dim")


def _row(name: str, what: str, *, style: str = "") -> Text:
    return Text(f"{name:<{_INDENT}}", style="dim").append(what, style=style or "not dim")


def _plain(name: str) -> str:
    """A name of a file may hold anything, also what would move the cursor."""
    return printable(name, instead="?")


def _where(finding: Finding, *, many: bool) -> str:
    if many and finding.support > 1:
        return f"{finding.support} sessions"
    place = finding.places[0]
    steps = f"step{'' if len(place.steps) == 1 else 's'} {_range(place.steps)}" if place.steps else ""
    where = " ".join(filter(None, [f"session {place.trace}" if many else "", place.thread, steps]))
    return f"{where}, {finding.count} times" if finding.count > 1 else where


def _range(steps: tuple[int, ...]) -> str:
    return ", ".join(map(str, steps)) if len(steps) <= 3 else f"{steps[0]} to {steps[-1]}"


def trace_json(source: TraceSource) -> dict[str, Json]:
    """The one JSON object of `upskill trace --json`. What is unknown is null."""
    digest = source.digest
    whole = source.whole_tokens
    return {
        "schema": TRACE_SCHEMA,
        "place": source.place,
        "bytes": source.bytes,
        "tokens": whole,
        "bad_lines": source.bad_lines,
        "redactions": dict(source.redactions),
        "notes": list(source.notes),
        "refused": list(source.refused),
        "traces": [_trace(number, trace) for number, trace in _numbered(source.traces)],
        "digest": {
            "tokens": digest.tokens,
            "budget": digest.budget,
            "share": digest.tokens / whole if whole else None,
            "in_brief": digest.cut,
            "findings": [_finding(finding) for finding in digest.kept],
            "left_out": [_finding(finding) for finding in digest.left_out],
            "text": digest.text,
        },
    }


_WHAT_WAS_READ = ("name", "same_as", "recorder", "model", "folder", "success", "task", "turns", "agent_steps", "calls")
_WHAT_WAS_FOUND = ("fixes", "corrections", "proofs", "dead_ends", "subagents", "commands", "dropped_branches", "tokens")
_FINDING_KEYS = ("kind", "title", "marked", "points", "count", "support")


def _values(value: TraceSummary | Finding, names: Sequence[str]) -> dict[str, Json]:
    return {name: getattr(value, name) for name in names}


def _trace(number: int | None, trace: TraceSummary) -> Json:
    return {
        "number": number,
        **_values(trace, _WHAT_WAS_READ),
        "tools": dict(trace.tools),
        "failures": {"marked": trace.marked_failures, "by_text": trace.unmarked_failures},
        **_values(trace, _WHAT_WAS_FOUND),
    }


def _finding(finding: Finding) -> Json:
    return {
        **_values(finding, _FINDING_KEYS),
        "places": [
            {
                "trace": place.trace,
                "thread": place.thread or None,
                "steps": list(place.steps),
                "lines": None if place.lines is None else list(place.lines),
            }
            for place in finding.places
        ],
        "parts": [{"label": part.label or None, "text": part.text} for part in finding.parts],
    }
