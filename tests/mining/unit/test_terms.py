"""Terms: the same thing has the same term in a sentence, in a command and in an edit."""

import pytest

from upskill.mining.rules import refused_terms
from upskill.mining.terms import command_terms, is_value, is_work, segments, stem, text_terms


def test_a_program_in_a_sentence_is_the_program_of_a_command() -> None:
    assert set(text_terms("Please add it with pnpm.")) & set(command_terms("pnpm add left-pad"))


def test_flags_keep_their_case_and_lose_their_values() -> None:
    assert {"-N", "--import-mode", "importlib"} <= set(command_terms("pytest -N4 --import-mode=importlib tests"))
    assert "-n" not in command_terms("pytest -N4")


def test_settings_and_folders_are_part_of_a_command() -> None:
    (segment,) = segments("cd deploy && CI=1 npm test")
    assert (segment.folder, segment.assigned, segment.head) == ("deploy", ("CI=1",), "npm test")


def test_the_value_of_a_flag_is_no_subcommand() -> None:
    assert segments("kubectl -n quartz get pods")[0].head == "kubectl get"
    assert segments("git -c rebase.autoStash=true pull")[0].head == "git pull"


def test_a_file_has_the_terms_of_its_folders_name_and_ending() -> None:
    assert set(text_terms("Not in gen/api.ridl.")) >= {"gen/api.ridl", "gen/", "api.ridl", ".ridl", "api"}


@pytest.mark.parametrize("words", [("migrations", "migration"), ("tests", "test"), ("adding", "added")])
def test_endings_do_not_tell_words_apart(words: tuple[str, str]) -> None:
    assert stem(words[0]) == stem(words[1])


def test_what_follows_a_negation_is_refused_and_what_follows_its_clause_is_not() -> None:
    refused = refused_terms("We don't use pip here, everything goes through uv.")
    assert "pip" in refused
    assert "uv" not in refused
    assert "CHANGELOG.md" in refused_terms("Don't edit CHANGELOG.md by hand, add a fragment.")


def test_what_must_not_be_forgotten_or_missing_is_not_refused() -> None:
    for text in ("Don't forget changes.d for the cart.", "Reviewers bounce it without a file in changes.d."):
        assert "changes.d" not in refused_terms(text)
    assert "color" in refused_terms("Print it without color.")


def test_values_and_files_of_work_are_told_from_names() -> None:
    assert is_value("8123")
    assert is_value("2.14.0")
    assert not is_value("deleted_at")
    assert is_work("src/app.py")
    assert not is_work("contract.json")
