"""A Ray cluster of several nodes on this machine, as a process of its own that obeys lines on stdin.

`python -m sweep.cluster.nodes NODES` prints the address of the cluster. Then `kill` kills a node that is not the
head, as a power cut would, and `add` adds one; the end of stdin ends them all. The head works like the others.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

FAST_DEATHS = {"health_check_period_ms": 1000, "health_check_timeout_ms": 5000, "health_check_failure_threshold": 3}
"""How soon the head notices that a node is gone; Ray's own settings take half a minute."""

KEY_OF_NODES = "sk-of-the-nodes-0123456789"


class Nodes:
    """A cluster, with the environment in which its nodes run and its drivers have to."""

    def __init__(self, nodes: int) -> None:
        self._token = secrets.token_hex(16)
        self._logs = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # paths of its sockets must be short
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self._token,
            "RAY_TMPDIR": self._logs,
            "RAY_USAGE_STATS_ENABLED": "0",
            "UPSKILL_ENDPOINT_KEY": KEY_OF_NODES,
            "RAY_agent_register_timeout_ms": "120000",
            "RAY_raylet_start_wait_time_s": "120",
            "PYTHONDONTWRITEBYTECODE": "",  # Ray starts many processes, which would compile everything each time
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sweep.cluster.nodes", str(nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.environment,
        )
        self.address = ""

    def wait(self) -> str:
        """The address, as soon as all nodes are there."""
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        assert self.address, "the cluster did not start"
        return self.address

    def tell(self, line: str) -> None:
        """Have something done, and wait until it is."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline().strip() == "done"

    def kill_all(self) -> None:
        """All nodes, the head, and every driver that was started in this environment: at once, without a word."""
        deadline = time.monotonic() + 20
        while (left := self._processes()) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
            self._process.poll()
        with suppress(BrokenPipeError):
            self._process.communicate()
        assert not left

    def _processes(self) -> set[int]:
        """Those that have the token of this cluster in their environment, and what they have started.

        Ray writes titles over the environment of its workers, so they are found as children.
        """
        found, parents = set(), {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and int(path.name) != os.getpid():
                with suppress(OSError):
                    state, parent = (path / "stat").read_text().rpartition(")")[2].split()[:2]
                    if state == "Z":
                        continue
                    parents[int(path.name)] = int(parent)
                    if self._token.encode() in (path / "environ").read_bytes():
                        found.add(int(path.name))
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill_all()
        shutil.rmtree(self._logs, ignore_errors=True)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints what it likes
    from ray.cluster_utils import Cluster

    def say(line: str) -> None:
        answers.write(f"{line}\n")
        answers.flush()

    cluster, nodes = Cluster(), []
    cluster.add_node(num_cpus=1, include_dashboard=False, _system_config=FAST_DEATHS)
    for _ in range(int(sys.argv[1]) - 1):
        nodes.append(cluster.add_node(num_cpus=1))
    say(cluster.address)
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
        elif line.strip() == "add":
            nodes.append(cluster.add_node(num_cpus=1))
        say("done")
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
