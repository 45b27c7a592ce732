"""The files that run a sweep elsewhere: complete, without findings, and their very commands run here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from counted_sweep import CountedSweep
from forking import COMMAND, run_program

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
SCRIPT = DEPLOY / "slurm-array.sh"
(INDEXED,) = yaml.safe_load_all((DEPLOY / "kubernetes-indexed-job.yaml").read_text(encoding="utf-8"))
RAYJOB, POLICY = yaml.safe_load_all((DEPLOY / "rayjob.yaml").read_text(encoding="utf-8"))
PARTS = 3


def _containers(template: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = template["spec"]["containers"]
    return found


def _indexed_command() -> list[str]:
    (container,) = _containers(INDEXED["spec"]["template"])
    return [*container["command"], *container["args"]]


def test_the_script_of_slurm_has_no_findings() -> None:
    assert run_program(["bash", "-n", str(SCRIPT)]).returncode == 0
    done = run_program([str(Path(sys.executable).parent / "shellcheck"), "-s", "bash", str(SCRIPT)])
    assert done.returncode == 0, done.stdout
    text = SCRIPT.read_text(encoding="utf-8")
    assert "\nset -euo pipefail\n" in text
    assert "#SBATCH --signal=B:TERM@" in text
    assert SCRIPT.stat().st_mode & 0o111


def test_the_indexed_job_has_what_the_api_asks_for_and_one_number_of_parts() -> None:
    spec = INDEXED["spec"]
    (container,) = _containers(spec["template"])
    assert (INDEXED["apiVersion"], INDEXED["kind"], spec["completionMode"]) == ("batch/v1", "Job", "Indexed")
    assert spec["template"]["spec"]["restartPolicy"] == "Never", "backoffLimitPerIndex needs it"
    parts = {one["name"]: one["value"] for one in container["env"]}["PARTS"]
    assert spec["completions"] == spec["parallelism"] == int(parts)
    codes = next(rule["onExitCodes"] for rule in spec["podFailurePolicy"]["rules"] if "onExitCodes" in rule)
    assert codes["containerName"] == container["name"]
    script = _indexed_command()[-1]
    assert run_program(["sh", "-n", "-c", script]).returncode == 0


def test_the_ray_job_is_closed_to_others_and_keeps_keys_on_workers() -> None:
    spec = RAYJOB["spec"]
    cluster = spec["rayClusterSpec"]
    assert (RAYJOB["apiVersion"], RAYJOB["kind"]) == ("ray.io/v1", "RayJob")
    assert spec["entrypoint"].startswith("upskill sweep run ")
    assert spec["shutdownAfterJobFinishes"] is True
    assert cluster["authOptions"] == {"mode": "token"}
    head, workers = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    assert head["rayStartParams"]["num-cpus"] == "0"
    assert all({"groupName", "replicas", "minReplicas", "maxReplicas", "template"} <= set(one) for one in workers)
    templates = [head["template"], *(one["template"] for one in workers)]
    labels = POLICY["spec"]["podSelector"]["matchLabels"]
    assert all(labels.items() <= one["metadata"]["labels"].items() for one in templates), "the policy is about them"
    assert POLICY["spec"]["policyTypes"] == ["Ingress"]
    named = [[ref["secretRef"]["name"] for ref in _containers(one)[0]["envFrom"]] for one in templates]
    assert "upskill-keys" not in named[0], "the driver asks no model"
    assert all("upskill-keys" in one for one in named[1:])
    images = {_containers(one)[0]["image"] for one in templates}
    assert len(images) == 1, "one version of Ray, Python and upskill"


def test_each_part_is_typed_with_its_number(tmp_path: Path) -> None:
    recorder = tmp_path / "upskill"
    recorder.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    recorder.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    slurm = run_program(
        ["bash", str(SCRIPT), "a place", "64"],
        env={**environment, "SLURM_ARRAY_TASK_ID": "3", "SLURM_CPUS_PER_TASK": "2"},
    )
    assert slurm.stdout.splitlines() == ["sweep", "run", "a place", "--shard", "3/64", "-j", "2", "--yes"]
    assert run_program(["bash", str(SCRIPT), "place"], env=environment).returncode != 0, (
        "the number of parts is asked for"
    )
    indexed = run_program(
        _indexed_command(), env={**environment, "JOB_COMPLETION_INDEX": "0", "PLACE": "a place", "PARTS": "16"}
    )
    assert indexed.stdout.splitlines() == ["sweep", "run", "a place", "--shard", "1/16", "-j", "2", "--yes"]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["slurm", "kubernetes"])
def test_parts_that_run_at_the_same_time_finish_a_sweep_together(tmp_path: Path, kind: str) -> None:
    sweep = CountedSweep(tmp_path, skills=9, confirm=True, latency=0.01)
    environment = {**os.environ, "PATH": f"{Path(COMMAND).parent}:/usr/bin:/bin"}

    def part(number: int) -> "subprocess.Popen[str]":
        if kind == "slurm":
            words = ["bash", str(SCRIPT), str(sweep.place), str(PARTS)]
            own = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_CPUS_PER_TASK": "1"}
        else:
            words = _indexed_command()
            own = {"JOB_COMPLETION_INDEX": str(number - 1), "PLACE": str(sweep.place), "PARTS": str(PARTS)}
        return subprocess.Popen(
            words, env={**environment, **own}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    with sweep.provider() as provider:
        sweep.plan(provider.url)
        for one in [part(number) for number in range(1, PARTS + 1)]:
            out, err = one.communicate(timeout=300)
            assert one.returncode == 0, err
            assert out.startswith("part ")
        sweep.require_whole()
        before = sweep.requests
        last = sweep.start()
        told = json.loads(last.communicate(timeout=60)[0])
        assert sweep.requests == before, "nothing is left to buy"
    assert told["evaluations"] == {"done": 9, "planned": 9}
    assert told["confirmations"]["done"] == told["confirmations"]["planned"] > 0
