"""Containers of docker, against a stand-in for the program `docker`. No real engine was ever asked."""

import json
import os
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from upskill.processes import ENVIRONMENTS
from upskill.sandbox import FileRefused, Limits, Mount, SandboxSpec, SandboxUnavailable
from upskill.sandbox.docker import IMAGE_VARIABLE, describe_docker, flags, image_name, open_docker
from upskill.sandbox.probes import QUICK, processes_named, run_quick_probes

STAND_IN = Path(__file__).parent / "stand_in_for_docker.py"


@pytest.fixture
def docker(tmp_path: Path) -> str:
    """The stand-in as a program."""
    program = tmp_path / "docker"
    program.write_text(f"#!{sys.executable}\n" + STAND_IN.read_text(encoding="utf-8"), encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def calls(docker: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(docker).parent / "calls.jsonl").read_text().splitlines()]


def test_commands_files_and_ends_are_those_of_every_sandbox_and_the_container_is_removed(
    docker: str, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", "a-key-of-ours")
    spec = SandboxSpec(
        limits=Limits(memory_mb=300, output_bytes=100_000),
        read_only={"/skill/SKILL.md": b"Say so.\n", "/skill/say": b"#!/bin/sh\necho said $1\n"},
        executable=frozenset({"/skill/say"}),
    )
    with open_docker(spec, program=docker, image="any") as place:
        ran = place.run(["sh", "-c", "cat; pwd; exit 7"], seconds=20, stdin=b"in\n")
        assert (ran.ended, ran.exit_code, ran.stdout) == ("exit", 7, b"in\n/workspace\n")
        assert place.run(["/skill/say", "hi"], seconds=20).stdout == b"said hi\n"
        assert place.run(["sh", "-c", "echo x >> /skill/SKILL.md"], seconds=20).exit_code != 0
        place.put({"a/b.txt": b"one"})
        place.run(["sh", "-c", "ln -s a/b.txt link; head -c 3000000 /dev/zero > big"], seconds=20)
        with pytest.raises(FileRefused):
            place.read("link")
        assert place.read("/skill/SKILL.md") == b"Say so.\n"
        assert len(place.read("big")) == 3_000_000, "an answer goes through a pipe in pieces"
        late = place.run(["sh", "-c", f"setsid sleep {marker} & sleep {marker}"], seconds=1)
        assert late.ended == "timeout"
        assert place.run(["sh", "-c", "yes"], seconds=20).ended == "output"
        assert sorted(place.take()) == ["a/b.txt", "big"]
        place.run(["sh", "-c", f"setsid sleep {marker} &"], seconds=20)
    assert processes_named(marker) == []
    run, removed = calls(docker)
    name = run["words"][run["words"].index("--name") + 1]
    assert removed["words"] == ["rm", "--force", name]
    assert set(run["environment"]) <= {*ENVIRONMENTS["container"], "PATH", "LC_CTYPE"}, "no key of ours"
    assert "a-key-of-ours" not in json.dumps(run)


def test_the_quick_probes_hold_and_each_flag_that_they_rest_on_is_needed(
    docker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = partial(open_docker, program=docker, image="any")
    results = run_quick_probes(opened, python="python3")
    assert [one.id for one in results] == [one.id for one in QUICK]
    assert [one for one in results if not one.held] == []
    whole = flags

    def without_the_network(*given: Any, **named: Any) -> list[str]:
        words = whole(*given, **named)
        at = words.index("--network")
        return words[:at] + words[at + 2 :]

    monkeypatch.setattr("upskill.sandbox.docker.flags", without_the_network)
    broken = {one.id for one in run_quick_probes(opened, python="python3") if not one.held}
    assert broken == {6}, "with a shared network, the host's loopback is reached"


def test_everything_that_confines_a_container_is_asked_for() -> None:
    words = flags(Limits(memory_mb=300, processes=10), name="one", mounts=[("/host/file", "/skill/file")])
    asked = " ".join(words)
    for part in (
        *("--network none", "--cap-drop ALL", "--security-opt no-new-privileges", "--read-only", "--user 1000:1000"),
        *("--memory 300m", "--memory-swap 300m", "--pids-limit 11", "--pull never", "--rm", "--ipc private"),
        *("size=100m,mode=755,uid=1000", "type=bind,source=/host/file,target=/skill/file,readonly"),
    ):
        assert part in asked
    for never in ("--privileged", "--volume", "-v ", "docker.sock", "--device", "--cap-add", "--publish"):
        assert never not in asked


def test_a_socket_is_mounted(docker: str, tmp_path: Path) -> None:
    """The engine of this stand-in is on this machine. Whether a socket gets into a virtual machine is not known."""
    folder = Path("/tmp") / f"s{os.getpid()}"
    folder.mkdir()
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "model.sock"))
            (folder / "model.sock").chmod(0o666)
            listener.listen()
            spec = SandboxSpec(sockets=(Mount(source=folder / "model.sock", target="/model.sock"),))
            code = "import socket; socket.socket(socket.AF_UNIX).connect('/model.sock'); print('connected')"
            with open_docker(spec, program=docker, image="any") as place:
                assert place.run(["python3", "-c", code], seconds=20).stdout == b"connected\n"
    finally:
        (folder / "model.sock").unlink(missing_ok=True)
        folder.rmdir()


def test_what_is_missing_is_said_and_nothing_is_left(
    docker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(IMAGE_VARIABLE, raising=False)
    with pytest.raises(SandboxUnavailable, match=f"{IMAGE_VARIABLE} names no image"):
        image_name()
    monkeypatch.setenv(IMAGE_VARIABLE, "--privileged")
    with pytest.raises(SandboxUnavailable, match="names no image"):
        image_name()
    with pytest.raises(SandboxUnavailable, match="No such image: missing"):
        open_docker(SandboxSpec(), program=docker, image="missing")
    assert [one["words"][0] for one in calls(docker)] == ["run", "rm"]
    version, profile = describe_docker(program=docker, image="any")
    assert (version, profile[:7]) == ("99.0-stand-in", "sha256:")
    assert describe_docker(program=docker, image="other")[1] != profile, "the image is part of it"
    odd = tmp_path / "a,b"
    odd.write_text("x")
    with pytest.raises(SandboxUnavailable, match="comma"):
        open_docker(SandboxSpec(mounts=(Mount(source=odd, target="/odd"),)), program=docker, image="any")
