"""What a container of podman costs beside bubblewrap: a start, a command, a check, a coding agent. After `make agents`.

Usage: `python -m benchmarks.containers [--rounds 20] [--write benchmarks/results/containers.md]`. Both take turns in
each round, so a busy machine is busy for both.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tools.image import IMAGE, engine_settings, make_image

from benchmarks.sandboxes import COMMAND, milliseconds, spread
from upskill.agents.doctor import examine_installed
from upskill.core.checks import KINDS, GradingContext
from upskill.core.checks.kind import Submission
from upskill.core.nouns import Answer, Case
from upskill.sandbox import Backend, Sandbox, SandboxSpec, describe_sandbox, open_sandbox
from upskill.sandbox.container import IMAGE_VARIABLE

BACKENDS: tuple[Backend, ...] = ("bubblewrap", "podman")
AGENT = Path(__file__).parent.parent / "build" / "agents" / "node_modules" / ".bin" / "codex"
CASE = Case(id="c", prompt="p", checks=())


def sandbox_costs(backend: Backend, found: dict[str, list[float]]) -> None:
    """One round, in milliseconds: a start, a command, its end; a check in a sandbox of its own."""
    began = time.perf_counter()
    sandbox = open_sandbox(SandboxSpec(), backend=backend)
    found.setdefault("start of a sandbox", []).append((time.perf_counter() - began) * 1000)
    found.setdefault("a command in it", []).append(milliseconds(lambda: sandbox.run(COMMAND, seconds=60)))
    found.setdefault("its end", []).append(milliseconds(sandbox.close))
    context = GradingContext(open_sandbox=partial(open_sandbox, backend=backend))
    answer = Submission(case=CASE, answer=Answer(text="", files={}), context=context)
    check = milliseconds(lambda: KINDS["command"].check("python3 -c 'print(6 * 7)'", answer))
    found.setdefault("a `command` check", []).append(check)


def eight_at_once(backend: Backend) -> None:
    """Eight sandboxes that are open together, each with ten commands."""

    def work(sandbox: Sandbox) -> None:
        with sandbox:
            for _ in range(10):
                if sandbox.run(COMMAND, seconds=60).exit_code != 0:
                    raise SystemExit(f"a command in {backend} failed")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: work(open_sandbox(SandboxSpec(), backend=backend)), range(8)))


def agent_answers(backend: Backend) -> None:
    """Two answers of Codex with a scripted model: the check of `doctor --harness codex`."""
    found, _ = examine_installed("codex", agent_bin=AGENT, backend=backend)
    if not found.ok:
        raise SystemExit(f"codex in {backend}: {found.problems}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    os.environ.update({**engine_settings(), IMAGE_VARIABLE: IMAGE})
    make_image()
    found: dict[Backend, dict[str, list[float]]] = {backend: {} for backend in BACKENDS}
    for _ in range(options.rounds):
        for backend in BACKENDS:
            sandbox_costs(backend, found[backend])
    together: tuple[tuple[str, Callable[[Backend], None], int], ...] = (
        ("eight sandboxes at once, ten commands each", eight_at_once, 3),
        ("two answers of Codex and its attempts to escape", agent_answers, 4),
    )
    agent_answers("bubblewrap")  # the first imports the engine
    for name, run, rounds in together:
        for _ in range(rounds):
            for backend in BACKENDS:
                took = milliseconds(partial(run, backend))
                found[backend].setdefault(name, []).append(took)
    text = table(found, options.rounds)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    print(text)


def table(found: dict[Backend, dict[str, list[float]]], rounds: int) -> str:
    """As Markdown: the median and the slowest tenth."""
    versions = ", ".join(f"{backend} {describe_sandbox(backend).version}" for backend in BACKENDS)
    load = os.getloadavg()[2]
    lines = [
        "# Containers beside bubblewrap",
        "",
        f"`python -m benchmarks.containers --rounds {rounds} --write benchmarks/results/containers.md`: {versions},",
        f"as root, Linux {platform.release()}, {os.cpu_count()} cores, load {load:.1f}. Milliseconds: median (90%).",
        "",
        "| what | " + " | ".join(BACKENDS) + " |",
        "|---|" + "---|" * len(BACKENDS),
    ]
    for name in found[BACKENDS[0]]:
        cells = [spread(found[backend][name]) for backend in BACKENDS]
        lines.append(f"| {name} | " + " | ".join(f"{one['median']:,.0f} ({one['p90']:,.0f})" for one in cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
