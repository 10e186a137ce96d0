"""A test project with a host in this process, called like a client would, but without a transport."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN
from contextive.registry import ToolResult
from contextive.registry.content import Text
from contextive.server.host import Host
from contextive.server.profiles import PROFILES
from tests.ingest.projects import BREW, WARM, Project, cite, configured

PROFILE = PROFILES["duvet"]
BREWING = "specs/coffee.md#brewing"


class DuvetHost:
    """The profile `duvet` on one project."""

    def __init__(self, root: Path) -> None:
        self.project = configured(root)
        self.project.write("tests/coffee.rs", cite(BREWING, BREW) + "fn brews() {}\n")
        self.project.write("src/warm.rs", "fn before() {}\n\n" + cite(BREWING, WARM, "type=todo") + "fn after() {}\n")
        self.open(root)

    def open(self, root: Path) -> None:
        """Start a host in a directory."""
        self.host = Host(load_config(ConfigRequest(project=root, builtin_packs=frozenset(BUILTIN))), mode="in-process")
        self.surface = self.host.surface(PROFILE, self.host.owner.scope)
        self._context = self.host.context(self.host.owner, door="test", profile=PROFILE, request_id="r")

    def answer(self, tool: str, **arguments: Any) -> ToolResult:
        return asyncio.run(self.host.dispatcher.call(self.surface, tool, arguments, self._context))

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.answer(tool, **arguments).data

    def first_text(self, tool: str, **arguments: Any) -> Any:
        block = self.answer(tool, **arguments).content[0]
        assert isinstance(block, Text)
        return json.loads(block.text)

    def read(self, uri: str) -> Any:
        (body,) = asyncio.run(self.host.dispatcher.read(self.surface, uri, self._context))
        assert isinstance(body.body, str)
        return json.loads(body.body)

    def listed(self, below: str | None = None) -> list[str]:
        uris: list[str] = []
        cursor: str | None = None
        while True:
            dispatcher = self.host.dispatcher
            page = asyncio.run(
                dispatcher.list_resources(self.surface, cursor, self._context)
                if below is None
                else dispatcher.list_below(self.surface, below, cursor, self._context)
            )
            uris += [entry.uri for entry in page.items]
            cursor = page.next_cursor
            if cursor is None:
                return uris

    def all_uris(self) -> list[str]:
        """The URIs of all resources, found by listing below each listed one."""
        found = self.listed()
        for uri in found:  # grows while it is read
            if uri not in ("duvet:///specifications", "duvet:///requirements", "duvet:///citations"):
                found += self.listed(uri)
        return found

    def identifier(self, text: str) -> str:
        return next(str(r["identifier"]) for r in self.read("/requirements") if r["text"] == text)

    def path(self, text: str) -> str:
        return next(str(r["full_path"]) for r in self.read("/requirements") if r["text"] == text)


__all__ = ["BREWING", "PROFILE", "DuvetHost", "Project"]
