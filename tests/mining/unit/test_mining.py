"""Many sessions: what becomes a candidate, what does not, and that order, copies and damage change nothing."""

import json
import os
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mining.made_sessions import Turn, edited, ordinary, ran, read, write_session
from upskill.errors import UsageError
from upskill.mining.candidates import day_of
from upskill.mining.mine import MineOrder, Mining, mine
from upskill.mining.page import write_mined
from upskill.mining.words import mined_json, mining_json

NOBODY = {"HOME": "/nonexistent"}
SAYINGS = (
    "No pip here, dependencies are added with uv.",
    "We use uv in this project, please take uv add.",
    "pip again? The lockfile is uv's.",
    "You used pip, it has to be uv.",
)


def corrected(number: int) -> list[Turn]:
    name = ("rich", "attrs", "httpx", "polars")[number % 4]
    return [f"Add {name}.", ran(f"pip install {name}"), SAYINGS[number % 4], ran(f"uv add {name}")]


def mined(folder: Path, make: Callable[[int], list[Turn]], *, sessions: int = 10, **order: object) -> Mining:
    for number in range(24):
        special = make(number) if number < sessions else []
        write_session(folder, number, [*ordinary(number), *special, *ordinary(number + 7)])
    return mine(replace(MineOrder(folder=folder), **order), environment=NOBODY)  # type: ignore[arg-type]


def listed(found: Mining) -> object:
    return mining_json(found, folder="mined")["candidates"]


def test_the_same_correction_in_four_wordings_is_one_candidate(tmp_path: Path) -> None:
    (candidate,) = mined(tmp_path, corrected).candidates
    assert len(candidate.sessions) == 10
    assert candidate.days == tuple(f"2026-09-{day:02d}" for day in range(1, 11))
    assert candidate.last_seen == "2026-09-10"
    assert "uv" in candidate.terms
    assert candidate.cost.minutes_a_month > 0
    assert len({each.moment.quote for each in candidate.quotes}) == 3


def test_a_command_that_fails_with_another_message_each_time_is_one_candidate(tmp_path: Path) -> None:
    verbs = ("size", "bundle", "image")
    errors = ("E041: toolchain is ambiguous", "no profile selected", "linker script: cannot be resolved")

    def repaired(number: int) -> list[Turn]:
        what = f"oven {verbs[number % 3]} part{number}"
        failed = ran(what, f"{errors[number % 3]}", failed=True)
        return ["Go on.", failed, ran(f"oven --profile m4 {verbs[number % 3]} part{number}")]

    (candidate,) = mined(tmp_path, repaired, sessions=15).candidates
    assert len(candidate.sessions) == 15


def test_a_value_that_is_another_one_each_time_is_no_candidate(tmp_path: Path) -> None:
    found = mined(
        tmp_path,
        lambda number: ["Start it.", ran("serve"), f"No, take port {8000 + number}.", ran(f"serve -p {8000 + number}")],
    )
    assert found.candidates == ()


def test_a_rule_that_sessions_contradict_is_shown_with_both_sides(tmp_path: Path) -> None:
    def squash(number: int) -> list[Turn]:
        if number % 2:
            return ["Merge.", ran("git merge a"), "Always squash the commits.", ran("git merge --squash a")]
        return ["Merge.", ran("git merge a"), "Don't squash the commits.", ran("git merge --no-ff a")]

    found = mined(tmp_path, squash)
    assert found.candidates == ()
    (contradiction,) = found.contradicted
    for_it, against = contradiction.sides
    assert {each.moment.quote for each in for_it} == {"Always squash the commits."}
    assert {each.moment.quote for each in against} == {"Don't squash the commits."}


def test_opposite_rules_without_a_negation_are_a_contradiction(tmp_path: Path) -> None:
    def indented(number: int) -> list[Turn]:
        wanted = ("We indent with tabs.", "You used spaces, please use tabs.", "Spaces here, always.", "We use spaces.")
        return ["Indent it.", edited("a.py", f"x = {number}"), wanted[number % 4], edited("a.py", f"y = {number}")]

    found = mined(tmp_path, indented, sessions=16)
    assert found.candidates == ()
    assert len(found.contradicted) == 1


def test_a_recording_without_times_has_the_day_of_its_name(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done."}]
    (tmp_path / "2026-08-14-be08.json").write_text(json.dumps({"messages": chat}))
    (session,) = mine(MineOrder(folder=tmp_path), environment=NOBODY).read.sessions
    assert day_of(session.began) == "2026-08-14"


def test_flaky_commands_are_counted_and_are_no_candidate(tmp_path: Path) -> None:
    command = "bin/spec socket"
    found = mined(tmp_path, lambda _: ["Test.", ran(command, "1 failed", failed=True), ran(command, "1 passed")])
    assert found.candidates == ()
    assert sum(one.flaky for one in found.read.sessions) == 10


def test_a_file_that_others_change_is_work_and_no_look_up(tmp_path: Path) -> None:
    def looked(number: int) -> list[Turn]:
        return ["Which zone?", read("deploy/zones.toml")]

    (candidate,) = mined(tmp_path / "a", looked).candidates
    assert candidate.kind == "look-up"
    assert "zones.toml" in candidate.title
    for number in range(30, 40):
        write_session(tmp_path / "a", number, ["Move it.", edited("deploy/zones.toml", str(number))])
    assert mine(MineOrder(folder=tmp_path / "a"), environment=NOBODY).candidates == ()


def test_any_order_and_any_number_of_processes_give_the_same_bytes(tmp_path: Path) -> None:
    first = mined(tmp_path / "a", corrected)
    files = sorted((tmp_path / "a").rglob("*.jsonl"))
    random.Random(3).shuffle(files)
    for file in files:
        copy = tmp_path / "b" / file.relative_to(tmp_path / "a")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    second = mine(MineOrder(folder=tmp_path / "b"), environment=NOBODY)
    texts = [json.dumps(mining_json(replace(one, place=""), folder="mined")) for one in (first, second)]
    assert texts[0] == texts[1]


def test_a_copy_and_a_resumed_session_count_once(tmp_path: Path) -> None:
    whole = mined(tmp_path, corrected)
    session = sorted(tmp_path.rglob("*.jsonl"))[0]
    shutil.copyfile(session, session.with_name("copy.jsonl"))
    more = session.read_text().replace(session.stem, "resumed")
    session.with_name("resumed.jsonl").write_text(more.rsplit("\n", 2)[0] + "\n")
    again = mine(MineOrder(folder=tmp_path), environment=NOBODY)
    assert again.read.copies == 1
    assert again.candidates[0].sessions == whole.candidates[0].sessions


def test_what_is_kept_is_recalled_and_damage_to_it_does_no_harm(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = mined(tmp_path / "a", corrected, cache=cache)
    second = mine(MineOrder(folder=tmp_path / "a", cache=cache), environment=NOBODY)
    assert (first.read.cached, second.read.cached) == (0, 24)
    assert listed(second) == listed(first)
    for file in cache.rglob("*.json"):
        file.write_text("{")
    assert listed(mine(MineOrder(folder=tmp_path / "a", cache=cache), environment=NOBODY)) == listed(first)


def test_what_was_kept_for_more_than_sixty_days_is_removed(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    mined(tmp_path / "a", corrected, cache=cache)
    old, *others = sorted(cache.rglob("*.json"))
    written = time.time() - 61 * 86_400
    os.utime(old, (written, written))
    shutil.rmtree(tmp_path / "a" / "projects")
    write_session(tmp_path / "a", 99, ordinary(99))
    mine(MineOrder(folder=tmp_path / "a", cache=cache), environment=NOBODY)
    assert not old.exists()
    assert all(each.exists() for each in others)


def test_no_secret_is_kept_or_shown(tmp_path: Path) -> None:
    key = "sk-proj-" + "FAKE" * 10 + "0000"

    def leaked(number: int) -> list[Turn]:
        return ["Call it.", ran(f"call --key {key}"), f"No, use uv and not {key}.", ran(f"uv add {key}", key)]

    found = mined(tmp_path / "a", leaked, cache=tmp_path / "cache")
    write_mined(found, tmp_path / "out")
    written = [*(tmp_path / "cache").rglob("*.json"), *(tmp_path / "out").iterdir()]
    assert found.candidates
    assert not [file.name for file in written if key in file.read_text() or key.lower() in file.read_text()]


def test_hostile_files_are_skipped_and_named(tmp_path: Path) -> None:
    mined(tmp_path, corrected)
    folder = tmp_path / "projects"
    (folder / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    (folder / "binary.jsonl").write_bytes(bytes(range(256)) * 100)
    (folder / "empty.jsonl").write_text("")
    (folder / "away.jsonl").symlink_to("/etc/hostname")
    long = write_session(tmp_path, 50, ["Go.", ran("cat big", "A b. " * 40_000), "\x1b[2J\x1b]0;title\x07No, use uv."])
    found = mine(MineOrder(folder=tmp_path), environment=NOBODY)
    assert {line.split(":")[0] for line in found.read.skipped} == {f"projects/{name}" for name in (
        "away.jsonl", "binary.jsonl", "deep.json", "empty.jsonl")}  # fmt: skip
    session = next(one for one in found.read.sessions if long.name in one.name)
    assert session.skipped_outputs == 1
    assert "\x1b" not in repr(session.moments)


def test_the_material_holds_nothing_of_later_sessions(tmp_path: Path) -> None:
    animals = ("ape", "bear", "cat", "dog", "elk", "fox", "goat", "hare", "ibis", "jay")

    def own(number: int) -> list[Turn]:
        return [*corrected(number)[:2], f"{SAYINGS[number % 4]} Think of the {animals[number]}.", ran("uv add rich")]

    found = mined(tmp_path / "a", own)
    write_mined(found, tmp_path / "out")
    listed = mined_json(found)["candidates"]
    assert isinstance(listed, list)
    assert isinstance(listed[0], dict)
    assert listed[0]["claim_possible"] is False
    for place, animal in enumerate(animals[5:], 1):
        later = (tmp_path / "out" / f"1-later-{place}.md").read_text().partition("\n\n")[2]
        assert [one for one in animals if f" {one}." in later] == [animal]
    given = (tmp_path / "out" / "1.md").read_text() + str(listed[0]["task"]) + found.candidates[0].lesson
    seen = {animal for animal in animals if f" {animal}." in given}
    assert "ape" in seen
    assert seen <= set(animals[:5])


def test_a_folder_with_other_files_is_not_written_to(tmp_path: Path) -> None:
    found = mined(tmp_path / "a", corrected)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.md").write_text("mine")
    with pytest.raises(UsageError, match=r"thesis\.md"):
        write_mined(found, tmp_path / "out")
    assert (tmp_path / "out" / "thesis.md").read_text() == "mine"


def test_what_agents_md_says_already_is_set_apart(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    mined(folder, corrected)
    (folder / "AGENTS.md").write_text("# Rules\n\n- Add dependencies with uv (`uv add`), never with pip install.\n")
    skill = folder / ".claude" / "skills" / "tables"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tables\ndescription: Tables.\n---\nUse tables.\n")
    found = mine(MineOrder(folder=folder), environment=NOBODY)
    assert found.candidates == ()
    ((_, where),) = found.covered
    assert where == "a/AGENTS.md:3"
    (use,) = found.skills
    assert (use.skill, use.installed, use.sessions) == ("tables", True, 0)


def test_real_recordings_give_no_candidate(trace_samples: Path) -> None:
    found = mine(MineOrder(folder=trace_samples), environment=NOBODY)
    assert found.candidates == ()
    assert found.contradicted == ()
    assert len(found.read.sessions) > 10


@pytest.fixture
def trace_samples() -> Path:
    return Path(__file__).parents[2] / "samples" / "traces"
