"""Two processes write to one answer cache and are killed: what `flush` acknowledged is there.

`keep` alone acknowledges nothing while another process writes: it returns within 20 ms, and the answers wait in memory
for the next `keep`, up to a quarter of a second later. Whoever counts answers after `keep` and kills both writers finds
some missing: the last ones of a writer, never one in the middle. The run folder has them all.
"""

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from upskill.storage import SqliteStore

WRITER = """
import os, sys
from dataclasses import replace
from pathlib import Path
from unit.storage.trials import TRIAL
from upskill.storage import SqliteStore

path, noted, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
notes = os.open(noted, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
store = SqliteStore(path)
print("open", flush=True)
for number in range(1, 1_000_000):
    store.keep(replace(TRIAL, id=f"{name}-{number:06}"), fingerprint="f")
    os.write(notes, f"kept {name}-{number:06}\\n".encode())
    if number % 20 == 0:
        store.flush()
        os.write(notes, f"flushed {name}-{number:06}\\n".encode())
"""


def _killed_writers(folder: Path, number: int, rng: random.Random) -> dict[str, tuple[list[str], int]]:
    """Two writers that were killed: what each had kept, and how many of these it had flushed."""
    noted = {f"{number:03}{which}": folder / f"{number}{which}" for which in "ab"}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder / "trials.sqlite3"), str(notes), name],
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": str(Path(__file__).parents[1])},
        )
        for name, notes in noted.items()
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"open\n"
        time.sleep(rng.uniform(0.1, 0.8))
    finally:
        for writer in rng.sample(writers, 2):
            writer.kill()
            time.sleep(rng.uniform(0.0, 0.05))
        for writer in writers:
            writer.communicate()
    found = {}
    for name, notes in noted.items():
        lines = [line.split() for line in notes.read_text().splitlines()]
        kept = [id for what, id in lines if what == "kept"]
        flushed = [id for what, id in lines if what == "flushed"]
        found[name] = kept, kept.index(flushed[-1]) + 1 if flushed else 0
    return found


@pytest.mark.once
@pytest.mark.parametrize("wanted", [1_000, pytest.param(10_000, marks=pytest.mark.full)])
def test_no_answer_that_was_flushed_is_lost_by_kill_9(tmp_path: Path, wanted: int, record_property: Any) -> None:
    rng = random.Random(wanted)
    found: dict[str, tuple[list[str], int]] = {}
    while sum(flushed for _, flushed in found.values()) < wanted or len(found) < wanted // 250:
        found |= _killed_writers(tmp_path, len(found), rng)
    with SqliteStore(tmp_path / "trials.sqlite3") as store:
        assert store.notes == (), "and it is not damaged"
    with sqlite3.connect(tmp_path / "trials.sqlite3") as file:
        there = {id for (id,) in file.execute("SELECT id FROM trials")}
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
    for kept, flushed in found.values():
        missing = [id for id in kept if id not in there]
        assert missing == (kept[-len(missing) :] if missing else []), "only the last ones, which waited together"
        assert len(kept) - len(missing) >= flushed
    both = [sum(len(kept) for kept, _ in found.values()), sum(flushed for _, flushed in found.values())]
    record_property("kept, flushed, there", [*both, len(there)])
