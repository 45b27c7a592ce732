"""The profile as a list of words."""

from dataclasses import replace
from pathlib import Path

from upskill.sandbox import Limits, Mount, SandboxSpec
from upskill.sandbox.profile import HARDENED, NAMESPACES, digest, flags


def words(spec: SandboxSpec) -> list[str]:
    return list(flags(spec, recipe=HARDENED, init_process=b"", status=9, filter_=8, data=lambda _: 7))


def test_the_root_becomes_read_only_last_and_nothing_writable_of_the_host_is_bound() -> None:
    found = words(SandboxSpec(mounts=(Mount(source=Path("/opt/x"), target="/opt/x"),)))
    assert found[-2:] == ["--remount-ro", "/"]
    assert not {"--bind", "--dev-bind", "--bind-try", "--share-net", "--file"} & set(found)


def test_every_memory_file_system_has_a_size() -> None:
    found = words(SandboxSpec(limits=Limits(workspace_mb=3, tmp_mb=5)))
    for at, word in enumerate(found):
        if word == "--tmpfs":
            assert found[at - 2] == "--size"
            assert int(found[at - 1]) > 0
    assert found[found.index("/workspace") - 2] == str(3 * 1_048_576)


def test_the_namespaces_are_all_new_and_required() -> None:
    assert {"--unshare-all", "--unshare-user", "--disable-userns", "--new-session", "--die-with-parent"} <= set(
        NAMESPACES
    )
    assert {"--as-pid-1", "--clearenv"} <= set(NAMESPACES)
    assert NAMESPACES[NAMESPACES.index("--cap-drop") + 1] == "ALL"


def test_the_digest_changes_with_whatever_is_set() -> None:
    known = digest(HARDENED, b"filter")
    assert digest(HARDENED, b"filter") == known
    assert digest(HARDENED, b"other") != known
    assert digest(replace(HARDENED, init_process=b""), b"filter") != known
    assert digest(replace(HARDENED, namespaces=NAMESPACES[:-1]), b"filter") != known
