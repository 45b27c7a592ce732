"""Every file is opened in one place: what is refused there, and what is never half done."""

import os
import resource
import signal
from pathlib import Path

import pytest

from upskill import disk


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder of a stranger, with everything in it that is no ordinary file."""
    folder, outside = tmp_path / "theirs", tmp_path / "mine"
    folder.mkdir()
    outside.mkdir()
    (outside / "diary.md").write_text("mine")
    (folder / "plain.md").write_text("theirs")
    (folder / "link.md").symlink_to(outside / "diary.md")
    (folder / "folder.md").mkdir()
    (folder / "away").symlink_to(outside)
    os.mkfifo(folder / "pipe.md")
    return folder


@pytest.mark.parametrize("name", ["link.md", "folder.md", "pipe.md"])
def test_what_is_no_ordinary_file_is_neither_read_nor_written(trap: Path, name: str) -> None:
    for opening in (disk.read, disk.opened, disk.for_appending, lambda path: disk.beginning(path, 9)):
        with pytest.raises(disk.NotPlain):
            opening(trap / name)
    with pytest.raises(OSError):  # noqa: PT011 - what lies there, whatever it is
        disk.write_new(trap / name, "new")
    assert (trap.parent / "mine" / "diary.md").read_text() == "mine"


def test_a_file_beyond_the_size_is_refused_and_a_missing_one_is_missing(tmp_path: Path) -> None:
    disk.write(tmp_path / "a", "seven..")
    assert disk.read(tmp_path / "a", most=7) == b"seven.."
    assert disk.beginning(tmp_path / "a", 3) == b"sev"
    with pytest.raises(OSError, match="larger than 6 bytes"):
        disk.read(tmp_path / "a", most=6)
    for missing in (tmp_path / "b", tmp_path / "a" / "below"):
        with pytest.raises(FileNotFoundError):
            disk.read(missing)


def test_a_name_that_a_person_typed_may_be_a_link(trap: Path) -> None:
    assert disk.read(disk.named(trap / "link.md")) == b"mine"


def test_what_a_person_has_written_goes_through_a_link_and_into_a_pipe_and_replaces_no_device(trap: Path) -> None:
    disk.write_named(trap / "link.md", "new")
    assert (trap / "link.md").is_symlink()
    assert disk.read(trap.parent / "mine" / "diary.md") == b"new"
    reader = os.open(trap / "pipe.md", os.O_RDONLY | os.O_NONBLOCK)
    disk.write_named(trap / "pipe.md", "through")
    assert os.read(reader, 9) == b"through"
    os.close(reader)
    for name in ("pipe.md", "folder.md"):
        with pytest.raises(disk.NotPlain):
            disk.write(trap / name, "new")
    os.write(nowhere := disk.nowhere(), b"gone")
    os.close(nowhere)


def test_listing_follows_no_link(trap: Path) -> None:
    (trap / "inner").mkdir()
    (trap / "inner" / "deep.md").write_text("deep")
    assert [path.name for path in disk.plain_files(trap, "*.md")] == ["plain.md"]
    assert [path.name for path in disk.folders(trap)] == ["folder.md", "inner"]
    assert [path.name for path in disk.below(trap, "*.md")] == ["plain.md", "deep.md"]
    assert disk.listed(trap / "nowhere") == disk.listed(trap / "plain.md") == []


def test_a_link_is_neither_a_file_nor_a_folder(trap: Path) -> None:
    assert [path.name for path in disk.listed(trap) if disk.is_file(path)] == ["plain.md"]
    assert [path.name for path in disk.listed(trap) if disk.is_folder(path)] == ["folder.md"]
    assert not disk.is_file(trap / "nowhere")


def test_a_pipe_is_read_where_a_person_named_one(trap: Path) -> None:
    with disk.for_appending(trap / "plain.md"), pytest.raises(disk.NotPlain):
        disk.pipe(trap / "plain.md")
    writer = os.open(trap / "pipe.md", os.O_RDWR)
    os.write(writer, b"said\n")
    with disk.pipe(trap / "pipe.md") as pipe:
        assert pipe.readline() == b"said\n"
    os.close(writer)


def test_removing_a_link_leaves_what_it_leads_to(trap: Path) -> None:
    disk.remove(trap / "link.md")
    disk.remove_folder(trap / "away")
    disk.remove(trap / "nothing")
    assert (trap.parent / "mine" / "diary.md").exists()
    disk.remove_folder(trap)
    assert not trap.exists()


def test_writing_replaces_a_link_and_not_what_it_leads_to(trap: Path) -> None:
    disk.write(trap / "link.md", "new")
    assert (trap / "link.md").read_text() == "new"
    assert (trap.parent / "mine" / "diary.md").read_text() == "mine"
    assert [path.name for path in trap.iterdir() if path.name.endswith(".tmp")] == []


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with disk.for_appending(tmp_path / "ledger") as one, disk.for_appending(tmp_path / "ledger") as other:
        assert disk.lock(one)
        assert not disk.lock(other, wait=False)
    with disk.for_appending(tmp_path / "ledger") as later:
        assert disk.lock(later, wait=False)


def test_a_shared_lock_is_held_by_several_and_keeps_others_out(tmp_path: Path) -> None:
    folder = [disk.folder_descriptor(tmp_path) for _ in range(3)]
    assert disk.lock(folder[0], shared=True)
    assert disk.lock(folder[1], wait=False, shared=True)
    assert not disk.lock(folder[2], wait=False)
    for one in folder:
        os.close(one)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError):  # noqa: PT011 - the words of the system
        disk.folder_descriptor(tmp_path / "link")


@pytest.mark.parametrize("left", [b"", b"half", b"x" * 200_000])
def test_what_a_kill_left_of_a_line_is_cut_before_the_next_is_appended(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "log").write_bytes(b"one\ntwo\n" + left)
    with disk.for_appending(tmp_path / "log") as file:
        disk.drop_unterminated(file)
        assert disk.append(file, b"three\n")
    assert disk.read(tmp_path / "log") == b"one\ntwo\nthree\n"
    (tmp_path / "log").write_bytes(left)
    with disk.for_appending(tmp_path / "log") as file:
        disk.drop_unterminated(file)
    assert disk.read(tmp_path / "log") == b""


def test_what_a_full_disk_took_only_in_part_is_taken_back(tmp_path: Path) -> None:
    with disk.for_appending(tmp_path / "log") as file:
        assert disk.append(file, b"one\n")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
        try:
            assert not disk.append(file, b"two, and more\n")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
    assert disk.read(tmp_path / "log") == b"one\n"


def test_a_file_for_a_moment_is_new_and_goes_through_no_link(tmp_path: Path) -> None:
    disk.write_scratch(tmp_path / "one", b"text")
    assert disk.read(tmp_path / "one") == b"text"
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("one", "link"):
        with pytest.raises(OSError):  # noqa: PT011 - it exists, or it is a link
            disk.write_scratch(tmp_path / name, b"other")
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_is_replaced_or_made_whole_or_not_at_all(tmp_path: Path) -> None:
    disk.write_new(tmp_path / "key", "first", mode=0o600)
    with pytest.raises(FileExistsError):
        disk.write_new(tmp_path / "key", "second")
    with pytest.raises(UnicodeEncodeError), disk.replacing(tmp_path / "key") as file:
        file.write(b"half of" + "\ud800".encode())
    assert disk.read(tmp_path / "key") == b"first"
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_copy_of_a_folder_keeps_links_as_links_and_modes_and_takes_no_pipe(trap: Path, tmp_path: Path) -> None:
    (trap / "plain.md").chmod(0o444)
    with pytest.raises(disk.NotPlain):
        disk.copy_whole(trap, tmp_path / "first")
    (trap / "pipe.md").unlink()
    (trap / "folder.md" / "run").write_text("deep")
    (trap / "folder.md" / "run").chmod(0o755)
    disk.copy_whole(trap, tmp_path / "second")
    copy = tmp_path / "second"
    assert (copy / "away").readlink() == tmp_path / "mine"
    assert (copy / "link.md").is_symlink()
    assert (copy / "folder.md" / "run").read_text() == "deep"
    assert (copy / "folder.md" / "run").stat().st_mode & 0o777 == 0o755
    assert (copy / "plain.md").stat().st_mode & 0o777 == 0o444
    disk.copy_whole(trap / "away", tmp_path / "third")
    assert (tmp_path / "third").readlink() == tmp_path / "mine"


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    disk.write(tmp_path / ("ü" * 127), "new")
    disk.write_new(tmp_path / ("a" * 255), "new")
    assert len(list(tmp_path.iterdir())) == 2
