from __future__ import annotations

from collections.abc import Iterator

import pytest

from contextive.ingest.settings import IngestRequest
from contextive.web.project import SiteProject

from .site_project import copy_example, open_host, site_project


@pytest.fixture(scope="package")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteProject]:
    """The example project with an index, shared by tests that only read."""
    host = open_host(copy_example(tmp_path_factory.mktemp("site") / "parcel-locker"))
    host.index().ingest(IngestRequest())
    yield site_project(host)
    host.close()
