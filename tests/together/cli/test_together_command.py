"""`upskill eval --together`: a matrix of what skills change in each other."""

import json
import re
from pathlib import Path

import pytest

from provider import Behaviour, Provider, ReceivedRequest
from together.made_library import NAMES, make_library
from tool_students import is_first, tool_call
from typed import Upskill

CASES = 8


def shadowed(asked: ReceivedRequest) -> Behaviour:
    """Knows everything, but for what alpha says while bravo is beside it."""
    [(name, number)] = re.findall(r"The (\w+) code of item (\d+)\?", asked.prompt)
    lost = name == "alpha" and '<skill name="bravo"' in asked.system
    return Behaviour(text="no idea" if lost else f"{name}{number}")


def test_a_skill_that_shadows_another_is_named_and_the_rest_is_left_alone(upskill: Upskill, here: Path) -> None:
    names = make_library(here, cases=CASES, names=NAMES[:3])
    with Provider(shadowed) as provider:
        model = ("-m", "any", "--base-url", provider.url)
        plan = json.loads(upskill("eval", *names, "--together", *model, "--dry-run", "--json").stdout)
        assert (plan["skills"], plan["sets"], plan["calls"]["at_most"]) == (names, 4, 3 * 4 * CASES)
        assert not provider.requests
        done = upskill("eval", *names, "--together", *model, "--json")
        assert done.returncode == 0, done.stderr
        assert len(provider.requests) == 3 * 4 * CASES
        given = {tuple(re.findall(r'<skill name="(\w+)"', asked.system)) for asked in provider.requests}
        assert given == {(one,) for one in names} | {(*NAMES[:2],), (NAMES[0], NAMES[2]), (*NAMES[1:3],), (*NAMES[:3],)}
        again = upskill("eval", *names, "--together", *model)
        assert len(provider.requests) == 3 * 4 * CASES, "an answer was bought twice"
    told = json.loads(done.stdout)
    found = {(one["skill"], one["other"]): one["lift"] for one in told["effects"]}
    assert (found["alpha", "bravo"]["mean"], found["alpha", "bravo"]["verdict"]) == (-1.0, "costs")
    assert (found["alpha", None]["mean"], found["alpha", None]["verdict"]) == (-1.0, "costs")
    others = [one for pair, one in found.items() if pair[0] != "alpha" or pair[1] == "charlie"]
    assert {(one["mean"], one["verdict"]) for one in others} == {(0.0, "undecided")}, "8 cases exclude no loss"
    assert all(one["loads"] is None for one in told["effects"])
    assert told["sentence"] == "bravo costs alpha (5 of 6 pairs undecided)"
    assert again.stdout.splitlines()[1].split() == ["1", "alpha", "100%", "0%", "·", "−100", "0?"]
    assert "96 answers from the cache" in again.stdout
    page = (here / told["run"] / "together.html").read_text()
    assert "bravo costs alpha" in page
    assert page.count("<tr>") == 4
    listed = upskill("runs").stdout
    assert listed.count("bravo costs alpha") == 2, "in the list of runs"


def test_a_student_with_tools_that_loads_another_skill_is_told_with_both_descriptions(
    upskill: Upskill, here: Path
) -> None:
    names = make_library(here, cases=CASES, names=NAMES[:2])

    def routed(asked: ReceivedRequest) -> Behaviour:
        """Loads bravo wherever it is listed; knows the code of the skill that it has loaded."""
        [(name, number)] = re.findall(r"The (\w+) code of item (\d+)\?", json.dumps(asked.body))
        listed = re.findall(r"/skills/(\w+)/SKILL.md", asked.system)
        chosen = "bravo" if "bravo" in listed else listed[0]
        if is_first(asked):
            return tool_call(asked, "shell", command=f"cat /skills/{chosen}/SKILL.md")
        return Behaviour(text=f"{name}{number}" if f"The {name} code." in asked.prompt else "no idea")

    with Provider(routed) as provider:
        model = ("-m", "any", "--base-url", provider.url, "--harness", "agent")
        done = upskill("eval", *names, "--together", *model)
        assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "alpha with bravo beside it: −100 points of its pass rate" in said
    assert "−100 points of its loads" in said
    assert "both descriptions say: knows, codes, parcels, rules; say in each what the other is for" in said
    assert said.index("  alpha  Knows codes") < said.index("  bravo  Knows codes")
    assert said.splitlines()[-1] == "bravo costs alpha (1 of 2 pairs undecided)"


def test_prompts_tell_which_skill_takes_the_loads_of_another(upskill: Upskill, here: Path) -> None:
    names = make_library(here, cases=2, names=NAMES[:2])
    for name in names:
        asked = [{"id": f"p{n}", "prompt": f"About {name}, {n}?", "should_load": True} for n in range(CASES)]
        (here / name / "evals").mkdir()
        (here / name / "evals" / "triggers.json").write_text(json.dumps({"prompts": asked}))

    def routed(asked: ReceivedRequest) -> Behaviour:
        """Loads the skill that is asked about, but alpha beside bravo."""
        listed = re.findall(r"/skills/(\w+)/SKILL.md", asked.system)
        wanted = re.findall(r"About (\w+),", json.dumps(asked.body))[0]
        chosen = "bravo" if "bravo" in listed else wanted
        if is_first(asked):
            return tool_call(asked, "shell", command=f"cat /skills/{chosen}/SKILL.md")
        return Behaviour(text="done")

    with Provider(routed) as provider:
        model = ("-m", "any", "--base-url", provider.url)
        done = upskill("trigger", *names, "--together", *model, "--json")
        assert done.returncode == 0, done.stderr
        shown = upskill("trigger", *names, "--together", *model).stdout
        assert upskill("trigger", *names, *model).returncode == 2
    found = {(one["skill"], one["other"]): one for one in json.loads(done.stdout)["effects"]}
    assert {one["lift"] for one in found.values()} == {None}
    assert (found["alpha", "bravo"]["loads"]["mean"], found["alpha", "bravo"]["loads"]["verdict"]) == (-1.0, "costs")
    assert found["bravo", "alpha"]["loads"]["mean"] == 0.0
    assert shown.splitlines()[0].split()[:2] == ["prompts", "of"]
    assert shown.splitlines()[1].split()[:6] == ["1", "alpha", "100%", "0%", "·", "−100"]
    assert "alpha with bravo beside it: −100 points of its loads" in shown


def test_a_skill_with_too_many_errors_is_told_nothing_of_and_the_same_command_asks_again(
    upskill: Upskill, here: Path
) -> None:
    names = make_library(here, cases=CASES, names=NAMES[:2])
    sick = True

    def answer(asked: ReceivedRequest) -> Behaviour:
        if sick and "alpha code of item 0" not in asked.prompt and "alpha code" in asked.prompt:
            return Behaviour(status=400)
        return shadowed(asked)

    with Provider(answer) as provider:
        model = ("-m", "any", "--base-url", provider.url)
        done = upskill("eval", *names, "--together", *model, "--json")
        assert done.returncode == 3, done.stderr
        told = json.loads(done.stdout)
        assert {one["skill"] for one in told["effects"]} <= {"bravo"}
        assert told["rates"][0]["withheld"]
        sick = False
        assert upskill("eval", *names, "--together", *model).returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("alpha", "--together"), "--together measures 2 to 6 skills, and 1 were named"),
        (("alpha", "bravo", "--together", "--min-lift", "0.1"), "remove --min-lift"),
        (("alpha", "bravo", "--together", "--practice"), "remove --practice"),
        (("alpha", "copy", "--together"), "two skills are named alpha"),
        (("alpha", "bare", "--together"), "bare: there are no cases"),
    ],
)
def test_what_cannot_be_measured_together_is_refused_before_any_call(
    upskill: Upskill, here: Path, words: tuple[str, ...], said: str
) -> None:
    make_library(here, cases=2, names=NAMES[:2])
    for name, text in (("copy", "name: alpha"), ("bare", "name: bare")):
        (here / name).mkdir()
        (here / name / "SKILL.md").write_text(f"---\n{text}\ndescription: Another.\n---\nText.\n")
    (here / "copy" / "skill_meta.json").write_text((here / "alpha" / "skill_meta.json").read_text())
    with Provider(shadowed) as provider:
        done = upskill("eval", *words, "-m", "any", "--base-url", provider.url)
        assert done.returncode == 2
        assert said in done.stderr
        assert not provider.requests
