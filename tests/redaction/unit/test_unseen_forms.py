"""Forms, harmless lines and variables that were written down before the rules for them."""

import json

import pytest

from secret_corpus.leaks import left_of
from secret_corpus.made_up import Planted
from secret_corpus.unseen import everyday_lines, unseen, variables
from upskill.redaction import redactor_from, secrets_in

STILL_LEAK = {"ansible vault", "heroku config"}
"""The page on redaction lists them."""
FORMS = [planted for group in ("plain", "hard") for planted in unseen(group) if planted.name not in STILL_LEAK]


@pytest.mark.parametrize("planted", FORMS, ids=lambda planted: planted.name)
def test_nothing_of_a_secret_is_left_plain_or_inside_json(planted: Planted) -> None:
    assert left_of(planted, redactor_from({}).clean(planted.text)) == []
    assert left_of(planted, redactor_from({}).clean(json.dumps({"out": planted.text}, ensure_ascii=False))) == []


def test_the_forms_that_still_leak_are_the_known_ones() -> None:
    leaked = {p.name for p in unseen("hard") if left_of(p, redactor_from({}).clean(p.text))}
    assert leaked == STILL_LEAK


@pytest.mark.parametrize("planted", FORMS, ids=lambda planted: planted.name)
def test_cleaning_again_changes_nothing_more(planted: Planted) -> None:
    once = redactor_from({}).clean(planted.text)
    assert redactor_from({}).clean(once) == once


def test_a_thousand_everyday_lines_survive() -> None:
    lines = everyday_lines()
    assert len(lines) == 1_000
    assert [line for line in lines if redactor_from({}).clean(line) != line] == []


def test_everyday_lines_survive_as_one_text_and_inside_json() -> None:
    text = "\n".join(everyday_lines())
    assert redactor_from({}).clean(text) == text
    coded = [json.dumps({"event": json.dumps({"out": line})}) for line in everyday_lines()]
    assert [line for line in coded if redactor_from({}).clean(line) != line] == []


@pytest.mark.parametrize(("name", "value"), variables("holds").items(), ids=variables("holds"))
def test_a_variable_that_holds_a_secret_counts(name: str, value: str) -> None:
    assert secrets_in({name: value})


@pytest.mark.parametrize(("name", "value"), variables("holds_nothing").items(), ids=variables("holds_nothing"))
def test_a_variable_that_holds_none_does_not(name: str, value: str) -> None:
    assert secrets_in({name: value}) == {}


def test_a_path_beside_a_cell_of_a_table_is_left_alone() -> None:
    text = "| path | result |\n|---|---|\n| `../../etc/passwd` | refused403 |\n| ../../etc/passwd | x7Kq9mZ2pL |"
    assert redactor_from({}).clean(text) == text


def test_only_the_column_of_the_secret_is_removed() -> None:
    text = "user,password,role\nada,Zk39fjq2,admin\nbob,marmalade,viewer\n"
    cleaned = redactor_from({}).clean(text)
    assert cleaned == "user,password,role\nada,[redacted: password],admin\nbob,[redacted: password],viewer\n"


def test_a_table_ends_where_its_rows_end() -> None:
    text = "user,password\nada,Zk39fjq2\n\nversion 2, build 4a7f\n"
    assert redactor_from({}).clean(text).endswith("\n\nversion 2, build 4a7f\n")


def test_a_remark_in_brackets_names_no_secret_beyond_its_end() -> None:
    kept = "curl -K yard.conf sends X-Dock-Pass (the pass) and Content-Type: application/vnd.palletry.r6+json"
    assert redactor_from({}).clean(kept) == kept
    assert redactor_from({}).clean("Password (again): x7Kq9mZ2pL") == "Password (again): [redacted: password]"
