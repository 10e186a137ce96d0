"""Searches files that are not indexed yet: reads them, and scores their passages by the words of the query.

A first run takes minutes on a large project, and until its end this is how a search finds something in every file. A scan
stops at limits of time and size, and reports how many files it did not read.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from contextive.knowledge.artifact import Artifact
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.chunking import chunk_text
from contextive.knowledge.classification import artifact_type_of, namespace_of
from contextive.knowledge.languages import language_of
from contextive.knowledge.tokeniser import query_terms, tokenise
from contextive.knowledge.windows import Window
from contextive.store.values import STATE_PARSE_CONTEXT, ChunkFilter, ChunkHeader, ChunkRow
from contextive.workspace.contents import Skipped, decode_text, read_bytes
from contextive.workspace.discovery import FoundFile, discover
from contextive.workspace.generated_files import reason_by_content

if TYPE_CHECKING:
    from contextive.ingest.settings import IngestSettings
    from contextive.store.protocol import Store

MAX_TERMS: Final = 24
_PASSAGES_PER_FILE: Final = 3
_COUNTED: Final = 5
"""More occurrences of a word in a file do not count."""
_TYPE_ORDER: Final = {"code": 0, "doc": 0, "proto": 1, "test": 1, "config": 2, "other": 3}


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """The limits of one scan."""

    seconds: float = 1.0
    megabytes: float = 64.0
    best_files: int = 40
    """Files whose passages are scored, of all files that contain words of the query."""
    best_characters: int = 2_000_000


DEFAULT_LIMITS: Final = ScanLimits()


@dataclass(frozen=True, slots=True)
class TermWeights:
    """The words of a query, weighted by how few files contain them."""

    by_term: Mapping[str, float]

    def score(self, path: str, title: str, text: str) -> float:
        """How many of the words a passage contains, from 0 to 1. A word in the title or path counts a little more."""
        total = sum(self.by_term.values())
        if not total:
            return 0.0
        counts = Counter(tokenise(text))
        names = frozenset(tokenise(f"{title}\n{path}"))
        found = 0.0
        for term, weight in self.by_term.items():
            share = 0.8 * counts[term] / (counts[term] + 0.5) + (0.2 if term in names else 0.0)
            found += weight * share
        return found / total


@dataclass(frozen=True, slots=True)
class DirectScan:
    """The passages that a scan found. Their numbers are negative, so they differ from those of indexed chunks."""

    rows: Mapping[int, ChunkRow] = field(default_factory=dict)
    scores: Mapping[int, float] = field(default_factory=dict)
    weights: TermWeights = field(default_factory=lambda: TermWeights({}))
    files_scanned: int = 0
    files_left: int = 0
    """Files that were not read because of the limits."""
    unsupported: tuple[str, ...] = ()
    """Filters that need the index; with them, nothing is scanned."""

    def score(self, row: ChunkRow) -> float | None:
        """The score of an indexed chunk among the scanned ones; None if its file was scanned, too."""
        if row.artifact.path in self.paths:
            return None
        return self.weights.score(row.artifact.path, row.chunk.title, row.chunk.text)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(row.artifact.path for row in self.rows.values())

    def counts(self) -> dict[str, int]:
        return {"files_scanned": self.files_scanned, "files_not_scanned": self.files_left}

    def warning(self) -> str:
        """What the caller should know about this scan."""
        if self.unsupported:
            names = ", ".join(self.unsupported)
            return f"The index is not complete yet, and files that are not indexed cannot be filtered by {names}."
        left = f" {self.files_left} more were not read within the limits." if self.files_left else ""
        return f"The index is not complete yet: {self.files_scanned} files were searched directly, by words.{left}"

    def headers(self) -> dict[int, ChunkHeader]:
        return {
            number: ChunkHeader(number, row.sequence, row.artifact, (), row.title) for number, row in self.rows.items()
        }


@dataclass(frozen=True, slots=True)
class _Match:
    """A file that contains words of the query."""

    path: str
    counts: tuple[int, ...]


class UnindexedFiles:
    """The files of a project that its index does not cover."""

    def __init__(self, root: Path, state_dir: Path, settings: IngestSettings, store: Store) -> None:
        self._root = root.resolve()
        self._state_dir = state_dir
        self._settings = settings
        self._store = store

    @property
    def index_is_complete(self) -> bool:
        """Whether a run has ever finished."""
        return self._store.state(STATE_PARSE_CONTEXT) is not None

    ##= docs/spec/knowledge.md#index-updates
    ##% Until the first run has finished, a search MUST also scan the files that are not indexed yet, within limits of
    ##% time and size.
    def scan(
        self, query: str, where: ChunkFilter, *, all_files: bool, limits: ScanLimits = DEFAULT_LIMITS
    ) -> DirectScan | None:
        """The best passages of the files that are not indexed, or of `all_files` if the index cannot be searched yet.

        None if there are no such files.
        """
        unsupported = unsupported_filters(where)
        terms = sorted(query_terms(query), key=len, reverse=True)[:MAX_TERMS]
        if unsupported or not terms:
            return DirectScan(unsupported=unsupported)
        deadline = time.monotonic() + limits.seconds
        found = discover(
            self._root,
            include=self._settings.include,
            exclude=self._settings.exclude,
            max_bytes=self._settings.max_file_bytes,
            state_directory=self._state_dir,
            deadline=deadline - limits.seconds / 2,
        )
        indexed = frozenset() if all_files else self._store.files.ledger().keys()
        files = [file for file in found.files if file.path not in indexed and _passes(file.path, where)]
        if not files:
            return None
        return self._scan(files, terms, deadline, limits)

    def _scan(self, files: list[FoundFile], terms: Sequence[str], deadline: float, limits: ScanLimits) -> DirectScan:
        needles = [_needle(term) for term in terms]
        texts = [needle.encode() for needle in needles]
        files.sort(key=lambda file: _reading_order(file, needles))
        matches: list[_Match] = []
        budget = int(limits.megabytes * 1_000_000)
        scanned = 0
        for file in files:
            if budget <= 0 or time.monotonic() > deadline - limits.seconds / 4:
                break
            scanned += 1
            content = read_bytes(self._root, file.path, self._settings.max_file_bytes)
            if isinstance(content, Skipped):
                continue
            budget -= len(content.data)
            lowered = content.data.lower()
            counts = tuple(min(_COUNTED, lowered.count(text)) for text in texts)
            if any(counts):
                matches.append(_Match(file.path, counts))
        weights = _weights(terms, matches, scanned)
        passages = list(self._passages(matches, weights, needles, deadline, limits))
        numbered = {-number: passage for number, passage in enumerate(passages, 1)}
        return DirectScan(
            rows={number: row for number, (row, _) in numbered.items()},
            scores={number: score for number, (_, score) in numbered.items()},
            weights=weights,
            files_scanned=scanned,
            files_left=len(files) - scanned,
        )

    def _passages(
        self,
        matches: Iterable[_Match],
        weights: TermWeights,
        needles: Sequence[str],
        deadline: float,
        limits: ScanLimits,
    ) -> Iterator[tuple[ChunkRow, float]]:
        """The best passages of the best files, with their scores."""
        values = list(weights.by_term.values())

        def promise(match: _Match) -> float:
            in_path = [needle in match.path.lower() for needle in needles]
            counted = zip(values, match.counts, in_path, strict=True)
            return sum(value * (count / (count + 1) + named / 2) for value, count, named in counted)

        remaining = limits.best_characters
        for match in heapq.nlargest(limits.best_files, matches, key=promise):
            if remaining <= 0 or time.monotonic() > deadline:
                return
            content = read_bytes(self._root, match.path, self._settings.max_file_bytes)
            text = decode_text(content.data) if not isinstance(content, Skipped) else content
            if isinstance(text, Skipped) or len(text) > remaining or reason_by_content(match.path, text):
                continue
            remaining -= len(text)
            artifact = _artifact(match.path, len(text))
            window = Window(self._settings.window_characters, self._settings.window_overlap)
            chunks = chunk_text(match.path, text, artifact.language, artifact.artifact_type, (), window)
            scored = (
                (weights.score(match.path, chunk.title, chunk.text), chunk)
                for chunk in chunks
                if _contains_any(chunk, needles)
            )
            for score, chunk in heapq.nlargest(_PASSAGES_PER_FILE, scored, key=lambda item: item[0]):
                yield ChunkRow(0, _with_place(chunk, match.path), artifact), score


def unsupported_filters(where: ChunkFilter) -> tuple[str, ...]:
    """The filters of a search that depend on facts which only the index has."""
    values = {
        "subsystems": where.subsystems,
        "tags": where.tags,
        "symbols": where.symbols,
        "symbol_kinds": where.symbol_kinds,
        "symbol_languages": where.symbol_languages,
        "updated_after": where.updated_after,
    }
    return tuple(name for name, value in values.items() if value)


def _passes(path: str, where: ChunkFilter) -> bool:
    namespaces = {name.casefold() for name in where.namespaces}
    return (
        (not where.artifact_types or artifact_type_of(path) in where.artifact_types)
        and (not namespaces or namespace_of(path).casefold() in namespaces)
        and (not where.paths or path.startswith(where.paths))
    )


def _needle(term: str) -> str:
    """The text to look for in place of a stem: stemming turns `query` into `queri`."""
    return term[:-1] if term.endswith("i") and len(term) > 3 else term


def _reading_order(file: FoundFile, needles: Sequence[str]) -> tuple[bool, int, int]:
    """Files that the query names come first, then code and documents, then small files."""
    path = file.path.lower()
    named = any(needle in path for needle in needles)
    return not named, _TYPE_ORDER[artifact_type_of(file.path)], file.fingerprint.size


def _weights(terms: Sequence[str], matches: Sequence[_Match], scanned: int) -> TermWeights:
    counts = [sum(1 for match in matches if match.counts[index]) for index in range(len(terms))]
    return TermWeights(
        {term: math.log(1 + (scanned + 1) / (count + 0.5)) for term, count in zip(terms, counts, strict=True)}
    )


def _contains_any(chunk: Chunk, needles: Sequence[str]) -> bool:
    text = chunk.text.lower()
    return any(needle in text for needle in needles)


def _artifact(path: str, size: int) -> Artifact:
    """What the path alone says about a file."""
    return Artifact(
        path=path,
        artifact_type=artifact_type_of(path),
        digest="",
        size=size,
        title=path.rpartition("/")[2],
        namespace=namespace_of(path),
        language=language_of(path),
    )


def _with_place(chunk: Chunk, path: str) -> Chunk:
    """The chunk with an id that names its first line: its number in the index is not known yet."""
    return Chunk(
        chunk_id=f"{path}::L{chunk.line_start}",
        sequence=chunk.sequence,
        kind=chunk.kind,
        title=chunk.title,
        text=chunk.text,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        digest=chunk.digest,
    )
