"""TOML that is read without the library means what the library says that it means."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.trace.toml_text import NotToml, read_plain, read_toml

PLAIN = """
# A comment, with "marks" and = signs
'$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"

[[source]]
  pattern = 'src/**/*.rs'
type="test"

[[source]]
pattern = "ü # no comment"

[report.html]
enabled = true
[report.json]
enabled = false
"""
PIECES = [
    "[a]", "[[a]]", "[a.b]", "[b]", "[a.b.c]", "[[a.b]]", "[ a ]", "[]", "[a", "[[a]", "[[a]]]", "[a.]", "[a] # c",
    "a = 'x'", 'a="y"', "b = true", "b = false", "'a' = 'z'", '"b" = "é"', "a.b = 'x'", "a = 1", "a = True", "= 'x'", "a =",
    "a = 'it's'", "a = '''x'''", 'a = """', 'a = ""', 'a = "\\n"', "a = '\\'", 'a = "x" # c', "a = {b = 'c'}", "a = ['x']",
    "# c", "#\x00", "\t", "a = 'x'\r", "a\u00a0= 'x'", "-_1 = 'x'", "ä = 'x'", "x", '"a=b" = "c"', "'' = ''", "",
]  # fmt: skip


def test_a_usual_configuration_is_read_without_the_library() -> None:
    assert read_plain(PLAIN) == tomllib.loads(PLAIN)


@given(st.lists(st.sampled_from(PIECES) | st.text("ab=[]'\".# \\\té", max_size=8), max_size=8).map("\n".join))
def test_what_is_read_without_the_library_is_what_the_library_reads(text: str) -> None:
    plain = read_plain(text)
    if plain is not None:
        assert plain == tomllib.loads(text)
        assert list(plain) == list(tomllib.loads(text))


def test_a_key_of_too_many_parts_is_refused_also_where_all_else_is_plain() -> None:
    with pytest.raises(NotToml, match="more than 1000 parts"):
        read_toml("[" + ".".join(["a"] * 1002) + "]")
