"""The files of a draft: where they belong, what became of its programs, and that the body names each of them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from upskill.domain import Draft, SectionSource
from upskill.teaching.programs import ProgramOutcome
from upskill.teaching.prompts import quoted
from upskill.teaching.sections import Section, join_body, split_body

logger = logging.getLogger(__name__)

MORE = "More"
"""The heading under which files are named that no section mentions: else nobody would open them."""
Source = Callable[[str, Sequence[str]], SectionSource]


def placed(path: str, folder: str) -> str:
    """A path where it belongs, if only the folder was left out."""
    plain = path.strip().removeprefix("./")
    return f"{folder}/{plain}" if plain and "/" not in plain and "\\" not in plain else plain


def with_programs(
    draft: Draft, judged: Sequence[ProgramOutcome], items: Mapping[str, Any], source: Source
) -> tuple[Draft, dict[str, str]]:
    """The draft with the programs that ran; the others as text under references/, and so named in the body."""
    files, executable, body = dict(draft.files), set(draft.executable), draft.body
    sources = list(draft.sources)
    when: dict[str, str] = {}
    for one in judged:
        logger.info("program %s: %s", one.fate, one.why)
        program, path = one.program, one.program.path
        if one.fate == "broken":
            body = "\n".join(line for line in body.split("\n") if path not in line)
            continue
        if one.fate == "ran":
            files[path] = program.text.encode()
            executable.add(path)
        else:
            stem = path.removeprefix("scripts/").replace("/", "-").rsplit(".", 1)
            path = f"references/{'-'.join(stem)}.md"
            language = "python" if program.path.endswith(".py") else "sh"
            files[path] = f"{quoted(program.text, language=language)}\n".encode()
            body = body.replace(program.path, path)
        item = items[program.path]
        when[path] = short(item.get("when", ""))
        sources.append(source(path, item.get("sources", ())))
    changed = replace(draft, body=body, files=files, executable=frozenset(executable), sources=tuple(sources))
    return changed, when


def naming_files(draft: Draft, when: Mapping[str, str]) -> Draft:
    """The draft with a line for every new file that its body does not mention."""
    missing = [path for path in sorted(when) if path not in draft.body]
    if not missing:
        return draft
    lines = "\n".join(f"- `{path}`" + (f": {when[path]}" if when[path] else "") for path in missing)
    sections = list(split_body(draft.body))
    if sections and sections[-1].heading == MORE:
        sections[-1] = replace(sections[-1], text=f"{sections[-1].text}\n{lines}", raw=None)
    else:
        sections.append(Section(heading=MORE, text=lines))
    return replace(draft, body=join_body(sections))


def short(text: str) -> str:
    return " ".join(text.split())[:200]
