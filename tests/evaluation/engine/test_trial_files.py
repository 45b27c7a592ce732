"""The files of trials under processes: what full disks, crowds, kills and slow writers leave, and what scale costs."""

import contextlib
import os
import sqlite3
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.unit.files.test_trial_store import rows_in, spoil
from core.unit.files.trials import TRIAL
from forking import run_program
from upskill.core.runs.trial_store import SqliteStore

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="forks, kills and limits as POSIX has them")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "trials.sqlite3"


def helper(script: str, *arguments: str) -> str:
    """Run a script in a process of its own and return what it printed."""
    done = run_program(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_keeping_does_not_wait_for_a_writer_in_another_process(path: Path) -> None:
    with SqliteStore(path) as store, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        store.flush()
        other.execute("BEGIN EXCLUSIVE")
        began = time.perf_counter()
        for number in range(100):
            store.keep(replace(TRIAL, id=f"t{number}"), fingerprint="f")
            assert store.recall(f"t{number}", fingerprint="f") is None
        assert time.perf_counter() - began < 8, "an idle machine takes a hundredth of one"
        time.sleep(0.3)
        other.execute("COMMIT")
        store.flush()
        assert store.recall("t99", fingerprint="f") is not None


def test_trials_that_a_held_store_does_not_take_do_not_pile_up_without_end(path: Path) -> None:
    with SqliteStore(path) as store, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for number in range(20_100):
            store.keep(replace(TRIAL, id=f"t{number}"), fingerprint="f")
        other.execute("COMMIT")
    assert rows_in(path) == 20_000
    assert store.notes[0].endswith("is locked by another process; some answers were not cached")


READ_ONLY = """
    import os, sys, tempfile
    from pathlib import Path
    from core.unit.files.test_trial_store import TRIAL, SqliteStore, keep, NOW

    folder = Path(tempfile.mkdtemp())
    path = folder / "trials.sqlite3"
    keep(path, TRIAL)
    path.chmod(0o444)
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)  # to whom the folder does not belong
    with SqliteStore(path, clock=lambda: NOW) as store:
        store.keep(TRIAL, fingerprint="f")
        store.flush()
        assert store.recall("t1", fingerprint="f") is None
    if os.getuid() == 0:
        os.seteuid(0)
    folder.chmod(0o755)
    path.unlink()
    folder.rmdir()
    sys.stdout.write(store.notes[0])
"""


@needs_posix
def test_a_read_only_store_is_no_store() -> None:
    assert helper(READ_ONLY).endswith("no answers are reused or cached")


FULL_DISK = """
    import resource, signal, sys
    from dataclasses import replace
    from pathlib import Path
    from evaluation.engine.test_trial_files import TRIAL, SqliteStore

    # No file may grow beyond the limit, as on a disk that fills up.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, 800_000))
    with SqliteStore(Path(sys.argv[1])) as store:
        for number in range(1_000):
            store.keep(replace(TRIAL, id=f"t{number}", answer="x" * 500), fingerprint="f")
            if number % 20 == 0:
                store.flush()
        assert store.recall("t0", fingerprint="f") is not None
        assert store.recall("t999", fingerprint="f") is None
    sys.stdout.write("\\n".join(store.notes))
"""


@needs_posix
def test_a_disk_that_fills_up_is_noted_once_and_what_was_committed_stays(path: Path) -> None:
    notes = helper(FULL_DISK, str(path)).splitlines()
    assert len(notes) == 1
    assert notes[0].endswith("no more answers are cached")
    with SqliteStore(path) as store:
        found = [number for number in range(1_000) if store.recall(f"t{number}", fingerprint="f")]
    assert store.notes == ()
    assert 20 <= len(found) < 1_000


SHORT_WRITE = """
    import resource, signal, sys
    from pathlib import Path
    from upskill.core.nouns import Errored, Trial
    from upskill.errors import EngineError
    from upskill.core.runs.trial_log import TrialLog

    # A file may not grow beyond the limit: the write that crosses it is cut short, as on a disk that fills up.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
    trial = Trial(id="t", student="s", case_id="c", arm="baseline", repeat=1, answer="x" * 900,
                  outcome=Errored(fault="crash", message="m"))
    log = TrialLog(Path(sys.argv[1]))
    finished = 0
    with log.open() as writer:
        try:
            while True:
                writer.append(trial)
                finished += 1
        except EngineError as error:
            message = error.message
    assert len(list(log.read())) == finished > 0, finished
    assert log.path.read_bytes().endswith(b"\\n"), "the part that was written is taken back"
    sys.stdout.write(message)
"""


@needs_posix
def test_a_line_that_was_cut_short_by_a_full_disk_is_taken_back(tmp_path: Path) -> None:
    assert helper(SHORT_WRITE, str(tmp_path / "t.jsonl")).endswith("t.jsonl: the disk is full")


# Crowds and kills


OPENING_CROWD = """
    import os, sys
    from pathlib import Path
    from upskill.core.runs.trial_store import SqliteStore

    for number in range(40):
        path = Path(sys.argv[1]) / f"{number}.sqlite3"
        start, go = os.pipe()
        children = []
        for _ in range(8):
            child = os.fork()
            if child == 0:
                os.close(go)
                os.read(start, 1)
                with SqliteStore(path) as store:
                    pass
                os._exit(len(store.notes))
            children.append(child)
        os.close(go)
        ends = [os.waitpid(child, 0)[1] for child in children]
        os.close(start)
        assert ends == [0] * 8, (number, ends)
"""


@needs_posix
def test_eight_processes_that_make_the_same_store_at_once_make_one(tmp_path: Path) -> None:
    helper(OPENING_CROWD, str(tmp_path))
    assert len(list(tmp_path.glob("*.sqlite3"))) == 40
    assert list(tmp_path.glob("*aside*")) == [], "none was taken for damaged or foreign"


CROWD = """
    import os, sys
    from dataclasses import replace
    from pathlib import Path
    from evaluation.engine.test_trial_files import TRIAL, SqliteStore

    path = Path(sys.argv[1])
    start, go = os.pipe()

    def work(name):
        os.close(go)
        os.read(start, 1)  # until the parent lets all go at once
        with SqliteStore(path) as store:
            for number in range(300):
                store.keep(replace(TRIAL, id=f"shared{number}", answer=name), fingerprint="f")
                store.keep(replace(TRIAL, id=f"own{name}-{number}", answer=name), fingerprint="f")
                if number % 25 == 24:
                    store.flush()
                    own = [f"own{name}-{n}" for n in range(number + 1)]
                    assert all(store.recall(trial_id, fingerprint="f") for trial_id in own)
                    shared = [f"shared{n}" for n in range(number + 1)]
                    seen = {trial_id: store.recall(trial_id, fingerprint="f").trial.answer for trial_id in shared}
        with SqliteStore(path) as store:
            again = {trial_id: store.recall(trial_id, fingerprint="f").trial.answer for trial_id in shared}
        assert seen == again, "what was seen once is what everybody sees"
        assert store.notes == (), store.notes

    children = []
    for name in "abcdefgh":
        child = os.fork()
        if child == 0:
            try:
                work(name)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        children.append(child)
    os.close(go)
    ends = [os.waitpid(child, 0)[1] for child in children]
    assert ends == [0] * 8, ends
"""


@needs_posix
def test_eight_processes_write_and_read_one_new_store_at_once(path: Path) -> None:
    helper(CROWD, str(path))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM trials").fetchone() == (300 + 8 * 300,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


KILLS = """
    import os, random, signal, sqlite3, sys, time
    from dataclasses import replace
    from pathlib import Path
    from evaluation.engine.test_trial_files import TRIAL, SqliteStore

    path = Path(sys.argv[1])
    chance = random.Random(7)
    committed = []
    for point in range(20):
        heard, said = os.pipe()
        child = os.fork()
        if child == 0:
            store = SqliteStore(path)
            for number in range(1_000_000):
                store.keep(replace(TRIAL, id=f"{point}-{number}", answer="x" * 2_000), fingerprint="f")
                if number % 7 == 6:
                    store.flush()
                    os.write(said, b"%d\\n" % number)
            os._exit(1)
        os.close(said)
        with os.fdopen(heard) as file:
            lines = [file.readline() for _ in range(chance.randrange(1, 12))]
            time.sleep(chance.random() * 0.005)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            lines += file.readlines()  # what was said before the kill counts as well; half a line does not
        last = [line for line in lines if line.endswith("\\n")][-1]
        committed += [f"{point}-{number}" for number in range(int(last) + 1)]
        with SqliteStore(path) as store:
            found = sum(store.recall(trial_id, fingerprint="f") is not None for trial_id in committed)
        assert store.notes == (), store.notes
        assert found == len(committed), (point, found, len(committed))
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    sys.stdout.write(str(len(committed)))
"""


@needs_posix
def test_kill_9_at_twenty_points_loses_nothing_committed_and_leaves_a_sound_file(path: Path) -> None:
    assert int(helper(KILLS, str(path))) > 300


# Scale


KEEP_MANY = """
    import resource, sys, time
    from dataclasses import replace
    from pathlib import Path
    from evaluation.engine.test_trial_files import TRIAL, SqliteStore, megabytes

    began, before = time.perf_counter(), megabytes()
    with SqliteStore(Path(sys.argv[1])) as store:
        for number in range(20_000):
            store.keep(replace(TRIAL, id=f"{number:064d}", answer=f"{number} " + "x" * 300), fingerprint="f")
    print(time.perf_counter() - began, megabytes() - before)
    assert store.notes == ()
"""
RECALL_MANY = """
    import resource, sys, time
    from pathlib import Path
    from evaluation.engine.test_trial_files import SqliteStore, megabytes

    began, before = time.process_time(), megabytes()
    with SqliteStore(Path(sys.argv[1])) as store:
        found = sum(store.recall(f"{n:064d}", fingerprint="f") is not None for n in range(20_000))
    print(time.process_time() - began, megabytes() - before, found)
    assert store.notes == ()
"""


def megabytes() -> float:
    """The most memory this process has had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1_000 if sys.platform == "linux" else 1_000_000)


@pytest.mark.full
@needs_posix
def test_tens_of_thousands_of_trials_are_recalled_in_seconds_with_flat_memory(path: Path) -> None:
    _, grown = map(float, helper(KEEP_MANY, str(path)).split())
    assert grown < 80, "megabytes: at most 20,000 trials wait, however fast they are handed in"
    spoil(path, "UPDATE trials SET trial = 'x' WHERE rowid % 1000 = 7")
    seconds, grown, found = map(float, helper(RECALL_MANY, str(path)).split())
    assert found == 20_000 - 20
    assert seconds < 8, "of the processor; an idle machine takes one"
    assert grown < 10, "megabytes"
