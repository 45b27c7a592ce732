"""A probe that cannot break proves nothing: weaker profiles, each of which must let its probe through."""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from sandbox.escapes.suite import run_probes
from upskill.sandbox import Limits, Sandbox, SandboxSpec
from upskill.sandbox.bubblewrap import open_bubblewrap
from upskill.sandbox.probes import Result
from upskill.sandbox.profile import HARDENED, Recipe


def with_recipe(recipe: Recipe) -> Callable[[SandboxSpec], Sandbox]:
    return lambda spec: open_bubblewrap(spec, recipe=recipe)


def probe(number: int, recipe: Recipe) -> Result:
    (result,) = run_probes(with_recipe(recipe), only={number})
    return result


def without(*flags: str) -> tuple[str, ...]:
    return tuple(flag for flag in HARDENED.namespaces if flag not in flags)


SHARED_NETWORK = replace(HARDENED, namespaces=(*HARDENED.namespaces, "--share-net"))
UNFILTERED = replace(HARDENED, filtered=False)
NESTING = replace(HARDENED, filtered=False, namespaces=without("--disable-userns"))
UNGROUPED = replace(HARDENED, grouped=False)
UNPOOLED = replace(HARDENED, pooled=False)
MANY_ENTRIES = replace(
    HARDENED, init_process=HARDENED.init_process.replace(b"MOST_ENTRIES = 20_000", b"MOST_ENTRIES = 200_000")
)
UNSIZED = replace(HARDENED, sized=False)
READABLE_INIT = replace(
    HARDENED,
    init_process=HARDENED.init_process.replace(
        b"process_control(PR_SET_DUMPABLE, 0)", b"process_control(PR_SET_DUMPABLE, 1)"
    ),
)


@pytest.mark.parametrize(
    ("number", "recipe"),
    [
        pytest.param(6, SHARED_NETWORK, id="a shared network reaches loopback"),
        pytest.param(8, SHARED_NETWORK, id="a shared network reaches abstract sockets"),
        pytest.param(9, READABLE_INIT, id="a readable init process shows its root"),
        pytest.param(12, NESTING, id="a nested namespace may mount"),
        pytest.param(13, NESTING, id="namespaces nest"),
        pytest.param(14, UNFILTERED, id="no filter is seen"),
        pytest.param(25, UNSIZED, id="/dev is an unbounded memory file system"),
        pytest.param(33, UNFILTERED, id="some sockets ignore network namespaces"),
        pytest.param(34, UNFILTERED, id="system calls go through"),
        pytest.param(35, UNFILTERED, id="semaphores can be made"),
        pytest.param(36, UNFILTERED, id="message queues can be made"),
        pytest.param(37, UNFILTERED, id="calls that nobody judged go through"),
        pytest.param(38, UNGROUPED, id="empty files cost nothing"),
        pytest.param(39, UNGROUPED, id="files and memory add up"),
        pytest.param(40, UNGROUPED, id="buffers of local sockets cost nothing"),
        pytest.param(41, UNGROUPED, id="buffers of TCP cost nothing"),
        pytest.param(42, UNPOOLED, id="limits of several sandboxes add up"),
        pytest.param(43, MANY_ENTRIES, id="folders without number are walked"),
        pytest.param(44, UNFILTERED, id="process 1 can be starved"),
    ],
)
def test_a_weaker_profile_breaks(number: int, recipe: Recipe) -> None:
    result = probe(number, recipe)
    assert not result.held, result.saw


@pytest.mark.parametrize("address_space_mb", [1024, None])
def test_without_a_control_group_no_process_takes_more_than_the_limit(address_space_mb: int | None) -> None:
    code = "taken = bytearray(int(input()) << 20)\ntaken[::4096] = b'x' * len(taken[::4096])"
    spec = SandboxSpec(limits=Limits(memory_mb=128, address_space_mb=address_space_mb))
    with open_bubblewrap(spec, recipe=UNGROUPED) as sandbox:
        less, more = (sandbox.run(["python3", "-c", code], seconds=30, stdin=size) for size in (b"64", b"160"))
    assert (less.ended, less.exit_code) == ("exit", 0), less
    assert (more.ended, more.exit_code) == ("exit", 1)
    assert b"MemoryError" in more.stderr


def test_what_breaks_without_a_size_is_bounded_by_the_probe_itself() -> None:
    result = probe(23, UNSIZED)
    assert not result.held, result.saw


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser has rights to keep")
@pytest.mark.parametrize("number", [10])
def test_a_superuser_that_keeps_its_rights_may_open_the_kernels_settings(number: int) -> None:
    """Trap 2: `--uid` alone changes nothing; the process is still the host's superuser."""
    result = probe(number, replace(HARDENED, drops_rights=False))
    assert not result.held, result.saw
    assert "/proc/sys/kernel/panic" in result.saw


def test_the_same_probes_hold_with_the_real_profile() -> None:
    results = list(run_probes(with_recipe(HARDENED), only={8, 9, 12, 13, 34}))
    assert [result.held for result in results] == [True] * 5, results
