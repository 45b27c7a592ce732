"""The whole product on a real model: does the example skill help it, and does the number say so?"""

import json
from pathlib import Path

from forking import COMMAND, run_program

ROOT = Path(__file__).parent.parent.parent


def test_the_example_skill_helps_a_real_local_model(local_model: str, tmp_path: Path) -> None:
    """No key in the environment; anything but loopback would fail, and strace shows that nothing tried."""
    trace = tmp_path / "strace.log"
    command = [COMMAND, "eval", "examples/tarnctl", "--model", "smollm2", "--base-url", local_model, "--json"]
    # What is asked for takes at most seventeen tokens; without the skill it rambles on.
    short = {"UPSKILL_MAX_OUTPUT_TOKENS": "20", "UPSKILL_RUNS_DIR": str(tmp_path)}
    watched = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=connect", "-o", str(trace)]
    done = run_program(
        [*watched, *command],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **short},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (student,) = json.loads(done.stdout)["students"]
    (lift,) = student["lifts"]
    assert student["arms"]["baseline"]["pass_rate"] <= 0.15
    assert lift["mean"] >= 0.35
    assert lift["interval"][0] > 0
    assert lift["about"] == "new cases"
    assert student["verdict"] == "helps"
    assert student["arms"]["with_skill"]["tokens"] > student["arms"]["baseline"]["tokens"] > 0
    addresses = [line for line in trace.read_text().splitlines() if "sin_addr" in line or "sin6_addr" in line]
    assert addresses
    assert not [line for line in addresses if "127.0.0.1" not in line and "::1" not in line]
    (report,) = tmp_path.glob("*/report.html")
    assert report.read_text(encoding="utf-8").count('role="img"') == 2, "its pictures are part of it"
