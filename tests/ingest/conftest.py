from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.projects import Project, configured


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with a duvet configuration, two specifications and two source files."""
    return configured(tmp_path)


@pytest.fixture
def bare(tmp_path: Path) -> Project:
    """An empty directory without a configuration."""
    return Project(tmp_path)
