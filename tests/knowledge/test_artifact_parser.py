from __future__ import annotations

import hashlib

from contextive.knowledge.artifact import LastCommit
from contextive.knowledge.artifact_parser import ParseContext, parse_artifact
from contextive.knowledge.packages import Packages
from contextive.knowledge.subsystems import parse_catalog

CATALOG = parse_catalog(
    '{"Ingest": {"tags": ["pipeline"], "paths": ["docs/ingest"]}, "Search": {"tags": ["find"]}}', "c"
)
PACKAGES = Packages({"src/pkg": "pkg", "src/pkg/ingest": "pkg.ingest"})
CONTEXT = ParseContext(CATALOG, PACKAGES)
CODE = "class OrderMessage:\n    def send(self):\n        return helper()\n\n\ndef helper():\n    TelemetryLag.emit()\n"


def test_a_source_file_becomes_an_artifact_with_chunks_symbols_and_references() -> None:
    git = LastCommit("c" * 40, 5.0)
    parsed = parse_artifact("src/pkg/ingest/orders.py", CODE.encode(), CODE, CONTEXT, git)
    artifact = parsed.artifact
    assert artifact.artifact_type == "code"
    assert artifact.digest == hashlib.sha256(CODE.encode()).hexdigest()
    assert (artifact.size, artifact.namespace, artifact.subsystem) == (len(CODE), "pkg", "Ingest")
    assert (artifact.language, artifact.git) == ("python", git)
    assert artifact.tags == ("OrderMessage", "TelemetryLag", "pipeline")
    assert (artifact.messages, artifact.telemetry) == (("OrderMessage",), ("TelemetryLag",))
    assert {symbol.qualified_name for symbol in parsed.symbols} == {"OrderMessage", "OrderMessage.send", "helper"}
    assert [chunk.chunk_id for chunk in parsed.chunks] == [f"{artifact.path}::{i}" for i in range(len(parsed.chunks))]
    assert all("pipeline" in chunk.tags for chunk in parsed.chunks)
    assert any(reference.kind == "call" and reference.name == "helper" for reference in parsed.references)


def test_the_tags_of_a_chunk_come_from_its_own_text() -> None:
    text = "# A\n\nFooMessage here.\n\n" + "word " * 600 + "\n\n# B\n\nBarMessage here.\n\n" + "word " * 600
    parsed = parse_artifact("docs/a.md", text.encode(), text, ParseContext())
    first = next(chunk for chunk in parsed.chunks if "FooMessage" in chunk.text)
    assert first.tags == ("FooMessage",)
    assert parsed.artifact.tags == ("BarMessage", "FooMessage")


##= docs/spec/knowledge.md#file-metadata
##% The title, subsystem and tags in a document's front matter MUST take precedence over those derived from its path.
def test_a_document_gets_title_subsystem_and_tags_from_front_matter() -> None:
    text = "---\ntitle: T\nsubsystem: search\ntags: [x]\n---\nbody\n"
    artifact = parse_artifact("docs/ingest/a.md", text.encode(), text, CONTEXT).artifact
    assert (artifact.title, artifact.subsystem, artifact.tags) == ("T", "Search", ("find", "x"))


def test_an_empty_file_is_an_artifact_without_chunks() -> None:
    parsed = parse_artifact("docs/empty.md", b"", "", CONTEXT)
    assert parsed.chunks == ()
    assert parsed.artifact.title == "empty.md"


##= docs/spec/knowledge.md#km-search-answers
##% A chunk MUST list its symbols with id, qualified name and lines if `knowledge.symbols` is true.
def test_symbols_can_be_disabled() -> None:
    parsed = parse_artifact("src/pkg/a.py", CODE.encode(), CODE, ParseContext(symbols=False))
    assert parsed.symbols == ()
    assert parsed.chunks
    assert all(chunk.symbols == () for chunk in parsed.chunks)
    assert all(reference.source is None for reference in parsed.references)


def test_the_version_of_a_file_changes_only_if_its_rows_would() -> None:
    code, doc = "src/pkg/ingest/a.py", "docs/a.md"
    other = ParseContext(
        parse_catalog('{"Ingest": {"tags": ["pipeline"]}, "Search": {"tags": ["changed"]}}', "c"), PACKAGES
    )
    assert CONTEXT.version() != other.version()
    assert CONTEXT.version_for(code) == other.version_for(code)
    assert CONTEXT.version_for(doc) != other.version_for(doc)
    assert CONTEXT.version_for(code) != ParseContext(parse_catalog("{}", "c")).version_for(code)
    assert CONTEXT.version_for(code) != ParseContext(CATALOG, PACKAGES, symbols=False).version_for(code)
    assert CONTEXT.version() == ParseContext(CATALOG, PACKAGES).version()
