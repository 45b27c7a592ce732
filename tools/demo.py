"""`make demo`: serves the small model of the tests on loopback, evaluates the example skill on it, and stops it."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> int:
    """Start, wait, evaluate, stop."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [sys.executable, str(ROOT / "src" / "upskill" / "workflows" / "example" / "local_model.py"), str(port)]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        while server.poll() is None:
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=2):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        words = [
            "eval",
            "examples/tarnctl",
            "--model",
            "smollm2",
            "--base-url",
            f"{url}/v1",
            "--concurrency",
            "1",
            "--fresh",
        ]
        print("$ upskill " + " ".join(words), flush=True)
        return subprocess.run([str(Path(sys.executable).parent / "upskill"), *words], cwd=ROOT, check=False).returncode
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
