"""A bad file affects no other file, and never takes much time."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from contextive.errors import ConfigError
from contextive.ingest.trace_service import TraceView
from tests.ingest.projects import BREW, CONFIG, MILK, Project, citations_of, cite, statuses

SECONDS = 20.0
MIB = 1024 * 1024


@pytest.fixture
def time_limit() -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < SECONDS


def problem_of(view: TraceView, path: str) -> str:
    """The only problem of a file. Other files must not be affected."""
    assert statuses(view)[BREW] == "missing_test"
    found = [problem.message for problem in view.state.problems if problem.location.path == path]
    assert len(found) == 1, view.state.problems
    return found[0]


# -- files that are not text -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("src/latin.rs", b"//= specs/coffee.md#brewing\n//# caf\xe9\n", "not UTF-8"),
        ("src/utf16.rs", cite("specs/coffee.md#brewing", BREW).encode("utf-16"), "not UTF-8"),
        (".duvet/todos/latin.toml", b"target = '\xe9'", "not UTF-8"),
        ("src/long.rs", b"x" * 100 * MIB, "larger than 16 MiB"),
    ],
)
def test_a_file_that_is_not_usable_text_is_reported_and_skipped(
    path: str, data: bytes, reason: str, project: Project
) -> None:
    project.write(path, data)
    message = problem_of(project.service().view(), path)
    assert reason in message
    assert str(project.root) not in message


def test_a_specification_that_is_not_text_is_reported_and_skipped(project: Project) -> None:
    project.write("specs/tea.md", b"# Tea \xe9\n")
    view = project.service().view()
    assert problem_of(view, "src/tea.rs") == "specs/tea.md cannot be read: it is not UTF-8 (byte 6)"


##= docs/spec/trace.md#bad-input
##% Circular links MUST NOT be followed endlessly.
@pytest.mark.usefixtures("time_limit")
def test_pipes_sockets_devices_and_circular_links_do_not_block(project: Project) -> None:
    os.mkfifo(project.root / "src/pipe.rs")
    os.mkfifo(project.root / "specs/pipe.md")
    (project.root / "src/zero.rs").symlink_to("/dev/zero")
    (project.root / "src/environ.rs").symlink_to("/proc/self/environ")
    (project.root / "src/loop").symlink_to(project.root)
    (project.root / "src/self.rs").symlink_to("self.rs")
    project.write(".duvet/config.toml", CONFIG + '[[specification]]\nsource = "specs/pipe.md"\n')
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(project.root / "src/socket.rs"))
        view = project.service().view()
    assert statuses(view)[BREW] == "missing_test"
    assert view.state.specification_problems
    # /proc/self/environ is a regular file: it is found, and refused because it is outside the project.
    assert [problem.location.path for problem in view.state.problems] == ["src/environ.rs", ".duvet/config.toml"]
    assert "PATH=" not in str(view.state.problems)


def test_a_link_out_of_the_project_is_reported_and_not_read(project: Project) -> None:
    outside = project.root.parent / "outside.rs"
    outside.write_text(cite("specs/coffee.md#serving", MILK), encoding="utf-8")
    (project.root / "src/link.rs").symlink_to(outside)
    view = project.service().view()
    assert problem_of(view, "src/link.rs") == "src/link.rs is skipped: it is outside the project"
    assert statuses(view)[MILK] == "not_started"


@pytest.mark.parametrize(
    "target",
    ["/etc/passwd", "../../../etc/passwd", "file:///etc/passwd", "specs/link.md", "specs", "/", "a\0b", "x" * 5000],
)
def test_a_citation_cannot_make_the_server_read_other_files(target: str, project: Project) -> None:
    (project.root / "specs/link.md").symlink_to("/etc/passwd")
    project.write("src/evil.rs", cite(f"{target}#root", "root:x:0:0"))
    view = project.service().view()
    message = problem_of(view, "src/evil.rs")
    assert "root:" not in message
    assert [entry.target.path for entry in view.catalog.specifications.values()] == ["specs/coffee.md", "specs/tea.md"]


@pytest.mark.parametrize("url", ["https://[bad", "http://a\N{FULLWIDTH SOLIDUS}b/", "://", "https://", "x://y z"])
def test_a_citation_of_a_broken_url_is_a_problem_of_that_citation(url: str, project: Project) -> None:
    project.write("src/evil.rs", cite(f"{url}#root", "Some text."))
    assert problem_of(project.service().view(), "src/evil.rs")


# -- large files -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("time_limit")
def test_a_million_lines_are_read(project: Project) -> None:
    filler = "fn x() {}\n" * 1_000_000
    project.write("src/big.rs", filler + cite("specs/coffee.md#serving", MILK))
    view = project.service().view()
    assert citations_of(view, MILK) == ["src/big.rs:1000001"]


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize("line", ["//= x\n", "//=\n", "//# x\n", "//= a=b\n", "//= type=test\n"])
def test_a_hundred_thousand_lines_of_citations_are_read(line: str, project: Project) -> None:
    project.write("src/many.rs", line * 100_000)
    assert statuses(project.service().view())[BREW] == "missing_test"


@pytest.mark.usefixtures("time_limit")
def test_one_line_of_fifteen_megabytes_is_read(project: Project) -> None:
    project.write("src/wide.rs", "//= specs/coffee.md#brewing\n//# " + "x" * 15 * MIB)
    project.write("src/spaces.rs", "//= specs/coffee.md#brewing\n//# a" + " " * 5 * MIB + "b")
    view = project.service().view()
    assert statuses(view)[BREW] == "missing_test"
    assert {problem.code for problem in view.state.problems} == {"quote_not_found"}


@pytest.mark.usefixtures("time_limit")
def test_five_thousand_files_are_checked_quickly(project: Project) -> None:
    for number in range(5000):
        project.write(f"src/f{number % 50}/x{number}.rs", "fn x() {}\n")
    service = project.service()
    first = service.view()
    started = time.process_time()
    assert service.view() is first
    assert time.process_time() - started < 2


# -- hostile specifications --------------------------------------------------------------------------------------------


def _nested_lists() -> str:
    return "# A\n\n" + "\n".join("  " * depth + "- x" for depth in range(2000))


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize(
    "text",
    [
        "# A\n\n" + ">" * 100_000 + " A pot MUST x.\n",
        "# A\n\n" + "> " * 100_000 + "x\n",
        "# " + "[" * 100_000 + "\n\nA pot MUST x.\n",
        "# " + "[a](" * 20_000 + "\n",
        "# " + "*a_ " * 25_000 + "\n",
        "# " + "`" * 100_000 + "a\n",
        "# " + "<a " * 30_000 + "\n",
        "# " + "![" * 50_000 + "\n",
        "# A {" + "#x " * 30_000 + "}\n",
        "# A\n\n" + "[" * 100_000 + "]" * 100_000 + "\n",
        "# A\n\n" + "- " * 50_000 + "x\n",
        "# A\n\n" + "1. " * 30_000 + "x\n",
        _nested_lists(),
        "# A\n\n" + "[a]: x\n" * 50_000,
        "# A\n\n" + "A MUST " * 20_000 + "\n",
        "# A\n\n" + "A MUST b\n" * 20_000,
        "# A\n\n" + "x.y MUST " * 20_000 + "\n",
        "# A\n\n" + "A MUST. " * 20_000 + "\n",
        "# A\n\n" + "." * 100_000 + " MUST\n",
        "# A\n" * 20_000,
        "a\n=\n" * 20_000,
        "# A\n\n" + "<!--" * 30_000 + "\n",
        "# A\n\n" + "```\n" * 50_000,
        "# A\n\n" + "|" * 100_000 + "\n",
        "\r" * 100_000,
    ],
    ids=lambda text: repr(text[:14]),
)
def test_hostile_markdown_is_parsed_quickly(text: str, project: Project) -> None:
    project.write("specs/tea.md", text)
    assert statuses(project.service().view())[BREW] == "missing_test"


@pytest.mark.parametrize("strange", ["\x01", "\x1b[31m", "\x7f", "\x00", "'''", '"', "\\", "\u2028", "\x85", "\ud7ff"])
def test_a_requirement_that_toml_cannot_represent_still_counts(strange: str, project: Project) -> None:
    sentence = f"A pot MUST bear {strange} inside."
    project.write("specs/tea.md", f"# Tea\n\n{sentence} A cup MAY, too.\n")
    project.write("src/tea.rs", cite("specs/tea.md#tea", sentence))
    view = project.service().view()
    assert statuses(view)[sentence] == "missing_test"
    assert statuses(view)["A cup MAY, too."] == "not_started"
    assert view.state.problems == ()


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize(
    "text",
    [
        "1.  A\n\n" + "1." * 100_000 + "\n",
        "\n1.  A\n" * 20_000,
        "1" * 100_000 + ". A\n",
        "1.  A\n\n" + ("1" * 5_000 + ".  B\n\n") * 200,
        "1.  A\n\n" + "0" * 5_000 + "2.  B\n",
        "1.  A\n\n" + ("1" + ".1" * 5_000 + "  B\n\n") * 100,
        "Appendix " * 20_000 + "\n",
        "\x0c\n" * 50_000,
        "1.  A\n\n" + " " * 100_000 + "MUST" + " " * 100_000 + "[Page 1\n",
        "1.  A\n\n" + "A. B. " * 30_000 + "MUST\n",
        "A" + ". " * 50_000 + "\n",
    ],
    ids=lambda text: repr(text[:14]),
)
def test_hostile_plain_text_is_parsed_quickly(text: str, project: Project) -> None:
    project.write("specs/pot.txt", text)
    project.write(".duvet/config.toml", CONFIG + '[[specification]]\nsource = "specs/pot.txt"\nformat = "ietf"\n')
    assert statuses(project.service().view())[BREW] == "missing_test"


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize(
    ("section", "quote"),
    [
        ("a" * 20_000, "a" * 10_000 + "b"),
        ("ab" * 10_000, "ab" * 5_000 + "c"),
        (" ".join(["the pot"] * 5_000), " ".join(["the pot"] * 2_000) + " x"),
    ],
    ids=["one letter", "two letters", "words"],
)
def test_a_quote_that_nearly_matches_everywhere_is_matched_quickly(section: str, quote: str, project: Project) -> None:
    project.write("specs/tea.md", f"# Tea\n\n{section}\n")
    project.write("src/tea.rs", "".join(cite("specs/tea.md#tea", f"{quote}{number}") + "\n" for number in range(10)))
    assert statuses(project.service().view())[BREW] == "missing_test"


# -- hostile requirement files and settings ----------------------------------------------------------------------------

TOML_BOMBS: dict[str, str] = {
    "nested arrays": "a = " + "[" * 100_000,
    "nested tables": "a = " + "{a = " * 50_000,
    "dotted key": "a" + ".a" * 20_000 + " = 1",
    "quoted key": '"a"' + '."a"' * 20_000 + " = 1",
    "spaced key": "a" + " . a" * 20_000 + " = 1",
    "inner key": "x = {a" + ".a" * 20_000 + " = 1}",
    "dotted header": "[a" + ".a" * 20_000 + "]",
    "long number": "a = " + "1" * 100_000,
    "long float": "a = 1." + "1" * 100_000,
    "many keys": "\n".join(f"k{number} = 1" for number in range(100_000)),
    "many tables": "[[spec]]\n" * 50_000,
    "date": "a = 0000-00-00",
    "surrogate": 'a = "\\uD800"',
    "nul": "a = '\0'",
    "open string": 'a = """' + "x" * MIB,
}


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize("bomb", TOML_BOMBS.values(), ids=TOML_BOMBS)
def test_a_hostile_requirement_file_affects_no_other_file(bomb: str, project: Project) -> None:
    project.write(".duvet/todos/bomb.toml", bomb)
    assert problem_of(project.service().view(), ".duvet/todos/bomb.toml")


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize("bomb", TOML_BOMBS.values(), ids=TOML_BOMBS)
def test_a_hostile_configuration_is_a_clear_error(bomb: str, project: Project) -> None:
    project.write(".duvet/config.toml", bomb)
    with pytest.raises(ConfigError) as caught:
        project.service().view()
    assert len(caught.value.full_message()) < 1000


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize(
    "pattern",
    [
        "**/a/" * 20 + "**/*.rs",
        "src/" + "*a" * 500 + "*b",
        "**/" * 1000 + "*.rs",
        "src/" + "[!a]" * 900,
        "src/" + "?" * 3000,
        "/" * 3000,
        "**",
    ],
    ids=lambda pattern: pattern[:14],
)
def test_a_hostile_glob_is_walked_quickly(pattern: str, project: Project) -> None:
    project.write("/".join(["a"] * 40) + "/x.rs", "")
    project.write(".duvet/config.toml", CONFIG + f'[[source]]\npattern = "{pattern}"\ntype = "todo"\n')
    assert BREW in statuses(project.service().view())


@pytest.mark.parametrize("make", [lambda: "x" * 5000, lambda: "src/\\u0000", lambda: "src/[", lambda: "a/*/../b"])
def test_an_invalid_glob_is_a_clear_error(make: Callable[[], str], project: Project) -> None:
    project.write(".duvet/config.toml", CONFIG + f'[[source]]\npattern = "{make()}"\n')
    with pytest.raises(ConfigError):
        project.service().view()


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["line\nbreak.rs", "co:lon:3.rs", "per%cent.rs", "quest?ion.rs", "ha#sh.rs", "sp ace.rs", "\udcff.rs", "ü.rs"],
)
def test_files_with_strange_names_are_read(name: str, project: Project) -> None:
    project.write(f"src/{name}", cite("specs/coffee.md#serving", MILK))
    view = project.service().view()
    assert citations_of(view, MILK) == [f"src/{name}:1"]
    assert len({entry.path for entry in view.catalog.citations}) == 3
