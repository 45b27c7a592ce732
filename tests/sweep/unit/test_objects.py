"""Objects in a folder, and in file systems that fsspec knows: written once, whole or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]
from fsspec.spec import AbstractFileSystem  # type: ignore[import-untyped]

from upskill.errors import EngineError, UpskillError, UsageError
from upskill.sweep import objects as module
from upskill.sweep.objects import Objects, open_objects


@pytest.fixture(params=["folder", "url"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Objects]:
    place = str(tmp_path / "place") if request.param == "folder" else f"memory://{secrets.token_hex(4)}/place"
    yield open_objects(place)
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def test_an_object_is_created_once_by_whoever_comes_first(objects: Objects) -> None:
    with ThreadPoolExecutor(8) as pool:
        wrote = list(pool.map(lambda n: objects.create("results/a.json", b"%d" % n), range(40)))
    assert wrote.count(True) == 1 or objects.folder is None, "the file system in memory has no lock"
    assert objects.read("results/a.json") in [b"%d" % n for n, won in enumerate(wrote) if won]
    assert not objects.create("results/a.json", b"late")


def test_objects_are_listed_read_replaced_and_removed(objects: Objects, tmp_path: Path) -> None:
    assert objects.names("attempts") == []
    assert objects.folders("attempts") == []
    assert objects.read("attempts/a/x") is None
    objects.replace("attempts/b/1.jsonl", b"old")
    objects.replace("attempts/b/1.jsonl", b"new")
    objects.create("attempts/a/deep/down", b"x")
    (tmp_path / "file").write_bytes(b"large")
    objects.upload("attempts/a/x[1]*", tmp_path / "file")
    assert objects.names("attempts") == ["attempts/a/deep/down", "attempts/a/x[1]*", "attempts/b/1.jsonl"]
    assert objects.names("attempts/a") == ["attempts/a/deep/down", "attempts/a/x[1]*"]
    assert objects.folders("attempts") == ["a", "b"]
    wanted = ["attempts/b/1.jsonl", "missing", "attempts/a/x[1]*"]
    assert list(objects.read_all(wanted)) == [("attempts/b/1.jsonl", b"new"), ("attempts/a/x[1]*", b"large")]
    for name in (*wanted, "missing too"):
        objects.remove(name)
    assert objects.names("attempts") == ["attempts/a/deep/down"]


def test_many_objects_come_in_their_order(objects: Objects) -> None:
    names = [f"results/{n}" for n in range(100)]
    for name in reversed(names):
        objects.replace(name, name.encode())
    assert [name for name, _ in objects.read_all(names)] == names


def test_a_listing_is_whole_while_others_write(tmp_path: Path) -> None:
    objects = open_objects(str(tmp_path))
    names = [f"results/{n:02}" for n in range(20)]
    for name in names:
        objects.create(name, b"")

    def write() -> None:
        for name in names * 10:
            objects.replace(name, b"x")

    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(write) for _ in range(2)]
        while not all(one.done() for one in writing):
            assert objects.names("results") == names


def test_a_place_that_writes_once_says_so_every_time(objects: Objects) -> None:
    objects.require_written_once()
    objects.require_written_once()


def test_half_written_files_are_no_objects(tmp_path: Path) -> None:
    objects = open_objects(str(tmp_path))
    objects.create("results/a.json", b"x")
    (tmp_path / "results" / ".b.json.1234.tmp").write_bytes(b"half")
    assert objects.names("results") == ["results/a.json"]
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [".b.json.1234.tmp", "a.json"]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    objects = open_objects(str(tmp_path))
    for write in (objects.create, objects.replace):
        with pytest.raises(EngineError, match=r"a\.json: cannot be read or written \(No space left on device\)"):
            write("results/a.json", b"x")
    assert list((tmp_path / "results").iterdir()) == []


def test_a_file_system_without_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(UsageError, match="without hard links"):
        open_objects(str(tmp_path)).require_written_once()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no pipes and links there")
def test_neither_links_nor_pipes_are_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "results" / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(EngineError, match=name):
            open_objects(str(tmp_path)).read(f"results/{name}")


@pytest.mark.parametrize(
    "name",
    ["../x", "a/../../x", "/etc/x", "a//x", "", "a/", ".", "a/.hidden", "a\\x", "C:x", "a/x\n", "a/ ", "a/x\u202e"],
)
def test_a_name_that_is_no_plain_name_is_refused(objects: Objects, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for use in (
        lambda: objects.create(name, b"x"),
        lambda: objects.replace(name, b"x"),
        lambda: objects.upload(name, tmp_path / "file"),
        lambda: objects.read(name),
        lambda: objects.names(name),
        lambda: objects.folders(name),
        lambda: objects.remove(name),
    ):
        with pytest.raises(EngineError, match="is not the name of an object"):
            use()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name == "nt", reason="no links there")
def test_nothing_is_done_through_a_link_to_a_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "a").mkdir(parents=True)
    (outside / "a" / "x").write_bytes(b"mine")
    place = tmp_path / "place"
    place.mkdir()
    (place / "results").symlink_to(outside)
    objects = open_objects(str(place))
    for use in (
        lambda: objects.create("results/a/y", b"x"),
        lambda: objects.replace("results/a/x", b"x"),
        lambda: objects.upload("results/a/x", outside / "a" / "x"),
        lambda: objects.read("results/a/x"),
        lambda: objects.names("results"),
        lambda: objects.folders("results/a"),
        lambda: objects.remove("results/a/x"),
    ):
        with pytest.raises(EngineError, match=r"results: cannot be read or written: it is a link"):
            use()
    assert [path.read_bytes() for path in (outside / "a").iterdir()] == [b"mine"]


def test_a_listing_has_a_depth(tmp_path: Path) -> None:
    (tmp_path / "results" / "/".join("abcdefghij")).mkdir(parents=True)
    with pytest.raises(EngineError, match="never creates there"):
        open_objects(str(tmp_path)).names("results")


def test_a_place_in_which_nothing_may_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "place").write_bytes(b"a file")
    with pytest.raises(EngineError, match="cannot be read or written"):
        open_objects(str(tmp_path / "place")).create("results/a", b"x")


@pytest.mark.parametrize("url", ["nonsense://x/y", "looksfirst://x/y"])
def test_places_that_cannot_write_once_are_refused_in_one_line(url: str) -> None:
    with pytest.raises(UpskillError) as caught:
        open_objects(url)
    assert caught.value.message.isprintable()
    assert url in caught.value.message


class _Overwriting(MemoryFileSystem):  # type: ignore[misc]
    """As a store that does not know the header `If-None-Match`."""

    protocol = "overwriting"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        super().pipe_file(path, value)


class _LooksFirst(AbstractFileSystem):  # type: ignore[misc]
    protocol = "looksfirst"


class _Refusing(MemoryFileSystem):  # type: ignore[misc]
    """Answers as S3 does, in the words of a driver."""

    protocol = "refusing"
    statuses: list[int] = []  # noqa: RUF012 - the test fills it

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        if self.statuses:
            error = OSError(errno.EINVAL, "At least one of the pre-conditions did not hold")
            error.__cause__ = _Answered(self.statuses.pop(0))
            raise error
        raise RuntimeError("Unable to locate credentials for https://user:secret@host/x\n\x1b[2J")


class _Answered(Exception):
    def __init__(self, status: int) -> None:
        self.response = {"Error": {"Code": "x"}, "ResponseMetadata": {"HTTPStatusCode": status}}


@pytest.fixture(autouse=True)
def _registered() -> None:
    for one in (_Overwriting, _LooksFirst, _Refusing):
        fsspec.register_implementation(one.protocol, one, clobber=True)


def test_a_store_that_overwrites_is_refused() -> None:
    with pytest.raises(UsageError, match="writes an object twice"):
        open_objects("overwriting://bucket/x").require_written_once()


def test_what_a_store_answers_is_understood_without_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CONFLICT_PAUSES", (0.0, 0.0))
    objects = open_objects("refusing://bucket/x")
    _Refusing.statuses[:] = [409, 409, 412]
    assert not objects.create("a", b"x"), "somebody else wrote it meanwhile"
    _Refusing.statuses[:] = [409, 409, 409]
    with pytest.raises(EngineError, match="pre-conditions"):
        objects.create("a", b"x")


def test_a_bucket_that_is_not_there_is_named_so_whatever_the_driver_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError(None)

    objects = open_objects("overwriting://bucket/x")
    monkeypatch.setattr(_Overwriting, "pipe_file", missing)
    with pytest.raises(EngineError, match=r"x/a: cannot be read or written \(there is no such bucket\)"):
        objects.replace("a", b"x")


def test_errors_of_a_driver_are_one_line_without_secrets() -> None:
    with pytest.raises(EngineError, match="Unable to locate credentials") as caught:
        open_objects("refusing://bucket/x").create("a", b"x")
    assert caught.value.message.isprintable()
    assert "secret" not in caught.value.message
