"""`upskill cases write` that was killed, met others, or had a useless teacher; and the cap it shares with `eval`."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forking import Done, Forker
from generation.unit.teaching.case_teacher import good_case
from provider import Behaviour, Provider, ReceivedRequest


class Writer:
    """A teacher on loopback that leaves one case out at first, so that it is asked twice."""

    def __init__(self, forker: Forker) -> None:
        self.forker = forker
        self.instead: Callable[[int], Behaviour | None] = lambda _: None
        """Hears the number of the request, and may answer something else."""
        self.provider = Provider(self._answer)
        self.here = Path()

    def begin(self, here: Path) -> None:
        """A skill without cases, in a folder of its own; nobody remembers what was asked before."""
        self.here = here
        (here / "quay").mkdir()
        (here / "quay" / "SKILL.md").write_text("---\nname: quay\ndescription: Ports.\n---\nNord is at 8472.\n")
        self.provider.requests.clear()
        self.instead = lambda _: None

    def _answer(self, asked: ReceivedRequest) -> Behaviour:
        other = self.instead(self.asked)
        if other is not None:
            return other
        number = 6 if "only the cases that were asked for here" in asked.prompt else 5
        return Behaviour(text=json.dumps({"cases": [good_case(n) for n in range(1, number + 1)]}))

    def write(self, *words: str) -> Done:
        server = ("-m", "any", "--base-url", self.provider.url, "--cases", "2+4+0")
        cache = {"XDG_CACHE_HOME": str(self.here / "cache")}
        return self.forker.run("cases", "write", "quay", *server, *words, cwd=self.here, **cache)

    @property
    def asked(self) -> int:
        return len(self.provider.requests)

    @property
    def meta(self) -> Path:
        return self.here / "quay" / "skill_meta.json"

    def kept(self) -> list[Path]:
        """What is kept for whoever types the same again."""
        return [*(self.here / "cache").rglob("*.jsonl")]


@pytest.fixture(scope="module")
def server(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    forker.home = tmp_path_factory.mktemp("home")
    writer = Writer(forker)
    with writer.provider:
        yield writer


@pytest.fixture
def writer(server: Writer, tmp_path: Path) -> Writer:
    server.begin(tmp_path)
    return server


def test_what_was_bought_before_a_kill_is_not_bought_again(writer: Writer) -> None:
    def kill_at_the_second(number: int) -> Behaviour | None:
        if number < 2:
            return None
        assert writer.forker.child is not None
        os.kill(writer.forker.child, signal.SIGKILL)
        return Behaviour(fault="reset")

    writer.instead = kill_at_the_second
    assert writer.write().returncode == -signal.SIGKILL
    (kept,) = writer.kept()
    assert kept.stat().st_mode & 0o077 == 0, "for its owner only"
    writer.instead = lambda _: None
    done = writer.write()
    assert done.returncode == 0, done.stderr
    assert "1 answer of an interrupted run will be used again" in done.stderr
    assert writer.asked == 6, "a plan in vain three times, cases twice: of five answers only the second is asked again"
    assert len(json.loads(writer.meta.read_text())["cases"]) == 6
    assert writer.kept() == [], "what was saved need not be kept twice"
    assert writer.write("--replace").returncode == 0
    assert writer.asked == 11, "whoever wants others gets others"


def test_cases_that_came_meanwhile_stay_and_what_was_bought_can_go_elsewhere(writer: Writer) -> None:
    mine = '{"cases": [{"input": "Which port?", "expected": {"contains": ["8472"]}}]}'

    def somebody_else(_: int) -> None:
        writer.meta.write_text(mine)

    writer.instead = somebody_else
    done = writer.write()
    assert done.returncode == 2, done.stderr
    assert "quay: already has 1 cases" in done.stderr
    assert writer.meta.read_text() == mine
    bought = writer.asked
    assert writer.write("-o", "own.json").returncode == 0
    assert writer.asked == bought
    assert len(json.loads((writer.here / "own.json").read_text())["cases"]) == 6


def test_a_teacher_that_was_of_no_use_is_asked_anew(writer: Writer) -> None:
    writer.instead = lambda _: Behaviour(text="I cannot write cases.")
    assert writer.write().returncode == 3
    assert writer.kept() == []


def test_one_cap_holds_for_the_cases_and_the_evaluation_that_they_are_written_for(writer: Writer) -> None:
    url = writer.provider.url
    words = ("-m", "any", "--base-url", url, "--max-calls", "20", "--concurrency", "1")
    teacher = {"UPSKILL_TEST_GEN_MODEL": "any", "UPSKILL_TEACHER_BASE_URL": url}
    done = writer.forker.run("eval", "quay", *words, "--fresh", cwd=writer.here, **teacher)
    assert writer.meta.exists(), done.stderr
    assert "stopped at the cap of 20 calls" in done.stdout + done.stderr
    assert writer.asked == 20
