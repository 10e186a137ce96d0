"""Discovers models that are not configured: from `llms.txt` files and from the model lists of providers."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from contextive.errors import ContextiveError
from contextive.models.llms_txt import MAX_CHARACTERS, parse_llms_txt
from contextive.models.provider import Provider
from contextive.models.request import ModelInfo
from contextive.workspace.files import FileText, ProjectFiles
from contextive.workspace.http_fetch import FetchPolicy, fetch_specification

logger = logging.getLogger(__name__)

CACHE_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class ModelDiscovery:
    """Discovers models. A source that fails is only logged."""

    project: Path
    cache: Path
    """The directory for fetched files, inside the project."""
    llms_txt: Mapping[str, str] = field(default_factory=dict)
    """For each provider, the project file or https URL that lists its models."""
    policy: FetchPolicy = field(default_factory=lambda: FetchPolicy(max_bytes=MAX_CHARACTERS, timeout_seconds=10.0))
    now: Callable[[], float] = time.time

    ##= docs/spec/models-and-recipes.md#model-router
    ##% The router MUST look for models in a configured `llms.txt` file when no known model fits.
    async def find(self, providers: Sequence[Provider]) -> list[ModelInfo]:
        """All discovered models. Those from `llms.txt` come first, because their facts were written by hand."""
        known = {provider.id for provider in providers}
        from_files = await asyncio.to_thread(self._from_llms_txt, known)
        listed = await asyncio.gather(*(_list_models(provider) for provider in providers))
        return [*from_files, *(model for models in listed for model in models)]

    ##= docs/spec/models-and-recipes.md#model-lists
    ##% An `llms.txt` that cannot be used MUST only cause a warning.
    def _from_llms_txt(self, providers: set[str]) -> list[ModelInfo]:
        found: list[ModelInfo] = []
        for provider, source in self.llms_txt.items():
            if provider not in providers:
                continue
            text = self._fetch(source) if source.lower().startswith(("http://", "https://")) else self._file(source)
            if text is None:
                logger.warning("the llms.txt of provider %s cannot be read", provider)
                continue
            parsed = parse_llms_txt(text, provider)
            for warning in parsed.warnings:
                logger.warning("the llms.txt of provider %s: %s", provider, warning)
            found.extend(parsed.models)
        return found

    def _file(self, path: str) -> str | None:
        read = ProjectFiles(self.project, self.project.resolve(), max_bytes=MAX_CHARACTERS).read(path)
        return read.text if isinstance(read, FileText) else None

    ##= docs/spec/models-and-recipes.md#model-lists
    ##% An `llms.txt` MUST be a file in the project or an https URL with a public address.
    def _fetch(self, url: str) -> str | None:
        """The text at a URL, fetched at most once a day. If that fails, an older copy is used."""
        cached = self.cache / f"llms-{hashlib.sha256(url.encode()).hexdigest()[:32]}.txt"
        if not self._is_fresh(cached):
            try:
                fetch_specification(url, cached, policy=self.policy, within=self.project)
            except ContextiveError as error:
                logger.warning("an llms.txt could not be fetched: %s", error.message)
        try:
            return cached.read_bytes()[: MAX_CHARACTERS * 4 + 1].decode("utf-8", "replace")
        except OSError:
            return None

    def _is_fresh(self, cached: Path) -> bool:
        try:
            age = self.now() - cached.stat().st_mtime
        except OSError:
            return False
        return 0 <= age < CACHE_SECONDS


async def _list_models(provider: Provider) -> Sequence[ModelInfo]:
    try:
        return await provider.list_models()
    except ContextiveError as error:
        logger.warning("provider %s cannot list its models: %s", provider.id, error.message)
        return ()
