"""A long session is read in little memory: in a process of its own, as a person's own machine would."""

import json
import subprocess
import sys
from pathlib import Path

from tools.simulation.session import PAIRS, Found, write_session

MEGABYTES = 12
MOST_RESIDENT = 60
"""In megabytes. Python with the readers alone takes about 30; a reader that held the file would take over 100."""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    write_session(session, megabytes=MEGABYTES)
    command = [sys.executable, "-m", "tools.simulation.session", str(session)]
    found = Found(**json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    assert found.megabytes > MEGABYTES
    assert found.resident_megabytes < MOST_RESIDENT
    assert found.pairs == PAIRS
    assert found.subagents > 0
    assert found.rewound > 0
    assert not found.rewound_seen
