"""Runs, results and exit codes of the last version: read, shown and resumed as they were then. See README.md here."""

import json
from pathlib import Path

import pytest

from golden.commands import COMMANDS, EXPECTED, differences, lay_out, observe, variables_of, words_of
from typed import Upskill


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_does_what_it_did_in_the_last_version(name: str, upskill: Upskill, here: Path) -> None:
    lay_out(here)
    frozen = COMMANDS[name]
    for words in frozen.before:
        upskill(*words.split(), **frozen.variables)
    done = upskill(*words_of(frozen), **variables_of(frozen, here))
    found = list(differences(_expected(name), observe(done, frozen, here)))
    assert not found, "\n".join([*found, done.stderr])


def _expected(name: str) -> dict[str, object]:
    seen: dict[str, object] = json.loads((EXPECTED / f"{name}.json").read_text(encoding="utf-8"))
    return seen


def test_what_is_frozen_tells_of_every_exit_code_and_of_nothing_bought_twice() -> None:
    seen = {name: _expected(name) for name in COMMANDS}
    assert {path.stem for path in EXPECTED.glob("*.json")} == set(COMMANDS)
    assert {one["exit"] for one in seen.values()} == {0, 1, 2, 3}
    for name, one in seen.items():
        if COMMANDS[name].run is not None:
            run = one["run"]
            assert isinstance(run, dict)
            assert all(run["kept"].values()), f"{name}: what was finished stays as it was, line for line"
            assert any(run["added"].values()) == name.endswith("-resumed"), name


def test_a_changed_value_and_a_renamed_key_are_told_and_another_wording_is_not() -> None:
    frozen = {"lift": 0.5, "sentence": "helps: +50 points, between +20 and +80, 9 pairs", "exit": 0}
    same = {"lift": 0.5, "sentence": "Helps: +50 points (95% CI 20 to 80, 9 pairs).", "exit": 0}
    assert list(differences(frozen, same)) == []
    assert list(differences(frozen, {**same, "lift": 0.25})) == [".lift: was 0.5, is 0.25"]
    assert list(differences(frozen, {**same, "exit": False})) == [".exit: was 0, is False"]
    renamed = {key.replace("lift", "gain"): value for key, value in same.items()}
    assert sorted(differences(frozen, renamed)) == [".gain: is new", ".lift: is gone"]
    undecided = {**same, "sentence": "undecided: +50 points, between 20 and 80, 9 pairs"}
    assert list(differences(frozen, undecided)) == [
        ".sentence: ['helps'] no longer said in 'undecided: +50 points, between 20 and 80, 9 pairs'"
    ]
