"""Judges groups of moments: what they cost, whether a skill could carry the answer, and what it would say.

A skill can carry what was the same each time. It cannot carry a value that was another one in each session, a rule that
other sessions contradict, or an error that went away by itself.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from upskill.mining.grouping import Group, Sighting
from upskill.mining.moments import MinedSession, Moment, MomentKind
from upskill.mining.rules import OPPOSITES
from upskill.mining.terms import is_code, is_usual, is_value, is_work

LEAST_SESSIONS = 3
LEAST_DAYS = 2
MOST_CANDIDATES = 10
DAYS_PER_MONTH = 30.0
TOKENS_PER_MINUTE = 2_000
"""What an agent reads and writes in a minute, so that tokens and minutes can be ranked together."""
_SOURCE_SESSIONS = 8
"""The least sessions that look something up in the same file of source code."""
_STABLE = 0.5
"""The share of its sessions in which a group must have the same answer."""
_SIDE = 0.25
"""The share of its sessions from which two answers are a contradiction and not a slip."""
_KEYS = ("error ", "fix ", "file ", "form ", "help ", "web ", "cd ")
"""Begin terms that stand in no text."""
_COMPARED = 10
"""Terms of a group that are looked at for a contradiction."""
_QUOTES = 3
_SENTENCES = 3
_RULE_WORDS = 2.0
"""Words that requests must share for what else is in them to be only an example."""

Sides = tuple[tuple[Sighting, ...], tuple[Sighting, ...]]
Verdict = Literal["candidate", "contradicted", "another value each time", "transient", "no common answer", "too rare"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What the moments of a candidate took, and what that is a month."""

    tokens: int
    minutes: float
    tokens_a_month: int
    minutes_a_month: float
    sessions_a_month: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Candidate:
    """Something that happened again and again, and what a skill would say of it."""

    kind: MomentKind
    """What most of its moments are."""
    title: str
    lesson: str
    """What a skill would say, in the words of the sessions."""
    terms: tuple[str, ...]
    """What it is about, the most telling first."""
    sightings: tuple[Sighting, ...]
    quotes: tuple[Sighting, ...]
    """Three of them, early, typical and late."""
    sessions: tuple[str, ...]
    """In the order in which they began."""
    days: tuple[str, ...]
    """UTC, of the sessions whose recordings have times."""
    cost: Cost
    agreement: float
    """The share of its sessions with the same answer."""
    verdict: Verdict = "candidate"
    sides: Sides = ((), ())
    """Of a contradiction: those that ask for it, and those that forbid it."""

    @property
    def last_seen(self) -> str | None:
        return self.days[-1] if self.days else None

    @property
    def score(self) -> float:
        """What it costs a month in minutes, as far as a skill could carry the answer."""
        return (self.cost.minutes_a_month + self.cost.tokens_a_month / TOKENS_PER_MINUTE) * self.agreement


def least_sessions(sessions: int) -> int:
    """In how many sessions something must be seen: in many sessions chance repeats itself."""
    return min(5, max(LEAST_SESSIONS, sessions // 60))


def judge(groups: Sequence[Group], *, sessions: Sequence[MinedSession]) -> list[Candidate]:
    """Every group with what it came to; those worth a skill first, the most expensive first."""
    months = months_of(sessions)
    least = least_sessions(len(sessions))
    judged = [one for each in groups if (one := _Judged(each, months).candidate(least=least)) is not None]
    return sorted(judged, key=lambda one: (one.verdict != "candidate", -round(one.score, 6), one.title, one.sessions))


def practice_and_later(sessions: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The earlier half of the sessions, from which a skill may be written, and the later half, which tests it."""
    middle = len(sessions) // 2
    return tuple(sessions[:middle]), tuple(sessions[middle:])


def months_of(sessions: Iterable[MinedSession]) -> float:
    """The time that the sessions cover, at least one month: less says nothing of the next."""
    began = [session.began for session in sessions if session.began is not None]
    days = (max(began) - min(began)) / 86_400 if began else 0.0
    return max(1.0, days / DAYS_PER_MONTH)


def day_of(began: float | None) -> str | None:
    """The day (UTC) of a time."""
    return None if began is None else datetime.fromtimestamp(began, UTC).date().isoformat()


class _Judged:
    """One group, its answers and what they have in common."""

    def __init__(self, group: Group, months: float) -> None:
        self._group = group
        self._months = months
        self._sightings = group.sightings
        self._sessions = tuple(dict.fromkeys(each.session.name for each in self._sightings))
        practice = set(practice_and_later(self._sessions)[0])
        fitting = [each for each in group.nearest if each.session.name in practice] or [*group.nearest]
        # The typical moment is one that a skill may be written from: later ones test it.
        self._central = next((each for each in fitting if each.moment.corrects), fitting[0])
        self._days = tuple(sorted({day for each in self._sightings if (day := day_of(each.session.began))}))
        self._strong = [each for each in self._sightings if each.moment.corrects]
        kinds = Counter(each.moment.kind for each in self._strong or self._sightings)
        self._kind: MomentKind = min(kinds, key=lambda kind: (-kinds[kind], kind))
        self._weight = dict(group.terms)
        self._typed = self._kind in ("correction", "instruction")

    def candidate(self, *, least: int) -> Candidate | None:
        """The group as a candidate with its verdict; `None` where it is too rare to be one."""
        if len(self._sessions) < least or (self._days and len(self._days) < LEAST_DAYS):
            return None
        answer, agreement = self._answer()
        verdict, sides = self._verdict(answer, agreement)
        return Candidate(
            kind=self._kind,
            title=self._title(answer),
            lesson=self._lesson(answer),
            terms=tuple(term for term, _ in self._group.terms if not term.startswith(_KEYS))[:12],
            sightings=self._sightings,
            quotes=self._quotes(),
            sessions=self._sessions,
            days=self._days,
            cost=cost_of(self._sightings, months=self._months),
            agreement=round(agreement, 4),
            verdict=verdict,
            sides=sides,
        )

    def _verdict(self, answer: str, agreement: float) -> tuple[Verdict, Sides]:
        nothing: Sides = ((), ())
        if len({each.session.name for each in self._strong}) < LEAST_SESSIONS and not self._names_a_thing():
            return "no common answer", nothing
        if sum(each.moment.transient for each in self._sightings) * 2 > len(self._sightings):
            return "transient", nothing
        sides = self._contradiction()
        if sides is not None:
            return "contradicted", sides
        if self._varies():
            return "another value each time", nothing
        read = answer.startswith("file ") and is_work(answer)  # source code is read for many reasons
        if agreement < _STABLE or not answer or (read and len(self._sessions) < _SOURCE_SESSIONS):
            return "no common answer", nothing
        return "candidate", nothing

    def _answer(self) -> tuple[str, float]:
        """The term of the answer that most sessions share, and their share."""
        seen: dict[str, set[str]] = defaultdict(set)
        for each in self._sightings:
            for term in _answers(each.moment):
                if term in self._weight and not is_value(term):
                    seen[term].add(each.session.name)
        # What was done differently counts where the words name it too, at least in some sessions.
        named = {term for each in self._sightings for term in (each.moment.said if each.moment.typed else ())}
        often = {term for term in seen if not self._typed or self._share_said(term) >= _SIDE}
        seen = {term: names for term, names in seen.items() if term in often and (not self._typed or term in named)}
        if not seen:
            return "", 0.0
        best = min(seen, key=lambda term: (-round(len(seen[term]) ** 2 * self._weight[term], 9), term))
        ended = {each.session.name for each in self._sightings if each.moment.kind != "repair" or each.moment.outcome}
        return best, len(seen[best]) / len(ended)

    def _share_said(self, term: str) -> float:
        return len({each.session.name for each in self._sightings if term in each.moment.said}) / len(self._sessions)

    def _names_a_thing(self) -> bool:
        """Whether most of the requests name the same file, flag or name that is no source code: a rule, and no task."""
        return any(
            is_code(term)
            and not is_value(term)
            and not is_work(term)
            and not term.endswith("/")
            and not (is_usual(term) and not term.startswith("CHANGELOG"))
            and self._share_said(term) >= 0.6
            for term in self._weight
        )

    def _carried(self, each: Sighting) -> set[str]:
        """What the words named and the next steps then did."""
        moment = each.moment
        # The words of a program and its subcommand say what is done, and not with what.
        heads = {word for term in moment.added if " " in term for word in term.split()}
        done = set(moment.added) - heads if moment.typed else set(moment.added)
        return (set(moment.said) - set(moment.refused)) & done if moment.typed else done

    def _varies(self) -> bool:
        """Whether the answer is another value in each session."""
        if self._kind in ("look-up",):
            return self._outputs_differ()
        carried = [(each, self._carried(each) | _values(each.moment)) for each in self._sightings]
        carried = [(each, terms) for each, terms in carried if terms]
        names = {each.session.name for each, _ in carried}
        if len(names) < LEAST_SESSIONS:
            return False
        sessions_of: dict[str, set[str]] = defaultdict(set)
        for each, terms in carried:
            for term in terms:
                sessions_of[term].add(each.session.name)
        own = {
            each: {term for term in terms if is_code(term) and len(sessions_of[term]) == 1} for each, terms in carried
        }
        shared: dict[str, set[str]] = defaultdict(set)
        for each, terms in carried:
            # The words that a name consists of are not shared: another name has other ones.
            whole = " ".join(own[each])
            for term in terms:
                if not is_value(term) and term not in whole:
                    shared[term].add(each.session.name)
        if len({each.session.name for each, terms in own.items() if terms}) < 0.5 * len(names):
            return False
        if max(map(len, shared.values()), default=0) >= _STABLE * len(names):
            return False
        rules = len({each.session.name for each in self._strong}) * 2 >= len(self._sessions)
        return not (self._typed and rules and self._shared_words(own) >= _RULE_WORDS)

    def _shared_words(self, own: Mapping[Sighting, set[str]]) -> float:
        """How many words a request has in common with others, on average: a rule has words beside its values.

        One sentence with another value each time is no rule, unless it names one thing that stays.
        """
        shared = {term for term in self._weight if not is_value(term) and self._share_said(term) >= _SIDE}
        words = []
        for each in self._sightings:
            values = " ".join(own.get(each, ()))
            words.append(frozenset(term for term in shared & set(each.moment.said) if term not in values))
        stays = any(is_code(term) and not is_work(term) and self._share_said(term) >= _STABLE for term in shared)
        return sum(map(len, words)) / len(words) if stays or len(set(words)) > _SENTENCES else 0.0

    def _outputs_differ(self) -> bool:
        """Whether the same look-up brought something else in most sessions."""
        brought: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for each in self._sightings:
            if each.moment.answer:
                brought[each.moment.quote].add((each.session.name, each.moment.answer))
        same = different = 0
        for found in brought.values():
            names, answers = {name for name, _ in found}, Counter(answer for _, answer in found)
            if len(names) > 1:
                most = max(answers.values())
                same, different = same + most - 1, different + len(found) - most
        return different > same

    def _contradiction(self) -> Sides | None:
        """Those that ask for the thing and those that forbid it, where both are too many to be slips."""
        typed = [each for each in self._sightings if each.moment.typed]
        wanted = {each: set(each.moment.said).difference(each.moment.refused) for each in typed}
        for first, second in OPPOSITES:
            sides = [
                [each for each in typed if one in wanted[each] and other not in wanted[each]]
                for one, other in ((first, second), (second, first))
            ]
            if self._are_sides(*sides) and len(_names([*sides[0], *sides[1]])) >= _STABLE * len(_names(typed)):
                return tuple(sides[0]), tuple(sides[1])
        for term, _ in self._group.terms[:_COMPARED]:
            about = [each for each in typed if term in each.moment.said]
            if len(_names(about)) < _SIDE * len(_names(typed)):
                continue
            asked = [each for each in about if term in each.moment.added and term not in each.moment.refused]
            undone = [each for each in about if term in each.moment.removed]
            if self._are_sides(asked, undone) and not set(term) & {"/", "."}:  # a file is also changed to undo a change
                return tuple(asked), tuple(undone)
            against = [each for each in about if term in each.moment.refused]
            for_it = [each for each in about if term not in each.moment.refused]
            mostly = len(_names(about)) >= 0.6 * len(_names(typed))
            if mostly and self._are_sides(for_it, against) and self._act_differently(for_it, against):
                return tuple(for_it), tuple(against)
        return None

    def _are_sides(self, first: Sequence[Sighting], second: Sequence[Sighting]) -> bool:
        """Whether both are in too many sessions to be slips."""
        return min(len(_names(first)), len(_names(second))) >= max(2, _SIDE * len(_names({*first, *second})))

    def _act_differently(self, for_it: Sequence[Sighting], against: Sequence[Sighting]) -> bool:
        """Whether the two sides led to different work, or at least not to the same that people named."""
        shares = []
        for side in (for_it, against):
            done = Counter(term for each in side for term in set(each.moment.added))
            shares.append({term: number / len(side) for term, number in done.items() if term in self._weight})
        own = [
            any(share >= 0.6 and other.get(term, 0.0) <= 0.15 for term, share in mine.items())
            for mine, other in (shares, shares[::-1])
        ]
        both = {term for term, share in shares[0].items() if share >= 0.5 <= shares[1].get(term, 0.0)}
        return all(own) or not any(self._share_said(term) >= _SIDE for term in both)

    def _title(self, answer: str) -> str:
        central = self._central.moment
        if self._kind == "repair":
            failed = central.quote.partition(" → ")[0]
            return f"`{failed}` fails; `{central.outcome}` works"
        if self._kind == "search":
            return f"a long search that ends in {central.outcome}"
        if self._kind == "look-up":
            return f"looked up again and again: {central.quote}"
        return central.quote

    def _lesson(self, answer: str) -> str:
        central = self._central.moment
        if self._kind == "repair":
            failed, _, error = central.quote.partition(" → ")
            return f"`{failed}` fails ({error}). `{central.outcome}` worked."
        if self._kind == "search":
            return f"It is in {central.outcome}."
        if self._kind == "look-up":
            then = f" It was then used in `{central.outcome}`." if central.outcome else ""
            return f"State what `{central.quote}` says, so that it need not be looked up.{then}"
        then = (
            f" What was then done: `{central.outcome}`."
            if central.outcome and set(central.added) & set(central.said)
            else ""
        )
        return f"{central.quote}{then}"

    def _quotes(self) -> tuple[Sighting, ...]:
        """The typical one, the earliest and the latest, of different words and sessions where there are."""
        chosen = [self._central]
        for each in (*self._sightings[:1], *reversed(self._sightings), *self._sightings):
            if len(chosen) == _QUOTES:
                break
            if all(
                each.session.name != other.session.name and each.moment.quote != other.moment.quote for other in chosen
            ):
                chosen.append(each)
        return tuple(sorted(chosen, key=lambda each: each.order))


def cost_of(sightings: Sequence[Sighting], *, months: float) -> Cost:
    """What these took, and what that is a month."""
    tokens = sum(each.moment.tokens for each in sightings)
    minutes = sum(each.moment.seconds for each in sightings) / 60
    return Cost(
        tokens=tokens,
        minutes=round(minutes, 2),
        tokens_a_month=round(tokens / months),
        minutes_a_month=round(minutes / months, 2),
        sessions_a_month=round(len(_names(sightings)) / months, 2),
    )


def merged(candidates: Sequence[Candidate], *, title: str, lesson: str, months: float) -> Candidate:
    """Candidates about the same thing as one, under another name; the first lends what only one can have."""
    sightings = sorted({each for one in candidates for each in one.sightings}, key=lambda each: each.order)
    weights = sum(len(one.sessions) for one in candidates)
    return replace(
        candidates[0],
        title=title,
        lesson=lesson,
        sightings=tuple(sightings),
        sessions=tuple(dict.fromkeys(each.session.name for each in sightings)),
        days=tuple(sorted({day for one in candidates for day in one.days})),
        cost=cost_of(sightings, months=months),
        agreement=round(sum(len(one.sessions) * one.agreement for one in candidates) / weights, 4),
    )


def _names(sightings: Iterable[Sighting]) -> set[str]:
    return {each.session.name for each in sightings}


def _values(moment: Moment) -> set[str]:
    """The values that a person typed."""
    return {term for term in moment.said if is_value(term)} if moment.typed else set()


def _answers(moment: Moment) -> Mapping[str, None]:
    """The terms in which the answer of a moment can be: what was done, what was said to do, what was looked at."""
    refused = set(moment.refused)
    if moment.kind in ("correction", "instruction"):
        files = " ".join(term for term in moment.said if is_work(term)).lower()
        return dict.fromkeys(
            term for term in (*moment.said, *moment.added) if term not in refused and term not in files
        )
    if moment.kind in ("look-up", "search"):
        # Nothing but the same file is the same; of help pages and the web it may be the same subject.
        return dict.fromkeys(moment.said[:1] if moment.said[0].startswith("file ") else moment.said)
    return dict.fromkeys(moment.added)
