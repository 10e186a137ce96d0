from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from contextive.config import ConfigRequest, LoadedConfig, TrustStore, load_config
from contextive.errors import ConfigError


@dataclass(frozen=True)
class Project:
    """A project directory, and methods that load its configuration."""

    path: Path
    trust: TrustStore
    packs: frozenset[str] = field(default_factory=lambda: frozenset({"fs", "introspect"}))

    def write(self, name: str, content: str | bytes | dict[str, Any]) -> Path:
        if isinstance(content, dict):
            content = json.dumps(content, indent=1)
        file = self.path / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def load(self, explicit: Path | None = None, environ: Mapping[str, str] | None = None) -> LoadedConfig:
        return load_config(ConfigRequest(self.path, explicit, environ or {}, self.trust, self.packs))

    def load_json(self, values: dict[str, Any], environ: Mapping[str, str] | None = None) -> LoadedConfig:
        """Load the values from a file named by the user, which is trusted."""
        return self.load(self.write("given.json", values), environ)

    def load_untrusted(self, values: dict[str, Any], environ: Mapping[str, str] | None = None) -> LoadedConfig:
        self.write("contextive.config.json", values)
        return self.load(environ=environ)

    def error_of(
        self, name: str, content: str | bytes | dict[str, Any], environ: Mapping[str, str] | None = None
    ) -> str:
        """The error message for a trusted file with this content."""
        with pytest.raises(ConfigError) as caught:
            self.load(self.write(name, content), environ)
        return caught.value.message

    def error_with(self, environ: Mapping[str, str]) -> str:
        """The error message for this environment."""
        with pytest.raises(ConfigError) as caught:
            self.load(environ=environ)
        return caught.value.message


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project", TrustStore(tmp_path / "user" / "trust.json"))
