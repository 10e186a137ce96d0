"""`km-upload` and `km-storetext`: store documents in the project, and index them on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from contextive.errors import ContextiveError, Unavailable, UpstreamError
from contextive.ingest.settings import IngestRequest
from contextive.packs.knowledge.maintenance import run_to_dict
from contextive.packs.knowledge.pack import LABELS, DocumentsAndBackups, index_of, pack
from contextive.registry import Annotations, Context, Scope, ToolInput, ToolOutput

if TYPE_CHECKING:
    from contextive.ingest.documents import Requester, StoredDocument

_LONGEST_RUN_SECONDS = 3_600.0
_WRITES = Annotations(read_only=False, destructive=True, idempotent=False)
_DESTINATION = "File, or directory (no extension), relative to the content root; default: the documents directory"
_OVERWRITE = "Replace an existing file"
_INGEST = "Index it immediately"


class UploadInput(ToolInput):
    source_path: str = Field(min_length=1, max_length=1000, description="File in the project or below an upload root")
    destination: str | None = Field(None, max_length=1000, description=_DESTINATION)
    overwrite: bool | None = Field(None, description=_OVERWRITE)
    ingest: bool | None = Field(None, description=_INGEST)


class TextInput(ToolInput):
    content: str = Field(max_length=4_000_000, description="Text, usually Markdown")
    title: str | None = Field(None, max_length=300, description="Also names the file")
    destination: str | None = Field(None, max_length=1000, description=_DESTINATION)
    subsystem: str | None = Field(None, max_length=200, description="For front matter")
    tags: list[str] | None = Field(None, max_length=100, description="For front matter")
    metadata: dict[str, Any] | None = Field(None, description="Further front matter")
    overwrite: bool | None = Field(None, description=_OVERWRITE)
    ingest: bool | None = Field(None, description=_INGEST)


##= docs/spec/gateway.md#document-rules
##% A result MUST include `stored_path`, `relative_path`, `overwritten`, `ingest_triggered` and `ingest_run`.
class StoredAnswer(ToolOutput):
    status: Literal["success"] = "success"
    stored_path: str
    relative_path: str
    overwritten: bool
    ingest_triggered: bool
    ingest_run: dict[str, Any] | None = Field(description="The run, or null if none was triggered")
    warnings: list[str] | None = None

    @model_serializer(mode="wrap")
    def _with_run(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**write(self), "ingest_run": self.ingest_run}


@pack.tool(
    "km-upload",
    title="Upload a file",
    description="Copy a document into the project's documents, and optionally index it. Code, settings and secrets are refused.",
    scope=Scope.WRITER,
    labels=LABELS,
    safety_notes="Writes a file below the content root; replaces one only with overwrite.",
    invocation_hints="to make an existing document searchable",
    annotations=_WRITES,
    timeout_seconds=_LONGEST_RUN_SECONDS,
)
def upload(given: UploadInput, ctx: Context) -> StoredAnswer:
    documents = ctx.service(DocumentsAndBackups).documents()
    ingest = documents.settings.ingest if given.ingest is None else given.ingest
    stored = documents.upload(
        given.source_path, given.destination, given.overwrite, requester_of(ctx), must_be_searchable=ingest
    )
    return _stored_answer(stored, ingest, ctx)


@pack.tool(
    "km-storetext",
    title="Store a text",
    description="Write a text as a document with front matter, and optionally index it. Named by destination, title or time.",
    scope=Scope.WRITER,
    labels=LABELS,
    safety_notes="Writes a file below the content root; replaces one only with overwrite.",
    invocation_hints="to save a decision, a summary or a lesson so that searches find it",
    annotations=_WRITES,
    timeout_seconds=_LONGEST_RUN_SECONDS,
)
def store_text(given: TextInput, ctx: Context) -> StoredAnswer:
    from contextive.ingest.document_text import Draft

    draft = Draft(given.content, given.title, given.subsystem, given.tags or (), given.metadata or {})
    documents = ctx.service(DocumentsAndBackups).documents()
    stored = documents.store_text(draft, given.destination, given.overwrite, requester_of(ctx))
    return _stored_answer(stored, documents.settings.ingest if given.ingest is None else given.ingest, ctx)


def requester_of(ctx: Context) -> Requester:
    from contextive.ingest.documents import Requester

    may_read_outside = ctx.caller.scope is Scope.MAINTAINER
    return Requester(ctx.caller.name, ctx.request_id, ctx.client.name, may_read_outside)


##= docs/spec/gateway.md#document-rules
##% With `ingest`, or if `knowledge.uploadDefaultIngest` is true, the document MUST be indexed before the call
##% returns.
##= docs/spec/gateway.md#document-rules
##% A file whose format search cannot read MUST NOT be reported as indexed.
def _stored_answer(stored: StoredDocument, ingest: bool, ctx: Context) -> StoredAnswer:
    run, warning = _ingest_document(stored, ctx) if ingest else (None, None)
    if not stored.is_searchable:
        warning = f"Search cannot read {stored.relative_path}: its format is not text."
    return StoredAnswer(
        stored_path=str(stored.path),
        relative_path=stored.relative_path,
        overwritten=stored.overwritten,
        ingest_triggered=ingest,
        ingest_run=run,
        warnings=[warning] if warning else None,
    )


##= docs/spec/gateway.md#document-rules
##% A run that fails after a document was stored MUST be reported as an `upstream_error`, and the document is kept.
def _ingest_document(stored: StoredDocument, ctx: Context) -> tuple[dict[str, Any], str | None]:
    """Index the document. If that fails, the document is kept and the error says so."""
    index = index_of(ctx)
    try:
        outcome = index.ingest(IngestRequest(profile=index.settings.default_profile))
    except ContextiveError as error:
        failure = UpstreamError(
            f"{stored.relative_path} is stored, but could not be indexed: {error.message}",
            hint="Run km-ingest-trigger later; do not store it again.",
        )
        failure.details = {"relative_path": stored.relative_path, "overwritten": stored.overwritten}
        raise failure from None
    if index.is_watched:
        return run_to_dict(outcome.run), None  # its embeddings are computed in the background
    try:
        index.embed()
    except Unavailable as error:
        return run_to_dict(outcome.run), f"No embeddings were computed: {error.message}"
    return run_to_dict(outcome.run), None
