"""BM25 with tantivy, over tokens from our own tokeniser."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.knowledge.query_words import TermCounts
from contextive.store.sql.filters import folded
from contextive.store.sql.lexical_documents import LexicalDocument
from contextive.store.sql.malloc import lower_trim_threshold, trim_malloc
from contextive.store.values import ChunkFilter, Hit, LexicalQuery

if TYPE_CHECKING:
    import tantivy

TITLE_WEIGHT = 1.0
"""The weight of a match in the title relative to one in the text. Each field has its own statistics."""
_HEAP_BYTES = 30_000_000
_FACETS = ("type", "namespace", "subsystem", "tag", "symbol", "kind", "language", "path")
FAULTS = (ValueError, OSError)
"""Raised by the engine when its files are missing, damaged or cannot be written."""
_FOOTER_CONSTANT = 1337
_FOOTER_TAIL = 8
_PIECE_BYTES = 1024 * 1024


class TantivyEngine:
    """A tantivy index in a directory, or in memory if `directory` is None."""

    name = "tantivy"

    def __init__(self, directory: Path | None, *, create: bool) -> None:
        import tantivy

        lower_trim_threshold()
        self._module = tantivy
        self._schema = _schema()
        if directory is None:
            self._index = tantivy.Index(self._schema)
        elif create:
            self._index = tantivy.Index(self._schema, path=str(directory))
        else:
            verify_checksums(directory)
            with _translate_panics():
                self._index = tantivy.Index.open(str(directory))
                self._schema = self._index.schema
        with _translate_panics():
            self._index.reload()

    def reload(self) -> None:
        with _translate_panics():
            self._index.reload()

    @contextmanager
    def writing(self) -> Iterator[TantivyWriter]:
        with _translate_panics():
            writer = self._index.writer(_HEAP_BYTES, 1)
            yield TantivyWriter(self._module, writer)
            # Interrupted merges would leave more and more small segments behind.
            writer.wait_merging_threads()
            trim_malloc()
            self._index.reload()

    def numbers(self) -> set[int]:
        with _translate_panics():
            searcher = self._index.searcher()
            if not searcher.num_docs:
                return set()
            hits = searcher.search(self._module.Query.all_query(), searcher.num_docs, count=False).hits
            return {
                int(number or 0) for number in searcher.fast_field_values("number", [address for _, address in hits])
            }

    def search(self, query: LexicalQuery, k: int, where: ChunkFilter) -> list[Hit]:
        searcher = self._index.searcher()
        scoring = self._scoring_query(query)
        if scoring is None or k <= 0:
            return []
        conditions = list(self._conditions(where))
        if conditions:
            must = self._module.Occur.Must
            clauses = [(must, scoring), *((must, condition) for condition in conditions)]
            scoring = self._module.Query.boolean_query(clauses)
        with _translate_panics():
            hits = searcher.search(scoring, k, count=False).hits
            numbers = searcher.fast_field_values("number", [address for _, address in hits])
        found = [Hit(int(number or 0), float(score)) for (score, _), number in zip(hits, numbers, strict=True)]
        return sorted(found, key=lambda hit: (-hit.score, hit.number))

    def chunk_counts(self, terms: Collection[str]) -> TermCounts:
        """In how many texts or titles each term is, whichever is more."""
        searcher = self._index.searcher()
        with _translate_panics():
            counts = {term: max(searcher.doc_freq("body", term), searcher.doc_freq("title", term)) for term in terms}
        return TermCounts(searcher.num_docs, {term: count for term, count in counts.items() if count})

    def _scoring_query(self, query: LexicalQuery) -> tantivy.Query | None:
        make, should = self._module.Query, self._module.Occur.Should
        clauses = []
        for term in dict.fromkeys((*query.terms, *query.whole)):
            clauses.append((should, make.term_query(self._schema, "body", term, "freq")))
            title = make.term_query(self._schema, "title", term, "freq")
            clauses.append((should, make.boost_query(title, TITLE_WEIGHT) if TITLE_WEIGHT != 1.0 else title))
        return make.boolean_query(clauses) if clauses else None

    def _conditions(self, where: ChunkFilter) -> Iterator[tantivy.Query]:
        """Clauses for the filter, which do not change the score."""
        fields: dict[str, Sequence[str]] = {
            "type": where.artifact_types,
            "namespace": where.namespaces,
            "tag": where.tags,
            "symbol": where.symbols,
            "kind": where.symbol_kinds,
            "language": where.symbol_languages,
        }
        make = self._module.Query
        for field, values in fields.items():
            if values:
                yield make.const_score_query(make.term_set_query(self._schema, field, folded(values)), 0.0)
        if where.subsystems:
            in_subsystem = make.term_set_query(self._schema, "subsystem", folded(where.subsystems))
            if where.extra_paths:
                should = self._module.Occur.Should
                extra = make.term_set_query(self._schema, "path", folded(where.extra_paths))
                in_subsystem = make.boolean_query([(should, in_subsystem), (should, extra)])
            yield make.const_score_query(in_subsystem, 0.0)
        if where.updated_after is not None:
            kind = self._module.FieldType.Float
            span = make.range_query(self._schema, "updated", kind, lower_bound=float(where.updated_after))
            yield make.const_score_query(span, 0.0)
        if where.paths:
            should = self._module.Occur.Should
            prefixes = [(should, self._path_query(path)) for path in folded(where.paths)]
            yield make.const_score_query(make.boolean_query(prefixes), 0.0)

    def _path_query(self, prefix: str) -> tantivy.Query:
        make = self._module.Query
        if not prefix:
            return make.all_query()
        if prefix.endswith("/"):
            return make.term_query(self._schema, "path", prefix, "basic")
        return make.regex_query(self._schema, "path", re.sub(r"([^\w/ ])", r"\\\1", prefix) + "(.|\n)*")


def verify_checksums(directory: Path) -> None:
    """Check the files of every committed segment against the checksum at their end; ValueError if one is damaged.

    Tantivy does not check them when it opens an index, and damaged postings make it panic during a search or return
    wrong results.
    """
    meta = json.loads((directory / "meta.json").read_bytes())
    try:
        segments = {str(segment["segment_id"]).replace("-", "") for segment in meta["segments"]}
    except (KeyError, TypeError):
        raise ValueError("meta.json of the lexical index is damaged") from None
    for path in directory.iterdir():
        # Another process may be writing, and remove files of segments that it has merged.
        with suppress(FileNotFoundError):
            if path.name.partition(".")[0] in segments and not _has_valid_checksum(path):
                raise ValueError("a file of the lexical index is damaged")


def _has_valid_checksum(path: Path) -> bool:
    """Whether a file matches the checksum in its footer, which is JSON followed by its length and a magic number."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _FOOTER_TAIL))
        tail = file.read()
        length, constant = int.from_bytes(tail[:4], "little"), int.from_bytes(tail[4:], "little")
        start = size - _FOOTER_TAIL - length
        if constant != _FOOTER_CONSTANT or start < 0:
            return False
        file.seek(start)
        footer = json.loads(file.read(length))
        file.seek(0)
        remaining, checksum = start, 0
        while remaining and (piece := file.read(min(remaining, _PIECE_BYTES))):
            remaining, checksum = remaining - len(piece), zlib.crc32(piece, checksum)
        return remaining == 0 and isinstance(footer, dict) and footer.get("crc") == checksum


@contextmanager
def _translate_panics() -> Iterator[None]:
    """Raise a panic of the engine as ValueError: the binding's own exception is not derived from Exception."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise ValueError("the lexical index is damaged") from None
        raise


class TantivyWriter:
    """Changes until the next commit."""

    def __init__(self, module: Any, writer: tantivy.IndexWriter) -> None:
        self._module = module
        self._writer = writer

    def drop(self, number: int) -> None:
        self._writer.delete_documents_by_term("number", number)

    def put(self, document: LexicalDocument) -> None:
        row = self._module.Document()
        row.add_integer("number", document.number)
        row.add_text("title", document.title)
        row.add_text("body", document.body)
        for field, value in document.facets:
            row.add_text(field, value)
        if document.updated is not None:
            row.add_float("updated", float(document.updated))
        self._writer.add_document(row)

    def commit(self) -> None:
        self._writer.commit()


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    # Signed, although no number is negative: the binding deletes by a signed term, which never matches an unsigned
    # field.
    builder.add_integer_field("number", indexed=True, fast=True)
    builder.add_text_field("title", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    for field in _FACETS:
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_float_field("updated", fast=True)
    return builder.build()
