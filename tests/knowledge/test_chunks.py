"""How files are split into chunks."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextive.knowledge.artifact import ArtifactType
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.chunking import chunk_text
from contextive.knowledge.extraction import extract_names
from contextive.knowledge.languages import language_of
from contextive.knowledge.windows import Window


def chunks_of(path: str, text: str, artifact_type: ArtifactType = "code") -> tuple[Chunk, ...]:
    language = language_of(path)
    names = extract_names(path, text, language, artifact_type)
    return chunk_text(path, text, language, artifact_type, names.symbols)


def titles_of(path: str, text: str) -> list[str]:
    return [chunk.title for chunk in chunks_of(path, text)]


_FRAGMENTS = st.sampled_from(
    [
        "def f(a):\n    return g(a)\n",
        "class A:\n    '''Doc.'''\n",
        "    def m(self):\n        pass\n",
        "# remark\n",
        "@wrapped\n",
        "import os\n",
        "x = 1\n",
        "x = [" + "1, " * 700 + "]\n",
        "/* note\n more */\n",
        "function f() { return 1 }\n",
        "class K { m() {} }\n",
        "impl S {\n    fn a() {}\n}\n",
        "struct S { int a; };\n",
        "}\n",
        "{\n",
        "\n",
        "  \n",
        "## Heading\n",
        "# \n",
        "Title\n=====\n",
        "====\nOver\n====\n",
        ".. _label:\n",
        "== Deep\n",
        "----\n",
        "```\n",
        "---\n",
        "Some words of prose. " * 30 + "\n",
        "word " * 400 + "\n",
        "- item\n",
        "CREATE TABLE t (a int);\n",
        "a\r\nb\r\n",
        "\0\n",
        "é" * 300 + "\n",
        "no newline",
    ]
)
_TEXTS = st.lists(_FRAGMENTS, max_size=40).map("".join) | st.text(max_size=3_000)
_PATHS = st.sampled_from(
    [
        "s/a.py",
        "a.ts",
        "a.tsx",
        "a.js",
        "a.go",
        "a.rs",
        "A.java",
        "a.c",
        "a.cpp",
        "d/a.md",
        "d/a.rst",
        "d/a.adoc",
        "a.sql",
        "a.proto",
        "a.yaml",
        "a",
    ]
)


##= docs/spec/knowledge.md#chunks-and-symbols
##% Every non-blank line of a file MUST be in a chunk, except for front matter.
@settings(max_examples=300, deadline=None)
@given(_PATHS, _TEXTS)
def test_every_line_is_in_a_chunk_and_chunks_have_the_text_of_their_lines(path: str, text: str) -> None:
    chunks = chunks_of(path, text)
    lines = text.replace("\r\n", "\n").split("\n")
    covered: set[int] = set()
    for chunk in chunks:
        assert 1 <= chunk.line_start <= chunk.line_end <= len(lines)
        own = "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
        if chunk.kind == "window":
            assert chunk.text in own
        else:
            assert chunk.text == own.rstrip()
        assert chunk.text.strip()
        assert len(chunk.text) <= 1_600
        covered.update(range(chunk.line_start, chunk.line_end + 1))
    front = front_matter_lines(lines) if path.endswith(".md") else 0
    missing = [
        number for number, line in enumerate(lines, 1) if number > front and line.strip() and number not in covered
    ]
    assert missing == []
    assert [chunk.sequence for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.line_start for chunk in chunks] == sorted(chunk.line_start for chunk in chunks)


def front_matter_lines(lines: list[str]) -> int:
    if lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "...")), 0)


@settings(max_examples=100, deadline=None)
@given(_PATHS, _TEXTS)
def test_every_symbol_starts_in_a_chunk_and_chunking_is_deterministic(path: str, text: str) -> None:
    language = language_of(path)
    names = extract_names(path, text, language, "code")
    chunks = chunk_text(path, text, language, "code", names.symbols)
    assert {symbol for chunk in chunks for symbol in chunk.symbols} == {symbol.id for symbol in names.symbols}
    assert extract_names(path, text, language, "code") == names
    assert chunk_text(path, text, language, "code", names.symbols) == chunks


@pytest.mark.parametrize("path", ["a.py", "a.md", "a.sql", "a.txt"])
@pytest.mark.parametrize("text", ["", "\n", " \t\r\n\n"])
def test_a_file_with_only_white_space_has_no_chunks(path: str, text: str) -> None:
    assert chunks_of(path, text) == ()


##= docs/spec/knowledge.md#chunks-and-symbols
##% The id of a chunk MUST be its path and its number, separated by two colons.
def test_ids_count_from_zero_and_digests_include_path_title_and_text() -> None:
    (chunk,) = chunks_of("d/a.md", "# Title\n\nText.\n")
    assert chunk.chunk_id == "d/a.md::0"
    assert chunk.digest == hashlib.sha256(b"d/a.md:0:Title\0# Title\n\nText.").hexdigest()


##= docs/spec/knowledge.md#chunks-and-symbols
##% Prose MUST be split at headings, code at symbols, and everything else into overlapping windows.
def test_markdown_is_split_at_headings_and_titled_with_all_headings_above() -> None:
    text = "Before.\n\n# Guide\n\nHello.\n\n## Install `it`\n\nDo.\n\nDeep\n----\n\nMore.\n\n# End\n\nBye.\n"
    assert titles_of("docs/guide.md", text) == ["Guide", "Guide", "Guide > Install it", "Guide > Deep", "Guide > End"]


def test_restructured_text_is_split_at_headings_including_their_labels() -> None:
    text = (
        ".. _guide:\n\n=====\nGuide\n=====\n\nHello.\n\n.. _install:\n\nInstall :class:`it <x.It>`\n-----\n\nDo.\n\n"
        "Deep\n~~~~\n\n::\n\n    No\n    --\n\n- item\n---\n\nEnd\n---\n\nOne line\nof prose\n--------\n\n----\n\nBye.\n"
    )
    chunks = chunks_of("docs/guide.rst", text)
    assert [(chunk.title, chunk.line_start) for chunk in chunks] == [
        ("Guide", 1),
        ("Guide > Install it", 9),
        ("Guide > Install it > Deep", 16),
        ("Guide > End", 27),
    ]


def test_asciidoc_is_split_at_headings_outside_of_blocks() -> None:
    text = "= Guide\n\nHello.\n\n== Install `it`\n\n----\n== no heading\n----\n\nDo.\n\n=== Deep ===\n\nMore.\n"
    assert titles_of("docs/guide.adoc", text) == ["Guide", "Guide > Install it", "Guide > Install it > Deep"]


def test_an_image_in_a_heading_is_replaced_by_its_alt_text() -> None:
    text = '# <a href="x"><img alt="chi" src="logo.svg" /></a>\n\nHello.\n\n## A List<String> <br>\n\nMore.\n'
    assert titles_of("README.md", text) == ["chi", "chi > A List<String>"]


def test_a_document_without_a_title_is_titled_with_its_file_name() -> None:
    assert titles_of("docs/notes.md", "## One\n\nA.\n") == ["notes > One"]


def test_front_matter_provides_the_title_and_is_not_in_a_chunk() -> None:
    (chunk,) = chunks_of("d/a.md", "---\ntitle: 'My page'\ntags: [x]\n---\n\n## One\n\nText.\n")
    assert (chunk.title, chunk.line_start, chunk.line_end) == ("My page > One", 6, 8)
    assert "tags" not in chunk.text


def test_headings_in_code_blocks_and_comments_are_ignored() -> None:
    text = "# T\n\n```sh\n# no heading\n~~~\n```\n\n<!--\n# nor this\n-->\n\n    # nor code\n\n- item\n---\n"
    assert titles_of("d/a.md", text) == ["T"]


def test_a_heading_without_text_joins_the_next_section() -> None:
    chunks = chunks_of("d/a.md", "# T\n\n## Empty\n\n## Full\n\nText.\n\n## Last\n")
    assert [(chunk.title, chunk.line_start, chunk.line_end) for chunk in chunks] == [
        ("T > Full", 1, 7),
        ("T > Last", 9, 9),
    ]


def test_a_long_section_is_split_between_paragraphs() -> None:
    paragraph = "Some words of prose. " * 20
    chunks = chunks_of("d/a.md", "# T\n\n" + "\n\n".join([paragraph] * 10))
    assert len(chunks) > 2
    assert {chunk.title for chunk in chunks} == {"T"}
    assert all(chunk.text.endswith("prose.") and chunk.text.startswith(("# T", "Some")) for chunk in chunks)


def test_a_fenced_code_block_is_not_split_if_there_is_another_place_to_split() -> None:
    fence = "```\n" + "code\n\n" * 100 + "```"
    chunks = chunks_of("d/a.md", "# T\n\n" + "Prose. " * 150 + "\n\n" + fence + "\n")
    assert [chunk.text.count("```") for chunk in chunks] == [0, 2]


def test_a_paragraph_on_one_long_line_is_split_at_spaces() -> None:
    chunks = chunks_of("d/a.md", "# T\n\n" + "word " * 1_000)
    assert {chunk.kind for chunk in chunks[1:]} == {"window"}
    assert all(chunk.text.startswith("word") or chunk.text.startswith(("ord", "rd", "d")) for chunk in chunks[1:])
    assert all(chunk.text.endswith("word") and chunk.line_start == 3 for chunk in chunks[1:])


def test_code_is_split_by_symbol_including_comments_above_it() -> None:
    body = "    x = 1\n" * 30
    text = f"'''Doc.'''\nimport os\n\nLIMIT = {'1' * 60}\n\n# why\ndef a():\n{body}\n\ndef b():\n{body}"
    chunks = chunks_of("pkg/tool.py", text)
    assert [(chunk.title, chunk.line_start) for chunk in chunks] == [("tool", 1), ("a (tool)", 6), ("b (tool)", 40)]
    assert [chunk.symbols for chunk in chunks] == [(), ("pkg/tool.py::a",), ("pkg/tool.py::b",)]


def test_a_comment_block_above_a_symbol_stays_with_it() -> None:
    body = "  x();\n" * 40
    text = f"int top = 1;\nint top2 = 2; /* {'a' * 60} */\n\n/*\nWhat it does\n*/\nint f() {{\n{body}}}\n"
    assert [(chunk.title, chunk.line_start) for chunk in chunks_of("a.c", text)] == [("a", 1), ("f (a)", 4)]


def test_a_large_class_is_split_into_its_header_and_methods() -> None:
    body = "        x = 1\n" * 40
    text = f"class A:\n    '''{'Doc. ' * 30}'''\n\n    def m(self):\n{body}\n    def n(self):\n{body}\n    def o(self):\n{body}"
    assert titles_of("a.py", text) == ["A (a)", "A.m (a)", "A.n (a)", "A.o (a)"]


def test_a_small_class_is_one_chunk_with_its_methods() -> None:
    (chunk,) = chunks_of("a.py", "class A:\n    def m(self): pass\n    def n(self): pass\n")
    assert chunk.symbols == ("a.py::A", "a.py::A.m", "a.py::A.n")


def test_very_short_symbols_share_a_chunk_whose_title_lists_them() -> None:
    assert titles_of("a.py", "def a(): pass\n\n\ndef b(): pass\n\n\ndef c(): pass\n") == ["a, b, c (a)"]


def test_opening_and_closing_lines_of_a_block_join_the_symbols_inside_it() -> None:
    body = "        x();\n" * 30
    chunks = chunks_of("a.rs", f"impl S {{\n    fn a() {{\n{body}    }}\n\n    fn b() {{\n{body}    }}\n}}\n")
    assert [chunk.title for chunk in chunks] == ["S.a (a)", "S.b (a)"]
    assert chunks[0].text.startswith("impl S {")
    assert chunks[1].text.endswith("\n}")


def test_a_long_function_is_split_and_every_chunk_has_its_name() -> None:
    chunks = chunks_of("a.py", "def f():\n" + "    call(with_some, arguments)\n" * 200)
    assert len(chunks) > 3
    assert {chunk.title for chunk in chunks} == {"f (a)"}


def test_generic_file_names_are_shown_with_their_folder() -> None:
    assert titles_of("pkg/__init__.py", "x = 1\n") == ["pkg/__init__"]


def test_sql_is_split_by_paragraph_and_titled_with_its_declarations() -> None:
    table = "CREATE TABLE IF NOT EXISTS {} (\n" + "  a_column_name integer not null,\n" * 25 + "  b int\n);\n"
    text = "\n".join(table.format(name) for name in ("orders", "items", "people"))
    assert titles_of("db/schema.sql", text) == ["orders (schema)", "items (schema)", "people (schema)"]


def test_other_files_are_split_into_overlapping_windows() -> None:
    text = "".join(f"key{number:04}: value\n" for number in range(400))
    chunks = chunks_of("a.yaml", text)
    assert {chunk.kind for chunk in chunks} == {"window"}
    assert {chunk.title for chunk in chunks} == {"a.yaml"}
    for before, after in pairwise(chunks):
        assert before.line_start < after.line_start <= before.line_end
        assert len(before.text) <= 1_000
        assert before.text.startswith("key")


@pytest.mark.parametrize("path", ["a.js", "a.md", "a.sql", "a.json"])
def test_a_line_of_two_megabytes_is_split_into_windows(path: str) -> None:
    chunks = chunks_of(path, "var a=b(c);" * 190_000)
    assert all(chunk.kind == "window" and len(chunk.text) <= 1_000 for chunk in chunks)
    assert 2_000 < len(chunks) < 3_500


def test_the_size_of_windows_is_configurable() -> None:
    text = "\n".join(f"line {number} of some text" for number in range(200)) + "\n"
    wide = chunk_text("a.txt", text, None, "other", (), Window(1000, 200))
    narrow = chunk_text("a.txt", text, None, "other", (), Window(300, 50))
    assert len(narrow) > len(wide) > 1
    assert max(len(chunk.text) for chunk in narrow) <= 300
    long_line = chunk_text("a.txt", "word " * 500, None, "other", (), Window(100, 100))
    assert all(len(chunk.text) <= 100 for chunk in long_line)
