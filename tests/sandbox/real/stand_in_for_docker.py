"""Stands in for the program `docker`: notes how it was called, and imitates a container with bubblewrap.

What a flag does not ask for is not confined here either: without `--network none` the network is shared, without
`--read-only` the root is writable. So a flag that is forgotten lets a probe through. The image is this machine's /usr.
It is no proof that a real engine does the same.
"""

import json
import os
import platform
import sys
from pathlib import Path

from upskill.sandbox import bubblewrap, profile

NOTES = Path(sys.argv[0]).parent / "calls.jsonl"
VALUED = {
    *("--pull", "--name", "--network", "--ipc", "--hostname", "--cap-drop", "--security-opt", "--user", "--memory"),
    *("--memory-swap", "--pids-limit", "--shm-size", "--tmpfs", "--workdir", "--entrypoint", "--env", "--mount"),
}


def main(words: list[str]) -> None:
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(json.dumps({"words": words, "environment": sorted(os.environ)}) + "\n")
    if words[0] == "version":
        sys.stdout.write("99.0-stand-in\n")
    elif words[0] == "run":
        run(words[1:])
    elif words[0] != "rm":
        sys.exit(f"docker: no such command: {words[0]}")


def run(words: list[str]) -> None:
    asked: dict[str, list[str]] = {}
    at = 0
    while words[at].startswith("--"):
        valued = words[at] in VALUED
        asked.setdefault(words[at], []).append(words[at + 1] if valued else "")
        at += 2 if valued else 1
    image, *command = words[at:]
    if image == "missing":
        sys.exit("docker: Error response from daemon: No such image: missing")
    filter_ = os.memfd_create("filter")
    os.write(filter_, profile.compile_filter(platform.machine()))
    os.lseek(filter_, 0, os.SEEK_SET)
    os.set_inheritable(filter_, True)
    os.execv(
        (launcher := bubblewrap.launcher())[0],
        [*launcher, *flags(asked), "--seccomp", str(filter_), *asked["--entrypoint"], *command],
    )


def flags(asked: dict[str, list[str]]) -> list[str]:
    found = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--die-with-parent"]
    found += ["--new-session", "--clearenv", "--hostname", *asked["--hostname"]]
    user, group = asked["--user"][0].split(":")
    found += ["--uid", user, "--gid", group]
    if asked.get("--network") == ["none"]:
        found += ["--unshare-net"]
    for what in asked.get("--cap-drop", []):
        found += ["--cap-drop", what]
    found += [*profile.system_mounts(), "--proc", "/proc", "--dev", "/dev", "--dir", "/var"]
    for pair in asked.get("--env", []):
        found += ["--setenv", *pair.split("=", 1)]
    for one in asked.get("--tmpfs", []):
        target, options = one.split(":")
        values = dict(option.partition("=")[::2] for option in options.split(","))
        size = int(values["size"].removesuffix("m")) * 2**20
        found += ["--perms", values["mode"].zfill(4), "--size", str(size), "--tmpfs", target]
    for one in asked.get("--mount", []):
        values = dict(option.partition("=")[::2] for option in one.split(","))
        bind = "--ro-bind" if "readonly" in values else "--bind"
        found += [bind, values["source"], values["target"]]
    found += ["--chdir", *asked["--workdir"]]
    return [*found, "--remount-ro", "/"] if "--read-only" in asked else found


if __name__ == "__main__":
    main(sys.argv[1:])
