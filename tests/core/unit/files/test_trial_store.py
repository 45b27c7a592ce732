"""The trial store: what it gives back, to whom, for how long, and what damage, kills and crowds leave of it."""

import contextlib
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upskill.core.nouns import Case, Check, CheckResult, Errored, Grade, PlannedTrial, Scored, Skill, Student, Trial
from upskill.core.runs.sqlite_file import StoredTrial
from upskill.core.runs.trial_store import KEPT, SqliteStore, default_store_path
from upskill.errors import EngineError

from .trials import TRIAL

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
WEEK = timedelta(days=7)
OTHER = replace(TRIAL, answer="another answer")


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "trials.sqlite3"


def keep(
    path: Path, *trials: Trial, fingerprint: str | None = "f", clock: Callable[[], datetime] = lambda: NOW
) -> None:
    """Keep trials with a store of their own, as a process would."""
    with SqliteStore(path, clock=clock) as store:
        for trial in trials:
            store.keep(trial, fingerprint=fingerprint)
    assert store.notes == ()


def recall(
    path: Path,
    trial_id: str = "t1",
    *,
    fingerprint: str | None = "f",
    newest_after: datetime | None = None,
    clock: Callable[[], datetime] = lambda: NOW,
) -> StoredTrial | None:
    with SqliteStore(path, clock=clock) as store:
        return store.recall(trial_id, fingerprint=fingerprint, newest_after=newest_after)


def recalled(store: SqliteStore, ids: Iterable[str]) -> list[StoredTrial]:
    found = (store.recall(trial_id, fingerprint="f") for trial_id in ids)
    return [stored for stored in found if stored is not None]


def answer_of(stored: StoredTrial | None) -> str | None:
    return None if stored is None else stored.trial.answer


def spoil(path: Path, change: str, *values: object) -> None:
    """Change the file behind the store's back."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change, values)


def lost(
    path: Path,
    trial_id: str = "t1",
    *,
    fingerprint: str | None = "f",
    clock: Callable[[], datetime] = lambda: NOW,
) -> int:
    with SqliteStore(path, clock=clock) as store:
        return store.lost_answers(trial_id, fingerprint=fingerprint)


def rows_in(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM trials").fetchone()[0])


# What it gives back


def test_a_kept_trial_comes_back_equal_with_the_time_it_was_stored(path: Path) -> None:
    keep(path, TRIAL)
    assert recall(path) == StoredTrial(trial=TRIAL, stored_at=NOW)


def test_an_identity_that_was_never_kept_is_absent(path: Path) -> None:
    keep(path, TRIAL)
    assert recall(path, "t2") is None


def test_an_errored_trial_is_never_stored(path: Path) -> None:
    keep(path, replace(TRIAL, outcome=Errored(fault="rate limit", message="429")))
    assert rows_in(path) == 0
    keep(path, TRIAL)
    assert recall(path) is not None


def test_lost_answers_of_errored_and_scored_trials_are_summed_and_stay(path: Path) -> None:
    errored = replace(TRIAL, outcome=Errored(fault="timeout", message="late"), lost=3)
    keep(path, errored)
    assert rows_in(path) == 0
    keep(path, errored, replace(TRIAL, lost=1), replace(TRIAL, id="t2"))
    assert lost(path) == 7
    assert (lost(path, "t2"), lost(path, fingerprint="g"), lost(path, fingerprint=None)) == (0, 0, 0)
    keep(path, errored, fingerprint=None)
    assert (lost(path), lost(path, fingerprint=None)) == (7, 3)


def test_a_trial_whose_sandbox_failed_lost_one_answer_and_a_refused_one_lost_none(path: Path) -> None:
    keep(path, replace(TRIAL, outcome=Errored(fault="sandbox", message="gone")))
    keep(path, replace(TRIAL, id="t2", outcome=Errored(fault="rate limit", message="429"), refused=3))
    keep(path, replace(TRIAL, id="t3", outcome=Errored(fault="cancelled", message="stopped")))
    assert [lost(path, trial_id) for trial_id in ("t1", "t2", "t3")] == [1, 0, 0]


def test_lost_answers_that_wait_to_be_written_are_counted(path: Path) -> None:
    with SqliteStore(path) as store, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        store.keep(replace(TRIAL, lost=2), fingerprint="f")
        assert store.lost_answers("t1", fingerprint="f") == 2
        other.execute("ROLLBACK")
        store.flush()
        assert store.lost_answers("t1", fingerprint="f") == 2


def test_lost_answers_are_forgotten_after_a_week(path: Path, clock: Clock) -> None:
    keep(path, replace(TRIAL, lost=2), clock=clock)
    clock.now += WEEK - timedelta(seconds=1)
    assert lost(path, clock=clock) == 2
    clock.now += timedelta(seconds=2)
    assert lost(path, clock=clock) == 0


def test_the_first_trial_of_an_identity_wins(path: Path) -> None:
    keep(path, TRIAL, OTHER)
    keep(path, OTHER)
    assert recall(path) == StoredTrial(trial=TRIAL, stored_at=NOW)


def test_what_was_kept_is_seen_by_the_same_store_after_a_flush(path: Path) -> None:
    with SqliteStore(path) as store:
        store.keep(TRIAL, fingerprint="f")
        store.flush()
        assert answer_of(store.recall("t1", fingerprint="f")) == TRIAL.answer


@settings(max_examples=40)
@given(answer=st.text(st.characters(exclude_categories=["Cs"])), saw=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_answer_comes_back_equal(quick_folder: Path, answer: str, saw: str) -> None:
    path = quick_folder / "any.sqlite3"
    path.unlink(missing_ok=True)
    grade = Grade(results=(CheckResult(kind="regex", passed=False, saw=saw),))
    trial = replace(TRIAL, answer=answer, outcome=Scored(end="cut", grade=grade))
    keep(path, trial)
    assert recall(path) == StoredTrial(trial=trial, stored_at=NOW)


def test_a_trial_that_has_no_utf_8_is_not_kept_and_stops_nothing(path: Path) -> None:
    keep(path, replace(TRIAL, answer="half \ud83d"), replace(TRIAL, id="t2"))
    assert recall(path) is None
    assert recall(path, "t2") is not None


def test_another_repeat_is_another_identity_so_that_a_stored_trial_is_never_a_new_repeat(path: Path) -> None:
    from upskill.core.trials.harness import (
        Requests,  # here, because processes that tests start with this module need not load it
    )

    case = Case(id="c1", prompt="Which?", checks=(Check(kind="contains", spec="9.0"),))
    requests = Requests(Skill(name="s", description="d", body="b", digest="x"))
    student = Student(name="haiku", model="anthropic/haiku")
    first, second = (
        requests.trial_id(PlannedTrial(case=case, arm="baseline", repeat=repeat), student) for repeat in (1, 2)
    )
    keep(path, replace(TRIAL, id=first))
    with SqliteStore(path, clock=lambda: NOW) as store:
        assert [stored.trial.id for stored in recalled(store, [first, second])] == [first]


# For how long, and for whom


def test_a_trial_older_than_the_moment_asked_for_is_not_recalled(path: Path) -> None:
    keep(path, TRIAL)
    assert recall(path, newest_after=NOW) is None
    assert recall(path, newest_after=NOW - timedelta(microseconds=1)) is not None


def test_without_a_moment_the_age_limit_of_the_store_holds(path: Path, clock: Clock) -> None:
    keep(path, TRIAL)
    clock.now = NOW + KEPT - timedelta(seconds=1)
    assert recall(path, clock=clock) is not None
    clock.now = NOW + KEPT
    assert recall(path, clock=clock) is None


def test_an_expired_trial_is_replaced_and_a_young_one_is_not(path: Path, clock: Clock) -> None:
    with SqliteStore(path, clock=clock) as store:
        store.keep(TRIAL, fingerprint="f")
        clock.now = NOW + KEPT - timedelta(seconds=1)
        store.keep(OTHER, fingerprint="f")
        store.flush()
        assert answer_of(store.recall("t1", fingerprint="f")) == TRIAL.answer
        clock.now = NOW + KEPT
        store.keep(OTHER, fingerprint="f")
        store.flush()
        assert store.recall("t1", fingerprint="f") == StoredTrial(trial=OTHER, stored_at=clock.now)


def test_expired_trials_are_deleted_when_a_store_is_opened(path: Path, clock: Clock) -> None:
    keep(path, *(replace(TRIAL, id=f"old{number}") for number in range(5_000)))
    full = path.stat().st_size
    clock.now = NOW + KEPT
    keep(path, replace(TRIAL, id="new"), clock=clock)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT id FROM trials").fetchall() == [("new",)]
    assert path.stat().st_size < full / 10


def test_a_trial_stays_as_long_as_whoever_kept_it_wanted(path: Path) -> None:
    with SqliteStore(path, age_limit=timedelta(days=30), clock=lambda: NOW) as store:
        store.keep(TRIAL, fingerprint="f")
    later = NOW + timedelta(days=20)
    keep(path, replace(TRIAL, id="t2"), clock=lambda: later)
    assert recall(path, newest_after=later - timedelta(days=30), clock=lambda: later) is not None


def test_answers_are_found_by_the_beginning_of_their_identity(path: Path) -> None:
    keep(path, replace(TRIAL, id="ab1"), replace(TRIAL, id="ab2"), replace(TRIAL, id="b"))
    with SqliteStore(path, clock=lambda: NOW) as store:
        assert sorted(trial.id for trial in store.named_like("ab")) == ["ab1", "ab2"]
        assert store.named_like("a%") == ()


def test_a_store_that_is_too_large_loses_what_expires_first(path: Path, clock: Clock) -> None:
    for day in range(4):
        clock.now = NOW + timedelta(days=day)
        keep(path, *(replace(TRIAL, id=f"{day}-{n}", answer="x" * 1_000) for n in range(2_000)), clock=clock)
    with SqliteStore(path, clock=clock, most_bytes=9_000_000):
        pass
    with contextlib.closing(sqlite3.connect(path)) as connection:
        days = connection.execute("SELECT DISTINCT substr(id, 1, 1) FROM trials ORDER BY 1").fetchall()
    assert days == [("2",), ("3",)]
    assert path.stat().st_size < 10_000_000


def test_a_trial_stored_under_a_clock_far_ahead_is_not_used_and_is_replaced(path: Path) -> None:
    keep(path, TRIAL, clock=lambda: NOW + timedelta(days=400))
    assert recall(path) is None
    keep(path, OTHER)
    assert recall(path) == StoredTrial(trial=OTHER, stored_at=NOW)


@pytest.mark.parametrize(("before", "after"), [("f", "g"), ("f", None), (None, "f")])
def test_a_trial_answered_by_something_else_is_not_recalled_and_is_replaced(
    path: Path, before: str | None, after: str | None
) -> None:
    keep(path, TRIAL, fingerprint=before)
    assert recall(path, fingerprint=after) is None
    assert recall(path, fingerprint=before) is not None
    keep(path, OTHER, fingerprint=after)
    assert answer_of(recall(path, fingerprint=after)) == OTHER.answer
    assert recall(path, fingerprint=before) is None


def test_an_unknown_fingerprint_equals_an_unknown_one(path: Path) -> None:
    keep(path, TRIAL, fingerprint=None)
    assert recall(path, fingerprint=None) is not None


def test_a_fingerprint_cannot_be_read_back_and_the_file_is_for_its_owner_only(path: Path) -> None:
    keep(path, TRIAL, fingerprint="sk-secret-in-a-url")
    assert b"secret" not in path.read_bytes()
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o077 == 0


def test_the_store_lies_in_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_store_path().name == "trials.sqlite3"
    if sys.platform == "linux":
        assert default_store_path() == tmp_path / "upskill" / "trials.sqlite3"


def test_a_closed_store_refuses_and_closing_twice_is_harmless(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    store.close()
    with pytest.raises(EngineError, match="was closed"):
        store.keep(TRIAL, fingerprint="f")
    with pytest.raises(EngineError, match="was closed"):
        store.recall("t1", fingerprint="f")


def test_threads_share_a_store(path: Path) -> None:
    with SqliteStore(path) as store:

        def work(name: str) -> None:
            for number in range(50):
                store.keep(replace(TRIAL, id=f"{name}{number}"), fingerprint="f")
                store.flush()
                assert store.recall(f"{name}{number}", fingerprint="f") is not None
                done.append(name)

        done: list[str] = []
        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(done) == 200


# Damage


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE trials SET trial = 'not json'",
        "UPDATE trials SET trial = x'ff00'",
        "UPDATE trials SET trial = 7",
        "UPDATE trials SET trial = cast(x'ff00' AS TEXT)",
        "UPDATE trials SET trial = replace(trial, 'It is', 'It was')",
        "UPDATE trials SET trial = cast(replace(cast(trial AS TEXT), '9.0', '8.0') AS BLOB)",
        "UPDATE trials SET stored_at = stored_at + 1",
        "UPDATE trials SET checksum = 'x'",
        "UPDATE trials SET checksum = checksum + 1",
    ],
)
def test_a_damaged_row_is_absent_and_is_overwritten(path: Path, change: str) -> None:
    keep(path, TRIAL, replace(TRIAL, id="t2"))
    spoil(path, f"{change} WHERE id = 't1'")
    assert recall(path) is None
    assert recall(path, "t2") is not None
    keep(path, OTHER)
    assert answer_of(recall(path)) == OTHER.answer


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"id": "t1"}',
        '{"id":"t2","student":"s","case_id":"c","arm":"baseline","repeat":1,"outcome":'
        '{"kind":"scored","end":"answered","grade":{"results":[]}}}',
        '{"id":"t1","student":"s","case_id":"c","arm":"baseline","repeat":1,"outcome":'
        '{"kind":"errored","fault":"crash","message":"m"}}',
    ],
)
def test_a_row_of_another_shape_is_absent_even_with_a_sound_checksum(path: Path, text: str) -> None:
    from upskill.core.runs.sqlite_file import checksum_of

    keep(path, TRIAL)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        fingerprint, stored_at = connection.execute("SELECT fingerprint, stored_at FROM trials").fetchone()
    data = text.encode()
    spoil(path, "UPDATE trials SET trial = ?, checksum = ?", data, checksum_of("t1", fingerprint, stored_at, data))
    assert recall(path) is None
    keep(path, OTHER)
    assert answer_of(recall(path)) == OTHER.answer


@pytest.mark.parametrize(
    "content", [b"x", b"not a database\n" * 100, b"\x00" * 8192, b"SQLite format 3\x00" + b"\xff" * 4096]
)
def test_a_file_that_is_no_database_is_moved_aside_with_a_note(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with SqliteStore(path, clock=lambda: NOW) as store:
        store.keep(TRIAL, fingerprint="f")
    assert len(store.notes) == 1
    assert "renamed to trials.sqlite3.aside-" in store.notes[0]
    assert [aside.read_bytes() for aside in path.parent.glob("*.aside-*")] == [content]
    assert recall(path) is not None


def test_a_database_of_something_else_is_moved_aside_untouched(path: Path) -> None:
    path.parent.mkdir()
    spoil(path, "CREATE TABLE recipes (name TEXT)")
    content = path.read_bytes()
    with SqliteStore(path, clock=lambda: NOW) as store:
        store.keep(TRIAL, fingerprint="f")
    assert "was not a cache of upskill" in store.notes[0]
    assert [aside.read_bytes() for aside in path.parent.glob("*.aside-*")] == [content]
    assert recall(path) is not None


@pytest.mark.parametrize("page", range(2, 9))
def test_a_file_spoilt_in_the_middle_is_moved_aside_at_the_latest_when_closing(path: Path, page: int) -> None:
    trials = [replace(TRIAL, id=f"{number:064d}", answer="x" * 300) for number in range(200)]
    keep(path, *trials)
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(os.urandom(4096))
    with SqliteStore(path, clock=lambda: NOW) as store:
        found = recalled(store, [trial.id for trial in trials])
        for trial in trials:
            store.keep(trial, fingerprint="f")
    assert [stored.trial for stored in found if stored.trial not in trials] == []
    keep(path, *trials)  # asserts that there is nothing left to note
    with SqliteStore(path, clock=lambda: NOW) as store:
        assert len(recalled(store, [trial.id for trial in trials])) == 200


def test_two_processes_that_find_the_same_damage_do_not_move_the_new_store_aside(path: Path) -> None:
    trials = [replace(TRIAL, id=f"{number:064d}", answer="x" * 300) for number in range(200)]
    ids = [trial.id for trial in trials]
    keep(path, *trials)
    with path.open("r+b") as file:
        file.seek(4 * 4096)
        file.write(b"\xff" * 40_960)
    with SqliteStore(path, clock=lambda: NOW) as slow:
        assert len(recalled(slow, ids)) < 200
        with SqliteStore(path, clock=lambda: NOW) as fast:
            assert len(recalled(fast, ids)) < 200
        keep(path, TRIAL)
    assert (len(fast.notes), len(slow.notes)) == (1, 0)
    assert recall(path) is not None


@settings(max_examples=60)
@given(data=st.data())
def test_whatever_bytes_are_spoilt_nothing_false_comes_back(quick_folder: Path, data: st.DataObject) -> None:
    path = quick_folder / "spoilt" / "trials.sqlite3"
    for old in path.parent.glob("*"):
        old.unlink()
    trials = [replace(TRIAL, id=f"t{number}") for number in range(30)]
    keep(path, *trials)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, 4096, 50]))])
    with SqliteStore(path, clock=lambda: NOW) as store:
        found = recalled(store, [trial.id for trial in trials])
        for trial in trials:
            store.keep(trial, fingerprint="f")
    assert [stored for stored in found if stored.trial not in trials] == []


def test_a_store_of_another_version_is_left_alone_with_a_note(path: Path) -> None:
    keep(path, TRIAL)
    spoil(path, "PRAGMA user_version = 2")
    content = path.read_bytes()
    with SqliteStore(path) as store:
        store.keep(OTHER, fingerprint="f")
        store.flush()
        assert store.recall("t1", fingerprint="f") is None
    assert "another version" in store.notes[0]
    assert path.read_bytes() == content


def test_where_there_can_be_no_store_there_is_a_note_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "trials.sqlite3", tmp_path / "folder"):
        with SqliteStore(path) as store:
            store.keep(TRIAL, fingerprint="f")
            store.flush()
            assert store.recall("t1", fingerprint="f") is None
        assert len(store.notes) == 1
        assert store.notes[0].endswith("no answers are reused or cached")
