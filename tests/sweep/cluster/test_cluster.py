"""A sweep on a real Ray cluster whose nodes die: nothing is lost, nothing counts twice, and little is bought again."""

import json
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from counted_sweep import CountedSweep, run_plainly, verdicts
from sweep.cluster.nodes import KEY_OF_NODES, Nodes
from upskill.errors import EngineError
from upskill.sweep.engines import RayEngine

NODES = 2
POINTS = 10
"""At so many points a node is killed, each in a sweep of its own."""
EVALUATIONS = 60


def test_a_node_that_dies_in_the_middle_costs_the_calls_in_flight(tmp_path: Path) -> None:
    sweep = CountedSweep(tmp_path, skills=6)
    middle = sweep.after(sweep.planned // 2)
    with Nodes(NODES) as nodes, sweep.provider() as provider:
        sweep.plan(provider.url)
        own = {**nodes.environment, "UPSKILL_ENDPOINT_KEY": "sk-of-the-driver-0123456789"}
        command = sweep.start("--ray", nodes.wait(), environment=own)
        assert middle.wait(240)
        nodes.tell("kill")
        out, err = command.communicate(timeout=240)
    assert command.returncode == 0, err
    assert json.loads(out)["evaluations"] == {"done": 6, "planned": 6}, "and nothing else is on stdout"
    sweep.require_whole()
    assert sweep.bought_again <= 2 * sweep.concurrency, "those in flight, and those that were just being kept"
    assert "2 workers" in err
    keys = {asked.headers.get("authorization") for asked in provider.requests}
    assert keys == {f"Bearer {KEY_OF_NODES}"}, "the driver sends no key anywhere"


def test_where_nobody_listens_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(EngineError, match=r"nobody answers at 127\.0\.0\.1:9 "), RayEngine(str, address="127.0.0.1:9"):
        pass


@pytest.mark.full
def test_sixty_evaluations_are_what_a_plain_loop_finds_wherever_a_node_dies(
    tmp_path: Path, record_property: Any
) -> None:
    plain = CountedSweep(tmp_path / "plain", skills=EVALUATIONS, latency=0)
    with plain.provider() as provider:
        run_plainly(plain.plan(provider.url))
    expected = verdicts(plain.results())
    assert plain.bought_again == 0
    draw = random.Random(21)
    bought_again = []
    with Nodes(NODES) as nodes:
        nodes.wait()
        for point in sorted(draw.uniform(0.05, 0.95) for _ in range(POINTS)):
            sweep = CountedSweep(tmp_path / f"at-{point:.3f}", skills=EVALUATIONS)
            then = sweep.after(int(sweep.planned * point))
            with sweep.provider() as provider:
                sweep.plan(provider.url)
                command = sweep.start("--ray", nodes.address, environment=nodes.environment)
                assert then.wait(300)
                nodes.tell("kill")
                nodes.tell("add")
                out, err = command.communicate(timeout=600)
            assert command.returncode == 0, err
            assert json.loads(out)["evaluations"]["done"] == EVALUATIONS
            sweep.require_whole()
            assert verdicts(sweep.results()) == expected
            bought_again.append(sweep.bought_again)
            assert sweep.bought_again <= 2 * sweep.concurrency
    record_property("bought again", bought_again)


@pytest.mark.full
def test_ten_nodes_that_die_in_one_sweep_lose_nothing(tmp_path: Path, record_property: Any) -> None:
    plain = CountedSweep(tmp_path / "plain", skills=EVALUATIONS, latency=0)
    with plain.provider() as provider:
        run_plainly(plain.plan(provider.url))
    draw = random.Random(22)
    sweep = CountedSweep(tmp_path / "sweep", skills=EVALUATIONS)
    with Nodes(NODES) as nodes, sweep.provider() as provider:
        sweep.plan(provider.url)
        points = [sweep.after(number) for number in sorted(draw.sample(range(20, sweep.planned - 20), POINTS))]
        command = sweep.start("--ray", nodes.wait(), environment=nodes.environment)
        for point in points:
            assert point.wait(300)
            nodes.tell("kill")
            nodes.tell("add")
        out, err = command.communicate(timeout=600)
    record_property("bought again", sweep.bought_again)
    assert command.returncode == 0, err
    assert json.loads(out)["evaluations"]["done"] == EVALUATIONS
    sweep.require_whole()
    assert verdicts(sweep.results()) == verdicts(plain.results())
    assert sweep.bought_again <= 2 * sweep.concurrency * POINTS
    assert "state-dump" not in err, "Ray would print the end of the log of each node"


@pytest.mark.full
def test_what_ray_began_a_plain_command_finishes(tmp_path: Path, record_property: Any) -> None:
    plain = CountedSweep(tmp_path / "plain", skills=EVALUATIONS, latency=0)
    with plain.provider() as provider:
        run_plainly(plain.plan(provider.url))
    sweep = CountedSweep(tmp_path / "sweep", skills=EVALUATIONS)
    then = sweep.after(sweep.planned * 2 // 5)
    with sweep.provider() as provider:
        sweep.plan(provider.url)
        with Nodes(NODES) as nodes:
            command = sweep.start("--ray", nodes.wait(), environment=nodes.environment)
            assert then.wait(300)
            nodes.kill_all()
            command.communicate(timeout=60)
        assert command.returncode == -signal.SIGKILL, "the driver, too"
        last = sweep.start("--shard", "1/1", "-j", "2")
        out, err = last.communicate(timeout=600)
    assert last.returncode == 0, err
    assert json.loads(out)["evaluations"] == {"done": EVALUATIONS, "planned": EVALUATIONS}
    assert "began and did not end" in err
    sweep.require_whole()
    assert verdicts(sweep.results()) == verdicts(plain.results())
    record_property("bought again", sweep.bought_again)
    assert sweep.bought_again <= 2 * NODES * sweep.concurrency


@pytest.mark.full
def test_who_interrupts_a_sweep_on_ray_loses_nothing(tmp_path: Path) -> None:
    sweep = CountedSweep(tmp_path, skills=8, latency=0.1)
    then = sweep.after(sweep.planned // 3)
    with sweep.provider() as provider:
        sweep.plan(provider.url)
        with Nodes(NODES) as nodes:
            command = sweep.start("--ray", nodes.wait(), environment=nodes.environment)
            assert then.wait(300)
            command.send_signal(signal.SIGINT)
            out, err = command.communicate(timeout=120)
        assert command.returncode == 130, err
        assert json.loads(out)["stopped"] == "interrupt"
        assert sweep.requests < sweep.planned
        last = sweep.start("-j", "2")
        _, err = last.communicate(timeout=300)
    assert last.returncode == 0, err
    assert "did not end" not in err, "all ended in good order"
    sweep.require_whole()
    assert sweep.bought_again <= NODES * sweep.concurrency, "an interrupted call is asked again"
