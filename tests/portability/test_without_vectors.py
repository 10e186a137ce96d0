"""An installation without the extra `vectors` indexes and searches by words, and says how to add embeddings."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conventions.source_tree import ROOT
from tests.processes import clean_environment

EXTRA = ("numpy", "simsimd", "onnxruntime", "contextive_minilm", "tantivy")
LIGHT = (
    f"import sys; sys.modules.update(dict.fromkeys({EXTRA!r}))\n"
    "from contextive.cli import main; sys.argv[0] = 'contextive-mcp'; main()"
)


def run(project: Path, *arguments: str, light: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LIGHT] if light else [sys.executable, "-m", "contextive"]
    return subprocess.run(
        [*command, *arguments],
        cwd=project,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


##= docs/spec/knowledge.md#ranking
##% Without the extra `vectors`, search MUST work by words and say how to add embeddings.
def test_search_works_by_words_and_keeps_the_embeddings_of_a_full_installation(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "parcel-locker", project)
    run(project, "ingest", "--wait", light=False)
    (project / "docs" / "new.md").write_text("# Lighthouse\n\nThe lighthouse keeper rings twice.\n", encoding="utf-8")
    assert "contextive-mcp[vectors]" in run(project, "ingest").stderr
    found = json.loads(
        run(
            project, "call", "km-search", "--query", "lighthouse keeper", "--filters", '{"artifact_types": ["doc"]}'
        ).stdout
    )
    assert found["results"][0]["chunk"]["artifact_path"] == "docs/new.md"
    assert any("contextive-mcp[vectors]" in warning for warning in found["metadata"]["warnings"])
    again = run(project, "ingest", "--wait", light=False).stdout
    assert " 1 new vectors" in again, "the embeddings of all other chunks were kept"
    assert json.loads(run(project, "verify", "--json").stdout)["discrepancies"] == []
