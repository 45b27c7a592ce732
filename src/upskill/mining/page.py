"""The folder of what was mined: the page, the list, and the material of each candidate."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from markupsafe import Markup

from upskill import disk
from upskill.core.nouns.text import visible
from upskill.core.runs.own_runs import is_sealed, seal_of
from upskill.errors import EngineError, UsageError
from upskill.mining.candidates import practice_and_later
from upskill.mining.mine import LATER_NEEDED, Mining
from upskill.mining.words import (
    candidate_lines,
    document,
    document_name,
    later_sessions,
    mined_json,
    mining_lines,
    note_lines,
)
from upskill.redaction import redactor_from
from upskill.report.html.shell import plain, shell

MINED_FILE = "mined.json"
PAGE = "mined.html"
_ALWAYS = frozenset({MINED_FILE, PAGE, ".gitignore"})


def write_mined(mining: Mining, folder: Path) -> None:
    """Write the list, the page and the documents of each candidate. Refuses a link, and a folder with other files.

    Files there are replaced or removed only if a list names them that the user's own `mine` wrote there.
    """
    clean = redactor_from(os.environ).clean
    material = dict(_material(mining))
    try:
        former = _former(folder)
        others = [path for path in disk.listed(folder) if path.name not in former or not disk.is_file(path)]
        if others or folder.is_symlink():
            why = f"holds other files, {visible(others[0].name)} for one" if others else "is a link"
            raise UsageError(f"{folder}: {why}", hint="name another folder with -o, or remove what is there")
        folder.mkdir(parents=True, exist_ok=True)
        for name in former - _ALWAYS:
            disk.remove(folder / name)
        listed = mined_json(mining)
        listed["seal"] = seal_of(folder, json.dumps(listed))
        # Before what it names, or a run that was killed would leave files that no list names.
        disk.write(folder / MINED_FILE, json.dumps(listed, indent=2) + "\n", mode=0o600)
        # Excerpts of sessions are nobody else's: they must not slip into a commit.
        disk.write(folder / ".gitignore", "*\n")
        for name, text in material.items():
            disk.write(folder / name, clean(text), mode=0o600)
        disk.write(folder / PAGE, mined_page(mining, folder.as_posix()), mode=0o600)
    except OSError as error:
        raise EngineError(f"{folder}: cannot be written ({error.strerror})") from None


def _material(mining: Mining) -> Iterator[tuple[str, str]]:
    """The documents of each candidate: that of practice, and that of each later session."""
    for number, candidate in enumerate(mining.shown, 1):
        yield document_name(number), document(candidate, practice_and_later(candidate.sessions)[0])
        for place, names in enumerate(later_sessions(mining, candidate).values(), 1):
            yield document_name(number, place), document(candidate, names)


def _former(folder: Path) -> frozenset[str]:
    """The files of an earlier `mine` of the user's in this folder; none where its list is not theirs."""
    try:
        listed = json.loads(disk.read(folder / MINED_FILE))
        if not isinstance(listed, dict) or not is_sealed(folder, listed):
            return frozenset()
    except (FileNotFoundError, ValueError, RecursionError):
        return frozenset()
    candidates = listed["candidates"]
    return _ALWAYS.union(each["document"] for one in candidates for each in (one, *one["later"]))


def mined_page(mining: Mining, folder: str) -> str:
    """The whole page: the candidates as cards, then what is no candidate. Its style is that of every page."""
    heading = plain(next(mining_lines(mining, folder=folder)))
    body = Markup('<header><p class="line"><span>{}</span><span>mine</span></p><h1>{}</h1></header><main>').format(
        heading, plain("What is worth teaching")
    )
    for number, candidate in enumerate(mining.shown, 1):
        practice, later = map(len, practice_and_later(candidate.sessions))
        enough = "" if later >= LATER_NEEDED else f"; a claim needs {LATER_NEEDED}"
        lines = [*candidate_lines(candidate, number=number, folder=folder)]
        lines.insert(1, f"{practice} sessions to learn from, {later} later ones{enough}")
        body += _card(f"{number}. {candidate.title}", lines)
    body += _card("Notes", note_lines(mining))
    foot = Markup("</main><footer><p>Made by upskill. Works offline, sends nothing.</p></footer>")
    return shell("What is worth teaching", body + foot, script=False)


def _card(title: str, lines: Iterable[str]) -> Markup:
    listed = Markup("").join(Markup("<li>{}</li>").format(plain(visible(line).strip())) for line in lines)
    return Markup('<section class="card"><h2>{}</h2><ul>{}</ul></section>').format(plain(visible(title)), listed)
