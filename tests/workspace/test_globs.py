from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextive.errors import ConfigError
from contextive.workspace.globs import Glob, walk_by_ending

TREE = (
    "a.rs",
    "b.md",
    ".hidden.rs",
    ".cargo/config.rs",
    "src/lib.rs",
    "src/main.rs",
    "src/a/deep.rs",
    "src/a/b/deeper.rs",
    "src/a/b/c/deepest.rs",
    "src/[x].rs",
    "src/star*.rs",
    "tests/lib.rs",
    "docs/a-b.md",
    ".git/objects/x.rs",
    ".svn/x.rs",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    _write(root, *TREE)
    return root


def _write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")


def walk(root: Path, pattern: str) -> list[str]:
    return list(Glob(pattern).walk(str(root)))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a.rs", ["a.rs"]),
        ("./a.rs", ["a.rs"]),
        ("src//lib.rs", ["src/lib.rs"]),
        ("src/lib.rs", ["src/lib.rs"]),
        ("src/../a.rs", ["src/../a.rs"]),
        ("nothing.rs", []),
        ("src", []),
        ("", []),
        ("*.rs", [".hidden.rs", "a.rs"]),
        ("?.rs", ["a.rs"]),
        ("[ab].*", ["a.rs", "b.md"]),
        ("[!a].*", ["b.md"]),
        ("[b-z].md", ["b.md"]),
        ("[z-b].md", []),
        ("[!z-b].md", ["b.md"]),
        ("docs/a[-]b.md", ["docs/a-b.md"]),
        ("docs/a[a--]b.md", []),
        ("src/[[]x].rs", ["src/[x].rs"]),
        ("src/[]]x].rs", []),
        ("src/star[*].rs", ["src/star*.rs"]),
        ("src/*.rs", ["src/[x].rs", "src/lib.rs", "src/main.rs", "src/star*.rs"]),
        ("*/lib.rs", ["src/lib.rs", "tests/lib.rs"]),
        ("src/*/*.rs", ["src/a/deep.rs"]),
        ("src/**/d*.rs", ["src/a/b/c/deepest.rs", "src/a/b/deeper.rs", "src/a/deep.rs"]),
        ("**/lib.rs", ["src/lib.rs", "tests/lib.rs"]),
        ("**/**/lib.rs", ["src/lib.rs", "tests/lib.rs"]),
        ("**/a/**/*.rs", ["src/a/b/c/deepest.rs", "src/a/b/deeper.rs", "src/a/deep.rs"]),
        ("**/b/*.rs", ["src/a/b/deeper.rs"]),
        ("src/a/**", ["src/a/b/c/deepest.rs", "src/a/b/deeper.rs", "src/a/deep.rs"]),
        ("**/*.md", ["b.md", "docs/a-b.md"]),
        ("**/config.rs", [".cargo/config.rs"]),
        ("**/x.rs", []),
        (".git/objects/*.rs", [".git/objects/x.rs"]),
        ("tests/*.{rs,md}", []),
    ],
)
def test_patterns_match_the_same_files_as_in_duvet(pattern: str, expected: list[str], tree: Path) -> None:
    assert walk(tree, pattern) == expected


def test_an_absolute_pattern_returns_absolute_paths(tree: Path) -> None:
    assert walk(Path("/"), f"{tree}/src/l*.rs") == [f"{tree}/src/lib.rs"]


@pytest.mark.parametrize(
    "pattern", ["src/[ab", "src/[!", "a**/x", "**a", "***", "src/*/../x", "**/..", "x" * 5000, "a\0b", "[]"]
)
def test_an_invalid_pattern_is_a_config_error(pattern: str, tree: Path) -> None:
    with pytest.raises(ConfigError):
        walk(tree, pattern)


@pytest.mark.parametrize(
    ("pattern", "base"),
    [
        ("src/**/*.rs", "src"),
        ("**/*.rs", ""),
        ("a.rs", ""),
        ("../x/*.rs", "../x"),
        ("/etc/**", "/etc"),
        ("/*", "/"),
        ("a/./b//c*/d", "a/b"),
    ],
)
def test_the_walk_starts_before_the_first_wildcard(pattern: str, base: str) -> None:
    assert Glob(pattern).base == base


def test_generated_directories_can_be_left_out_unless_named(tmp_path: Path) -> None:
    _write(tmp_path, "a/x.md", "node_modules/p/x.md", "a/vendor/x.md", "target/x.md")
    assert list(Glob("**/*.md", skip_generated=True).walk(str(tmp_path))) == ["a/x.md"]
    assert list(Glob("a/vendor/*.md", skip_generated=True).walk(str(tmp_path))) == ["a/vendor/x.md"]


# -- hostile patterns --------------------------------------------------------------------------------------------------


def test_a_pattern_with_exponentially_many_matches_is_walked_once(tmp_path: Path) -> None:
    deep = "/".join(["a"] * 40)
    _write(tmp_path, f"{deep}/x.rs")
    started = time.process_time()
    assert walk(tmp_path, "/".join(["**/a"] * 20 + ["**", "*.rs"])) == [f"{deep}/x.rs"]
    assert walk(tmp_path, "/".join(["**/a"] * 50 + ["*.rs"])) == []
    assert time.process_time() - started < 2


def test_a_component_with_many_stars_is_not_slow(tmp_path: Path) -> None:
    _write(tmp_path, "a" * 250)
    started = time.process_time()
    assert walk(tmp_path, "*a" * 100 + "*b") == []
    assert walk(tmp_path, "*a" * 100 + "*") == ["a" * 250]
    assert walk(tmp_path, "*[ab]?" * 50 + "*") == ["a" * 250]
    assert time.process_time() - started < 2


_NAMES = st.text("ab.", min_size=1, max_size=6).filter(lambda name: set(name) != {"."})


@given(_NAMES, st.text("ab.?*", min_size=1, max_size=6).filter(lambda part: "**" not in part and set(part) != {"."}))
@settings(max_examples=300)
def test_a_component_matches_like_a_simple_implementation(name: str, part: str) -> None:
    assert (_component_matches(part, name)) == _simple_match(part, name)


def _component_matches(part: str, name: str) -> bool:
    component = Glob(part)._components[0]
    assert component is not None
    return component == name if isinstance(component, str) else component.match(name) is not None


def _simple_match(part: str, name: str) -> bool:
    if not part:
        return not name
    if part[0] == "*":
        return any(_simple_match(part[1:], name[skipped:]) for skipped in range(len(name) + 1))
    return bool(name) and part[0] in ("?", name[0]) and _simple_match(part[1:], name[1:])


# -- hostile trees -----------------------------------------------------------------------------------------------------


def test_circular_links_are_not_followed_endlessly(tmp_path: Path) -> None:
    _write(tmp_path, "src/x.rs")
    (tmp_path / "src/loop").symlink_to(tmp_path / "src")
    (tmp_path / "src/self.rs").symlink_to(tmp_path / "src/self.rs")
    (tmp_path / "src/one").symlink_to("two")
    (tmp_path / "src/two").symlink_to("one")
    assert walk(tmp_path, "**/*.rs") == ["src/x.rs"]
    assert walk(tmp_path, "src/*/*.rs") == ["src/loop/x.rs"]
    assert walk(tmp_path, "src/loop/**/*.rs") == ["src/loop/x.rs"]
    assert walk(tmp_path, "**/loop/x.rs") == []


def test_a_link_to_a_file_is_found(tmp_path: Path) -> None:
    _write(tmp_path, "real.rs")
    (tmp_path / "link.rs").symlink_to("real.rs")
    (tmp_path / "broken.rs").symlink_to("nowhere")
    assert walk(tmp_path, "*.rs") == ["link.rs", "real.rs"]


def test_a_linked_directory_is_entered_only_if_allowed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    _write(outside, "secret.rs")
    project = tmp_path / "project"
    _write(project, "a/x.rs", "real/x.rs")
    (project / "link").symlink_to(outside)
    (project / "near").symlink_to("real")
    found = Glob("*/*.rs").walk(str(project), lambda path: path == "near")
    assert list(found) == ["a/x.rs", "near/x.rs", "real/x.rs"]


def test_pipes_sockets_and_devices_are_not_found(tmp_path: Path) -> None:
    _write(tmp_path, "x.rs")
    os.mkfifo(tmp_path / "pipe.rs")
    (tmp_path / "zero.rs").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.rs"))
        assert walk(tmp_path, "*.rs") == ["x.rs"]
        assert walk(tmp_path, "**/*.rs") == ["x.rs"]
        assert walk(tmp_path, "pipe.rs") == []
        assert list(walk_by_ending(str(tmp_path), {"rs"})) == [("x.rs", "rs")]


def test_the_depth_of_a_walk_is_limited(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(200):
        folder = folder / "d"
        folder.mkdir()
        (folder / "x.rs").write_bytes(b"")
    found = walk(tmp_path, "**/*.rs")
    assert len(found) == 64
    assert len(list(walk_by_ending(str(tmp_path), {"rs"}))) == 64
    assert walk(tmp_path, "/".join(["d"] * 200) + "/*.rs") == ["/".join(["d"] * 200) + "/x.rs"]


def test_unusual_names_are_found(tmp_path: Path) -> None:
    names = ["line\nbreak.rs", "tab\t.rs", "spa ce.rs", "ünïcode.rs", "-rf.rs", 'quote".rs', "back\\slash.rs", "..rs"]
    _write(tmp_path, *names)
    (tmp_path / "not-utf8-\udcff.rs").write_bytes(b"")
    assert sorted(walk(tmp_path, "*.rs")) == sorted([*names, "not-utf8-\udcff.rs"])
    assert walk(tmp_path, "line?break.rs") == ["line\nbreak.rs"]
    assert {path for path, _ in walk_by_ending(str(tmp_path), {"rs"})} == {*names, "not-utf8-\udcff.rs"}


def test_a_directory_that_cannot_be_listed_is_skipped(tmp_path: Path) -> None:
    _write(tmp_path, "open/x.rs", "closed/x.rs")
    (tmp_path / "closed").chmod(0)
    try:
        expected = ["closed/x.rs", "open/x.rs"] if os.access(tmp_path / "closed", os.R_OK) else ["open/x.rs"]
        assert walk(tmp_path, "*/*.rs") == expected
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_a_missing_root_has_no_files(tmp_path: Path) -> None:
    assert walk(tmp_path / "gone", "**/*") == []
    assert list(walk_by_ending(str(tmp_path / "gone"), {"rs"})) == []


def test_a_walk_by_ending_finds_only_the_projects_own_files(tmp_path: Path) -> None:
    _write(
        tmp_path, "a.py", "b.rs", "c.md", "src/d.py", ".venv/e.py", "node_modules/f.py", "src/build/g.py", "noending"
    )
    (tmp_path / "linked").symlink_to("src")
    assert list(walk_by_ending(str(tmp_path), {"py", "rs"})) == [("a.py", "py"), ("b.rs", "rs"), ("src/d.py", "py")]
