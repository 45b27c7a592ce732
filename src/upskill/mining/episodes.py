"""Finds the moments of one session that cost somebody something. Compares no sessions and reads no files.

A failure that went away when the same command was run again teaches nothing and is counted as flaky; so does one that
an edit of the work itself repaired.
"""

import hashlib
import posixpath
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from upskill.core.nouns.text import estimate_tokens
from upskill.mining.forms import (
    FINDERS,
    MISUSED,
    PAGERS,
    TRANSIENT,
    is_done_over,
    is_other_form,
    is_same_aim,
    is_shell,
    is_slip,
    is_wrapped,
    prepares,
    respelled,
    same_call,
    tells,
    went_wrong,
)  # fmt: skip
from upskill.mining.moments import Moment, SkillLoad
from upskill.mining.rules import FURTHER, RULES, SENTENCE, refused_terms, rules_in
from upskill.mining.terms import (
    Segment,
    command_terms,
    error_terms,
    is_made,
    is_usual,
    path_terms,
    segments,
    text_terms,
    without,
)
from upskill.traces.excerpt import one_line, plain, signature
from upskill.traces.findings import NODS
from upskill.traces.recording import first_string, mapping, parsed
from upskill.traces.work import REFUSED, Action, Statement, Work, changed_lines, path_in

QUOTED = 300
"""Characters of a moment that are kept."""
PERSON_SECONDS = 30.0
"""What a turn costs the person who types it."""
_LONGEST_GAP = 600.0
"""Seconds between two steps; beyond it somebody was away."""
_WINDOW = 2
"""Actions before and after a correction that say what it is about."""
_LOOKED_AHEAD = 60
"""Actions after a failure among which the form that worked is looked for."""
_LEAST_SEARCH = 4
_MOST_MOMENTS = 400
"""Moments of one session; beyond it, it is no session that a person had."""
_MOST_TERMS = 60
_LONG_TURN = 600
"""Characters of a turn that is more than a correction: only its rules are taken."""

_WEB = re.compile(r"(?i)web|fetch|browse|url|docs?_|documentation|context7")
_READS = re.compile(r"(?i)^(?:read|view|open|cat|notebookread)|read_?(?:many_)?file|view_file")
_GREPS = re.compile(r"(?i)grep|search|glob|find|list|^ls$|codebase")
_HELP_WORDS = frozenset({"--help", "-h", "help", "-help", "--usage"})
_MANUALS = frozenset({"man", "tldr", "info", "apropos", "pydoc", "ri", "perldoc"})
_SKILL_FILE = re.compile(r"([\w.-]+)/SKILL\.md")

Entry = Action | Statement


class Episodes:
    """The moments of the work of one session."""

    def __init__(self, work: Work) -> None:
        self._work = work
        entries: list[Entry] = [*work.actions, *work.statements]
        self._entries = sorted(entries, key=lambda entry: entry.index)
        self._indices = [entry.index for entry in self._entries]
        self._root = self._guessed_root()
        self._turns = [each for each in work.statements if each.source == "person" and not each.thread]
        self.edited = {
            self._path(action.path)
            for action in work.actions
            if action.kind == "edit" and action.path and not action.failed
        }
        """The files that were changed, as they are named from the folder of the work."""
        self.flaky = 0

    def _guessed_root(self) -> str:
        """The folder that all files named by their whole path have in common, where the recording names none."""
        named = (self._work.shown(action.path or path_in(action.call.arguments) or "") for action in self._work.actions)
        folders = [posixpath.dirname(path) for path in named if path.startswith(("/", "~/"))]
        common = posixpath.commonpath(folders) if folders and len({path[0] for path in folders}) == 1 else ""
        parts = common.split("/")
        # The first folder below a home is more likely the work than one in it.
        return "/".join(parts[:2] if parts[0] == "~" else parts[:3]) + "/" if len(parts) > 1 else ""

    def moments(self) -> tuple[Moment, ...]:
        """All of them, in the order in which they happened."""
        found = [*self._corrections(), *self._refusals(), *self._repairs(), *self._searches(), *self._look_ups()]
        kept = found[:_MOST_MOMENTS]  # of a very long session the look-ups give way
        return tuple(sorted(kept, key=lambda moment: (moment.step, moment.kind, moment.thread, moment.quote)))

    def loads(self) -> tuple[SkillLoad, ...]:
        """The skills that the agent loaded, each once."""
        found: dict[str, Action] = {}
        for action in self._work.actions:
            if not action.failed and (name := _loaded_skill(action)):
                found.setdefault(name, action)
        corrections = [turn.index for turn in self._turns[1:] if rules_in(plain(turn.text).strip())]
        return tuple(
            SkillLoad(
                skill=one_line(plain(name), most=64),
                step=action.step,
                corrected=any(at > action.index for at in corrections),
            )
            for name, action in sorted(found.items())
        )

    def _corrections(self) -> Iterator[Moment]:
        for number, turn in enumerate(self._turns):
            text = self._work.shown(turn.text).strip()
            if not text_terms(text) or (len(text) < 60 and NODS.match(text)):
                continue
            first = number == 0
            if first or len(text) > _LONG_TURN:
                yield from self._rules(turn, text)
            else:
                yield self._correction(
                    turn, text, ends=self._turns[number + 1].index if number + 1 < len(self._turns) else None
                )

    def _rules(self, turn: Statement, text: str) -> Iterator[Moment]:
        """The sentences of a task that say how things are done here."""
        for sentence in list(dict.fromkeys(SENTENCE.split(text[:20_000])))[:200]:
            sentence = sentence.strip(" \t-*•")
            if 12 <= len(sentence) <= 400 and not sentence.endswith("?"):
                yield Moment(
                    kind="instruction",
                    corrects=RULES.search(sentence) is not None,
                    step=turn.step,
                    at=turn.at,
                    quote=one_line(sentence, most=QUOTED),
                    said=_most(text_terms(sentence)),
                    refused=_most(sorted(refused_terms(sentence))),
                    tokens=estimate_tokens(sentence),
                    seconds=PERSON_SECONDS,
                )

    def _correction(self, turn: Statement, text: str, *, ends: int | None) -> Moment:
        before = self._acts(None, turn.index)[-_WINDOW:]
        after = self._acts(turn.index, ends)[:_WINDOW]
        rules = rules_in(text)
        # Work that is done over right after the words was not what was wanted, whatever the words are.
        redone = bool(before and after) and is_done_over(before[-1], after[0]) and not FURTHER.match(text)
        return self._corrected(turn, rules or text, before, after, corrects=bool(rules) or (redone and text[-1] != "?"))

    def _refusals(self) -> Iterator[Moment]:
        """Calls that the person did not let through, with a reason."""
        for action in self._work.actions:
            if not REFUSED.match(action.output) or not (action.failed or len(action.output) < QUOTED):
                continue
            reason = re.search(
                r"(?is)(?:user (?:said|feedback|message)|reason(?: provided)?|feedback)\W*[:\n]\s*(.+)", action.output
            )
            text = self._work.shown(reason.group(1)).strip() if reason else ""
            if text:
                after = self._acts(action.index, None)[:_WINDOW]
                turn = Statement(
                    index=action.index, step=action.step, thread=action.thread, source="person", text=text, at=action.at
                )
                yield self._corrected(turn, text, [action], after, corrects=True)

    def _corrected(
        self, turn: Statement, text: str, before: Sequence[Action], after: Sequence[Action], *, corrects: bool
    ) -> Moment:
        done, then = self._terms(before), self._terms(after)
        said = text_terms(text)
        again = bool(before and after) and same_call(before[-1], after[0])
        # The first that takes up a word of the person is what the person wanted.
        wanted = next((act for act in after if set(said) & (set(self._terms([act])) - set(done))), None)
        wanted = wanted or next(iter(after), None)
        first = before[-1].index if before else turn.index
        last = wanted.index if wanted is not None else turn.index
        tokens, seconds = self._cost(first, last)
        return Moment(
            kind="correction",
            step=turn.step,
            thread=turn.thread,
            at=turn.at,
            quote=one_line(text, most=QUOTED),
            outcome="" if wanted is None else self._shown(wanted),
            said=_most(said),
            refused=_most(sorted(refused_terms(text))),
            added=_most(without(then, done)),
            removed=_most(without(done, then)),
            corrects=corrects,
            transient=again and not set(said) & (set(then) - set(done)),
            tokens=tokens,
            seconds=seconds + PERSON_SECONDS,
        )

    def _repairs(self) -> Iterator[Moment]:
        acts = [action for action in self._work.actions if is_shell(action)]
        used: set[int] = set()
        for at, failed in enumerate(acts):
            if failed.index in used or not went_wrong(failed) or REFUSED.match(failed.output):
                continue
            misused = MISUSED.search(failed.output[-3_000:]) is not None
            if failed.kind == "look" and not misused:
                continue
            later = [each for each in acts[at + 1 : at + 1 + _LOOKED_AHEAD] if each.thread == failed.thread]
            later = [each for each in later if each.state == "passed" and not went_wrong(each)]
            passed = next((each for each in later if is_same_aim(failed, each)), None)
            passed = passed or next((each for each in later[:6] if is_other_form(failed, each)), None)
            passed = passed or next((each for each in later if is_wrapped(failed, each)), None)
            if passed is None and (misused or not failed.is_check) and not TRANSIENT.search(failed.output[-1_500:]):
                yield self._repair(failed, [], used)
            if passed is None:
                continue
            worked = self._edits_between(failed, passed) and failed.is_check and not misused
            if worked and not is_wrapped(failed, passed):
                continue
            then = [passed]
            if not tells(failed, then, misused=misused) and not self._edits_between(failed, passed):
                between = [each for each in self._between(failed, passed) if is_shell(each) and each.state == "passed"]
                then = [*(each for each in between if prepares(each)), passed]
            if not tells(failed, then, misused=misused):
                self.flaky += same_call(failed, passed)
            elif not TRANSIENT.search(failed.output[-1_500:]) and not is_slip(failed, passed):
                yield self._repair(failed, then, used)

    def _repair(self, failed: Action, then: Sequence[Action], used: set[int]) -> Moment:
        line = self._work.error(failed)
        """A command that failed with what then worked; without anything, nobody found out in this session."""
        before, after = self._terms([failed]), self._terms(then)
        last = then[-1].index if then else failed.index
        chain = [
            action
            for action in self._work.actions
            if failed.index <= action.index < last and is_shell(action) and went_wrong(action)
        ]
        used.update(action.index for action in chain)
        tokens, seconds = self._cost(failed.index, last)
        prerequisite = len(then) > 1
        return Moment(
            kind="repair",
            step=failed.step,
            thread=failed.thread,
            at=failed.at,
            quote=one_line(f"{self._shown(failed)} → {one_line(line, most=140)}", most=QUOTED),
            outcome=self._shown(then[0] if prerequisite else then[-1]) if then else "",
            # The words of an error are its own: `command` in one is not the command of a person.
            said=_most([*_fixed_programs(failed), *error_terms(signature(line)), *_heads(failed)]),
            added=_most([*respelled(failed, then), *without(after, before)]),
            removed=() if prerequisite or not then else _most(without(before, after)),
            corrects=bool(then),
            tokens=tokens,
            seconds=seconds,
        )

    def _look_ups(self) -> Iterator[Moment]:
        for action in self._work.actions:
            if action.failed or not action.output.strip():
                continue
            what = self._looked_up(action)
            if what is None:
                continue
            said, document = what
            then = [act for act in self._acts(action.index, None) if act.thread == action.thread][:2]
            tokens, seconds = self._cost(action.index, action.index)
            yield Moment(
                kind="look-up",
                step=action.step,
                thread=action.thread,
                at=action.at,
                quote=one_line(self._shown(action), most=QUOTED),
                outcome=self._shown(then[0]) if then else "",
                said=_most(said),
                added=_most([term for term in self._terms(then) if not document]),
                answer=_digest(signature(plain(action.output)[:4_000])),
                tokens=tokens,
                seconds=seconds,
            )

    def _looked_up(self, action: Action) -> tuple[list[str], bool] | None:
        """The terms of what was looked up, and whether it was a file; `None` where it was work as usual."""
        name, arguments = action.call.name, action.call.arguments
        if is_shell(action):
            for segment in segments(arguments):
                if segment.program in _MANUALS or (
                    set(segment.words[1:]) & _HELP_WORDS and segment.program not in FINDERS
                ):
                    about = [word for word in segment.words if word not in _HELP_WORDS and not word.startswith("-")]
                    about = about[1:] if segment.program in _MANUALS else about
                    about += [
                        word for other in segments(arguments) if other.program in FINDERS for word in other.words[1:]
                    ]
                    if about:
                        return [
                            f"help {about[0]}",
                            *(f"help {' '.join(about[:2])}" for _ in about[1:2]),
                            *text_terms(" ".join(about[:4])),
                        ], False
                path = self._read_by(segment)
                if path:
                    return _of_file(path), True
            return None
        given = mapping(parsed(arguments))
        if _WEB.search(name):
            asked = first_string(given, "url", "uri", "query", "q", "prompt", "search_term", "libraryName", "topic")
            return ([*(f"web {term}" for term in text_terms(asked)), *text_terms(asked)], False) if asked else None
        if _READS.search(name):
            path = self._path(path_in(arguments) or first_string(given, "absolute_path", "filePath", "path", "target"))
            return (_of_file(path), True) if self._is_reference(path, is_file=True) else None
        if _GREPS.search(name):
            path = self._path(first_string(given, "path", "file_path", "filePath", "include"))
            return (_of_file(path), True) if self._is_reference(path) else None
        return None

    def _read_by(self, segment: Segment) -> str:
        """The file that a command prints, where it is one to look something up in."""
        if segment.program not in PAGERS | {"grep", "rg", "egrep", "jq", "yq"} or "-i" in segment.words:
            return ""
        words = segment.words[1:] if segment.program not in ("sed", "awk", "jq", "yq") else segment.words[2:]
        files = [self._path(word) for word in words if not word.startswith("-") and re.search(r"[./]", word)]
        is_file = segment.program in PAGERS
        return next((path for path in files if self._is_reference(path, is_file=is_file)), "")

    def _is_reference(self, path: str, *, is_file: bool = False) -> bool:
        """Whether it is a file to look something up in; without an ending it may be a folder that is searched."""
        name = posixpath.basename(path)
        return (
            ("." in name[1:] or (is_file and bool(path)))
            and path not in self.edited
            and not path.startswith(("/tmp/", "/proc/", "/dev/"))
            and not is_made(name)
            and not is_usual(name)
        )

    def _searches(self) -> Iterator[Moment]:
        run: list[Action] = []
        for entry in [*self._entries, None]:
            if isinstance(entry, Statement) and entry.source == "agent":
                continue
            if isinstance(entry, Action) and entry.kind == "look" and _searches_or_reads(entry):
                if run and run[-1].thread != entry.thread:
                    yield from self._search(run, None)
                    run = []
                run.append(entry)
                continue
            if run:
                yield from self._search(run, entry if isinstance(entry, Action) else None)
            run = []

    def _search(self, run: Sequence[Action], then: Action | None) -> Iterator[Moment]:
        """A run of looking around as a moment, if it was long; it ends in the file that was found."""
        finds = sum(_only_finds(action) for action in run)
        if len(run) < _LEAST_SEARCH or finds < 2:
            return
        target = self._target(run, then)
        if not target:
            return
        tokens, seconds = self._cost(run[0].index, run[-1].index)
        words = [term for action in run for term in self._terms([action]) if term not in ("grep", "find", "ls", "rg")]
        yield Moment(
            kind="search",
            step=run[0].step,
            thread=run[0].thread,
            at=run[0].at,
            quote=one_line(f"{len(run)} steps: " + "; ".join(self._shown(action) for action in run[:4]), most=QUOTED),
            outcome=target,
            said=_most(_of_file(target)),
            removed=_most(words),
            tokens=tokens,
            seconds=seconds,
        )

    def _target(self, run: Sequence[Action], then: Action | None) -> str:
        """The file that was found: what was read last, else what the next call was about."""
        for action in [*([then] if then is not None else []), *reversed(run[-2:])]:
            named = action.path or path_in(action.call.arguments)
            if not named and is_shell(action) and not _only_finds(action):
                words = [word for each in segments(action.call.arguments) for word in each.words[1:]]
                named = next((word for word in words if "/" in word and not word.startswith("-")), None)
            if named and not _only_finds(action):
                return self._path(named)
        return ""

    def _acts(self, after: int | None, before: int | None) -> list[Action]:
        """The commands, edits and other calls within these indices; looking around is none."""
        start = 0 if after is None else bisect_right(self._indices, after)
        end = len(self._indices) if before is None else bisect_left(self._indices, before)
        start = max(start, end - 200) if after is None else start
        found = self._entries[start:end] if after is None else self._entries[start : min(end, start + 200)]
        return [entry for entry in found if isinstance(entry, Action) and entry.kind != "look"]

    def _between(self, first: Action, last: Action) -> list[Action]:
        return [action for action in self._acts(first.index, last.index) if action.thread == first.thread]

    def _edits_between(self, first: Action, last: Action) -> bool:
        return any(action.kind == "edit" and not action.failed for action in self._between(first, last))

    def _cost(self, first: int, last: int) -> tuple[int, float]:
        """Tokens of these entries, and seconds from the first of them to the one behind the last."""
        start, end = bisect_left(self._indices, first), bisect_right(self._indices, last)
        mine = self._entries[start:end]
        times = [entry.at for entry in self._entries[start : end + 1] if entry.at is not None]
        gaps = (min(max(0.0, later - earlier), _LONGEST_GAP) for earlier, later in pairwise(times))
        return sum(_size(entry) for entry in mine), round(sum(gaps), 3)

    def _terms(self, actions: Iterable[Action]) -> list[str]:
        found: list[str] = []
        for action in actions:
            text = self._work.command(action)
            if action.kind == "edit":
                path = self._path(action.path)
                found += path_terms(path)
                found += [
                    term for row in list(changed_lines(text))[:60] if row[:1] == "+" for term in text_terms(row[1:])
                ]
            elif is_shell(action):
                found += command_terms(text)
            else:
                found += text_terms(self._shown(action))
        return list(dict.fromkeys(found))

    def _path(self, path: str | None) -> str:
        """A file as it is named from the folder of the work."""
        shown = self._work.shown(path or "").replace("\\", "/")
        return posixpath.normpath(shown.removeprefix("<project>/").removeprefix(self._root)) if shown else ""

    def _shown(self, action: Action) -> str:
        """A call on one line: the command of a shell, the file of an edit, else the tool with its short arguments."""
        given = mapping(parsed(action.call.arguments)) if action.call.arguments.startswith("{") else {}
        if not given or action.kind == "edit":
            return one_line(self._work.name(action), most=160)
        values = (value for value in given.values() if isinstance(value, str) and len(value) <= 120)
        return one_line(self._work.shown(" ".join((action.call.name, *values))), most=160)


def _of_file(path: str) -> list[str]:
    name = posixpath.basename(path)
    return [f"file {path}", path, name, *text_terms(re.sub(r"[_.-]", " ", name.rpartition(".")[0]))]


def _most(terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(term[:120] for term in list(dict.fromkeys(terms))[:_MOST_TERMS])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _size(entry: Entry) -> int:
    if isinstance(entry, Statement):
        return estimate_tokens(entry.text)
    return estimate_tokens(entry.call.arguments) + estimate_tokens(entry.output)


def _fixed_programs(action: Action) -> list[str]:
    return [f"fix {part.program}" for part in action.simple_commands]


def _heads(action: Action) -> list[str]:
    return [segment.head for segment in segments(action.call.arguments)]


def _searches_or_reads(action: Action) -> bool:
    return is_shell(action) or bool(_READS.search(action.call.name) or _GREPS.search(action.call.name))


def _only_finds(action: Action) -> bool:
    """Whether a call lists or searches, and reads no file."""
    if is_shell(action):
        return any(segment.program in FINDERS for segment in segments(action.call.arguments))
    return bool(_GREPS.search(action.call.name)) and not _READS.search(action.call.name)


def _loaded_skill(action: Action) -> str:
    given = mapping(parsed(action.call.arguments)) if action.call.arguments.lstrip().startswith("{") else {}
    if action.call.name.lower() in ("skill", "use_skill", "load_skill", "activate_skill"):
        return first_string(given, "skill", "name", "command").rpartition(":")[2]
    if action.kind == "edit":
        return ""
    found = _SKILL_FILE.search(action.call.arguments)
    return found.group(1) if found else ""
