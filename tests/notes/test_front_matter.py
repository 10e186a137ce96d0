"""Front matter is read safely and edited without changing other lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.config.yaml_text import parse_yaml
from contextive.errors import InvalidRequest, ParseError
from contextive.notes.front_matter import (
    _simple_values,
    parse_front_matter,
    text_value,
    text_values,
    time_value,
    write_values,
)

HEAD = '---\n# mine\ntitle: "Old"\ntags:\n  - a\n  - b\nother: {x: 1}\n---\n\n'


def test_front_matter_includes_the_blank_lines_after_it() -> None:
    front = parse_front_matter(HEAD + "# Text\n")
    assert front.length == len(HEAD)
    assert front.values == {"title": "Old", "tags": ["a", "b"], "other": {"x": 1}}


@pytest.mark.parametrize(
    "text", ["", "# Text", "---", "---\ntitle: x\n", "text\n---\ntitle: x\n---\n", "----\na: b\n---\n"]
)
def test_a_text_without_a_closed_block_at_its_start_has_no_front_matter(text: str) -> None:
    assert parse_front_matter(text).length == 0


##= docs/spec/notes.md#front-matter
##% Front matter that cannot be parsed MUST NOT prevent its note from being shown.
@pytest.mark.parametrize(
    "block",
    [
        "a: !!python/object/apply:os.system [id]",
        "a: &x [1]\nb: *x",
        "a: 1\na: 2",
        "a: [",
        "- just\n- a list",
        "[" * 2000,
        "x: " + "[" * 500 + "]" * 500,
    ],
)
def test_invalid_or_unsafe_yaml_is_a_problem_not_an_error(block: str) -> None:
    front = parse_front_matter(f"---\n{block}\n---\nbody")
    assert front.problem
    assert front.values == {}
    assert front.length == len(f"---\n{block}\n---\n")


def test_too_many_keys_are_refused() -> None:
    block = "\n".join(f"k{number}: [{number}]" for number in range(30_000))
    front = parse_front_matter(f"---\n{block}\n---\n")
    assert front.values == {}


def test_values_are_read_as_strings_and_times() -> None:
    values = {
        "n": 5,
        "yes": True,
        "list": ["a", 2, None, "a"],
        "words": "x, y",
        "at": "2024-01-02T03:04:05Z",
        "day": "2024-01-02",
    }
    assert text_value(values, "n") == "5"
    assert text_value(values, "yes") == "true"
    assert text_values(values, "list") == ("a", "2")
    assert text_values(values, "words") == ("x", "y")
    assert time_value(values, "at") == 1704164645.0
    assert time_value(values, "day") == 1704153600.0
    assert time_value(values, "n") is None


_WORD = st.text(st.sampled_from("abcXYZ 019._-/'()+&:#,[]\"\\\ré\u2028"), max_size=8)
_LINES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["title", "tags", "x", "true"]), st.sampled_from([": ", ":", ":  "]), _WORD).map(
            "".join
        ),
        st.tuples(st.sampled_from(["- ", "  - ", "   -  "]), _WORD).map("".join),
        _WORD.map(lambda word: f"tags: [{word}, b]"),
        _WORD.map(lambda word: f'title: "{word}"'),
        st.sampled_from(["created_at: 2024-01-01T10:00:00Z", "created_at: 2024-01-01", "created_at: 2024-01-01T10:"]),
    ),
    max_size=5,
)


@given(_LINES)
def test_the_fast_path_for_simple_blocks_equals_the_parser(lines: list[str]) -> None:
    block = "".join(f"{line}\n" for line in lines)
    fast = _simple_values(block)
    if fast is not None:
        try:
            parsed = parse_yaml(block)[0]
        except ParseError as error:
            raise AssertionError(f"the parser refuses {block!r}: {error}") from None
        assert fast == (parsed or {})


##= docs/spec/notes.md#front-matter
##% The keys `title`, `slug`, `tags`, `aliases` and `created_at` of the front matter MUST be read, and all other keys
##% are kept unchanged.
def test_setting_a_key_does_not_change_other_lines() -> None:
    assert write_values(HEAD, {"title": "New"}) == HEAD.replace('"Old"', '"New"')
    assert write_values(HEAD, {"tags": ["c d", "e"]}) == HEAD.replace("tags:\n  - a\n  - b\n", "tags: [c d, e]\n")
    assert write_values(HEAD, {"slug": "s"}) == HEAD.replace("---\n\n", "slug: s\n---\n\n")
    assert write_values("", {"title": "New"}) == "---\ntitle: New\n---\n\n"


@given(st.text(min_size=1).map(lambda text: text_value({"t": text}, "t")).filter(bool))
def test_every_written_title_can_be_read_again(title: str) -> None:
    for head in ("", HEAD, "---\r\ntitle: 'x'\r\n---\r\n"):
        written = write_values(
            head, {"title": title, "tags": [title, f"{title} b"]} if "," not in title else {"title": title}
        )
        assert text_value(parse_front_matter(written).values, "title") == title


def test_front_matter_that_cannot_be_edited_by_line_is_refused() -> None:
    for head in ("---\n{title: x}\n---\n", "---\na: [\n---\n"):
        with pytest.raises(InvalidRequest):
            write_values(head, {"title": "y"})


def test_a_title_that_looks_like_another_type_is_quoted() -> None:
    for title in ("true", "12", "a: b", "# x", "[a]", "- b", "null", "2024-01-01 # x"):
        assert text_value(parse_front_matter(write_values("", {"title": title})).values, "title") == title
    assert json.dumps("a: b") in write_values("", {"title": "a: b"})


TOML = '+++\n# mine\ntitle = "Old"\ntags = [\n  "a",\n  "b",\n]\ndate = 2024-01-02T03:04:05Z\n\n[extra]\nx = 1\n+++\n\n'


##= docs/spec/notes.md#front-matter
##% Front matter MUST be read as YAML between `---` lines and as TOML between `+++` lines.
def test_front_matter_between_plus_signs_is_toml() -> None:
    front = parse_front_matter(TOML + "# Text\n")
    assert front.length == len(TOML)
    assert front.is_toml
    assert text_value(front.values, "title") == "Old"
    assert text_values(front.values, "tags") == ("a", "b")
    assert time_value(front.values, "date") == 1704164645.0
    assert front.values["extra"] == {"x": 1}


@pytest.mark.parametrize("text", ["+++", "+++\nx = 1\n", "+++\nx = 1\n---\n", "+++ b/file\nx\n+++\n", "++++\na\n+++\n"])
def test_a_text_without_a_closed_toml_block_has_no_front_matter(text: str) -> None:
    assert parse_front_matter(text).length == 0


@pytest.mark.parametrize(
    "block", ["a: b", "a = 1\na = 2", "a = [", "[" * 500, "a = 2024-99-99", "=", "a" + ".a" * 500 + " = 1"]
)
def test_invalid_toml_is_a_problem_not_an_error(block: str) -> None:
    front = parse_front_matter(f"+++\n{block}\n+++\nbody")
    assert front.problem
    assert front.values == {}
    assert front.length == len(f"+++\n{block}\n+++\n")


def test_setting_a_toml_key_does_not_change_other_lines() -> None:
    assert write_values(TOML, {"title": "New"}) == TOML.replace('"Old"', '"New"')
    assert write_values(TOML, {"tags": ["c"]}) == TOML.replace('[\n  "a",\n  "b",\n]', '["c"]')
    assert write_values(TOML, {"slug": "s"}) == TOML.replace("\n\n[extra]", '\nslug = "s"\n\n[extra]')
    assert write_values("+++\r\n+++\r\n", {"title": "N"}) == '+++\r\ntitle = "N"\r\n+++\r\n'
    assert write_values('+++\n"title" = "x" # mine\n+++\n', {"title": "y"}) == '+++\n"title" = "y" # mine\n+++\n'
    with pytest.raises(InvalidRequest, match="cannot be changed"):
        write_values("+++\ntitle = [\n+++\n", {"title": "y"})


@given(st.text(min_size=1).map(lambda text: text_value({"t": text}, "t")).filter(bool))
def test_every_title_written_to_toml_can_be_read_again(title: str) -> None:
    written = write_values(TOML, {"title": title})
    assert text_value(parse_front_matter(written).values, "title") == title
