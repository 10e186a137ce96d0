"""`km-coverage-summary`: which files are indexed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contextive.packs.knowledge.pack import LABELS, as_of_to_dict, index_of, pack
from contextive.registry import Context, NoInput, Reply

_MAX_ARTIFACTS = 200


class CoverageAnswer(BaseModel):
    """The published part of the report; it has more fields."""

    model_config = ConfigDict(extra="allow", frozen=True)

    status: Literal["success"] = "success"
    summary: dict[str, Any] = Field(description="artifact_total, artifact_breakdown, chunk_count")
    artifacts: list[dict[str, Any]]
    missing_artifacts: list[dict[str, Any]]
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#km-coverage-summary
##% The tool `km-coverage-summary` MUST take no arguments and report the files by type, the chunks, and the files
##% without chunks.
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
def coverage_summary(_given: NoInput, ctx: Context) -> Reply:
    index = index_of(ctx)
    report = index.coverage(_MAX_ARTIFACTS)
    answer: dict[str, Any] = {
        "status": "success",
        **report,
        "artifacts_omitted": report["summary"]["artifact_total"] - len(report["artifacts"]),
        "skipped": index.skipped(),
        "as_of": as_of_to_dict(index.as_of()),
    }
    answer["removed_artifacts"] = answer["removed_artifacts"][:_MAX_ARTIFACTS]
    return Reply(data=answer)
