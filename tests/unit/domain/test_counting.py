"""Numbers as people read them."""

from upskill.domain.text import count


def test_a_noun_goes_with_its_number() -> None:
    assert [count(number, "call") for number in (0, 1, 2, 1200)] == ["0 calls", "1 call", "2 calls", "1,200 calls"]
    assert [count(number, "fix", "fixes") for number in (1, 2)] == ["1 fix", "2 fixes"]
