"""`orient` in one call: the project, and what matters for a task, a path or a symbol."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import InvalidRequest, NotFound
from contextive.registry.budget import estimated_tokens
from contextive.search.orientation import first_paragraph
from contextive.store import open_store
from tests.conventions.source_tree import ROOT
from tests.processes import wait_until
from tests.raw_clients import StdioClient

Orient = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Any:
    project = tmp_path_factory.mktemp("orient") / "parcel-locker"
    shutil.copytree(ROOT / "examples" / "parcel-locker", project)
    with StdioClient("serve", "--stdio", cwd=project, env={"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"}) as running:
        running.initialize()
        wait_until(lambda: _is_indexed(running.call("orient", {})["structuredContent"]), "the project was not indexed")
        yield running


def _is_indexed(overview: dict[str, Any]) -> bool:
    return "languages" in overview and not any("indexed" in problem for problem in overview["broken"])


@pytest.fixture
def orient(pipe: StdioClient) -> Orient:
    return lambda **arguments: pipe.call("orient", arguments)["structuredContent"]


def paths(places: list[dict[str, Any]]) -> set[str]:
    return {place["path"].partition("#")[0] for place in places}


##= docs/spec/host.md#orientation
##% The tool `orient` MUST describe the project without arguments, and with a task, a path or a symbol what matters for
##% it, each place with path, lines and reason.
def test_without_arguments_the_project_is_described(orient: Orient) -> None:
    found = orient()
    assert found["project"]["summary"]
    assert found["languages"]["python"] > 0
    assert all({"name", "done", "total"} == set(row) for row in found["specifications"])
    assert any("invalid citations" in text for text in found["broken"])


def test_a_task_names_requirements_code_and_tests(orient: Orient) -> None:
    found = orient(task="open the door of a locker with a code")
    assert found["requirements"]
    assert "src/locker/doors.py" in paths(found["code"])
    assert all(
        place["reason"]
        for section in found.values()
        if isinstance(section, list)
        for place in section
        if isinstance(place, dict)
    )


def test_a_path_names_what_is_connected_with_it(orient: Orient) -> None:
    found = orient(path="src/locker/doors.py")
    assert found["requirements"]
    assert any(path.startswith("tests/") for path in paths(found["tests"]))
    assert "src/locker/doors.py" not in paths(found.get("code", []))


##= docs/spec/host.md#orientation
##% An answer of `orient` MUST have at most 1,200 tokens and leave out empty sections.
@pytest.mark.parametrize("arguments", [{}, {"task": "door " * 200}, {"path": "src"}, {"path": "docs"}])
def test_every_answer_is_short_and_has_no_empty_section(orient: Orient, arguments: dict[str, str]) -> None:
    found = orient(**arguments)
    assert estimated_tokens(found) <= 1_200
    assert [name for name, value in found.items() if not value] == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": "src/nothing.py"}, NotFound.code),
        ({"symbol": "no_such_symbol"}, NotFound.code),
        ({"path": "src", "symbol": "x"}, InvalidRequest.code),
    ],
)
def test_wrong_arguments_are_refused(pipe: StdioClient, arguments: dict[str, str], code: str) -> None:
    answer = pipe.call("orient", arguments)
    assert answer["isError"]
    assert code in answer["content"][0]["text"]


##= docs/spec/host.md#orientation
##% Without an index, `orient` MUST answer with what is known and say so.
def test_without_an_index_the_answer_says_so(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# Tea\n\n[![badge](x)](y)\n\nTea is a library that brews tea.\n", encoding="utf-8"
    )
    env = {"CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"}
    with StdioClient("serve", "--stdio", cwd=tmp_path, env=env) as pipe:
        pipe.initialize()
        found = pipe.call("orient", {})["structuredContent"]
    assert found["project"]["summary"] == "Tea is a library that brews tea."
    assert "not indexed yet" in found["broken"][0]


##= docs/spec/host.md#orientation
##% Without an index, `orient` MUST answer with what is known and say so.
def test_before_the_first_run_a_task_is_answered_from_the_files(tmp_path: Path) -> None:
    project = Path(shutil.copytree(ROOT / "examples" / "parcel-locker", tmp_path / "locker"))
    store = open_store(project / ".contextive")
    # Another process has the right to index and does nothing, so the first run never starts.
    lease = store.acquire_lease("keeper", "elsewhere:42")
    assert lease is not None
    with StdioClient("serve", "--stdio", cwd=project, env={"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"}) as running:
        running.initialize()
        found = running.call("orient", {"task": "open a box with a code"})["structuredContent"]
    lease.release()
    store.close()
    assert "src/locker/doors.py" in paths(found["code"])
    assert "tests/test_codes.py" in paths(found["tests"])
    assert found["requirements"]
    assert "searched directly" in found["warnings"][0]


@pytest.mark.parametrize(
    ("text", "paragraph"),
    [
        ("# Title\n\nA long enough sentence here.\n\nMore.", "A long enough sentence here."),
        ("<p align=center>\n\n![x](y)\n\nThe tool does things\nvery well.", "The tool does things very well."),
        ("# Title only\n", None),
        ("", None),
    ],
)
def test_the_first_paragraph_of_prose_is_found(text: str, paragraph: str | None) -> None:
    assert first_paragraph(text) == paragraph
