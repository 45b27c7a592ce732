"""Opens sandboxes by the name of their backend. Fails closed: nothing falls back to less than what was asked for."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import assert_never

from upskill import disk
from upskill.sandbox.contract import ENGINES, Backend, MemoryBy, Sandbox, SandboxFacts, SandboxSpec, SandboxUnavailable

_INSTALL = {
    "debian": "sudo apt-get install bubblewrap",
    "ubuntu": "sudo apt-get install bubblewrap",
    "fedora": "sudo dnf install bubblewrap",
    "rhel": "sudo dnf install bubblewrap",
    "arch": "sudo pacman -S bubblewrap",
    "alpine": "sudo apk add bubblewrap setpriv",
    "opensuse": "sudo zypper install bubblewrap",
}


def unavailable(what: str) -> SandboxUnavailable:
    """Say what is missing, and how to get it here."""
    return SandboxUnavailable(f"no sandbox: {what}", hint=_remedy(what))


def _remedy(what: str) -> str:
    if sys.platform != "linux":
        return "programs of models run on Linux only; the chat harness with checks on text needs no sandbox"
    if "not installed" in what or "too old" in what:
        return install_command()
    if "system call filter" in what:
        return (
            "programs of models run on x86_64 and aarch64 only; the chat harness with checks on text needs no sandbox"
        )
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return (
            "a container's default rules forbid user namespaces; start it with `docker run --security-opt "
            "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`"
        )
    if _says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
        return (
            "AppArmor forbids user namespaces here; allow them for bubblewrap with "
            "`sudo apt-get install apparmor-profiles && sudo ln -s "
            "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ "
            "&& sudo systemctl reload apparmor`"
        )
    if _says("/proc/sys/kernel/unprivileged_userns_clone", "0"):
        return "user namespaces are disabled; run `sudo sysctl kernel.unprivileged_userns_clone=1`"
    if _says("/proc/sys/user/max_user_namespaces", "0"):
        return "user namespaces are disabled; run `sudo sysctl user.max_user_namespaces=15000`"
    return "run `upskill doctor` to see what works here"


def install_command() -> str:
    """As this distribution spells it."""
    facts: dict[str, str] = {}
    try:
        for line in disk.read_text(disk.named(Path("/etc/os-release"))).splitlines():
            name, _, value = line.partition("=")
            facts[name] = value.strip('"')
    except OSError:
        pass
    for family in (facts.get("ID", ""), *facts.get("ID_LIKE", "").split()):
        for known, command in _INSTALL.items():
            if family.startswith(known):
                return f"install it with `{command}`"
    return "install the package `bubblewrap` with the system's package manager"


def _says(path: str, value: str) -> bool:
    try:
        return disk.read_text(Path(path)).strip() == value
    except OSError:
        return False


def open_sandbox(
    spec: SandboxSpec | None = None, *, backend: Backend = "bubblewrap", scratch: Path | None = None
) -> Sandbox:
    """A new sandbox. Raises `SandboxUnavailable`. `scratch` is a folder for the backend `none`, which needs one."""
    spec = spec or SandboxSpec()
    if backend == "bubblewrap":
        from upskill.sandbox.bubblewrap import open_bubblewrap

        return open_bubblewrap(spec)
    if backend == "podman" or backend == "docker":
        from upskill.sandbox.container import open_container

        return open_container(backend, spec)
    if backend == "none":
        from upskill.sandbox.unconfined import open_unconfined

        if scratch is None:
            raise SandboxUnavailable("no sandbox: without confinement, programs need a folder of the run to work in")
        return open_unconfined(spec, scratch)
    assert_never(backend)


def require_sandbox(backend: Backend = "bubblewrap") -> SandboxFacts:
    """Show by a real one that a sandbox holds here, before anything is bought. Raises `SandboxUnavailable`.

    Costs about half a second, once per process: what held once is remembered, what did not is tried again.
    """
    if backend == "none":
        return describe_sandbox(backend)
    with _asking:
        facts = _shown.get(backend)
        if facts is None:
            facts = _shown[backend] = _show(backend)
        return facts


_asking = Lock()
_shown: dict[Backend, SandboxFacts] = {}


def _show(backend: Backend) -> SandboxFacts:
    from upskill.sandbox.probes import run_quick_probes

    facts = describe_sandbox(backend)
    results = run_quick_probes(partial(open_sandbox, backend=backend))
    broken = [result for result in results if not result.held]
    if broken:
        raise SandboxUnavailable(
            f"the sandbox is not secure here: {len(broken)} of {len(results)} quick probes failed",
            problems=[f"probe {result.id}, {result.what}: {result.saw}" for result in broken],
            hint="run `upskill doctor` to see all probes",
        )
    return replace(facts, probes=tuple(result.id for result in results))


def describe_sandbox(backend: Backend = "bubblewrap") -> SandboxFacts:
    """What would confine programs here, before anything is shown of it. Raises `SandboxUnavailable`."""
    if backend == "none":
        return SandboxFacts(backend="none", version=None, profile=None, memory_by="process", probes=())
    if backend in ENGINES:
        from upskill.sandbox.container import describe_container

        version, profile = describe_container(backend)
        return SandboxFacts(backend=backend, version=version, profile=profile, memory_by="cgroup", probes=())
    from upskill.sandbox.bubblewrap import describe_bubblewrap

    version, profile = describe_bubblewrap()
    return SandboxFacts(backend=backend, version=version, profile=profile, memory_by=_memory_by(), probes=())


def _memory_by() -> MemoryBy:
    from upskill.sandbox.memory import find_controllers, make_group

    controllers = find_controllers()
    group = make_group(SandboxSpec().limits, controllers) if controllers else None
    if group is None:
        return "process"
    group.remove()
    return "cgroup"
