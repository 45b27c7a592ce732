"""Which redirects may be followed: within one origin, and from http to https at the same host."""

import pytest

from upskill.core.models.connections import OtherOrigin, is_loopback, require_same_origin


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("http://a.example/v1", "http://a.example/v2/"),
        ("http://a.example/v1", "http://A.example:80/v1"),
        ("https://a.example:443/v1", "https://a.example./v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v2"),
        ("http://a.example/v1", "https://a.example/v1"),
    ],
)
def test_a_redirect_within_the_origin_may_be_followed(first: str, then: str) -> None:
    require_same_origin(first, then)


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ("http://a.example/v1", "http://b.example/v1", "http://a.example redirects to http://b.example, another"),
        ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1", "http://127.0.0.1:1 redirects to http://127.0.0.1:2,"),
        ("http://a.example/v1", "http://a.example@b.example/v1", "to http://…@b.example,"),
        ("http://a.example/v1", "http://b.example:no/v1", "to http://b.example:-1,"),
        ("https://a.example/v1", "http://a.example/v1", "https://a.example redirects to http://a.example,"),
        ("http://a.example:8080/v1", "https://a.example/v1", "to https://a.example,"),
        ("http://a.example/v1", "https://a.example:8443/v1", "to https://a.example:8443,"),
        ("http://a.example/v1", "ftp://a.example/v1", "to ftp://a.example,"),
        ("http://[::1]:1/v1", "http://[::1]:2/v1", "http://[::1]:1 redirects to http://[::1]:2,"),
    ],
)
def test_a_redirect_to_another_origin_is_refused_and_both_are_named(first: str, then: str, said: str) -> None:
    with pytest.raises(OtherOrigin) as caught:
        require_same_origin(first, then)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://localhost:1/v1", "http://127.9.9.9/v1", "http://[::1]/v1", "http://a.localhost"]
)
def test_this_machine_is_known_by_its_names(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize("url", ["", "http://127.0.0.1.example", "http://localhost.example", "http://10.0.0.1"])
def test_another_machine_is_not_taken_for_this_one(url: str) -> None:
    assert not is_loopback(url)
