"""`make screenshots`: take the pictures of the site for the documentation, on the example project."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, serving_http

from .browser import ROOT, chromium, node


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "parcel-locker"
        shutil.copytree(ROOT / "examples" / "parcel-locker", project, ignore=shutil.ignore_patterns(".contextive"))
        without_model = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"}
        command = [*PROGRAM, "ingest", "--project", str(project)]
        subprocess.run(command, env=clean_environment(without_model), check=True)
        script = Path(__file__).with_name("screenshots.mjs")
        with serving_http("--project", str(project), cwd=project, env=without_model) as running:
            base = f"http://127.0.0.1:{running.web.port}"
            subprocess.run([node(), str(script), base, chromium(), str(ROOT / "docs" / "pictures")], check=True)


if __name__ == "__main__":
    main()
