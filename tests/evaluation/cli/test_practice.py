"""Practice: as often as a person likes, apart from the cases that prove a skill."""

import json
import re
from pathlib import Path

import pytest

from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill
from upskill.core.runs.look_ledger import LookLedger

CASES = 12


def _answer(asked: ReceivedRequest) -> Behaviour:
    found = re.search(r"item (\d+)", asked.prompt)
    assert found is not None
    return Behaviour(text=f"X{found[1]}" if f"item {found[1]} is X{found[1]}." in json.dumps(asked.body) else "no idea")


def _write(skill: Path, *, known: int) -> None:
    facts = "\n".join(f"The code of item {number} is X{number}." for number in range(known))
    (skill / "SKILL.md").write_text(f"---\nname: codes\ndescription: Knows codes.\n---\n# Codes\n{facts}\n")


@pytest.fixture
def skill(here: Path) -> Path:
    folder = here / "codes"
    folder.mkdir()
    _write(folder, known=0)
    cases = [
        {"id": f"c{number}", "input": f"The code of item {number}?", "expected": {"contains": f"X{number}"}}
        for number in range(CASES)
    ]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": cases, "notes": "stay"}))
    return folder


def _uses(skill: Path) -> dict[str, str]:
    return {case["id"]: case["use"] for case in json.loads((skill / "skill_meta.json").read_text())["cases"]}


def test_practice_shows_what_changed_spends_no_look_and_the_proof_is_the_first(
    upskill: Upskill, skill: Path, here: Path, home: Path
) -> None:
    with Provider(_answer) as provider:
        model = ("-m", "any", "--base-url", provider.url)
        early = upskill("eval", "codes", "--practice", *model)
        assert (early.returncode, "upskill cases split" in early.stderr) == (2, True)
        done = upskill("cases", "split", "codes", "--practice", "1/3")
        assert done.stdout == "codes/skill_meta.json: 4 practice and 8 held-out cases\n"
        practised = {id for id, use in _uses(skill).items() if use == "learn"}
        assert json.loads((skill / "skill_meta.json").read_text())["notes"] == "stay"
        first = upskill("eval", "codes", "--practice", *model)
        assert first.stdout.endswith("practice, any: 0 of 4 cases pass\n"), first.stdout
        _write(skill, known=CASES)
        second = upskill("eval", "codes", "--practice", *model)
        assert "practice, any: 4 of 4 cases pass, 0 before\n  now passes: The code of item" in second.stdout
        asked = {f"c{re.findall(r'[0-9]+', one.prompt)[0]}" for one in provider.requests}
        assert asked == practised
        (ledger,) = home.rglob("looks.jsonl")
        assert [look.practice for look in LookLedger(ledger).read()] == [True, True]
        proof = upskill(*re.findall(r"upskill (eval .+)$", second.stderr, re.M)[0].split())
        assert (
            "this is the first look at these held-out cases; after a change of the skill the next look" in proof.stderr
        )
        assert "The skill helps any: from 0% to 100%" in proof.stdout
        proven = LookLedger(ledger).read()[-1]
        assert (proven.practice, proven.level) == (False, 0.025), "practice on other cases is no earlier look"


def test_a_second_split_a_split_after_a_look_and_a_case_that_changes_sides_are_noticed(
    upskill: Upskill, skill: Path
) -> None:
    _write(skill, known=CASES)
    with Provider(_answer) as provider:
        model = ("-m", "any", "--base-url", provider.url, "--runs", "1")
        looked = upskill("eval", "codes", *model)
        how = "To try changes first: upskill cases split codes, then eval with --practice"
        assert "this is the first look at these cases; after a change of the skill" in looked.stderr
        assert how in looked.stderr
        _write(skill, known=CASES - 1)
        assert how not in upskill("eval", "codes", *model).stderr, "practice comes too late"
        split = upskill("cases", "split", "codes")
        assert "note: 8 of the 8 held-out cases were looked at before, and stay so" in split.stdout.replace("\n", " ")
        again = upskill("cases", "split", "codes")
        assert (again.returncode, "are split already: 4 practice and 8 held-out" in again.stderr) == (2, True)
        found = json.loads((skill / "skill_meta.json").read_text())
        learn = next(case for case in found["cases"] if case["use"] == "learn")
        held = next(case for case in found["cases"] if case["use"] == "held-out")
        learn["use"], held["use"] = "held-out", "learn"
        (skill / "skill_meta.json").write_text(json.dumps(found))
        proof = upskill("eval", "codes", *model, "-v").stdout
        assert f"when the cases were split and cannot prove anything: {learn['id']}" in " ".join(proof.split())
        practice = upskill("eval", "codes", *model, "--practice", "-v").stdout
        assert f"held out when the cases were split, and practice now: {held['id']}" in " ".join(practice.split())


@pytest.mark.parametrize("name", ["skill_meta.json", "evals/evals.json", "mine.json"])
@pytest.mark.parametrize("key", [None, "cases", "tests", "evals"])
def test_every_form_that_is_evaluated_is_split(
    upskill: Upskill, skill: Path, here: Path, name: str, key: str | None
) -> None:
    if (name, key) == ("skill_meta.json", "evals"):
        return  # provenance there, and no cases
    (skill / "evals").mkdir()
    cases = json.loads((skill / "skill_meta.json").read_text())["cases"]
    (skill / "skill_meta.json").unlink()
    path = here / name if name == "mine.json" else skill / name
    path.write_text(
        json.dumps(cases if key is None else {key: cases, "skill_name": "codes"} if key == "evals" else {key: cases})
    )
    named = ("-t", "mine.json") if name == "mine.json" else ()
    done = upskill("cases", "split", "codes", *named)
    assert done.stdout.endswith(": 4 practice and 8 held-out cases\n"), done.stderr
    (here / "student.yaml").write_text("rules: [{replies: [no idea]}]")
    for practice, asked in (((), 8), (("--practice",), 4)):
        plan = upskill("eval", "codes", *named, *practice, "-m", "scripted/student.yaml", "-n", "--json", "--runs", "1")
        assert json.loads(plan.stdout)["cases"] == asked, plan.stdout
    assert "are split already" in upskill("cases", "split", "codes", *named).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("eval", "codes", "--practice", "--require", "helps", "-m", "any"), "practice claims nothing"),
        (("eval", "codes", "--practice", "--compare", "previous:old", "-m", "any"), "practice claims nothing"),
        (("eval", "codes", "codes", "--practice", "-m", "any"), "practice is about one skill"),
        (("cases", "split", "codes", "--practice", "3"), "must be between 0 and 1"),
        (("cases", "split", "codes", "--practice", "some"), "must be between 0 and 1"),
    ],
)
def test_what_practice_is_not_about_is_refused(
    words: tuple[str, ...], said: str, upskill: Upskill, skill: Path
) -> None:
    done = upskill(*words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
