from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextive.workspace.discovery import discover
from contextive.workspace.ignore import parse_rules
from tests.workspace.repositories import git, init, write

NAMES = ["a", "b", "ab", "a.log", "b.txt", "x y", "é", "[a]", "#c", "!d", "keep"]
PIECES = [
    "a", "b", "ab", "keep", "*.log", "*.txt", "*", "**", "?", "/", "/**", "**/", "/*/", "[ab]", "[!a]", "[^b]", "[a-b]",
    "[[:alpha:]]", "[a", "\\", "\\*", "\\[", " ", "é", "x y", "#", "!", "-", "]", "***",
]  # fmt: skip
folders = st.lists(st.sampled_from(["a", "b", "ab", "keep"]), max_size=3).map("/".join)
files = st.lists(st.tuples(folders, st.sampled_from(NAMES)), min_size=1, max_size=14)
pattern = st.tuples(st.sampled_from(["", "", "", "!"]), st.lists(st.sampled_from(PIECES), min_size=1, max_size=4)).map(
    lambda parts: parts[0] + "".join(parts[1])
)
ignore_file = st.lists(pattern, max_size=5).map("\n".join)
ignore_files = st.dictionaries(folders, ignore_file, max_size=3)


##= docs/spec/knowledge.md#indexed-files
##% Files that git or `.contextiveignore` ignores MUST NOT be indexed.
@settings(max_examples=40)
@given(tree=files, rules=ignore_files, excluded=ignore_file)
def test_discovery_finds_exactly_the_files_that_git_does_not_ignore(
    tree: list[tuple[str, str]], rules: dict[str, str], excluded: str
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = init(Path(directory).resolve())
        for folder, name in tree:
            target = root / folder / name
            if all(not above.is_file() for above in target.parents if above != root) and not target.is_dir():
                write(root, {f"{folder}/{name}".lstrip("/"): ""})
        for folder, text in rules.items():
            if (root / folder).is_dir():
                (root / folder / ".gitignore").write_text(text, encoding="utf-8")
        (root / ".git/info").mkdir(exist_ok=True)
        (root / ".git/info/exclude").write_text(excluded, encoding="utf-8")
        expected = {name for name in git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0") if name}
        assert {file.path for file in discover(root).files} == expected


@pytest.mark.parametrize(
    ("rule", "path", "ignored"),
    [
        ("build", "build", True),
        ("build/", "build", None),
        ("/a", "x/a", None),
        ("a/b", "x/a/b", None),
        ("**/b", "x/a/b", True),
        ("a/**", "a/x/y", True),
        ("a/**/b", "a/b", True),
        ("!a", "a", False),
        ("\\!a", "!a", True),
        ("\\#a", "#a", True),
        ("# a", "# a", None),
        ("a\\ ", "a ", True),
        ("a  ", "a", True),
        ("a\\", "a", None),
        ("[", "[", None),
        ("*.PY", "a.py", None),
        ("??", "é", True),
    ],
)
def test_rules_match_as_in_git(rule: str, path: str, ignored: bool | None) -> None:
    rules = parse_rules(rule.encode())
    name = path.rpartition("/")[2]
    assert (rules.verdict(path.encode(), name.encode(), False) if rules else None) is ignored


def test_a_byte_order_mark_and_windows_line_ends_are_not_part_of_a_rule() -> None:
    rules = parse_rules(b"\xef\xbb\xbfa\r\nb\r\n")
    assert rules is not None
    assert rules.verdict(b"a", b"a", False) is True
    assert rules.verdict(b"b", b"b", False) is True


@pytest.mark.parametrize(
    "rule", [b"**/a*" * 60 + b"b", b"*a" * 200 + b"b", b"/".join([b"**/*a*a*"] * 40), b"[a-z]*" * 100 + b"!"]
)
def test_no_rule_is_slow(rule: bytes) -> None:
    rules = parse_rules(rule)
    path = b"/".join([b"a" * 60] * 60)
    start = time.process_time()
    if rules is not None:
        rules.verdict(path, b"a" * 60, False)
    assert time.process_time() - start < 1


def test_an_ignore_file_without_rules_is_none() -> None:
    assert parse_rules(b"\n# only a comment\n\n") is None
