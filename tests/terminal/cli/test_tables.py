"""Tables in a terminal of 80 columns: every long name stands whole, and nothing else is wider than the terminal."""

import json
import re
from pathlib import Path

import pytest

from made_sweeps import MadeSweep
from provider import Behaviour, Provider
from together.made_library import make_library
from typed_in_terminal import Terminal

COLUMNS = 80
SKILL = "knots-with-a-long-name-that-says-what-a-skill-can-do-with-them"
OTHER = "ropes-with-a-long-name-that-says-what-a-skill-can-do-with-them"
MODELS = [f"a-student-with-a-long-name-number-{number}-and-more" for number in (1, 2)]
CASES = [f"case-{number}-about-a-knot-that-has-a-long-identifier-and-many-words" for number in range(6)]
ALIAS = "an-alias-with-a-name-as-long-as-this-one-is"
MODEL = "a-model-with-a-long-name-that-goes-on-and-on-70b"
RUNS = "runs-in-a-folder-whose-name-is-long-enough-to-fill-most-of-a-line"
STUDENTS = [word for name in MODELS for word in ("-m", f"scripted/{name}.json")]
VERDICT = r"undecided|helps|no difference|hurts|cheaper"
TABLES = {
    "eval": (("eval", SKILL, *STUDENTS, "--runs", "1", "-v"), (*MODELS, *CASES, VERDICT, "without the skill")),
    "several": (("eval", SKILL, OTHER, *STUDENTS, "--runs", "1"), (SKILL, OTHER, *MODELS, VERDICT)),
    "together": (("eval", "together/alpha", "together/bravo", "--together", *STUDENTS), (*MODELS, "alone", "1 alpha")),
    "runs": (("runs",), (SKILL, *MODELS, VERDICT)),
    "look": (("eval", SKILL, "-m", MODEL, "--base-url", "URL", "--runs", "1"), (MODEL, VERDICT)),
    "looks": (("runs", "--looks", SKILL), (SKILL, MODEL, VERDICT)),
    "list": (("list", "."), (SKILL, OTHER, *MODELS, VERDICT, "last verdict")),
    "settings": (("settings",), ("runs_dir", RUNS, "skills_dir", "default")),
    "models": (("models",), (ALIAS, MODEL, "OPENAI_API_KEY")),
    "cases": (("cases", "check", SKILL, "-v"), (*CASES, "qualified|unproven|rejected")),
    "trigger": (
        ("trigger", SKILL, "--runs", "1", "-m", MODEL, "--base-url", "URL", "--yes"),
        (MODEL, "near misses", "verdict"),
    ),
    "trace": (("trace", "traces"), (SKILL, "turns")),
    "sweep": (("sweep", "report", "nightly"), (SKILL, *MODELS, "confirmed", "undecided")),
    "doctor": (("doctor",), ("a program tried to", "held")),
}


@pytest.fixture
def folder(here: Path) -> Path:
    """Two skills with six cases each, two models that know one answer more with them, and whatever else has a table."""
    for name in (SKILL, OTHER):
        (here / name / "evals").mkdir(parents=True)
        (here / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Knots and ropes.\n---\nA bowline.\n")
        asked = [{"id": id, "input": f"Knot {n}?", "expected": {"contains": f"k{n}"}} for n, id in enumerate(CASES)]
        (here / name / "skill_meta.json").write_text(json.dumps({"cases": asked}))
        prompts = [{"id": f"p{n}", "prompt": f"Tie knot {n}.", "should_load": n % 2 == 0} for n in range(24)]
        (here / name / "evals" / "triggers.json").write_text(json.dumps({"prompts": prompts}))
    rules = [{"arm": "with_skill", "when": "Knot 0", "replies": ["k0"]}, {"replies": ["no idea"]}]
    for name in MODELS:
        (here / f"{name}.json").write_text(json.dumps({"rules": rules}))
    (here / "together").mkdir()
    make_library(here / "together", cases=6, names=("alpha", "bravo"))
    sweep = MadeSweep(here / "nightly", students=tuple(MODELS))
    job = sweep.job(f"registry/{SKILL}")
    sweep.measured(job, {MODELS[0]: (0.1, 0.9), MODELS[1]: (0.5, 0.5)})
    sweep.confirmed(job, {MODELS[0]: (0.1, 0.9)})
    (here / "upskill.toml").write_text(f'[aliases]\n{ALIAS} = "openai/{MODEL}"\n')
    (here / "traces").mkdir()
    turns = [{"role": "user", "content": "Tie it."}, {"role": "assistant", "content": "Tied."}]
    for number in (1, 2):
        (here / "traces" / f"{SKILL}-{number}.json").write_text(json.dumps({"messages": [*turns, *turns[:number]]}))
    return here


@pytest.mark.parametrize(
    "names",
    [
        ("eval", "several", "runs", "list", "together"),
        ("look", "looks", "trigger", "models", "settings"),
        ("cases", "trace", "sweep", "doctor"),
    ],
)
def test_no_table_breaks_a_word(folder: Path, environment: dict[str, str], names: tuple[str, ...]) -> None:
    variables = {**environment, "UPSKILL_RUNS_DIR": RUNS}
    with Provider(lambda _: Behaviour(text="no idea")) as provider:
        for name in names:
            words, expected = TABLES[name]
            with Terminal(folder, variables, columns=COLUMNS, rows=50) as terminal:
                terminal.type(*(provider.url if word == "URL" else word for word in words))
                terminal.wait(lambda terminal=terminal: terminal.exit_code() is not None)  # type: ignore[misc]
                screen = terminal.printed()
                missing = [one for one in expected if not re.search(one, screen)]
                assert not missing, f"{name}: {missing}\n{screen}"
                assert not re.search(r"[a-z]…[a-z]", screen), screen
