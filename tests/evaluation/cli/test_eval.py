"""`upskill eval` as people type it: what it prints where, its exit codes, what it leaves behind."""

import json
import re
import shutil
import signal
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from forking import COMMAND, Forker, run_program
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill, wait

BLOG_CASES = {
    "cases": [
        {"input": "Create a build.toml for a CUDA kernel targeting H100", "expected": {"contains": "9.0"}},
        {
            "input": "Write a basic CUDA kernel template with proper includes",
            "expected": {"contains": "cuda_runtime.h"},
        },
    ]
}


_NUMBERS = count(1)


def _helped(asked: ReceivedRequest) -> Behaviour:
    """In other words each time, so that repeats are no copies."""
    text = 'capabilities = ["9.0"] #include <cuda_runtime.h>' if asked.has_skill else "No idea, 19.07."
    return Behaviour(text=f"{text} (answer {next(_NUMBERS)})")


@pytest.fixture
def kernel_skill(here: Path) -> Path:
    """The skill of the blog, with its cases, where people have it."""
    for name in ("my-skill", "kernel-builder-cuda-kernels", "x"):
        folder = here / "skills" / name
        folder.mkdir(parents=True)
        head = f"---\nname: {name}\ndescription: Build optimized CUDA kernels for PyTorch.\n---\n"
        (folder / "SKILL.md").write_text(f"{head}# Building\n\nH100 is compute capability 9.0.\n")
        (folder / "skill_meta.json").write_text(json.dumps(BLOG_CASES))
    return here / "skills" / "my-skill"


TYPED = {
    "two models": "eval ./skills/my-skill/ --model haiku --model sonnet",
    "a local model": "eval ./skills/my-skill/ --model unsloth/GLM-4.7-Flash-GGUF:Q4_0 --base-url http://localhost:8080/v1",
    "an alias of a flag": "eval ./skills/x/ --model haiku --m kimi --runs 5",
    "the blog's own": "eval ./skills/kernel-builder-cuda-kernels/ --model haiku --m kimi --runs 5",
    "short flags": "eval ./skills/my-skill/ -m haiku -m kimi -m sonnet --runs 5",
}


@pytest.mark.parametrize("name", TYPED)
def test_the_commands_of_the_blog_work_as_typed_with_a_local_server_and_no_key(
    name: str, upskill: Upskill, kernel_skill: Path
) -> None:
    with Provider(_helped, port=8080):
        done = upskill(*TYPED[name].split(), UPSKILL_BASE_URL="http://localhost:8080/v1")
    assert done.returncode == 0, done.stderr
    assert "on these 2 cases" in done.stdout
    for word in ("without the skill", "with the skill", "100%", "▲ helps here"):
        assert word in done.stdout
    if "--model haiku" in TYPED[name] or "-m haiku" in TYPED[name]:
        assert re.match(r"The skill helps all \d models on these 2 cases\.\n", done.stdout)


def test_one_model_takes_few_lines_and_verbose_shows_every_figure(upskill: Upskill, kernel_skill: Path) -> None:
    with Provider(_helped) as provider:
        words = ("eval", "skills/my-skill", "-m", "any", "--base-url", provider.url)
        done, long = upskill(*words), upskill(*words, "-v")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("The skill helps any on these 2 cases: from 0% to 100%, +100 points (")
    assert lines[1].startswith("any  ○━")
    assert len(lines) + len(done.stderr.splitlines()) <= 12
    assert not any(line != line.rstrip() for line in lines), "no trailing spaces"
    assert done.stderr.startswith("Evaluating my-skill on any: 2 cases, up to ")
    assert "  without the skill ░░░░░░░░░░░░░░░░░░░░    0%" in long.stdout
    assert "  with the skill    ████████████████████  100%  (+100 points)" in long.stdout
    assert re.search(r"^  SKILL.md              ~", long.stdout, re.MULTILINE)


def test_without_a_baseline_nothing_is_said_of_lift(upskill: Upskill, kernel_skill: Path) -> None:
    with Provider(_helped) as provider:
        done = upskill("eval", "skills/my-skill", "-m", "any", "--base-url", provider.url, "--no-baseline", "--json")
    (student,) = json.loads(done.stdout)["students"]
    assert student["verdict"] is None
    assert student["lifts"] == []
    assert set(student["arms"]) == {"with_skill"}


def test_a_case_file_of_ones_own_goes_before_the_skills_cases(upskill: Upskill, kernel_skill: Path, here: Path) -> None:
    (here / "cases.json").write_text(json.dumps([{"input": "Say one", "expected": {"contains": ["one", "two"]}}]))
    with Provider(lambda _: Behaviour(text="one two")) as provider:
        done = upskill("eval", "skills/my-skill", "-m", "any", "--base-url", provider.url, "-t", "cases.json", "-v")
    assert done.returncode == 0, done.stderr
    assert {asked.prompt for asked in provider.requests} == {"Say one"}
    assert "found 'one', 'two'" in done.stdout


REFUSED = {
    "no such skill": (["eval", "./skills/nope", "-m", "any"], 2, "no such folder", "did you mean"),
    "no model": (["eval", "skills/my-skill"], 2, "no model was named", "-m"),
    "an unknown model": (["eval", "skills/my-skill", "-m", "hiaku"], 2, "unknown model", "did you mean haiku?"),
    "a missing key": (["eval", "skills/my-skill", "-m", "haiku"], 3, "ANTHROPIC_API_KEY is not set", "export"),
    "a missing token": (["eval", "skills/my-skill", "-m", "zai-org/GLM-5"], 3, "HF_TOKEN is not set", "export"),
    "a dead server": (
        ["eval", "skills/my-skill", "-m", "any", "--base-url", "http://127.0.0.1:9/v1"],
        3,
        "no server answers at http://127.0.0.1:9/v1",
        "start the server",
    ),
    "a bad URL": (["eval", "skills/my-skill", "-m", "any", "--base-url", "localhost"], 2, "not a base URL", "http"),
    "no runs": (["eval", "skills/my-skill", "-m", "haiku", "--runs", "0"], 2, "at least 1", ""),
    "a wrong setting": (["eval", "skills/my-skill", "-m", "any", "--max-cost", "-9"], 2, "at least 0", ""),
    "no such case file": (["eval", "skills/my-skill", "-m", "any", "-t", "no.json"], 2, "no such file", ""),
    "no such script": (["eval", "skills/my-skill", "-m", "scripted/no.yaml"], 2, "no such file", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_succeed_is_refused_before_any_trial_in_a_line_that_says_what_to_do(
    name: str, upskill: Upskill, kernel_skill: Path, here: Path
) -> None:
    words, code, message, hint = REFUSED[name]
    done = upskill(*words)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    error = next(line for line in done.stderr.splitlines() if line.startswith("error:"))
    assert message in error
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert not (here / "runs").exists(), "nothing was begun"


def test_a_skill_without_cases_is_refused(upskill: Upskill, kernel_skill: Path) -> None:
    (kernel_skill / "skill_meta.json").unlink()
    done = upskill("eval", "skills/my-skill", "-m", "haiku")
    assert done.returncode == 2
    assert "there are no cases" in done.stderr
    assert "-t FILE" in done.stderr


def test_all_problems_of_a_case_file_are_listed_at_once(upskill: Upskill, kernel_skill: Path, here: Path) -> None:
    broken = [{"input": "a", "expected": {"contain": "x"}}, {"inptu": "b", "expected": {}}, 7]
    (here / "cases.json").write_text(json.dumps(broken))
    done = upskill("eval", "skills/my-skill", "-m", "any", "-t", "cases.json")
    assert done.returncode == 2
    assert "did you mean `input`?" in done.stderr
    assert "contain" in done.stderr
    assert "case 3" in done.stderr


def test_a_skill_larger_than_the_window_is_found_before_any_trial(upskill: Upskill, kernel_skill: Path) -> None:
    with (kernel_skill / "SKILL.md").open("a") as file:
        file.write("word " * 4000)
    with Provider(_helped, window=1000) as provider:
        done = upskill("eval", "skills/my-skill", "-m", "any", "--base-url", provider.url)
    assert done.returncode == 3
    assert "does not fit" in done.stderr
    assert "window is 1,000" in done.stderr
    assert provider.requests == []


def test_a_run_that_measured_nothing_exits_with_3_and_still_prints_its_table(
    upskill: Upskill, kernel_skill: Path
) -> None:
    with Provider(lambda _: Behaviour(status=500)) as provider:
        done = upskill("eval", "skills/my-skill", "-m", "any", "--base-url", provider.url, UPSKILL_MAX_RETRIES="0")
    assert done.returncode == 3
    assert "no verdict" in done.stdout
    assert "not counted as failures" in done.stdout


def test_an_expensive_plan_without_a_terminal_needs_yes(upskill: Upskill, kernel_skill: Path, here: Path) -> None:
    done = upskill("eval", "skills/my-skill", "-m", "opus", "--runs", "500", ANTHROPIC_API_KEY="sk-ant-x")
    assert done.returncode == 2
    assert ", at most $" in done.stderr
    assert "--yes" in done.stderr
    assert not (here / "runs").exists()


def test_ctrl_c_prints_the_table_so_far_and_leaves_a_readable_run_folder(
    upskill: Upskill, kernel_skill: Path, here: Path, environment: dict[str, str], forker: Forker
) -> None:
    cases = [{"input": f"Question {n}", "expected": {"contains": "9.0"}} for n in range(40)]
    (kernel_skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    with Provider(lambda asked: Behaviour(text="9.0", latency=0.0 if asked.number < 9 else 30.0)) as provider:
        words = ["eval", "skills/my-skill", "-m", "any", "--base-url", provider.url, "--concurrency", "4"]
        words += ["--runs", "1"]
        with forker.started(environment, *words, cwd=here) as command:
            wait(lambda: len(provider.requests) >= 12 and _lines(here) >= 8)
            stopped = time.monotonic()
            command.send(signal.SIGINT)
            done = command.wait()
        assert time.monotonic() - stopped < 20, "the answers would come after thirty; `make full` holds it to five"
    out, err = done.stdout, done.stderr
    assert done.returncode == 130, err
    assert "interrupted after 12 of 80 answers" in out
    assert "Undecided on these 4 cases: any goes from 100% to 100%, 0 points" in out
    (folder,) = [path for path in (here / "runs").iterdir() if path.is_dir()]
    record = json.loads((folder / "run.json").read_text())
    assert record["status"] == "interrupted"
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    assert len(trials) == 12
    assert sum(trial["outcome"]["kind"] == "scored" for trial in trials) == 8
    listed = upskill("runs")
    assert "interrupted" in listed.stdout


def _lines(here: Path) -> int:
    return sum(path.read_text().count("\n") for path in here.glob("runs/*/trials.jsonl"))


def _tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_nothing_is_written_outside_the_run_folder(
    here: Path, home: Path, environment: dict[str, str], example_skill: Path, scripted_student: Path, tmp_path: Path
) -> None:
    """Watched by strace: every file opened for writing, made, renamed or removed."""
    assert shutil.which("strace"), "strace is needed: apt-get install strace"
    (here / ".env").write_text("OPENAI_BASE_URL=http://example.invalid\nINSPECT_LOG_DIR=elsewhere\n")
    before = _tree(here)
    log = tmp_path / "strace.log"
    calls = "openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat"
    words = ["eval", str(example_skill), "-m", f"scripted/{scripted_student}", "--runs", "2", "--json"]
    done = run_program(
        [
            "strace",
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-y",
            "-s",
            "300",
            "-e",
            f"trace={calls}",
            "-o",
            str(log),
            COMMAND,
            *words,
        ],
        cwd=here,
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    run = here / json.loads(done.stdout)["run"]
    touched = _touched(log.read_text(errors="replace"), here)
    ignored = (str(here / "runs" / ".gitignore"), str(here / "runs" / "..gitignore"))
    key = home / ".config" / "upskill"
    allowed = (str(run), *ignored, str(key / "run.key"), str(key / ".run.key"), "/dev/", "/proc/")
    folders = {str(here / "runs"), str(key), str(key.parent)}
    outside = {path for path in touched if not path.startswith(allowed) and path not in folders}
    assert outside == set()
    assert touched, "strace saw the run being written"
    assert _tree(home) == {".config", ".config/upskill", ".config/upskill/run.key"}
    inside = {path for path in _tree(here) - before if not path.startswith(f"runs/{run.name}")}
    assert inside == {"runs", "runs/.gitignore"}


def _touched(log: str, here: Path) -> set[str]:
    """Paths that a successful system call wrote, made or removed; strace -y names the folder of each."""
    touched = set()
    for line in log.splitlines():
        if '"' not in line or " = -1 " in line:
            continue
        call = line.split("(", 1)[0].split()[-1]
        if call in ("openat", "open") and not any(flag in line for flag in ("O_WRONLY", "O_RDWR", "O_CREAT")):
            continue
        for folder, path in re.findall(r'(?:<([^>]*)>, )?"([^"]*)"', line):
            touched.add(str(Path(folder or here) / path))
    return touched


def test_changed_checks_are_applied_to_stored_answers_without_a_call(
    upskill: Upskill, kernel_skill: Path, here: Path
) -> None:
    with Provider(lambda asked: Behaviour(text="nine" if asked.has_skill else "ten")) as provider:
        done = upskill("eval", "skills/my-skill", "-m", "any", "--base-url", provider.url, "--runs", "2", "--json")
        calls = len(provider.requests)
        result = json.loads(done.stdout)
        assert result["students"][0]["verdict"] == "undecided"
        cases = [
            {"id": case_id, "input": "asked before", "expected": {"contains": "nine"}} for case_id in _ids(here, result)
        ]
        (here / "changed.json").write_text(json.dumps(cases))
        again = upskill("regrade", result["run"], "-t", "changed.json", "--json")
        assert len(provider.requests) == calls
    (student,) = json.loads(again.stdout)["students"]
    assert student["arms"]["with_skill"]["pass_rate"] == 1.0
    assert student["arms"]["baseline"]["pass_rate"] == 0.0
    unchanged = json.loads((here / result["run"] / "run.json").read_text())
    assert unchanged["results"]["students"][0]["verdict"] == "undecided"


def _ids(here: Path, result: dict[str, Any]) -> list[str]:
    record = json.loads((here / result["run"] / "run.json").read_text())
    return [case["id"] for case in record["cases"]]


def test_min_lift_and_require_have_an_exit_code_of_their_own(upskill: Upskill, kernel_skill: Path) -> None:
    with Provider(_helped) as provider:
        base = ["eval", "skills/my-skill", "-m", "any", "--base-url", provider.url, "--json"]
        assert upskill(*base).returncode == 0
        assert upskill(*base, "--require", "helps").returncode == 1, "two cases say nothing of others"
        assert upskill(*base, "--min-lift", "0.2", "--runs", "10").returncode == 0
    with Provider(lambda _: Behaviour(text="no idea")) as provider:
        base = ["eval", "skills/my-skill", "-m", "any", "--base-url", provider.url, "--json"]
        assert upskill(*base, "--require", "helps").returncode == 1
        assert upskill(*base, "--min-lift", "0.2", "--runs", "3").returncode == 1
        shown = upskill(*base[:-1], "--min-lift", "0.2", "--runs", "3").stdout
        assert re.search(r"^not met: --min-lift 0.2, any: ", shown, re.MULTILINE)


def test_resume_goes_on_after_kill_9(
    upskill: Upskill, kernel_skill: Path, here: Path, environment: dict[str, str], forker: Forker
) -> None:
    cases = [{"input": f"Question {n}", "expected": {"contains": "9.0"}} for n in range(30)]
    (kernel_skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    with Provider(lambda asked: Behaviour(text="9.0" if asked.has_skill else "no", latency=0.02)) as provider:
        words = ["eval", "skills/my-skill", "-m", "any", "--base-url", provider.url, "--runs", "1", "--json"]
        with forker.started(environment, *words, cwd=here) as command:
            wait(lambda: len(provider.requests) >= 20)
            command.send(signal.SIGKILL)
            assert command.wait().returncode == -signal.SIGKILL
        (folder,) = [path for path in (here / "runs").iterdir() if path.is_dir()]
        finished = (folder / "trials.jsonl").read_text().count("\n")
        asked = len(provider.requests)
        done = upskill("eval", "--resume", str(folder), "--base-url", provider.url, "--json")
        assert done.returncode == 0, done.stderr
        bought = len(provider.requests) - asked
    (student,) = json.loads(done.stdout)["students"]
    assert student["lifts"][0]["pairs"] == 30
    assert bought == 60 - finished, "no finished trial is bought again"
    assert (folder / "trials.jsonl").read_text().count("\n") == 60
