"""Why there is no sandbox, and the one command that changes that."""

import sys
from pathlib import Path

from upskill.sandbox.contract import SandboxUnavailable

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
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
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
        return Path(path).read_text(encoding="ascii").strip() == value
    except OSError:
        return False
