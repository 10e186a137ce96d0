from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.registry.uri import UriTemplate, bare_path_candidates
from tests.registry.property_tests import property_test

SEGMENT = st.text(min_size=1, max_size=30).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [
        ("a:///x", "a:///x", {}),
        ("a:///x", "a:///x/", None),
        ("a:///x", "b:///x", None),
        ("a:///{id}", "a:///7", {"id": "7"}),
        ("a:///{id}", "a:///", None),
        ("a:///{id}", "a:///7/8", None),
        ("a:///{id}", "a:///7?x=1", None),
        ("a:///{id}", "a:///7#x", None),
        ("a:///{id}", "a:///a%20b%2Fc", {"id": "a b/c"}),
        ("a:///{id}/data", "a:///7/data", {"id": "7"}),
        ("a:///{id}/data", "a:///7/other", None),
        ("a:///{+path}", "a:///b/c/d", {"path": "b/c/d"}),
        ("a:///{+path}", "a:///", None),
        ("a:///{one}/{two}", "a:///1/2", {"one": "1", "two": "2"}),
        ("a:///{one}/{+rest}", "a:///1/2/3", {"one": "1", "rest": "2/3"}),
        ("a:///x.y/{id}", "a:///xzy/7", None),
        ("a:///{id}", "a:///line\nbreak", {"id": "line\nbreak"}),
    ],
)
def test_a_template_matches_only_its_own_uris(template: str, uri: str, variables: dict[str, str] | None) -> None:
    assert UriTemplate(template).match(uri) == variables


def test_a_template_lists_its_variables() -> None:
    assert UriTemplate("a:///{one}/x/{+two_2}").names == ("one", "two_2")


@property_test
@given(SEGMENT, SEGMENT)
def test_filled_variables_are_matched_again(one: str, two: str) -> None:
    template = UriTemplate("a:///{one}/x/{two}")
    uri = template.fill({"one": one, "two": two})
    assert template.match(uri) == {"one": one, "two": two}
    assert all(c in string.printable for c in uri)


@property_test
@given(st.lists(SEGMENT.filter(lambda s: "/" not in s), min_size=1, max_size=4))
def test_a_filled_path_is_matched_again(parts: list[str]) -> None:
    template = UriTemplate("a:///{+path}")
    path = "/".join(parts)
    assert template.match(template.fill({"path": path})) == {"path": path}


@property_test
@given(st.text(max_size=2000))
def test_no_uri_makes_a_template_fail(uri: str) -> None:
    for template in ("a:///{one}/{two}/{+rest}", "a:///{+one}/x/{+two}"):
        UriTemplate(template).match(uri)


def test_a_bare_path_is_tried_with_every_scheme_and_a_uri_is_unchanged() -> None:
    assert bare_path_candidates("/x/y", ("a", "b")) == ("a:///x/y", "b:///x/y")
    assert bare_path_candidates("//host/x", ("a",)) == ("//host/x",)
    assert bare_path_candidates("a:///x", ("a",)) == ("a:///x",)
    assert bare_path_candidates("", ("a",)) == ("",)
