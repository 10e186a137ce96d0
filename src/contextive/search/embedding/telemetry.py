"""No word to the makers of the libraries behind the models: some of them report how they are used unless told not to."""

from __future__ import annotations

import os
from typing import Final

_OFF: Final = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime
    "HF_HUB_DISABLE_TELEMETRY": "1",  # what sentence-transformers and fastembed download with
    "DO_NOT_TRACK": "1",
}


def silence_libraries() -> None:
    """Switch their reports off. Has to be called before the first of them is imported."""
    os.environ.update(_OFF)
