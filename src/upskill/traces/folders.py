"""Which files of a folder may be recordings. What is beside a recording and belongs to it is left to its reader."""

import os
from collections.abc import Iterator
from pathlib import Path

ENDINGS = (".jsonl", ".json", ".jsonl.zst", ".eval", ".traj", ".chat.history.md", ".md", ".txt")
SKIPPED = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".tox", "dist"})
BESIDE = frozenset({"ui_messages.json", "skill_meta.json", "package.json", "package-lock.json", "tsconfig.json"})


def recordings_below(folder: Path) -> Iterator[Path]:
    """Files that may be recordings, in the order of their names. Links to folders are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        below = Path(place)
        if below.name == "subagents" and below.parent.with_suffix(".jsonl").is_file():
            # Read with their session, under the calls that began them.
            folders.clear()
            continue
        sessions = any(name.endswith(".jsonl") and not name.startswith("agent-") for name in names)
        for name in sorted(names):
            if sessions and name.startswith("agent-") and name.endswith(".jsonl"):
                # An older layout of the same.
                continue
            if name.endswith(ENDINGS) and name not in BESIDE and not name.endswith(".meta.json"):
                path = below / name
                if path.is_file():
                    yield path
