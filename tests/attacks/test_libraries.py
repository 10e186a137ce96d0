"""Libraries must not send telemetry or write outside the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.processes import clean_environment


def test_the_library_of_the_default_model_writes_no_machine_id(tmp_path: Path) -> None:
    """By default onnxruntime writes a machine id into the home directory and sends telemetry with it."""
    env = clean_environment({"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")})
    env.pop("ORT_DISABLE_TELEMETRY", None)
    used = "from contextive.search.embedding.minilm import MiniLmEmbedder\nMiniLmEmbedder().embed(['water'])\n"
    subprocess.run([sys.executable, "-c", used], env=env, check=True, timeout=60)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
