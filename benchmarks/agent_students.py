"""A real small model drives a coding agent: how often it loads a skill, and what the skill does for its answers.

    python -m benchmarks.agent_students opencode                   ten questions of github-actions, three arms
    python -m benchmarks.agent_students qwen-code --cases 20
    python -m benchmarks.agent_students codex --among 20           the load rate beside 20 other skills

Qwen2.5-Coder 1.5B answers the first knowledge cases of `github-actions` inside the agent, once each, at temperature 0:
without the skill, with it offered, with it forced. An answer may take 20 minutes of work. The run is in
`build/agent-students/AGENT`; after a stop, what was answered comes from the store. The agents are those of `make
agents`.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from tools.gallery import GALLERY, ROOT
from tools.local_model import served_model
from tools.models import MODELS

from benchmarks.gallery_students import UPSKILL

SKILL = GALLERY / "github-actions"
SIZE = "1.5b"
PORT = 18761
"""Stays the same: it is part of what a run records."""
SET = {
    **{"UPSKILL_TEMPERATURE": "0", "UPSKILL_MAX_OUTPUT_TOKENS": "512", "UPSKILL_MAX_TURNS": "8"},
    **{"UPSKILL_MAX_TRIAL_MINUTES": "20", "UPSKILL_ATTEMPT_TIMEOUT_SECONDS": "1200"},
    "UPSKILL_CALL_TIMEOUT_SECONDS": "1200",
}


def main() -> int:
    """Serve the model, evaluate in the agent, leave the run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent_students")
    parser.add_argument("agent", choices=("opencode", "qwen-code", "codex", "claude-code"))
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--among", help="other skills in every arm, as `eval --among` names them")
    flags = parser.parse_args()
    folder = ROOT / "build" / "agent-students" / flags.agent
    folder.mkdir(parents=True, exist_ok=True)
    cases = folder / f"cases-{flags.cases}.json"
    every = json.loads((SKILL / "evals" / "evals.json").read_text(encoding="utf-8"))["cases"]
    cases.write_text(json.dumps({"cases": every[: flags.cases]}, indent=2), encoding="utf-8")
    binaries = ROOT / "build" / "agents" / "node_modules" / ".bin"
    # opencode needs ripgrep, which comes with Codex.
    search = [str(path.parent) for path in (ROOT / "build" / "agents").glob("**/codex-path/rg")]
    path = os.pathsep.join([str(binaries), os.environ.get("PATH", os.defpath), *search])
    words = [UPSKILL, "eval", str(SKILL), "-t", str(cases), "-m", MODELS[SIZE].name, "--harness", flags.agent]
    words += ["--runs", "1", "--concurrency", "1", "--yes", *(["--among", flags.among] if flags.among else [])]
    with served_model(PORT, cache=True, size=SIZE, long=True) as url:
        variables = {**SET, "UPSKILL_RUNS_DIR": str(folder / "runs"), "PATH": path}
        words += ["--base-url", f"{url}/v1"]
        # Programs inside of the repository that is worked in are not found.
        return subprocess.run(words, cwd=Path.home(), env={**os.environ, **variables}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
