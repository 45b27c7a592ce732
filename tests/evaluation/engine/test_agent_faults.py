"""What a student with tools must not be able to do, and what must not become a score."""

import base64
import hashlib
import os
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from on_engine import Make, Run
from provider import Behaviour, ReceivedRequest
from tool_students import is_first, shell, tool_call, turns
from upskill.core import checks
from upskill.core.models import CallPolicy, MeteredClient
from upskill.core.nouns import Errored, Scored, Trial
from upskill.core.settings import resolve_settings
from upskill.core.trials.engine import run_trials
from upskill.core.trials.schedule import Schedule
from upskill.core.trials.trial_run import TrialRun
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import prepare
from upskill.sandbox import Sandbox, SandboxSpec, SandboxUnavailable

CASE = [("Write the port into port.txt.", {"contains": "done"})]


def faults(ran: Any) -> set[str]:
    return {trial.outcome.fault for trial in ran.trials if isinstance(trial.outcome, Errored)}


# Faults that are not scores


def test_a_sandbox_that_does_not_open_measures_nothing(skill: Make, script: Any, tmp_path: Path) -> None:
    settings = resolve_settings(
        {"models": (script(*turns("done")),), "harness": "agent"},
        environment={}, folder=tmp_path, user_folder=tmp_path,
    )  # fmt: skip
    prepared = prepare(EvaluationOrder(skill=skill(CASE), repeats=1), settings.values).experiment
    opened = 0

    def open_one(_: SandboxSpec) -> Sandbox:
        nonlocal opened
        opened += 1
        raise SandboxUnavailable("no sandbox: the kernel is out of sorts")

    recorded: list[Trial] = []
    (student,) = prepared.plan.students
    run_trials(
        TrialRun(
            plan=prepared.plan,
            skill=prepared.skill,
            previous=None,
            endpoints=prepared.endpoints,
            client=MeteredClient(policy=CallPolicy()),
            grade=checks.grade,
            schedules={student.name: Schedule(prepared.plan)},
            record=recorded.append,
            recall=lambda *_: None,
            logs=tmp_path / "logs",
            engine_data=tmp_path / "engine",
            trial_limits=prepared.trial_limits,
            contents=prepared.contents,
            open_sandbox=open_one,
        )
    )
    assert {type(trial.outcome) for trial in recorded} == {Errored}
    outcomes = [trial.outcome for trial in recorded if isinstance(trial.outcome, Errored)]
    assert {outcome.fault for outcome in outcomes} == {"sandbox"}
    assert "out of sorts" in outcomes[0].message
    assert opened == len(recorded) == 9, "three arms, three tries"
    assert {trial.calls for trial in recorded} == {0}, "nothing was bought"


def test_who_uses_too_much_memory_is_told_and_goes_on(skill: Make, run: Run, script: Any) -> None:
    hog = "python3 -c 'x = b\"x\" * (700 << 20); import time; time.sleep(30)'"
    ran = run(
        skill(CASE), [script(*turns(shell(f"echo early > file; {hog}"), "done"))], harness="agent", baseline=False
    )
    (trial,) = ran.trials
    assert isinstance(trial.outcome, Scored), trial.outcome
    assert trial.outcome.end == "answered"
    assert trial.turns == 2


# Row 12


def test_a_student_that_calls_tools_for_ever_spends_the_budget_and_one_call_per_trial_in_flight(
    skill: Make, run_at: Any
) -> None:
    budget, in_flight, a_call = 20_000, 4, 0

    def behave(asked: ReceivedRequest) -> Behaviour:
        nonlocal a_call
        a_call = max(a_call, sum(len(str(entry.get("content") or "")) for entry in asked.body["messages"]) // 4 + 10)
        return tool_call(asked, "shell", command="seq 1 200")

    folder = skill([(f"Case {n}?", {"contains": "done"}) for n in range(6)])
    ran, _ = run_at(
        folder, behave, harness="agent", max_total_tokens=budget, max_turns=10_000, max_trial_tokens=10**9,
        concurrency=in_flight, repeats=2,
    )  # fmt: skip
    spent = ran.evaluation.bought.tokens
    assert budget <= spent <= budget + in_flight * a_call
    assert faults(ran) == {"budget"}
    assert any("stopped at the cap of 20,000 tokens" in note for note in ran.evaluation.notes)


# Secrets


def spellings(secret: str) -> list[bytes]:
    """Plain, URL-encoded, and base64 in its three alignments."""
    found = [secret.encode(), urllib.parse.quote(secret, safe="").encode()]
    for shift in range(3):
        whole = base64.b64encode(b"x" * shift + secret.encode())
        found.append(whole[4 if shift else 0 : len(whole) - 4])
    return found


def test_a_planted_secret_reaches_no_request_no_sandbox_no_log_and_no_result(
    skill: Make, run_at: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = f"canary/{uuid.uuid4().hex}+{uuid.uuid4().hex}"
    home = tmp_path / "home"
    home.mkdir()
    for path in (home / ".netrc", home / ".env", tmp_path / ".env", tmp_path / "secret.txt"):
        path.write_text(f"API_KEY={canary}\n")
    monkeypatch.setenv("HOME", str(home))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "SOME_TOKEN", "MY_PLAIN_VARIABLE"):
        monkeypatch.setenv(name, canary)
    places = f"{tmp_path} {home} {Path.home()} /root /home /tmp /workspace /etc /run /var"
    look = f"env; set; cat /proc/*/environ /proc/*/cmdline; grep -rsa canary {places}; env > env.txt; ls -la {home}"

    def behave(asked: ReceivedRequest) -> Behaviour:
        return tool_call(asked, "shell", command=look) if is_first(asked) else Behaviour(text="done")

    ran, provider = run_at(skill(CASE), behave, harness="agent")
    assert {trial.files["env.txt"] != b"" for trial in ran.trials} == {True}, "it did look"
    sent = [str(asked.body).encode() + str(asked.headers).encode() for asked in provider.requests]
    kept = [path.read_bytes() for path in ran.run.rglob("*") if path.is_file()]
    kept += [member for path in ran.run.rglob("*.eval") for member in members(path)]
    left = [data for trial in ran.trials for data in trial.files.values()]
    assert len(sent) == 6
    for content in (*sent, *kept, *left):
        # The word itself stands in the command.
        assert [secret for secret in spellings(canary.removeprefix("canary")) if secret in content] == []


def members(path: Path) -> Iterator[bytes]:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            yield archive.read(name)


# Hostile students


def hostile(token: str, victim: Path) -> list[str]:
    """Command lines that mean harm. Every process they leave bears the token."""
    return [
        "rm -rf --no-preserve-root / 2>/dev/null; rm -rf /workspace/* ~ /tmp/*; true",
        f"b() {{ b | b & }}; exec -a bomb{token} bash -c 'b() {{ b | b & }}; b'",
        f"for n in 1 2 3 4; do setsid nohup bash -c 'exec -a daemon{token} sleep 600' >/dev/null 2>&1 & done; true",
        f"mkdir -p {victim}; echo owned > {victim}/kept.txt; echo owned > {victim}/new.txt; true",
        f"ln -s {victim}/kept.txt link; ln -s / root; ln {victim}/kept.txt hard; echo owned > link; mkfifo pipe; true",
        "echo owned > /etc/passwd; echo owned > /usr/bin/true; echo owned > /proc/sys/kernel/hostname; true",
        f"kill -9 -1; kill -9 1; bash -c 'exec -a after{token} sleep 600' & true",
        "dd if=/dev/zero of=big bs=1M count=300 2>/dev/null; true",
        "head -c 3000000 /dev/zero | tr '\\0' y",
        "mknod dev b 8 0; cat dev; mount -t tmpfs none /mnt; unshare -r true; nsenter -t 1 -a true; true",
        f"python3 -c 'import os\nfor n in range(200): os.fork()' {token}; true",
        "mkdir -p " + "/".join(["deep"] * 60) + "; for n in $(seq 2000); do : > f$n; done",
    ]


def digest_of_tree(*roots: Path) -> str:
    """Names, kinds, sizes, modes and bytes of small files."""
    whole = hashlib.sha256()
    for root in roots:
        for path in sorted(root.rglob("*")):
            info = path.lstat()
            whole.update(f"{path}|{info.st_mode}|{info.st_size}|{info.st_nlink}\n".encode())
            if path.is_file() and not path.is_symlink() and info.st_size < 100_000 and os.access(path, os.R_OK):
                whole.update(path.read_bytes())
    return whole.hexdigest()


def left_over(token: str) -> list[str]:
    """Processes that bear the token, and sandboxes whose parent is this process."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or entry.name == str(os.getpid()):
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if token in words or (parent == os.getpid() and "bwrap" in words):
            found.append(words)
    return found


def attack(folder: Path, run: Run, script: Any, victim: Path, *, repeats: int) -> Any:
    """Hostile commands, one after the other, in every trial in another order; then the host is looked at."""
    token = f"zz{uuid.uuid4().hex[:8]}"
    victim.mkdir()
    (victim / "kept.txt").write_text("untouched\n")
    commands = hostile(token, victim)
    rules = [
        {"prompt": f"Case {n}\\?", "turn": turn, "replies": [shell(commands[(n + turn) % len(commands)])]}
        for n in range(len(commands))
        for turn in (1, 2)
    ]
    student = script(*rules, {"replies": ["done"]})
    system = [path for path in map(Path, ("/etc", "/usr/local/bin", "/opt", "/srv")) if path.is_dir()]
    before = digest_of_tree(victim, folder, *system)
    ran = run(folder, [student], harness="agent", baseline=False, repeats=repeats, command_seconds=5)
    assert digest_of_tree(victim, folder, *system) == before
    until = time.monotonic() + 5
    while left_over(token) and time.monotonic() < until:
        time.sleep(0.1)
    assert left_over(token) == []
    assert list(ran.run.glob("engine/*")) == []
    return ran


def test_hostile_students_change_nothing_and_leave_nothing(skill: Make, run: Run, script: Any, tmp_path: Path) -> None:
    folder = skill([(f"Case {n}?", {"contains": "done"}) for n in range(12)])
    ran = attack(folder, run, script, tmp_path / "victim", repeats=1)
    assert len({(trial.case_id, trial.repeat) for trial in ran.trials}) == 12


@pytest.mark.full
def test_two_hundred_hostile_trials_change_nothing_and_leave_nothing(
    skill: Make, run: Run, script: Any, tmp_path: Path
) -> None:
    folder = skill([(f"Case {n}?", {"contains": "done"}) for n in range(12)])
    ran = attack(folder, run, script, tmp_path / "victim", repeats=17)
    assert len({(trial.case_id, trial.repeat) for trial in ran.trials}) == 204
