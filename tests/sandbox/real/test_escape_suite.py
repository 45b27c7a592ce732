"""The 44 probes, live: as the user who runs the tests, and as an ordinary user on the bare core. Doctor shows seven."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.escapes.suite import OF_A_GROUP, PROBES
from upskill.sandbox.probes import QUICK

ROOT = Path(__file__).parents[3]
COMMAND = os.environ.get("INSTALLED_UPSKILL", str(Path(sys.executable).parent / "upskill"))
SOMEBODY = "23456"


def digest(folders: list[Path]) -> str:
    """Names, kinds and modes of everything below, sizes and times of files: what any write would change.

    Bytecode is left out: whatever else is tested at the same time may write some.
    """
    whole = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if "__pycache__" not in path.parts:
                facts = path.lstat()
                content = "" if stat.S_ISDIR(facts.st_mode) else f"{facts.st_size}\0{facts.st_mtime_ns}"
                whole.update(f"{path}\0{facts.st_mode}\0{content}\n".encode(errors="replace"))
    return whole.hexdigest()


@pytest.fixture(scope="module")
def suites() -> Iterator[dict[str, dict[str, Any]]]:
    """Both at once, with the host looked at before and after."""
    watched = [Path("/etc"), Path("/usr/local/bin"), Path("/var/lib/dpkg"), ROOT / "src", ROOT / "docs"]
    before = digest(watched)
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        shutil.copytree(ROOT / "src" / "upskill", folder / "upskill", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tests" / "sandbox" / "escapes", folder / "sandbox" / "escapes")
        shutil.copy(Path(__file__).parent / "ordinary_user.py", folder)
        subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
        drop = ["setpriv", "--reuid", SOMEBODY, "--regid", SOMEBODY, "--clear-groups"] if os.geteuid() == 0 else []
        words = ["/usr/bin/python3", "-I", "-B", str(folder / "ordinary_user.py"), str(folder)]
        with (
            subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd="/") as own,
            subprocess.Popen([*drop, *words], stdout=subprocess.PIPE, text=True, cwd="/", env={}) as ordinary,
        ):
            said = {"own": own.communicate(timeout=300)[0], "ordinary": ordinary.communicate(timeout=300)[0]}
        assert (own.returncode, ordinary.returncode) == (0, 0), said
        yield {name: json.loads(text) for name, text in said.items()}
    finally:
        shutil.rmtree(folder)
    assert digest(watched) == before


@pytest.mark.parametrize("who", ["own", "ordinary"])
@pytest.mark.parametrize("number", [probe.id for probe in PROBES])
def test_the_wall_holds(suites: dict[str, dict[str, Any]], who: str, number: int) -> None:
    found = [result for result in suites[who]["probes"] if result["id"] == number]
    if not found:
        assert (suites[who]["memory_by"], number in OF_A_GROUP) == ("process", True)
        return
    assert [result["held"] for result in found] == [True], found


def test_there_are_44_probes(suites: dict[str, dict[str, Any]]) -> None:
    assert [probe.id for probe in PROBES] == list(range(1, 45))
    assert all(probe["saw"] for probe in suites["own"]["probes"])


def test_doctor_shows_the_quick_probes_and_says_what_confined_them() -> None:
    done = subprocess.run([COMMAND, "doctor", "--json"], capture_output=True, text=True, check=True)
    sandbox = json.loads(done.stdout)["sandbox"]
    assert [(probe["id"], probe["held"]) for probe in sandbox["probes"]] == [(probe.id, True) for probe in QUICK]
    assert set(sandbox) >= {"backend", "version", "profile", "memory_by", "notes", "probes"}
    assert all(set(probe) == {"id", "what", "held", "saw"} for probe in sandbox["probes"])


def test_without_a_control_group_each_process_has_a_limit_and_that_is_written_down(
    suites: dict[str, dict[str, Any]],
) -> None:
    assert suites["ordinary"]["memory_by"] in ("process", "cgroup")
