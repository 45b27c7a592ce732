"""One spelling of a value, and one digest of it, everywhere."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.nouns import Case, Check, canonical_json, digest_of

VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)


def test_the_canonical_form_is_pinned() -> None:
    assert canonical_json({"b": [1, 1.5, None, True], "a": "é\n"}) == '{"a":"é\\n","b":[1,1.5,null,true]}'


def test_a_digest_is_pinned() -> None:
    # printf '{"a":"\u00e9"}' | sha256sum
    assert digest_of({"a": "é"}) == "b3a092a6af48807fa9482b2ee140105575daa26d5b24b3c0e60a7e2dee6683b1"


@given(value=VALUES)
def test_equal_values_have_equal_digests_whatever_the_order_of_keys(value: object) -> None:
    def reversed_keys(inner: object) -> object:
        if isinstance(inner, dict):
            return {key: reversed_keys(inner[key]) for key in reversed(list(inner))}
        return [reversed_keys(one) for one in inner] if isinstance(inner, list) else inner

    assert digest_of(value) == digest_of(reversed_keys(value)) == digest_of(json.loads(canonical_json(value)))


@given(one=VALUES, other=VALUES)
def test_different_values_have_different_digests(one: object, other: object) -> None:
    assert (digest_of(one) == digest_of(other)) is (canonical_json(one) == canonical_json(other))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_what_json_cannot_hold_has_no_digest(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest_of(value)


def test_half_a_character_has_a_digest() -> None:
    assert digest_of("\ud800") != digest_of("\ud801")


def test_a_case_is_digested_by_its_content_and_not_by_its_name() -> None:
    def case(name: str = "a", prompt: str = "p", kind: str = "contains", spec: str = "x") -> str:
        return Case(id=name, prompt=prompt, checks=(Check(kind=kind, spec=spec),)).digest

    assert case() == case(name="b")
    assert len({case(), case(prompt="q"), case(kind="excludes"), case(spec="y")}) == 4


def test_the_order_of_checks_is_part_of_a_case() -> None:
    one, other = Check(kind="contains", spec="x"), Check(kind="contains", spec="y")
    assert Case(id="a", prompt="p", checks=(one, other)).digest != Case(id="a", prompt="p", checks=(other, one)).digest
