"""`upskill mine` as people type it: what is printed, what is written, and how it ends."""

import json
from pathlib import Path

import pytest

from mining.made_sessions import Turn, ordinary, ran, write_session
from typed import Upskill

SAYINGS = (
    "No pip here, dependencies are added with uv.",
    "We use uv in this project, please take uv add.",
    "pip again? The lockfile is uv's.",
    "You used pip, it has to be uv.",
)
NAMES = ("rich", "attrs", "httpx", "polars", "numpy")


def make_sessions(folder: Path, *, sessions: int = 12) -> None:
    for number in range(20):
        turns: list[Turn] = ordinary(number)
        if number < sessions:
            name = NAMES[number % len(NAMES)]
            turns += [
                f"The report needs {name}.",
                ran(f"pip install {name}"),
                SAYINGS[number % 4],
                ran(f"uv add {name}"),
            ]
        write_session(folder, number, turns)


@pytest.fixture
def sessions(here: Path) -> Path:
    make_sessions(here / "sessions")
    return here / "sessions"


def test_candidates_are_printed_with_quotes_cost_and_the_next_command(
    upskill: Upskill, here: Path, sessions: Path
) -> None:
    done = upskill("mine", "sessions")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("20 sessions, 2026-09-01 to 2026-09-20, ")
    assert "   12 sessions on 12 days, last 2026-09-12" in done.stdout
    assert sum(line.startswith('   - "') for line in lines) == 3
    assert "   upskill generate --from mined:1" in lines
    later = [f"1-later-{place}.md" for place in range(1, 7)]
    assert sorted(path.name for path in (here / "mined").iterdir()) == [
        ".gitignore", *later, "1.md", "mined.html", "mined.json"]  # fmt: skip
    assert done.stderr.splitlines()[-1] == "the page: mined/mined.html"
    page = (here / "mined" / "mined.html").read_text()
    assert "<script" not in page
    assert "uv add" in page


def test_json_is_one_object_and_a_second_run_recalls(upskill: Upskill, here: Path, sessions: Path) -> None:
    first = upskill("mine", "sessions", "--json")
    second = upskill("mine", "sessions", "--json", "-o", "again")
    found, again = json.loads(first.stdout), json.loads(second.stdout)
    assert found["schema"] == "upskill.mine/1"
    assert (found["cached"], again["cached"]) == (0, 20)
    assert found["candidates"][0]["sessions"] == again["candidates"][0]["sessions"]
    (candidate,) = found["candidates"]
    assert len(candidate["practice"]) == len(candidate["later"]) == 6
    assert candidate["claim_possible"] is False
    assert candidate["generate"] == "upskill generate --from mined:1"
    assert upskill("mine", "sessions", "--json", "--fresh").stdout == first.stdout


def test_generate_takes_a_candidate(upskill: Upskill, here: Path, sessions: Path) -> None:
    assert upskill("mine", "sessions").returncode == 0
    plan = upskill("generate", "--from", "mined:1", "--dry-run", "--json")
    assert plan.returncode == 0, plan.stderr
    assert "uv" in json.loads(plan.stdout)["task"]
    missing = upskill("generate", "--from", "mined:7", "--dry-run")
    assert missing.returncode == 2
    assert "mined:7: has 1 candidate\n" in missing.stderr


def test_the_agents_own_sessions_are_found(upskill: Upskill, home: Path) -> None:
    nothing = upskill("mine")
    assert nothing.returncode == 2
    assert "no sessions were found" in nothing.stderr
    make_sessions(home / ".claude")
    found = json.loads(upskill("mine", "--json").stdout)
    assert found["sessions"] == 20
    assert found["candidates"][0]["sessions"][0].startswith("claude-code/projects/-srv-app/")
    assert json.loads(upskill("mine", "last", "5", "--json").stdout)["sessions"] == 5


def test_few_sessions_are_told_what_they_lack(upskill: Upskill) -> None:
    done = upskill("mine", str(Path(__file__).parents[3] / "examples" / "traces"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(
        "nothing was found: what a skill could carry must have happened in 3 sessions on 2 days at least\n"
        "a skill from one session: upskill generate --from SESSION\n"
    )


def test_wrong_usage_is_explained(upskill: Upskill, sessions: Path) -> None:
    for words, said in (
        (("nowhere",), "nowhere: no such folder"),
        (("last",), "last: say how many sessions"),
        (("sessions", "--since", "soon"), "--since soon: not a time"),
        (("sessions", "more"), "one folder can be mined at a time"),
    ):
        done = upskill("mine", *words)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stdout == ""
