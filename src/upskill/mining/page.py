"""The page of what was mined, and the folder it is written to with the material of each candidate."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from markupsafe import Markup

from upskill.atomic_file import write_atomically
from upskill.core.nouns.text import visible
from upskill.errors import EngineError, UsageError
from upskill.mining.candidates import Candidate, practice_and_later
from upskill.mining.mine import LATER_NEEDED, Mining
from upskill.mining.words import (
    a_month,
    candidate_lines,
    document,
    generate_command,
    mined_json,
    mining_lines,
    moment_words,
    often,
)
from upskill.report.html.shell import plain, shell

MINED_FILE = "mined.json"
PAGE = "mined.html"
_OURS = re.compile(r"\d+\.md|mined\.(?:json|html)|\.gitignore")


def write_mined(mining: Mining, folder: Path) -> None:
    """Write the page, the list and a document for each candidate. Refuses a folder that holds something else."""
    try:
        others = [path.name for path in folder.iterdir() if not _OURS.fullmatch(path.name)] if folder.is_dir() else []
        if others:
            raise UsageError(
                f"{folder}: holds other files, {visible(others[0])} for one", hint="name another folder with -o"
            )
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.md")):
            path.unlink()
        # Excerpts of sessions are nobody else's: they must not slip into a commit.
        write_atomically(folder / ".gitignore", "*\n")
        for number, candidate in enumerate(mining.shown, 1):
            write_atomically(folder / f"{number}.md", document(candidate), mode=0o600)
        write_atomically(folder / PAGE, mined_page(mining, folder.as_posix()), mode=0o600)
        listed = json.dumps(mined_json(mining), indent=2, ensure_ascii=False)
        write_atomically(folder / MINED_FILE, listed + "\n", mode=0o600)
    except OSError as error:
        raise EngineError(f"{folder}: cannot be written ({error.strerror})") from None


def mined_page(mining: Mining, folder: str) -> str:
    """The whole page: the candidates as cards, then what was left out, as the terminal says it."""
    lines = [visible(line) for line in mining_lines(mining, folder=folder)]
    cards = _joined(_card(candidate, number, folder) for number, candidate in enumerate(mining.shown, 1))
    body = Markup('<header><p class="line"><span>{}</span><span>mine</span></p><h1>{}</h1></header><main>').format(
        plain(lines[0]), plain("What is worth teaching")
    )
    shown = {
        visible(line)
        for number, one in enumerate(mining.shown, 1)
        for line in candidate_lines(one, number=number, folder=folder)
    }
    rest = [line for line in lines[1:] if line and line not in shown]
    body += cards + Markup('<section class="card"><h2>Notes</h2>{}</section>').format(_listed(rest))
    foot = Markup("</main><footer><p>Made by upskill. Works offline, sends nothing.</p></footer>")
    return shell("What is worth teaching", body + foot, script=False)


def _card(candidate: Candidate, number: int, folder: str) -> Markup:
    practice, later = practice_and_later(candidate.sessions)
    claim = "enough" if len(later) >= LATER_NEEDED else "too few to prove it there"
    sessions = f"{len(practice)} sessions to learn from, {len(later)} later ones, {claim}"
    facts = f"{often(candidate)}; {a_month(candidate)}; {sessions}"
    quotes = _listed(moment_words(each) for each in candidate.quotes)
    return Markup(
        '<section class="card"><h2>{}. {}</h2><p class="muted">{}</p>{}<p>A skill would say: {}</p>'
        "<p><code>{}</code></p></section>"
    ).format(
        number,
        plain(visible(candidate.title)),
        plain(visible(facts)),
        quotes,
        plain(visible(candidate.lesson)),
        plain(visible(generate_command(number, folder))),
    )


def _listed(lines: Iterable[str]) -> Markup:
    return Markup("<ul>{}</ul>").format(
        _joined(Markup("<li>{}</li>").format(plain(visible(line).strip())) for line in lines)
    )


def _joined(parts: Iterator[Markup]) -> Markup:
    return Markup("").join(parts)
