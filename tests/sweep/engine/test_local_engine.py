"""The local engine: many jobs in few processes, of which each death costs one job."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from stand_ins import work
from upskill.sweep import engines as local_module
from upskill.sweep.engines import LocalEngine, Lost, Take


@pytest.fixture(autouse=True)
def _workers_import_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


def _taking(at: Path, orders: Iterable[tuple[str, str]]) -> Take:
    waiting = iter(orders)

    def take() -> tuple[str, str] | None:
        order = next(waiting, None)
        return None if order is None else (order[0], json.dumps({"id": order[0], "do": order[1], "at": str(at)}))

    return take


def _begun(at: Path) -> Counter[str]:
    return Counter(path.name.split("-")[0] for path in at.iterdir())


def test_many_jobs_share_few_processes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ids = [str(n) for n in range(12)]
    with LocalEngine(work, workers=2) as engine:
        ends = dict(engine.run(_taking(tmp_path, [(one, "answer") for one in ids])))
    answers = {one: json.loads(str(end)) for one, end in ends.items()}
    assert {one: answer["id"] for one, answer in answers.items()} == {one: one for one in ids}
    assert len({answer["pid"] for answer in answers.values()}) == 2
    assert os.getpid() not in {answer["pid"] for answer in answers.values()}
    assert _begun(tmp_path) == Counter(ids)
    assert capfd.readouterr().out == "", "stdout is for the result of the command"


def test_a_death_costs_one_job_and_says_how(tmp_path: Path) -> None:
    orders = [("a", "die"), ("b", "answer"), ("c", "a long answer"), ("d", "answer")]
    with LocalEngine(work, workers=2) as engine:
        ends = dict(engine.run(_taking(tmp_path, orders)))
    assert ends.pop("a") == Lost(why="its process ended with code 7")
    assert not any(isinstance(end, Lost) for end in ends.values())
    assert set(ends) == {"b", "c", "d"}
    assert len(str(ends["c"])) == 3_000_000
    assert max(_begun(tmp_path).values()) == 1


def test_a_worker_is_replaced_after_many_jobs_and_where_it_died_with_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "JOBS_PER_WORKER", 2)
    with LocalEngine(work, workers=1) as engine:
        pids = []
        for identity, end in engine.run(_taking(tmp_path, [(one, "answer") for one in "abcde"])):
            pids.append(json.loads(str(end))["pid"])
            if identity == "c":  # the second process has had one of two
                os.kill(pids[-1], signal.SIGKILL)
                time.sleep(0.2)
    assert len(pids) == 5
    assert [pids.index(pid) for pid in pids] == [0, 0, 2, 3, 3]


@pytest.mark.once
def test_stopping_lets_jobs_end_and_takes_no_more(tmp_path: Path) -> None:
    with LocalEngine(work, workers=2) as engine:
        orders = [("a", "answer"), ("b", "wait"), ("c", "wait"), ("d", "answer")]
        ends = engine.run(_taking(tmp_path, orders))
        assert next(ends)[0] == "a"
        while _begun(tmp_path)["b"] == 0:
            time.sleep(0.05)
        engine.stop()
        assert dict(ends) == {"b": "interrupted"} or dict(ends) == {"b": "interrupted", "c": "interrupted"}
    assert "d" not in _begun(tmp_path)


@pytest.mark.once
def test_ctrl_c_reaches_the_one_who_hands_out_and_no_worker_by_itself(tmp_path: Path) -> None:
    program = f"""
import json, pathlib, sys
from stand_ins import work
from upskill.interruption import interrupts_stop
from upskill.sweep.engines import LocalEngine

orders = [(one, json.dumps(dict(id=one, do="wait", at={str(tmp_path)!r}))) for one in "abc"]
engine = LocalEngine(work, workers=1)
with interrupts_stop(engine.stop):
    print(json.dumps(list(engine.run(lambda: orders.pop(0) if orders else None))))
"""
    script = tmp_path / "program.py"
    script.write_text(program)
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list(tmp_path.glob("a-*")):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate(timeout=30)
    assert json.loads(out) == [["a", "interrupted"]]
    assert "Traceback" not in err


@pytest.mark.once
def test_a_worker_whose_parent_is_killed_keeps_what_it_has_and_ends(tmp_path: Path) -> None:
    program = f"""
import json, sys
from stand_ins import work
from upskill.sweep.engines import LocalEngine

orders = [("a", json.dumps(dict(id="a", do="wait", at={str(tmp_path)!r})))]
list(LocalEngine(work, workers=1).run(lambda: orders.pop(0) if orders else None))
"""
    script = tmp_path / "program.py"
    script.write_text(program)
    process = subprocess.Popen([sys.executable, script], stderr=subprocess.DEVNULL)
    while not (begun := list(tmp_path.glob("a-*"))):
        time.sleep(0.05)
    process.kill()
    process.wait()
    worker = int(begun[0].name.split("-")[1])
    deadline = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (tmp_path / "interrupted-a").exists()
    assert not Path(f"/proc/{worker}").exists()
