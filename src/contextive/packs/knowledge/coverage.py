"""`km-coverage-summary`: which files are indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contextive.packs.knowledge.pack import LABELS, as_of_to_dict, index_of, pack
from contextive.packs.knowledge.report_forms import ReportInput, ReportList, fields, report_section, short_report
from contextive.registry import Context, Reply

if TYPE_CHECKING:
    from contextive.search.index import Index
    from contextive.store.values import ArtifactRow

_MAX_ARTIFACTS = 200


class CoverageAnswer(BaseModel):
    """The published part of the report; it has more fields."""

    model_config = ConfigDict(extra="allow", frozen=True)

    status: Literal["success"] = "success"
    summary: dict[str, Any] = Field(description="artifact_total, artifact_breakdown, chunk_count")
    missing_artifacts: list[dict[str, Any]] | None = Field(None, description="Files without chunks")
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#km-coverage-summary
##% The tool `km-coverage-summary` MUST report the files by type, the chunks, and the files without chunks, and needs
##% no arguments.
##= docs/spec/knowledge.md#km-coverage-summary
##% A coverage report MUST say how fresh the index is.
@pack.tool(
    "km-coverage-summary",
    title="Index coverage",
    description="What is in the index: files and chunks by type, files without chunks, skipped files by reason, freshness.",
    labels=LABELS,
    invocation_hints="when a search finds too little, to see whether the files are indexed",
    output=CoverageAnswer,
)
def coverage_summary(given: ReportInput, ctx: Context) -> Reply:
    index = index_of(ctx)
    if given.detail == "full" and given.section is None:
        return Reply(data=_full(index))
    report = index.coverage(0)
    files = sorted(index.store.files.artifacts(), key=lambda row: (row.chunk_count, row.artifact.path))
    lists = {
        "missing_artifacts": ReportList([row for row in files if not row.chunk_count], _file),
        "artifacts": ReportList([row for row in files if row.chunk_count], _file_with_chunks),
        "removed_artifacts": ReportList(report["removed_artifacts"], fields("path", "artifact_type")),
    }
    frame = {
        "status": "success",
        "run": report["run"],
        "summary": report["summary"],
        "as_of": as_of_to_dict(index.as_of()),
    }
    if given.section is not None:
        return Reply(data=report_section("km-coverage-summary", frame, lists, given))
    about = {"generated_at_iso": report["generated_at_iso"], "skipped": index.skipped()}
    return Reply(data=short_report({**frame, **about}, lists))


def _file(row: ArtifactRow) -> dict[str, Any]:
    return {"path": row.artifact.path, "artifact_type": row.artifact.artifact_type}


def _file_with_chunks(row: ArtifactRow) -> dict[str, Any]:
    return {**_file(row), "chunk_count": row.chunk_count}


def _full(index: Index) -> dict[str, Any]:
    report = index.coverage(_MAX_ARTIFACTS)
    report["removed_artifacts"] = report["removed_artifacts"][:_MAX_ARTIFACTS]
    return {
        "status": "success",
        **report,
        "artifacts_omitted": report["summary"]["artifact_total"] - len(report["artifacts"]),
        "skipped": index.skipped(),
        "as_of": as_of_to_dict(index.as_of()),
    }
