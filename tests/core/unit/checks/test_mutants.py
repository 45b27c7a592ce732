"""Wrong answers made from right ones: always the same, always different from the reference, and fair."""

from hypothesis import given
from hypothesis import strategies as st

from core.unit.checks.cases import answer, case
from upskill.core.cases.mutants import mutants, truncations
from upskill.core.nouns import Answer, Case

CASE = case("Which port does quayctl use?", {"contains": "8472"})


def texts(reference: str, *, of: Case = CASE) -> list[str]:
    return [mutant.answer.text for mutant in mutants(of, Answer(text=reference), text=True, files=True)]


def test_a_number_is_changed_and_stays_a_number() -> None:
    (mutant,) = texts("8472")
    assert mutant != "8472"
    assert mutant.isdigit()
    assert len(mutant) == 4


def test_a_version_is_one_number() -> None:
    (mutant,) = texts("4.19")
    assert mutant.count(".") == 1


def test_lines_are_dropped_one_at_a_time() -> None:
    made = texts("quay.lock\nberth.lock\n")
    assert "berth.lock\n" in made
    assert "quay.lock\n" in made


def test_a_lone_word_is_misspelt() -> None:
    (mutant,) = texts("keelhand")
    assert sorted(mutant) == sorted("keelhand")
    assert mutant != "keelhand"


def test_words_of_the_prompt_and_common_words_are_left_alone() -> None:
    assert all(mutant.startswith("The port of quayctl is ") for mutant in texts("The port of quayctl is keelhand"))


def test_where_there_is_code_only_code_and_numbers_are_changed() -> None:
    assert all("Put it into " in mutant for mutant in texts("Put it into quay.lock"))
    assert texts("Put it into quay.lock") != []


def test_one_identifier_takes_the_place_of_another() -> None:
    made = mutants(CASE, answer({"a.py": "total = first"}), text=False, files=True)
    assert {mutant.answer.files["a.py"] for mutant in made} == {b"first = first", b"total = total"}


def test_only_the_parts_that_are_looked_at_are_changed() -> None:
    both = Answer(text="Here: 1", files={"a.txt": b"2"})
    assert {mutant.answer.text for mutant in mutants(CASE, both, text=False, files=True)} == {"Here: 1"}
    assert {mutant.answer.files["a.txt"] for mutant in mutants(CASE, both, text=True, files=False)} == {b"2"}


def test_there_are_at_most_so_many_of_each_way() -> None:
    lines = "\n".join(f"value_{n} = {n}" for n in range(500))
    assert len(mutants(CASE, answer({"a.py": lines}), text=True, files=True, most_per_way=4)) == 12


def test_an_answer_is_cut_in_half_by_its_last_line_and_by_each_file() -> None:
    cut = truncations(Answer(files={"a.py": b"one\ntwo\n", "b.py": b"three"}), text=True, files=True)
    whats = [mutant.what for mutant in cut]
    assert whats == [
        "only the first half of a.py",
        "without the last line of a.py “two”",
        "only the first half of b.py",
        "without a.py",
        "without b.py",
    ]


def test_a_single_letter_cannot_be_cut() -> None:
    assert truncations(Answer(text="O"), text=True, files=True) == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_mutants_are_the_same_every_time_and_never_the_reference(text: str, content: str) -> None:
    reference = Answer(text=text, files={"a.txt": content.encode("utf-8", "replace")})
    made = mutants(CASE, reference, text=True, files=True)
    assert made == mutants(CASE, reference, text=True, files=True)
    cut = truncations(reference, text=True, files=True)
    assert all(mutant.answer != reference for mutant in (*made, *cut))
