"""A Ray cluster of several nodes on this machine, as a process of its own that obeys lines on stdin.

`python -m cluster.nodes NODES` prints the address of the cluster in a line; then `kill` kills a node that has work as
a power cut would, `add` adds one, and the end of stdin ends them all.
"""

import os
import sys

FAST_DEATHS = {"health_check_period_ms": 1000, "health_check_timeout_ms": 5000, "health_check_failure_threshold": 3}
"""How soon the head notices that a node is gone; Ray's own takes half a minute."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints what it likes
    from ray.cluster_utils import Cluster

    cluster, nodes = Cluster(), []

    def say(line: str) -> None:
        answers.write(f"{line}\n")
        answers.flush()

    cluster.add_node(num_cpus=1, include_dashboard=False, _system_config=FAST_DEATHS)  # the head works, too
    for _ in range(int(sys.argv[1]) - 1):
        nodes.append(cluster.add_node(num_cpus=1))
    say(cluster.address)
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
        elif line.strip() == "add":
            nodes.append(cluster.add_node(num_cpus=1))
        say("done")
    cluster.shutdown()


if __name__ == "__main__":
    main()
