from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextive.config.document import parse_config
from contextive.config.json_text import json_lines
from contextive.config.keypath import KeyPath
from contextive.errors import ConfigError

from .conftest import Project


def values_of(name: str, text: str | bytes) -> object:
    return parse_config(name, text.encode() if isinstance(text, str) else text).values


##= docs/spec/host.md#sections
##% The configuration MUST be a single object.
##= docs/spec/host.md#validation
##% A duplicate key in an object MUST be an error.
##= docs/spec/host.md#tests-of-the-project
##= type=implication
##% The project MUST have tests of the parsing and validation of its configuration.
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{\n "server": {,}\n}', "a.json:2:13: Expecting property name enclosed in double quotes"),
        ("a.json", "", "a.json:1:1: Expecting value"),
        ("a.json", '{"a": 1,\n "a": 2}', 'a.json:2: duplicate key "a"'),
        ("a.json", '{"b": {"a": 1,\n "a": 2}}', 'a.json:2: duplicate key "a"'),
        ("a.json", '{"a":\n NaN}', "a.json:2: NaN and Infinity are not valid JSON numbers"),
        ("a.json", '{"a": -Infinity}', "a.json:1: NaN and Infinity are not valid JSON numbers"),
        ("a.json", '{"a":\n 1e999}', "a.json:1: a: a number must be finite"),
        ("a.json", '{"a": %s}' % ("1" * 5000), "a.json: a number has too many digits"),
        ("a.json", '{"a": "\\ud800"}', "a.json:1: a: not valid Unicode text"),
        ("a.json", "[]", "a.json:1: the top level must be an object"),
        ("a.yaml", "a: 1\n b: 2", "a.yaml:2:3: mapping values are not allowed here"),
        ("a.yaml", "a: 1\nb: 2\na: 3", 'a.yaml:3: duplicate key "a"'),
        ("a.yaml", "a: &x 1\nb: 2", "a.yaml:1: anchors and aliases are not supported; write the value out"),
        ("a.yaml", "a: 1\nb: *x", "a.yaml:2: anchors and aliases are not supported; write the value out"),
        ("a.yaml", "a: !!python/name:os.system x", "a.yaml:1: tags are not supported"),
        ("a.yaml", "a: !!set {x}", "a.yaml:1: tags are not supported"),
        ("a.yaml", "1: a", "a.yaml:1: a key must be a string; put it in quotes"),
        ("a.yaml", "? [a]\n: b", "a.yaml:1: a key must be a string"),
        ("a.yaml", "a: 1\n---\nb: 2", "a.yaml:2: more than one document in the file"),
        ("a.yaml", "a: \x07", "a.yaml: not valid YAML: it contains a character that is not allowed"),
        ("a.yaml", "a: %s" % ("1" * 5000), "a.yaml:1: a number has too many digits"),
        ("a.yaml", "- a", "a.yaml:1: the top level must be an object"),
        ("a.yaml", "a: [" + "x," * 20_001 + "]", "a.yaml:1: more than 20000 values"),
        ("a.toml", "[server\nport = 1", "a.toml:1:8: Expected ']' at the end of a table declaration"),
        ("a.toml", "a = 1\na = 2\nb = 3", "a.toml:2:6: Cannot overwrite a value"),
        ("a.toml", "a = 1\nb =", "a.toml:2: Invalid value"),
        ("a.toml", "a = 1979-05-27", "a.toml:1: a: dates and times are not supported; put the value in quotes"),
        ("a.toml", "[t]\nx = inf", "a.toml:2: t.x: a number must be finite"),
        ("a.toml", "a = %s" % ("1" * 5000), "a.toml: a number has too many digits"),
    ],
)
def test_an_invalid_text_is_refused_with_its_location(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        values_of(name, text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"a":' * 66 + "1" + "}" * 66),
        ("a.json", '{"a":' + "[" * 900_000),
        ("a.yaml", "a: " + "[" * 66 + "]" * 66),
        ("a.yaml", "[" * 900_000),
        ("a.toml", "a = " + "[" * 66 + "]" * 66),
        ("a.toml", "a = " + "[" * 900_000),
        ("a.toml", "a" + ".a" * 400_000 + " = 1"),
        ("a.toml", "b = {c = 1, a" + ".a" * 400_000 + " = 1}"),
    ],
)
def test_deep_nesting_is_refused_quickly(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match="nested more than 64 levels deep"):
        values_of(name, text)


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.toml"])
def test_a_byte_order_mark_is_accepted_and_other_encodings_are_not(name: str) -> None:
    text = "" if name == "a.toml" else "{}"
    assert values_of(name, b"\xef\xbb\xbf" + text.encode()) == {}
    with pytest.raises(ConfigError, match=rf"{name}: not UTF-8 text"):
        values_of(name, b"\xff\xfe{}")


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null"])
def test_an_empty_yaml_file_has_no_settings(text: str) -> None:
    assert values_of("a.yaml", text) == {}


def test_an_empty_toml_file_has_no_settings() -> None:
    assert values_of("a.toml", "# nothing\n") == {}


def test_yaml_words_other_than_true_and_false_stay_strings() -> None:
    text = "[no, yes, on, off, y, n, NO, True, true, false, ~, null, 'true', !!str 5]"
    assert values_of("a.yaml", f"a: {text}") == {
        "a": ["no", "yes", "on", "off", "y", "n", "NO", "True", True, False, None, None, "true", "5"]
    }


def test_yaml_numbers_follow_yaml_1_2() -> None:
    text = "[1, -2, 1.5, 1e3, .5, 010, 1_000, 1:30, 0x1f, 2020-01-01, .inf]"
    assert values_of("a.yaml", f"a: {text}") == {
        "a": [1, -2, 1.5, 1000.0, 0.5, "010", "1_000", "1:30", "0x1f", "2020-01-01", ".inf"]
    }


def test_a_yaml_merge_key_is_an_ordinary_key() -> None:
    assert values_of("a.yaml", "'<<': {a: 1}") == values_of("a.yaml", "<<: {a: 1}") == {"<<": {"a": 1}}


@pytest.mark.parametrize(
    ("name", "text", "path", "line"),
    [
        ("a.json", '{\n"a": [\n1,\n{"b":\n2}]}', ("a", 1, "b"), 4),
        ("a.json", '{"s": "}\\"]{",\n\n"a": {"x": 1}, "c": 2}', ("c",), 3),
        ("a.yaml", "a:\n- 1\n- b: 2\n  c:\n    d: 3\n", ("a", 1, "c", "d"), 5),
        ("a.yaml", "a:\n- 1\n- 2\n", ("a", 1), 3),
        ("a.toml", "x = 1\n[a.b]\n\nc = 2\n", ("a", "b", "c"), 4),
        ("a.toml", "[[a]]\nb = 1\n[[a]]\nb = 2\n[a.t]\nc = 1", ("a", 1, "b"), 4),
        ("a.toml", "[[a]]\nb = 1\n[[a]]\nb = 2\n[a.t]\nc = 1", ("a", 1, "t", "c"), 6),
        ("a.toml", 'm = """\nx = 1\n"""\nx = 2', ("x",), 4),
        ("a.toml", 'a."b c".d = 1', ("a", "b c"), 1),
    ],
)
def test_the_line_of_a_key_is_known(name: str, text: str, path: KeyPath, line: int) -> None:
    assert parse_config(name, text.encode()).lines()[path] == line


def test_an_error_inside_a_toml_array_has_the_line_of_the_array(project: Project) -> None:
    message = project.error_of("a.toml", "[notes]\n\npaths = [\n  1,\n]\n")
    assert message == "a.toml:3: notes.paths[0]: found 1 (integer), allowed: non-empty string"


@settings(database=None, max_examples=300)
@given(st.sampled_from(["a.json", "a.yaml", "a.toml"]), st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_parsed_or_raise_a_config_error(name: str, content: bytes) -> None:
    try:
        document = parse_config(name, content)
    except ConfigError:
        return
    document.lines()


@settings(database=None, max_examples=300)
@given(st.text(alphabet='{}[]",:\\\n ab1', max_size=60))
def test_the_scanner_of_json_lines_never_fails(text: str) -> None:
    try:
        parse_config("a.json", text.encode())
    except ConfigError:
        return
    json_lines(text)
