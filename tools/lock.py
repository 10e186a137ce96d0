"""`make lock`: resolve the newest versions that pyproject.toml allows into requirements.lock, with hashes.

The part of it that is needed at run time goes into requirements-runtime.lock, which the image and the action install.

The result names no package index, because the machine that installs the packages decides where they come from. For the same
reason this script uses the index that pip is configured with on the machine that runs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

EXTRAS = ("--extra", "vectors", "--extra", "postgres")
ROOT = Path(__file__).resolve().parents[1]
HEADER = "# Exact versions with hashes. Written by `make lock` from pyproject.toml; do not edit.\n"
RUNTIME_HEADER = "# The part of requirements.lock that is needed at run time. Written by `make lock`; do not edit.\n"


def main() -> None:
    index = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    ).stdout.strip()
    environment = {**os.environ, **({"UV_DEFAULT_INDEX": index} if index else {})}
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "uv"], check=True)
        command = [
            str(Path(folder) / "bin" / "uv"), "pip", "compile", "pyproject.toml", "--universal", "--python-version", "3.11",
            "--generate-hashes", "--no-header", "--no-annotate", "--quiet",
            "--no-emit-package", "contextive-minilm",  # it is in this repository and installed by its path
        ]  # fmt: skip
        for name, header, options in (
            ("requirements.lock", HEADER, ["--group", "dev", *EXTRAS, "--upgrade"]),
            ("requirements-runtime.lock", RUNTIME_HEADER, [*EXTRAS, "--constraint", "requirements.lock"]),
        ):
            compiled = subprocess.run(
                [*command, *options], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
            ).stdout
            (ROOT / name).write_text(header + compiled, encoding="utf-8")


if __name__ == "__main__":
    main()
