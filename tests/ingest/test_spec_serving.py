"""Requirements of docs/spec/trace.md on bad input and the network that no other test covers completely."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import InvalidRequest, UpstreamError
from contextive.workspace import http_fetch
from contextive.workspace.http_fetch import FetchPolicy, fetch_specification
from tests.ingest.projects import BREW, MILK, Project, cite, configured, statuses
from tests.workspace.web import LOOSE, redirect, refusal, response, serving


##= docs/spec/trace.md#bad-input
##% A source file that cannot be read, is not UTF-8, or is larger than 16 MiB MUST be reported, and the server still
##% reads all other files.
def test_an_unreadable_source_file_is_reported_and_affects_no_other(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("src/locked.rs", cite("specs/coffee.md#serving", MILK))
    project.write("src/latin.rs", b"//= specs/coffee.md#brewing\n//# caf\xe9\n")
    project.write("src/large.rs", b"x" * (16 * 1024 * 1024 + 1))
    original = os.open

    def open_unless_locked(path: Any, *arguments: Any, **more: Any) -> int:
        if str(path).endswith("locked.rs"):
            raise PermissionError("permission denied")
        return original(path, *arguments, **more)

    monkeypatch.setattr(os, "open", open_unless_locked)
    view = project.service().view()
    assert {problem.location.path for problem in view.state.problems} == {
        f"src/{name}.rs" for name in ("locked", "latin", "large")
    }
    assert (statuses(view)[BREW], statuses(view)[MILK]) == ("missing_test", "not_started")


##= docs/spec/trace.md#bad-input
##% The server MUST NOT read files outside the project's repository, or outside the project if it has no repository.
@pytest.mark.parametrize("in_repository", [True, False])
def test_files_outside_the_repository_or_else_the_project_are_not_read(in_repository: bool, tmp_path: Path) -> None:
    text = "# Part\n\nIt MUST hold.\n"
    repository, parent = Project(tmp_path / "repository"), Project(tmp_path)
    project = configured(tmp_path / "repository" / "package")
    repository.write("shared.md", text)
    parent.write("outside.md", text)
    if in_repository:
        (repository.root / ".git").mkdir()
    for name, target in {"inside": "../shared.md", "outside": "../../outside.md", "root": "/etc/passwd"}.items():
        project.write(f"src/{name}.rs", cite(f"{target}#part", "It MUST hold."))
    view = project.service().view()
    refused = {problem.location.path for problem in view.state.problems}
    assert refused == {"src/outside.rs", "src/root.rs", *([] if in_repository else ["src/inside.rs"])}
    assert statuses(view)[BREW] == "missing_test"


##= docs/spec/trace.md#network
##% A download MUST use https and connect only to public addresses, also after each redirect.
def test_only_https_and_public_addresses_are_used_also_after_redirects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = tmp_path / "specifications" / "host" / "spec.txt"
    with serving({"/spec.md": response()}) as site:
        for url in (site.url(), "https://localhost/spec.md", "https://10.0.0.1/spec.md"):
            with pytest.raises(InvalidRequest):
                fetch_specification(url, destination, policy=FetchPolicy(ports=None))
        assert site.paths == []
        monkeypatch.setattr(http_fetch, "is_public", lambda address: str(address) == "127.0.0.1")
        policy = replace(LOOSE, allow_private=False)
        for number, goal in enumerate((f"http://127.0.0.2:{site.port}/spec.md", "ftp://127.0.0.1/spec.md")):
            site.pages[f"/old{number}"] = redirect(goal)
            assert isinstance(refusal(site.url(f"/old{number}"), destination, policy), UpstreamError)
        assert site.paths == ["/old0", "/old1"]
    secure = http_fetch._parse_endpoint("https://example.org/old", LOOSE)
    with pytest.raises(UpstreamError):
        http_fetch._redirect_endpoint(secure, http_fetch._Redirect("http://example.org/new"), LOOSE)
