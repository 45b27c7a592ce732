"""Which files of a folder may be recordings. What is beside a recording and belongs to it is left to its reader."""

import os
from collections.abc import Iterator
from pathlib import Path

ENDINGS = (".jsonl", ".json", ".jsonl.zst", ".eval", ".traj", ".chat.history.md", ".md", ".txt")
SKIPPED = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".tox", "dist"})
BESIDE = frozenset({"ui_messages.json", "package.json", "package-lock.json", "tsconfig.json"})
_RUNS_OF_OURS = (frozenset({"run.json", "trials.jsonl"}), frozenset({"generate.json", "material.json"}))


def learnable_below(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As `os.walk`, without what nobody is to learn from: packages and the like, and the cases of skills.

    Those lie in `skill_meta.json`, in the `evals` beside a `SKILL.md`, and in run folders of upskill with all that
    was answered to them. Held-out cases would reach the teacher that way, and prove nothing any more. A run folder that
    is named itself is looked into: whoever names it wants it.
    """
    for place, folders, names in os.walk(folder):
        below = Path(place)
        if below != folder and any(marks.issubset(names) for marks in _RUNS_OF_OURS):
            folders.clear()
            continue
        cases = {"evals"} if "SKILL.md" in names else set()
        folders[:] = sorted(name for name in folders if name not in SKIPPED and name.casefold() not in cases)
        yield below, folders, sorted(name for name in names if name.casefold() != "skill_meta.json")


def recordings_below(folder: Path) -> Iterator[Path]:
    """Files that may be recordings, in the order of their names. Links to folders are not followed."""
    for below, folders, names in learnable_below(folder):
        if below.name == "subagents" and below.parent.with_suffix(".jsonl").is_file():
            # Read with their session, under the calls that began them.
            folders.clear()
            continue
        sessions = any(name.endswith(".jsonl") and not name.startswith("agent-") for name in names)
        for name in names:
            if sessions and name.startswith("agent-") and name.endswith(".jsonl"):
                # An older layout of the same.
                continue
            if name.endswith(ENDINGS) and name not in BESIDE and not name.endswith(".meta.json"):
                path = below / name
                if path.is_file():
                    yield path
