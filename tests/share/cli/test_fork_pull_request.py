"""A pull request that attacks its own gate: what judges comes from the base, or the comment names it first.

The scripts of the action run in the order of `action.yml`, with the inputs of the workflow file at the head, as GitHub
does on `pull_request`. A script answers that the base's workflow names.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from forking import Forker
from share.cli.forked_upskill import ForkedUpskill
from share.cli.gate import Gate, new_gate
from upskill.core.skills.skills import read_skill

ALL = range(1, 13)
STUDENT = """rules:
  - prompt: The code of (?P<item>item \\d+)\\b
    reads: '\\b{item} is (?P<code>\\w+)'
    replies: ['It is \\g<code>.']
"""
FORGED = """rules:
  - arm: previous
    replies: [I do not know.]
  - prompt: The code of item (?P<item>\\d+)
    reads: '(?s).*'
    replies: ['c1x c2x c3x c4x c5x c6x c7x c8x c9x c10x c11x c12x']
"""
SETTINGS = 'temperature = 0.0\n[aliases]\nsmall = "scripted/ci/student.yaml"\n'
WORKFLOW = """on: pull_request
jobs:
  skills:
    runs-on: ubuntu-latest
    steps:
      - uses: OWNER/upskill/action@COMMIT
        with:
          models: {models}
          require: {require}
          ledger: looks.jsonl
"""

ANCHOR_BREAKS = "anchor breaks 10 of 12 cases (code-10, code-11, code-12 and 7 more) for small"


def case(item: int, expected: str | None = None) -> dict[str, object]:
    wanted = expected or f"c{item}x"
    return {"id": f"code-{item}", "input": f"The code of item {item}?", "expected": {"contains": wanted}}


@dataclass
class Judged:
    """What became of a pull request."""

    code: int
    lines: list[str]
    """Of the comment."""

    @property
    def first(self) -> str:
        return "\n".join(self.lines[:3])

    @property
    def text(self) -> str:
        return "\n".join(self.lines).replace("\u00a0", " ")


@dataclass
class Fork:
    """A repository with one skill and a gate, and a branch of somebody else."""

    gate: Gate

    def skill(self, known: Iterable[int], folder: str = "skills/anchor", more: str = "") -> None:
        facts = "\n".join(f"- The code of item {item} is c{item}x." for item in known)
        name = folder.rpartition("/")[2]
        head = f"---\nname: {name}\ndescription: Knows codes. Use when asked for a code.\n---\n# Codes\n"
        self.gate.write(f"{folder}/SKILL.md", f"{head}\n{more}\n{facts}\n")

    def cases(self, *cases: dict[str, object], folder: str = "skills/anchor") -> None:
        self.gate.write(f"{folder}/skill_meta.json", json.dumps({"cases": cases}))

    def workflow(self, *, models: str = "small", require: str = "no-harm") -> None:
        self.gate.write(".github/workflows/skills.yml", WORKFLOW.format(models=models, require=require))

    def judged(self, **variables: str) -> Judged:
        self.gate.commit("pull request")
        text = (self.gate.repository / ".github/workflows/skills.yml").read_text("utf-8")
        given = yaml.safe_load(text)["jobs"]["skills"]["steps"][0]["with"]
        inputs = {f"GATE_{name.upper().replace('-', '_')}": str(value or "") for name, value in given.items()}
        known = {"UPSKILL_TRUST": hashlib.sha256(SETTINGS.encode()).hexdigest()}
        done = self.gate.script("changed-skills.sh", GATE_BASE="main")
        assert done.returncode == 0, done.stderr
        code = self.gate.script("evaluate.sh", **(known | inputs | variables)).returncode
        assert self.gate.script("summary.sh").returncode == 0
        return Judged(code, (self.gate.out / "body.md").read_text("utf-8").splitlines())


@pytest.fixture
def fork(tmp_path: Path, forker: Forker) -> Iterator[Fork]:
    gate = new_gate(tmp_path)
    fork = Fork(gate)
    fork.skill(ALL)
    fork.cases(*map(case, ALL))
    fork.workflow()
    gate.write("ci/student.yaml", STUDENT)
    gate.write("upskill.toml", SETTINGS)
    gate.write("looks.jsonl", "")
    gate.commit("base")
    gate.git("switch", "--quiet", "--create", "fork")
    with ForkedUpskill(forker, tmp_path / "bin") as upskill:
        gate.variables = {"PATH": f"{upskill.folder}:{os.environ['PATH']}"}
        yield fork


def test_an_honest_change_passes_and_a_worse_one_fails_and_the_script_that_answered_is_named_first(fork: Fork) -> None:
    fork.skill(ALL, more="Answer with the code alone.")
    judged = fork.judged()
    assert judged.code == 0, judged.text
    assert "a script answered in place of small: scripted/ci/student.yaml" in judged.lines[1]
    assert "| anchor | small | " in judged.text
    fork.skill(range(1, 3))
    judged = fork.judged()
    assert judged.code == 1
    assert "### upskill: 1 skill breaks 10 cases (code-10 and 9 more)" in judged.first


@pytest.mark.parametrize("file", ["upskill.toml", "pyproject.toml"])
def test_a_forged_alias_changes_nothing_and_its_file_is_named(fork: Fork, file: str) -> None:
    forged = SETTINGS.replace("ci/student", "forged")
    if file == "pyproject.toml":
        (fork.gate.repository / "upskill.toml").unlink()
        forged = '[tool.upskill]\n[tool.upskill.aliases]\nsmall = "scripted/forged.yaml"\n'
    fork.gate.write(file, forged)
    fork.gate.write("forged.yaml", FORGED)
    fork.skill(range(1, 3))
    judged = fork.judged()
    assert judged.code == 1, judged.text
    assert "a script answered in place of small: scripted/ci/student.yaml" in judged.first
    assert f"`{file}`" in judged.first


def test_a_forged_script_changes_nothing(fork: Fork) -> None:
    fork.gate.write("ci/student.yaml", FORGED)
    fork.gate.write("ci/SKILL.md", "---\nname: ci\ndescription: Hides a script in a skill.\n---\n")
    fork.skill(range(1, 3))
    assert ANCHOR_BREAKS in fork.judged().text


def test_bent_cases_are_measured_as_they_were_named_and_not_accepted(fork: Fork) -> None:
    bent = (case(item, "I do not know") for item in range(3, 12))
    fork.cases(case(1), case(2), *bent, case(13) | {"use": "held-out"})
    fork.skill(range(1, 3))
    judged = fork.judged()
    assert judged.code == 1
    assert f"{ANCHOR_BREAKS}: from 100% to 17%" in judged.text
    assert (
        "cases of anchor: 9 changed (code-3, code-4, code-5, …), 1 removed (code-12), 1 added (code-13)" in judged.first
    )


def test_changed_cases_need_approval_also_where_the_skill_is_the_same(fork: Fork) -> None:
    fork.cases(*map(case, range(1, 12)), case(12, "c12"))
    judged = fork.judged()
    assert judged.code == 1
    assert "cases of anchor: 1 changed (code-12)" in judged.first
    assert "accept-changed-cases" in judged.text
    fork.skill(ALL, more="Answer with the code alone.")
    judged = fork.judged()
    assert judged.code == 1
    assert "not met: --require no-harm" in judged.text
    approved = fork.judged(GATE_ACCEPT_CHANGED_CASES="true")
    assert approved.code == 0, approved.text
    assert "cases of anchor: 1 changed (code-12)" in approved.first


def test_approved_cases_are_the_ones_that_are_measured(fork: Fork) -> None:
    fork.cases(*(case(item, f"z{item}") for item in ALL))
    fork.skill(ALL, more="Answer with the code alone.")
    assert "100% → 100%" in fork.judged().text
    assert "0% → 0%" in fork.judged(GATE_ACCEPT_CHANGED_CASES="true").text


def test_a_nested_skill_does_not_hide_the_outer_one_and_is_named(fork: Fork) -> None:
    fork.gate.write("skills/anchor/references/more.md", "The codes are secret.")
    fork.skill(ALL, folder="skills/anchor/references")
    fork.cases(*map(case, ALL), folder="skills/anchor/references")
    judged = fork.judged()
    assert fork.gate.folders("changed") == ["skills/anchor", "skills/anchor/references"]
    assert "| anchor | small | " in judged.text
    assert "`skills/anchor/references`" in judged.first


def test_a_renamed_skill_is_named(fork: Fork) -> None:
    fork.gate.git("mv", "skills/anchor", "skills/ancora")
    fork.skill(ALL, folder="skills/ancora")
    judged = fork.judged()
    assert "deletes `skills/anchor`" in judged.first


@pytest.mark.parametrize("named", ["input", "settings"])
def test_a_forged_ledger_is_not_read(fork: Fork, named: str) -> None:
    """The ledger of an honest look at the forged script says that the new version helps."""
    fork.skill(range(1, 3))
    gate, ledger = fork.gate, fork.gate.repository / "looks.jsonl"
    gate.commit("worse")
    gate.variables["UPSKILL_STORE"] = "false"
    student = gate.repository / "ci/student.yaml"
    student.write_text(FORGED)
    words = ("eval", "skills/anchor", "-m", "small", "--compare", "git:main")
    made = gate.upskill(
        *words, UPSKILL_LEDGER="looks.jsonl", UPSKILL_TRUST=hashlib.sha256(SETTINGS.encode()).hexdigest()
    )
    assert '"verdict":"helps"' in ledger.read_text().replace(" ", ""), made.stderr
    student.write_text(STUDENT)
    variables = {}
    if named == "settings":
        settings = f'ledger = "looks.jsonl"\n{SETTINGS}'
        variables = {"GATE_LEDGER": "", "UPSKILL_TRUST": hashlib.sha256(settings.encode()).hexdigest()}
        forged = ledger.read_text()
        gate.git("switch", "--quiet", "--discard-changes", "main")
        gate.write("upskill.toml", settings)
        gate.commit("settings")
        gate.git("switch", "--quiet", "fork")
        gate.git("rebase", "--quiet", "main")
        ledger.write_text(forged)
    judged = fork.judged(**variables)
    assert judged.code == 1, judged.text
    assert "### upskill: 1 skill breaks 10 cases (code-10 and 9 more)" in judged.first


def test_a_changed_workflow_input_is_named(fork: Fork) -> None:
    fork.workflow(require='""')
    fork.skill(range(1, 3))
    judged = fork.judged()
    assert judged.code == 0
    assert judged.lines[1].startswith("**This pull request changes what judges it: `.github/workflows/skills.yml`")
    assert len(judged.lines[1]) < 300


def test_many_changed_files_hide_none_of_the_kinds(fork: Fork) -> None:
    for number in range(300):
        fork.gate.write(f".github/a/{number:03}{'x' * 90}.md", "x")
    fork.workflow(require='""')
    fork.cases(*map(case, range(5, 12)))
    fork.skill(range(1, 3))
    judged = fork.judged()
    assert "`.github/workflows/skills.yml`" in judged.first
    assert "5 removed" in judged.first
    assert "a script answered" in judged.first
    assert all(len(line) < 2_000 for line in judged.lines[:3])


def test_a_new_held_out_case_does_not_take_the_place_of_the_old_ones(fork: Fork) -> None:
    practice = [case(item) | {"use": "learn"} for item in ALL]
    fork.gate.git("switch", "--quiet", "main")
    fork.cases(*practice)
    fork.gate.commit("practice cases alone")
    fork.gate.git("switch", "--quiet", "fork")
    fork.gate.git("rebase", "--quiet", "main")
    fork.cases(*practice, case(13, "It") | {"use": "held-out"})
    fork.skill(range(1, 3))
    judged = fork.judged()
    assert judged.code == 1, judged.text
    assert "anchor breaks 10 of 12 cases" in judged.text
    assert "cases of anchor: 1 added (code-13)" in judged.first


def test_a_run_with_the_cases_of_the_base_is_resumed_with_them(fork: Fork) -> None:
    fork.cases(*map(case, range(1, 11)), case(11, "other"))
    fork.skill(ALL, more="Answer with the code alone.")
    gate = fork.gate
    gate.variables["UPSKILL_TRUST"] = hashlib.sha256(SETTINGS.encode()).hexdigest()
    script = ("-m", "scripted/ci/student.yaml", "--compare", "git:main", "--json")
    done = gate.upskill("eval", "skills/anchor", *script, "--max-calls", "5", "--require", "no-harm")
    run = json.loads(done.stdout)["run"]
    done = gate.upskill("eval", "--resume", run, "--max-calls", "100", "--require", "no-harm", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["cases"]) == (1, 12), done.stderr
    assert "2 old cases were changed or removed" in found["required"][0]["why"]


def test_a_skill_that_becomes_a_link_is_a_deleted_one(fork: Fork) -> None:
    fork.gate.git("mv", "skills/anchor", "anchor")
    fork.skill(range(1, 3), folder="anchor")
    (fork.gate.repository / "skills").mkdir(exist_ok=True)
    (fork.gate.repository / "skills" / "anchor").symlink_to("../anchor")
    judged = fork.judged()
    assert "deletes `skills/anchor`" in judged.first
    assert "changes links or submodules, which are not measured: `skills/anchor`" in judged.first


def test_a_link_that_leads_elsewhere_is_named(fork: Fork) -> None:
    link = fork.gate.repository / "skills" / "current"
    fork.gate.git("switch", "--quiet", "main")
    link.symlink_to("anchor")
    fork.gate.commit("a link")
    fork.gate.git("switch", "--quiet", "fork")
    fork.gate.git("rebase", "--quiet", "main")
    link.unlink()
    link.symlink_to("../elsewhere")
    assert "changes links or submodules, which are not measured: `skills/current`" in fork.judged().first


def test_cases_behind_a_link_of_the_base_cannot_be_exchanged_unseen(fork: Fork) -> None:
    gate = fork.gate
    gate.git("switch", "--quiet", "main")
    (gate.repository / "skills/anchor/skill_meta.json").unlink()
    gate.write("skills/anchor/evals/v1.json", json.dumps({"cases": [case(item) for item in ALL]}))
    (gate.repository / "skills/anchor/evals/evals.json").symlink_to("v1.json")
    gate.commit("cases behind a link")
    gate.git("switch", "--quiet", "fork")
    gate.git("rebase", "--quiet", "main")
    gate.write("skills/anchor/evals/v1.json", json.dumps({"cases": [case(1)]}))
    fork.skill(range(1, 3))
    assert fork.judged().code != 0


def test_many_easy_cases_hide_no_harm(fork: Fork) -> None:
    easy = [case(1) | {"id": f"easy-{number}", "input": f"Item 1 again, {number}?"} for number in range(80)]
    fork.cases(*map(case, ALL), *easy)
    fork.skill(range(1, 3))
    judged = fork.judged()
    assert judged.code == 1, judged.text
    assert "80 added" in judged.first


def test_a_skill_does_not_say_of_itself_that_practice_cases_count(fork: Fork) -> None:
    fork.gate.git("switch", "--quiet", "main")
    cases = [case(item) | {"use": "learn" if item > 6 else "held-out"} for item in ALL]
    fork.cases(*cases)
    fork.gate.commit("practice and held-out cases")
    fork.gate.git("switch", "--quiet", "fork")
    fork.gate.git("rebase", "--quiet", "main")
    fork.skill(range(7, 13))
    digest = read_skill(fork.gate.repository / "skills/anchor").digest
    meta = {"cases": cases, "cases_written_by": {"skill_digest": digest}}
    fork.gate.write("skills/anchor/skill_meta.json", json.dumps(meta))
    judged = fork.judged()
    assert judged.code == 1, judged.text
    assert "anchor breaks 6 of 6 cases" in judged.text


def test_a_least_lift_is_not_met_either_while_cases_are_changed(fork: Fork) -> None:
    fork.cases(*map(case, range(1, 12)))
    fork.skill(ALL, more="Answer with the code alone.")
    fork.workflow(require="")
    assert fork.judged(GATE_MIN_LIFT="-1").code == 1
