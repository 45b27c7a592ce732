"""One process at a time works in a run folder: two that go on with the same run would buy everything twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from upskill.core.runs.run_folders import is_at_work, only_one_in
from upskill.errors import UsageError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks as POSIX has them")
HOLDS = """
import sys, time
from pathlib import Path
from upskill.core.runs.run_folders import only_one_in
with only_one_in(Path(sys.argv[1])):
    print("holds", flush=True)
    time.sleep(60)
"""


def test_whoever_comes_second_is_told(tmp_path: Path) -> None:
    with only_one_in(tmp_path):
        assert is_at_work(tmp_path)
        with pytest.raises(UsageError, match="another process is using this run"), only_one_in(tmp_path):
            pass
    assert not is_at_work(tmp_path)
    with only_one_in(tmp_path):
        pass


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    with pytest.raises(UsageError), only_one_in(tmp_path):
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    until = time.monotonic() + 10
    while is_at_work(tmp_path) and time.monotonic() < until:
        time.sleep(0.01)
    with only_one_in(tmp_path):
        pass
