"""`km-coverage-summary`: what the index holds."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contextive.packs.knowledge.pack import LABELS, as_of_to_dict, index_of, pack
from contextive.registry import Context, NoInput, Reply

_SHOWN_ARTIFACTS = 200


class CoverageAnswer(BaseModel):
    """The report has more fields than a client needs to know beforehand."""

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
    description="What the index holds: files and chunks by type, files without chunks, files left out by reason, and how fresh "
    "it is.",
    labels=LABELS,
    invocation_hints="when a search finds too little, to see whether the files are indexed",
    output=CoverageAnswer,
)
def coverage_summary(_given: NoInput, ctx: Context) -> Reply:
    index = index_of(ctx)
    report = index.coverage(_SHOWN_ARTIFACTS)
    answer: dict[str, Any] = {
        "status": "success",
        **report,
        "artifacts_omitted": report["summary"]["artifact_total"] - len(report["artifacts"]),
        "skipped": index.skipped(),
        "as_of": as_of_to_dict(index.as_of()),
    }
    answer["removed_artifacts"] = answer["removed_artifacts"][:_SHOWN_ARTIFACTS]
    return Reply(data=answer)
