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
        subprocess.run([*PROGRAM, "ingest", "--project", str(project)], env=clean_environment(), check=True)
        script = Path(__file__).with_name("screenshots.mjs")
        with serving_http("--project", str(project), cwd=project) as running:
            base = f"http://127.0.0.1:{running.web.port}"
            subprocess.run([node(), str(script), base, chromium(), str(ROOT / "docs" / "pictures")], check=True)


if __name__ == "__main__":
    main()
