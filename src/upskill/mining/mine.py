"""The workflow: sessions are found and read, their moments grouped, the groups judged, and those covered set apart."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from upskill.core.progress import SILENT, Progress
from upskill.errors import UsageError
from upskill.mining.candidates import MOST_CANDIDATES, Candidate, Verdict, judge, months_of
from upskill.mining.covered import Coverage, SkillUse, skill_uses, told_texts
from upskill.mining.grouping import group, sighted
from upskill.mining.moments import Moment
from upskill.mining.reading import SessionsRead, files_below, files_of_agents, read_sessions
from upskill.redaction import redactor_from
from upskill.traces.recording import Clean

LATER_NEEDED = 8
"""Sessions later than those of practice from which a claim of the same habit in later sessions can be made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MineOrder:
    """Which sessions are to be mined."""

    folder: Path | None = None
    """`None` for the sessions that coding agents keep on this machine."""
    last: int | None = None
    """Only so many of the newest files."""
    since: float | None = None
    """Only sessions from this time on, in seconds since the epoch."""
    cache: Path | None = None
    workers: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Mining:
    """What the sessions came to."""

    place: str
    read: SessionsRead
    months: float
    candidates: tuple[Candidate, ...]
    """Worth a skill, the most expensive first; people are shown the first ten."""
    covered: tuple[tuple[Candidate, str], ...]
    """Those that a skill or a file of instructions says already, with the place."""
    contradicted: tuple[Candidate, ...]
    left_out: Mapping[Verdict, int]
    """Groups that no skill could carry, by the reason."""
    skills: tuple[SkillUse, ...]

    @property
    def shown(self) -> tuple[Candidate, ...]:
        return self.candidates[:MOST_CANDIDATES]


def mine(order: MineOrder, *, environment: Mapping[str, str], progress: Progress = SILENT) -> Mining:
    """Read the sessions and find what is worth teaching. Calls no model; writes nothing but the cache."""
    if order.folder is not None:
        files, refused = files_below(order.folder)
        place = order.folder.as_posix()
        problems: list[str] = []
    else:
        files, problems = files_of_agents(environment)
        place, refused = "the sessions of coding agents", []
    if order.since is not None:
        # A file that was last written to before holds nothing from after.
        files = [file for file in files if file.written_at >= order.since]
    if order.last is not None:
        newest = sorted(files, key=lambda file: (-file.written_at, file.name))[: order.last]
        files = sorted(newest, key=lambda file: file.name)
    if not files:
        raise UsageError(f"{place}: no sessions were found", hint="name the folder that holds them", problems=problems)
    read = read_sessions(files, environment=environment, cache=order.cache, workers=order.workers, progress=progress)
    read = replace(read, skipped=(*refused, *read.skipped))
    sessions = read.sessions
    if order.since is not None:
        sessions = tuple(one for one in sessions if one.began is None or one.began >= order.since)
        read = replace(read, sessions=sessions)
    if not sessions:
        raise UsageError(
            f"{place}: contains no session", hint="name the folder that holds them", problems=read.skipped[:10]
        )
    progress.step("grouping", 0, None)
    judged = judge(group(sighted(sessions), sessions=len(sessions)), sessions=sessions)
    told = told_texts(sessions, folder=order.folder, environment=environment)
    coverage = Coverage(told)
    worth = [(one, coverage.of(one)) for one in judged if one.verdict == "candidate"]
    left = Counter(one.verdict for one in judged if one.verdict not in ("candidate", "contradicted"))
    clean = redactor_from(environment).clean
    return Mining(
        place=place,
        read=read,
        months=months_of(sessions),
        candidates=tuple(_cleaned(one, clean) for one, where in worth if where is None),
        covered=tuple((_cleaned(one, clean), where) for one, where in worth if where is not None),
        contradicted=tuple(_cleaned(one, clean) for one in judged if one.verdict == "contradicted"),
        left_out=dict(sorted(left.items())),
        skills=skill_uses(sessions, told),
    )


def _cleaned(candidate: Candidate, clean: Clean) -> Candidate:
    """A last time over what is shown: what was put together could show a secret that its pieces did not.

    The moments that only the document of a candidate shows are cleaned with it.
    """
    quotes, for_it, against = (
        tuple(replace(each, moment=_cleaned_moment(each.moment, clean)) for each in sightings)
        for sightings in (candidate.quotes, *candidate.sides)
    )
    return replace(
        candidate,
        title=clean(candidate.title),
        lesson=clean(candidate.lesson),
        terms=tuple(term for term in candidate.terms if clean(term) == term),
        quotes=quotes,
        sides=(for_it, against),
    )


def _cleaned_moment(moment: Moment, clean: Clean) -> Moment:
    return replace(moment, quote=clean(moment.quote), outcome=clean(moment.outcome))
