"""`validate_citation` accepts pasted citations, and finds the same errors as the project."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextive.errors import InvalidRequest
from tests.ingest.projects import BREW, CONFIG, MILK, WARM, cite
from tests.packs.duvet_host import BREWING, DuvetHost


@pytest.fixture
def duvet_host(tmp_path: Path) -> DuvetHost:
    return DuvetHost(tmp_path)


def validity(duvet_host: DuvetHost, citation: str) -> dict[str, Any]:
    data = duvet_host.call("validate_citation", citation=citation)
    assert isinstance(data, dict)
    return data


# -- every way to paste one --------------------------------------------------------------------------------------------

PASTED = {
    "comment": f"//= {BREWING}\n//# {BREW}",
    "indented": f"        //= {BREWING}\n        //# {BREW}\n",
    "tabs and CRLF": f"\t//={BREWING}\r\n\t//#{BREW}\r\n",
    "block comment": f"/*= {BREWING}\n *# {BREW}\n */".replace("/*=", "*="),
    "block comment edges": f"/* {BREWING}\n{BREW} */",
    "block comment on the first line": f"/* *= {BREWING}\n *# {BREW} */",
    "block comment without a space": f"/*= {BREWING}\n *# {BREW} */",
    "html comment with prefixes": f"<!-- //= {BREWING}\n//# {BREW} -->",
    "plain slashes": f"// {BREWING}\n// {BREW}",
    "plain number signs": f"# {BREWING}\n# {BREW}",
    "plain dashes": f"-- {BREWING}\n-- {BREW}",
    "entry of a requirement file": f'[[exception]]\ntarget = "{BREWING}"\nquote = "{BREW}"\nreason = "so"\n',
    "python": f"##= {BREWING}\n##% {BREW}",
    "short python": f"#= {BREWING}\n#% {BREW}",
    "lua": f"--= {BREWING}\n--# {BREW}",
    "bare": f"{BREWING}\n{BREW}",
    "bare on several lines": f"{BREWING}\nThe pot MUST\nbrew coffee.",
    "wrapped": f"//= {BREWING}\n//# The pot\n//# MUST brew coffee.",
    "escaped line ends": f"//= {BREWING}\\n//# {BREW}",
    "source key": f"//= source={BREWING}\n//# {BREW}",
    "with type": f"//= {BREWING}\n//= type=test\n//# {BREW}",
    "type first": f"//= type=exception\n//= {BREWING}\n//= reason=because\n//# {BREW}",
    "bare with type": f"{BREWING}\ntype=test\n{BREW}",
    "todo": f"//= {BREWING}\n//= type=todo\n//= tracking-issue=https://example.org/1\n//# {BREW}",
    "implication": f"//= {BREWING}\n//= type=implication\n//# {BREW}",
    "html comment": f"<!-- {BREWING}\n{BREW} -->",
    "part of the sentence": f"//= {BREWING}\n//# The pot MUST brew",
    "other white space": f"//= {BREWING}\n//#    The   pot MUST  brew coffee .",
    "one letter off": f"//= {BREWING}\n//# The pot MUST brew cofee.",
    "dotted path": f"//= ./specs/../{BREWING}\n//# {BREW}",
    "empty lines around": f"\n\n//= {BREWING}\n//# {BREW}\n\n",
    "format": f"//= {BREWING}\n//= format=markdown\n//# {BREW}",
}


@pytest.mark.parametrize("citation", PASTED.values(), ids=PASTED)
def test_a_pasted_citation_is_understood(citation: str, duvet_host: DuvetHost) -> None:
    data = validity(duvet_host, citation)
    assert (data["valid"], data.get("requirements")) == (True, [duvet_host.identifier(BREW)]), data


MENDED = {
    "only a quote": (f"//# {BREW}", f"//= {BREWING}\n//# {BREW}"),
    "no target": (f"//= type=test\n//# {BREW}", f"//= {BREWING}\n//= type=test\n//# {BREW}"),
    "misspelled type": (f"//= {BREWING}\n//= type=tset\n//# {BREW}", f"//= {BREWING}\n//= type=test\n//# {BREW}"),
    "misspelled field": (f"//= {BREWING}\n//= tpye=test\n//# {BREW}", f"//= {BREWING}\n//= type=test\n//# {BREW}"),
    # Without this line it would be an implementation, and nobody said so.
    "no such type": (f"//= {BREWING}\n//= type=wish\n//# {BREW}", None),
    "no such field": (f"//= {BREWING}\n//= colour=red\n//# {BREW}", f"//= {BREWING}\n//# {BREW}"),
    "unknown text": ("//= type=test\n//# Nothing like it.", None),
}


@pytest.mark.parametrize(("citation", "suggestion"), MENDED.values(), ids=MENDED)
def test_unparsable_citations_are_corrected_if_possible(
    citation: str, suggestion: str | None, duvet_host: DuvetHost
) -> None:
    data = validity(duvet_host, citation)
    assert (data["valid"], data["part"], data.get("suggestion")) == (False, "format", suggestion)
    duvet_host.project.write("src/bad.rs", citation + "\n")
    listed = [item for item in duvet_host.call("list_invalid_citations")["result"] if item["file_path"] == "src/bad.rs"]
    # In a file, quoted lines alone are not a citation and not an error.
    assert [item.get("suggestion") for item in listed] == ([suggestion] if citation.startswith("//=") else [])


def test_another_rfc_is_suggested_only_if_it_contains_the_quote(duvet_host: DuvetHost) -> None:
    duvet_host.project.write(
        ".duvet/specifications/www.rfc-editor.org/rfc/rfc2324.txt", "1. Pots\n\n   Pots MUST pour.\n"
    )
    source = '[[specification]]\nsource = "https://www.rfc-editor.org/rfc/rfc232{}"\n'
    duvet_host.project.write(".duvet/config.toml", CONFIG + source.format(4) + source.format(5))
    missing = "https://www.rfc-editor.org/rfc/rfc2325#section-1"
    data = validity(duvet_host, cite(missing))
    assert data["error"].startswith("Specification not found: its text is not stored in this project")
    assert "suggestion" not in data
    data = validity(duvet_host, cite(missing, "Pots MUST pour."))
    assert data["suggestion"] == cite("https://www.rfc-editor.org/rfc/rfc2324#section-1", "Pots MUST pour.").rstrip()
    (entry,) = duvet_host.call("list_invalid_citations")["result"]
    assert (entry["file_path"], entry["part"]) == (".duvet/config.toml", "specification")
    assert entry["comment_text"] == 'source = "https://www.rfc-editor.org/rfc/rfc2325"'
    assert entry["line_number"] == (CONFIG + source.format(4)).count("\n") + 2


def test_an_entry_of_a_requirement_file_is_corrected_as_toml(duvet_host: DuvetHost) -> None:
    wrong = f'[[todo]]\ntarget = "{BREWING}"\nquote = "The pot MUST brew good coffee."\ntracking-issue = "7"\n'
    duvet_host.project.write(".duvet/todos/a.toml", wrong)
    (entry,) = duvet_host.call("list_invalid_citations")["result"]
    duvet_host.project.write(".duvet/todos/a.toml", entry["suggestion"] + "\n")
    assert entry["suggestion"] == f'[[todo]]\ntarget = "{BREWING}"\nquote = "{BREW}"\ntracking-issue = "7"'
    assert duvet_host.call("list_invalid_citations")["total"] == 0


@pytest.mark.parametrize(
    ("citation", "match"),
    [(BREW, "exact"), ("The  pot MUST brew coffee.", "normalised"), ("The pot MUST brew cofee.", "fuzzy")],
)
def test_the_kind_of_match_is_reported(citation: str, match: str, duvet_host: DuvetHost) -> None:
    assert validity(duvet_host, cite(BREWING, citation))["match"] == match


def test_a_quote_of_two_requirements_lists_both(duvet_host: DuvetHost) -> None:
    data = validity(duvet_host, cite(BREWING, f"{BREW} {WARM}"))
    assert data["requirements"] == [duvet_host.identifier(BREW), duvet_host.identifier(WARM)]


def test_a_comment_style_of_the_project_is_understood(duvet_host: DuvetHost) -> None:
    style = 'comment-style = { meta = "# //=", content = "# //#" }'
    duvet_host.project.write(".duvet/config.toml", CONFIG + f'[[source]]\npattern = "*.yaml"\n{style}\n')
    assert validity(duvet_host, cite(BREWING, BREW, style=("# //=", "# //#")))["valid"] is True


def test_a_backslash_in_a_quote_is_a_backslash(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/tea.md", "# Tea\n\nThe path C:\\new MUST exist.\n")
    assert validity(duvet_host, cite("specs/tea.md#tea", "The path C:\\new MUST exist."))["valid"] is True


@pytest.mark.parametrize(
    "citation",
    [
        "//=",
        "//#",
        "//# only a quote",
        "\n",
        "//= a=b",
        f"//= {BREWING}\n//= {BREWING}\n//# {BREW}",
        f"//= {BREWING}\n//= type=Test\n//# {BREW}",
        f"//= {BREWING}\n//= level=must\n//# {BREW}",
        f"//= {BREWING}\n//= type=todo\n//= reason=x\n//# {BREW}",
        f"//= {BREWING}\n//= feature=x\n//# {BREW}",
        f"//= {BREWING}\n//# {BREW}\n//= {BREWING}\n//# {WARM}",
        "//= https://[bad#x",
        "//= specs-coffee#brewing",
        "//= file://specs/coffee.md#brewing",
        "//= /etc/passwd#root",
        "//= ../../etc/passwd#root",
        f"//= {BREWING}\n//= format=ietf\n//# {BREW}",
        "\0",
        "//= \N{RIGHT-TO-LEFT OVERRIDE}#x",
    ],
)
def test_invalid_citations_are_refused_with_a_message(citation: str, duvet_host: DuvetHost) -> None:
    data = validity(duvet_host, citation)
    assert data["valid"] is False
    assert data["error"]
    assert str(duvet_host.project.root) not in json.dumps(data)


@pytest.mark.parametrize("citation", ["", "x" * 20_001])
def test_empty_and_oversized_citations_are_refused(citation: str, duvet_host: DuvetHost) -> None:
    with pytest.raises(InvalidRequest):
        validity(duvet_host, citation)


def test_a_long_wrong_quote_is_checked_quickly(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/tea.md", "# Tea\n\n" + "the pot brews tea " * 20_000 + "\n")
    started = time.process_time()
    assert validity(duvet_host, f"//= specs/tea.md#tea\n//# {'the pot brews tee ' * 1000}")["valid"] is False
    assert time.process_time() - started < 10


def test_validation_does_not_leak_memory(duvet_host: DuvetHost) -> None:
    """Many validations must not fill the memory."""
    from contextive.ingest.trace_service import TraceService

    validity(duvet_host, cite(BREWING, "Wrong."))
    entry = duvet_host.host.services.get(TraceService).view().catalog.specifications["specs-coffee"]
    before = len(entry.specification._cache)
    for number in range(50):
        validity(duvet_host, cite(BREWING, f"Wrong {number}."))
    assert len(entry.specification._cache) == before


# -- agreement with the project ----------------------------------------------------------------------------------------

INVALID = [
    cite("specs/none.md#brewing", BREW),
    cite("specs/coffee.md#none", BREW),
    cite("specs/coffee.md", BREW),
    cite("specs/coffee.md#", BREW),
    cite("specs/coffee.md#a b", BREW),
    cite(BREWING, MILK),
    cite(BREWING, "The cat sat on the mat."),
    cite(BREWING, BREW, BREWING),
    cite(BREWING, BREW, "type=wish"),
    cite(BREWING, BREW, "type=test", "type=test"),
    cite(BREWING, BREW, "type=todo", "reason=x"),
    cite(BREWING, BREW, "nonsense=x"),
    cite("specs-coffee#brewing", BREW),
    cite("file://specs/coffee.md#brewing", BREW),
    cite("https://example.org/none#x", BREW),
    cite("https://[bad#x", BREW),
    cite(BREWING, BREW, "format=ietf"),
    "//= type=test\n",
    "//=\n",
    "//= invalid\n",
]


@pytest.fixture
def broken(duvet_host: DuvetHost) -> DuvetHost:
    for number, text in enumerate(INVALID):
        duvet_host.project.write(f"src/bad{number}.rs", f"fn x() {{}}\n{text}fn y() {{}}\n")
    duvet_host.project.write(
        ".duvet/todos/bad.toml", f'target = "specs/coffee.md#serving"\n[[todo]]\nquote = "{BREW}"\nreason = "x"\n'
    )
    duvet_host.project.write(".duvet/exceptions/bad.toml", '[[exception]]\nquote = "x"\n')
    duvet_host.project.write("src/latin.rs", b"//= \xe9")
    return duvet_host


def invalid_items(duvet_host: DuvetHost) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        page = duvet_host.call("list_invalid_citations", limit=7, **({"cursor": cursor} if cursor else {}))
        yield from page["result"]
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def test_every_invalid_citation_is_listed_with_its_line(broken: DuvetHost) -> None:
    items = list(invalid_items(broken))
    files = {item["file_path"] for item in items}
    assert files == {f"src/bad{number}.rs" for number in range(len(INVALID))} | {
        ".duvet/todos/bad.toml",
        ".duvet/exceptions/bad.toml",
        "src/latin.rs",
    }
    for item in items:
        assert item["error"]
        if item["file_path"].startswith("src/bad"):
            lines = (broken.project.root / item["file_path"]).read_text(encoding="utf-8").split("\n")
            assert lines[item["line_number"] - 1] in item["comment_text"]


def test_every_listed_invalid_citation_fails_validation(broken: DuvetHost) -> None:
    for item in invalid_items(broken):
        if item["comment_text"]:
            assert validity(broken, item["comment_text"])["valid"] is False, item


def test_suggestions_are_valid_citations(broken: DuvetHost) -> None:
    suggested = [item for item in invalid_items(broken) if "suggestion" in item]
    assert len(suggested) >= 7
    for item in suggested:
        assert validity(broken, item["suggestion"])["valid"] is True, item


def test_a_suggestion_corrects_everything_at_once(duvet_host: DuvetHost) -> None:
    data = validity(duvet_host, "##= specs/cofee.md#brewin\n##= type=test\n##% The pots MUST brew the coffee.")
    assert data["error"] == "Specification not found"
    assert data["suggestion"] == f"##= {BREWING}\n##= type=test\n##% {BREW}"


@pytest.mark.parametrize(
    "citation", ["//= zzz#x", "//= specs/coffee.md", f"//= {BREWING}\n//# Something entirely different"]
)
def test_nothing_is_suggested_if_nothing_is_similar(citation: str, duvet_host: DuvetHost) -> None:
    assert "suggestion" not in validity(duvet_host, citation)


_targets = st.sampled_from(
    [
        BREWING,
        "specs/coffee.md#serving",
        "specs/cofee.md#brewing",
        "specs/tea.md#steep",
        "./specs/tea.md#steeping",
        "x#y",
        "specs/tea.md",
        "#",
    ]
)
_quotes = st.sampled_from(
    [BREW, WARM, MILK, "", "The pot", "A cup MAY hold honey.", "The pot  MUST brew", "pot MUST NOT boil te"]
)
_fields = st.lists(
    st.sampled_from(["type=test", "type=todo", "reason=x", "type=exception", "format=markdown", "x=y"]), max_size=2
)


@given(st.lists(st.tuples(_targets, _quotes, _fields), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_validation_and_project_agree_on_any_citation(parts: list[tuple[str, str, list[str]]]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="agree-"))
    try:
        duvet_host = DuvetHost(folder)
        texts = [cite(target, quote, *fields) for target, quote, fields in parts]
        for number, text in enumerate(texts):
            duvet_host.project.write(f"src/c{number}.rs", text)
        bad = {item["file_path"] for item in invalid_items(duvet_host)}
        for number, text in enumerate(texts):
            data = validity(duvet_host, text)
            assert data["valid"] is (f"src/c{number}.rs" not in bad), (text, data)
            if "suggestion" in data:
                assert validity(duvet_host, data["suggestion"])["valid"] is True, (text, data)
    finally:
        shutil.rmtree(folder)
