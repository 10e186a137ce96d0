"""A server that may fetch specifications: one caller waits for them, and no other caller is blocked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from contextive.config import ConfigRequest, load_config
from contextive.errors import UpstreamError
from contextive.packs import BUILTIN
from contextive.server.host import Host
from contextive.server.profiles import PROFILES
from contextive.workspace import http_fetch
from tests.ingest.projects import BREW, CONFIG, Project, statuses
from tests.workspace.web import TEXT, WAIT_SECONDS, Authority, Site, response, serving

URL = "https://spec.example/spec.md"
BREWS = "A pot MUST brew."
STORED = ".duvet/specifications/spec.example/spec.txt"


def configure_url(project: Project, url: str) -> None:
    project.write(".duvet/config.toml", CONFIG + f'[[specification]]\nsource = "{url}"\n')


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A local TLS server for spec.example, and a policy that resolves, trusts and allows it."""
    authority = Authority.make(tmp_path_factory.mktemp("authority"))
    policy = http_fetch.FetchPolicy(
        allow_private=True, ports=None, resolve=lambda _host, _port: ["127.0.0.1"], tls=authority.trusted()
    )
    monkeypatch.setattr(http_fetch, "FetchPolicy", lambda: policy)
    with serving({"/spec.md": response(TEXT)}, tls=authority.server("spec.example")) as running:
        yield running


##= docs/spec/trace.md#network
##% A specification MUST NOT be downloaded unless the user asks for it with `--fetch` or with the setting
##% `trace.fetch`.
@pytest.mark.parametrize("fetch", [True, False])
def test_the_server_fetches_missing_specifications_if_trace_fetch_is_set(
    fetch: bool, site: Site, project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    configure_url(project, site.url(scheme="https", host="spec.example"))
    settings = tmp_path_factory.mktemp("own") / "contextive.json"
    settings.write_text(json.dumps({"trace": {"fetch": fetch}}), encoding="utf-8")
    request = ConfigRequest(project=project.root, explicit=settings, builtin_packs=frozenset(BUILTIN))
    host, profile = Host(load_config(request), mode="in-process"), PROFILES["duvet"]
    surface = host.surface(profile, host.owner.scope)

    def found() -> Any:
        context = host.context(host.owner, door="test", profile=profile, request_id="r")
        answer = asyncio.run(host.dispatcher.call(surface, "search_requirements", {"query": BREWS}, context))
        assert isinstance(answer.data, dict)
        return [entry["text"] for entry in answer.data["result"]]

    assert (BREWS in found()) is fetch
    assert (BREWS in found()) is fetch
    assert site.paths == (["/spec.md"] if fetch else [])
    assert (project.root / STORED).exists() is fetch


def test_a_caller_during_a_fetch_gets_the_current_state(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    started, may_end = Event(), Event()

    def fetch(_url: str, destination: Path, **_: object) -> None:
        started.set()
        assert may_end.wait(WAIT_SECONDS)
        destination.parent.mkdir(parents=True)
        destination.write_bytes(TEXT)

    monkeypatch.setattr(http_fetch, "fetch_specification", fetch)
    configure_url(project, URL)
    service = project.service(fetch=True)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.view)
        try:
            assert started.wait(WAIT_SECONDS)
            meanwhile = statuses(service.view())
        finally:
            may_end.set()
        assert BREW in meanwhile
        assert BREWS not in meanwhile
        assert BREWS in statuses(waiting.result(WAIT_SECONDS))
    assert BREWS in statuses(service.view())


def test_a_fetch_that_fails_is_tried_once_for_each_configuration(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []

    def fetch(url: str, _destination: Path, **_: object) -> None:
        fetched.append(url)
        raise UpstreamError("The server cannot be reached.")

    monkeypatch.setattr(http_fetch, "fetch_specification", fetch)
    configure_url(project, URL)
    service = project.service(fetch=True)
    for _ in range(3):
        assert [problem.code for problem in service.view().state.problems] == ["specification_not_found"]
    assert fetched == [URL]
    configure_url(project, f"{URL}?other")
    service.view()
    assert fetched == [URL, f"{URL}?other"]
