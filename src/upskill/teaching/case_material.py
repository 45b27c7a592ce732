"""The material for cases, in slices: each call gets what all need and a part of the rest, so that cases differ."""

from collections.abc import Iterator

from upskill.domain.fences import with_fences
from upskill.domain.trace_digest import Finding
from upskill.teaching.material import Material
from upskill.teaching.places import finding_text
from upskill.teaching.prompts import quoted

MATERIAL_TOKENS = 12_000
"""Tokens of material in one call, unless the teacher's window is small."""
SHARE_OF_WINDOW = 3
BATCH = 10
TOKENS_PER_CASE = 1_200
"""Tokens of the window, for question and answer."""
_CHARACTERS_PER_TOKEN = 4
_FOR_ALL = ("task", "correction", "proof", "fact")
"""Findings that every call needs: the task, the proof of success, the environment."""
_MOST_PIECE_CHARACTERS = 8_000
_MOST_EXAMPLES = 20


def batch_size(window: int | None) -> int:
    """How many cases fit into one answer."""
    return BATCH if window is None else min(BATCH, max(2, window // TOKENS_PER_CASE))


def material_tokens(window: int | None) -> int:
    """Tokens of material in one call."""
    return MATERIAL_TOKENS if window is None else min(MATERIAL_TOKENS, max(256, window // SHARE_OF_WINDOW))


def shared_text(material: Material, tokens: int) -> str:
    """What every call needs, cut to so many tokens."""
    return "\n\n".join(_fitted([*_shared(material)], tokens * _CHARACTERS_PER_TOKEN))


def slices(material: Material, batches: int, *, window: int | None = None) -> list[str]:
    """The material of each call, as Markdown with quoted text in code blocks."""
    characters = material_tokens(window) * _CHARACTERS_PER_TOKEN
    shared = _fitted([*_shared(material)], characters // 2)
    pieces = [*_pieces(material)]
    found = []
    for number in range(batches):
        # Where there is little material, each call gets all of it, in another order.
        enough = len(pieces) >= 2 * batches
        mine = pieces[number::batches] if enough else pieces[number:] + pieces[:number]
        found.append("\n\n".join([*shared, *_fitted(mine, characters - sum(map(len, shared)))]))
    return found


def _shared(material: Material) -> Iterator[str]:
    yield f"## The task\n\n{quoted(material.task.strip() or '(none was given)')}"
    if material.skill is not None:
        said = quoted(f"{material.skill.name}: {material.skill.description}")
        yield f"## What the skill says of itself\n\n{said}"
    if material.examples:
        given = "\n\n".join(quoted(example) for example in material.examples[:_MOST_EXAMPLES])
        yield f"## Examples given by the person\n\n{given}"
    for finding in _findings(material):
        if finding.kind in _FOR_ALL:
            yield _written(finding)


def _pieces(material: Material) -> Iterator[str]:
    for finding in _findings(material):
        if finding.kind not in _FOR_ALL:
            yield _written(finding)
    if material.digest is not None and not material.digest.kept and material.digest.text.strip():
        yield from _in_pieces("recorded work", material.digest.text)
    if material.skill is not None:
        yield from _in_pieces("SKILL.md", material.skill.body)
        for path, data in sorted(material.skill.files.items()):
            if b"\0" not in data:
                yield from _in_pieces(path, data.decode("utf-8", "replace"))
    for document in material.documents:
        yield from _in_pieces(document.name, document.text)


def _findings(material: Material) -> tuple[Finding, ...]:
    return () if material.digest is None else material.digest.kept


_HEADINGS = {
    "task": "Recorded work: what was asked",
    "correction": "Recorded work: put right by the person",
    "proof": "Recorded work: a command that proved success",
    "fact": "Recorded work: the environment",
    "fix": "Recorded work: an error and its fix",
    "dead end": "Recorded work: tried and given up",
    "passage": "Recorded work: a passage",
}


def _written(finding: Finding) -> str:
    text = finding_text(finding, brief=finding.kind in _FOR_ALL)[:_MOST_PIECE_CHARACTERS]
    return f"## {_HEADINGS[finding.kind]}\n\n{quoted(text)}"


def _in_pieces(name: str, text: str) -> Iterator[str]:
    """A text cut at its headings, and again where a part is long."""
    for part in _parts(text):
        for start in range(0, len(part), _MOST_PIECE_CHARACTERS):
            piece = part[start : start + _MOST_PIECE_CHARACTERS]
            if piece.strip():
                yield f"## From {' '.join(name.split())[:100]}\n\n{quoted(piece.strip())}"


def _parts(text: str) -> list[str]:
    """Split before headings outside fences; parts of a line or two stay with the one before them."""
    parts: list[list[str]] = [[]]
    for line, fence in with_fences(text.split("\n")):
        if line.startswith("#") and fence is None and sum(map(len, parts[-1])) > 200:
            parts.append([])
        parts[-1].append(line)
    return ["\n".join(part) for part in parts]


def _fitted(pieces: list[str], characters: int) -> list[str]:
    """The first pieces that fit; a first piece that is too long by itself is cut, and marked so."""
    found: list[str] = []
    for piece in pieces:
        if len(piece) <= characters:
            found.append(piece)
            characters -= len(piece)
        elif not found and characters > 200:
            heading, _, rest = piece.partition("\n\n")
            inside = "\n".join(rest.split("\n")[1:-1])
            found.append(f"{heading}, cut\n\n{quoted(inside[: characters - len(heading) - 40])}")
            return found
    return found
