"""`make demo`: serves the small model of the tests on loopback, evaluates the example skill on it, and stops it."""

import subprocess
import sys
from pathlib import Path

from tools.local_model import served_model

ROOT = Path(__file__).parent.parent


def main() -> int:
    """Start, wait, evaluate, stop."""
    with served_model() as url:
        words = ["eval", "examples/tarnctl", "--model", "smollm2", "--base-url", f"{url}/v1"]
        words += ["--concurrency", "1", "--fresh"]
        print("$ upskill " + " ".join(words), flush=True)
        return subprocess.run([str(Path(sys.executable).parent / "upskill"), *words], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
