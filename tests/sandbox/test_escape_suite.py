"""The 44 probes, live: by `upskill doctor` as whoever runs the tests, and as an ordinary user on the bare core."""

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

from upskill.sandbox.probes import PROBES

ROOT = Path(__file__).parents[2]
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
        shutil.copy(Path(__file__).parent / "ordinary_user.py", folder)
        subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
        drop = ["setpriv", "--reuid", SOMEBODY, "--regid", SOMEBODY, "--clear-groups"] if os.geteuid() == 0 else []
        words = [*drop, "/usr/bin/python3", "-I", "-B", str(folder / "ordinary_user.py"), str(folder)]
        with (
            subprocess.Popen([COMMAND, "doctor", "--json"], stdout=subprocess.PIPE, text=True) as doctor,
            subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd="/", env={}) as ordinary,
        ):
            said = {"doctor": doctor.communicate(timeout=300)[0], "ordinary": ordinary.communicate(timeout=300)[0]}
        assert (doctor.returncode, ordinary.returncode) == (0, 0), said
        found = {name: json.loads(text) for name, text in said.items()}
        yield {"doctor": found["doctor"]["sandbox"], "ordinary": found["ordinary"]}
    finally:
        shutil.rmtree(folder)
    assert digest(watched) == before


@pytest.mark.parametrize("who", ["doctor", "ordinary"])
@pytest.mark.parametrize("number", [probe.id for probe in PROBES])
def test_the_wall_holds(suites: dict[str, dict[str, Any]], who: str, number: int) -> None:
    (result,) = [result for result in suites[who]["probes"] if result["id"] == number]
    assert result["held"] is True, result


def test_there_are_44_probes_and_doctor_says_what_confined_them(suites: dict[str, dict[str, Any]]) -> None:
    sandbox = suites["doctor"]
    assert [probe["id"] for probe in sandbox["probes"]] == list(range(1, 45))
    assert set(sandbox) >= {"backend", "version", "profile", "memory_by", "notes", "probes"}
    assert all(set(probe) == {"id", "what", "held", "saw"} for probe in sandbox["probes"])
    assert all(probe["saw"] for probe in sandbox["probes"])


def test_an_ordinary_user_without_a_control_group_has_a_watcher(suites: dict[str, dict[str, Any]]) -> None:
    assert suites["ordinary"]["memory_by"] in ("watcher", "cgroup")
