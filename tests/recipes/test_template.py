"""Templates: types are kept, inserted text is not rendered again, and only known names can be used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.recipes.template import (
    MAX_RENDERED,
    MissingValue,
    TemplateError,
    TemplateValues,
    as_text,
    format_path,
    parse_path,
    paths_in,
    render,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(-10, 10) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
PLAIN = st.text(max_size=20).filter(lambda text: "${" not in text and not text.endswith("$"))
RESERVED = ("vars", "steps", "captures", "result")


##= docs/spec/models-and-recipes.md#step-execution
##% A string that consists of one template MUST keep the type of the template's value.
@given(JSON)
def test_a_string_with_only_a_template_keeps_the_type_of_its_value(value: Any) -> None:
    values = TemplateValues({"x": value}, {"s": {"deep": [value]}}, {"c": value})
    for template in ("${x}", "${ x }", "${vars.x}", "${captures.c}", "${steps.s.deep[0]}", "${steps.s.result.deep[0]}"):
        assert render(template, values) == value


@given(PLAIN, JSON, PLAIN)
def test_a_template_inside_other_text_becomes_text(before: str, value: Any, after: str) -> None:
    rendered = render(f"{before}${{x}}{after}!", TemplateValues({"x": value}))
    assert rendered == f"{before}{as_text(value)}{after}!"
    assert as_text(value) == value if isinstance(value, str) else json.loads(as_text(value)) == value


@given(JSON)
def test_a_value_without_templates_is_unchanged(value: Any) -> None:
    if not paths_or_error(value) and "$${" not in json.dumps(value):
        assert render(value, TemplateValues()) == value


def paths_or_error(value: Any) -> list[object]:
    try:
        return list(paths_in(value))
    except TemplateError:
        return ["invalid"]


##= docs/spec/models-and-recipes.md#step-execution
##% Text that a template inserts MUST NOT be expanded again, and templates cannot refer to the environment.
@given(st.text(max_size=30))
def test_inserted_text_is_not_rendered_again(text: str) -> None:
    hostile = "${secret}" + text
    assert render("${x}", TemplateValues({"x": hostile, "secret": 1})) == hostile
    assert render("a ${x}", TemplateValues({"x": hostile, "secret": 1})) == f"a {hostile}"


@given(st.lists(KEYS | st.integers(0, 99) | st.text(alphabet="ab .", min_size=1, max_size=4), max_size=4), KEYS)
def test_a_formatted_path_parses_to_the_same_path(rest: list[str | int], first: str) -> None:
    path = (first, *rest)
    assert parse_path(format_path(path)) == path


@given(KEYS.filter(lambda key: key not in RESERVED), JSON)
def test_lists_and_objects_are_rendered_except_for_keys(name: str, value: Any) -> None:
    template = {"${" + name + "}": ["${" + name + "}", {"deep": "${vars." + name + "}"}], "n": 1}
    rendered = render(template, TemplateValues({name: value}))
    assert rendered == {"${" + name + "}": [value, {"deep": value}], "n": 1}


def test_a_second_dollar_sign_escapes_a_template() -> None:
    assert render("$${x} costs ${x}", TemplateValues({"x": 5})) == "${x} costs 5"
    assert render("$${x}", TemplateValues()) == "${x}"
    assert render("$5 and $x", TemplateValues()) == "$5 and $x"


@pytest.mark.parametrize(
    "text",
    ["${}", "${env:HOME}", "${file('/etc/passwd')}", "${x..y}", "${x[}", "${x[-1]}", "${1x}", "${x|y}", "${x y}"],
)
def test_invalid_paths_are_refused(text: str) -> None:
    with pytest.raises(TemplateError):
        list(paths_in({"a": [text]}))


@pytest.mark.parametrize(
    "path", ["HOME", "vars.nope", "steps.nope", "captures.nope", "result.x", "steps.s.a.b", "l[9]"]
)
def test_a_missing_value_is_reported_with_its_path(path: str) -> None:
    with pytest.raises(MissingValue) as caught:
        render("${" + path + "}", TemplateValues({"l": [1]}, {"s": {"a": 1}}))
    assert str(caught.value) == path


def test_templates_cannot_read_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_THING", "x")
    with pytest.raises(MissingValue):
        render("${SECRET_THING}", TemplateValues())


def test_a_key_named_result_takes_precedence_over_the_optional_prefix() -> None:
    values = TemplateValues(steps={"s": {"result": {"a": 1}}, "t": {"a": 2}})
    assert render("${steps.s.result.a}", values) == 1
    assert render("${steps.t.result.a}", values) == 2


def test_the_path_of_a_condition_is_relative_to_the_result() -> None:
    values = TemplateValues({"v": 7}, {"s": 8}, {"c": 9})
    result = {"status": "ok", "results": [{"id": 1}], "steps": 3}

    def look(text: str) -> Any:
        return values.look_up_in(result, parse_path(text))

    assert look("status") == look("result.status") == "ok"
    assert look("result.results[0].id") == look("results[0].id") == 1
    assert look("vars.v") == 7
    assert look("steps.s") == 8
    assert look("steps") == look("result.steps") == 3
    assert look("result") == result


def test_the_length_of_a_rendered_text_is_limited() -> None:
    with pytest.raises(TemplateError, match="longer than"):
        render("${x}" * 20 + "!", TemplateValues({"x": "y" * (MAX_RENDERED // 10)}))
