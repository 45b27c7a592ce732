"""Record the golden run folders, and what the commands do with them: `python -m golden.make` in `tests/`.

Run it at a release, with the code of that release, and commit what it writes. Never run it to make a red test green: a
red golden test says that a person's runs or scripts break. Needs bubblewrap, and takes about two minutes.
`python -m golden.make expected` leaves the run folders as they are.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from json import dumps
from pathlib import Path

from forking import COMMAND
from golden.commands import COMMANDS, EXPECTED, PLACE, PROJECT, RECORDED, lay_out, observe, variables_of, words_of

STUDENTS = "-m scripted/students"
GENERATE = (
    "generate answer questions about tarnctl -m scripted/students/teacher.yaml "
    "--eval-model scripted/students/pupil.yaml --cases 4+8+0"
)
HELD_OUT = "lock file|backup|user|poll|version"
"""Some of the questions that the split by content holds out."""


def main() -> None:
    """Make everything anew, or what is expected only."""
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as scratch:
        if sys.argv[1:] != ["expected"]:
            _record_runs(Path(scratch) / "recording")
        for path in EXPECTED.glob("*.json"):
            path.unlink()
        for name, frozen in COMMANDS.items():
            here = Path(scratch) / name
            lay_out(here)
            for words in frozen.before:
                _type(words.split(), here, **frozen.variables)
            done = _type(words_of(frozen), here, **variables_of(frozen, here))
            text = dumps(observe(done, frozen, here), indent=1, ensure_ascii=False) + "\n"
            (EXPECTED / f"{name}.json").write_text(text, encoding="utf-8")
            print(done.returncode, name, flush=True)  # noqa: T201


def _record_runs(here: Path) -> None:
    shutil.rmtree(RECORDED, ignore_errors=True)
    shutil.copytree(PROJECT, here)
    record = _Recorder(here)
    record("auto", f"eval skills/tarnctl {STUDENTS}/reader.yaml {STUDENTS}/knowing.yaml --concurrency 1")
    # Exits with 1: the new version is better, and by less than was asked.
    compare = "--compare previous:older/tarnctl --min-lift 0.9"
    record("versions", f"eval skills/tarnctl {STUDENTS}/copier.yaml --runs 2 --concurrency 1 {compare}", exits=1)
    # A resumed run has the whole cap again, so sixteen calls are enough for the rest. What errored is put again.
    capped = "--runs 1 --concurrency 1 --max-calls 16"
    with _first_rule(here / "students/shaky.yaml", "{when: token variable, replies: [{fail: rate limit}]}"):
        record("capped", f"eval skills/tarnctl {STUDENTS}/shaky.yaml {capped}", UPSKILL_MAX_RETRIES="0")
    record("agent", f"eval skills/tarn-config {STUDENTS}/agent.yaml --harness agent --runs 1 --concurrency 1")
    record("generated", GENERATE, UPSKILL_CONCURRENCY="1")
    pupil = here / "students/pupil.yaml"
    with _first_rule(pupil, "{when: lock file, replies: [{text: slow, stall_seconds: 900}]}"):
        record.killed("killed", GENERATE)
    with _first_rule(pupil, f"{{when: {HELD_OUT}, replies: [{{fail: server}}]}}"):
        record("outage", GENERATE, exits=3, UPSKILL_MAX_RETRIES="0", UPSKILL_CONCURRENCY="1")


class _Recorder:
    def __init__(self, here: Path) -> None:
        self._here = here

    def __call__(self, name: str, words: str, *, exits: int = 0, **variables: str) -> None:
        done = _type(words.split(), self._here, **variables)
        if done.returncode != exits:
            raise SystemExit(f"{name}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        self._take(name)

    def killed(self, name: str, words: str) -> None:
        """Kill it in the middle of the held-out cases, while nothing is being written."""
        process = subprocess.Popen(
            [COMMAND, *words.split()], cwd=self._here, env={**_environment(self._here), "UPSKILL_CONCURRENCY": "1"}
        )
        lines, still_since = 0, time.monotonic()
        while lines < 4 or time.monotonic() - still_since < 3:
            time.sleep(0.1)
            now = sum(path.read_bytes().count(b"\n") for path in self._here.glob("runs/*/trials/held-out/trials.jsonl"))
            if now != lines:
                lines, still_since = now, time.monotonic()
        process.kill()
        process.wait()
        self._take(name)

    def _take(self, name: str) -> None:
        (run,) = [path for path in (self._here / "runs").iterdir() if path.is_dir()]
        # The engine's logs are large; the page of a report is all that reads them, and it is made of one run.
        kept = None if name == "agent" else shutil.ignore_patterns("*.eval")
        copy = Path(shutil.copytree(run, RECORDED / name / run.name, ignore=kept))
        # Where a generated skill is to be saved is recorded in full.
        if (record := copy / "generate.json").exists():
            record.write_text(record.read_text(encoding="utf-8").replace(str(self._here), PLACE), encoding="utf-8")
        # The next one begins in an empty folder, as this one did.
        shutil.rmtree(self._here / "runs")
        shutil.rmtree(self._here / "skills" / "tarnctl-facts", ignore_errors=True)
        print("recorded", name, flush=True)  # noqa: T201


@contextmanager
def _first_rule(student: Path, rule: str) -> Iterator[None]:
    """While the block lasts, a student goes by this rule first."""
    whole = student.read_text(encoding="utf-8")
    student.write_text(whole.replace("rules:\n", f"rules:\n  - {rule}\n", 1), encoding="utf-8")
    yield
    student.write_text(whole, encoding="utf-8")


def _type(words: list[str], here: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**_environment(here), **variables}
    return subprocess.run(
        [COMMAND, *words],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _environment(here: Path) -> dict[str, str]:
    """As the tests of the command line have it: nothing but a path and a home."""
    home = here.parent / "home"
    home.mkdir(exist_ok=True)
    path = f"{Path(COMMAND).parent}:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "UPSKILL_REPORT": "false"}


if __name__ == "__main__":
    main()
