"""A long session is read in little memory: in a process of its own, as a person's own machine would."""

from pathlib import Path

from benchmarks.long_session import PAIRS, write_session
from benchmarks.long_trace import read_apart

MEGABYTES = 12
MOST_RESIDENT = 60
"""In megabytes. Python with the readers alone takes about 30; a reader that held the file would take over 100."""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    write_session(session, megabytes=MEGABYTES)
    found, _ = read_apart(session)
    assert found.megabytes > MEGABYTES
    assert found.resident_megabytes < MOST_RESIDENT
    assert found.pairs == PAIRS
    assert found.subagents > 0
    assert found.rewound > 0
    assert not found.rewound_seen
