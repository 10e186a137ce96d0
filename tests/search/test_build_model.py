"""The weights in the repository are those that the published ones give."""

from __future__ import annotations

import hashlib
import os
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

from contextive.search.embedding.minilm import WEIGHTS_SHA256

PACKAGE = Path(__file__).parents[2] / "packages" / "contextive-minilm"
WHEEL = os.environ.get("MINILM_WHEEL", "")


def test_the_recorded_checksum_is_that_of_the_weights() -> None:
    folder = PACKAGE / "src" / "contextive_minilm"
    assert hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest() == WEIGHTS_SHA256
    assert (folder / "model.sha256").read_text(encoding="ascii") == f"{WEIGHTS_SHA256}  model.onnx\n"


@pytest.mark.skipif(
    not WHEEL or find_spec("onnx") is None, reason="needs onnx and, in MINILM_WHEEL, the published wheel"
)
def test_a_rebuild_from_the_published_weights_gives_the_same_bytes() -> None:
    build = runpy.run_path(str(PACKAGE / "build_model.py"))
    assert hashlib.sha256(build["model_bytes"](Path(WHEEL))).hexdigest() == WEIGHTS_SHA256
