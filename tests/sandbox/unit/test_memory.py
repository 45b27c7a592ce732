"""Control groups, on folders that look like the kernel's; the real one is used wherever sandboxes are tested."""

from pathlib import Path

from upskill.sandbox.contract import Limits
from upskill.sandbox.memory import Controllers, MemoryGroup, _version_1, _version_2, make_group


def test_version_2_finds_the_place_beside_its_own_group(tmp_path: Path) -> None:
    own = tmp_path / "user.slice" / "app.slice" / "terminal.scope"
    own.mkdir(parents=True)
    (own / "cgroup.subtree_control").write_text("")
    (own.parent / "cgroup.subtree_control").write_text("memory pids\n")
    (own.parent / "cgroup.procs").write_text("")
    mounts = f"30 23 0:26 / {tmp_path} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
    (found,) = _version_2("0::/user.slice/app.slice/terminal.scope\n", mounts)
    assert found == Controllers(version=2, memory=own.parent, processes=own.parent)


def test_version_2_without_memory_to_hand_out_is_none(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu\n")
    mounts = f"30 23 0:26 / {tmp_path} rw - cgroup2 cgroup2 rw\n"
    assert list(_version_2("0::/\n", mounts)) == []
    assert list(_version_2("4:memory:/x\n", mounts)) == []


def test_version_1_finds_each_controller_where_it_is_mounted(tmp_path: Path) -> None:
    memory, pids = tmp_path / "memory", tmp_path / "pids"
    (memory / "here").mkdir(parents=True)
    pids.mkdir()
    mounts = f"1 2 0:1 / {memory} rw - cgroup cgroup rw,memory\n3 4 0:2 / {pids} rw - cgroup cgroup rw,pids\n"
    (found,) = _version_1("4:memory:/here\n8:pids:/\n0::/\n", mounts)
    assert found == Controllers(version=1, memory=memory / "here", processes=pids / ".")


def test_a_container_sees_its_own_group_as_the_root_of_the_mount(tmp_path: Path) -> None:
    mounts = f"1 2 0:1 /docker/abc {tmp_path} rw - cgroup cgroup rw,memory\n"
    (found,) = _version_1("4:memory:/docker/abc\n", mounts)
    assert found.memory == tmp_path / "."


def test_limits_are_written_and_the_kernels_count_is_read(tmp_path: Path) -> None:
    group = make_group(Limits(memory_mb=7, processes=5), Controllers(version=2, memory=tmp_path, processes=tmp_path))
    assert group is not None
    (folder,) = group.folders
    assert (folder / "memory.max").read_text() == str(7 * 1_048_576)
    assert int((folder / "pids.max").read_text()) > 5
    assert group.killed() == 0
    group.counter.write_text("low 0\noom 3\noom_kill 2\n")
    assert group.killed() == 2


def test_where_none_can_be_made_there_is_none(tmp_path: Path) -> None:
    assert make_group(Limits(), Controllers(version=1, memory=tmp_path / "no", processes=None)) is None


def test_a_count_that_cannot_be_read_is_no_kill(tmp_path: Path) -> None:
    assert MemoryGroup(folders=(), counter=tmp_path / "none").killed() == 0
