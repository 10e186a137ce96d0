"""Parse one file into its metadata, chunks, symbols and references."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Final

from contextive.knowledge.artifact import Artifact, LastCommit, ParsedArtifact
from contextive.knowledge.chunking import CHUNKER_VERSION, chunk_text
from contextive.knowledge.classification import classify, is_prose
from contextive.knowledge.extraction import ExtractedNames, extract_names
from contextive.knowledge.languages import language_of
from contextive.knowledge.packages import Packages
from contextive.knowledge.subsystems import NO_CATALOG, SubsystemCatalog, assign_subsystem
from contextive.knowledge.tags import find_messages, find_telemetry, tags_of
from contextive.knowledge.windows import DEFAULT_WINDOW, Window

PARSER_VERSION: Final = f"{CHUNKER_VERSION}.3"
"""Increase it when the same bytes would produce different rows."""


@dataclass(frozen=True)
class ParseContext:
    """Everything besides the file itself that affects the result of parsing it."""

    catalog: SubsystemCatalog = NO_CATALOG
    packages: Packages = field(default_factory=Packages)
    symbols: bool = True
    """Whether to extract the symbols that code declares."""
    window: Window = DEFAULT_WINDOW
    kept: frozenset[str] = frozenset()
    """Files that are indexed even if they are generated or minified."""

    def version(self) -> str:
        """A hash of the whole context. While it stays the same, unchanged files need no parsing."""
        return _short_hash(
            PARSER_VERSION, self.symbols, self.window, self.packages, self.catalog.subsystems, sorted(self.kept)
        )

    def version_for(self, path: str) -> str:
        """A hash of the parts that affect one file. When it changes, the file must be parsed again."""
        name = assign_subsystem(path, self.catalog, self.packages)
        known = self.catalog.find(name)
        tags = (known.tags, known.labels) if known else ()
        # The front matter of a document can name any subsystem, so the document depends on all names and tags.
        all_names = [(item.name, item.tags, item.labels) for item in self.catalog.subsystems] if is_prose(path) else []
        return f"{PARSER_VERSION}-{_short_hash(self.symbols, self.window, name, tags, all_names, path in self.kept)}"


def parse_artifact(
    path: str,
    data: bytes,
    text: str,
    context: ParseContext,
    git: LastCommit | None = None,
    *,
    plain: bool = False,
) -> ParsedArtifact:
    """The metadata, chunks, symbols and references of a file.

    `text` is the decoded `data`. With `plain`, symbols and references are not extracted.
    """
    kind = classify(path, text)
    language = language_of(path)
    names = ExtractedNames() if plain else extract_names(path, text, language, kind.artifact_type)
    if not context.symbols:
        names = ExtractedNames(references=tuple(replace(reference, source=None) for reference in names.references))
    subsystem = assign_subsystem(path, context.catalog, context.packages, kind.subsystem)
    known = context.catalog.find(subsystem)
    chunks = chunk_text(path, text, language, kind.artifact_type, names.symbols, context.window)
    tags = tags_of(text, kind.tags, known)
    if tags:  # a file without tags has no chunk with tags
        chunks = tuple(replace(chunk, tags=tags_of(chunk.text, kind.tags, known)) for chunk in chunks)
    return ParsedArtifact(
        artifact=Artifact(
            path=path,
            artifact_type=kind.artifact_type,
            digest=hashlib.sha256(data).hexdigest(),
            size=len(data),
            title=kind.title,
            namespace=kind.namespace,
            subsystem=subsystem,
            language=language,
            tags=tags,
            messages=find_messages(text),
            telemetry=find_telemetry(text),
            git=git,
        ),
        chunks=chunks,
        symbols=names.symbols,
        references=names.references,
        hints=names.hints,
    )


def _short_hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


__all__ = ["PARSER_VERSION", "ParseContext", "parse_artifact"]
