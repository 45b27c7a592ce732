"""The folder of what was mined: the page, the list, and the material of each candidate."""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from upskill.atomic_file import write_atomically
from upskill.core.nouns.text import visible
from upskill.errors import EngineError, UsageError
from upskill.mining.candidates import practice_and_later
from upskill.mining.mine import LATER_NEEDED, Mining
from upskill.mining.words import candidate_lines, document, mined_json, mining_lines, note_lines
from upskill.redaction import redactor_from
from upskill.report.html.shell import plain, shell

MINED_FILE = "mined.json"
PAGE = "mined.html"
_OURS = re.compile(r"\d+(?:-later)?\.md|mined\.(?:json|html)|\.gitignore")


def write_mined(mining: Mining, folder: Path) -> None:
    """Write the page, the list and a document for each candidate. Refuses a folder that holds something else."""
    clean = redactor_from(os.environ).clean
    listed = json.dumps(mined_json(mining), indent=2, ensure_ascii=False) + "\n"
    try:
        others = [path.name for path in folder.iterdir() if not _OURS.fullmatch(path.name)] if folder.is_dir() else []
        if others:
            message = f"{folder}: holds other files, {visible(others[0])} for one"
            raise UsageError(message, hint="name another folder with -o")
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.md")):
            path.unlink()
        # Excerpts of sessions are nobody else's: they must not slip into a commit.
        write_atomically(folder / ".gitignore", "*\n")
        for number, candidate in enumerate(mining.shown, 1):
            for name, sessions in zip(("", "-later"), practice_and_later(candidate.sessions), strict=True):
                write_atomically(folder / f"{number}{name}.md", clean(document(candidate, sessions)), mode=0o600)
        write_atomically(folder / PAGE, mined_page(mining, folder.as_posix()), mode=0o600)
        write_atomically(folder / MINED_FILE, listed, mode=0o600)
    except OSError as error:
        raise EngineError(f"{folder}: cannot be written ({error.strerror})") from None


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
