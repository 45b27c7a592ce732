"""`upskill cases check`, and what an evaluation does with what it finds."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.cli.test_eval import BLOG_CASES
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill

GOOD = {"id": "port", "input": "Which port?", "expected": {"contains": "8472"}, "reference": "8472"}
UNPROVEN = {"id": "file", "input": "Which file?", "expected": {"contains": "quay.lock"}}
REJECTED = {"id": "editor", "input": "Which editor?", "expected": {"excludes": "nano"}}
LEAKS = {"id": "login", "input": "A commit for a login feature", "expected": {"contains": ["feat", "login"]}}


def helped(asked: ReceivedRequest) -> Behaviour:
    """Knows everything with a skill, nothing without."""
    known = '8472 quay.lock feat: login ["9.0"] cuda_runtime.h' if asked.has_skill else "No idea."
    return Behaviour(text=f"{known} ({asked.number})")  # answers that repeat word for word count once


@pytest.fixture
def quay(here: Path) -> Path:
    folder = here / "quay"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: quay\ndescription: Facts.\n---\nThe port is 8472.\n")
    return folder


def cases_of(folder: Path, *cases: dict[str, Any]) -> str:
    """Give a skill these cases; the folder as it is typed."""
    (folder / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    return str(folder)


def test_each_case_has_its_state_its_labels_why_and_what_to_change(upskill: Upskill, quay: Path) -> None:
    done = upskill("cases", "check", cases_of(quay, GOOD, UNPROVEN, REJECTED, LEAKS))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "port    qualified  recall" in lines
    assert "file    unproven" in lines
    assert "editor  rejected" in lines
    assert "login   unproven   leaks" in lines
    assert "  the empty answer passes" in lines
    assert (
        "  -> `excludes` alone requires nothing; add a `contains`, `equals` or `regex` that a right answer passes"
        in lines
    )
    assert lines[-3] == "4 cases: 1 qualified, 2 unproven, 1 rejected; 1 recall; 1 leaks"


def test_a_check_that_a_json_py_of_the_model_passes_is_warned_of_and_isolated_it_fails(
    upskill: Upskill, quay: Path
) -> None:
    forged = {"text": "", "files": {"json.py": "import os\nos._exit(0)\n"}}
    own = {"check.py": "import json\nassert json.load(open('port.json')) == 8472\n"}
    done = {}
    for options in ((), ("-I", "-B")):
        check = {"command": {"run": ["python3", *options, "check.py"], "files": own}}
        right = {"text": "", "files": {"port.json": "8472"}}
        case = {"id": "port", "input": "Write it.", "expected": check, "reference": right, "wrong": [forged]}
        done[options] = upskill("cases", "check", cases_of(quay, case))
    assert "wrong answer 1 passes: json.py" in done[()].stdout
    assert "note: port: Python runs without -I, so it imports a `json.py`" in done[()].stderr
    assert "write `python3 -I -B`" in done[()].stderr
    assert "wrong answer 1 passes" not in done["-I", "-B"].stdout
    assert "without -I" not in done["-I", "-B"].stderr


def test_families_are_reported_and_one_that_holds_most_cases_is_warned_of(upskill: Upskill, quay: Path) -> None:
    ports = [
        {"id": f"port-{n}", "input": f"On which port does berth {n} listen?", "checks": [{"equals": f"84{n}"}]}
        for n in range(3)
    ]
    noted = "3 pairs of near-duplicate cases (port-0/port-1, port-0/port-2, port-1/port-2): give them a `family`"
    assert noted in upskill("cases", "check", cases_of(quay, GOOD, *ports)).stderr
    done = upskill("cases", "check", cases_of(quay, GOOD, *({**port, "family": "berths"} for port in ports)))
    assert "2 families, each counted once: berths 3" in done.stdout
    assert "note: 3 of 4 cases are in the family berths, which counts once: add cases of other families" in done.stderr
    assert noted not in done.stderr
    found = json.loads(upskill("cases", "check", str(quay), "--json").stdout)["families"]
    assert [one["family"] for one in found] == [None, "berths"]
    assert found[1]["cases"] == ["port-0", "port-1", "port-2"]


def test_few_cases_get_their_advice_and_their_limit_with_the_result(upskill: Upskill, quay: Path) -> None:
    (quay / "student.yaml").write_text("rules: [{replies: [8472 quay.lock]}]")
    done = upskill("eval", cases_of(quay, GOOD, UNPROVEN), "-m", f"scripted/{quay}/student.yaml", "--fresh", "-v")
    said = done.stdout + done.stderr
    assert said.count("2 of 2 answers pass without the skill: write cases that need it: upskill cases write") == 1
    assert done.stdout.count("6 cases are the fewest for a verdict about new cases") == 1


def test_programs_take_long_so_it_is_said_that_they_are_run(upskill: Upskill, quay: Path) -> None:
    runs = {
        "id": "script",
        "input": "Write a.py that prints the port.",
        "checks": [{"command": {"run": "test $(python3 a.py) = 8472", "take": ["a.py"]}}],
        "reference": {"files": {"a.py": "print(8472)\n"}},
    }
    done = upskill("cases", "check", cases_of(quay, GOOD, runs), "--json")
    states = {one["id"]: one["state"] for one in json.loads(done.stdout)["cases"]}
    assert states == {"port": "qualified", "script": "qualified"}, done.stdout
    assert "checking 1 case with checks that run programs..." in done.stderr


def test_long_names_and_reasons_are_cut_and_wrapped(upskill: Upskill, quay: Path) -> None:
    folder = cases_of(quay, GOOD, UNPROVEN, REJECTED, {**LEAKS, "id": "a-name-that-is-quite-long-and-says-little" * 2})
    done = upskill("cases", "check", folder, "-v")
    assert max(map(len, done.stdout.splitlines())) <= 120, "piped output is as wide as everywhere"


def test_without_a_rejected_case_the_exit_code_is_0_and_unreadable_cases_are_2(upskill: Upskill, quay: Path) -> None:
    assert upskill("cases", "check", cases_of(quay, GOOD, UNPROVEN)).returncode == 0
    done = upskill("cases", "check", cases_of(quay, {"input": "x", "expected": {"contians": "y"}}))
    assert done.returncode == 2
    assert "did you mean `contains`?" in done.stderr
    (quay / "skill_meta.json").unlink()
    done = upskill("cases", "check", str(quay))
    assert done.returncode == 2
    assert "there are no cases to check" in done.stderr


def test_the_test_file_of_the_blog_still_gives_a_verdict_and_its_cases_are_called_unproven(
    upskill: Upskill, quay: Path, here: Path
) -> None:
    (here / "blog.json").write_text(json.dumps(BLOG_CASES))
    with Provider(helped) as provider:
        done = upskill("eval", str(quay), "-t", "blog.json", "-m", "any", "--base-url", provider.url)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The skill helps any on these 2 cases: from 0% to 100%, +100 points (95% CI ")
    assert "note: 2 of 2 cases are unproven" in done.stdout


def test_a_rejected_case_is_not_run_and_the_report_says_so(upskill: Upskill, quay: Path) -> None:
    folder = cases_of(quay, GOOD, UNPROVEN, REJECTED)
    with Provider(helped) as provider:
        done = upskill("eval", folder, "-m", "any", "--base-url", provider.url, "--runs", "1", "--json")
        asked = [request.prompt for request in provider.requests]
    found = json.loads(done.stdout)
    assert found["cases"] == 2
    assert len(asked) == 4
    assert not any("editor" in prompt for prompt in asked)
    assert [one["state"] for one in found["case_states"]] == ["qualified", "unproven", "rejected"]
    assert "case editor is rejected and not run: the empty answer passes" in found["notes"]
    assert "1 of 2 cases is unproven (file); `upskill cases check` shows why" in found["notes"]


def test_lift_is_told_per_label_where_there_is_more_than_one(upskill: Upskill, quay: Path) -> None:
    with Provider(helped) as provider:
        where = ("-m", "any", "--base-url", provider.url, "--runs", "1")
        mixed = upskill("eval", cases_of(quay, GOOD, UNPROVEN, LEAKS), *where, "-v")
        alone = upskill("eval", cases_of(quay, GOOD), *where, "-v")
    assert "  recall: 1 case, +100 points" in mixed.stdout
    assert "  leaks: 1 case, +100 points" in mixed.stdout
    assert "  no label: 1 case, +100 points" in mixed.stdout
    assert "recall:" not in alone.stdout


def test_an_evaluation_without_any_case_that_can_tell_is_refused_before_a_call(
    upskill: Upskill, quay: Path, here: Path
) -> None:
    with Provider(helped) as provider:
        done = upskill("eval", cases_of(quay, REJECTED), "-m", "any", "--base-url", provider.url)
    assert done.returncode == 2
    assert "none of the 1 cases can tell right answers from wrong ones" in done.stderr
    assert "editor: the empty answer passes" in done.stderr
    assert provider.requests == []
    assert not (here / "runs").exists()


def test_five_equal_baselines_of_past_runs_label_a_case(upskill: Upskill, quay: Path) -> None:
    folder = cases_of(quay, GOOD, UNPROVEN)
    with Provider(helped) as provider:
        upskill("eval", folder, "-m", "any", "--base-url", provider.url, "--runs", "5", "--fresh")
    found = json.loads(upskill("cases", "check", folder, "--json").stdout)["cases"]
    assert all("impossible" in one["labels"] for one in found)
    assert "without the skill any passed 0 of 5" in found[0]["reasons"]


def test_a_probe_stops_at_the_first_disagreement_and_labels_what_is_always_equal(upskill: Upskill, quay: Path) -> None:
    def student(asked: ReceivedRequest) -> Behaviour:
        assert not asked.has_skill
        if "port" in asked.prompt:
            return Behaviour(text="8472")
        if "file" in asked.prompt:
            return Behaviour(text="No idea.")
        return Behaviour(text="feat: login" if asked.number % 2 else "Hm.")

    folder = cases_of(quay, GOOD, UNPROVEN, REJECTED)
    with Provider(student) as provider:
        done = upskill("cases", "check", folder, "--probe", "-m", "any", "--base-url", provider.url, "--json")
        assert len(provider.requests) == 10, "five each, and none for the rejected one"
    found = json.loads(done.stdout)
    assert [one["labels"] for one in found["cases"]] == [["recall", "saturated"], ["impossible"], []]
    assert found["notes"][0].startswith("probed without the skill on any: 10 calls; saved in runs/")
    with Provider(student) as provider:
        upskill("cases", "check", cases_of(quay, LEAKS), "--probe", "-m", "any", "--base-url", provider.url)
        assert len(provider.requests) < 5
    assert upskill("cases", "check", folder, "-m", "any").returncode == 2
