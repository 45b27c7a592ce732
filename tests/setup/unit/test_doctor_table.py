"""What `upskill doctor` prints."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from upskill.sandbox import SandboxFacts
from upskill.sandbox.contract import MemoryBy
from upskill.sandbox.probes import QUICK, Result
from upskill.setup.doctor import WITHOUT_GROUP, closing_lines, diagnosis_json, sandbox_lines, show_diagnosis


def facts(memory_by: MemoryBy = "cgroup") -> SandboxFacts:
    return SandboxFacts(
        backend="bubblewrap", version="0.8.0", profile="sha256:0123456789abcdef", memory_by=memory_by, probes=()
    )


def results(broken: int | None = None) -> tuple[Result, ...]:
    saw = "link, linked folder, pipe and hard link refused; plain file read"
    return tuple(Result(id=probe.id, what=probe.what, held=probe.id != broken, saw=saw) for probe in QUICK)


@pytest.mark.parametrize("width", [80, 200])
def test_every_probe_is_in_the_table_and_no_line_is_too_long(width: int) -> None:
    out = io.StringIO()
    show_diagnosis(facts("process"), results(6), by_root=True, console=Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(out.getvalue().split())
    numbers = [line[:2].strip() for line in lines if line[:2].strip().isdigit()]
    assert numbers[:7] == [str(probe.id) for probe in QUICK]
    assert "BROKE" in text
    if width == 200:
        assert all(probe.what in text for probe in QUICK)


def test_the_last_line_says_what_it_comes_to() -> None:
    assert closing_lines(facts(), results(), by_root=False)[-1] == "7 of 7 probes held"
    assert closing_lines(facts(), results(6), by_root=False)[-1] == "6 of 7 probes held; broken: 6"


def test_who_has_no_control_group_is_told_what_that_means() -> None:
    assert not any("control group can" in line for line in closing_lines(facts(), results(), by_root=False))
    shown = "\n".join(closing_lines(facts("process"), results(), by_root=False))
    assert "memory is limited for each process of a sandbox, not for all together" in shown
    assert diagnosis_json(facts("process"), results(), kernel="6")["sandbox"]["notes"] == [WITHOUT_GROUP]  # type: ignore[index]


def test_the_json_has_the_promised_shape() -> None:
    found = diagnosis_json(facts(), results(6), kernel="6")
    sandbox = found["sandbox"]
    assert isinstance(sandbox, dict)
    assert sandbox["backend"] == "bubblewrap"
    assert sandbox["notes"] == []
    assert [probe["id"] for probe in sandbox["probes"]] == [1, 3, 4, 5, 6, 14, 33]
    assert [probe["id"] for probe in sandbox["probes"] if not probe["held"]] == [6]


def test_three_lines_say_what_works_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"backend": "podman", "version": "4.3.1", "missing": None, "hint": None}
    gone = {"backend": "docker", "version": None, "missing": "docker is not installed", "hint": "install it"}
    monkeypatch.setattr("sys.platform", "linux")
    assert sandbox_lines([there, gone]) == [
        "podman     4.3.1: models with tools, coding agents, checks that run commands; --sandbox podman",
        "docker     not here: docker is not installed; install it",
    ]
    monkeypatch.setattr("sys.platform", "darwin")
    assert "coding agents" not in sandbox_lines([there])[0]


def test_who_asks_for_containers_is_told_what_they_do_not_confine() -> None:
    inside = replace(facts(), backend="podman", version="4.3.1")
    lines = closing_lines(inside, results(), by_root=True)
    assert lines[0].startswith("sandbox   podman 4.3.1")
    assert not any("dropped before each sandbox" in line for line in lines), "the engine's user is not ours"
    assert any("share the kernel of the engine's machine" in line for line in lines)
    sandbox = diagnosis_json(inside, results(), kernel="6")["sandbox"]
    assert isinstance(sandbox, dict)
    assert "share the kernel" in sandbox["notes"][0]
