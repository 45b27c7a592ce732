"""Without a sandbox: a refusal with exit code 3 that names the one command that helps. Never silently unconfined."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = os.environ.get("INSTALLED_UPSKILL", str(Path(sys.executable).parent / "upskill"))
PYTHON = str(Path(COMMAND).parent / "python")

Covered = Callable[[str | None, list[str]], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def covered(tmp_path: Path) -> Covered:
    """Runs something in a mount namespace of its own where another file lies over bubblewrap."""
    program = next(path for path in ("/usr/bin/bwrap", "/bin/bwrap") if Path(path).exists())

    def run(script: str | None, words: list[str]) -> "subprocess.CompletedProcess[str]":
        cover = Path("/dev/null")
        if script is not None:
            cover = tmp_path / "bwrap"
            cover.write_text(script)
            cover.chmod(0o755)
            for folder in (tmp_path, *tmp_path.parents):
                # The superuser becomes somebody else before it runs what lies there.
                if folder.owner() == Path.home().owner() and folder != Path("/") and "pytest" in str(folder):
                    folder.chmod(folder.stat().st_mode | 0o011)
        enter = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
        shell = ["sh", "-c", f'mount --bind {cover} {program} && exec "$@"', "sh", *words]
        return subprocess.run([*enter, *shell], capture_output=True, text=True, timeout=60, check=False)

    return run


def test_a_machine_without_bubblewrap_is_told_how_to_get_it(covered: Covered) -> None:
    done = covered(None, [COMMAND, "doctor"])
    assert done.returncode == 3
    assert done.stdout == ""
    assert "error: no sandbox: bubblewrap is not installed" in done.stderr
    assert "hint:  install" in done.stderr
    assert "bubblewrap" in done.stderr.splitlines()[-1]


def test_the_json_of_a_refusal_says_what_is_missing(covered: Covered) -> None:
    done = covered(None, [COMMAND, "doctor", "--json"])
    assert done.returncode == 3
    found = json.loads(done.stdout)["sandbox"]
    assert found["backend"] is None
    assert found["probes"] == []
    assert "bubblewrap is not installed" in found["missing"]
    assert "bubblewrap" in found["hint"]


NO_NAMESPACES = """#!/bin/sh
if [ "$1" = --version ]; then echo bubblewrap 0.8.0; exit 0; fi
echo 'bwrap: setting up uid map: Permission denied' >&2
exit 1
"""
TOO_OLD = "#!/bin/sh\necho bubblewrap 0.6.2\n"
WITHOUT_WORDS = "#!/bin/sh\nif [ $1 = --version ]; then echo bubblewrap 0.8.0; exit 0; fi\nexit 1\n"
NEVER_READY = (
    "#!/bin/sh\nif [ $1 = --version ]; then echo bubblewrap 0.8.0; exit 0; fi\nprintf 'xxxxyyyy' >&0; exit 0\n"
)
REQUIRE = """
from upskill.sandbox import SandboxUnavailable, open_sandbox, require_sandbox
for call in (require_sandbox, open_sandbox):
    try:
        call()
        print("opened")
    except SandboxUnavailable as error:
        print(error.exit_code, error.message, "|", error.hint)
"""


def test_trap_6_a_sandbox_that_cannot_start_is_a_refusal_with_the_words_of_bubblewrap(covered: Covered) -> None:
    done = covered(NO_NAMESPACES, [PYTHON, "-c", REQUIRE])
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done
    for line in lines:
        assert line.startswith("3 no sandbox: bwrap: setting up uid map: Permission denied | ")


def test_an_old_bubblewrap_is_refused_by_its_version(covered: Covered) -> None:
    done = covered(TOO_OLD, [COMMAND, "doctor"])
    assert done.returncode == 3
    assert "bubblewrap 0.6.2 is too old; it must be 0.8.0 or later" in done.stderr


@pytest.mark.parametrize("script", [WITHOUT_WORDS, NEVER_READY])
def test_a_sandbox_that_says_nothing_or_nonsense_is_refused(covered: Covered, script: str) -> None:
    done = covered(script, [PYTHON, "-c", REQUIRE])
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["3 no sandbox"] * 2, done
